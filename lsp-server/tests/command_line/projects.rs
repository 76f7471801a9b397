//! Folders with several programs, and what is news in them.

use std::process::Command;

use serde_json::Value;

use crate::common::Scratch;

const DATABASE: &str = r#"[
  {"directory": "build", "file": "../src/one.c", "command": "cc -DSIZE=4 -c ../src/one.c -o CMakeFiles/one.dir/src/one.c.o"},
  {"directory": "build", "file": "../src/help.c", "command": "cc -DSIZE=4 -c ../src/help.c -o CMakeFiles/one.dir/src/help.c.o"},
  {"directory": "build", "file": "../src/two.c", "arguments": ["cc", "-c", "../src/two.c"], "output": "two.p/src_two.c.o"},
  {"directory": "build", "file": "../src/plain.c", "command": "cc -c ../src/plain.c -o plain.o"},
  {"directory": "build", "file": "../src/other.cpp", "command": "c++ -c ../src/other.cpp"}
]"#;

fn project() -> Scratch {
    let scratch = Scratch::new();
    for folder in ["src", "build"] {
        std::fs::create_dir(scratch.path().join(folder)).expect("a folder");
    }
    scratch.write("compile_commands.json", DATABASE);
    scratch.write("src/shared.h", "static inline int tenth(int of) { return 10 / of; }\n");
    let one = "#include \"shared.h\"\nint help(int);\nint main(int argc, char **argv) { int a[SIZE]; a[3] = help(argc); return tenth(argc - 1) + a[3]; }\n";
    scratch.write("src/one.c", one);
    scratch.write("src/help.c", "int help(int of) { return of > 3; }\n");
    scratch.write(
        "src/two.c",
        "#include \"shared.h\"\nint main(int argc, char **argv) { return tenth(argc - 1); }\n",
    );
    scratch.write("src/plain.c", "int plain(int a) { return a > 0 ? a - 1 : 0; }\n");
    scratch
}

#[test]
fn a_folder_is_checked_program_by_program() {
    let scratch = project();
    let said = scratch.run(&["check", "--no-cache"]);
    said.expect(
        1,
        &[
            "== one (src/one.c, src/help.c)",
            "== src/plain.c",
            "3 programs: 1 proved, 2 violated, 0 unknown, 0 not read",
        ],
    );
    assert_eq!(said.out.matches("error[division-by-zero]").count(), 1, "told once: {}", said.out);
    scratch.run(&["check", "--no-cache", "."]).expect(1, &["3 programs:"]);
    let json = scratch.run(&["check", "--no-cache", "--format", "json"]);
    json.expect(1, &["\"programs\"", "\"name\": \"two\""]);
    let sarif = scratch.run(&["check", "--no-cache", "--format", "sarif"]);
    sarif.expect(1, &["proofline/one", "proofline/src/plain.c"]);
    assert_eq!(sarif.out.matches("\"ruleId\": \"division-by-zero\"").count(), 1, "{}", sarif.out);
}

const LINKED: &str = r#"[
  {"directory": "build/app", "file": "../../main.c", "command": "cc -c ../../main.c -o CMakeFiles/app.dir/main.c.o"},
  {"directory": "build/lib", "file": "../../used.c", "command": "cc -c ../../used.c -o CMakeFiles/util.dir/used.c.o"},
  {"directory": "build/lib", "file": "../../unused.c", "command": "cc -c ../../unused.c -o CMakeFiles/util.dir/unused.c.o"},
  {"directory": "build/lib", "file": "../../own.c", "command": "cc -c ../../own.c -o CMakeFiles/util.dir/own.c.o"}
]"#;

/// A program, and a library of three files: it calls one of them, and has a function that another one has, too.
fn linked() -> Scratch {
    let scratch = Scratch::new();
    for folder in ["build", "build/app", "build/lib"] {
        std::fs::create_dir(scratch.path().join(folder)).expect("a folder");
    }
    scratch.write("compile_commands.json", LINKED);
    scratch.write("main.c", "int used(int);\nint own(void) { return 1; }\nint main(void) { return 10 / (used(4) - 4 * own()); }\n");
    scratch.write("used.c", "int used(int a) { return a; }\n");
    scratch.write("unused.c", "int unused(int a) { return a; }\n");
    scratch.write("own.c", "int own(void) { return 2; }\n");
    scratch
}

