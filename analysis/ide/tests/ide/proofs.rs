//! Why functions are proved, line by line.

use proofline_ide::{LineKind, State, proof};

use crate::common::Session;

const SUM: &str = "static int limited(int x) {\n    return x < 0 ? 0 : x > 9 ? 9 : x;\n}\n\
     int sum(int n) {\n    int a[10] = {0}, s = 0;\n    for (int i = 0; i < 10; i++)\n        s += a[i] + limited(n);\n    return s;\n}\n";

#[test]
fn a_proof_has_its_lines_in_the_order_of_the_text_each_with_its_place() {
    let session = Session::verified("a.c", SUM);
    let found = proof(&session.file, "sum").expect("it is there");
    assert_eq!(found.place.range.start, session.at("sum(int n)"));
    let bounds =
        found.lines.iter().find(|line| line.text.contains("i <= 9")).expect("the element is checked");
    assert_eq!(bounds.kind, LineKind::Proved);
    assert!(!bounds.because.is_empty());
    assert!(bounds.known.iter().any(|known| known.contains("i <= 9")), "{bounds:?}");
    let round =
        found.lines.iter().find(|line| line.kind == LineKind::Invariant).expect("the loop has an invariant");
    assert_eq!(round.place.as_ref().map(|place| place.range.start), Some(session.at("for (")));
    assert!(round.text.contains("0 <= i <= 10"), "{round:?}");
    let callee =
        found.lines.iter().find(|line| line.kind == LineKind::Callee).expect("the call gives something back");
    assert_eq!(callee.text, "0 <= result <= 9");
    let starts: Vec<_> = found
        .lines
        .iter()
        .filter(|line| !matches!(line.kind, LineKind::Needs | LineKind::Ensures | LineKind::RestsOn))
        .filter_map(|line| line.place.as_ref().map(|place| place.range.start))
        .collect();
    assert!(starts.is_sorted(), "{starts:?}");
    // The same as text.
    let text = found.text(|path| path.display().to_string());
    assert!(text.contains("a.c:6:5: in every round: "), "{text}");
}

#[test]
fn what_callers_must_see_to_is_a_state_of_its_own_and_says_what() {
    let session =
        Session::verified("a.c", "int ratio(int a, int b) {\n    return b < -1 ? 0 : a / 7 / b;\n}\n");
    let report = session.file.function("ratio").expect("it was asked");
    assert_eq!(report.state, State::Asks, "{report:?}");
    assert_eq!(report.needs, ["b != 0"]);
    assert_eq!(report.lens(), "needs b != 0");
    let found = proof(&session.file, "ratio").expect("it is there");
    let needs: Vec<_> = found.lines.iter().filter(|line| line.kind == LineKind::Needs).collect();
    assert_eq!(needs.len(), 1, "{found:?}");
    let asked = found.lines.iter().find(|line| line.kind == LineKind::Asked).expect("the division");
    assert!(asked.finding.is_some(), "its counterexample can be shown");
}

#[test]
fn what_fails_leads_to_its_steps() {
    let session = Session::verified("a.c", "int main(void) {\n    int zero = 0;\n    return 1 / zero;\n}\n");
    let found = proof(&session.file, "main").expect("it is there");
    let failing: Vec<_> = found.lines.iter().filter(|line| line.kind == LineKind::Failing).collect();
    let [only] = failing.as_slice() else { panic!("one failure: {found:?}") };
    assert_eq!(only.finding, session.file.findings().first().map(|shown| shown.finding.id.clone()));
}
