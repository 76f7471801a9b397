//! Checks in parts: what other machines find out is what this one would have.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{Scratch, WORTH_SHARING};

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

/// The numbers of a plan's jobs, by the names of their programs.
fn numbers(plan: &Path) -> BTreeMap<String, String> {
    let plan: serde_json::Value =
        serde_json::from_slice(&fs::read(plan.join("plan.json")).expect("a plan")).expect("JSON");
    let word = |job: &serde_json::Value, key: &str| job[key].as_str().expect("a word").to_owned();
    let jobs = plan["jobs"].as_array().expect("jobs").iter();
    jobs.map(|job| (word(job, "name"), word(job, "number"))).collect()
}

/// The number of a plan's only job.
fn numbers_of_one(plan: &Path) -> String {
    numbers(plan).into_values().next().expect("a job")
}

/// In no order: programs are checked side by side, and as text each is printed when it is done, beside others.
fn lines(text: &str) -> Vec<&str> {
    let mut all: Vec<&str> = text.lines().collect();
    all.sort_unstable();
    all
}

/// Everything in a folder, by path.
fn files_in(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let name = PathBuf::from(path.file_name().expect("a name"));
        match path.is_dir() {
            true => out.extend(files_in(&path).into_iter().map(|(below, bytes)| (name.join(below), bytes))),
            false => drop(out.insert(name, fs::read(&path).expect("bytes"))),
        }
    }
    out
}

#[test]
fn what_jobs_found_out_is_the_report_of_a_check() {
    let scratch = project();
    scratch.run(&["plan", "plan", "--", "."]).expect(0, &["jobs: 2"]);
    // Without answers there is no report, and it says what to do.
    let said = scratch.run(&["merge", "plan"]);
    said.expect(3, &["2 of 2 jobs have no answer", "proofline solve plan "]);

    // Another machine has the plan and nothing else.
    let other = Scratch::new();
    let copied = other.path().join("copy");
    let copy = Command::new("cp").arg("-r").args([scratch.path().join("plan"), copied.clone()]).status();
    assert!(copy.expect("cp runs").success());
    other.run(&["solve", "copy", "--shard", "1/2"]).expect(0, &["1 of 1", " s, ", " MB)"]);
    assert_eq!(files_in(&copied.join("answers")).len(), 1);
    other.run(&["solve", "copy", "--shard", "2/2"]).expect(0, &["1 of 1"]);
    // What is answered is not asked again.
    assert_eq!(other.run(&["solve", "copy"]).out, "");
    fs::rename(copied.join("answers"), scratch.path().join("plan/answers")).expect("brought back");

    let cost = scratch.run(&["merge", "plan", "--statistics"]);
    cost.expect(1, &["jobs: 2, one after the other: ", " s, ", " MB"]);
    for format in ["text", "json", "sarif"] {
        let here = scratch.run(&["check", "--no-cache", "--format", format, "."]);
        let merged = scratch.run(&["merge", "plan", "--format", format]);
        match format {
            "text" => assert_eq!(lines(&merged.out), lines(&here.out)),
            _ => assert_eq!(merged.out, here.out, "{format}"),
        }
        assert_eq!((merged.code, &merged.err), (here.code, &here.err), "{format}");
        assert_eq!(merged.code, 1);
    }
    // A page says what engines took in its run: here nothing, as in a check that knows everything from before.
    scratch.run(&["check", "--cache", "cache", "."]).expect(1, &[]);
    scratch.run(&["check", "--cache", "cache", "--html", "here", "."]).expect(1, &[]);
    scratch.run(&["merge", "plan", "--html", "merged"]).expect(1, &[]);
    let (here, merged) = (files_in(&scratch.path().join("here")), files_in(&scratch.path().join("merged")));
    assert!(here.contains_key(Path::new("index.html")));
    assert_eq!(merged.keys().collect::<Vec<_>>(), here.keys().collect::<Vec<_>>());
    for (name, page) in &here {
        let (merged, page) = (String::from_utf8_lossy(&merged[name]), String::from_utf8_lossy(page));
        let differing = merged.lines().zip(page.lines()).find(|(merged, here)| merged != here);
        assert!(merged == page, "{} differs: {differing:?}", name.display());
    }
}

/// A library of 20 functions that call two others. Each has something that is proved and something that depends on the caller, and one fails.
fn library(scratch: &Scratch) {
    let mut text =
        "static int half(int n) { return 100 / n; }\nstatic int first(const int *a) { return *a & 7; }\n"
            .to_owned();
    for number in 0..20 {
        let first = if number == 13 { "0; s = 7 / s" } else { "x & 7" };
        text += &format!(
            "int f{number}(int x, const int *a) {{\n  int s = {first};\n  for (int i = 0; i < {number}; i++) s ^= half(i + 1) & 7;\n  \
             return s + first(a);\n}}\n"
        );
    }
    scratch.write("library.c", text);
}