#[test]
fn with_plain_make_a_program_has_what_it_calls() {
    let scratch = linked();
    std::fs::create_dir(scratch.path().join("_build")).expect("a folder");
    let compiled = |file: &str| {
        format!(r#"{{"directory": "..", "file": "{file}", "command": "cc -c {file} -o {file}.o"}}"#)
    };
    let all = ["main.c", "used.c", "unused.c", "own.c", "other.c"].map(compiled).join(",\n");
    scratch.write("_build/compile_commands.json", format!("[{all}]"));
    std::fs::remove_file(scratch.path().join("compile_commands.json")).expect("the database of CMake");
    // Another program, whose functions are not the first one's.
    scratch.write(
        "other.c",
        "int used(int);\nint unused(int a) { return -a; }\nint main(void) { return 1 / used(1); }\n",
    );
    let said = scratch.run(&["check", "--no-cache"]);
    // A file of two programs is a library of its own, too, and `unused` is defined twice among all files, but once among those without `main`.
    said.expect(
        1,
        &[
            "== main.c (main.c, used.c)",
            "== other.c (other.c, used.c)",
            "5 programs: 4 proved, 1 violated, 0 unknown, 0 not read",
        ],
    );
}

/// Writes what CMake writes for make.
fn write_link_commands(scratch: &Scratch) {
    for (folder, line) in [
        ("app/CMakeFiles/app.dir", "cc CMakeFiles/app.dir/main.c.o -o app ../lib/libutil.a -lm\n"),
        (
            "lib/CMakeFiles/util.dir",
            "ar qc libutil.a CMakeFiles/util.dir/used.c.o CMakeFiles/util.dir/unused.c.o CMakeFiles/util.dir/own.c.o\nranlib libutil.a\n",
        ),
    ] {
        std::fs::create_dir_all(scratch.path().join("build").join(folder)).expect("a folder");
        scratch.write(&format!("build/{folder}/link.txt"), line);
    }
}

/// Writes the same for Ninja: one folder from which everything is built.
fn write_edges(scratch: &Scratch) {
    let database =
        LINKED.replace("build/app", "build").replace("build/lib", "build").replace("../../", "../");
    scratch.write("compile_commands.json", database);
    scratch.write(
        "build/build.ninja",
        "build app: LINK CMakeFiles/app.dir/main.c.o | libutil.so || libutil.so\nbuild libutil.so: SYMLINK libutil.so.1\n\
         build libutil.so.1: LINK CMakeFiles/util.dir/used.c.o $\n  CMakeFiles/util.dir/unused.c.o CMakeFiles/util.dir/own.c.o\n",
    );
}

#[test]
fn a_program_has_what_it_calls_of_the_libraries_that_it_is_linked_with() {
    // What the build does not tell may be anything.
    let scratch = linked();
    scratch
        .run(&["check", "--no-cache"])
        .expect(1, &["== app (main.c)", "== util (used.c, unused.c, own.c)"]);
    for write in [write_link_commands, write_edges] {
        let scratch = linked();
        write(&scratch);
        let said = scratch.run(&["check", "--no-cache"]);
        said.expect(1, &["== app (main.c, used.c)", "== util (used.c, unused.c, own.c)", "2 programs:"]);
        assert!(said.out.contains("used(4) == 4") || said.out.contains("a = 4"), "{}", said.out);
        scratch.write("main.c", "int used(int);\nint own(void) { return 1; }\nint main(void) { return 10 / (used(4) - 3 * own()); }\n");
        scratch.run(&["check", "--no-cache"]).expect(0, &["2 programs: 2 proved"]);
    }
}

/// Which of two libraries a linker takes a function from depends on their order.
#[test]
fn a_function_of_two_libraries_may_do_anything() {
    let scratch = linked();
    write_link_commands(&scratch);
    let other = r#"{"directory": "build/lib", "file": "../../other.c", "command": "cc -c ../../other.c -o CMakeFiles/other.dir/other.c.o"}"#;
    scratch.write("compile_commands.json", LINKED.replacen('[', &format!("[{other},"), 1));
    scratch.write("other.c", "int used(int a) { return a - 1; }\n");
    std::fs::create_dir_all(scratch.path().join("build/lib/CMakeFiles/other.dir")).expect("a folder");
    scratch.write(
        "build/lib/CMakeFiles/other.dir/link.txt",
        "ar qc libother.a CMakeFiles/other.dir/other.c.o\n",
    );
    let link = "cc CMakeFiles/app.dir/main.c.o -o app ../lib/libother.a ../lib/libutil.a\n";
    scratch.write("build/app/CMakeFiles/app.dir/link.txt", link);
    scratch.write("main.c", "int used(int);\nint main(void) { return 10 / (used(4) - 3); }\n");
    scratch.run(&["check", "--no-cache"]).expect(1, &["== app (main.c)", "error[division-by-zero]"]);
}

/// A test that includes the text of what it tests has that already.
#[test]
fn what_a_program_includes_is_not_linked_again() {
    let scratch = linked();
    write_link_commands(&scratch);
    scratch.write("common.h", "#include \"used.c\"\n#define RUN(f) unused(f)\n");
    scratch.write("main.c", "#include \"common.h\"\nint main(void) { return 10 / (RUN(used(4)) - 3); }\n");
    let said = scratch.run(&["check", "--no-cache"]);
    said.expect(0, &["== app (main.c, unused.c)", "2 programs: 2 proved"]);
}

#[test]
fn one_program_that_cannot_be_read_does_not_keep_the_others() {
    let scratch = project();
    std::fs::remove_file(scratch.path().join("src/two.c")).expect("it was there");
    let said = scratch.run(&["check", "--no-cache"]);
    said.expect(1, &["3 programs: 1 proved, 1 violated, 0 unknown, 1 not read"]);
    assert!(said.err.contains("src/two.c"), "{}", said.err);
}

#[test]
fn folders_without_a_database_are_refused() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("src")).expect("a folder");
    scratch.run(&["check", "src"]).expect(3, &["is a directory without a compile_commands.json"]);
    scratch.run(&["check"]).expect(3, &["no input file"]);
    scratch.write("compile_commands.json", "[{");
    scratch.run(&["check"]).expect(3, &["compile_commands.json:"]);
}

