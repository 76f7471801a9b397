"""Programs of several files, and workspaces: what is found in files that nobody has opened."""
import json, time

import pytest
from client import CAPABILITIES, Client, PROOFLINE

UTIL = "int half(int d) {\n    return 100 / d;\n}\n\nint twice(int x) {\n    return x < 1000 && x > -1000 ? x + x : 0;\n}\n"
HEADER = "int half(int d);\nint twice(int x);\n"
MAIN = '#include "util.h"\n\nint main(void) {\n    return twice(4) + half(%s);\n}\n'


DATABASE = {"programFiles": ["compile_commands.json"]}


def folders(*roots):
    return {"workspaceFolders": [{"uri": root.as_uri(), "name": root.name} for root in roots]}


def database(root, *names):
    entries = [{"directory": str(root), "file": name, "arguments": ["cc", "-c", name]} for name in names]
    (root / "compile_commands.json").write_text(json.dumps(entries))


def project(root, argument="0"):
    root.mkdir(exist_ok=True)
    (root / "util.c").write_text(UTIL)
    (root / "util.h").write_text(HEADER)
    (root / "main.c").write_text(MAIN % argument)
    return root / "main.c"


def at(uri, line, character):
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def codes(client, uri):
    return [d["code"] for d in client.diagnostics(uri)]


def says(client, uri, *wanted, after=0):
    is_it = lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri and [d["code"] for d in m["params"]["diagnostics"]] == list(wanted)
    return client.wait(is_it, 30, after)["params"]["diagnostics"]


def test_what_fails_in_another_file_of_the_program_is_told_there(server, tmp_path):
    main = project(tmp_path)
    database(tmp_path, "main.c", "util.c")
    client = server(params=folders(tmp_path), options=DATABASE)
    uri, util = client.open(main, main.read_text()), (tmp_path / "util.c").as_uri()
    (found,) = says(client, util, "division-by-zero")
    assert found["range"]["start"] == {"line": 1, "character": 11} and found["severity"] == 1
    assert any(r["location"]["uri"] == uri and "call `half(d = 0)`" in r["message"] for r in found["relatedInformation"])
    # The callee is mended in a buffer; then the caller's program is another one.
    before = len(client.messages)
    client.open(tmp_path / "util.c", UTIL.replace("100 / d", "d"))
    says(client, util, after=before)
    before = len(client.messages)
    client.tell("textDocument/didClose", {"textDocument": {"uri": util}})
    says(client, util, "division-by-zero", after=before)
    # It disappears: what it defined is unknown then, and nothing fails there.
    before = len(client.messages)
    (tmp_path / "util.c").unlink()
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": util, "type": 3}]})
    says(client, util, after=before)
    # Of what is only declared, any result is possible.
    says(client, uri, "signed-overflow", after=before)


def test_the_setting_says_which_files_make_a_program(server, tmp_path):
    main = project(tmp_path)
    client = server(params=folders(tmp_path), options={"programFiles": ["main.c", "util.c"]})
    client.open(main, main.read_text())
    says(client, (tmp_path / "util.c").as_uri(), "division-by-zero")


def test_the_project_s_file_names_programs_and_models(server, tmp_path):
    main = project(tmp_path)
    other = tmp_path / "other.c"
    other.write_text("int device(void);\nint other(void) {\n    return 7 / device();\n}\n")
    (tmp_path / "device.c").write_text("int device(void) {\n    return 0;\n}\n")
    client = server(params=folders(tmp_path))
    uri, util = client.open(main, main.read_text()), (tmp_path / "util.c").as_uri()
    client.settled(uri, 1)
    assert codes(client, util) == []
    before = len(client.messages)
    file = tmp_path / "proofline.toml"
    file.write_text('models = ["device.c"]\n[programs]\nserver = ["main.c", "util.c"]\n')
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": file.as_uri(), "type": 1}]})
    says(client, util, "division-by-zero", after=before)
    # A model is there for every file that calls it.
    says(client, client.open(other, other.read_text()), "division-by-zero")
    # Without the file everything is as it was.
    before = len(client.messages)
    file.unlink()
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": file.as_uri(), "type": 3}]})
    says(client, util, after=before)


def test_a_monitor_of_the_project_counts_as_soon_as_it_changes(server, tmp_path):
    rule = 'monitor lamp\nstart dark\n\ndark:\n    light() -> lit\n    dim() -> error "it is dark"\nlit:\n    light() -> %s\n'
    monitor = tmp_path / "lamp.monitor"
    monitor.write_text(rule % "stay")
    (tmp_path / "proofline.toml").write_text('monitors = ["lamp.monitor"]\n')
    client = server(params=folders(tmp_path))
    uri = client.open(tmp_path / "main.c", "extern void light(void);\nint main(void) {\n    light();\n    light();\n    return 0;\n}\n")
    client.settled(uri, 1)
    assert codes(client, uri) == []
    before = len(client.messages)
    monitor.write_text(rule % 'error "it is lit"')
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": monitor.as_uri(), "type": 2}]})
    (found,) = says(client, uri, "monitor:lamp", after=before)
    assert found["range"]["start"]["line"] == 3
    # What is wrong with it is said, and the rule of before counts.
    monitor.write_text(rule % "somewhere")
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": monitor.as_uri(), "type": 2}]})
    client.wait(lambda m: m.get("method") == "window/showMessage" and "somewhere" in m["params"]["message"], 30)
    assert codes(client, uri) == ["monitor:lamp"]


