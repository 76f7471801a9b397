//! Blocks survive edits: what an edit makes the interval pass explore again, by function.

use std::path::{Path, PathBuf};

use crate::common::{check, database};
use proofline_db::{Database, Work};
use proofline_verifier::{
    portfolio::{Request, Round},
    property::Property,
    report::Report,
};

const FILE: &str = "/db/chain.c";

fn question() -> Request {
    let engines = vec!["intervals".to_owned()];
    Request {
        property: Property::Everything,
        engines,
        steps: 100_000,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    }
}

/// What was explored, and what was not though it was asked for.
fn blocks(db: &Database) -> (String, String) {
    let (mut rechecked, mut reused) = (Vec::new(), Vec::new());
    for work in db.take_work() {
        match work {
            Work::Rechecked(name) => rechecked.push(name.to_string()),
            Work::Reused(name) => reused.push(name.to_string()),
            _ => {}
        }
    }
    (rechecked.join(" "), reused.join(" "))
}

struct Session {
    db: Database,
    text: String,
}

impl Session {
    fn new(text: &str) -> Session {
        let session =
            Session { db: database(&[(PathBuf::from(FILE), text.to_owned())]), text: text.to_owned() };
        check(&session.db, &question());
        session.db.take_work();
        session
    }

    fn edit(&mut self, from: &str, to: &str) -> (Report, (String, String)) {
        assert!(self.text.contains(from), "the edit applies");
        self.text = self.text.replacen(from, to, 1);
        self.db.set_text(Path::new(FILE), &self.text);
        let report = check(&self.db, &question());
        let blocks = blocks(&self.db);
        let fresh = database(&[(PathBuf::from(FILE), self.text.clone())]);
        assert_eq!(report.verdicts, check(&fresh, &question()).verdicts, "as from the beginning");
        (report, blocks)
    }
}

const CHAIN: &str = "
extern int input(void);
static int leaf(int x) { int y = x / 2; return y > 10 ? 10 : y < 0 ? 0 : y; }
static int side(int x) { return x > 100 ? 100 : x < 1 ? 1 : x; }
static int middle(int x) { return leaf(x) + 1; }
static int top(int x) { return 100 / middle(x) + 7 / side(x); }
int main(void) { int a = input(); return top(a > 1000 ? 1000 : a); }
";

#[test]
fn an_edit_that_keeps_a_summary_explores_one_function() {
    let mut session = Session::new(CHAIN);
    let (_, (rechecked, reused)) = session.edit("x / 2", "x / 3");
    assert_eq!((rechecked.as_str(), reused.as_str()), ("leaf", "main middle side top"));
}

#[test]
fn an_edit_that_changes_a_summary_explores_the_callers_that_used_it() {
    let mut session = Session::new(CHAIN);
    let (_, (rechecked, reused)) = session.edit("> 10 ? 10", "> 12 ? 12");
    assert_eq!((rechecked.as_str(), reused.as_str()), ("leaf main middle top", "side"));
}
