//! Every node leads back to what the user wrote, macros and headers included.

use std::path::Path;

use proofline_syntax::{FileId, Flags, NoFs, OverlayFs, Preprocessor, RuccPreprocessor, Unit, parse};

use crate::common::{errors, find, unit};

/// The text under the first node of `kind` whose normalised text is `text`.
fn written<'a>(unit: &'a Unit, kind: &str, text: &str) -> &'a str {
    unit.files().span_text(unit.span(find(unit, kind, text)))
}

#[test]
fn a_plain_expression_is_where_it_is_written() {
    let unit = unit("int f(int a, int b) {\n  return a/b;\n}\n");
    assert_eq!(written(&unit, "binary_expression", "a / b"), "a/b");
    assert_eq!(written(&unit, "compound_statement", "{\nreturn a / b ;\n}"), "{\n  return a/b;\n}");
    let span = unit.span(find(&unit, "binary_expression", "a / b"));
    assert_eq!((span.file, unit.files().line_col(span.file, span.start)), (FileId::MAIN, (1, 9)));
}

#[test]
fn an_argument_of_a_macro_is_where_the_user_wrote_it() {
    let unit = unit(
        "#define CHECK(e) do { if (!(e)) die(#e); } while (0)\nvoid die(const char *);\n\
         void f(int a, int b) { CHECK(a/b > 0); }\n",
    );
    assert_eq!(written(&unit, "binary_expression", "a / b"), "a/b");
    let call = find(&unit, "call_expression", "die ( \"a/b > 0\" )");
    assert_eq!(unit.files().span_text(unit.span(call)), "CHECK");
    assert_eq!(unit.macro_name(call), Some("CHECK"));
    // The characters of the call stand in the definition.
    let spelling = unit.spelling_span(call);
    assert_eq!(unit.files().line_col(spelling.file, spelling.start), (0, 32));
    assert_eq!(unit.macro_name(find(&unit, "identifier", "f")), None);
}

#[test]
fn what_the_normaliser_made_up_is_where_its_construct_is() {
    let unit = unit("void f(int c, void *p) { switch (c) { case 1 ... 5: goto *p; } }");
    let range = find(&unit, "call_expression", "__proofline_range ( 1 , 5 )");
    assert_eq!(unit.files().span_text(unit.span(range)), "case 1 ... 5:");
    let jump = find(&unit, "call_expression", "__proofline_goto ( p )");
    assert_eq!(unit.files().span_text(unit.span(jump)), "goto *p;");
}

#[test]
fn headers_have_their_own_files_and_know_who_included_them() {
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/p/main.c", &b"#include \"x.h\"\nint b = A;\n#include \"x.h\"\n"[..]);
    fs.insert("/p/x.h", &b"#define A 7\nint a;\n"[..]);
    let unit = parse(RuccPreprocessor.preprocess(Path::new("/p/main.c"), &fs, &Flags::default()));
    assert_eq!(errors(&unit), [""; 0]);
    let a = unit.span(find(&unit, "identifier", "a"));
    assert_eq!(unit.files().path(a.file), Path::new("/p/x.h"));
    assert_eq!(unit.files().span_text(a), "a");
    let from = unit.files().included_from(a.file).expect("an include");
    assert_eq!((from.file, unit.files().line_col(from.file, from.start).0), (FileId::MAIN, 0));
    // The value comes from the header, but it is used in the main file.
    let seven = find(&unit, "number_literal", "7");
    assert_eq!(unit.files().span_text(unit.span(seven)), "A");
    assert_eq!(unit.files().path(unit.spelling_span(seven).file), Path::new("/p/x.h"));
}

#[test]
fn unsaved_text_of_files_and_headers_is_what_is_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let (main, header) = (dir.path().join("main.c"), dir.path().join("h.h"));
    std::fs::write(&main, "#include \"h.h\"\nint old_main = H;\n").expect("written");
    std::fs::write(&header, "#define H 1\n").expect("written");
    let mut fs = OverlayFs::new(proofline_syntax::RealFs);
    let text = |fs: &OverlayFs<_>| {
        parse(RuccPreprocessor.preprocess(&main, fs, &Flags::default())).text().trim().to_owned()
    };
    assert_eq!(text(&fs), "int old_main = 1 ;");
    fs.insert(&header, &b"#define H 2\n"[..]);
    assert_eq!(text(&fs), "int old_main = 2 ;");
    fs.insert(&main, &b"#include \"h.h\"\nint new_main = H;\n"[..]);
    assert_eq!(text(&fs), "int new_main = 2 ;");
    fs.remove(&header);
    assert_eq!(text(&fs), "int new_main = 1 ;");
}

#[test]
fn lines_and_columns_count_bytes_from_zero() {
    let unit = unit("/* é */ int x;\r\nint\ty;\n");
    let at = |name: &str| {
        let span = unit.span(find(&unit, "identifier", name));
        unit.files().line_col(span.file, span.start)
    };
    assert_eq!((at("x"), at("y")), ((0, 13), (1, 4)));
}
