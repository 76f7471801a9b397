"""What the server says about code besides what fails: proved values, invariants, contracts, fixes; each as an editor would ask for it."""
import pathlib, time

import pytest
from client import at

SUM = """#define LIMIT 10
#define TWICE(x) ((x) + (x))

int clamp(int x) {
    if (x < 0)
        return 0;
    if (x > 100)
        return 100;
    return x;
}

int sum(int n) {
    int s = 0;
    for (int i = 0; i < LIMIT; i++) {
        if (n != 0)
            s = s + i % 7;
        if (s > 50)
            s = TWICE(1);
    }
    return s;
}

int odd(int x) {
    if (x > 5) {
        if (x < 3) {
            x = 1;
            return 7;
        }
    }
    return 2;
}
"""


def position(uri, text, line, word):
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": text.split("\n")[line].index(word)}}


def hover(client, uri, text, line, word):
    answer = client.ask("textDocument/hover", position(uri, text, line, word))
    return answer["contents"]["value"] if answer else ""


def hover_with(client, uri, text, line, word, wanted):
    """What is known is found out after the verdicts."""
    end = time.monotonic() + 20
    while wanted not in (value := hover(client, uri, text, line, word)):
        assert time.monotonic() < end, value
        time.sleep(0.05)
    return value


def actions(client, uri, line, diagnostics=()):
    range_ = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    found = client.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": range_, "context": {"diagnostics": list(diagnostics)}})
    return {action["title"]: action for action in found}


def applied(text, action):
    """The text after an action's edit."""
    (edits,) = action["edit"]["changes"].values()
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda e: -e["range"]["start"]["line"]):
        assert edit["range"]["start"] == edit["range"]["end"] and edit["range"]["start"]["character"] == 0
        lines[edit["range"]["start"]["line"]:edit["range"]["start"]["line"]] = edit["newText"].rstrip("\n").split("\n")
    return "\n".join(lines)


@pytest.fixture
def known(server, tmp_path):
    client = server(options={"inlayHints": True})
    uri = client.open(tmp_path / "sum.c", SUM)
    client.settled(uri, 1)
    hover_with(client, uri, SUM, 13, "for", "i <= 10")
    return client, uri


def test_a_loop_s_hover_is_its_invariant(known):
    client, uri = known
    said = hover(client, uri, SUM, 13, "for")
    assert "`0 <= i <= 10`" in said and "- `" in said and "#" not in said and "%" not in said


def test_a_variable_s_hover_says_its_proved_values_there(known):
    client, uri = known
    assert "`0 <= i <= 9` here, always" in hover(client, uri, SUM, 15, "i %")
    assert "`s == 0` from here on, always" in hover(client, uri, SUM, 12, "s")
    assert "`n != 0` here" not in hover(client, uri, SUM, 14, "n !=")
    # A name that is given a value has it afterwards; a name that is only read, before.
    assert "`0 <= s <= 56` from here on, always" in hover(client, uri, SUM, 15, "s")
    assert "`0 <= s <= 50` here, always" in hover(client, uri, SUM, 15, "s + i")
    assert "no execution comes here" in hover(client, uri, SUM, 25, "x")


def test_what_is_known_of_an_older_text_is_not_said(known):
    client, uri = known
    client.change(uri, 2, at(12, 12, 13, "@"))
    assert "always" not in hover(client, uri, SUM, 15, "i %")


def test_a_macro_s_hover_is_what_it_becomes(known):
    client, uri = known
    assert "```c\n10\n```" in hover(client, uri, SUM, 13, "LIMIT")
    assert "((1) + (1))" in hover(client, uri, SUM, 17, "TWICE")


def test_a_summary_says_what_the_result_satisfies(known):
    client, uri = known
    assert "- ensures: `0 <= result <= 100`" in hover(client, uri, SUM, 3, "clamp")
    summary = client.ask("workspace/executeCommand", {"command": "proofline.summary", "arguments": [{"uri": uri, "function": "clamp"}]})
    assert summary["ensures"] == ["0 <= result <= 100"] and summary["writes"] == []


def test_a_result_under_the_calls_of_one_program_is_no_promise_to_others(server, tmp_path):
    client = server()
    text = SUM + "int main(void) { return clamp(7); }\n"
    uri = client.open(tmp_path / "program.c", text)
    client.settled(uri, 1)
    said = hover_with(client, uri, text, 3, "clamp", "ensures")
    assert "- ensures in this program: `result == 7`" in said
    assert "Insert the proved contract" not in actions(client, uri, 3)


