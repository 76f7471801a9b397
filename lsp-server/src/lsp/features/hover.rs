//! Hover, as Markdown.

use proofline_ide::hover as found;
use tower_lsp_server::ls_types::*;

use super::super::{convert::Encoding, document::Document, markdown};

/// The hover at a position.
pub(in super::super) fn hover(document: &Document, position: Position, encoding: Encoding) -> Option<Hover> {
    let hover = found(&document.results, encoding.point(&document.text, position))?;
    let value = markdown::hover(&hover.contents);
    (!value.is_empty()).then(|| Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
        range: Some(encoding.range(&document.text, hover.range)),
    })
}
