//! What the command line and the settings say is in a C programmer's words: `tests/jargon.txt` has those of the field.

use serde_json::Value;

use crate::common::Scratch;

const JARGON: &str = include_str!("../../../tests/jargon.txt");

/// For those who want to look inside: these options speak of engines.
const INSIDE: &[&str] = &["--engine", "--configuration"];

/// The words of the field in a text.
fn jargon(text: &str) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let is_there = |word: &&str| {
        let parts: Vec<&str> = word.split(' ').collect();
        let is_it = |found: &[&str]| {
            found == parts || found.join(" ").strip_suffix('s').is_some_and(|one| one == *word)
        };
        words.windows(parts.len()).any(is_it)
    };
    JARGON.lines().filter(is_there).collect()
}

#[track_caller]
fn is_plain(text: &str) {
    assert_eq!(jargon(text), Vec::<&str>::new(), "{text}");
}

#[test]
fn the_test_notices_jargon() {
    for text in ["3 obligations", "the solver gave up", "No progress: x", "Horn clauses"] {
        assert_eq!(jargon(text).len(), 1, "{text}");
    }
    is_plain("a shorn sheep");
}

#[test]
fn the_help_is_plain() {
    let scratch = Scratch::new();
    is_plain(
        &scratch
            .run(&["--help"])
            .out
            .replace("  dump         Shows what is inside: tokens, trees, automata", ""),
    );
    for command in ["check", "plan", "solve", "merge", "explain", "lsp", "dap", "completions"] {
        let help = scratch.run(&[command, "--help"]).out;
        assert!(help.contains("Usage: "), "{help}");
        let options = help.split("\n      --").map(|text| format!("--{text}"));
        for option in options.filter(|text| !INSIDE.iter().any(|inside| text.starts_with(inside))) {
            is_plain(&option);
        }
    }
}

/// Something fails, something is proved, something depends on callers, something is not decided.
const PROGRAM: &str = "#include <stdlib.h>\nextern int nondet(void);\n\
     int first(const int *a, int n) {\n    int sum = 0;\n    for (int i = 0; i < n && i < 10; i++)\n        sum = a[i] % 7;\n    return sum / n;\n}\n\
     int hard(void) {\n    int x = nondet(), y = nondet();\n    return x > 3 && y > 3 && x * y == 1000003 ? 1 / (x - y) : 0;\n}\n\
     int none(void) {\n    int *p = malloc(4);\n    *p = 1;\n    int r = *p;\n    free(p);\n    return r;\n}\n";

#[test]
fn what_a_check_says_is_plain() {
    let scratch = Scratch::new();
    scratch.write("a.c", PROGRAM);
    let said = scratch.run(&["check", "--no-cache", "--budget", "20000", "a.c"]);
    // The word behind RESULT has a list of its own, for programs that read it.
    let told: Vec<&str> = said.out.lines().filter(|line| !line.starts_with("RESULT: ")).collect();
    assert!(told.len() > 20, "{}", said.out);
    is_plain(&told.join("\n"));
    is_plain(&said.err);
    let explained = scratch.run(&["explain", "a.c"]);
    assert!(explained.out.contains("first"), "{}", explained.out);
    is_plain(&explained.out);
}

#[test]
fn the_settings_are_plain() {
    let read = |path: &str| -> Value {
        let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::from_str(&text).expect("JSON")
    };
    let mut count = 0;
    for text in
        ["vscode-extension/package.json", "docs/proofline.schema.json"].map(read).iter().flat_map(texts)
    {
        is_plain(&text);
        count += 1;
    }
    assert!(count > 40, "{count}");
}

/// What people read of a description of settings.
fn texts(value: &Value) -> Vec<String> {
    let is_read = |key: &str| {
        ["description", "markdownDescription", "title", "enumDescriptions", "markdownEnumDescriptions"]
            .contains(&key)
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| match value {
                Value::String(text) if is_read(key) => vec![text.clone()],
                Value::Array(all) if is_read(key) => {
                    all.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
                }
                value => texts(value),
            })
            .collect(),
        Value::Array(all) => all.iter().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
