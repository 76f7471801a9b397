//! What a run leaves to those after an edit: inputs that failed, invariants. They make more known, never less, and nothing else.

use std::path::{Path, PathBuf};

use proofline_db::Database;
use proofline_verifier::{
    load::Options,
    portfolio::Request,
    report::Report,
    verdict::{Verdict, against_the_law_of_hints},
};

use crate::common::{check, question};

const FILE: &str = "/hints/main.c";

fn program(text: &str) -> Database {
    let mut db = Database::new(vec![PathBuf::from(FILE)], Options::default());
    db.set_text(Path::new(FILE), text);
    db
}

fn asked(engines: &[&str]) -> Request {
    Request { engines: engines.iter().map(|name| (*name).to_owned()).collect(), ..question() }
}

fn is_proved(report: &Report) -> bool {
    report.verdicts.values().all(Verdict::is_proved)
}

const FAILS: &str = "extern int __VERIFIER_nondet_int(void);
int main(void) { int x = __VERIFIER_nondet_int(); if (x == 123456789) return 1 / (x - 123456789); return 0; }\n";

#[test]
fn a_run_that_failed_before_an_edit_is_run_again_before_any_engine_is_asked() {
    let mut db = program(FAILS);
    let without_runs = asked(&["intervals"]);
    assert_eq!(check(&db, &without_runs).failures().count(), 0, "intervals find no runs");
    assert_eq!(check(&db, &asked(&["bounded"])).failures().count(), 1);
    // The text is another one; the same inputs fail.
    let moved = FAILS.replace("return 0;", "return 2;");
    db.set_text(Path::new(FILE), &moved);
    let report = check(&db, &without_runs);
    assert_eq!(report.failures().count(), 1, "the old inputs fail still");
    let fresh = check(&program(&moved), &without_runs);
    assert_eq!(against_the_law_of_hints(&report.verdicts, &fresh.verdicts), None);
    // It is mended: the same inputs fail no more.
    let mended = FAILS.replace("(x - 123456789)", "(x - 123456788)");
    db.set_text(Path::new(FILE), &mended);
    assert_eq!(check(&db, &without_runs).failures().count(), 0);
    // And broken again.
    db.set_text(Path::new(FILE), &FAILS.replace("return 0;", "return 3;"));
    assert_eq!(check(&db, &without_runs).failures().count(), 1);
}

const LOOPS: &str = "extern int __VERIFIER_nondet_int(void);
void reach_error(void);
int leaf(int n) { int s = 0; int i = 0; while (i < n) { i = i + 1; s = s + 1; } return s; }
int main(void) {
    int n = __VERIFIER_nondet_int();
    if (n < 0 || n > 1000) return 0;
    int a = 0; int b = 0;
    while (a < n) { a = a + 1; b = b + 1; }
    if (leaf(n) != n) reach_error();
    if (b != n) reach_error();
    return 0;
}\n";

#[test]
fn invariants_of_before_an_edit_prove_what_they_still_imply_and_nothing_else() {
    let old = asked(&["old-invariants"]);
    let mut db = program(LOOPS);
    assert!(!is_proved(&check(&db, &old)), "nothing was proved yet");
    assert!(is_proved(&check(&db, &asked(&["horn"]))));
    // Other statements with the same effect.
    let same = LOOPS.replace("int s = 0; int i = 0;", "int i = 0; int s = i;");
    db.set_text(Path::new(FILE), &same);
    let report = check(&db, &old);
    assert!(is_proved(&report), "the old invariants hold still: {:?}", report.verdicts);
    assert!(!is_proved(&check(&program(&same), &old)), "without them there is nothing to check");
    // The leaf does something else: what depends on it is not proved, the other loop still is.
    let other = LOOPS.replace("s = s + 1;", "s = s + 2;");
    db.set_text(Path::new(FILE), &other);
    let report = check(&db, &old);
    let proved = report.verdicts.values().filter(|verdict| verdict.is_proved()).count();
    assert!(!is_proved(&report), "{:?}", report.verdicts);
    assert!(proved > 0, "{:?}", report.verdicts);
    let fresh = check(&program(&other), &asked(&["concrete"]));
    for (target, verdict) in &fresh.verdicts {
        let is_wrong = report.verdicts[target].is_proved() && matches!(verdict, Verdict::Violated(_));
        assert!(!is_wrong, "{target:?} fails");
    }
    // Back again.
    db.set_text(Path::new(FILE), &LOOPS.replace("int a = 0; int b = 0;", "int b = 0; int a = b;"));
    assert!(is_proved(&check(&db, &old)));
}
