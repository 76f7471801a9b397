//! Large libraries, whose functions have one slice together: what is said of each is what holds whoever calls it and whatever others have
//! written, and after an edit what a fresh process says.

use proofline_db::Database;
use proofline_verifier::{
    Name,
    portfolio::{Control, Rounds, function_alone},
    verdict::Verdict,
};

use crate::common::{check, database, question, told, verified};

/// More functions than a slice is made of.
const COUNT: usize = 230;

const TEXT: &str = "static int limit = 3;
void set_limit(int x) { limit = x; }
static int inner(int d) { last(1); return 10 / d; }
int top(int x) {
    int r = last(x) % 100;
    if (x > 3)
        r = 100 / x;
    return r / limit + inner(2) % 5;
}
";

/// The functions of `text`, which reach many others.
fn texts(text: &str) -> Vec<(std::path::PathBuf, String)> {
    let mut out = "int f0(int x) { return x > 0 ? 7 / x : 0; }\n".to_owned();
    for n in 1..COUNT {
        out.push_str(&format!("int f{n}(int x) {{ return f{}(x) % {}; }}\n", n - 1, 2 + n % 9));
    }
    out.push_str(&format!("static int last(int x) {{ return f{}(x); }}\n{text}", COUNT - 1));
    vec![("/test/wide.c".into(), out)]
}

fn alone(db: &Database, function: &str) -> proofline_verifier::report::Report {
    function_alone(db, &question(), Name::new(function), Rounds::Cheap, &Control::default())
        .expect("nobody stops it")
}

/// The check's code and what is known, by the order of the text.
fn verdicts(db: &Database, function: &str) -> Vec<(&'static str, bool)> {
    let program = db.program().expect("it is read");
    let name = Name::new(function);
    let obligations = &program.functions[&name].obligations;
    let report = alone(db, function);
    let known = report.verdicts.iter().filter(|((of, _), _)| *of == name);
    known
        .map(|((_, id), verdict)| {
            (obligations[id.index()].check.code(), matches!(verdict, Verdict::Proved(_)))
        })
        .collect()
}

#[test]
fn what_callers_and_others_decide_is_not_proved() {
    let db = database(&texts(TEXT));
    let of = |function, check| {
        let all = verdicts(&db, function);
        all.into_iter().filter(|(code, _)| *code == check).map(|(_, is_proved)| is_proved).collect::<Vec<_>>()
    };
    // `limit` is what somebody has set it to: of that division nothing is said, of the other one that it is right.
    assert_eq!(of("top", "division-by-zero"), [true]);
    let program = db.program().expect("it is read");
    let asked = program.functions[&Name::new("top")].obligations.iter();
    assert_eq!(asked.filter(|obligation| obligation.check.code() == "division-by-zero").count(), 2);
    // In sight it is called with a 2 only; nobody looks there.
    assert_ne!(of("inner", "division-by-zero"), [true]);
    assert_eq!(of("f0", "division-by-zero"), [true]);
}

#[test]
fn an_edit_is_answered_as_by_a_fresh_process() {
    let mut db = database(&texts(TEXT));
    let edits = [
        ("limit = x;", "limit = x > 0 ? x : 1;"),
        ("if (x > 3)", "if (x >= 0)"),
        ("10 / d", "10 / (d - d)"),
        ("last(1); return", "return"),
        ("last(x) % 100", "x % 100"),
    ];
    for (old, new) in edits {
        let edited = texts(&TEXT.replace(old, new));
        db.set_text(&edited[0].0, &edited[0].1);
        let fresh = database(&edited);
        for function in ["f0", "f229", "inner", "set_limit", "top"] {
            assert_eq!(
                told(&alone(&db, function)),
                told(&alone(&fresh, function)),
                "{function} with `{new}`"
            );
        }
    }
    let brief = proofline_verifier::portfolio::Request { steps: 500, ..question() };
    let last = texts(&TEXT.replace(edits[4].0, edits[4].1));
    assert_eq!(told(&check(&db, &brief)), told(&check(&database(&last), &brief)));
}

/// What is called here does what no code that is not here may be taken to do, or may do.
const CALLS: &str = "void *malloc(unsigned long); void free(void *);
static int count = 4;
static void change(int *p) { *p = last(0); count = 0; }
static void drop(int *p) { free(p); last(0); }
static void fill(int *p, int x) { if (last(x)) *p = x; }
int kept(int x) { int n = 4; last(x); return 10 / n; }
int passed(int x) { int n = 4; change(&n); return x > 0 ? 10 / n : 1; }
int shared(int x) { count = 4; change(&x); return 10 / count; }
int dropped(void) { int *p = malloc(4); if (!p) return 0; *p = 1; drop(p); return *p; }
int filled(int x) { int n; fill(&n, x); return n; }
int broken(int x) { int y = 1 / (x - x); return y + last(x); }
int behind(int x) { last(1); return 1 / (x - x); }
";

