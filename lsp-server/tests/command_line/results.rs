//! What the last lines say, and how a run ends that something outside ends.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::common::Scratch;

/// No engine decides this soon.
const HARD: &str = "extern void reach_error(void);\nextern unsigned __VERIFIER_nondet_uint(void);\nint main(void) {\n    unsigned long \
                    s = __VERIFIER_nondet_uint(), i;\n    for (i = 0; i < 4000000000ul; i++)\n        s = s * 6364136223846793005ul + \
                    i;\n    if (s == 1234567)\n        reach_error();\n    return 0;\n}\n";

#[test]
fn a_time_limit_is_the_reason_where_it_ended_the_work() {
    let scratch = Scratch::new();
    scratch.write("test.c", HARD);
    scratch.run(&["check", "--limit", "1", "test.c"]).expect(2, &["RESULT: unknown(time limit)"]);
}

#[test]
fn a_value_at_a_failure_is_the_one_of_then_by_whichever_name_it_was_written() {
    let scratch = Scratch::new();
    scratch
        .write("test.c", "int main(void) {\n    int x = 1, *p = &x;\n    *p = 0;\n    return 10 / x;\n}\n");
    scratch.run(&["check", "test.c"]).expect(1, &["when x = 0"]);
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let scratch = Scratch::new();
    scratch.write("test.c", "int main(void) { int z = 0; return 1 / z; }\n");
    let mut child = Command::new(env!("CARGO_BIN_EXE_proofline"))
        .args(["check", "test.c"])
        .current_dir(scratch.path())
        .env("XDG_CACHE_HOME", scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(141));
}