def test_hints_are_invariants_and_results(known):
    client, uri = known
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    hints = client.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": everything})
    by_line = {hint["position"]["line"]: hint["label"] for hint in hints}
    assert by_line[3] == "ensures 0 <= result <= 100"
    assert by_line[13].startswith("invariant 0 <= i <= 10") or ", 0 <= i <= 10" in by_line[13]


def test_code_that_nothing_reaches_is_faded(known):
    client, uri = known
    is_faded = lambda m: m.get("method") == "textDocument/publishDiagnostics" and any(d["code"] == "never-reached" for d in m["params"]["diagnostics"])
    client.wait(is_faded)
    (faded,) = [d for d in client.diagnostics(uri) if d["code"] == "never-reached"]
    assert faded["tags"] == [1] and faded["severity"] == 4
    assert (faded["range"]["start"]["line"], faded["range"]["end"]["line"]) == (25, 26)


def test_the_proved_invariant_and_contract_can_be_inserted(known):
    client, uri = known
    text = applied(SUM, actions(client, uri, 13)["Insert the proved loop invariant"])
    above = text.split("\n")[:text.split("\n").index("    for (int i = 0; i < LIMIT; i++) {")]
    assert "    /*@ loop invariant" in "\n".join(above) and "loop invariant 0 <= i <= 10;" in "\n".join(above) and above[-1].endswith("*/")
    text = applied(text, actions(client, uri, 3)["Insert the proved contract"])
    assert "/*@ ensures 0 <= \\result <= 100;\n    assigns \\nothing; */\nint clamp(int x) {" in text
    client.change(uri, 2, {"text": text})
    assert {f["state"] for f in client.settled(uri, 2).values()} == {"proved"}


FIXES = [
    ("division-by-zero", "unsigned f(unsigned a, unsigned b) {\n    unsigned r = 1;\n    r = a / b;\n    return r;\n}\n", 2, "if (b == 0) return 0;", "assert(b != 0);"),
    ("null-dereference", "struct s { int v; };\nint f(struct s *p, int n) {\n    p->v = 1;\n    return 1 / n;\n}\n", 2, "if (!p) return 0;", "assert(p);"),
    ("array-bounds", "static int a[10];\nint f(unsigned i) {\n    return a[i];\n}\n", 2, "if (i > 9) return 0;", "assert(i <= 9);"),
    ("invalid-shift", "unsigned f(unsigned x, unsigned n) {\n    return x << n;\n}\n", 1, "if (n >= 32) return 0;", "assert(n < 32);"),
]


@pytest.mark.parametrize("check, text, line, guard, assertion", FIXES, ids=[f[0] for f in FIXES])
def test_a_guard_or_an_assertion_mends_what_fails(server, tmp_path, check, text, line, guard, assertion):
    client = server()
    uri = client.open(tmp_path / "fix.c", text)
    client.settled(uri, 1)
    (found,) = [d for d in client.diagnostics(uri) if d["code"] == check]
    offered = actions(client, uri, line, [found])
    guarded = applied(text, next(a for t, a in offered.items() if t.startswith("Return before if ")))
    assert guarded.split("\n")[line] == "    " + guard
    client.change(uri, 2, {"text": guarded})
    # That the callers' pointers lead to enough memory is up to them.
    state = "asks" if check == "null-dereference" else "proved"
    assert {f["state"] for f in client.settled(uri, 2).values()} == {state}
    assert not [d for d in client.diagnostics(uri) if d["code"] == check]
    asserted = applied(text, next(a for t, a in offered.items() if t.startswith("Assert ")))
    assert asserted.startswith("#include <assert.h>\n") and "    " + assertion in asserted
    client.change(uri, 3, {"text": asserted})
    client.settled(uri, 3)
    assert not [d for d in client.diagnostics(uri) if d["code"] == check]


