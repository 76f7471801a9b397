"""Files with many functions: what was edited is answered first, before it is found out again from where everything is checked; and what is
said in the end is what a server says that has only seen the last text."""
import time

from client import at
from test_programs import says

# Every `f` reaches all with smaller numbers: more than are decided together.
COUNT = 320


def program(divisor="2", call="f9(x)"):
    parts = ["static int half(int x) {\n    return x / 2;\n}\n", "static int by(int d) {\n    return 8 / d;\n}\n"]
    for n in range(COUNT):
        inner = f"f{n - 1}(x)" if n else "by(2)"
        parts.append(f"int f{n}(int x) {{\n    return {inner} % 7 + half(x) % 5;\n}}\n")
    parts.append(f"int small(int x) {{\n    return by({divisor});\n}}\n")
    parts.append(f"int last(int x) {{\n    int y = {call};\n    return y;\n}}\n")
    return "".join(parts)


def states(client, uri, version):
    return {name: f["state"] for name, f in client.settled(uri, version, 100).items()}


def test_what_was_edited_is_shown_and_gone(server, tmp_path):
    client = server()
    text = program()
    uri = client.open(tmp_path / "large.c", text)
    client.settled(uri, 1, 100)
    line = next(n for n, l in enumerate(text.split("\n")) if "return x / 2;" in l)
    before = len(client.messages)
    client.change(uri, 2, at(line, 0, 0, "int z = 0; z = 1 / z;\n"))
    says(client, uri, "division-by-zero", after=before)
    before = len(client.messages)
    client.change(uri, 3, {"range": {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}, "text": ""})
    says(client, uri, after=before)
    assert states(client, uri, 3)["half"] == "proved"


def test_nothing_is_proved_for_some_callers_only(server, tmp_path):
    # `small` and `f0` give `by` a 2; nobody asks every `f` about it, so it is not proved, and no caller that breaks it is overlooked.
    client = server()
    uri = client.open(tmp_path / "large.c", program())
    assert states(client, uri, 1)["by"] != "proved"
    for m in client.messages:
        if m.get("method") == "proofline/functions":
            # Not even before anything was asked.
            assert all(f["state"] != "proved" for f in m["params"]["functions"] if f["name"] == "by")
    bad = client.open(tmp_path / "bad.c", program().replace("by(2) % 7", "by(x) % 7"))
    assert states(client, bad, 1)["by"] != "proved"


def test_an_edit_that_changes_who_calls_whom(server, tmp_path):
    edited, text = server(), program()
    uri = edited.open(tmp_path / "large.c", text)
    edited.settled(uri, 1, 100)
    new = program(divisor="x", call="small(x)")
    edited.change(uri, 2, {"text": new})
    fresh = server(env={"PROOFLINE_CACHE": ""})
    assert states(edited, uri, 2) == states(fresh, fresh.open(tmp_path / "large.c", new), 1)


def test_what_callers_must_see_to_is_known_of_small_functions(server, tmp_path):
    # `sum` is called from where too much is reached to be decided together; it reaches nothing itself.
    called = ("int sum(const int *a, int n) {\n    int s = 0;\n    for (int i = 0; i < n; i++)\n        s ^= a[i];\n    return s;\n}\n"
              "int sums(int x) {\n    int a[3] = {0};\n    return f319(x) + sum(a, x) % 3;\n}\n")
    text = program().replace("int last(int x) {", called + "int last(int x) {")
    client = server()
    uri = client.open(tmp_path / "large.c", text)
    functions = client.settled(uri, 1, 100)
    assert functions["sum"]["needs"] == ["`a` with room for `n` elements"], functions["sum"]
    # What it needs is not shown of this call.
    assert functions["sums"]["state"] != "proved", functions["sums"]


def test_an_edit_during_any_work_stops_that_work_alone(server, tmp_path):
    # The bounds of static variables are found out while nobody asks for a function; an edit stops that, and what comes after it is done.
    many = "".join(f"static int s{n};\n" for n in range(60))
    many += "".join(f"void set{n}(int x) {{\n    if (x > {n} && x < {n + 50} && s{n} < 1000)\n        s{n} = x + s{n * 7 % 60} % 9;\n    for (int i = 0; i < x && s{n} < 2000; i++)\n        s{n} += s{(n + 1) % 60} % 3;\n}}\n"
                    f"int get{n}(int x) {{\n    return s{n} / (s{n} + x % 7 + 20);\n}}\n" for n in range(60))
    text = many + "static int leaf(int x) {\n    return x / 2;\n}\nint all(int x) {\n    return leaf(x) + get3(x);\n}\n"
    client = server()
    uri = client.open(tmp_path / "static.c", text)
    client.settled(uri, 1, 100)
    line = next(n for n, l in enumerate(text.split("\n")) if "return x / 2;" in l)

    def is_said(m, version):
        return (m.get("method") == "textDocument/publishDiagnostics" and m["params"]["version"] == version
                and any(d["range"]["start"]["line"] == line and d["code"] == "division-by-zero" for d in m["params"]["diagnostics"]))

    for version in range(2, 14, 2):
        client.change(uri, version, at(line, 0, 0, "int z = 0; z = 1 / z;\n"))
        client.wait(lambda m: is_said(m, version), 30)
        client.change(uri, version + 1, {"range": {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}, "text": ""})
        time.sleep(version % 6 * .1)
    client.settled(uri, 13, 100)
