//! Large libraries, whose functions have one slice together: what is said of each is what holds whoever calls it and whatever others have
//! written, and after an edit what a fresh process says.

use proofline_db::Database;
use proofline_verifier::{
    Name,
    portfolio::{Control, Rounds, function_alone},
    verdict::Verdict,
};

use crate::common::{check, database, question, told};

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
