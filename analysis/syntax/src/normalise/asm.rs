//! Inline assembly: statements stay `gnu_asm_expression`s, labels of declarators become attributes.

use super::Normaliser;
use super::attributes::{AttributeStyle, RawAttribute};
use super::brackets::{Bracket, Role};
use super::words::Word;
use crate::token::{Token, TokenKind};

impl Normaliser<'_> {
    /// `asm …`, in every spelling.
    pub(super) fn asm(&mut self) {
        let mut open = self.at + 1;
        let is_qualifier = |word| matches!(word, Word::Volatile | Word::Inline | Word::Goto);
        while self.tokens.get(open).is_some_and(|token| is_qualifier(self.words.of(token.text))) {
            open += 1;
        }
        if self.tokens.get(open).map(|token| self.words.of(token.text)) != Some(Word::OpenParen) {
            // No assembly: a program in ISO C may call a variable `asm`.
            let name = format!("{}{}", crate::marks::ID, self.texts.get(self.tokens[self.at].text));
            self.copy_as(&name);
            return;
        }
        if open == self.at + 1 && !self.at_statement_start() {
            self.asm_label(open);
            return;
        }
        self.copy_as("asm");
        while self.at < open {
            let qualifier = match self.words.of(self.tokens[self.at].text) {
                Word::Volatile => "volatile",
                Word::Goto => "goto",
                _ => "inline",
            };
            self.copy_as(qualifier);
        }
        self.open(Bracket::new(Role::Asm));
    }

    /// `asm("name")` behind a declarator: an attribute called `asm`.
    fn asm_label(&mut self, open: usize) {
        let Some(behind) = self.group(open) else { return };
        let strings = self.tokens[open..behind].iter().filter(|token| token.kind == TokenKind::String);
        let label: String = strings.map(|token| self.texts.get(token.text).trim_matches('"')).collect();
        let attribute = RawAttribute {
            name: "asm".to_owned(),
            arguments: vec![format!("\"{label}\"")],
            style: AttributeStyle::AsmLabel,
            span: self.span_of(self.at, behind),
            before: self.pieces.len(),
        };
        self.attributes.push(attribute);
        self.at = behind;
    }

    /// A string. Among the operands of `asm` neighbours are joined, because the grammar wants one.
    pub(super) fn string(&mut self, token: Token) {
        let next_is_string =
            |at: usize| self.tokens.get(at).is_some_and(|next| next.kind == TokenKind::String);
        let before = self.pieces.last().filter(|piece| {
            let word = self.words.of(piece.text);
            piece.kind == TokenKind::Identifier
                && matches!(word, Word::Plain | Word::BuiltinType | Word::Masked)
        });
        if let Some(name) = before.map(|piece| self.tokens[piece.origin as usize]) {
            self.name_beside_string(name);
        }
        if self.role() != Role::Asm || !next_is_string(self.at + 1) {
            self.copy();
            return;
        }
        let mut end = self.at + 1;
        while next_is_string(end) {
            end += 1;
        }
        let parts = self.tokens[self.at..end].iter().map(|token| self.texts.get(token.text));
        let joined: String = parts.map(|text| text.trim_start_matches('L').trim_matches('"')).collect();
        let text = self.texts.intern(&format!("\"{joined}\""));
        self.push(token.kind, text, self.at);
        self.at = end;
    }
}
