//! What people read names no engine and uses no word that only authors of verifiers know.

use std::sync::Arc;

use proofline_ide::{
    Doing, Undecided,
    check::{Name, Unknown, engine_names},
    diagnostics, line, proof, words,
};

use crate::common::Session;

/// Words of the field, in any spelling.
const JARGON: &str = include_str!("../../../../tests/jargon.txt");

/// The first word of it in a text.
fn jargon(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let is_word = |word: &str| {
        lower.match_indices(word).any(|(at, _)| {
            let before = lower[..at].chars().next_back();
            let after = lower[at + word.len()..].chars().next();
            let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !is_letter(before) && !is_letter(after)
        })
    };
    // Names of engines that are words of everybody's count only where nothing else could be meant.
    let engines = engine_names().iter().copied().filter(|name| name.contains('-'));
    let plural = |word: &&str| is_word(word) || is_word(&format!("{word}s"));
    engines.chain(JARGON.lines()).find(plural).map(str::to_owned)
}

#[track_caller]
fn is_plain(text: &str) {
    assert_eq!(jargon(text), None, "{text}");
}

#[test]
fn the_test_notices_jargon() {
    for text in [
        "equations-brief (5 open)",
        "3 obligations",
        "no progress: x",
        "the solver gave up: no",
        "Horn clauses",
    ] {
        assert!(jargon(text).is_some(), "{text}");
    }
    assert_eq!(jargon("a shorn sheep"), None);
}

#[test]
fn reasons_are_plain_whatever_engines_say() {
    let said = || "Uninterpreted 'div' in horn clauses, an interpolant of the solver".to_owned();
    let plain = |unknown: &Unknown| {
        let words::Why { reason, help } = words::why(unknown);
        assert!(!reason.is_empty());
        is_plain(&reason);
        is_plain(help.unwrap_or_default());
    };
    for unknown in [
        Unknown::Cancelled,
        Unknown::OutOfBudget,
        Unknown::OutOfMemory,
        Unknown::SolverStopped,
        Unknown::OutOfTime,
        Unknown::NotApplicable(said()),
        Unknown::NoProgress(said()),
        Unknown::Unconfirmed(said()),
        Unknown::NoProgress("`mod` of two variables is too hard for the solver".into()),
        Unknown::NoProgress("no loop invariant was found within 8 rounds of each loop".into()),
        Unknown::Unconfirmed(
            "the ranges of the values allow the mistake, and nothing more exact was found".into(),
        ),
        Unknown::Unconfirmed("it depends on the memory that callers pass".into()),
        Unknown::Unconfirmed("what earlier calls allocated here and still hold is not known".into()),
        Unknown::Unsupported("k-induction over recursive calls".into()),
        Unknown::Unsupported("too many loops after inlining".into()),
        Unknown::Unsupported("inline assembly in `f`".into()),
        Unknown::IfCallersKeep,
        Unknown::IfEnsured("`f`".into()),
    ] {
        plain(&unknown);
    }
    // What says something to people is kept.
    let asm = words::why(&Unknown::Unsupported("inline assembly in `f`".into()));
    assert!(asm.reason.contains("inline assembly in `f`"));
}

#[test]
fn reasons_for_proofs_are_plain_whatever_engine_has_them() {
    for engine in engine_names() {
        let method = words::method(engine);
        assert!(method.is_some(), "{engine} has a kind of reason");
        is_plain(words::how(method));
    }
    let doing = Doing { entry: Name::new("main"), open: 2, engines: "equations-brief beside horn".into() };
    is_plain(&words::doing(&doing));
}

const LIBRARY: &str = "extern int nondet(void);\n\
     int first(const int *a, int n) {\n    int sum = 0;\n    for (int i = 0; i < n && i < 10; i++)\n        sum = a[i] % 7;\n    return sum / n;\n}\n\
     void hard(void) {\n    int x = nondet();\n    if (x * x * x == 27 && x != 3) x = 1 / (x - x);\n}\n\
     int main(void) {\n    int a[10] = {0};\n    hard();\n    return first(a, 10);\n}\n";

#[test]
fn what_editors_show_of_a_program_is_plain() {
    let session = Session::verified("a.c", LIBRARY);
    let file = &session.file;
    let shown = diagnostics(file, Undecided::Places, |_, number| {
        line(file.text(), number as u32).map(Arc::from).map(|l: Arc<str>| l.to_string())
    });
    assert!(shown.iter().any(|diagnostic| diagnostic.code == "not-decided"), "{shown:?}");
    for diagnostic in shown {
        is_plain(&diagnostic.message);
    }
    for name in ["first", "hard", "main"] {
        let summary = file.summary(name).expect("it has a body");
        is_plain(&summary.headline());
        is_plain(&summary.report.lens());
        is_plain(summary.report.reason.as_deref().unwrap_or_default());
        is_plain(&proof(file, name).expect("it has a body").text(|path| path.display().to_string()));
    }
}
