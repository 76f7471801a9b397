//! Answers about a buffer, one file per feature. They read what is known; nothing is computed here that takes long.

mod actions;
mod annotations;
mod folding;
mod hints;
mod hover;
mod lens;
mod navigation;
mod tokens;

use proofline_ide::{Point, State, Summary};
use tower_lsp_server::ls_types::*;

use super::{diagnostics::Places, document::Document};

pub(super) use actions::actions;
pub(super) use folding::ranges as folding;
pub(super) use hints::hints;
pub(super) use hover::hover;
pub(super) use lens::lenses;
pub(super) use navigation::{
    definition, highlights, incoming, outgoing, prepare_calls, references, workspace_symbols,
};
pub(super) use tokens::{LEGEND, tokens};

/// A comment that begins so, before a line or on it, takes back the diagnostics of the check that it names.
pub(super) const SUPPRESS: &str = "proofline: ignore";

/// A function's summary with its state now.
pub(super) fn summary(document: &Document, name: &str) -> Option<(Summary, State)> {
    let board = &document.board;
    let mut summary = Summary::of(board.program()?, &board.reports(), board.knowledge(), name)?;
    let state = board.function(name).map_or(State::Queued, |report| report.state);
    summary.report.state = state;
    Some((summary, state))
}

/// The function whose definition is around a point of the current text.
pub(super) fn function_at(document: &Document, point: Point) -> Option<String> {
    let board = &document.board;
    let functions = board.program()?.functions().iter();
    let mut inside =
        functions.filter(|f| *f.selection.path == *document.path && board.now(f.range).touches(point));
    inside.next().map(|function| function.name.clone())
}

/// Functions of the buffer.
pub(super) fn symbols(document: &Document, places: &Places<'_>) -> DocumentSymbolResponse {
    let board = &document.board;
    let functions = board.program().into_iter().flat_map(|program| program.functions());
    #[expect(deprecated, reason = "the field `deprecated` has to be written down")]
    let symbols = functions
        .filter(|function| *function.selection.path == *document.path)
        .map(|function| DocumentSymbol {
            name: function.name.clone(),
            detail: board.function(&function.name).map(|report| lens::headline(&report)),
            kind: SymbolKind::FUNCTION,
            tags: None,
            deprecated: None,
            range: places.range(&document.path, board.now(function.range)),
            selection_range: places.range(&document.path, board.now(function.selection.range)),
            children: None,
        })
        .collect();
    DocumentSymbolResponse::Nested(symbols)
}
