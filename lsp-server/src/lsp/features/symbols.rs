//! The functions of a buffer, for its outline.

use tower_lsp_server::ls_types::*;

use super::super::{diagnostics::Places, document::Document};

/// Functions of the buffer.
pub(in super::super) fn symbols(document: &Document, places: &Places<'_>) -> DocumentSymbolResponse {
    let results = &document.results;
    #[expect(deprecated, reason = "the field `deprecated` has to be written down")]
    let symbols = results
        .functions()
        .map(|function| DocumentSymbol {
            name: function.name.clone(),
            detail: results.function(&function.name).map(|report| report.headline()),
            kind: SymbolKind::FUNCTION,
            tags: None,
            deprecated: None,
            range: places.range(&document.path, results.now(function.range)),
            selection_range: places.range(&document.path, results.now(function.selection.range)),
            children: None,
        })
        .collect();
    DocumentSymbolResponse::Nested(symbols)
}
