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
    assert_eq!(text, "int half(int a, int b)");
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
        let [HoverContent::Loop { when, invariants, .. }] = contents else { return false };
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

const LIST: &str = "\
extern int __VERIFIER_nondet_int(void);
void *malloc(unsigned long);
void free(void *);
struct node { int value; struct node *next; };
int main(void) {
    struct node *l = 0;
    while (__VERIFIER_nondet_int()) {
        struct node *made = malloc(sizeof *made);
        if (!made) break;
        made->next = l;
        l = made;
    }
    while (l) {
        struct node *rest = l->next;
        free(l);
        l = rest;
    }
    return 0;
}
";

fn structures(session: &Session, at: &str) -> Vec<Value> {
    let structure = |content| match content {
        HoverContent::Structure(value) => Some(value),
        _ => None,
    };
    contents(session, at).into_iter().filter_map(structure).collect()
}

#[test]
fn a_pointer_s_hover_says_which_list_it_leads_to_and_only_of_the_current_text() {
    let mut session = Session::verified("a.c", LIST);
    let some = "an acyclic list of at least 1 object, linked by `next`";
    assert_eq!(structures(&session, "l = made"), [Value::After(format!("`l` is {some}"))]);
    assert_eq!(structures(&session, "l->next;"), [Value::Before(format!("`l` is {some}"))]);
    assert_eq!(structures(&session, "l) {"), [Value::Before(format!("`l` is NULL or {some}"))]);
    // What the record's other members hold is no structure.
    assert_eq!(structures(&session, "made->next"), []);
    let at_loop = contents(&session, "while (l)");
    let [HoverContent::Loop { structures: said, .. }] = at_loop.as_slice() else { panic!("a loop's") };
    assert_eq!(said, &[format!("`l` is NULL or {some}")]);
    session.replace("made->next = l;", "made->next = made;");
    assert_eq!(structures(&session, "l = made"), [], "what was proved of another text is not said");
    session.verify(true);
    let ring = "a cyclic list of 1 object, linked by `next`";
    assert_eq!(structures(&session, "l = made"), [Value::After(format!("`l` is {ring}"))]);
}

#[test]
fn of_a_pointer_that_may_lead_anywhere_no_structure_is_said() {
    let library = "struct node { struct node *next; };\nint length(struct node *l) {\n    int n = 0;\n    for (; l && n < 9; l = l->next) n++;\n    return n;\n}\n";
    let session = Session::verified("a.c", library);
    assert_eq!(structures(&session, "l && n"), []);
}
