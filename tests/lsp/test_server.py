"""What people see of the server, over its real input and output."""
import os, pathlib, random, subprocess, time

import pytest
from client import CAPABILITIES, Client, at

RATIO = "int ratio(int a, int b) {\n    return a / b;\n}\n"
# Nobody decides this one fast.
HARD = """extern int __VERIFIER_nondet_int(void);
#include <assert.h>
int main(void) {
    unsigned a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int(), n = __VERIFIER_nondet_int(), s = 0, p = 1;
    for (unsigned i = 0; i < n; i++) { s = s * a + b; p = p * s ^ (a >> 3); a = a * 1664525u + 1013904223u; b ^= s; }
    assert(p * p != 3u || s == a * b + 7u);
    return 0;
}
"""


def position(uri, line, character):
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def test_a_diagnostic_has_its_path_and_the_path_is_data(server, average, tmp_path):
    client = server()
    uri = client.open(tmp_path / "average.c", average)
    states = client.settled(uri, 1)
    assert {name: f["state"] for name, f in states.items()} == {"careful": "proved", "average": "violated", "main": "unknown"}
    (found,) = client.diagnostics(uri)
    assert (found["code"], found["severity"], found["source"]) == ("signed-overflow", 1, "proofline")
    assert "low = " in found["message"] and "high = " in found["message"]
    steps = [r["message"] for r in found["relatedInformation"]]
    assert [s.split(":")[0] for s in steps] == [str(n + 1) for n in range(len(steps))]
    assert any("call `average(" in s for s in steps)
    assert pathlib.Path(found["codeDescription"]["href"].removeprefix("file://")).read_text().startswith("# signed-overflow")
    actions = client.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": found["range"], "context": {"diagnostics": [found]}})
    show = next(a for a in actions if a["title"] == "Show counterexample trace")
    trace = client.ask("workspace/executeCommand", {"command": show["command"]["command"], "arguments": show["command"]["arguments"]})
    assert [s["number"] for s in trace["steps"]] == list(range(1, len(steps) + 1)) and trace["steps"][-1]["kind"] == "failure"
    assert {i["name"] for i in trace["inputs"]} == {"low", "high"} and "call `average(" in trace["text"]
    hover = client.ask("textDocument/hover", position(uri, 9, 14))
    assert "int average(int low, int high)" in hover["contents"]["value"] and "the one check fails" in hover["contents"]["value"]


LIST = """void *malloc(unsigned long);
void free(void *);
extern int __VERIFIER_nondet_int(void);
struct node { int value; struct node *next; };
int main(void) {
    struct node *l = 0;
    while (__VERIFIER_nondet_int()) {
        struct node *made = malloc(sizeof *made);
        if (!made) break;
        made->value = 7;
        made->next = l;
        l = made;
    }
    while (l) {
        struct node *rest = l->next;
        free(l);
        l = rest;
    }
    return 0;
}
"""


def test_memory_at_a_step_is_a_picture_and_a_text(server, tmp_path):
    client = server()
    text = LIST.replace("        l = rest;", "        l = l->next;")
    uri = client.open(tmp_path / "list.c", text)
    client.settled(uri, 1)
    found = next(d for d in client.diagnostics(uri) if d["code"] == "use-after-free")
    trace = client.ask("workspace/executeCommand", {"command": "proofline.trace", "arguments": [{"uri": uri, "finding": found["data"]["finding"]}]})
    assert trace["steps"][0]["picture"] is None, "nothing leads anywhere yet"
    picture = trace["pictures"][trace["steps"][-1]["picture"]]
    kinds = {o["kind"] for o in picture["objects"]}
    assert "freed" in kinds and "variable" in kinds, kinds
    assert any(a["isDangling"] for a in picture["arrows"]) and any("freed" in line for line in picture["text"])
    assert "memory there:" in trace["text"]
    alive = next(p for p in trace["pictures"] if any(c["name"] == "value" and c["value"] == "7" for o in p["objects"] for c in o["cells"]))
    assert any(line.startswith("made → heap object 1 (16 bytes) {value = 7") for line in alive["text"]), alive["text"]


