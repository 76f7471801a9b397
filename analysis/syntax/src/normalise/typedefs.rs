//! Which names surely are typedef names, and where.
//!
//! The grammar has no such table, so `(T)(x)` and `T (x);` are ambiguous to it. What is declared is only guessed from tokens here: a
//! name that also seems to be declared as something else is a type where only the typedef can be meant, because it stands in an inner
//! block or the other declaration cannot be seen from there. Elsewhere it is not sure and stays ambiguous in the tree.

use rustc_hash::{FxHashMap, FxHashSet};

use super::groups::Groups;
use super::words::{Word, Words};
use crate::token::{TextId, Token, TokenKind};

/// A name that seems to be declared more often than this is never sure: looking would take too long.
const MANY: usize = 256;

/// The typedef names of a unit.
pub(super) struct Typedefs {
    /// Declared as nothing else.
    sure: FxHashSet<TextId>,
    /// What else they may be.
    doubtful: FxHashMap<TextId, Vec<Declaration>>,
}

/// A place where a name is declared, perhaps.
#[derive(Debug, Clone, Copy)]
struct Declaration {
    /// The token.
    at: usize,
    /// Behind the last token that can see it.
    end: usize,
    is_typedef: bool,
}

impl Typedefs {
    /// Whether a name at a token surely is a typedef name.
    pub(super) fn contains(&self, text: TextId, at: usize) -> bool {
        self.sure.contains(&text) || self.doubtful.get(&text).is_some_and(|all| is_type_at(all, at))
    }

    /// Whether a name is a typedef name somewhere, sure or not.
    pub(super) fn may_contain(&self, text: TextId) -> bool {
        self.sure.contains(&text) || self.doubtful.contains_key(&text)
    }

    pub(super) fn collect(tokens: &[Token], words: &Words, groups: &Groups) -> Self {
        let scan = Scan { tokens, words, groups };
        let mut names = Vec::new();
        let mut typedefs = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            if scan.word(at) == Some(Word::Typedef) {
                let end = scan.declared_names(at, &mut names);
                typedefs.push(at..end);
                at = end;
            } else {
                at += 1;
            }
        }
        let mut sure: FxHashSet<TextId> = names.iter().map(|at: &usize| tokens[*at].text).collect();
        let mut found: Vec<Declaration> = Vec::new();
        let mut names = names.into_iter().peekable();
        let mut open = Vec::new();
        let mut typedefs = typedefs.into_iter().peekable();
        let mut at = 0;
        while at < tokens.len() {
            crate::interrupt::poll();
            if let Some(typedef) = typedefs.next_if(|range| range.start <= at) {
                let end = scan.scope_end(&open);
                while let Some(at) = names.next_if(|name| *name < typedef.end) {
                    found.push(Declaration { at, end, is_typedef: true });
                }
                at = typedef.end.max(at + 1);
                continue;
            }
            match scan.word(at) {
                Some(Word::OpenBrace | Word::OpenParen | Word::OpenSquare) => open.push(at),
                Some(Word::CloseBrace | Word::CloseParen | Word::CloseSquare) => {
                    open.pop();
                }
                Some(Word::Plain) if tokens[at].kind == TokenKind::Identifier => {
                    let in_brace = open.last().is_none_or(|&open| scan.word(open) == Some(Word::OpenBrace));
                    if sure.contains(&tokens[at].text) && scan.may_declare(at, in_brace) {
                        found.push(Declaration { at, end: scan.scope_end(&open), is_typedef: false });
                    }
                }
                _ => {}
            }
            at += 1;
        }
        let mut doubtful: FxHashMap<TextId, Vec<Declaration>> = FxHashMap::default();
        for other in found.iter().filter(|declaration| !declaration.is_typedef) {
            doubtful.entry(tokens[other.at].text).or_default();
        }
        for declaration in found {
            if let Some(all) = doubtful.get_mut(&tokens[declaration.at].text) {
                all.push(declaration);
            }
        }
        sure.retain(|name| !doubtful.contains_key(name));
        Self { sure, doubtful }
    }
}