#[test]
fn what_an_earlier_run_found_is_no_news() {
    let scratch = project();
    let earlier = scratch.run(&["check", "--no-cache", "--format", "json"]);
    scratch.write("base.json", &earlier.out);
    let said = scratch.run(&["check", "--no-cache", "--baseline", "base.json"]);
    said.expect(0, &["failures that are no news: 1"]);
    assert!(!said.out.contains("error["), "{}", said.out);
    // Lines have moved, and there is a new one.
    scratch.write("src/two.c", "\n\n#include \"shared.h\"\nint main(int argc, char **argv) { int n = argc / (argc - 3); return tenth(argc - 1) + n; }\n");
    let said = scratch.run(&["check", "--no-cache", "--baseline", "base.json"]);
    said.expect(1, &["error[division-by-zero]: division by zero in `argc / (argc - 3)`"]);
    assert_eq!(said.out.matches("error[").count(), 1, "{}", said.out);
    // The other formats show both, and say which is news; in JSON, each program that comes to the old one has it.
    let compared = ["check", "--no-cache", "--baseline", "base.json", "--format"];
    let states = |format: &str, pointer: &str, mark: &str| -> Vec<String> {
        let said = scratch.run(&[&compared[..], &[format]].concat());
        let all: Value = serde_json::from_str(&said.out).expect("JSON");
        let runs = all[if format == "json" { "programs" } else { "runs" }].as_array().expect("runs");
        let found = runs.iter().filter_map(|run| run.pointer(pointer)?.as_array());
        let mut marks: Vec<String> = found.flatten().map(|one| one[mark].to_string()).collect();
        marks.retain(|mark| mark != "null");
        marks.sort();
        marks.dedup();
        marks
    };
    assert_eq!(states("json", "/results/0/findings", "is_news"), ["false", "true"]);
    assert_eq!(states("sarif", "/results", "baselineState"), ["\"new\"", "\"unchanged\""]);
    scratch.run(&["check", "src/two.c", "--baseline", "src/two.c"]).expect(3, &["is no result of"]);
}

#[test]
fn what_no_changed_line_has_to_do_with_is_no_news() {
    let scratch = project();
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.invalid"])
            .args(arguments)
            .current_dir(scratch.path())
            .output()
            .expect("git");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "first"]);
    let since = ["check", "--no-cache", "--since", "HEAD"];
    scratch.run(&since).expect(0, &["failures that are no news: 1"]);
    // The step that calls is changed; the failure is elsewhere.
    scratch.write(
        "src/two.c",
        "#include \"shared.h\"\nint main(int argc, char **argv) { return tenth(argc - 1) + 1; }\n",
    );
    scratch.run(&since).expect(1, &["error[division-by-zero]"]);
    // A new file.
    scratch.write("src/new.c", "int main(int argc, char **argv) { return 1 / (argc - 1); }\n");
    scratch.run(&["check", "--no-cache", "--since", "HEAD", "src/new.c"]).expect(1, &["error["]);
    scratch.run(&["check", "--since=--output=x", "src/new.c"]).expect(3, &["git says"]);
}