def test_a_pointer_s_hover_says_which_list_it_is_proved_to_lead_to(server, tmp_path):
    client = server()
    uri = client.open(tmp_path / "list.c", LIST)
    client.settled(uri, 1)
    said = lambda line, character: (client.ask("textDocument/hover", position(uri, line, character)) or {"contents": {"value": ""}})["contents"]["value"]
    end = time.monotonic() + 60
    while "acyclic" not in said(13, 11) and time.monotonic() < end:
        time.sleep(0.2)
    assert "`l` is NULL or an acyclic list of at least 1 object, linked by `next` here, always" in said(13, 11), said(13, 11)
    assert "`l` is an acyclic list of at least 1 object, linked by `next` from here on, always" in said(11, 8), said(11, 8)
    client.change(uri, 2, {"text": LIST.replace("made->next = l;", "made->next = made;")})
    assert "acyclic" not in said(11, 8), "what was proved of an older text is not shown"


def test_a_library_function_asks_its_callers_and_is_no_error(server, tmp_path):
    client = server(options={"inlayHints": True})
    uri = client.open(tmp_path / "ratio.c", RATIO)
    (ratio,) = client.settled(uri, 1).values()
    assert (ratio["state"], ratio["asked"], ratio["unknown"]) == ("asks", 2, 0), ratio
    assert any("b != 0" in need for need in ratio["needs"]) and ratio["headline"].startswith("proved, if callers see to it"), ratio
    lenses = client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert [l["command"]["title"].split(",")[0] for l in lenses] == ["needs b != 0"]
    assert all(d["severity"] == 4 for d in client.diagnostics(uri))
    hints = client.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": {"start": {"line": 0, "character": 0}, "end": {"line": 3, "character": 0}}})
    assert "b != 0" in hints[0]["label"]


def test_a_result_of_an_older_text_is_never_shown_as_current(server, average, tmp_path):
    """With PROOFLINE_TEST_FAULT=stale in a debug build this fails."""
    client = server()
    uri = client.open(tmp_path / "average.c", average)
    client.settled(uri, 1)
    bad, good = "    return (low + high) / 2;", "    return low + (high - low) / 2;"
    current, version = bad, 1
    for _ in range(25):
        # Two edits in one breath; the second mends what the first breaks.
        for text in (bad, good):
            version += 1
            client.change(uri, version, at(10, 0, len(current), text))
            current = text
        client.settled(uri, version)
        for list_ in client.published(uri, version):
            fresh = [d for d in list_["diagnostics"] if not d["message"].startswith("(older text)")]
            assert fresh == [], fresh


def test_the_test_above_notices_a_server_that_shows_old_results(tmp_path, average):
    client = Client(env={"PROOFLINE_TEST_FAULT": "stale"})
    with pytest.raises(AssertionError):
        test_a_result_of_an_older_text_is_never_shown_as_current(lambda: client, average, tmp_path)
    client.process.kill()


def test_older_results_move_with_the_text_and_are_marked(server, average, tmp_path):
    client = server()
    uri = client.open(tmp_path / "average.c", average)
    client.settled(uri, 1)
    line = client.diagnostics(uri)[0]["range"]["start"]["line"]
    # Three lines more above, and half a word that is no C.
    client.change(uri, 2, at(0, 0, 0, "int x = \n\n\n"))
    is_older = lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"].get("version") == 2 and any(
        d["message"].startswith("(older text)") for d in m["params"]["diagnostics"])
    marked = next(d for d in client.wait(is_older)["params"]["diagnostics"] if d["code"] == "signed-overflow")
    assert marked["range"]["start"]["line"] == line + 3
    client.change(uri, 3, at(0, 0, 8, ""))
    client.settled(uri, 3)
    fresh = [d for d in client.diagnostics(uri) if d["code"] == "signed-overflow"]
    assert [(d["range"]["start"]["line"], d["message"].startswith("signed overflow")) for d in fresh] == [(line + 3, True)]


@pytest.mark.parametrize("encoding, column", [("utf-8", 22), ("utf-16", 18), ("utf-32", 17)])
def test_positions_in_every_encoding(server, tmp_path, encoding, column):
    capabilities = {**CAPABILITIES, "general": {"positionEncodings": [encoding]}}
    client = server(capabilities=capabilities)
    assert client.initialized["capabilities"]["positionEncoding"] == encoding
    text = "int main(void) {\n    int d = 0;\n/* äö𝄞 */ return 10 / d;\n}\n"
    uri = client.open(tmp_path / "encoding.c", text)
    client.settled(uri, 1)
    assert client.diagnostics(uri)[0]["range"]["start"] == {"line": 2, "character": column}
    # An edit behind the wide characters lands where it belongs.
    client.change(uri, 2, at(2, column + 5, column + 6, "2"))
    client.settled(uri, 2)
    assert client.diagnostics(uri) == []


