//! Tokens of the textual form, and the parser's elementary moves. Must not know the grammar.

use std::fmt;

use super::{
    Parser, Surroundings,
    name::{is_name_part, is_name_start},
};
use crate::expr::Site;
use proofline_hir::Name;

/// Where and why a text could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// What was expected, or what is wrong.
    pub message: String,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum TokenKind {
    /// A bare word.
    Word(String),
    /// In backquotes, unescaped.
    Quoted(String),
    /// `%x`, `%3`
    Local(String),
    /// `@3`
    Site(u32),
    /// Magnitude and format.
    Int(u128, String),
    /// Decimal digits and format.
    Float(String, String),
    Punct(&'static str),
    End,
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenKind::Word(text) | TokenKind::Quoted(text) => write!(f, "`{text}`"),
            TokenKind::Local(text) => write!(f, "`%{text}`"),
            TokenKind::Site(site) => write!(f, "`@{site}`"),
            TokenKind::Int(value, format) => write!(f, "`{value}{format}`"),
            TokenKind::Float(value, format) => write!(f, "`{value}{format}`"),
            TokenKind::Punct(text) => write!(f, "`{text}`"),
            TokenKind::End => f.write_str("the end"),
        }
    }
}

/// Longest first.
const PUNCTS: &[&str] = &[
    "...", ":=", "->", "<<", ">>", "<=", ">=", "==", "!=", "(", ")", "[", "]", "{", "}", ",", ":", ".", "+",
    "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "=", "?",
];

struct Lexer<'t> {
    rest: &'t str,
    line: u32,
    column: u32,
}

impl<'t> Lexer<'t> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError { line: self.line, column: self.column, message: message.into() })
    }

    fn advance(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        for c in taken.chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, mut accept: impl FnMut(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        self.advance(end)
    }

    fn skip_blank(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest.starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn number(&mut self) -> Result<TokenKind, ParseError> {
        if self.rest.starts_with("0x") {
            self.advance(2);
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            return match u128::from_str_radix(digits, 16) {
                Ok(value) => Ok(TokenKind::Int(value, String::new())),
                Err(_) => self.error("bad hexadecimal number"),
            };
        }
        let start = self.rest;
        let mut length = self.take_while(|c| c.is_ascii_digit()).len();
        let mut is_float = false;
        let mut ahead = self.rest.chars();
        if ahead.next() == Some('.') && ahead.next().is_some_and(|c| c.is_ascii_digit()) {
            is_float = true;
            self.advance(1);
            length += 1 + self.take_while(|c| c.is_ascii_digit()).len();
        }
        if self.rest.starts_with('e') {
            is_float = true;
            self.advance(1);
            length += 1;
            if self.rest.starts_with(['-', '+']) {
                self.advance(1);
                length += 1;
            }
            length += self.take_while(|c| c.is_ascii_digit()).len();
        }
        let digits = &start[..length];
        let format = self.take_while(|c| c.is_ascii_alphanumeric()).to_owned();
        if is_float {
            return Ok(TokenKind::Float(digits.to_owned(), format));
        }
        match digits.parse() {
            Ok(value) => Ok(TokenKind::Int(value, format)),
            Err(_) => self.error("number too large"),
        }
    }

    fn quoted(&mut self) -> Result<TokenKind, ParseError> {
        self.advance(1);
        let mut text = String::new();
        loop {
            let Some(c) = self.rest.chars().next() else {
                return self.error("a name is not closed by a backquote");
            };
            self.advance(c.len_utf8());
            match c {
                '`' => return Ok(TokenKind::Quoted(text)),
                '\\' => {
                    let Some(c) = self.rest.chars().next() else { return self.error("unfinished escape") };
                    self.advance(c.len_utf8());
                    match c {
                        'n' => text.push('\n'),
                        'u' => {
                            let body =
                                self.rest.strip_prefix('{').and_then(|r| r.split_once('}')).map(|(b, _)| b);
                            let c =
                                body.and_then(|b| u32::from_str_radix(b, 16).ok()).and_then(char::from_u32);
                            let (Some(body), Some(c)) = (body, c) else { return self.error("bad escape") };
                            self.advance(body.len() + 2);
                            text.push(c);
                        }
                        c => text.push(c),
                    }
                }
                c => text.push(c),
            }
        }
    }

    fn token(&mut self) -> Result<Token, ParseError> {
        self.skip_blank();
        let (line, column) = (self.line, self.column);
        let kind = match self.rest.chars().next() {
            None => TokenKind::End,
            Some(c) if is_name_start(c) => TokenKind::Word(self.take_while(is_name_part).to_owned()),
            Some(c) if c.is_ascii_digit() => self.number()?,
            Some('`') => self.quoted()?,
            Some('%') if self.rest[1..].starts_with(|c: char| is_name_part(c)) => {
                self.advance(1);
                // A shadow local's name ends in `?`.
                TokenKind::Local(self.take_while(|c| is_name_part(c) || c == '?').to_owned())
            }
            Some('@') => {
                self.advance(1);
                match self.take_while(|c| c.is_ascii_digit()).parse() {
                    Ok(site) => TokenKind::Site(site),
                    Err(_) => return self.error("expected a site's number"),
                }
            }
            Some(c) => match PUNCTS.iter().find(|p| self.rest.starts_with(**p)) {
                Some(punct) => {
                    self.advance(punct.len());
                    TokenKind::Punct(punct)
                }
                None => return self.error(format!("unexpected character {c:?}")),
            },
        };
        Ok(Token { kind, line, column })
    }
}

/// All tokens, the last one being the end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut lexer = Lexer { rest: text, line: 1, column: 1 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.token()?;
        let end = token.kind == TokenKind::End;
        tokens.push(token);
        if end {
            return Ok(tokens);
        }
    }
}

