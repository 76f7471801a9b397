//! Makes preprocessed tokens a text that tree-sitter-c parses, losing nothing: see [`crate::marks`].
//!
//! One pass over the tokens with a stack of open brackets; each construct is rewritten by one function
//! in the file of its subject. Works on tokens only and knows neither the tree nor any meaning; of
//! names it knows which are surely typedef names (`typedefs`), because the grammar has no such table.

mod asm;
mod attributes;
mod brackets;
mod calls;
mod declarations;
mod groups;
mod identifiers;
mod literals;
mod pragmas;
mod statements;
mod typedefs;
mod types;
mod words;
mod wrapped;

use crate::error::SyntaxError;
use crate::source::Span;
use crate::token::{Pragma, Preprocessed, TextId, Texts, Token, TokenKind};

pub use attributes::AttributeStyle;
pub(crate) use attributes::RawAttribute;
use brackets::{Bracket, Role};
use groups::Groups;
use typedefs::Typedefs;
use words::{Word, Words};

/// A token of the normalised text.
#[derive(Debug, Clone, Copy)]
struct Piece {
    kind: TokenKind,
    text: TextId,
    /// The index of the token it was made from.
    origin: u32,
}

/// An error and the piece of the text that it makes unreliable.
pub(crate) struct PlacedError {
    pub(crate) error: SyntaxError,
    pub(crate) before: usize,
}

/// What normalising gives. Counts in pieces; [`crate::unit`] turns them into offsets.
pub(crate) struct Normalised {
    /// The text, one space or line break before each piece.
    pub(crate) text: String,
    /// Where each piece starts in the text.
    pub(crate) starts: Vec<u32>,
    /// The index of the token each piece was made from.
    pub(crate) origins: Vec<u32>,
    pub(crate) attributes: Vec<RawAttribute>,
    /// The packing in force from a piece on; none before the first entry.
    pub(crate) packs: Vec<(usize, Option<u8>)>,
    pub(crate) errors: Vec<PlacedError>,
    pub(crate) asserts_in_structs: Vec<Span>,
    /// The first name that C23 has as a keyword, in a text of an older edition.
    pub(crate) c23_word: Option<Token>,
}

/// Normalises everything.
pub(crate) fn normalise(pre: &mut Preprocessed) -> Normalised {
    let words = Words::new(&mut pre.texts, pre.c23);
    let groups = Groups::find(&pre.tokens, &words);
    let typedefs = Typedefs::collect(&pre.tokens, &words, &groups);
    let mut normaliser = Normaliser {
        tokens: &pre.tokens,
        pragmas: &pre.pragmas,
        texts: &mut pre.texts,
        c23: pre.c23,
        words,
        groups,
        typedefs,
        at: 0,
        pieces: Vec::with_capacity(pre.tokens.len() + pre.tokens.len() / 8),
        stack: vec![Bracket::new(Role::File)],
        last_closed: Role::File,
        last_colon: LastColon::Other,
        attributes: Vec::new(),
        packs: Vec::new(),
        pack_stack: Vec::new(),
        errors: Vec::new(),
        asserts_in_structs: Vec::new(),
        made_up: 0,
        c23_word: None,
        wrapped: Vec::new(),
    };
    normaliser.run();
    normaliser.render()
}

/// What the last `:` that was emitted is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastColon {
    /// It ends a label or a `case`.
    Label,
    Other,
}

struct Normaliser<'a> {
    tokens: &'a [Token],
    pragmas: &'a [Pragma],
    texts: &'a mut Texts,
    c23: bool,
    words: Words,
    groups: Groups,
    typedefs: Typedefs,
    /// The token to be read next.
    at: usize,
    pieces: Vec<Piece>,
    /// Open brackets; the bottom one stands for the file.
    stack: Vec<Bracket>,
    /// What the bracket closed last was.
    last_closed: Role,
    last_colon: LastColon,
    attributes: Vec<RawAttribute>,
    packs: Vec<(usize, Option<u8>)>,
    pack_stack: Vec<(Option<String>, Option<u8>)>,
    errors: Vec<PlacedError>,
    asserts_in_structs: Vec<Span>,
    /// How many names were made up.
    made_up: u32,
    c23_word: Option<Token>,
    /// Statements that got braces: the index of the token behind each, and the stack's height outside.
    wrapped: Vec<(usize, usize)>,
}