def test_after_random_edits_the_answers_are_those_of_a_fresh_server(server, average, tmp_path):
    client = server()
    path = tmp_path / "random.c"
    text = average
    uri = client.open(path, text)
    source = random.Random(5)
    snippets = ["\n", " ", "/* x */", "    int unused = 1;\n", "0", "1", "+", ";", "\n// ä𝄞\n"]
    for version in range(2, 42):
        lines = text.split("\n")
        line = source.randrange(len(lines))
        column = source.randrange(len(lines[line]) + 1)
        units = len(lines[line][:column].encode("utf-16-le")) // 2
        if source.random() < 0.4 and column < len(lines[line]):
            wide = len(lines[line][column].encode("utf-16-le")) // 2
            client.change(uri, version, at(line, units, units + wide, ""))
            lines[line] = lines[line][:column] + lines[line][column + 1:]
        else:
            new = source.choice(snippets)
            client.change(uri, version, at(line, units, units, new))
            lines[line] = lines[line][:column] + new + lines[line][column:]
        text = "\n".join(lines)
    # Back to something that is C: results of broken texts are the older ones on purpose.
    changed = average.replace("/ 2;\n}\n\nint main", "/ 4;\n}\n\nint main").replace("high < low", "high <= low")
    client.change(uri, 100, {"text": changed})
    states = client.settled(uri, 100)
    strip = lambda functions: {n: (f["state"], f["range"], f["proved"], f["violated"], f["unknown"]) for n, f in functions.items()}
    key = lambda d: (d["range"]["start"]["line"], d["code"], d["message"].split(" when ")[0])
    fresh = server()
    fresh.open(path, changed, 7)
    assert strip(fresh.settled(uri, 7)) == strip(states)
    assert sorted(map(key, client.diagnostics(uri))) == sorted(map(key, fresh.diagnostics(uri)))


def test_pulled_diagnostics_and_unchanged(server, average, tmp_path):
    capabilities = {**CAPABILITIES, "textDocument": {**CAPABILITIES["textDocument"], "diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": True}}}
    client = server(capabilities=capabilities, options={"diagnostics": "pull"})
    uri = client.open(tmp_path / "average.c", average)
    report = client.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert [d["code"] for d in report["items"]] == ["signed-overflow"] and client.published(uri) == []
    again = client.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}, "previousResultId": report["resultId"]})
    assert again["kind"] == "unchanged"
    everything = client.ask("workspace/diagnostic", {"previousResultIds": []})
    assert [d["code"] for d in everything["items"][0]["items"]] == ["signed-overflow"]
    client.wait(lambda m: m.get("method") == "workspace/diagnostic/refresh")


def test_names(server, average, tmp_path):
    client = server()
    uri = client.open(tmp_path / "average.c", average)
    client.settled(uri, 1)
    definition = client.ask("textDocument/definition", position(uri, 20, 13))
    assert definition["range"]["start"] == {"line": 9, "character": 11}
    uses = client.ask("textDocument/references", {**position(uri, 9, 13), "context": {"includeDeclaration": False}})
    assert [u["range"]["start"]["line"] for u in uses] == [20]
    (item,) = client.ask("textDocument/prepareCallHierarchy", position(uri, 9, 13))
    assert [c["from"]["name"] for c in client.ask("callHierarchy/incomingCalls", {"item": item})] == ["main"]
    assert {s["name"] for s in client.ask("workspace/symbol", {"query": "avg"})} == {"average"}
    assert [s["name"] for s in client.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})] == ["careful", "average", "main"]
    lenses = client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert [l["command"]["title"] for l in lenses] == ["proved (2)", "1 of 1 fail", "proved if nothing fails before"]
    variable = client.ask("textDocument/hover", position(uri, 10, 13))["contents"]["value"]
    assert "int low" in variable and "low = " in variable
    assert client.ask("textDocument/foldingRange", {"textDocument": {"uri": uri}})


