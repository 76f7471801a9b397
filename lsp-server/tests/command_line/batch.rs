//! Checks in parts: what other machines find out is what this one would have.

use std::{fs, path::Path};

use crate::common::Scratch;

const MAX: &str = "#include \"limit.h\"\nint largest(const int *a, int n) {\n  int m = a[0];\n  for (int i = 1; i < n; i++)\n    if (a[i] > m) m = a[i];\n  return m;\n}\n";
const MAIN: &str = "#include <assert.h>\n#include \"limit.h\"\nint main(void) {\n  int s = 0;\n  for (int i = 0; i < LIMIT; i++) s += 2;\n  assert(s == 2 * LIMIT);\n  int z = LIMIT - 10;\n  return 7 / z;\n}\n";

/// A project of two programs, one with a failure.
fn project() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("limit.h", "#define LIMIT 10\n");
    scratch.write("max.c", MAX);
    scratch.write("main.c", MAIN);
    let folder = scratch.path().display();
    let entry = |file: &str| {
        format!("{{\"directory\":\"{folder}\",\"file\":\"{file}\",\"command\":\"cc -std=c17 -c {file}\"}}")
    };
    scratch.write("compile_commands.json", format!("[{},{}]", entry("max.c"), entry("main.c")));
    scratch
}

fn files_in(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn what_jobs_found_out_is_the_report_of_a_check() {
    let scratch = project();
    let here = scratch.run(&["check", "--no-cache", "--format", "json", "."]);
    scratch.run(&["plan", "plan", "--ninja", "--", "--format", "json", "."]).expect(0, &["jobs: 2"]);
    // Without answers there is no report, and it says what to do.
    scratch.run(&["merge", "plan"]).expect(3, &["2 of 2 jobs have no answer", "proofline solve plan 00001"]);

    // Another machine has the plan and nothing else.
    let other = Scratch::new();
    let copied = other.path().join("copy");
    std::process::Command::new("cp")
        .arg("-r")
        .args([scratch.path().join("plan"), copied.clone()])
        .status()
        .expect("copied");
    other.run(&["solve", "copy", "--shard", "1/2"]).expect(0, &["1 of 1"]);
    assert_eq!(files_in(&copied.join("answers")), 1);
    other.run(&["solve", "copy", "--shard", "2/2"]).expect(0, &["1 of 1"]);
    // What is answered is not asked again.
    assert_eq!(other.run(&["solve", "copy"]).out, "");
    fs::rename(copied.join("answers"), scratch.path().join("plan/answers")).expect("brought back");

    let merged = scratch.run(&["merge", "plan", "--statistics"]);
    assert_eq!((merged.code, &merged.out), (here.code, &here.out));
    assert_eq!(merged.code, 1);
    merged.expect(1, &["jobs: 2, solved in"]);
}

#[test]
fn a_report_of_jobs_verifies_nothing() {
    let scratch = project();
    scratch.run(&["plan", "plan", "--", "main.c"]).expect(0, &["jobs: 1"]);
    scratch.run(&["solve", "plan"]).expect(0, &["00001"]);
    scratch.run(&["merge", "plan", "--statistics"]).expect(1, &["entries verified: 0, known from before: 1"]);
    // A text that was changed since is verified here.
    scratch.write("main.c", MAIN.replace("LIMIT - 10", "LIMIT - 9"));
    scratch.run(&["merge", "plan", "--statistics"]).expect(0, &["entries verified: 1", "RESULT: true"]);
}

#[test]
fn damaged_plans_and_wrong_words_are_refused() {
    let scratch = project();
    scratch.run(&["solve", "nothing"]).expect(3, &["cannot read nothing/plan.json"]);
    scratch.run(&["plan", "plan", "--", "--propertie", "all", "main.c"]).expect(3, &["--property"]);
    scratch.run(&["plan", "plan", "--", "main.c"]).expect(0, &[]);
    scratch.run(&["solve", "plan", "7"]).expect(3, &["there is no job `7`"]);
    scratch.run(&["solve", "plan", "--shard", "3/2"]).expect(3, &["K/N"]);
    let text =
        fs::read_dir(scratch.path().join("plan/texts")).expect("texts").next().expect("one").expect("one");
    fs::write(text.path(), "int other;").expect("damaged");
    scratch.run(&["solve", "plan"]).expect(3, &["is damaged", "copy the plan again"]);
    let plan = fs::read_to_string(scratch.path().join("plan/plan.json")).expect("a plan");
    fs::write(scratch.path().join("plan/plan.json"), plan.replacen("\"engines\": \"", "\"engines\": \"0", 1))
        .expect("old");
    scratch.run(&["merge", "plan"]).expect(3, &["another version of proofline"]);
}
