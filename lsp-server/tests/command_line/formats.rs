//! The same answers in every format.

use serde_json::Value;

use crate::common::Scratch;

const WRONG: &str = "extern int __VERIFIER_nondet_int(void);\nextern void reach_error(void);\nint main(void) {\n    int x = \
                     __VERIFIER_nondet_int();\n    if (x == 4711)\n        reach_error();\n    return 0;\n}\n";

#[test]
fn json_says_what_the_text_says() {
    let scratch = Scratch::new();
    scratch.write("test.c", WRONG);
    let said = scratch.run(&["check", "--format", "json", "test.c"]);
    assert_eq!(said.code, 1, "{}", said.all());
    let json: Value = serde_json::from_str(&said.out).expect("JSON");
    let result = &json["results"][0];
    assert_eq!(result["result"], "false(all)");
    assert_eq!(result["exit"], 1);
    let finding = &result["findings"][0];
    assert_eq!(finding["check"], "reach-error");
    assert_eq!(finding["place"]["line"], 6);
    assert_eq!(finding["inputs"][0], "4711");
    assert!(finding["steps"].as_array().is_some_and(|steps| steps.len() >= 3));
    assert_eq!(result["obligations"][0]["verdict"], "violated");

    scratch.write("good.c", "int main(void) { int a[1] = {3}; int i = 0; return a[i]; }\n");
    let said = scratch.run(&["check", "--format", "json", "good.c"]);
    let json: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((said.code, &json["results"][0]["result"]), (0, &Value::from("true")));
}

#[test]
fn sarif_has_a_result_with_its_path() {
    let scratch = Scratch::new();
    scratch.write("test.c", WRONG);
    let said = scratch.run(&["check", "--format", "sarif", "test.c"]);
    assert_eq!(said.code, 1, "{}", said.all());
    let log: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "reach-error");
    assert_eq!(result["level"], "error");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 6);
    let steps = &result["codeFlows"][0]["threadFlows"][0]["locations"];
    assert!(steps.as_array().is_some_and(|steps| steps.len() >= 3), "{result}");
}

#[test]
fn rules_of_sarif_say_which_weaknesses_they_find() {
    let scratch = Scratch::new();
    scratch.write("test.c", WRONG);
    let said = scratch.run(&["check", "--format", "sarif", "test.c"]);
    let log: Value = serde_json::from_str(&said.out).expect("JSON");
    let run = &log["runs"][0];
    let known = run["taxonomies"][0]["taxa"].as_array().expect("weaknesses");
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    for rule in rules {
        let targets = rule["relationships"].as_array().expect("relationships");
        assert!(!targets.is_empty(), "{rule}");
        for target in targets {
            let id = &target["target"]["id"];
            assert!(known.iter().any(|weakness| weakness["id"] == *id), "{id} is not listed");
        }
    }
    let freed = rules.iter().find(|rule| rule["id"] == "use-after-free").expect("the check");
    assert_eq!(freed["properties"]["tags"][0], "external/cwe/cwe-416");
}

#[test]
fn witnesses_hold_the_inputs_and_the_file_s_hash() {
    let scratch = Scratch::new();
    scratch.write("test.c", WRONG);
    let line = ["check", "--property", "unreach-call", "--witness"];
    let said = scratch.run(&[&line[..], &["w.yml", "test.c"]].concat());
    assert_eq!(said.code, 1, "{}", said.all());
    let text = std::fs::read_to_string(scratch.path().join("w.yml")).expect("a witness");
    for part in [
        "violation_sequence",
        "\\result == 4711",
        "type: target",
        "line: 6",
        "CHECK( init(main()), LTL(G ! call(reach_error())) )",
    ] {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
    scratch.run(&[&line[..], &["w.graphml", "test.c"]].concat()).expect(1, &[]);
    let graph = std::fs::read_to_string(scratch.path().join("w.graphml")).expect("a witness");
    for part in ["violation_witness", "x == (4711);", "programhash", "<data key=\"violation\">true</data>"] {
        assert!(graph.contains(part), "`{part}` is missing:\n{graph}");
    }
}

#[test]
fn help_tells_of_formats_and_exit_codes() {
    let said = Scratch::new().run(&["check", "--help"]);
    said.expect(
        0,
        &[
            "--format",
            "sarif",
            "--witness",
            "Exit code: 0 proved, or nothing to prove; 1 violated; 2 unknown; 3",
        ],
    );
    Scratch::new().run(&["dump", "--help"]).expect(0, &["summaries", "--dot"]);
}

/// A text with a syntax error between functions: `main` by itself could be proved.
const BROKEN: &str =
    "int g(void) { return 1 +; }\nint main(void) { int a[1] = {3}; int i = 0; return a[i]; }\n";

#[test]
fn nothing_is_called_proved_of_a_text_with_errors_in_any_format() {
    let scratch = Scratch::new();
    scratch.write("broken.c", BROKEN);
    let said = scratch.run(&["check", "broken.c"]);
    said.expect(2, &["RESULT: unknown(", "parts of it were not understood"]);
    let row = said.out.lines().find(|line| line.starts_with("main ")).expect("a row of the table");
    assert!(row.contains("unknown") && !row.contains("proved"), "{row}");

    let said = scratch.run(&["check", "--format", "json", "broken.c"]);
    assert_eq!(said.code, 2, "{}", said.all());
    let json: Value = serde_json::from_str(&said.out).expect("JSON");
    let verdicts = json["results"][0]["obligations"].as_array().expect("obligations");
    assert!(!verdicts.is_empty() && verdicts.iter().all(|o| o["verdict"] == "unknown"), "{}", said.out);

    let said = scratch.run(&["check", "--format", "sarif", "broken.c"]);
    assert_eq!(said.code, 2, "{}", said.all());
    let log: Value = serde_json::from_str(&said.out).expect("JSON");
    let notes = log["runs"][0]["invocations"][0]["toolExecutionNotifications"].as_array().expect("notes");
    let says = |note: &Value, text: &str| note["message"]["text"].as_str().is_some_and(|t| t.contains(text));
    assert!(notes.iter().any(|note| says(note, "all: unknown(")), "{}", said.out);
    assert!(!notes.iter().any(|note| says(note, "all: true")), "{}", said.out);
}

#[test]
fn a_check_that_no_rule_implements_is_refused() {
    let scratch = Scratch::new();
    scratch.write("test.c", WRONG);
    for name in ["termination", "invalid-dereference"] {
        let said = scratch.run(&["check", "--property", name, "test.c"]);
        said.expect(3, &[&format!("unknown property `{name}`")]);
    }
}
