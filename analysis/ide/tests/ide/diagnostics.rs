//! What is underlined, and what can be done about it, without a client.

use std::path::Path;

use proofline_ide::{Action, Diagnostic, Severity, actions, diagnostics, line};

use crate::common::Session;

const DIVIDES: &str =
    "int ratio(int a, int b) {\n    return a / b;\n}\nint main(void) {\n    return ratio(1, 0);\n}\n";

fn shown(session: &Session) -> Vec<Diagnostic> {
    diagnostics(&session.file, |path: &Path, number| {
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
fn an_undecided_function_is_told_once_when_nothing_more_will_come() {
    let text = "extern int nondet(void);\nvoid hard(void) {\n    int x = nondet();\n    if (x * x * x == 27 && x != 3) x = 1 / (x - x);\n}\n";
    let mut session = Session::open("a.c", text);
    session.verify(false);
    assert!(shown(&session).iter().all(|diagnostic| diagnostic.code != "not-decided"));
    session.verify(true);
    let all = shown(&session);
    let told: Vec<_> = all.iter().filter(|diagnostic| diagnostic.code == "not-decided").collect();
    let [only] = told.as_slice() else { panic!("one diagnostic: {all:?}") };
    assert_eq!(only.place.range.start, session.at("hard"));
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
            Action::Insert { title: known, lines } if known.starts_with(title) => Some(lines.clone()),
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