def test_a_test_is_written_and_confirms_the_failure(server, average, tmp_path):
    client = server(options={"runTests": "always"})
    # Where there is no sandbox, the user is asked all the same.
    client.answers["window/showMessageRequest"] = lambda params: {"title": "Run"}
    uri = client.open(tmp_path / "average.c", average)
    client.settled(uri, 1)
    finding = client.diagnostics(uri)[0]["data"]["finding"]
    before = len(client.messages)
    made = client.ask("workspace/executeCommand", {"command": "proofline.test", "arguments": [{"uri": uri, "finding": finding}]}, 60)
    assert made["confirmed"] is True and "signed integer overflow" in made["output"] and "__VERIFIER_nondet_int" in made["text"]
    said = client.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics", after=before)
    assert said["params"]["diagnostics"][0]["message"].endswith("(confirmed by running it)")


def test_a_test_lets_the_allocation_fail_that_the_path_needs(server, tmp_path):
    """The second of three fails, whatever it is called; the file beside allocates, too."""
    (tmp_path / "util.c").write_text("#include <stdlib.h>\nint *made(int n) {\n    int *p = malloc(sizeof *p);\n    if (p) *p = n;\n    return p;\n}\n")
    text = (
        "#include <stdlib.h>\n#include <string.h>\n#define NEW(size) calloc(1, size)\nint *made(int n);\nint main(void) {\n"
        "    int *first = made(7);\n    if (!first) return 1;\n    int *second = NEW(8);\n    second[1] = *first;\n    char *third = strdup(\"x\");\n"
        "    int r = second[1] + (third != NULL);\n    free(first); free(second); free(third);\n    return r;\n}\n"
    )
    client = server(options={"runTests": "always", "programFiles": ["main.c", "util.c"]}, params={"workspaceFolders": [{"uri": tmp_path.as_uri(), "name": "p"}]})
    client.answers["window/showMessageRequest"] = lambda params: {"title": "Run"}
    (tmp_path / "main.c").write_text(text)
    uri = client.open(tmp_path / "main.c", text)
    found = lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri and [d for d in m["params"]["diagnostics"] if d.get("code") == "null-dereference"]
    asked = {"uri": uri, "finding": found(client.wait(found, 60))[0]["data"]["finding"]}
    made = client.ask("workspace/executeCommand", {"command": "proofline.test", "arguments": [asked]}, 60)
    assert made["confirmed"] is True, made
    assert "together with util.c" in made["text"] and "-Wl,--wrap=malloc" in made["text"], made["text"]


def test_a_failure_where_memory_is_still_held_is_run_again(server, tmp_path):
    """That memory is not freed where the program ends is a failure of its own, about which nobody asks."""
    client = server()
    text = (
        "#include <assert.h>\n#include <stdlib.h>\nextern int __VERIFIER_nondet_int(void);\nint main(void) {\n"
        "    int *p = malloc(sizeof *p);\n    if (!p) return 1;\n    *p = __VERIFIER_nondet_int();\n    assert(*p != 3);\n    free(p);\n    return 0;\n}\n"
    )
    uri = client.open(tmp_path / "held.c", text)
    client.settled(uri, 1)
    (found,) = client.diagnostics(uri)
    asked = {"uri": uri, "finding": found["data"]["finding"]}
    assert client.ask("workspace/executeCommand", {"command": "proofline.trace", "arguments": [asked]})


def test_a_suppressed_finding_is_not_shown(server, average, tmp_path):
    client = server()
    text = average.replace("    return (low", "    // proofline: ignore signed-overflow: known\n    return (low")
    uri = client.open(tmp_path / "average.c", text)
    client.settled(uri, 1)
    assert client.diagnostics(uri) == []


def test_settings_change_the_answers(server, average, tmp_path):
    client = server(options={"checks": ["assertion"]})
    uri = client.open(tmp_path / "average.c", average)
    client.settled(uri, 1)
    assert client.diagnostics(uri) == []
    client.tell("workspace/didChangeConfiguration", {"settings": {"proofline": {"checks": "all"}}})
    client.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["diagnostics"])
    client.tell("workspace/didChangeConfiguration", {"settings": {"proofline": {"checks": ["no-such-check"]}}})
    assert "no-such-check" in client.wait(lambda m: m.get("method") == "window/showMessage")["params"]["message"]


