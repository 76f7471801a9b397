//! Folding needs no program: half-typed code folds as well.

use proofline_ide::{Fold, FoldKind, folds};

fn fold(start_line: u32, end_line: u32, kind: FoldKind) -> Fold {
    Fold { start_line, end_line, kind }
}

#[test]
fn braces_comments_and_conditional_parts_fold() {
    let text = "/* a\n b */\n#if X\nint f(void)\n{\n    return '{';\n}\n#else\nint g;\n#endif\n";
    let wanted = [
        fold(0, 1, FoldKind::Comment),
        fold(4, 5, FoldKind::Braces),
        fold(2, 6, FoldKind::Conditional),
        fold(7, 8, FoldKind::Conditional),
    ];
    assert_eq!(folds(text), wanted);
}

#[test]
fn what_is_left_open_does_not_fold_and_hides_nothing() {
    assert_eq!(folds("int f(void) {\n    if (x) {\n        y();\n    }\n"), [fold(1, 2, FoldKind::Braces)]);
    assert!(folds("}\n}\n\"{\n").is_empty());
}