#[test]
fn what_fails_is_shown_while_other_entries_are_looked_at() {
    let scratch = Scratch::new();
    let hard = "int hard(unsigned long s) {\n    for (unsigned long i = 0; i < 4000000000ul; i++)\n        s = s * 6364136223846793005ul + i;\n    return s == 1234567 ? 1 / (int)(s - 1234567) : 0;\n}\n";
    scratch.write("test.c", format!("int ratio(int a) {{ return 1 / a; }}\n{hard}"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_proofline"))
        .args(["check", "--no-cache", "--budget", "1000000000", "--limit", "60"])
        .args(["--entry", "ratio", "--entry", "hard", "test.c"])
        .current_dir(scratch.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    while !first.contains("error[division-by-zero]") {
        assert_ne!(out.read_line(&mut first).expect("text"), 0, "it ended: {first}");
    }
    child.kill().expect("it still runs");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    child.wait().expect("it ends");
    assert!(!rest.contains("RESULT"), "{rest}");
}

#[test]
fn nobody_hears_of_a_damaged_cache() {
    let scratch = Scratch::new();
    scratch.write("test.c", "int main(void) { int z = 2; return 1 / z; }\n");
    let line = ["check", "--cache", "kept", "test.c"];
    scratch.run(&line).expect(0, &["RESULT: true"]);
    let files: Vec<PathBuf> = fs::read_dir(scratch.path().join("kept"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    let whole: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("a file")).collect();
    for start in [0, 64, 320, 512, 4096, 8192, 12288] {
        for (file, bytes) in files.iter().zip(&whole) {
            let mut bytes = bytes.clone();
            bytes.iter_mut().skip(start).take(200).for_each(|byte| *byte ^= 0x5a);
            fs::write(file, bytes).expect("a file");
        }
        let said = scratch.run(&line);
        said.expect(0, &["RESULT: true"]);
        assert_eq!(said.err, "", "damaged from byte {start} on");
    }
}

#[test]
fn what_is_not_decided_is_said_with_its_place() {
    let scratch = Scratch::new();
    let text = "#include <assert.h>\nextern int input(void);\nint main(void) {\n    unsigned x = input();\n    assert(x * x != 2);\n    return 0;\n}\n";
    scratch.write("test.c", text);
    let said = scratch.run(&["check", "--no-cache", "--engine", "intervals", "test.c"]);
    let reason = "the ranges of the values allow the mistake, and nothing more exact was found";
    said.expect(
        2,
        &[
            &format!("not decided:\n  ({reason}; say with `assert`"),
            "\n  test.c:5:5: x * x != 2 (assertion, in `main`)\n",
        ],
    );
}

#[test]
fn explain_says_why_place_by_place() {
    let scratch = Scratch::new();
    let text = "static int limited(int x) {\n    return x < 0 ? 0 : x > 9 ? 9 : x;\n}\nint main(void) {\n    int a[10] = {0}, s = 0;\n    for (int i = 0; i < 10; i++)\n        s += a[i] + limited(i);\n    return s;\n}\nint ratio(int a, int b) {\n    return b < -1 ? 0 : a / 7 / b;\n}\n";
    scratch.write("sum.c", text);
    let said = scratch.run(&["explain", "sum.c", "main"]);
    said.expect(
        0,
        &[
            "sum.c:4:5: main: proved",
            "sum.c:6:5: in every round: 0 <= i <= 10",
            "holds: ",
            "0 <= result <= 9",
        ],
    );
    for engine in ["intervals", "horn", "solver"] {
        assert!(!said.out.contains(engine), "{}", said.out);
    }
    // Of a library, what callers must see to is not proved.
    scratch.write("ratio.c", &text[text.find("int ratio").expect("it is there")..]);
    scratch
        .run(&["explain", "ratio.c"])
        .expect(2, &["ratio: proved, if callers see to it: it needs b != 0", "up to callers: b != 0"]);
    scratch.run(&["explain", "ratio.c", "nothing"]).expect(3, &["there is no function `nothing`"]);
}

#[test]
fn a_value_of_an_enumeration_has_its_name() {
    let scratch = Scratch::new();
    scratch.write(
        "door.c",
        "enum state { SHUT, OPEN = 3 };\ntypedef enum { LEFT, RIGHT } side;\nstatic int width(enum state s) { return 12 / (3 - s); }\n\
         int door(side where) {\n    enum state s = SHUT;\n    if (where == RIGHT)\n        s = OPEN;\n    return width(s);\n}\n",
    );
    scratch.run(&["check", "door.c"]).expect(
        1,
        &[
            "`where = RIGHT (1)` (argument)",
            "`s = OPEN (3)`",
            "call `width(s = OPEN (3))`",
            "when s = OPEN (3)",
        ],
    );
}

/// A text behind a header, as libraries of strings have it: each function would ask for all that reading the header asks for.
#[test]
fn what_a_called_function_asks_for_is_said_in_a_few_lines() {
    let scratch = Scratch::new();
    scratch.write(
        "header.c",
        "static int kind(const char *s) { return s[-1]; }\n\
         static int length(const char *s) {\n\
         \x20   switch (s[-1]) {\n\
         \x20   case 1: return ((const unsigned char *)s)[-2];\n\
         \x20   case 2: return ((const unsigned short *)(s - 1))[-1];\n\
         \x20   case 3: return ((const int *)(s - 1))[-1];\n\
         \x20   }\n\
         \x20   return 0;\n\
         }\n\
         int both(const char *a, const char *b) { return length(a) + length(b) + kind(a); }\n",
    );
    let said = scratch.run(&["check", "--no-cache", "header.c"]);
    let (_, behind) =
        said.out.split_once("not shown of calls in these functions:\n  both\n").expect("the calls");
    let (calls, _) = behind.split_once("\n\n").expect("an end");
    let lines =
        |callee: &str| calls.lines().filter(|line| line.contains(&format!("in `{callee}`: "))).count();
    assert_eq!((lines("kind"), lines("length")), (1, 3), "{calls}");
    assert!(calls.contains("in `length`: … and "), "{calls}");
}

/// What a function proves in part it proves where callers keep its contract, so they are asked for that, too.
#[test]
fn a_call_that_breaks_a_contract_kept_in_part_is_said() {
    let scratch = Scratch::new();
    let list = "#include <stdlib.h>\nstruct n { struct n *next; int n; };\n\
                int total(struct n *a) { int s = 0; for (; a; a = a->next) s += a->n; return s; }\n\
                void drop(struct n *a) { while (a) { struct n *x = a->next; free(a); a = x; } }\n\
                int f(struct n *a) { drop(a); return total(a); }\n";
    scratch.write("list.c", list);
    let said = scratch.run(&["check", "--no-cache", "list.c"]);
    let (proved, behind) = said.out.split_once("proved in part, if callers pass:").expect("the parts");
    assert!(proved.contains("\n  drop\n") && !proved.contains("\n  f\n"), "{}", said.out);
    let (_, calls) = behind.split_once("not shown of calls in these functions:\n").expect("the calls");
    assert!(calls.starts_with("  f\n"), "{}", said.out);
}

#[test]
fn an_order_of_operands_that_matters_is_named() {
    let scratch = Scratch::new();
    let functions = "#include <assert.h>\nstatic int g = 3, arr[4];\nstatic int set(int v) { g = v; return v; }\nstatic int get(void) { return g; }\n\
                     static int square(int n) { return n * n; }\nstatic int at(void) { arr[1] = 2; return 1; }\n";
    let orders = [
        (
            "set(4) - set(2) == 2 && g == 2",
            "in `main`, the call of `set` comes before that of `set` (C leaves the order open, and both use `g`)",
        ),
        (
            "get() + set(4) == 7",
            "in `main`, the call of `get` comes before that of `set` (C leaves the order open, and both use `g`)",
        ),
        (
            "g + set(4) == 7",
            "in `main`, the use of `g` comes before the call of `set` on its right (C leaves the order open)",
        ),
        (
            "set(4) + g == 8",
            "in `main`, the call of `set` comes before the use of `g` on its right (C leaves the order open)",
        ),
    ];
    for (condition, order) in orders {
        scratch.write("test.c", format!("{functions}int main(void) {{ assert({condition}); return 0; }}\n"));
        let said = scratch.run(&["check", "--no-cache", "test.c"]);
        said.expect(0, &[order, "proved if nothing fails before"]);
    }
    // Code that is not here may change what others can name; functions of the library change what they are given.
    let elsewhere = "#include <assert.h>\nint g;\nextern int ext(void);\n\
                     int f(void) { g = 1; int r = g + (ext() & 1); assert(r >= 1); return r; }\n";
    scratch.write("test.c", elsewhere);
    let order =
        "in `f`, the use of `g` comes before the call of `ext` on its right (C leaves the order open)";
    scratch.run(&["check", "--no-cache", "test.c"]).expect(0, &[order]);
    let library = "#include <assert.h>\n#include <string.h>\nstatic char b[4];\n\
                   static int two(const char *s, int c) { return s[0] + c; }\n\
                   int f(void) { int r = two(strcpy(b, \"z\"), b[0]); assert(r == 2 * 'z'); return r; }\n";
    scratch.write("test.c", library);
    let order = "in `f`, operands that use `b` are taken from left to right (C leaves the order open)";
    scratch.run(&["check", "--no-cache", "test.c"]).expect(0, &[order]);
    let errno = "#include <assert.h>\n#include <errno.h>\n\
                 static int first(int a, int b) { return a; }\nstatic int fails(void) { errno = 5; return 0; }\n\
                 int main(void) { errno = 0; assert(first(errno, fails()) == 0); return 0; }\n";
    scratch.write("test.c", errno);
    let order = "in `main`, the use of `errno` comes before the call of `fails` on its right (C leaves the order open)";
    scratch.run(&["check", "--no-cache", "test.c"]).expect(0, &[order]);
    // Many functions of the library may change it, in any order.
    let two = "#include <assert.h>\n#include <stdlib.h>\n\
               int main(void) { assert(strtol(\"1\", 0, 10) + strtol(\"2\", 0, 10) == 3); return 0; }\n";
    scratch.write("test.c", two);
    let said = scratch.run(&["check", "--no-cache", "test.c"]);
    assert!(!said.out.contains("C leaves the order open"), "{}", said.out);
    // Nobody can tell these orders apart.
    for condition in [
        "square(2) + square(3) == 13",
        "get() + get() == 6",
        "arr[at()] + 1 == 3",
        "set(4) == 4 && set(2) == 2",
    ] {
        scratch.write("test.c", format!("{functions}int main(void) {{ assert({condition}); return 0; }}\n"));
        let said = scratch.run(&["check", "--no-cache", "test.c"]);
        said.expect(0, &["RESULT: true"]);
        assert!(!said.out.contains("C leaves the order open"), "{condition}: {}", said.out);
    }
}

/// Of a large library each function is judged on its own, so that there is an answer to all of them, and nothing is called proved that is open.
#[test]
fn a_large_library_has_an_answer_to_each_function() {
    let scratch = Scratch::new();
    let mut text = "int f0(int x) { return x > 0 ? 7 / x : 0; }\n".to_owned();
    for n in 1..230 {
        text.push_str(&format!("int f{n}(int x) {{ return f{}(x) % {}; }}\n", n - 1, 2 + n % 9));
    }
    text.push_str(
        "static unsigned long length(const char *s) { unsigned long n = 0; while (s[n]) n++; return n; }\n\
         int inner(int x) { return x ? 100 / x : f229(x); }\n\
         int outer(const char *s, int x) { return (int)(length(s) % 7) + inner(x) / x + *(int *)s; }\n",
    );
    scratch.write("wide.c", &text);
    let said = scratch.run(&["check", "--no-cache", "wide.c"]);
    let row = |name: &str| {
        let is_row = |line: &&str| line.split_whitespace().next() == Some(name);
        said.out.lines().rfind(is_row).unwrap_or_else(|| panic!("no row of `{name}`: {}", said.out))
    };
    assert!(row("f0").ends_with("proved"), "{}", said.out);
    assert!(row("inner").ends_with("proved"), "{}", said.out);
    assert!(row("length").ends_with("if callers keep its contract"), "{}", said.out);
    assert!(row("outer").contains("unknown"), "{}", said.out);
    let (_, calls) = said.out.split_once("not shown of calls in these functions:\n").expect("the calls");
    assert!(calls.contains("  outer\n"), "{}", said.out);
    assert!(said.out.contains("RESULT: unknown"), "{}", said.out);
}

/// A handler may run at any time: of the program nothing is proved, whatever holds of its functions on their own.
#[test]
fn what_a_pointer_of_a_library_may_lead_to_is_named() {
    let scratch = Scratch::new();
    let copies = "void copies(void) { char b[3]; copy(b, \"hello\"); }\n";
    let (declared, initialised) = ("static char *(*copy)(char *, const char *)", "extern char *strcpy();\n");
    let prototype = "extern char *strcpy(char *, const char *);\n";
    // The second is found in a function that has nothing else to do with the call.
    for text in [
        format!("{prototype}{declared} = strcpy;\nvoid sets(void) {{ copy = 0; }}\n{copies}"),
        format!("{prototype}{declared};\nvoid sets(void) {{ copy = strcpy; }}\n{copies}"),
        format!("{initialised}{declared};\nvoid sets(void) {{ copy = strcpy; }}\n{copies}"),
    ] {
        scratch.write("copies.c", text);
        let said = scratch.run(&["check", "--no-cache", "copies.c"]);
        assert!(
            said.out.contains("what `strcpy` demands, where `copies` may call it through a pointer"),
            "{}",
            said.out
        );
    }
    // A variable that only this function gives a value.
    let chosen =
        "void copies(void) { char b[3]; char *(*f)(char *, const char *) = copy; if (f) f(b, \"hello\"); }\n";
    scratch
        .write("copies.c", format!("{prototype}{declared};\nvoid sets(void) {{ copy = strcpy; }}\n{chosen}"));
    let said = scratch.run(&["check", "--no-cache", "copies.c"]);
    assert!(!said.out.contains("2 proved"), "{}", said.out);
}

#[test]
fn a_program_with_a_handler_is_not_proved() {
    let scratch = Scratch::new();
    for install in ["signal", "(*installs)"] {
        let text = format!(
            "#include <signal.h>\nstatic int n;\nstatic int t[4];\nstatic void handler(int s) {{ n = 9; }}\n\
             static void (*(*installs)(int, void (*)(int)))(int) = signal;\n\
             static int wait_for(void) {{ n = 0; raise(SIGINT); return t[n]; }}\n\
             int main(void) {{\n    if ({install}(SIGINT, handler) == SIG_ERR) return 1;\n    return wait_for();\n}}\n"
        );
        scratch.write("handler.c", text);
        let said = scratch.run(&["check", "--no-cache", "handler.c"]);
        said.expect(
            2,
            &["RESULT: unknown(unsupported: signal handler in `main`)", "nothing interferes meanwhile"],
        );
    }
}
