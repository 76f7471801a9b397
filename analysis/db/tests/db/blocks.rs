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

#[test]
fn a_recursive_component_is_remembered() {
    let mut session = Session::new(
        "static int low(int x) { return x > 3 ? 3 : x < 0 ? 0 : x; }
static int odd(int n);
static int even(int n) { return n <= 0 ? 1 : odd(n - 1); }
static int odd(int n) { return n <= 0 ? 0 : even(n - 1); }
int main(void) { int x = even(low(7)); return 10 / (x + 1); }
",
    );
    let (_, (rechecked, reused)) = session.edit("10 / (x + 1)", "12 / (x + 2)");
    assert_eq!((rechecked.as_str(), reused.as_str()), ("main", "even low"));
}

/// The entry's own component is one, too.
#[test]
fn an_entry_that_calls_itself_is_remembered() {
    let mut session = Session::new(
        "static int low(int x) { return x > 3 ? 3 : x < 0 ? 0 : x; }
int even(int n);
int odd(int n) { return n <= 0 ? low(n) : even(n - 1); }
int even(int n) { return n <= 0 ? 1 : 7 / (low(n) + 1) + odd(n - 1); }
int main(void) { return even(3); }
",
    );
    let (report, (rechecked, _)) = session.edit("x > 3 ? 3 :", "x >= 4 ? 3 :");
    assert_eq!(rechecked, "low");
    assert!(report.failures().next().is_none());
}

#[test]
fn what_ended_early_is_not_remembered() {
    let db = database(&[(PathBuf::from(FILE), CHAIN.to_owned())]);
    for steps in (1..60).step_by(7).chain([4_000]) {
        let few = Request { steps, ..question() };
        let fresh = database(&[(PathBuf::from(FILE), CHAIN.to_owned())]);
        assert_eq!(check(&db, &few).verdicts, check(&fresh, &few).verdicts, "{steps} steps");
    }
}

/// Calls are nested queries.
#[test]
fn a_program_may_be_deep() {
    let mut text = "static int f0(int x) { return x > 5 ? 5 : x < 0 ? 0 : x; }\n".to_owned();
    for i in 1..400 {
        text.push_str(&format!("static int f{i}(int x) {{ return f{}(x); }}\n", i - 1));
    }
    text.push_str("int main(void) { return 10 / (f399(3) + 1); }\n");
    let work = move || {
        let mut session = Session::new(&text);
        let (report, (rechecked, _)) = session.edit("x > 5 ? 5", "x >= 5 ? 5");
        assert_eq!(rechecked, "f0");
        assert!(report.failures().next().is_none());
    };
    std::thread::Builder::new().stack_size(1 << 28).spawn(work).expect("a thread").join().expect("no panic");
}