/// What is known of a function after these rounds: the checks with a proof, and those that are violated.
fn after(db: &Database, function: &str, rounds: Rounds) -> (Vec<&'static str>, Vec<&'static str>) {
    let program = db.program().expect("it is read");
    let name = Name::new(function);
    let report = function_alone(db, &question(), name, rounds, &Control::default()).expect("nobody stops it");
    let mut found = (Vec::new(), Vec::new());
    for ((of, id), verdict) in &report.verdicts {
        let code = program.functions[of].obligations[id.index()].check.code();
        match verdict {
            Verdict::Proved(_) if *of == name => found.0.push(code),
            Verdict::Violated(_) if *of == name => found.1.push(code),
            Verdict::Proved(_) | Verdict::Violated(_) | Verdict::Unknown(_) => {}
        }
    }
    found
}

#[test]
fn apart_from_what_it_calls_a_function_is_proved_what_holds_whatever_that_does() {
    let db = database(&texts(CALLS));
    let proved = |function| after(&db, function, Rounds::Cheap).0;
    assert!(proved("kept").contains(&"division-by-zero"));
    assert!(!proved("passed").contains(&"division-by-zero"));
    assert!(!proved("shared").contains(&"division-by-zero"));
    assert!(!proved("dropped").contains(&"use-after-free"));
    assert!(!proved("filled").contains(&"uninitialised"));
    // The whole program is looked at in the next round: the first access is right then, the second is not.
    let (proved, violated) = after(&db, "dropped", Rounds::Brief);
    assert_eq!(proved.iter().filter(|code| **code == "use-after-free").count(), 1);
    assert_eq!(violated, ["use-after-free"]);
}

#[test]
fn a_failure_behind_a_call_waits_for_the_next_round() {
    let db = database(&texts(CALLS));
    assert_eq!(after(&db, "broken", Rounds::Cheap).1, ["division-by-zero"]);
    assert!(after(&db, "behind", Rounds::Cheap).1.is_empty());
    assert_eq!(after(&db, "broken", Rounds::Brief).1, ["division-by-zero"]);
    assert_eq!(after(&db, "behind", Rounds::Brief).1, ["division-by-zero"]);
}

#[test]
fn an_edit_concerns_no_other_function_that_stands_apart() {
    let mut db = database(&texts(CALLS));
    let all = ["kept", "passed", "shared", "broken", "behind"];
    let ask = |db: &Database| all.iter().map(|name| told(&alone(db, name))).collect::<Vec<_>>();
    ask(&db);
    verified(&db);
    let edited = texts(&CALLS.replace("int n = 4; last(x);", "int n = 5; last(x);"));
    db.set_text(&edited[0].0, &edited[0].1);
    let answers = ask(&db);
    assert_eq!(verified(&db), [Name::new("kept")]);
    assert_eq!(answers, ask(&database(&edited)));
}

#[test]
fn where_something_starts_a_thread_nothing_is_proved_of_who_comes_there() {
    let starts = "int pthread_create(unsigned long *, const void *, void *(*)(void *), void *);
static void *work(void *p) { return p; }
static int start(int x) { unsigned long t; return pthread_create(&t, 0, work, 0) + last(x); }
int comes(int x) { int n = 4; start(x); return 10 / n; }
int stays(int x) { int n = 4; last(x); return 10 / n; }
";
    let db = database(&texts(starts));
    assert!(after(&db, "comes", Rounds::Cheap).0.is_empty());
    assert!(after(&db, "stays", Rounds::Cheap).0.contains(&"division-by-zero"));
}

#[test]
fn what_holds_of_a_variable_moves_no_other_question() {
    let db = database(&texts(
        "static int zero, one = 1;
static int *p = &one;
void sel(int k) { if (k) p = &zero; else p = &one; }
unsigned div(unsigned t, unsigned s) {
    unsigned a = (unsigned)*p;
    a += 100 / (t - 123456);
    if (s == 0) s = 1;
    a += 101 / s;
    return a + (unsigned)last(3);
}
",
    ));
    for rounds in [Rounds::Cheap, Rounds::All] {
        let program = db.program().expect("it is read");
        let name = Name::new("div");
        let report =
            function_alone(&db, &question(), name, rounds, &Control::default()).expect("nobody stops it");
        let of = |text: &str| {
            let all = (0..).zip(&program.functions[&name].obligations);
            let (id, _) = all.into_iter().find(|(_, of)| of.text.as_str() == text).expect("it is asked");
            report.verdicts.get(&(name, proofline_verifier::ObligationId(id)))
        };
        assert!(matches!(of("s != 0"), Some(Verdict::Proved(_))), "{rounds:?}");
        assert!(!matches!(of("t - 123456 != 0"), Some(Verdict::Proved(_))), "{rounds:?}");
    }
}
