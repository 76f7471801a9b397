//! Model files: what they say is done, what they say wrong is reported with its place.

mod common;

use common::{function, operations, program};
use proofline_cfa_build::models::{self, Library};

fn error(text: &str) -> String {
    Library::parse(text).expect_err("it is wrong").to_string()
}

#[test]
fn errors_say_where_and_what_was_expected() {
    assert_eq!(error("f: wipes $1"), expected("1:4: `wipes` is no effect; effects are"));
    assert_eq!(error("\nf: returns 0..LOTS"), expected("2:15: expected a result"));
    assert_eq!(error("f: copies $1 to $2"), "1:14: expected `from`, found `to`");
    assert_eq!(error("f: frees $0"), "1:10: expected an argument such as `$1`, found `$0`");
    assert_eq!(error("f: pure nothing"), "1:9: expected `;` between effects, found `nothing`");
    assert_eq!(error("f: pure\n\nf: pure"), "3:1: `f` has a model already");
    assert_eq!(error("f: unsupported \"why"), "1:16: this quote is not closed on its line");
    assert_eq!(error("f: pure; clobbers"), "1:1: a pure function has no effects");
    assert_eq!(error("f: noreturn; returns any"), "1:1: these effects contradict each other");
    assert_eq!(error("  f: pure"), "1:3: an entry begins at the start of a line");
    assert_eq!(error("f: returns"), "1:11: expected what is returned, but the file ends");
    assert_eq!(error("f: %"), "1:4: `%` means nothing here");

    /// The whole message when only its beginning matters.
    fn expected(start: &str) -> String {
        let all = ["f: wipes $1", "\nf: returns 0..LOTS"].map(error);
        all.into_iter().find(|message| message.starts_with(start)).unwrap_or_else(|| start.to_owned())
    }
}

#[test]
fn users_can_add_and_replace_models() {
    let mut library = models::standard().clone();
    library.extend(Library::parse("malloc: returns fresh size $1\nmy_*: pure; returns 1..5").expect("right"));
    let mut program = program(&["void *malloc(unsigned long); int my_rand(void);
        int f(void) { char *p = malloc(3); return my_rand(); }"]);
    models::apply(&mut program, &library);
    assert_eq!(
        operations(&program, "f"),
        [
            "begin %p",
            "%p := allocate heap @2 (3u64)",
            "havoc %return external my_rand",
            "assume %return >= 1",
            "assume %return <= 5",
            "end %p",
        ]
    );
}

#[test]
fn a_function_with_a_body_is_its_own_model() {
    let mut program = program(&["int getchar(void) { return 1; } int f(void) { return getchar(); }"]);
    models::apply(&mut program, models::standard());
    assert_eq!(operations(&program, "f"), ["%return := call getchar()"]);
}

#[test]
fn a_call_with_too_few_arguments_is_unknown() {
    let mut program = program(&["void *memset(); void f(int *p) { memset(p); }"]);
    models::apply(&mut program, models::standard());
    assert_eq!(operations(&program, "f"), ["clobber (%p) external memset"]);
    let approximations = &function(&program, "f").approximations;
    assert_eq!(approximations[0].what.as_str(), "call of memset");
}

#[test]
fn threads_are_noted_for_the_whole_program() {
    let mut program = program(&["int pthread_create(long *, void *, void *(*)(void *), void *);
        void *run(void *p) { return p; } int main(void) { long t; return pthread_create(&t, 0, run, 0); }"]);
    models::apply(&mut program, models::standard());
    let unsupported: Vec<_> =
        program.unsupported.iter().map(|(f, what)| (f.as_str(), what.as_str())).collect();
    assert_eq!(unsupported, [("main", "threads")]);
}

#[test]
fn every_standard_model_has_a_name_once() {
    let names: Vec<String> = models::standard().names().collect();
    assert!(names.len() > 500, "{}", names.len());
    for builtin in ["__builtin_memcpy", "__builtin___memcpy_chk", "__VERIFIER_nondet_whatever"] {
        assert!(models::standard().model(builtin).is_some(), "{builtin}");
    }
    assert!(models::standard().model("mystery").is_none());
}

#[test]
fn every_prototype_of_the_library_is_understood() {
    let text = include_str!("../models/libc.types");
    let kinds = [
        "any",
        "void",
        "int",
        "float",
        "record",
        "void*",
        "char*",
        "int*",
        "float*",
        "record*",
        "pointer*",
        "function*",
    ];
    let mut names = 0;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (types, called) = line.split_once("): ").unwrap_or_else(|| panic!("{line}"));
        let (result, parameters) = types.split_once('(').unwrap_or_else(|| panic!("{line}"));
        assert!(kinds.contains(&result), "{line}");
        let mut parameters = parameters.split(", ").filter(|word| !word.is_empty());
        assert!(parameters.all(|word| word == "..." || kinds.contains(&word)), "{line}");
        // Nobody is described who has no model.
        for name in called.split(", ") {
            assert!(models::standard().model(name).is_some(), "{name}");
            names += 1;
        }
    }
    assert!(names > 250);
}

#[test]
fn a_function_with_other_types_is_none_of_the_library() {
    let of = |text: &str| {
        let mut program = program(&[text]);
        models::apply(&mut program, models::standard());
        operations(&program, "f").iter().any(|operation| operation.contains("external close"))
    };
    assert!(of("struct s { int x; }; int close(struct s *); void f(struct s *s) { close(s); }"));
    assert!(of("int close(int, int); void f(int n) { close(n, n); }"));
    for known in ["int close(int);", "int close();", "extern long close(unsigned);"] {
        assert!(!of(&format!("{known} void f(int n) {{ close(n); }}")), "{known}");
    }
}
