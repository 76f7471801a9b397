//! Bad input gives a clear message; no input gives a panic or takes for ever.

use std::path::Path;

use proofline_syntax::{
    FileSystem, Flags, NoFs, OverlayFs, Preprocessor, RealFs, RuccPreprocessor, Severity, Unit, limits, parse,
};
use proptest::prelude::*;

use crate::common::{errors, nodes, unit};

fn of_bytes(bytes: &[u8]) -> Unit {
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/t.c", bytes);
    parse(RuccPreprocessor.preprocess(Path::new("/t.c"), &fs, &Flags::default()))
}

fn of_path(path: &Path) -> Unit {
    parse(RuccPreprocessor.preprocess(path, &RealFs, &Flags::default()))
}

#[test]
fn what_is_no_c_file_is_refused_with_a_reason() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(errors(&of_path(&dir.path().join("none.c")))[0].ends_with("no such file"));
    assert!(errors(&of_path(dir.path()))[0].ends_with("is a directory"));
    assert!(errors(&of_bytes(b"\x7fELF\0\x01"))[0].ends_with("looks like a binary file"));
    struct Large;
    impl FileSystem for Large {
        fn read(&self, _: &Path) -> std::io::Result<std::sync::Arc<[u8]>> {
            Ok(vec![b' '; limits::MAX_FILE_BYTES as usize + 1].into())
        }
    }
    let unit = parse(RuccPreprocessor.preprocess(Path::new("/t.c"), &Large, &Flags::default()));
    assert!(errors(&unit)[0].contains("larger than"), "{:?}", errors(&unit));
    // A sparse file of that size is not even read.
    let path = dir.path().join("large.c");
    std::fs::File::create(&path).and_then(|file| file.set_len(limits::MAX_FILE_BYTES + 1)).expect("a file");
    assert!(errors(&of_path(&path))[0].contains("larger than"));
}

#[test]
fn a_missing_header_is_told_with_help_and_the_rest_is_read() {
    let unit = unit("int a;\n#include \"none.h\"\nint b;\n");
    let error = &unit.errors()[0];
    assert_eq!((error.severity, error.message.as_str()), (Severity::Error, "`none.h` file not found"));
    let span = error.span.expect("a place");
    assert_eq!(unit.files().line_col(span.file, span.start).0, 1);
    assert!(error.help.as_ref().is_some_and(|help| help.contains("-I")));
    assert_eq!(unit.text().trim(), "int a ;\nint b ;");
}