def test_a_header_that_changes_on_disk_or_in_a_buffer_is_seen(server, tmp_path):
    header, file = tmp_path / "limit.h", tmp_path / "use.c"
    header.write_text("#define DIVISOR 0\n")
    client = server()
    uri = client.open(file, '#include "limit.h"\nint main(void) {\n    return 7 / DIVISOR;\n}\n')
    client.settled(uri, 1)
    assert [d["code"] for d in client.diagnostics(uri)] == ["division-by-zero"]
    header.write_text("#define DIVISOR 2\n")
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": header.as_uri(), "type": 2}]})
    client.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri and not m["params"]["diagnostics"])
    before = len(client.messages)
    client.open(header, "#define DIVISOR 0\n")
    client.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri and m["params"]["diagnostics"], after=before)


# Never down

DEEP = "int main(void) { return " + "(" * 3000 + "1" + ")" * 3000 + "; }\n"
NASTY = {
    "empty": "",
    "one line": "int f(int x) { " + "x = x + 1; " * 3000 + "return x; }",
    "deep expression": DEEP,
    "deep blocks": "int main(void) { " + "{" * 3000 + "}" * 3000 + " return 0; }",
    "nul and controls": "int main(void) { return 0; }\x00\x01\x0b\x0c\u2028\ufeff",
    "carriage returns": "int main(void) {\r    int d = 0;\r\n    return 1 / d;\r}\r",
    "unfinished": 'int main(void) { char *s = "abc',
    "unfinished comment": "int main(void) { return 0; } /* abc",
    "header loop": '#include "header loop.c"\nint main(void) { return 0; }\n',
    "missing header": '#include "nowhere.h"\nint main(void) { return 0; }\n',
    "macro bomb": "#define A B B\n#define B C C\n#define C D D\n#define D E E\n#define E F F\n#define F 1 +\nint main(void) { return A A A A 1; }\n",
    "nothing of C": "\n".join(f"{{{{}} @@ {n} ` # ## \\" for n in range(500)),
    "large": "int a;\n" * 300_000,
}


@pytest.mark.parametrize("name", NASTY)
def test_the_server_lives_through(server, average, tmp_path, name):
    client = server()
    path = tmp_path / f"{name}.c"
    path.write_text("int main(void) { return 0; }\n")
    uri = client.open(path, NASTY[name])
    client.change(uri, 2, {"text": NASTY[name] + " "}, at(0, 0, 0, "\n"), at(10**6, 10**6, 10**6, "//"))
    for method in ("documentSymbol", "foldingRange", "codeLens"):
        client.ask(f"textDocument/{method}", {"textDocument": {"uri": uri}})
    client.ask("textDocument/hover", position(uri, 2**31, 2**31))
    other = client.open(tmp_path / "average.c", average)
    assert client.settled(other, 1, 60)["average"]["state"] == "violated"


def test_a_file_of_100_megabytes_is_declined(server, average, tmp_path):
    client = server()
    uri = client.open(tmp_path / "huge.c", "/* " + "x" * 100_000_000 + " */\nint main(void) { return 0; }\n")
    is_said = lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri and m["params"]["diagnostics"]
    assert "too much" in client.wait(is_said, 60)["params"]["diagnostics"][0]["message"]
    other = client.open(tmp_path / "average.c", average)
    assert client.settled(other, 1)["average"]["state"] == "violated"


def test_files_that_are_not_utf_8_disappear_or_were_never_saved(server, tmp_path, average):
    client = server()
    header, file = tmp_path / "latin.h", tmp_path / "latin.c"
    header.write_bytes(b"/* \xe4\xff */\n#define DIVISOR 0\n")
    uri = client.open(file, '#include "latin.h"\nint main(void) { return 1 / DIVISOR; }\n')
    client.settled(uri, 1)
    assert [d["code"] for d in client.diagnostics(uri)] == ["division-by-zero"]
    header.unlink()
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": header.as_uri(), "type": 3}]})
    client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": 9}, "contentChanges": [{"text": "x"}]})
    unsaved = client.open("untitled:Untitled-1", average)
    assert client.settled(unsaved, 1)["average"]["state"] == "violated"


def test_wrong_arguments_are_errors_and_no_more(server, average, tmp_path):
    client = server()
    uri = client.open(tmp_path / "average.c", average)
    client.settled(uri, 1)
    for command, argument in [("proofline.trace", {}), ("proofline.trace", {"uri": uri, "finding": "x:y:1"}), ("proofline.summary", {"uri": uri}), ("proofline.nothing", None), ("proofline.test", {"uri": "%%"})]:
        number = client.start("workspace/executeCommand", {"command": command, "arguments": [argument]})
        assert "error" in client.reply(number)
    assert client.ask("textDocument/hover", position(uri, 9, 14))


