//! Inlay hints, only when asked for: what functions ask of their callers and promise them, what holds in loops.

use proofline_ide::{Point, Range};
use tower_lsp_server::ls_types::*;

use super::super::{convert::Encoding, document::Document};

/// The hints of a range, each behind the last character of a line.
pub(in super::super) fn hints(
    document: &Document,
    range: tower_lsp_server::ls_types::Range,
    encoding: Encoding,
) -> Vec<InlayHint> {
    let board = &document.board;
    let wanted = Range {
        start: encoding.point(&document.text, range.start),
        end: encoding.point(&document.text, range.end),
    };
    let mut out = Vec::new();
    let functions = board.program().into_iter().flat_map(|program| program.functions());
    for function in functions.filter(|function| *function.selection.path == *document.path) {
        let at = board.now(function.selection.range);
        if !wanted.touches(at.start) {
            continue;
        }
        let Some((summary, _)) = super::summary(document, &function.name) else { continue };
        let mut parts = Vec::new();
        if !summary.conditions.is_empty() {
            parts.push(format!("requires {}", summary.conditions.join(" && ")));
        }
        if summary.is_for_all_callers && !summary.ensures.is_empty() {
            parts.push(format!("ensures {}", summary.ensures.join(" && ")));
        }
        if !parts.is_empty() {
            out.push(hint(document, at.end.line, &parts.join(", "), "Proved for every call.", encoding));
        }
    }
    let loops = board.knowledge().into_iter().flat_map(|known| known.loops());
    for known in loops.filter(|l| *l.place.path == *document.path) {
        let at = known.place.range.start;
        if wanted.touches(at) {
            let text = format!("invariant {}", known.invariants.join(", "));
            let tip = "Proved: holds each time the loop's condition is looked at.";
            out.push(hint(document, at.line, &text, tip, encoding));
        }
    }
    out
}

fn hint(document: &Document, line: u32, text: &str, tip: &str, encoding: Encoding) -> InlayHint {
    InlayHint {
        position: encoding.position(&document.text, Point { line, column: u32::MAX }),
        label: InlayHintLabel::String(text.to_owned()),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::String(tip.to_owned())),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}
