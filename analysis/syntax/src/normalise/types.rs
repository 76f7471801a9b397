//! Types that the grammar does not read: `_Complex`, `_Atomic(T)`, `typeof(e)`, keywords in odd order.

use super::Normaliser;
use super::brackets::{Bracket, Role};
use super::words::Word;
use crate::marks;
use crate::token::{TextId, TokenKind};

impl Normaliser<'_> {
    /// Whether a spelling surely names a type where it stands.
    pub(super) fn is_type_name(&self, text: TextId, at: usize) -> bool {
        self.words.of(text) == Word::BuiltinType || self.typedefs.contains(text, at)
    }

    /// Whether the token at `at` starts a type name.
    pub(super) fn starts_type(&self, at: usize) -> bool {
        let Some(token) = self.tokens.get(at) else { return false };
        if token.kind != TokenKind::Identifier {
            return false;
        }
        match self.words.of(token.text) {
            Word::Extension => self.starts_type(at + 1),
            Word::Base
            | Word::Signed
            | Word::Bool
            | Word::Complex
            | Word::Struct
            | Word::Enum
            | Word::Const
            | Word::Volatile
            | Word::Typeof
            | Word::TypeofUnqual
            | Word::Atomic
            | Word::BitInt => true,
            _ => self.is_type_name(token.text, at),
        }
    }

    /// A run of basic type words. Other specifiers between them are moved in front of them, and
    /// with `_Complex` they become one name.
    pub(super) fn base_type(&mut self) {
        if self.role() == Role::Members {
            self.top().has_type = true;
        }
        let start = self.at;
        let mut behind_last = start;
        let mut at = start;
        while let Some(token) = self.tokens.get(at) {
            match self.words.of(token.text) {
                _ if token.kind != TokenKind::Identifier => break,
                Word::Base | Word::Signed | Word::Bool | Word::Complex => behind_last = at + 1,
                Word::BuiltinType if is_number_type(self.texts.get(token.text)) => behind_last = at + 1,
                Word::Const
                | Word::Volatile
                | Word::Inline
                | Word::ThreadLocal
                | Word::Storage
                | Word::Typedef
                | Word::Extension => {}
                Word::Atomic if !self.is_open_paren(at + 1) => {}
                _ => break,
            }
            at += 1;
        }
        if behind_last == start {
            // `__builtin_va_list _Complex`: not a type of numbers.
            self.copy();
            return;
        }
        let mut bases = Vec::new();
        let mut complex = None;
        for at in start..behind_last {
            match self.words.of(self.tokens[at].text) {
                Word::Complex => complex = Some(at),
                Word::Base | Word::Signed | Word::Bool | Word::BuiltinType => bases.push(at),
                Word::Extension => {}
                _ => {
                    self.at = at;
                    self.modifier();
                }
            }
        }
        if let Some(origin) = complex {
            let words: Vec<&str> = bases.iter().map(|&at| self.texts.get(self.tokens[at].text)).collect();
            let real = if words.is_empty() { "double".to_owned() } else { words.join("_") };
            self.insert(origin, &[&format!("{}{real}", marks::COMPLEX)]);
        } else {
            for at in bases {
                self.at = at;
                match self.words.of(self.tokens[at].text) {
                    Word::Signed => self.copy_as("signed"),
                    Word::Bool => self.copy_as("bool"),
                    _ => self.copy(),
                }
            }
        }
        self.at = behind_last;
    }

    fn is_open_paren(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| self.words.of(token.text) == Word::OpenParen)
    }

    /// `_Atomic(T)` becomes `_Atomic typeof(T)`; the qualifier stays.
    pub(super) fn atomic(&mut self) {
        let origin = self.at;
        self.copy();
        if self.peek(0) == Some(Word::OpenParen) {
            self.insert(origin, &[marks::TYPEOF]);
            self.open(Bracket::new(Role::Typeof));
        }
    }

    /// `typeof(…)`: a type stays, an expression becomes the size of an array of `void`.
    pub(super) fn type_of(&mut self, name: &str) {
        if self.peek(1) != Some(Word::OpenParen) {
            self.copy();
            return;
        }
        let is_type = self.starts_type(self.at + 2);
        // Without the qualifier `typeof(x) *p;` would be a product.
        self.insert(self.at, &[marks::TYPE_FOLLOWS]);
        self.copy_as(name);
        self.wrapped_operand(is_type, &["void", "[", "("], &[")", "]"]);
    }

    /// `_Alignof(…)`: the same one level further in.
    pub(super) fn align_of(&mut self) {
        if self.peek(1) != Some(Word::OpenParen) {
            self.copy();
            return;
        }
        let is_type = self.starts_type(self.at + 2);
        // GNU's may differ from C's: on i386 it is 8 for `double`.
        let is_gnu = self.texts.get(self.tokens[self.at].text).starts_with("__");
        self.copy_as(if is_gnu { "__alignof__" } else { "_Alignof" });
        self.wrapped_operand(
            is_type,
            &[marks::TYPE_FOLLOWS, marks::TYPEOF, "(", "void", "[", "("],
            &[")", "]", ")"],
        );
    }

    fn wrapped_operand(&mut self, is_type: bool, before: &[&str], after: &'static [&'static str]) {
        let depth = self.stack.len();
        let role = Role::Typeof;
        let on_close = if is_type { &[] } else { after };
        let origin = self.at;
        self.open(Bracket { on_close, ..Bracket::new(role) });
        if !is_type && self.stack.len() > depth {
            self.insert(origin, before);
        }
    }

    /// `_BitInt(N)`: not supported, and said so.
    pub(super) fn bit_int(&mut self) {
        let start = self.at;
        let behind = self.groups.behind(start + 1).unwrap_or(start + 1);
        let span = self.span_of(start, behind);
        self.error("unsupported C23 type `_BitInt`", span);
        self.insert(start, &["int"]);
        if self.role() == Role::Members {
            self.top().has_type = true;
        }
        self.at = behind;
    }
}

/// Whether a built-in type name may stand in a run with `unsigned` or `_Complex`.
fn is_number_type(name: &str) -> bool {
    !matches!(name, "__builtin_va_list" | "__auto_type")
}
