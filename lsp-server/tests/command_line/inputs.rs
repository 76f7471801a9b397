//! Inputs that are missing, broken, hostile or odd: what, where, what to do, and the right exit code (3: cannot be used, 2: not known).

use std::{fs, process::Command};

use crate::common::Scratch;

const GOOD: &str = "int main(void) { return 0; }\n";

#[test]
fn a_missing_file_is_named() {
    Scratch::new().run(&["check", "gone.c"]).expect(3, &["error: cannot read gone.c", "No such file"]);
}

#[test]
fn no_file_at_all_says_what_to_give() {
    Scratch::new().run(&["check"]).expect(3, &["no input file", "help: proofline check FILE"]);
}

#[test]
fn a_missing_header_is_shown_where_it_is_wanted() {
    let said = Scratch::new().check("#include \"nix.h\"\nint main(void) { return 0; }\n");
    said.expect(
        2,
        &["`nix.h` file not found", "test.c:1:1", "help: add its directory with -I", "RESULT: unknown"],
    );
}

#[test]
fn a_syntax_error_in_the_middle_leaves_the_rest_understood_but_nothing_proved() {
    let said = Scratch::new().check(
        "int zero;\nint f(void) { return 1 / zero; }\nint g(void) { return 1 +; }\nint main(void) { return f(); }\n",
    );
    // A violation that is found all the same is real.
    said.expect(1, &["test.c:3:", "division by zero in `1 / zero`", "RESULT: false(all)"]);
    Scratch::new()
        .check("int g(void) { return 1 +; }\nint main(void) { return 0; }\n")
        .expect(2, &["RESULT: unknown("]);
}

#[test]
fn an_error_in_a_function_concerns_those_who_call_it_only() {
    let scratch = Scratch::new();
    let text = "int bad(void) { return undeclared; }\nint main(void) { int a[2] = {1, 2}; return a[0]; }\n";
    scratch.check(text).expect(0, &["`undeclared` is not declared", "RESULT: true"]);
    let text = "int bad(void) { return undeclared; }\nint main(void) { return bad(); }\n";
    scratch.check(text).expect(2, &["`undeclared` is not declared", "`bad` has errors"]);
}

#[test]
fn a_binary_file_is_called_one() {
    let scratch = Scratch::new();
    let program = fs::read(env!("CARGO_BIN_EXE_proofline")).expect("its own file");
    scratch.write("tool.c", program);
    let said = scratch.run(&["check", "tool.c"]);
    said.expect(3, &["tool.c is a binary file", "help: give the C source text"]);
    assert!(!said.all().contains("too large"), "{}", said.all());
}

#[test]
fn a_folder_is_called_one() {
    let scratch = Scratch::new();
    scratch.write("src/a.c", GOOD);
    scratch.run(&["check", "src"]).expect(3, &["src is a directory", "help: name the C files in it"]);
}

#[test]
fn a_file_of_100_megabytes_is_refused_at_once() {
    let scratch = Scratch::new();
    let path = scratch.write("huge.c", GOOD.repeat(400));
    let file = fs::OpenOptions::new().write(true).open(path).expect("the file");
    file.set_len(100 << 20).expect("a large file");
    scratch.run(&["check", "huge.c"]).expect(3, &["huge.c has 100 MB", "64 MB"]);
}

#[test]
fn unknown_flags_engines_properties_and_functions_are_named() {
    let scratch = Scratch::new();
    scratch.write("test.c", GOOD);
    scratch.run(&["check", "--frobnicate", "test.c"]).expect(3, &["--frobnicate", "--help"]);
    scratch
        .run(&["check", "--engine", "magic", "test.c"])
        .expect(3, &["unknown engine `magic`", "intervals", "solver-free (concrete-glance, intervals"]);
    scratch.run(&["check", "--engine", "solver-free", "test.c"]).expect(0, &["RESULT: nothing to prove"]);
    scratch
        .run(&["check", "--property", "magic", "test.c"])
        .expect(3, &["unknown property `magic`", "unreach-call"]);
    scratch.run(&["check", "--entry", "magic", "test.c"]).expect(3, &["no function `magic`", "--entry"]);
    scratch.run(&["frobnicate"]).expect(3, &["frobnicate"]);
}