#[test]
fn bytes_that_are_no_text_keep_every_offset() {
    let unit = of_bytes(b"/* caf\xe9 */ char s[] = \"\xff\xfe\"; int x;");
    assert_eq!(errors(&unit), [""; 0]);
    assert_eq!(unit.errors()[0].message, "3 bytes are not UTF-8 text");
    let x = nodes(&unit).into_iter().rfind(|node| node.kind() == "identifier").expect("x");
    assert_eq!(unit.span(x).start, 32);
    // The value of the string is kept.
    assert!(unit.text().contains(r#""\377\376""#), "{}", unit.text());
}

#[test]
fn a_byte_order_mark_is_no_token() {
    let unit = of_bytes(b"\xef\xbb\xbfint x;");
    assert_eq!(errors(&unit), [""; 0]);
    assert_eq!(unit.text().trim(), "int x ;");
}

#[test]
fn headers_that_include_each_other_end() {
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/a.h", &b"#include \"b.h\"\nint a;\n"[..]);
    fs.insert("/b.h", &b"#include \"a.h\"\nint b;\n"[..]);
    fs.insert("/t.c", &b"#include \"a.h\"\nint c;\n"[..]);
    let unit = parse(RuccPreprocessor.preprocess(Path::new("/t.c"), &fs, &Flags::default()));
    assert!(unit.has_errors());
    assert!(unit.text().trim().ends_with("int c ;"));
}

#[test]
fn a_header_that_includes_itself_twice_is_not_read_for_ever() {
    let unit = unit("#include __FILE__\n;\n#include __FILE__\nint x;\n");
    assert!(errors(&unit)[0].contains("files"), "{:?}", errors(&unit));
    assert!(unit.errors().len() < 10, "each place is told once");
}

#[test]
fn a_splice_at_the_end_of_a_file_is_no_trouble() {
    for text in [
        "int x;\\\n",
        "int x; // \\\n",
        "int x; /* \\\n",
        "int x;\\",
        "int x;\\ \n",
        "int x; \"\\\n",
        "#define A \\\n",
    ] {
        let _unit = unit(text);
    }
    assert_eq!(errors(&unit("int x; // \\\n")), [""; 0]);
}

#[test]
fn nesting_without_end_is_an_error_and_not_a_crash() {
    const DEEP: usize = 10_000;
    let all = |open: &str, middle: &str, close: &str| {
        let (before, open) = if open.starts_with("0; ") { open.split_at(3) } else { ("", open) };
        let (open, close) = (open.repeat(DEEP), close.repeat(DEEP));
        format!("int g;\nint f(int x) {{ return {before}{open}{middle}{close}; }}\nint h;\n")
    };
    let texts = [
        all("(", "x", ")"),
        all("x[", "0", "]"),
        all("f(", "x", ")"),
        all("-", "x", ""),
        all("- ", "x", ""),
        all("!", "x", ""),
        all("(int)", "x", ""),
        all("sizeof ", "x", ""),
        all("x + ", "x", ""),
        all("x = ", "x", ""),
        all("x ? x : ", "x", ""),
        all("({", "x;", "})"),
        all("0; {", "", "}"),
        all("0; if (x) ", ";", ""),
        all("0; if (x) ; else ", ";", ""),
        all("0; for (;;) ", ";", ""),
        all("0; do ", ";", "while (0);"),
        all("0; l: ", ";", ""),
        all("0; switch (x) { case 1: ", "", "}"),
        format!("int {}x{};\nint h;\n", "*".repeat(DEEP), "[1]".repeat(DEEP)),
        format!("int {}x{};\nint h;\n", "(".repeat(DEEP), ")".repeat(DEEP)),
        format!("int x = {}0{};\nint h;\n", "{".repeat(DEEP), "}".repeat(DEEP)),
        format!("{}int x;{};\nint h;\n", "struct {".repeat(DEEP), "}".repeat(DEEP)),
        "(".repeat(DEEP),
        "{".repeat(DEEP),
        "case ".repeat(DEEP),
        "goto *".repeat(DEEP),
        "(int".repeat(DEEP),
        "__typeof__(".repeat(DEEP),
        "__attribute__((".repeat(DEEP),
        "typedef struct {".repeat(DEEP),
        "struct s ".repeat(DEEP),
        "static ".repeat(DEEP),
        "unsigned ".repeat(DEEP),
        "\"s\" ".repeat(DEEP),
        format!("#if {}1{}\nint h;\n#endif\n", "(".repeat(DEEP), ")".repeat(DEEP)),
        format!("#if {}1\nint h;\n#endif\n", "!".repeat(DEEP)),
        format!("{}int h;\n{}", "#if 1\n".repeat(DEEP), "#endif\n".repeat(DEEP)),
        format!("int x = {}1{};\nint h;\n", "(".repeat(100_000), ")".repeat(100_000)),
        format!("#if {}1{}\nint h;\n#endif\n", "(".repeat(100_000), ")".repeat(100_000)),
        format!("int x = {}1;\nint h;\n", "-".repeat(100_000)),
    ];
    for text in texts {
        let unit = unit(&text);
        let shown: String = text.chars().take(40).collect();
        let deep = limits::MAX_DEPTH;
        let mut cursor = unit.root().walk();
        for item in unit.root().children(&mut cursor) {
            // Chains are read in loops.
            let chained = deep + limits::MAX_CHAIN;
            assert!(depth(item) <= chained || unit.is_too_deep(item), "{shown}");
        }
        let wanted = unit.text().contains("int h ;");
        assert!(wanted || !text.contains("int h;"), "{shown}");
    }
}

/// How deep the tree is below a node.
fn depth(node: tree_sitter::Node<'_>) -> u32 {
    let (mut cursor, mut depth, mut deepest) = (node.walk(), 0, 0);
    loop {
        if cursor.goto_first_child() {
            depth += 1;
            deepest = deepest.max(depth);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return deepest;
            }
            depth -= 1;
        }
    }
}

#[test]
fn a_syntax_error_damages_its_function_and_no_other() {
    let unit = unit("int f(void) { return 1; }\nint g(void) { return 1 +; }\nint h(void) { return 2; }\n");
    let mut cursor = unit.root().walk();
    let damaged: Vec<_> = unit.root().children(&mut cursor).map(|node| unit.is_damaged(node)).collect();
    assert_eq!(damaged, [false, true, false]);
    let span = unit.errors()[0].span.expect("a place");
    assert_eq!(unit.files().line_col(span.file, span.start).0, 1);
}

#[test]
fn the_unit_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&unit("int x;"));
}