#[test]
fn a_large_library_is_several_jobs() {
    let scratch = Scratch::new();
    library(&scratch);
    let check = ["--budget", "100000", "library.c"];
    let plan_of = |folder: &str, parts: &str| {
        scratch.run(&[&["plan", folder, "--ninja", "--parts", parts, "--"][..], &check].concat())
    };
    plan_of("whole", "1").expect(0, &["jobs: 1"]);
    plan_of("plan", "16").expect(0, &["jobs: 4"]);
    let plan: serde_json::Value =
        serde_json::from_slice(&fs::read(scratch.path().join("plan/plan.json")).expect("a plan"))
            .expect("JSON");
    let jobs = plan["jobs"].as_array().expect("jobs");
    let numbers: Vec<&str> = jobs.iter().map(|job| job["number"].as_str().expect("a number")).collect();
    assert_eq!(jobs[1]["part"], "2 of 3");
    assert_eq!(jobs[3]["after"].as_array().expect("parts").len(), 3);
    let ninja = fs::read_to_string(scratch.path().join("plan/build.ninja")).expect("edges");
    assert!(ninja.contains(&format!("answers/{}\n  job = {}", numbers[2], numbers[3])), "{ninja}");

    // What machines have that know nothing of each other: all but what is left when the parts are done.
    scratch.run(&["solve", "plan", "--shard", "1/2"]).expect(0, &["2 of 2", "of 3) ("]);
    scratch.run(&["merge", "plan"]).expect(3, &["1 of 4 jobs have no answer"]);
    scratch.run(&["solve", "plan", "--shard", "2/2"]).expect(0, &["1 of 1", "of 3) ("]);
    let in_text = |program: &[&str]| scratch.run(program).out;
    let here = in_text(&[&["check", "--no-cache", "--format", "json"][..], &check].concat());
    assert!(here.contains("\"check\": \"division-by-zero\""));
    // `merge` does what is left.
    assert_eq!(in_text(&["merge", "plan", "--format", "json"]), here);
    // Who has the parts' answers solves it, and then nothing is left to be verified. What parts have found out is not in its own answer.
    let all = scratch.run(&["solve", "plan"]);
    assert_eq!(all.out.lines().count(), 1, "{}", all.out);
    scratch.run(&["merge", "plan", "--statistics"]).expect(1, &["entries verified: 0", "jobs: 4, one after"]);
    assert_eq!(in_text(&["merge", "plan", "--format", "json"]), here);
    let size = |plan: &str, number: &str| {
        fs::metadata(scratch.path().join(plan).join("answers").join(number)).expect("an answer").len()
    };
    scratch.run(&["solve", "whole"]).expect(0, &["1 of 1"]);
    let whole = numbers_of_one(&scratch.path().join("whole"));
    assert!(size("plan", numbers[3]) < size("whole", &whole) / 2);
    assert_eq!(in_text(&["merge", "whole", "--format", "json"]), here);

    // Without its parts it takes longer, and is the same.
    for part in &numbers[..3] {
        fs::remove_file(scratch.path().join("plan/answers").join(part)).expect("gone");
    }
    fs::remove_file(scratch.path().join("plan/answers").join(numbers[3])).expect("gone");
    scratch.run(&["solve", "plan", numbers[3]]).expect(0, &["1 of 1"]);
    // The first line says what it cost, in a few digits more or less.
    assert!(size("plan", numbers[3]).abs_diff(size("whole", &whole)) < 50);

    // Engines that are named are asked about a whole program, and so are questions that one violation answers.
    for option in ["--engine=intervals", "--first", "--entry=f1"] {
        scratch.run(&[&["plan", "other", "--", option][..], &check].concat()).expect(0, &["jobs: 1"]);
    }
}

#[test]
fn a_report_of_jobs_verifies_nothing() {
    let scratch = project();
    scratch.run(&["plan", "plan", "--", "main.c"]).expect(0, &["jobs: 1"]);
    scratch.run(&["solve", "plan"]).expect(0, &["1 of 1"]);
    scratch.run(&["merge", "plan", "--statistics"]).expect(1, &["entries verified: 0, known from before: 1"]);
    // A text that was changed since is verified here.
    scratch.write("main.c", MAIN.replace("LIMIT - 10", "LIMIT - 9"));
    scratch.run(&["merge", "plan", "--statistics"]).expect(0, &["entries verified: 1", "RESULT: true"]);
}

