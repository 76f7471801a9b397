//! Definition, references, highlights, symbols and calls, over two files that are open.

use proofline_ide::{
    Definition, Point, Searched, TokenKind, call_item, definition, highlights, incoming, outgoing,
    references, symbols, tokens,
};

use crate::common::{Session, path};

const CALLER: &str = "int twice(int);\nint user(int n) {\n    return twice(n) + twice(1);\n}\n";
const CALLEE: &str = "int twice(int x) { return 2 * x; }\n";

fn two() -> (Session, Session) {
    (Session::verified("caller.c", CALLER), Session::verified("callee.c", CALLEE))
}

fn searched<'r>(all: &[&'r Session]) -> Searched<'r> {
    Searched { open: all.iter().map(|session| &session.file).collect(), workspace: None }
}

#[test]
fn a_definition_in_another_open_file_is_found() {
    let (caller, callee) = two();
    let at = caller.at("twice(n)");
    let found = definition(&caller.file, &searched(&[&caller, &callee]), at);
    let Some(Definition::At(place)) = found else { panic!("a definition") };
    assert_eq!(*place.path, *path("callee.c"));
    let alone = definition(&caller.file, &searched(&[&caller]), at);
    let Some(Definition::At(place)) = alone else { panic!("the declaration") };
    assert_eq!((place.path.as_ref(), place.range.start.line), (path("caller.c").as_path(), 0));
}

#[test]
fn places_are_those_of_the_text_as_it_is_now() {
    let (mut caller, mut callee) = two();
    callee.replace("int twice", "\n\nint twice");
    caller.replace("int user", "\nint user");
    let at = caller.at("twice(n)");
    let Some(Definition::At(place)) = definition(&caller.file, &searched(&[&caller, &callee]), at) else {
        panic!("a definition")
    };
    assert_eq!(place.range.start, Point { line: 2, column: 4 });
    let lines: Vec<u32> =
        highlights(&caller.file, at).expect("a name").iter().map(|h| h.range.start.line).collect();
    assert_eq!(lines, [0, 3, 3]);
}

#[test]
fn references_are_in_every_open_file_and_a_local_s_only_in_its_own() {
    let (caller, callee) = two();
    let all = searched(&[&caller, &callee]);
    let count =
        |at: &str, with: bool| references(&caller.file, &all, caller.at(at), with).expect("a name").len();
    assert_eq!((count("twice(n)", true), count("twice(n)", false)), (4, 2));
    assert_eq!((count("n) {", true), count("n) {", false)), (2, 1));
    assert!(references(&caller.file, &all, Point { line: 3, column: 0 }, true).is_none());
}

#[test]
fn symbols_are_found_by_letters_in_their_order() {
    let (caller, callee) = two();
    let names = |query: &str| {
        let found = symbols(&searched(&[&caller, &callee]), query);
        found.into_iter().map(|found| found.name).collect::<Vec<_>>()
    };
    assert_eq!(names("Tc"), ["twice"]);
    assert_eq!(names(""), ["user", "twice"]);
    assert!(names("ct").is_empty());
}

#[test]
fn calls_go_in_and_out() {
    let (caller, callee) = two();
    let all = searched(&[&caller, &callee]);
    let item = call_item(&callee.file, callee.at("twice")).expect("a function");
    assert_eq!(item.of.as_deref(), Some(path("callee.c").as_path()));
    let into = incoming(Some(&callee.file), &all, &item.name);
    let [call] = into.as_slice() else { panic!("one caller") };
    assert_eq!((call.item.name.as_str(), call.calls.len()), ("user", 2));
    let out = outgoing(&caller.file, "user").expect("it was read");
    let [call] = out.as_slice() else { panic!("one callee") };
    assert_eq!((call.item.name.as_str(), call.calls.len()), ("twice", 2));
    assert!(call_item(&caller.file, caller.at("n) {")).is_none(), "a parameter calls nobody");
}

#[test]
fn tokens_do_not_overlap_and_a_macro_hides_what_is_in_it() {
    let session = Session::verified("m.c", "int g;\n#define G (g + 1)\nint f(void) { return G; }\n");
    let found = tokens(&session.file).expect("it was read");
    assert!(found.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start));
    let at = session.at("G; }");
    let kinds: Vec<TokenKind> =
        found.iter().filter(|(range, _)| range.start == at).map(|(_, kind)| *kind).collect();
    assert_eq!(kinds, [TokenKind::Macro]);
}
