//! Which names surely are typedef names, everywhere in the unit.
//!
//! The grammar has no such table, so `(T)(x)` and `T (x);` are ambiguous to it. Scopes are not known
//! here either: a name that also seems to be declared as something else anywhere is not sure and stays
//! ambiguous in the tree.

use rustc_hash::FxHashSet;

use super::groups::Groups;
use super::words::{Word, Words};
use crate::token::{TextId, Token, TokenKind};

/// The sure typedef names of a unit.
pub(super) struct Typedefs {
    sure: FxHashSet<TextId>,
    doubtful: FxHashSet<TextId>,
}

impl Typedefs {
    pub(super) fn contains(&self, text: TextId) -> bool {
        self.sure.contains(&text)
    }

    /// Whether a name is a typedef name somewhere, sure or not.
    pub(super) fn may_contain(&self, text: TextId) -> bool {
        self.sure.contains(&text) || self.doubtful.contains(&text)
    }

    pub(super) fn collect(tokens: &[Token], words: &Words, groups: &Groups) -> Self {
        let scan = Scan { tokens, words, groups };
        let (mut sure, mut doubtful) = (FxHashSet::default(), FxHashSet::default());
        let mut declarations = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            if scan.word(at) == Some(Word::Typedef) {
                let end = scan.declared_names(at, &mut sure);
                declarations.push(at..end);
                at = end;
            } else {
                at += 1;
            }
        }
        let mut braces = Vec::new();
        let mut declarations = declarations.into_iter().peekable();
        let mut at = 0;
        while at < tokens.len() {
            if let Some(declaration) = declarations.next_if(|range| range.start <= at) {
                at = declaration.end.max(at + 1);
                continue;
            }
            match scan.word(at) {
                Some(Word::OpenBrace) => braces.push(true),
                Some(Word::OpenParen | Word::OpenSquare) => braces.push(false),
                Some(Word::CloseBrace | Word::CloseParen | Word::CloseSquare) => {
                    braces.pop();
                }
                Some(Word::Plain) if tokens[at].kind == TokenKind::Identifier => {
                    let in_brace = braces.last().copied().unwrap_or(true);
                    if sure.contains(&tokens[at].text) && scan.may_declare(at, in_brace) {
                        sure.remove(&tokens[at].text);
                        doubtful.insert(tokens[at].text);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Self { sure, doubtful }
    }
}

struct Scan<'a> {
    tokens: &'a [Token],
    words: &'a Words,
    groups: &'a Groups,
}

impl Scan<'_> {
    fn word(&self, at: usize) -> Option<Word> {
        self.tokens.get(at).map(|token| self.words.of(token.text))
    }

    fn is_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| {
            token.kind == TokenKind::Identifier
                && matches!(self.words.of(token.text), Word::Plain | Word::BuiltinType)
        })
    }

    /// Adds the names declared by the `typedef` at `at`; gives the place of its `;`.
    fn declared_names(&self, at: usize, names: &mut FxHashSet<TextId>) -> usize {
        let (mut has_type, mut has_name) = (false, false);
        let mut at = at + 1;
        while let Some(word) = self.word(at) {
            match word {
                Word::Semicolon | Word::Typedef | Word::CloseBrace => break,
                Word::Base | Word::Signed | Word::Bool | Word::Complex | Word::BuiltinType => has_type = true,
                Word::Struct | Word::Enum => {
                    has_type = true;
                    at += 1;
                    while matches!(self.word(at), Some(Word::Attribute | Word::Declspec)) {
                        at = self.behind_group(at + 1);
                    }
                    if !self.is_name(at) {
                        continue;
                    }
                }
                Word::OpenBrace | Word::OpenSquare => {
                    at = self.behind_group(at);
                    continue;
                }
                Word::Attribute | Word::Declspec | Word::Alignas | Word::Asm => {
                    at = self.behind_group(at + 1);
                    continue;
                }
                Word::Typeof | Word::TypeofUnqual | Word::BitInt => {
                    has_type = true;
                    at = self.behind_group(at + 1);
                    continue;
                }
                Word::Atomic if self.word(at + 1) == Some(Word::OpenParen) => {
                    has_type = true;
                    at = self.behind_group(at + 1);
                    continue;
                }
                Word::OpenParen if has_name => {
                    at = self.behind_group(at);
                    continue;
                }
                Word::Comma => has_name = false,
                Word::Plain if self.is_name(at) => {
                    if !has_type {
                        has_type = true;
                    } else if !has_name {
                        has_name = true;
                        names.insert(self.tokens[at].text);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// The index behind the group that opens at `at`; the next index if none does.
    fn behind_group(&self, at: usize) -> usize {
        self.groups.behind(at).unwrap_or(at + 1)
    }

    /// Whether the name at `at` may be declared here as something that is no typedef. Errs on the
    /// side of yes.
    fn may_declare(&self, at: usize, in_brace: bool) -> bool {
        // `T x` and `T *x` use `T` as a type wherever they stand.
        let mut next = at + 1;
        while self.word(next) == Some(Word::Attribute) {
            next = self.behind_group(next + 1);
        }
        let used_as_type = self.is_name(next) || self.word(next) == Some(Word::Star);
        let Some(before) = at.checked_sub(1) else { return false };
        let Some(mut word) = self.word(before) else { return false };
        let mut before = before;
        while matches!(word, Word::Const | Word::Volatile | Word::Restrict) && before > 0 {
            before -= 1;
            word = self.word(before).unwrap_or(Word::Plain);
            if word == Word::Star {
                return true;
            }
        }
        match word {
            Word::Dot | Word::Struct | Word::Enum | Word::Goto => false,
            Word::Star => true,
            Word::Base | Word::Signed | Word::Bool | Word::Complex | Word::BuiltinType => true,
            Word::Plain if self.is_name(before) => !used_as_type,
            Word::CloseBrace | Word::CloseParen => !used_as_type,
            Word::OpenBrace => {
                matches!(self.word(at + 1), Some(Word::Comma | Word::Equals | Word::CloseBrace))
            }
            Word::Comma => {
                let ends =
                    matches!(self.word(at + 1), Some(Word::Equals | Word::Semicolon | Word::OpenSquare));
                !used_as_type && (in_brace || ends)
            }
            Word::OpenParen => {
                let type_before = before.checked_sub(1).is_some_and(|at| {
                    matches!(self.word(at), Some(Word::Base | Word::Bool | Word::BuiltinType | Word::Star))
                });
                type_before && self.word(at + 1) == Some(Word::CloseParen)
            }
            _ => false,
        }
    }
}
