//! `--configuration` and the key `configuration` of `proofline.toml`: engines of a user's own, and what is said of those that are wrong.

use crate::common::Scratch;

const PROGRAM: &str = "#include <assert.h>\nint main(void) {\n    int x = 1;\n    assert(x == 1);\n    x = 0;\n    while (x < 1000000)\n        x = x + 1;\n    return x;\n}\n";

/// Named in the other order than it is asked.
const OWN: &str = "portfolio: [our-located]\nengines:\n  our-scoped: { kind: abstraction, domain: values, blocks: none, refines: true }\n  our-located:\n    kind: abstraction\n    domain: values\n    blocks: none\n    refines: true\n    precision: located\n";

#[test]
fn engines_of_a_file_are_asked_by_name_or_in_its_order() {
    let scratch = Scratch::new();
    scratch.write("test.c", PROGRAM);
    scratch.write("rules/own.yml", OWN);
    let check = ["check", "--statistics", "--property", "assertion", "--budget", "20000", "test.c"];
    let file = ["--configuration", "rules/own.yml"];
    let located = [&check[..], &file].concat();
    scratch.run(&located).expect(0, &["decided by: our-located", "RESULT: true"]);
    let scoped = [&check[..], &file, &["--engine", "our-scoped"]].concat();
    scratch.run(&scoped).expect(2, &["RESULT: unknown"]);
    let shipped = [&check[..], &file, &["--engine", "intervals"]].concat();
    scratch.run(&shipped).expect(0, &["decided by: intervals"]);
    scratch.write("proofline.toml", "configuration = \"rules/own.yml\"\n");
    scratch.run(&check).expect(0, &["decided by: our-located"]);
    let nobody = [&check[..], &["--engine", "ours"]].concat();
    scratch.run(&nobody).expect(3, &["unknown engine `ours`", "your own are our-located"]);
}

#[test]
fn an_answer_is_remembered_for_what_an_engine_is_and_not_for_its_name() {
    let scratch = Scratch::new();
    scratch.write("test.c", PROGRAM);
    scratch.write("own.yml", OWN.replace("our-located", "ours"));
    let check = [
        "check",
        "--statistics",
        "--property",
        "assertion",
        "--budget",
        "20000",
        "--configuration",
        "own.yml",
        "--cache",
        "cache",
        "test.c",
    ];
    scratch.run(&check).expect(0, &["decided by: ours"]);
    scratch.write(
        "own.yml",
        OWN.replace("our-located", "ours").replace("precision: located", "precision: scoped"),
    );
    // It is another engine now, which begins with what was tracked in the last proof.
    scratch.run(&check).expect(0, &["known from before: 0"]);
    scratch.run(&check).expect(0, &["known from before: 1"]);
}

#[test]
fn what_is_wrong_with_a_file_of_engines_is_said_with_its_line() {
    let scratch = Scratch::new();
    scratch.write("test.c", PROGRAM);
    for (text, words) in [
        (
            "engines:\n  ours: { kind: abstraction, domain: value, blocks: none }\n",
            &["own.yml: line 2: engine `ours`: unknown variant `value`", "values, constants"][..],
        ),
        (
            "engines:\n  ours: { kind: bounded, layers: 10, resource: 1, file: /etc/passwd }\n",
            &["line 2: engine `ours`: unknown field `file`"],
        ),
        ("engines:\n  value: { kind: cases }\n", &["line 2: engine `value`", "write `my-value`"]),
    ] {
        scratch.write("own.yml", text);
        scratch.run(&["check", "--configuration", "own.yml", "test.c"]).expect(3, words);
    }
    scratch.run(&["check", "--configuration", "none.yml", "test.c"]).expect(3, &["cannot read none.yml"]);
    scratch.write("proofline.toml", "configuration = \"../own.yml\"\n");
    scratch.run(&["check", "test.c"]).expect(3, &["configuration: a file of this folder"]);
}

#[test]
fn how_often_recursion_was_unwound_is_told() {
    let scratch = Scratch::new();
    let code = "#include <assert.h>\nint down(int n) { return n <= 0 ? 7 : down(n - 1); }\nint main(int argc, char **argv) { assert(down(argc) == 7); return 0; }\n";
    scratch.write("test.c", code);
    let check = ["check", "--property", "assertion", "--engine", "cparec-values", "--no-cache", "test.c"];
    scratch
        .run(&[&check[..], &["--statistics"]].concat())
        .expect(0, &["recursion unwound: 1", "RESULT: true"]);
    scratch.run(&[&check[..], &["--format", "json"]].concat()).expect(0, &["\"unwound\": 1"]);
}