#[test]
fn a_plan_that_is_made_again_asks_only_what_is_new() {
    let scratch = project();
    let plan = scratch.path().join("plan");
    let again = || scratch.run(&["plan", "plan", "--ninja", "--", "."]).expect(0, &["jobs: 2"]);
    again();
    scratch.run(&["solve", "plan"]).expect(0, &["2 of 2"]);
    let (first, written) = (numbers(&plan), || fs::metadata(plan.join("plan.json")).expect("it is there"));
    let old = written().modified().expect("a time");
    again();
    assert_eq!((numbers(&plan), written().modified().expect("a time")), (first.clone(), old));

    scratch.write("main.c", MAIN.replace("LIMIT - 10", "LIMIT - 9"));
    again();
    let second = numbers(&plan);
    assert_eq!(second["max.c"], first["max.c"]);
    assert_ne!(second["main.c"], first["main.c"]);
    scratch.run(&["merge", "plan"]).expect(3, &["1 of 2 jobs have no answer", &second["main.c"]]);
    let solved = scratch.run(&["solve", "plan"]);
    assert_eq!(solved.out.lines().count(), 1, "{}", solved.out);
    solved.expect(0, &[&second["main.c"]]);
    scratch.run(&["merge", "plan"]).expect(2, &["2 programs: 1 proved, 0 violated"]);
    // An answer to another job is none, whatever its name.
    fs::copy(plan.join("answers").join(&second["max.c"]), plan.join("answers").join(&second["main.c"]))
        .expect("mistaken");
    scratch.run(&["merge", "plan"]).expect(3, &["1 of 2 jobs have no answer", &second["main.c"]]);
}

#[test]
fn a_job_needs_its_own_file_and_its_texts() {
    let scratch = project();
    scratch.run(&["plan", "plan", "--", "."]).expect(0, &["jobs: 2"]);
    let plan = scratch.path().join("plan");
    let numbers = numbers(&plan);
    fs::remove_file(plan.join("plan.json")).expect("gone");
    fs::remove_file(plan.join("jobs").join(format!("{}.json", numbers["max.c"]))).expect("gone");
    let number = &numbers["main.c"];
    scratch.run(&["solve", "plan", number]).expect(0, &["1 of 1", number]);
}

#[test]
fn machines_that_solve_use_and_fill_a_team_s_store() {
    let scratch = Scratch::new();
    scratch.write("test.c", WORTH_SHARING);
    let folder = scratch.path().join("shared");
    let shared = ["--store", &folder.to_string_lossy()];
    let check = ["check", "test.c", "--property", "assertion", "--statistics", "--cache", "other"];
    let confirmed = "the team's store knew: 1, of which it said what does not hold: 0";
    scratch.run(&["plan", "plan", "--", "test.c", "--property", "assertion"]).expect(0, &["jobs: 1"]);
    scratch.run(&[&["solve", "plan"][..], &shared].concat()).expect(0, &["1 of 1"]);
    let filled = files_in(&folder);
    assert!(!filled.is_empty());
    scratch.run(&[&check[..], &shared].concat()).expect(0, &[confirmed]);

    // What is taken from there is not written there anew.
    fs::remove_dir_all(scratch.path().join("plan/answers")).expect("gone");
    scratch.run(&[&["solve", "plan"][..], &shared].concat()).expect(0, &["1 of 1"]);
    assert_eq!(files_in(&folder), filled);
    scratch.run(&["merge", "plan", "--statistics"]).expect(0, &["entries verified: 0, known from before: 1"]);
    scratch.run(&["solve", "plan", "--store", "ftp://host"]).expect(3, &["is no store"]);
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
    // Making it again mends it.
    scratch.run(&["plan", "plan", "--", "main.c"]).expect(0, &[]);
    let number = &numbers(&scratch.path().join("plan"))[""];
    let job = scratch.path().join(format!("plan/jobs/{number}.json"));
    let whole = fs::read_to_string(&job).expect("a job");
    fs::write(&job, whole.replace("\"first\": false", "\"first\": true")).expect("damaged");
    scratch.run(&["solve", "plan"]).expect(3, &["is damaged", "copy the plan again"]);
    let plan = fs::read_to_string(scratch.path().join("plan/plan.json")).expect("a plan");
    fs::write(scratch.path().join("plan/plan.json"), plan.replacen("\"engines\": \"", "\"engines\": \"0", 1))
        .expect("old");
    scratch.run(&["merge", "plan"]).expect(3, &["another version of proofline"]);
}