UNCERTAIN = {
    "only sometimes evaluated": "int f(int a, int b, int c) {\n    return c && a / b;\n}\n",
    "changed by the statement": "int f(int a, int b) {\n    return (b = a - 1, a / b);\n}\n",
    "a loop's condition": "int f(int a, int b) {\n    while (a / b > 0)\n        b--;\n    return 0;\n}\n",
    "no block": "int f(int a, int b) {\n    if (a > 3)\n        return a / b;\n    return 0;\n}\n",
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_no_fix_is_offered_where_it_would_mean_something_else(server, tmp_path, name):
    client = server()
    uri = client.open(tmp_path / "fix.c", UNCERTAIN[name])
    client.settled(uri, 1)
    found = [d for d in client.diagnostics(uri) if d["code"] == "division-by-zero"]
    assert found
    titles = actions(client, uri, found[0]["range"]["start"]["line"], found)
    assert not [t for t in titles if t.startswith(("Return", "Assert", "Assume"))]
    assert any(t.startswith("Suppress") for t in titles)


CHECKS = pathlib.Path(__file__).parents[1] / "suites/checks"


def test_a_suppressed_check_s_hover_and_link_are_its_page(server, tmp_path):
    client = server()
    page = (CHECKS / "division-by-zero.md").read_text()
    text = "unsigned f(unsigned a, unsigned b) {\n    return a / b;\n}\n"
    uri = client.open(tmp_path / "page.c", text)
    client.settled(uri, 1)
    (found,) = client.diagnostics(uri)
    assert pathlib.Path(found["codeDescription"]["href"].removeprefix("file://")).read_text() == page
    suppressed = applied(text, next(a for t, a in actions(client, uri, 1, [found]).items() if t.startswith("Suppress")))
    client.change(uri, 2, {"text": suppressed})
    client.settled(uri, 2)
    # Nobody has said why yet.
    assert [d["code"] for d in client.diagnostics(uri)] == ["division-by-zero"]
    suppressed = suppressed.replace("say why", "callers divide by sizes")
    client.change(uri, 3, {"text": suppressed})
    client.settled(uri, 3)
    assert client.diagnostics(uri) == []
    assert hover(client, uri, suppressed, 1, "division-by-zero") == page


ASKS = """#include <stddef.h>

int ratio(int a, int b) {
    return a > 100 ? 100 / b : 0;
}

int first(int *p) {
    return *p;
}
"""


def test_a_contract_is_inserted_without_marks_of_code(server, tmp_path):
    client = server()
    uri = client.open(tmp_path / "asks.c", ASKS)
    client.settled(uri, 1)
    found = [d for d in client.diagnostics(uri) if d["range"]["start"]["line"] == 3]
    text = applied(ASKS, actions(client, uri, 3, found)["Insert the contract `requires b != 0`"])
    assert "/*@ requires b != 0; */" in text.split("\n") and "`" not in text


def test_a_contract_that_is_inserted_is_read_back(server, tmp_path):
    line, title, clause = 3, "Insert the contract `requires b != 0`", "/*@ requires b != 0; */"
    client = server()
    uri = client.open(tmp_path / "asks.c", ASKS)
    client.settled(uri, 1)
    found = [d for d in client.diagnostics(uri) if d["range"]["start"]["line"] == line]
    assert found, client.diagnostics(uri)
    offered = actions(client, uri, line, found)
    assert title in offered, list(offered)
    text = applied(ASKS, offered[title])
    assert clause in text.split("\n") and "`" not in text
    client.change(uri, 2, {"text": text})
    client.settled(uri, 2)
    left = [d for d in client.diagnostics(uri) if d["range"]["start"]["line"] == line + 1 and d["code"] in {f["code"] for f in found}]
    assert left == [], left


def test_a_whole_contract_that_is_inserted_is_read_back(server, tmp_path):
    client = server()
    uri = client.open(tmp_path / "asks.c", ASKS)
    client.settled(uri, 1)
    hover_with(client, uri, ASKS, 2, "ratio", "requires")
    text = applied(ASKS, actions(client, uri, 2)["Insert the proved contract"])
    assert "requires b != 0;" in text and "`" not in text
    client.change(uri, 2, {"text": text})
    states = client.settled(uri, 2)
    assert states["ratio"]["asked"] == 0 and states["ratio"]["unknown"] == 0, states["ratio"]


def test_a_contract_that_is_not_enough_is_kept_in_part(server, tmp_path):
    text = ASKS.replace("int first", "/*@ requires p != NULL; */\nint first")
    client = server()
    uri = client.open(tmp_path / "asks.c", text)
    states = client.settled(uri, 1)
    # Nobody is asked again for what is written; what it does not say is open, and the help says what to write.
    assert states["first"]["asked"] == 0 and states["first"]["unknown"] == 1, states["first"]
    codes = [d["code"] for d in client.diagnostics(uri) if d["range"]["start"]["line"] == 8]
    assert codes == ["not-decided"], client.diagnostics(uri)