impl<'p> Parser<'p> {
    pub(super) fn new(tokens: Vec<Token>, surroundings: Surroundings<'p>) -> Parser<'p> {
        Parser { tokens, at: 0, surroundings, locals: Vec::new(), site: None }
    }

    fn token_at(&self, at: usize) -> &Token {
        &self.tokens[at.min(self.tokens.len() - 1)]
    }

    pub(super) fn peek(&self) -> &TokenKind {
        &self.token_at(self.at).kind
    }

    pub(super) fn error(&self, message: String) -> ParseError {
        let token = self.token_at(self.at);
        ParseError { line: token.line, column: token.column, message }
    }

    /// Says what was expected here.
    pub(super) fn fail<T>(&self, expected: &str) -> Result<T, ParseError> {
        Err(self.error(format!("expected {expected}, found {}", self.peek())))
    }

    pub(super) fn word_at(&self, at: usize) -> Option<&str> {
        if let TokenKind::Word(word) = &self.token_at(at).kind { Some(word) } else { None }
    }

    pub(super) fn peek_word(&self, word: &str) -> bool {
        self.word_at(self.at) == Some(word)
    }

    /// Takes the word if it is next.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let found = self.peek_word(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.word(word) { Ok(()) } else { self.fail(&format!("`{word}`")) }
    }

    pub(super) fn any_word(&mut self, what: &str) -> Result<String, ParseError> {
        let Some(word) = self.word_at(self.at).map(str::to_owned) else { return self.fail(what) };
        self.at += 1;
        Ok(word)
    }

    pub(super) fn quoted(&mut self) -> Option<String> {
        let TokenKind::Quoted(text) = self.peek() else { return None };
        let text = text.clone();
        self.at += 1;
        Some(text)
    }

    /// A bare or quoted name.
    pub(super) fn name(&mut self) -> Result<Name, ParseError> {
        match self.quoted() {
            Some(text) => Ok(Name::new(&text)),
            None => Ok(Name::new(&self.any_word("a name")?)),
        }
    }

    pub(super) fn peek_punct(&self, punct: &str) -> bool {
        matches!(self.peek(), TokenKind::Punct(p) if *p == punct)
    }

    /// Takes the punctuation if it is next.
    pub(super) fn punct(&mut self, punct: &str) -> bool {
        let found = self.peek_punct(punct);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, punct: &str) -> Result<(), ParseError> {
        if self.punct(punct) { Ok(()) } else { self.fail(&format!("`{punct}`")) }
    }

    /// A number without a format.
    pub(super) fn number<T: TryFrom<u128>>(&mut self, what: &str) -> Result<T, ParseError> {
        let TokenKind::Int(value, format) = self.peek() else { return self.fail(what) };
        if !format.is_empty() {
            return self.fail(what);
        }
        let Ok(value) = T::try_from(*value) else { return self.fail(what) };
        self.at += 1;
        Ok(value)
    }

    /// `@3`, if it is next.
    pub(super) fn site(&mut self) -> Option<Site> {
        let TokenKind::Site(site) = self.peek() else { return None };
        let site = Site(*site);
        self.at += 1;
        Some(site)
    }

    pub(super) fn expect_site(&mut self) -> Result<Site, ParseError> {
        match self.site() {
            Some(site) => Ok(site),
            None => self.fail("a site (`@0`)"),
        }
    }

    pub(super) fn done(&self) -> Result<(), ParseError> {
        if *self.peek() == TokenKind::End { Ok(()) } else { self.fail("the end") }
    }
}