impl Normaliser<'_> {
    fn run(&mut self) {
        let mut pragma = 0;
        while self.at < self.tokens.len() {
            crate::interrupt::poll();
            self.close_wrapped();
            while self.pragmas.get(pragma).is_some_and(|next| next.before <= self.at) {
                self.pragma(pragma);
                pragma += 1;
            }
            let before = self.at;
            self.token();
            debug_assert!(self.at > before, "every step reads a token");
        }
        self.close_pseudo();
        self.close_wrapped();
    }

    /// Reads one token, or the whole of a construct that starts with it.
    fn token(&mut self) {
        let token = self.tokens[self.at];
        match token.kind {
            TokenKind::Identifier => self.identifier(token),
            TokenKind::Number => self.number(token),
            TokenKind::String => self.string(token),
            TokenKind::Punctuator => self.punctuator(token),
            TokenKind::Char => self.copy(),
            TokenKind::Other => self.stray(token),
        }
    }

    /// A byte that is no C token: an error, and the byte is left out.
    fn stray(&mut self, token: Token) {
        let text = self.texts.get(token.text).escape_debug().to_string();
        self.error(format!("`{text}` is not C"), token.expansion);
        self.at += 1;
    }

    /// The word of the token `ahead` of the next one.
    fn peek(&self, ahead: usize) -> Option<Word> {
        self.tokens.get(self.at + ahead).map(|token| self.words.of(token.text))
    }

    /// The word of the last piece.
    fn previous(&self) -> Option<Word> {
        self.pieces.last().map(|piece| self.words.of(piece.text))
    }

    fn top(&mut self) -> &mut Bracket {
        self.stack.last_mut().expect("the bottom of the stack is never popped")
    }

    fn role(&self) -> Role {
        self.stack.last().map_or(Role::File, |bracket| bracket.role)
    }

    /// Emits the next token as it is.
    fn copy(&mut self) {
        let token = self.tokens[self.at];
        self.push(token.kind, token.text, self.at);
        self.at += 1;
    }

    /// Emits the next token with another spelling.
    fn copy_as(&mut self, text: &str) {
        let kind = self.tokens[self.at].kind;
        let text = self.texts.intern(text);
        self.push(kind, text, self.at);
        self.at += 1;
    }

    /// Emits words that stand for the token `origin`.
    fn insert(&mut self, origin: usize, words: &[&str]) {
        for word in words {
            let kind = match word.chars().next() {
                Some(c) if c.is_alphabetic() || c == '_' => TokenKind::Identifier,
                Some(c) if c.is_ascii_digit() => TokenKind::Number,
                _ => TokenKind::Punctuator,
            };
            let text = self.texts.intern(word);
            self.push(kind, text, origin);
        }
    }

    fn push(&mut self, kind: TokenKind, text: TextId, origin: usize) {
        let origin = u32::try_from(origin).unwrap_or(u32::MAX);
        self.pieces.push(Piece { kind, text, origin });
    }

    /// A name that no program uses.
    fn fresh(&mut self) -> String {
        self.made_up += 1;
        format!("{}{}", crate::marks::ANON, self.made_up)
    }

    fn error(&mut self, message: impl Into<String>, span: Span) {
        let error = SyntaxError::error(message, Some(span));
        self.errors.push(PlacedError { error, before: self.pieces.len() });
    }

    /// The index behind the group that opens at `open`. If nothing closes it that is an error, and the
    /// next token is passed over.
    fn group(&mut self, open: usize) -> Option<usize> {
        let behind = self.groups.behind(open);
        if behind.is_none() {
            let token = self.tokens.get(open).unwrap_or(&self.tokens[self.at]);
            let message = format!("this `{}` is never closed", self.texts.get(token.text));
            self.error(message, token.expansion);
            self.at += 1;
        }
        behind
    }

    fn span_of(&self, from: usize, behind: usize) -> Span {
        let first = self.tokens[from].expansion;
        self.tokens[from..behind].last().map_or(first, |last| first.to(last.expansion))
    }

    fn render(self) -> Normalised {
        let length: usize = self.pieces.iter().map(|piece| self.texts.get(piece.text).len() + 1).sum();
        let mut text = String::with_capacity(length + 1);
        let mut starts = Vec::with_capacity(self.pieces.len());
        let mut origins = Vec::with_capacity(self.pieces.len());
        let mut last = None;
        for piece in &self.pieces {
            let starts_line = self.tokens[piece.origin as usize].starts_line && last != Some(piece.origin);
            text.push(if starts_line { '\n' } else { ' ' });
            last = Some(piece.origin);
            starts.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
            origins.push(piece.origin);
            text.push_str(self.texts.get(piece.text));
        }
        text.push('\n');
        Normalised {
            text,
            starts,
            origins,
            attributes: self.attributes,
            packs: self.packs,
            errors: self.errors,
            asserts_in_structs: self.asserts_in_structs,
            c23_word: self.c23_word,
        }
    }
}
