//! What is underlined, and what can be done about it, without a client.

use std::path::Path;

use proofline_ide::{Action, Diagnostic, Severity, Undecided, actions, choices, diagnostics, line};

use crate::common::Session;

const DIVIDES: &str =
    "int ratio(int a, int b) {\n    return a / b;\n}\nint main(void) {\n    return ratio(1, 0);\n}\n";

fn shown(session: &Session) -> Vec<Diagnostic> {
    diagnostics(&session.file, Undecided::Places, |path: &Path, number| {
        assert_eq!(path, session.file.path());
        line(session.file.text(), number as u32).map(str::to_owned)
    })
}

#[test]
fn a_failure_is_an_error_with_its_path() {
    let session = Session::verified("a.c", DIVIDES);
    let all = shown(&session);
    let [only] = all.as_slice() else { panic!("one diagnostic: {all:?}") };
    assert_eq!((only.code, only.severity), ("division-by-zero", Severity::Error));
    assert_eq!(only.place.range.start.line, 1);
    assert!(only.steps.iter().any(|(at, _)| at.range.start.line == 4), "the call is a step");
}

#[test]
fn a_failure_of_an_older_text_says_so_where_it_is_now() {
    let mut session = Session::verified("a.c", DIVIDES);
    session.replace("int ratio", "/* a line */\nint ratio");
    let all = shown(&session);
    let [only] = all.as_slice() else { panic!("one diagnostic: {all:?}") };
    assert!(only.message.starts_with("(older text) "));
    assert_eq!(only.place.range.start.line, 2);
}

#[test]
fn a_comment_takes_back_the_findings_of_the_check_it_names_and_no_others() {
    let with =
        |comment: &str| DIVIDES.replace("    return a / b;", &format!("    // {comment}\n    return a / b;"));
    let count = |comment| shown(&Session::verified("a.c", &with(comment))).len();
    assert_eq!(count("proofline: ignore division-by-zero: b comes from a table"), 0);
    assert_eq!(count("proofline: ignore signed-overflow: another check"), 1);
    assert_eq!(count("proofline ignores nothing"), 1);
}

#[test]
fn what_is_not_decided_is_marked_where_it_is_when_nothing_more_will_come() {
    let text = "extern int nondet(void);\nvoid hard(void) {\n    int x = nondet();\n    if (x * x * x == 27 && x != 3) x = 1 / (x - x);\n}\n";
    let mut session = Session::open("a.c", text);
    session.verify(false);
    assert!(shown(&session).iter().all(|diagnostic| diagnostic.code != "not-decided"));
    session.verify(true);
    let all = shown(&session);
    let told: Vec<_> = all.iter().filter(|diagnostic| diagnostic.code == "not-decided").collect();
    // Places: the products and the division.
    assert!(!told.is_empty(), "{all:?}");
    assert!(told.iter().all(|open| open.place.range.start.line == 3), "{told:?}");
    let division = told.iter().find(|open| open.message.contains("x - x != 0")).expect("the division");
    assert!(division.message.contains("\nhelp: "), "what would help: {}", division.message);
    // Who does not like that has the names of functions, or nothing.
    let with = |marks| {
        let all = diagnostics(&session.file, marks, |_, number| {
            line(session.file.text(), number as u32).map(str::to_owned)
        });
        all.into_iter().filter(|diagnostic| diagnostic.code == "not-decided").collect::<Vec<_>>()
    };
    let functions = with(Undecided::Functions);
    let [only] = functions.as_slice() else { panic!("one diagnostic: {functions:?}") };
    assert_eq!(only.place.range.start, session.at("hard"));
    assert!(with(Undecided::Nothing).is_empty());
}

#[test]
fn of_several_findings_at_one_place_each_is_named_and_the_list_stays_short() {
    // Three things can fail in one expression.
    let text = "extern int __VERIFIER_nondet_int(void);\nstatic int f(int *p, int i, int d) {\n    return p[i] / d;\n}\n\
                int main(void) {\n    int a[2] = {1, 2}, k = __VERIFIER_nondet_int();\n    if (k == 0) return f(a, 3, 1);\n    if (k == 1) return f(0, 0, 1);\n    return f(a, 0, 0);\n}\n";
    let session = Session::verified("a.c", text);
    let findings = session.file.findings();
    assert!(findings.len() > 1, "{}", findings.len());
    let all = choices(&session.file, &findings);
    let one_by_one: usize = findings.iter().map(|shown| actions(&session.file, shown).len()).sum();
    assert!(all.len() < one_by_one, "{} of {one_by_one}", all.len());
    let paths: Vec<_> = all.iter().filter(|choice| choice.action == Action::ShowTrace).collect();
    assert_eq!(paths.len(), findings.len());
    assert!(paths.iter().all(|choice| choice.about.is_some()), "each says which it is");
    assert_eq!(all.iter().filter(|choice| choice.action == Action::Replay).count(), 1);
}

#[test]
fn what_can_be_done_inserts_lines_that_end_the_failure() {
    let mut session = Session::verified("a.c", DIVIDES);
    let of_first = |session: &Session| {
        let findings = session.file.findings();
        actions(&session.file, findings.first().expect("it fails"))
    };
    let all = of_first(&session);
    assert_eq!(all[..3], [Action::ShowTrace, Action::Replay, Action::WriteTest]);
    let inserts = |title: &str| {
        all.iter().find_map(|action| match action {
            Action::Insert { title: known, lines, .. } if known.starts_with(title) => Some(lines.clone()),
            _ => None,
        })
    };
    let suppress = inserts("Suppress `division-by-zero`").expect("it is offered");
    assert_eq!(
        (suppress[0].line, suppress[0].text.as_str()),
        (1, "    // proofline: ignore division-by-zero: say why\n")
    );
    let guard = inserts("Return before if").expect("it is offered");
    session.replace("    return a / b;", &format!("{}    return a / b;", guard[0].text));
    session.verify(true);
    assert!(shown(&session).iter().all(|diagnostic| diagnostic.severity != Severity::Error));
}

#[test]
fn a_finding_of_an_older_text_cannot_be_mended_or_tested() {
    let mut session = Session::verified("a.c", DIVIDES);
    session.replace("int ratio", "/* a line */\nint ratio");
    let findings = session.file.findings();
    let all = actions(&session.file, findings.first().expect("it is kept"));
    assert!(!all.contains(&Action::WriteTest));
    assert!(
        all.iter()
            .all(|action| !matches!(action, Action::Insert { title, .. } if title.starts_with("Return")))
    );
}