/// C-like text out of the words that the front end treats in a special way.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "int",
        "x",
        "T",
        "typedef",
        "struct",
        "s",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        ":",
        "?",
        "*",
        "&",
        "&&",
        "=",
        "...",
        "case",
        "default",
        "goto",
        "if",
        "else",
        "switch",
        "return",
        "enum",
        "static",
        "const",
        "unsigned",
        "_Complex",
        "double",
        "__attribute__((",
        "aligned(8)",
        "))",
        "asm",
        "volatile",
        "\"s\"",
        "'c'",
        "1",
        "1.0i",
        "0x",
        "1.2.3",
        "__typeof__",
        "sizeof",
        "_Alignof",
        "_Atomic",
        "__builtin_va_arg",
        "__builtin_offsetof",
        "_Static_assert",
        "__real__",
        "[[",
        "]]",
        "::",
        "->",
        "#",
        "#pragma pack(1)\n",
        "\n#define M(a) a",
        "\n#include \"none.h\"\n",
        "\n#if",
        "\n#endif\n",
        "\n",
        "M(",
        "_Pragma(\"pack(\")",
        "/*",
        "//",
        "\\\n",
        "??=",
        "@",
        "`",
        "\"",
        "'",
        "é",
        "__extension__",
        "_BitInt",
        "bool",
        "TRUE",
        "__asm__",
        "union",
        "for",
        "while",
        "do",
        "-",
        "+",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_give_a_unit(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        well_formed(&of_bytes(&bytes));
    }

    #[test]
    fn any_words_give_a_unit(text in words()) {
        well_formed(&of_bytes(text.as_bytes()));
    }

    #[test]
    fn any_change_of_a_program_gives_a_unit(at in 0usize..2000, len in 0usize..20, text in words()) {
        let program = include_str!("program.c");
        let cut = |at: usize| (0..=at.min(program.len())).rev().find(|at| program.is_char_boundary(*at)).unwrap_or(0);
        let (from, to) = (cut(at), cut(at + len));
        well_formed(&of_bytes(format!("{}{text}{}", &program[..from], &program[to..]).as_bytes()));
    }
}

/// Laws of every unit: spans lie in their files, and a tree with errors comes with a message.
fn well_formed(unit: &Unit) {
    for node in nodes(unit) {
        for span in [unit.span(node), unit.spelling_span(node)] {
            let text = unit.files().text(span.file);
            assert!(
                span.start <= span.end && span.end as usize <= text.len(),
                "{span:?} in {} bytes",
                text.len()
            );
            assert!(text.is_char_boundary(span.start as usize) && text.is_char_boundary(span.end as usize));
        }
    }
    assert!(!unit.root().has_error() || unit.has_errors());
}