def test_a_panic_in_one_function_is_its_internal_error_and_a_report(tmp_path):
    client = Client(env={"PROOFLINE_TEST_FAULT": "panic", "PROOFLINE_CACHE": ""})
    text = "unsigned panics(unsigned a) {\n    return 10 / (a | 1);\n}\n\nunsigned fine(unsigned a) {\n    return a == 0 ? 0 : 10 / a;\n}\n"
    uri = client.open(tmp_path / "panics.c", text)
    states = client.settled(uri, 1)
    assert {name: f["state"] for name, f in states.items()} == {"panics": "internal-error", "fine": "proved"}
    (told,) = client.diagnostics(uri)
    assert (told["code"], told["severity"], told["range"]["start"]["line"]) == ("internal-error", 3, 0)
    is_report = lambda m: m.get("method") == "window/logMessage" and "a seeded fault" in m["params"]["message"]
    report = client.wait(is_report)["params"]["message"]
    assert "`panics`" in report and "panics.c" in report and "proofline 0." in report
    # The next text is verified as if nothing had been.
    client.change(uri, 2, {"text": text.replace("panics", "works")})
    assert {f["state"] for f in client.settled(uri, 2).values()} == {"proved"}
    assert client.close()[0] == 0


def test_work_that_a_write_for_somebody_else_has_stopped_is_done_again(tmp_path):
    client = Client(env={"PROOFLINE_TEST_FAULT": "lost", "PROOFLINE_CACHE": ""})
    uri = client.open(tmp_path / "lost.c", "int half(int d) {\n    return 100 / d;\n}\n\nint main(void) {\n    return half(0);\n}\n")
    assert {name: f["state"] for name, f in client.settled(uri, 1).items()} == {"half": "violated", "main": "proved"}
    assert client.close()[0] == 0


def test_memory_has_a_ceiling(server, tmp_path):
    # No server fits into this ceiling, so that what the test sees does not depend on how fast memory is used.
    client = server(options={"memoryLimitMb": 1})
    # Forty variables that depend on each other: no engine is done before somebody looks at the memory.
    steps = "".join(f"if (__VERIFIER_nondet_int()) a{i} = a{(i * 7 + 1) % 40} * a{(i + 3) % 40} + {i}u; else a{(i + 1) % 40} ^= a{i} << {i % 5};\n" for i in range(40))
    text = "extern int __VERIFIER_nondet_int(void);\n#include <assert.h>\nint main(void) {\n" + "".join(f"unsigned a{i} = __VERIFIER_nondet_int();\n" for i in range(40))
    uri = client.open(tmp_path / "much.c", text + f"for (unsigned r = 0; r < 100; r++) {{\n{steps}}}\nassert(a0 * a1 != 12345u || a2 == a3);\nreturn 0;\n}}\n")
    is_told = lambda m: m.get("method") == "window/logMessage" and "more than 1 MB were needed" in m["params"]["message"]
    client.wait(is_told)
    assert client.settled(uri, 1)["main"]["state"] == "unknown"
    # With a higher ceiling, what is asked then is answered.
    client.tell("workspace/didChangeConfiguration", {"settings": {"proofline": {}}})
    client.change(uri, 2, {"text": RATIO})
    assert set(client.settled(uri, 2)) == {"ratio"}


def test_names_are_coloured_for_those_who_ask(server, average, tmp_path):
    capabilities = {**CAPABILITIES, "textDocument": {**CAPABILITIES["textDocument"], "semanticTokens": {"requests": {"full": True}, "tokenTypes": [], "tokenModifiers": [], "formats": []}}}
    assert "semanticTokensProvider" not in server(capabilities=capabilities).initialized["capabilities"]
    client = server(capabilities=capabilities, options={"semanticTokens": True})
    legend = client.initialized["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"]
    text = "#define ZERO 0\nint f(int x) {\n    return x + ZERO;\n}\n"
    uri = client.open(tmp_path / "tokens.c", text)
    client.settled(uri, 1)
    data = client.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})["data"]
    line = character = 0
    found = []
    for n in range(0, len(data), 5):
        line, character = line + data[n], data[n + 1] + (0 if data[n] else character)
        found.append((text.split("\n")[line][character:character + data[n + 2]], legend[data[n + 3]]))
    assert found == [("f", "function"), ("x", "variable"), ("x", "variable"), ("ZERO", "macro")]


