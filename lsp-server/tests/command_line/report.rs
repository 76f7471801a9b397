//! The page of `check --html`: it is written, what it holds can be read again, and it agrees with `--format json`. What it shows is checked in
//! a browser (`tests/editors/report`).

use std::{fs, path::Path};

use serde_json::Value;

use crate::common::Scratch;

/// The data with this name in a page.
#[track_caller]
fn data(page: &str, id: &str) -> Value {
    let open = format!("<script type=\"application/json\" id=\"{id}\">");
    let (_, rest) = page.split_once(&open).unwrap_or_else(|| panic!("no data `{id}`"));
    let (text, _) = rest.split_once("</script>").expect("it ends");
    serde_json::from_str(text).expect("JSON")
}

fn page(folder: &Path) -> String {
    fs::read_to_string(folder.join("index.html")).expect("the page")
}

const WRONG: &str = "int tenth(int of) {\n    return 10 / of;\n}\nint main(int argc, char **argv) {\n    int sum = 0;\n    for (int i = 0; i < \
                     3; i++)\n        sum += i;\n    return tenth(argc - 1) + sum;\n}\n";

#[test]
fn a_report_says_what_json_says() {
    let scratch = Scratch::new();
    scratch.write("test.c", WRONG);
    let said = scratch.run(&["check", "--no-cache", "--format", "json", "--html", "out/report", "test.c"]);
    assert_eq!(said.code, 1, "{}", said.all());
    let json: Value = serde_json::from_str(&said.out).expect("JSON");
    let page = page(&scratch.path().join("out/report"));
    let shown = data(&page, "results");
    let program = &shown["programs"][0];
    for key in ["findings", "obligations", "rests_on", "result", "contracts"] {
        assert_eq!(program["results"][0][key], json["results"][0][key], "{key}");
    }
    let file = &shown["files"][0];
    assert_eq!(file["path"], "test.c");
    assert_eq!(data(&page, &format!("part-{}", file["part"])), WRONG);
    let functions = program["functions"].as_array().expect("functions");
    let main = functions.iter().find(|function| function["name"] == "main").expect("main");
    assert_eq!((&main["place"]["line"], &main["end_line"]), (&Value::from(4), &Value::from(9)));
    assert_eq!(main["calls"], Value::from(vec!["tenth"]));
    let graph = &data(&page, &format!("part-{}", main["part"]))["main"];
    assert_eq!(graph["heads"].as_array().map(Vec::len), Some(1), "one loop: {graph}");
    assert!(graph["edges"].as_array().is_some_and(|edges| edges.len() > 5), "{graph}");
    assert_eq!(program["loops"][0]["line"], 6, "{}", program["loops"]);
    let engines = program["results"][0]["engines"].as_array().expect("engines");
    assert!(engines.iter().any(|engine| engine["questions"].as_u64() > Some(0)), "{engines:?}");
}

const FREED: &str = "#include <stdlib.h>\nstruct node { int value; struct node *next; };\nstatic struct node *list;\nstatic void add(int value) {\n    \
                     struct node *made = malloc(sizeof *made);\n    if (made == NULL) exit(1);\n    made->value = value;\n    made->next = \
                     list;\n    list = made;\n}\nint main(void) {\n    for (int i = 1; i <= 30; i++) add(i);\n    struct node *second = \
                     list->next;\n    free(second);\n    return list->next->value;\n}\n";

