//! Hovers, hints and annotations: what is proved, at the place where it holds.

use proofline_ide::{
    AnnotationKind, HintContent, HoverContent, LoopMoment, Point, Range, State, Value, annotations, hints,
    hover,
};

use crate::common::Session;

const SUM: &str = "\
#define LIMIT 10
int clamp(int x) {
    if (x < 0) return 0;
    return x > 100 ? 100 : x;
}
int half(int a, int b) {
    return a / b; // proofline: ignore division-by-zero
}
int main(void) {
    int s = 0;
    for (int i = 0; i < LIMIT; i++) {
        s = i % 7;
    }
    return half(s, 0) + clamp(s);
}
";

fn contents(session: &Session, at: &str) -> Vec<HoverContent> {
    hover(&session.file, session.at(at)).map(|hover| hover.contents).unwrap_or_default()
}

#[test]
fn a_function_s_hover_is_its_declaration_and_its_summary() {
    let session = Session::verified("a.c", SUM);
    let contents = contents(&session, "half(int");
    let [HoverContent::Declaration(text), HoverContent::Summary(summary)] = contents.as_slice() else {
        panic!("a declaration and a summary")
    };
    assert_eq!(text, "int half(int, int)");
    assert_eq!((summary.name.as_str(), summary.report.state), ("half", State::Violated));
}

#[test]
fn a_variable_s_hover_is_its_declaration_its_values_here_and_those_on_paths() {
    let session = Session::verified("a.c", SUM);
    let of_b = contents(&session, "b; // proofline");
    let on_path = |content: &HoverContent| match content {
        HoverContent::OnPath { name, values, is_older, .. } => name == "b" && values == &["0"] && !is_older,
        _ => false,
    };
    assert!(matches!(of_b.first(), Some(HoverContent::Declaration(text)) if text == "int b"));
    assert!(of_b.iter().any(on_path), "the value of the argument on the path to the failure");
    let of_i = contents(&session, "i % 7");
    let before = |content: &HoverContent| matches!(content, HoverContent::Value(Value::Before(text)) if text == "0 <= i <= 9");
    assert!(of_i.iter().any(before));
}

#[test]
fn a_loop_s_hover_is_its_invariant_and_only_the_current_text_s() {
    let mut session = Session::verified("a.c", SUM);
    let has_invariant = |contents: &[HoverContent]| {
        let [HoverContent::Loop { when, invariants }] = contents else { return false };
        *when == LoopMoment::Condition && invariants.iter().any(|text| text == "0 <= i <= 10")
    };
    assert!(has_invariant(&contents(&session, "for (")));
    session.replace("int s = 0", "int s = 1");
    assert!(contents(&session, "for (").is_empty(), "what was proved of another text is not said");
    session.verify(true);
    assert!(has_invariant(&contents(&session, "for (")));
}

#[test]
fn a_macro_s_hover_is_what_it_becomes_and_nothing_else() {
    let session = Session::verified("a.c", SUM);
    let contents = contents(&session, "LIMIT; i++");
    let [HoverContent::Expansion { name, text }] = contents.as_slice() else { panic!("an expansion") };
    assert_eq!((name.as_str(), text.as_str()), ("LIMIT", "10"));
}

#[test]
fn a_suppressed_check_s_hover_is_about_the_check() {
    let session = Session::verified("a.c", SUM);
    let found = hover(&session.file, session.at("by-zero")).expect("there is a check");
    assert!(
        matches!(found.contents.as_slice(), [HoverContent::Check(check)] if check.code() == "division-by-zero")
    );
    assert_eq!(found.range.start, session.at("division-by-zero"));
    assert!(hover(&session.file, session.at("proofline:")).is_none(), "words of comments mean nothing");
}

#[test]
fn hovers_follow_the_text_and_say_that_findings_are_older() {
    let mut session = Session::verified("a.c", SUM);
    session.replace("int clamp", "\n\nint clamp");
    let of_b = contents(&session, "b; // proofline");
    assert!(of_b.iter().any(|content| matches!(content, HoverContent::OnPath { is_older: true, .. })));
}

#[test]
fn hints_are_contracts_and_invariants_at_the_ends_of_their_lines() {
    let session = Session::verified("a.c", &SUM.replace("half(s, 0) + ", ""));
    let all = Range { start: Point::default(), end: Point { line: 100, column: 0 } };
    let found = hints(&session.file, all);
    let loop_line = session.at("for (").line;
    let has_invariant = found.iter().any(|hint| {
        hint.line == loop_line && matches!(&hint.content, HintContent::Invariant(list) if !list.is_empty())
    });
    let half_line = session.at("int half").line;
    let has_contract = found.iter().any(|hint| {
        let requires = |all: &[String]| all.iter().any(|text| text.contains("b != 0"));
        hint.line == half_line
            && matches!(&hint.content, HintContent::Contract { requires: all, .. } if requires(all))
    });
    assert!(has_invariant && has_contract, "{found:?}");
    let none = Range { start: Point { line: 90, column: 0 }, end: Point { line: 100, column: 0 } };
    assert!(hints(&session.file, none).is_empty());
}

#[test]
fn what_is_proved_can_be_written_down_once() {
    let mut session = Session::verified("a.c", SUM);
    let found = annotations(&session.file, session.at("for ("));
    let [annotation] = found.as_slice() else { panic!("one annotation") };
    assert_eq!(annotation.kind, AnnotationKind::LoopInvariant);
    assert_eq!(annotation.insertion.line, session.at("for (").line);
    assert!(
        annotation.insertion.text.starts_with("    /*@ loop invariant ")
            && annotation.insertion.text.ends_with(" */\n")
    );
    let text = annotation.insertion.text.clone();
    session.replace("    for (", &format!("{text}    for ("));
    session.verify(true);
    assert!(annotations(&session.file, session.at("for (")).is_empty());
}