def test_files_of_no_common_program_are_only_found_by_name(server, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    project(one)
    # A compilation database may hold several programs: alone it makes none.
    database(one, "main.c", "util.c")
    other.mkdir()
    (other / "user.c").write_text("int half(int d);\nint quarter(int d) {\n    return half(d);\n}\n")
    client = server(params=folders(one, other))
    main, util = one / "main.c", (one / "util.c").as_uri()
    uri = client.open(main, main.read_text())
    client.settled(uri, 1)
    end = time.monotonic() + 20
    while not (found := client.ask("textDocument/definition", at(uri, 3, 24))) or isinstance(found, dict):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    assert [(f["uri"], f["range"]["start"]) for f in found] == [(util, {"line": 0, "character": 4})]
    (item,) = client.ask("textDocument/prepareCallHierarchy", at(uri, 3, 24))
    callers = client.ask("callHierarchy/incomingCalls", {"item": item})
    assert [(c["from"]["name"], c["fromRanges"][0]["start"]) for c in callers] == [
        ("main", {"line": 3, "character": 22}), ("quarter", {"line": 2, "character": 11})]
    (above,) = [c["from"] for c in callers if c["from"]["name"] == "quarter"]
    assert client.ask("callHierarchy/incomingCalls", {"item": above}) == []
    assert {s["name"] for s in client.ask("workspace/symbol", {"query": "qrt"})} == {"quarter"}
    assert codes(client, util) == []


def test_a_file_that_is_needed_comes_with_all_its_functions(server, tmp_path):
    main = project(tmp_path)
    (tmp_path / "double.c").write_text("int half(int d) {\n    return d / 2;\n}\n")
    database(tmp_path, "main.c", "util.c", "double.c")
    client = server(params=folders(tmp_path), options=DATABASE)
    client.open(main, main.read_text())
    # Only `util.c` has `twice`. With it, `double.c` cannot be linked: it would define `half` twice.
    says(client, (tmp_path / "util.c").as_uri(), "division-by-zero")


def test_two_files_with_the_same_functions_or_a_broken_one_are_no_program(server, tmp_path):
    main = project(tmp_path)
    (tmp_path / "double.c").write_text("int half(int d) {\n    return d / 2;\n}\n\nint twice(int x) {\n    return x;\n}\n")
    database(tmp_path, "main.c", "util.c", "double.c")
    client = server(params=folders(tmp_path), options=DATABASE)
    uri, util = client.open(main, main.read_text()), (tmp_path / "util.c").as_uri()
    # Neither is linked: nobody knows which.
    client.wait(lambda m: m.get("method") == "proofline/functions" and m["params"]["uri"] == uri)
    before = len(client.messages)
    (tmp_path / "double.c").unlink()
    database(tmp_path, "main.c", "util.c")
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": (tmp_path / "compile_commands.json").as_uri(), "type": 2}]})
    says(client, util, "division-by-zero", after=before)
    before = len(client.messages)
    (tmp_path / "util.c").write_text("int half(int d) { return 100 / ; }\n")
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": util, "type": 2}]})
    says(client, util, after=before)


def test_the_project_s_own_file_comes_before_settings(server, average, tmp_path):
    own = tmp_path / "proofline.toml"
    own.write_text('checks = ["assertion"]\n')
    client = server(params=folders(tmp_path), options={"checks": "all"})
    uri = client.open(tmp_path / "average.c", average)
    client.settled(uri, 1)
    assert client.diagnostics(uri) == []
    # What nobody understands is said, and changes nothing.
    changed = {"changes": [{"uri": own.as_uri(), "type": 2}]}
    own.write_text("budget = 5000000\ncheks = 1\n")
    client.tell("workspace/didChangeWatchedFiles", changed)
    said = client.wait(lambda m: m.get("method") == "window/showMessage")
    assert "line 2" in said["params"]["message"] and "cheks" in said["params"]["message"]
    own.write_text("budget = 5000000\n")
    client.tell("workspace/didChangeWatchedFiles", changed)
    says(client, uri, "signed-overflow")


def test_a_workspace_of_10_000_files_does_not_keep_anybody_waiting(server, tmp_path):
    names = []
    for folder in range(100):
        (tmp_path / f"part{folder}").mkdir()
        for number in range(100):
            name = f"part{folder}/file{number}.c"
            (tmp_path / name).write_text(f"int function_{folder}_{number}(int x) {{\n    return x / {number};\n}}\n")
            names.append(name)
    main = tmp_path / "main.c"
    main.write_text("int function_42_0(int x);\nint main(void) {\n    return function_42_0(1);\n}\n")
    database(tmp_path, "main.c", *names)
    client = server(params=folders(tmp_path), options=DATABASE)
    uri = client.open(main, main.read_text())
    # The file's own verdict does not wait for the others to be looked at.
    first = client.wait(lambda m: m.get("method") == "proofline/functions" and m["params"]["functions"] and m["params"]["functions"][0]["state"] in ("proved", "asks", "unknown", "violated"))
    found = says(client, (tmp_path / "part42/file0.c").as_uri(), "division-by-zero")
    assert found[0]["range"]["start"] == {"line": 1, "character": 11}
    assert {s["name"] for s in client.ask("workspace/symbol", {"query": "function_99_99"})} == {"function_99_99"}