#[test]
fn a_file_without_functions_gets_no_verdict() {
    Scratch::new().check("").expect(2, &["RESULT: unknown(", "no function with a body"]);
}

#[test]
fn a_damaged_compilation_database_is_reported_and_the_file_is_read_all_the_same() {
    let scratch = Scratch::new();
    scratch.write("compile_commands.json", "[{\"directory\": \"x\", ");
    scratch
        .check(GOOD)
        .expect(0, &["warning", "compile_commands.json", "line 1", "RESULT: nothing to prove"]);
}

#[test]
fn one_long_line_is_read_and_shown_in_part() {
    let calls = "-(".repeat(60_000);
    let text = format!("int main(void) {{ unsigned x = 1; x = 1; {} return 0; }}", "x++; ".repeat(40_000));
    Scratch::new().check(text).expect(0, &["RESULT: nothing to prove"]);
    let said = Scratch::new().check(format!("int main(void) {{ unsigned x = 1; return {calls}1; }}"));
    said.expect(2, &["nested deeper than", "RESULT: unknown("]);
    assert!(said.all().lines().all(|line| line.len() < 400), "a line is too long to read");
}

#[test]
fn deep_nesting_is_an_error_and_no_crash() {
    let said = Scratch::new().check(format!(
        "int main(void) {{ return {}1{}; }}",
        "(".repeat(5000),
        ")".repeat(5000)
    ));
    said.expect(2, &["nested deeper than", "RESULT: unknown("]);
    let said = Scratch::new().check(format!(
        "int main(void) {{ {}{} return 0; }}",
        "{".repeat(5000),
        "}".repeat(5000)
    ));
    said.expect(2, &["nested deeper than", "RESULT: unknown("]);
}

#[test]
fn headers_that_include_themselves_end() {
    let scratch = Scratch::new();
    scratch.write("loop.h", "#include \"loop.h\"\n");
    scratch.check(format!("#include \"loop.h\"\n{GOOD}")).expect(2, &["nested too deeply", "loop.h:1:1"]);
}

#[test]
fn bytes_that_are_no_utf8_are_kept_and_reported() {
    let mut text = b"#include <assert.h>\nint main(void) { unsigned char c = \"\xff\"[0]; ".to_vec();
    text.extend(b"assert(c == 0xff); return 0; }\n");
    Scratch::new().check(text).expect(0, &["not UTF-8", "RESULT: true"]);
}

#[test]
fn a_site_shows_the_whole_expression() {
    let said = Scratch::new().check(
        "extern unsigned __VERIFIER_nondet_uint(void);\nint main(void) {\n    unsigned n = __VERIFIER_nondet_uint();\n    \
         return (int)(7 % (n + 1u));\n}\n",
    );
    said.expect(1, &["division by zero in `7 % (n + 1u)`"]);
}

#[test]
fn without_the_solver_s_library_the_system_names_it() {
    let scratch = Scratch::new();
    // Beside another name the loader looks for the library; a link to the file needs no space on the disk.
    let elsewhere = scratch.path().join("proofline");
    let program = env!("CARGO_BIN_EXE_proofline");
    fs::hard_link(program, &elsewhere)
        .or_else(|_| fs::copy(program, &elsewhere).map(drop))
        .expect("the program in another folder");
    let output = Command::new(&elsewhere)
        .arg("--version")
        .env_remove("LD_LIBRARY_PATH")
        .output()
        .expect("it starts, or the loader says why not");
    let said = String::from_utf8_lossy(&output.stderr);
    // Linked into the program (feature `vendored-z3`) or installed, the library is there; else the loader says what is missing.
    assert!(output.status.success() || output.status.code() == Some(127) && said.contains("libz3"), "{said}");
}

#[test]
fn task_definitions_that_are_none_say_so() {
    let scratch = Scratch::new();
    scratch.write("task.yml", "hello: world\n");
    scratch.run(&["check", "--task", "task.yml"]).expect(3, &["not a task definition", "input_files"]);
    scratch.run(&["check", "--task", "gone.yml"]).expect(3, &["cannot read gone.yml"]);
}
