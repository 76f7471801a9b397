//! Inlay hints, only when asked for.

use proofline_ide::{Hint, HintContent, Point, hints as found};
use tower_lsp_server::ls_types::*;

use super::super::{convert::Encoding, document::Document};

/// The hints of a range, each behind the last character of a line.
pub(in super::super) fn hints(document: &Document, range: Range, encoding: Encoding) -> Vec<InlayHint> {
    let wanted = encoding.range_of(&document.text, range);
    found(&document.results, wanted).iter().map(|hint| inlay(document, hint, encoding)).collect()
}

fn inlay(document: &Document, hint: &Hint, encoding: Encoding) -> InlayHint {
    let (text, tip) = match &hint.content {
        HintContent::Contract { requires, ensures } => {
            let parts: Vec<String> = [("requires", requires), ("ensures", ensures)]
                .into_iter()
                .filter(|(_, conditions)| !conditions.is_empty())
                .map(|(word, conditions)| format!("{word} {}", conditions.join(" && ")))
                .collect();
            (parts.join(", "), "Proved for every call.")
        }
        HintContent::Invariant(invariants) => (
            format!("invariant {}", invariants.join(", ")),
            "Proved: holds each time the loop's condition is looked at.",
        ),
    };
    InlayHint {
        position: encoding.position(&document.text, Point { line: hint.line, column: u32::MAX }),
        label: InlayHintLabel::String(text),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::String(tip.to_owned())),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}
