//! What an edit makes the query graph do, by name.

use std::path::{Path, PathBuf};

use crate::common::{check, database, question, verified};
use proofline_db::Database;
use proofline_verifier::{
    Name,
    checks::division_by_zero,
    portfolio::Request,
    property::Property,
    report::{Overall, Report},
    verdict::Verdict,
};

const FILE: &str = "/db/test.c";

struct Session {
    db: Database,
    text: String,
    question: Request,
}

impl Session {
    fn new(text: &str) -> Session {
        let db = database(&[(PathBuf::from(FILE), text.to_owned())]);
        Session { db, text: text.to_owned(), question: question() }
    }

    fn check(&self) -> Report {
        check(&self.db, &self.question)
    }

    /// Edits, asks, and says what was verified.
    fn edit(&mut self, from: &str, to: &str) -> (Report, Vec<Name>) {
        assert!(self.text.contains(from), "the edit applies");
        self.text = self.text.replace(from, to);
        self.db.set_text(Path::new(FILE), &self.text);
        verified(&self.db);
        let report = self.check();
        (report, verified(&self.db))
    }
}

const LIBRARY: &str = "
static int counter;
static int leaf(int x) { return x / 2; }
int user(int x) { if (x < 0) return 0; return leaf(x) + 1; }
int other(int x) { counter = x; return 10 / (x * 0 + 5); }
";

#[test]
fn whitespace_and_comments_verify_nothing() {
    let mut session = Session::new(LIBRARY);
    let before = session.check();
    assert_eq!(verified(&session.db), [Name::new("other"), Name::new("user")]);
    let (after, verified) = session.edit("int user(int x) {", "/* said */\nint user( int x )\n{");
    assert_eq!(verified, []);
    assert_eq!(after.verdicts, before.verdicts);
}

#[test]
fn an_edit_verifies_what_reaches_it() {
    let mut session = Session::new(LIBRARY);
    session.check();
    verified(&session.db);
    let (_, verified) = session.edit("x / 2", "x / 3");
    assert_eq!(verified, [Name::new("user")]);
    // What fails for some arguments is the callers' matter; what fails for all is the function's own.
    let (report, verified) = session.edit("x * 0 + 5", "x");
    assert_eq!(verified, [Name::new("other")]);
    assert_eq!((report.failures().count(), report.latent().count()), (0, 1));
    let (report, verified) = session.edit("10 / (x)", "10 / (5 - 5)");
    assert_eq!(verified, [Name::new("other")]);
    assert_eq!(report.overall(), Overall::False);
    let failure = report.failures().next().expect("just counted");
    assert_eq!(
        (failure.check, failure.position.as_ref().map(|p| p.line)),
        (&division_by_zero::CHECK, Some(4))
    );
}

#[test]
fn positions_follow_the_text_without_verifying() {
    let mut session = Session::new("int f(int x) { return 1 / x; }\n");
    let line = |report: &Report| report.findings[0].position.as_ref().map(|position| position.line);
    assert_eq!(line(&session.check()), Some(0));
    verified(&session.db);
    let (report, verified) = session.edit("int f", "\n\n/* down */ int f");
    assert_eq!((line(&report), verified), (Some(2), vec![]));
}

#[test]
fn a_reverted_edit_gives_the_first_answer() {
    let mut session = Session::new(LIBRARY);
    let first = session.check();
    session.edit("x / 2", "x / 0");
    let (again, _) = session.edit("x / 0", "x / 2");
    assert_eq!(again.verdicts, first.verdicts);
}

#[test]
fn a_macro_in_a_header_verifies_who_uses_it() {
    let header = PathBuf::from("/db/limits.h");
    let unit =
        "#include \"limits.h\"\nint f(int x) { return x % LIMIT; }\nint g(int x) { return x ? 7 / x : 0; }\n";
    let texts = [(PathBuf::from(FILE), unit.to_owned()), (header.clone(), "#define LIMIT 10\n".to_owned())];
    let mut db = database(&texts);
    check(&db, &question());
    verified(&db);
    db.set_text(&header, "/* at most */\n#define LIMIT 10\n");
    check(&db, &question());
    assert_eq!(verified(&db), []);
    db.set_text(&header, "#define LIMIT 12\n");
    check(&db, &question());
    assert_eq!(verified(&db), [Name::new("f")]);
}

#[test]
fn what_another_function_stores_counts_for_a_library() {
    // `sneak` lets `p` point to `x`, so `check` must not be proved, whether it is known at first or comes later.
    let quiet =
        "static int x; static int *p; int check(void) { x = 5; if (p) *p = 1; return 10 / (x - 1); }\n";
    let sneaky = format!("{quiet}void sneak(void) {{ p = &x; }}\n");
    let mut session = Session::new(quiet);
    session.check();
    let (report, _) = session.edit(quiet, &sneaky);
    assert_ne!(report.overall(), Overall::True);
}

/// Whether every check of a function is proved.
fn is_proved(report: &Report, function: &str) -> bool {
    let name = Name::new(function);
    let mut verdicts = report.verdicts.iter().filter(|((of, _), _)| *of == name).peekable();
    verdicts.peek().is_some() && verdicts.all(|(_, verdict)| matches!(verdict, Verdict::Proved(_)))
}

#[test]
fn pointers_that_no_function_makes_null_are_not_null_in_a_library() {
    // What `put` stores was just compared; as soon as a function stores anything, or gives the address away, nothing is known.
    let kept = "static int x; static struct { int *one, *two; } s = { &x, &x };
        static int first(const void *at) { return *(int *)at; }
        void put(int **with) { if (*with != 0) s.one = *with; s.two = 0; }
        int read(void) { return first(&x) + first(&s); }
        int check(void) { return *s.one; }
        int other(void) { return *s.two; }\n";
    let null = kept.replace("if (*with != 0) ", "");
    let write = kept.replace("return *(int *)at", "return *(int *)at = 0");
    let leak = format!("{kept}extern void leak(void *); void leaks(void) {{ leak(&s); }}\n");
    let mut session = Session::new(kept);
    session.question.property = Property::parse("null-dereference").expect("a check");
    let report = session.check();
    assert!(is_proved(&report, "check") && !is_proved(&report, "other"));
    for changed in [null.as_str(), write.as_str(), leak.as_str()] {
        let (report, _) = session.edit(kept, changed);
        assert!(!is_proved(&report, "check"), "{changed}");
        session.edit(changed, kept);
    }
}
