//! Folding.

use proofline_ide::{FoldKind, folds};
use tower_lsp_server::ls_types::{FoldingRange, FoldingRangeKind};

/// The ranges of a text.
pub(in super::super) fn folding(text: &str) -> Vec<FoldingRange> {
    let range = |fold: proofline_ide::Fold| FoldingRange {
        start_line: fold.start_line,
        end_line: fold.end_line,
        kind: match fold.kind {
            FoldKind::Braces => None,
            FoldKind::Comment => Some(FoldingRangeKind::Comment),
            FoldKind::Conditional => Some(FoldingRangeKind::Region),
        },
        ..FoldingRange::default()
    };
    folds(text).into_iter().map(range).collect()
}