# Ends

@pytest.mark.parametrize("way", ["shutdown", "end of input", "killed client"])
def test_no_process_is_left_within_a_second_while_it_verifies(server, tmp_path, way):
    client = Client()
    uri = client.open(tmp_path / "hard.c", HARD)
    client.wait(lambda m: m.get("method") == "proofline/functions" and m["params"]["functions"][-1]["state"] == "running")
    time.sleep(1)
    if way == "shutdown":
        assert client.close()[0] == 0
    else:
        begun = time.monotonic()
        client.process.stdin.close()
        client.process.wait(1)
        assert time.monotonic() - begun < 1


def test_a_server_whose_client_died_ends_though_the_pipe_is_open(tmp_path):
    parent = subprocess.Popen(["sleep", "1000"])
    client = Client.__new__(Client)
    original = os.getpid
    try:
        os.getpid = lambda: parent.pid
        client.__init__()
    finally:
        os.getpid = original
    parent.kill()
    parent.wait()
    client.process.wait(4)


def test_a_proof_has_its_lines_with_their_places(server, average, tmp_path):
    client = server()
    uri = client.open(tmp_path / "average.c", average)
    client.settled(uri, 1)
    ask = lambda argument: client.ask("workspace/executeCommand", {"command": "proofline.proof", "arguments": [{"uri": uri, **argument}]})
    proof = ask({"function": "careful"})
    assert (proof["name"], proof["state"]) == ("careful", "proved")
    holds = [l for l in proof["lines"] if l["kind"] == "proved"]
    assert holds and all(l["uri"] == uri and l["range"]["start"]["line"] == 6 and l["because"] for l in holds), proof
    # A client that cannot show it is shown its text; one that can is not.
    shown = client.wait(lambda m: m.get("method") == "window/showMessage")["params"]["message"]
    assert shown == proof["text"] and "average.c:7:" in shown
    failing = [l for l in ask({"position": {"line": 10, "character": 12}})["lines"] if l["kind"] == "failing"]
    assert [l["finding"] for l in failing] == [client.diagnostics(uri)[0]["data"]["finding"]]
    actions = client.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": {"start": {"line": 6, "character": 4}, "end": {"line": 6, "character": 4}}, "context": {"diagnostics": []}})
    assert any(a["title"].startswith("Show why `careful` is proved") for a in actions), actions


def test_undecided_places_are_marked_as_the_setting_says_without_a_new_start(server, tmp_path):
    text = "#include <assert.h>\nextern int input(void);\nint hard(void) {\n    unsigned x = input();\n    assert(x * x != 2);\n    return 0;\n}\n"
    client = server(options={"engines": ["intervals"]})
    uri = client.open(tmp_path / "hard.c", text)
    client.settled(uri, 1)
    open_ = lambda: [d for d in client.diagnostics(uri) if d["code"] == "not-decided"]
    assert open_() and all(d["range"]["start"]["line"] == 4 and "\nhelp: " in d["message"] for d in open_()), open_()
    actions = client.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": open_()[0]["range"], "context": {"diagnostics": open_()}})
    assert any(a["title"] == "Verify `hard` with more effort" and a.get("kind") == "quickfix" for a in actions), actions
    seen = len(client.messages)
    client.tell("workspace/didChangeConfiguration", {"settings": {"proofline": {"engines": ["intervals"], "undecided": "functions"}}})
    client.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics", after=seen)
    assert [d["range"]["start"]["line"] for d in open_()] == [2], open_()


def test_long_work_shows_progress_and_stops_when_told(server, tmp_path):
    client = server()
    uri = client.open(tmp_path / "hard.c", HARD)
    is_begin = lambda m: m.get("method") == "$/progress" and m["params"]["value"]["kind"] == "begin"
    token = client.wait(is_begin)["params"]["token"]
    begun = time.monotonic()
    client.tell("window/workDoneProgress/cancel", {"token": token})
    is_end = lambda m: m.get("method") == "$/progress" and m["params"]["value"]["kind"] == "end"
    client.wait(is_end)
    assert client.settled(uri, 1)["main"]["state"] == "unknown"
    # Hover, an edit and its verdict do not wait for what was stopped.
    client.change(uri, 2, {"text": RATIO})
    client.settled(uri, 2)
    assert time.monotonic() - begun < 5
