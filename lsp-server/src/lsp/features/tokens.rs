//! Semantic tokens: what a name means, from the index of names. Only for clients that ask for it in their options, because most editors have
//! a server that colours C already.

use proofline_ide::{Place, Symbol};
use tower_lsp_server::ls_types::*;

use super::super::{convert::Encoding, document::Document};

/// The types, in the order of their numbers.
pub(in super::super) const LEGEND: [SemanticTokenType; 3] =
    [SemanticTokenType::FUNCTION, SemanticTokenType::VARIABLE, SemanticTokenType::MACRO];

/// The names of the buffer.
pub(in super::super) fn tokens(document: &Document, encoding: Encoding) -> Option<SemanticTokens> {
    let board = &document.board;
    let index = board.program()?.index();
    let own = |place: &Place| *place.path == *document.path;
    let names = index.all().filter(|o| own(&o.place)).map(|o| {
        let kind = match o.symbol {
            Symbol::Function(_) => 0,
            Symbol::Global(_) | Symbol::Local(..) => 1,
        };
        (board.now(o.place.range), kind)
    });
    let macros = index.expansions().iter().filter(|e| own(&e.place)).map(|e| (board.now(e.place.range), 2));
    let mut all: Vec<(proofline_ide::Range, u32)> = macros.chain(names).collect();
    // A macro hides what is in it.
    all.sort_by_key(|(range, kind)| (range.start, std::cmp::Reverse(*kind)));
    let mut data = Vec::new();
    let (mut line, mut character) = (0, 0);
    let mut end = proofline_ide::Point::default();
    for (range, kind) in all {
        let at = encoding.range(&document.text, range);
        if range.start < end || at.start.line != at.end.line || at.end.character <= at.start.character {
            continue;
        }
        end = range.end;
        let delta_line = at.start.line - line;
        let delta_start = if delta_line == 0 { at.start.character - character } else { at.start.character };
        (line, character) = (at.start.line, at.start.character);
        data.push(SemanticToken {
            delta_line,
            delta_start,
            length: at.end.character - at.start.character,
            token_type: kind,
            token_modifiers_bitset: 0,
        });
    }
    Some(SemanticTokens { result_id: None, data })
}
