//! Results of an older text are moved and marked; they are neither lost nor shown as those of the current one.

use proofline_ide::State;

use crate::common::Session;

const DIVIDES: &str =
    "int ratio(int a, int b) {\n    return a / b;\n}\nint main(void) {\n    return ratio(1, 0);\n}\n";

fn state(session: &Session, function: &str) -> State {
    session.file.function(function).expect("it is decided").state
}

#[test]
fn nothing_is_known_of_a_text_that_was_not_read() {
    let session = Session::open("a.c", DIVIDES);
    assert!(session.file.function("ratio").is_none() && session.file.findings().is_empty());
    assert!(!session.file.is_settled());
}

#[test]
fn a_read_text_waits_and_a_verified_one_is_settled() {
    let mut session = Session::open("a.c", DIVIDES);
    assert!(session.load());
    assert_eq!(state(&session, "ratio"), State::Queued);
    session.file.begun("main".into());
    assert_eq!(state(&session, "ratio"), State::Running);
    session.verify(true);
    session.file.ended("main");
    assert_eq!(state(&session, "ratio"), State::Violated);
    assert!(session.file.is_settled() && session.file.is_current());
}

#[test]
fn findings_move_with_the_text_and_are_marked_until_newer_ones_come() {
    let mut session = Session::verified("a.c", DIVIDES);
    session.replace("int ratio", "/* two\n   lines */\nint ratio");
    assert_eq!(state(&session, "ratio"), State::Stale);
    assert!(!session.file.is_current() && !session.file.is_settled());
    {
        let findings = session.file.findings();
        let [shown] = findings.as_slice() else { panic!("one finding") };
        let place = shown.finding.place.as_ref().expect("it has a place");
        assert!(shown.is_older);
        assert_eq!((place.range.start.line, shown.now(place).start.line), (1, 3));
    }
    session.verify(true);
    let findings = session.file.findings();
    let [shown] = findings.as_slice() else { panic!("one finding") };
    let place = shown.finding.place.as_ref().expect("it has a place");
    assert!(!shown.is_older);
    assert_eq!(shown.now(place).start.line, 3);
}

#[test]
fn a_quick_answer_does_not_hide_a_complete_one_of_before() {
    let mut session = Session::verified("a.c", DIVIDES);
    // Nothing decides this with little effort, so the answer is not final.
    session.replace("return a / b;", "return a / (b * b * b - 1);");
    session.verify(false);
    session.replace("1, 0", "2, 0");
    assert!(session.file.function("ratio").is_some());
    assert!(!session.file.is_current());
}

#[test]
fn half_typed_code_keeps_the_results_of_the_last_good_text() {
    let mut session = Session::verified("a.c", DIVIDES);
    session.replace("return ratio(1, 0);", "return ratio(1, 0) + ;");
    assert!(!session.load(), "a text with errors is not verified while there are results of a better one");
    assert!(!session.file.problems().is_empty());
    assert_eq!(session.file.findings().len(), 1);
    assert_eq!(state(&session, "ratio"), State::Stale);
    session.replace("+ ;", "+ 1;");
    session.verify(true);
    assert!(session.file.problems().is_empty() && session.file.is_current());
}

#[test]
fn of_a_first_text_with_errors_nothing_is_proved() {
    let session = Session::verified("a.c", "int main(void) {\n    int x = 1;\n    return 2 / x +;\n}\n");
    assert!(session.file.program().is_some_and(|program| program.has_errors()));
    let report = session.file.function("main").expect("it is decided");
    assert_eq!(report.proved, 0);
    assert_ne!(report.state, State::Proved);
}

#[test]
fn what_was_stopped_is_all_there_will_be() {
    let mut session = Session::open("a.c", DIVIDES);
    session.verify(false);
    session.file.stop();
    assert!(session.file.is_settled());
}

#[test]
fn the_function_that_was_edited_last_is_verified_first() {
    let mut session =
        Session::verified("a.c", "int one(int x) { return x; }\nint two(int x) { return x; }\n");
    session.replace("two(int x) { return x", "two(int x) { return -x");
    assert!(session.load());
    let names: Vec<&str> = session.file.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["two", "one"]);
}