/// Whether of a name's declarations a typedef counts at a token, for sure: everything else that is seen there is further out.
fn is_type_at(all: &[Declaration], at: usize) -> bool {
    if all.len() > MANY {
        return false;
    }
    let seen = || all.iter().filter(|declaration| declaration.at < at && at < declaration.end);
    let Some(inner) = seen().filter(|declaration| declaration.is_typedef).map(|typedef| typedef.end).min()
    else {
        return false;
    };
    seen().all(|declaration| declaration.is_typedef || declaration.end > inner)
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

    /// Adds the places of the names that the `typedef` at `at` declares; gives the place of its `;`.
    fn declared_names(&self, at: usize, names: &mut Vec<usize>) -> usize {
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
                        names.push(at);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// Behind the last token that can see what is declared inside these open brackets, outermost first. Errs on the side of far.
    fn scope_end(&self, open: &[usize]) -> usize {
        let is_brace = |at: usize| self.word(at) == Some(Word::OpenBrace);
        // Enumerators are seen outside of their braces and of those of records around them.
        let in_enum = open
            .iter()
            .rev()
            .find(|&&at| is_brace(at))
            .is_some_and(|&at| self.tag_of(at) == Some(Word::Enum));
        let is_block =
            |at: usize| is_brace(at) && !self.has_attribute(at) && !(in_enum && self.tag_of(at).is_some());
        let block = open.iter().rposition(|&at| is_block(at));
        let inside = block.map_or(open, |block| &open[block + 1..]);
        let end = match block {
            Some(block) => self.groups.behind(open[block]).unwrap_or(self.tokens.len()),
            None => self.tokens.len(),
        };
        match inside.first() {
            Some(&first) if self.word(first) == Some(Word::OpenParen) => {
                self.parameters_end(first).unwrap_or(end)
            }
            _ => end,
        }
    }

    /// Behind the last token that can see the parameters in these parentheses, if they are parameters.
    fn parameters_end(&self, open: usize) -> Option<usize> {
        let behind = self.groups.behind(open)?;
        match self.word(behind)? {
            Word::OpenBrace => self.groups.behind(behind),
            Word::Semicolon | Word::Comma => {
                let has_name = open.checked_sub(1).is_some_and(|before| self.is_name(before));
                // `T (*x);` and `T (x);` declare `x`.
                let is_declarator = match self.word(open + 1) {
                    Some(Word::Star | Word::OpenParen) => true,
                    _ if self.is_name(open + 1) => {
                        let next = self.word(open + 2);
                        matches!(next, Some(Word::CloseParen | Word::OpenSquare | Word::OpenParen))
                    }
                    _ => false,
                };
                (has_name && !is_declarator).then_some(behind)
            }
            _ => None,
        }
    }

    /// `struct`, `union` or `enum` in front of a brace, its tag perhaps between them.
    fn tag_of(&self, brace: usize) -> Option<Word> {
        let before = brace.checked_sub(1)?;
        let at = if self.is_name(before) { before.checked_sub(1)? } else { before };
        self.word(at).filter(|word| matches!(word, Word::Struct | Word::Enum))
    }

    /// Whether the parentheses of an attribute are in front of a brace: whose that is, is not looked for.
    fn has_attribute(&self, brace: usize) -> bool {
        let Some(before) = brace.checked_sub(1).filter(|&at| self.word(at) == Some(Word::CloseParen)) else {
            return false;
        };
        let mut depth = 0usize;
        for at in (0..=before).rev().take(64) {
            match self.word(at) {
                Some(Word::CloseParen) => depth += 1,
                Some(Word::OpenParen) => {
                    depth -= 1;
                    if depth == 0 {
                        let front = at.checked_sub(1).and_then(|front| self.word(front));
                        return matches!(front, Some(Word::Attribute | Word::Declspec | Word::Alignas));
                    }
                }
                _ => {}
            }
        }
        true
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