#[test]
fn memory_is_drawn_at_each_step_and_told_at_the_failure() {
    let scratch = Scratch::new();
    scratch.write("test.c", FREED);
    let said = scratch.run(&["check", "--no-cache", "--html", "report", "test.c"]);
    said.expect(
        1,
        &[
            "memory there:",
            "list → heap object 30 (16 bytes) {value = 30}",
            "next → heap object 29 (16 bytes, freed)",
        ],
    );
    let page = page(&scratch.path().join("report"));
    let shown = data(&page, "results");
    let finding = &shown["programs"][0]["results"][0]["findings"][0];
    let pictures = data(&page, &format!("part-{}", finding["pictures"]));
    let of_step = |step: &Value| step["picture"].as_u64().map(|number| pictures[number as usize].clone());
    let steps = finding["steps"].as_array().expect("steps");
    let all: Vec<Value> = steps.iter().filter_map(of_step).collect();
    assert!(all.len() > 20, "most steps have one: {}", all.len());
    let kinds = |picture: &Value| -> Vec<String> {
        let objects = picture["objects"].as_array().expect("objects").iter();
        objects.map(|object| object["kind"].as_str().expect("a kind").to_owned()).collect()
    };
    let last = all.last().expect("a picture of the failure");
    assert!(kinds(last).contains(&"freed".to_owned()), "{last}");
    assert!(last["arrows"].as_array().is_some_and(|all| all.iter().any(|arrow| arrow["isDangling"] == true)));
    // A long list is not drawn as a whole, and what is left out is counted.
    let longest = all.iter().map(|picture| kinds(picture).len()).max().expect("pictures");
    assert!(longest <= 24, "{longest} objects");
    assert!(
        all.iter().any(|picture| picture["more"].as_str().is_some_and(|more| more.contains("more objects")))
    );
    // Before it was freed, it was an object like the others.
    let alive = all.iter().rev().find(|picture| !kinds(picture).contains(&"freed".to_owned()));
    assert!(alive.is_some_and(|picture| kinds(picture).iter().filter(|kind| *kind == "heap").count() > 2));
}

#[test]
fn nothing_in_a_text_leaves_the_data() {
    let scratch = Scratch::new();
    let text = b"// </script><!-- <script> \xe2\x80\xa8 &amp; \xff\nint main(void) { const char *s = \"</ScRiPt>\"; int z = 0; return s[0] / z; }\n";
    scratch.write("a<b>&'.c", text);
    let said = scratch.run(&["check", "--no-cache", "--html", "report", "a<b>&'.c"]);
    said.expect(1, &["division-by-zero"]);
    let page = page(&scratch.path().join("report"));
    let (before, after) = page.split_once("<script type=\"application/json\"").expect("data");
    let (inside, _) = after.split_once("<script>\n'use strict'").expect("scripts");
    assert!(!before.contains("division by zero"));
    for line in inside.lines() {
        let content = line.split_once('>').map_or(line, |(_, rest)| rest);
        let content = content.strip_suffix("</script>").unwrap_or(content);
        assert!(!content.contains(['<', '>', '&', '\u{2028}']), "{content}");
    }
    let shown = data(&page, "results");
    assert_eq!(shown["files"][0]["path"], "a<b>&'.c");
    let own = data(&page, &format!("part-{}", shown["files"][0]["part"]));
    assert!(own.as_str().is_some_and(|own| own.starts_with("// </script><!-- <script>")), "{own}");
}

#[test]
fn a_project_has_one_report() {
    let scratch = Scratch::new();
    let database = r#"[{"directory": ".", "file": "one.c", "command": "cc -c one.c"}, {"directory": ".", "file": "two.c", "command": "cc -c two.c"}]"#;
    scratch.write("compile_commands.json", database);
    scratch.write("one.c", WRONG);
    scratch.run(&["check", "--no-cache", "--html", "report"]).expect(1, &["1 not read"]);
    let shown = data(&page(&scratch.path().join("report")), "results");
    assert_eq!(shown["programs"].as_array().map(Vec::len), Some(1));
    assert_eq!(shown["not_read"], Value::from(vec!["two.c"]));
}

#[test]
fn where_nothing_can_be_written_that_is_said() {
    let scratch = Scratch::new();
    scratch.write("test.c", "int main(void) { return 0; }\n");
    let said = scratch.run(&["check", "--no-cache", "--html", "test.c/report", "test.c"]);
    said.expect(3, &["cannot write to test.c/report"]);
}
