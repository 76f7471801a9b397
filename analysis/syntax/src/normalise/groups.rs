//! Which bracket closes which, found once for all tokens.

use super::words::{Word, Words};
use crate::token::{Token, TokenKind};

/// The closing bracket of every opening one.
pub(super) struct Groups {
    /// Behind the closing bracket, by the index of the opening one; 0 if nothing closes it.
    behind: Vec<u32>,
}

impl Groups {
    pub(super) fn find(tokens: &[Token], words: &Words) -> Self {
        let mut behind = vec![0; tokens.len()];
        let mut open: Vec<(usize, Word)> = Vec::new();
        let mut braces = 0usize;
        for (at, token) in tokens.iter().enumerate() {
            if token.kind != TokenKind::Punctuator {
                continue;
            }
            let closes = match words.of(token.text) {
                word @ (Word::OpenParen | Word::OpenSquare | Word::OpenBrace) => {
                    open.push((at, word));
                    braces += usize::from(word == Word::OpenBrace);
                    continue;
                }
                Word::CloseParen => Word::OpenParen,
                Word::CloseSquare => Word::OpenSquare,
                Word::CloseBrace => Word::OpenBrace,
                _ => continue,
            };
            // A brace ends what was forgotten to be closed inside it.
            let partner = match closes {
                Word::OpenBrace if braces == 0 => None,
                Word::OpenBrace => open.iter().rposition(|(_, word)| *word == closes),
                _ => open.len().checked_sub(1).filter(|&last| open[last].1 == closes),
            };
            if let Some(partner) = partner {
                behind[open[partner].0] = u32::try_from(at + 1).unwrap_or(0);
                open.truncate(partner);
                braces -= usize::from(closes == Word::OpenBrace);
            }
        }
        Self { behind }
    }

    /// The index behind the group that opens at `at`.
    pub(super) fn behind(&self, at: usize) -> Option<usize> {
        self.behind.get(at).filter(|&&behind| behind != 0).map(|&behind| behind as usize)
    }
}
