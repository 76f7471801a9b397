"""A header that many open files include: the file that was used last is answered first."""
from client import at

COMMON = "#define PART(x) ((x) / 2)\n"


def source(n):
    return f'#include "common.h"\nint use{n}(int x) {{\n    return PART(x) % {n + 2};\n}}\n'


def test_the_file_in_use_comes_first(server, tmp_path):
    (tmp_path / "common.h").write_text(COMMON)
    client = server()
    uris = []
    for n in range(8):
        path = tmp_path / f"f{n}.c"
        path.write_text(source(n))
        uris.append(client.open(path, source(n)))
    head = client.open(tmp_path / "common.h", COMMON)
    for uri in uris:
        client.settled(uri, 1, 60)
    for version, last, digit, wanted in [(2, 3, "0", "violated"), (3, 6, "2", "proved")]:
        client.ask("textDocument/hover", {"textDocument": {"uri": uris[last]}, "position": {"line": 2, "character": 12}})
        before = len(client.messages)
        client.change(head, version, at(0, 23, 24, digit))
        is_answer = lambda m, uri: m.get("method") == "proofline/functions" and m["params"]["uri"] == uri and m["params"]["functions"][0]["state"] == wanted
        times = [client.wait(lambda m: is_answer(m, uri), 60, before)["_time"] for uri in uris]
        # The others may be told in the same moment, and never before.
        assert times[last] <= min(times) + .01, times
