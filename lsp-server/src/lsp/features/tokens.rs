//! Semantic tokens. Only for clients that ask for it in their options, because most editors have a server that colours C already.

use proofline_ide::{TokenKind, tokens as found};
use tower_lsp_server::ls_types::*;

use super::super::{convert::Encoding, document::Document};

/// The types, in the order of their numbers.
pub(in super::super) const LEGEND: [SemanticTokenType; 3] =
    [SemanticTokenType::FUNCTION, SemanticTokenType::VARIABLE, SemanticTokenType::MACRO];

fn number(kind: TokenKind) -> u32 {
    match kind {
        TokenKind::Function => 0,
        TokenKind::Variable => 1,
        TokenKind::Macro => 2,
    }
}

/// The names of the buffer, each relative to the one before.
pub(in super::super) fn tokens(document: &Document, encoding: Encoding) -> Option<SemanticTokens> {
    let mut data = Vec::new();
    let mut last = Position::default();
    for (range, kind) in found(&document.results)? {
        let Range { start, end } = encoding.range(&document.text, range);
        // A name of an older text may lie behind the end of a line.
        if start.line != end.line || start >= end || start < last {
            continue;
        }
        let delta_line = start.line - last.line;
        data.push(SemanticToken {
            delta_line,
            delta_start: if delta_line == 0 { start.character - last.character } else { start.character },
            length: end.character - start.character,
            token_type: number(kind),
            token_modifiers_bitset: 0,
        });
        last = start;
    }
    Some(SemanticTokens { result_id: None, data })
}
