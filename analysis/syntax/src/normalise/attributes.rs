//! Taking attributes out of the text. Which node they belong to is found in the tree later.

use super::Normaliser;
use super::words::Word;
use crate::source::Span;
use crate::token::TokenKind;

/// How an attribute is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttributeStyle {
    /// `__attribute__((name(arguments)))`.
    Gnu,
    /// `[[prefix::name(arguments)]]`.
    C23,
    /// `__declspec(name(arguments))` or a calling convention such as `__stdcall`.
    Declspec,
    /// A keyword such as `_Noreturn`.
    Keyword,
    /// `asm("name")` behind a declarator; the one argument is the string.
    AsmLabel,
}

/// An attribute before it is known what it belongs to.
pub(crate) struct RawAttribute {
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) style: AttributeStyle,
    pub(crate) span: Span,
    /// It stood before this piece.
    pub(crate) before: usize,
}

impl Normaliser<'_> {
    /// `__attribute__((…))`.
    pub(super) fn gnu_attributes(&mut self) {
        let start = self.at;
        let doubled = self.peek(1) == Some(Word::OpenParen) && self.peek(2) == Some(Word::OpenParen);
        if !doubled {
            self.error("`__attribute__` wants two pairs of parentheses", self.tokens[start].expansion);
            self.at += 1;
            return;
        }
        let Some(behind) = self.group(start + 1) else { return };
        // The inner parentheses are closed before the outer ones.
        let inner = self.groups.behind(start + 2).unwrap_or(behind);
        self.attribute_list(start + 3, inner - 1, AttributeStyle::Gnu);
        self.at = behind;
    }

    /// `[[…]]`.
    pub(super) fn c23_attributes(&mut self) {
        let start = self.at;
        let Some(behind) = self.group(start) else { return };
        let inner = self.groups.behind(start + 1).unwrap_or(behind);
        self.attribute_list(start + 2, inner - 1, AttributeStyle::C23);
        self.at = behind;
    }

    /// `__declspec(…)`.
    pub(super) fn declspec(&mut self) {
        let start = self.at;
        if self.peek(1) != Some(Word::OpenParen) {
            self.at += 1;
            return;
        }
        let Some(behind) = self.group(start + 1) else { return };
        self.attribute_list(start + 2, behind - 1, AttributeStyle::Declspec);
        self.at = behind;
    }

    /// A keyword that is an attribute by itself.
    pub(super) fn keyword_attribute(&mut self, style: AttributeStyle) {
        let token = self.tokens[self.at];
        let name = bare(self.texts.get(token.text)).trim_start_matches("_N").to_owned();
        let name = if name == "oreturn" { "noreturn".to_owned() } else { name };
        let (span, before) = (token.expansion, self.pieces.len());
        self.attributes.push(RawAttribute { name, arguments: Vec::new(), style, span, before });
        self.at += 1;
    }

    /// The attributes in `tokens[from..to]`, which are separated by commas.
    fn attribute_list(&mut self, from: usize, to: usize, style: AttributeStyle) {
        let mut at = from;
        while at < to {
            let token = self.tokens[at];
            if token.kind != TokenKind::Identifier {
                at += 1;
                continue;
            }
            let mut name_at = at;
            let prefixed = self.tokens.get(at + 1).map(|next| self.words.of(next.text));
            if style == AttributeStyle::C23 && prefixed == Some(Word::DoubleColon) && at + 2 < to {
                name_at = at + 2;
            }
            let name = bare(self.texts.get(self.tokens[name_at].text)).to_owned();
            let mut end = name_at + 1;
            let mut arguments = Vec::new();
            if end < to && self.words.of(self.tokens[end].text) == Word::OpenParen {
                let behind = self.groups.behind(end).unwrap_or(to).min(to);
                arguments = self.argument_texts(end + 1, behind.saturating_sub(1));
                end = behind;
            }
            let (span, before) = (self.span_of(at, end), self.pieces.len());
            self.attributes.push(RawAttribute { name, arguments, style, span, before });
            at = end;
        }
    }

    /// The texts between the commas of `tokens[from..to]`.
    fn argument_texts(&self, from: usize, to: usize) -> Vec<String> {
        if from >= to {
            return Vec::new();
        }
        let mut texts = vec![String::new()];
        let mut depth = 0usize;
        for token in &self.tokens[from..to] {
            match self.words.of(token.text) {
                Word::OpenParen | Word::OpenSquare | Word::OpenBrace => depth += 1,
                Word::CloseParen | Word::CloseSquare | Word::CloseBrace => depth = depth.saturating_sub(1),
                Word::Comma if depth == 0 => {
                    texts.push(String::new());
                    continue;
                }
                _ => {}
            }
            let Some(text) = texts.last_mut() else { continue };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(self.texts.get(token.text));
        }
        texts
    }
}

/// `__packed__` as `packed`.
fn bare(name: &str) -> &str {
    name.strip_prefix("__").map_or(name, |name| name.strip_suffix("__").unwrap_or(name))
}
