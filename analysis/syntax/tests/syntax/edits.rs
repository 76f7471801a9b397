//! A text that is parsed after an older one gives the unit that it gives by itself.

use std::path::Path;

use proofline_syntax::{
    Flags, NoFs, OverlayFs, Preprocessed, Preprocessor, RuccPreprocessor, Unit, parse, parse_after,
};
use proptest::prelude::*;

use crate::common::nodes;

const PROGRAM: &str = include_str!("program.c");

/// What is put between lines: some of it closes or opens more than there is.
const PIECES: &[&str] = &[
    "int pl_z = 0; pl_z = 1 / pl_z;",
    "",
    "if (x)",
    "else",
    "{",
    "}",
    "T * y;",
    "T (z);",
    "#define PIECE int",
    "PIECE piece;",
    "x = (a) + b, (c)(d);",
    "sizeof (T) * x;",
    "/*",
    "*/",
    "int f(a, b) int a; char *b; { return a; }",
    "typedef int T;",
    "do",
    "(",
    ";",
];

fn preprocessed(text: &str) -> Preprocessed {
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/t.c", text.as_bytes());
    RuccPreprocessor.preprocess(Path::new("/t.c"), &fs, &Flags::default())
}

/// The tree, node by node, and what is wrong with it.
fn told(unit: &Unit) -> Vec<String> {
    let node = |node: &tree_sitter::Node<'_>| {
        let (start, end) = (node.start_position(), node.end_position());
        format!("{} {:?} {start} {end} {}", node.kind(), node.byte_range(), node.is_missing())
    };
    let mut out: Vec<String> = nodes(unit).iter().map(node).collect();
    out.push(unit.root().to_sexp());
    out.extend(unit.errors().iter().map(|error| format!("{error:?}")));
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_was_parsed_before_does_not_show(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3usize, 0..PIECES.len()), 1..12),
    ) {
        let mut lines: Vec<&str> = PROGRAM.lines().collect();
        let mut older = parse(preprocessed(PROGRAM));
        for (at, removed, piece) in edits {
            let at = at.index(lines.len());
            let end = (at + removed).min(lines.len());
            lines.splice(at..end, [PIECES[piece]]);
            let text = lines.join("\n");
            let after = parse_after(preprocessed(&text), Some(&older));
            prop_assert_eq!(told(&after), told(&parse(preprocessed(&text))), "{}", text);
            // An edit that breaks the text is taken back half of the time.
            if !after.has_errors() || removed == 0 {
                older = after;
            } else {
                lines.splice(at..=at, []);
            }
        }
    }
}
