//! Braces around a statement where the grammar cannot do without: finding where a statement ends.

use super::Normaliser;
use super::brackets::{Bracket, Role};
use super::words::Word;
use crate::token::TokenKind;

/// How deep statements in statements are followed.
const DEEPEST: u32 = 200;

/// Most tokens of a statement.
const FAR: usize = 100_000;

impl Normaliser<'_> {
    /// Puts braces around the statement at hand.
    pub(super) fn wrap_statement(&mut self) {
        let Some(end) = self.statement_end(self.at, DEEPEST) else {
            if let Some(token) = self.tokens.get(self.at) {
                self.error("the end of this statement is not found", token.expansion);
            }
            return;
        };
        let origin = self.at;
        self.insert(origin, &["{"]);
        self.wrapped.push((end, self.stack.len()));
        self.stack.push(Bracket::new(Role::Block));
    }

    /// Closes the braces of the statements that end here.
    pub(super) fn close_wrapped(&mut self) {
        while let Some((_, height)) = self.wrapped.pop_if(|(end, _)| *end <= self.at) {
            let origin = self.at - 1;
            self.close_pseudo();
            self.end_of_block(origin);
            self.stack.truncate(height.max(1));
            self.insert(origin, &["}"]);
            self.last_closed = Role::Block;
        }
    }

    /// The index behind the statement that starts at `at`.
    fn statement_end(&self, at: usize, deepest: u32) -> Option<usize> {
        let deepest = deepest.checked_sub(1)?;
        let word = |at: usize| self.tokens.get(at).map(|token| self.words.of(token.text));
        match word(at)? {
            Word::OpenBrace => self.groups.behind(at),
            Word::Attribute => self.statement_end(self.groups.behind(at + 1)?, deepest),
            Word::If => {
                let end = self.statement_end(self.groups.behind(at + 1)?, deepest)?;
                if word(end) == Some(Word::Else) { self.statement_end(end + 1, deepest) } else { Some(end) }
            }
            Word::Loop | Word::Switch => self.statement_end(self.groups.behind(at + 1)?, deepest),
            Word::Do => {
                let end = self.statement_end(at + 1, deepest)?;
                let behind = self.groups.behind(end + 1)?;
                (word(behind) == Some(Word::Semicolon)).then_some(behind + 1)
            }
            Word::Case => self.statement_end(self.colon_of_case(at)? + 1, deepest),
            Word::Default if word(at + 1) == Some(Word::Colon) => self.statement_end(at + 2, deepest),
            _ if self.tokens[at].kind == TokenKind::Identifier && word(at + 1) == Some(Word::Colon) => {
                self.statement_end(at + 2, deepest)
            }
            _ => self.next_outside(at, Word::Semicolon).map(|semicolon| semicolon + 1),
        }
    }

    /// The colon that ends the `case` at `at`.
    fn colon_of_case(&self, at: usize) -> Option<usize> {
        let (mut at, mut questions) = (at + 1, 0usize);
        for _ in 0..FAR {
            at = match self.words.of(self.tokens.get(at)?.text) {
                Word::Colon if questions == 0 => return Some(at),
                Word::Colon => {
                    questions -= 1;
                    at + 1
                }
                Word::Question => {
                    questions += 1;
                    at + 1
                }
                Word::OpenParen | Word::OpenSquare | Word::OpenBrace => self.groups.behind(at)?,
                Word::CloseBrace | Word::CloseParen | Word::CloseSquare | Word::Semicolon => return None,
                _ => at + 1,
            };
        }
        None
    }

    /// The next token with this word that is in no bracket, before the block ends.
    fn next_outside(&self, at: usize, wanted: Word) -> Option<usize> {
        let mut at = at;
        for _ in 0..FAR {
            let word = self.words.of(self.tokens.get(at)?.text);
            at = match word {
                _ if word == wanted => return Some(at),
                Word::OpenParen | Word::OpenSquare | Word::OpenBrace => self.groups.behind(at)?,
                Word::CloseBrace | Word::CloseParen | Word::CloseSquare => return None,
                _ => at + 1,
            };
        }
        None
    }
}