#[test]
fn comments_with_a_reason_take_failures_back() {
    let scratch = project();
    let ignored = |reason: &str| {
        format!(
            "static inline int tenth(int of) {{\n    // proofline: ignore division-by-zero: {reason}\n    return 10 / of; }}\n"
        )
    };
    scratch.write("src/shared.h", ignored("say why"));
    scratch.run(&["check", "--no-cache", "src/two.c"]).expect(1, &["error[division-by-zero]"]);
    scratch.write("src/shared.h", ignored("argc is not 1 here"));
    for file in ["src/two.c", "."] {
        let said = scratch.run(&["check", "--no-cache", file]);
        said.expect(0, &["failures that comments take back: 1"]);
        assert!(!said.out.contains("error["), "{}", said.out);
    }
    let json = scratch.run(&["check", "--no-cache", "--format", "json", "src/two.c"]);
    json.expect(0, &["\"suppressed\": \"argc is not 1 here\"", "\"failures_that_comments_take_back\": 1"]);
    let sarif = scratch.run(&["check", "--no-cache", "--format", "sarif", "src/two.c"]);
    sarif.expect(0, &["\"kind\": \"inSource\"", "\"justification\": \"argc is not 1 here\""]);
}

#[test]
fn a_project_s_own_file_says_how_it_is_checked() {
    let scratch = project();
    scratch.write("proofline.toml", "exclude = [\"src/two.c\", \"src/one.c\"]\n");
    let said = scratch.run(&["check", "--no-cache"]);
    said.expect(0, &["2 files are left out", "settings: ", "2 programs: 2 proved"]);
    // What the command line says comes before it; a file that is named is checked.
    scratch.write("proofline.toml", "checks = [\"signed-overflow\"]\nentries = [\"plain\"]\n");
    scratch.run(&["check", "--no-cache", "src/two.c"]).expect(0, &["checks: signed-overflow\n"]);
    scratch
        .run(&["check", "--no-cache", "src/two.c", "--property", "all"])
        .expect(1, &["error[division-by-zero]"]);
    scratch.run(&["check", "--no-cache", "src/plain.c"]).expect(0, &["plain "]);
    // An earlier result in the folder.
    let earlier = scratch.run(&["check", "--no-cache", "--property", "all", "--format", "json"]);
    scratch.write("old.json", &earlier.out);
    scratch.write("proofline.toml", "baseline = \"old.json\"\n");
    scratch.run(&["check", "--no-cache", "src/two.c"]).expect(0, &["failures that are no news: 1"]);
    scratch.write("proofline.toml", "\ncheks = \"all\"\n");
    scratch.run(&["check", "src/two.c"]).expect(3, &["proofline.toml", "line 2", "unknown field `cheks`"]);
}

#[test]
fn the_project_s_file_says_what_plain_make_links() {
    let scratch = project();
    scratch.write("proofline.toml", "[programs]\nwhole = [\"src/t*.c\", \"src/plain.c\"]\n");
    let said = scratch.run(&["check", "--no-cache"]);
    said.expect(1, &["== whole (src/plain.c, src/two.c)", "== one (src/one.c, src/help.c)", "2 programs:"]);
    // Without a database the programs that are named are all there are.
    std::fs::remove_file(scratch.path().join("compile_commands.json")).expect("it was there");
    scratch.run(&["check", "--no-cache"]).expect(1, &["== whole (src/plain.c, src/two.c)", "1 program:"]);
}

#[test]
fn models_stand_for_functions_that_are_not_there() {
    let scratch = Scratch::new();
    for folder in ["src", "verify"] {
        std::fs::create_dir(scratch.path().join(folder)).expect("a folder");
    }
    scratch.write("src/main.c", "int level(void);\nint main(void) { return 100 / (10 - level()); }\n");
    scratch.write("src/other.c", "int main(void) { return 0; }\n");
    scratch.run(&["check", "--no-cache", "src/main.c"]).expect(1, &["error[division-by-zero]"]);
    scratch.write("verify/level.c", "int level(void) { return 9; }\n");
    scratch.write("verify/unused.c", "int unused(void) { return 1 / 0; }\n");
    scratch.write("proofline.toml", "models = [\"verify/level.c\", \"verify/unused.c\"]\n");
    scratch.run(&["check", "--no-cache", "src/main.c"]).expect(0, &["RESULT: true"]);
    scratch.run(&["check", "--no-cache", "src/other.c"]).expect(0, &["RESULT:"]);
    // A program's own function counts.
    scratch.write(
        "src/own.c",
        "int level(void) { return 10; }\nint main(void) { return 100 / (10 - level()); }\n",
    );
    scratch.run(&["check", "--no-cache", "src/own.c"]).expect(1, &["error[division-by-zero]"]);
}
