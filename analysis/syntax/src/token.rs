//! Tokens with two positions, and what a preprocessor hands over. Knows no grammar.

use std::path::PathBuf;

use rustc_hash::FxHashMap;

use crate::error::SyntaxError;
use crate::source::{SourceFiles, Span};

/// A spelling, interned in a [`Texts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextId(pub u32);

/// Interned spellings of one translation unit, in order of first use.
#[derive(Debug, Default)]
pub struct Texts {
    all: String,
    ends: Vec<u32>,
    ids: FxHashMap<Box<str>, TextId>,
}

impl Texts {
    /// The id of a spelling.
    pub fn intern(&mut self, text: &str) -> TextId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = TextId(u32::try_from(self.ends.len()).unwrap_or(u32::MAX));
        self.all.push_str(text);
        self.ends.push(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.ids.insert(text.into(), id);
        id
    }

    /// The id of a spelling that was interned before.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<TextId> {
        self.ids.get(text).copied()
    }

    /// The spelling of an id.
    #[must_use]
    pub fn get(&self, id: TextId) -> &str {
        let at = id.0 as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.all[start..self.ends[at] as usize]
    }
}

/// The lexical category of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// An identifier or keyword.
    Identifier,
    /// A preprocessing number.
    Number,
    /// A character constant with prefix and quotes.
    Char,
    /// A string literal with prefix and quotes.
    String,
    /// An operator or punctuator; a digraph has the spelling it stands for.
    Punctuator,
    /// A byte that is no C token, such as `@` or a lone quote.
    Other,
}

/// A token after preprocessing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Its category.
    pub kind: TokenKind,
    /// Its spelling, see [`Preprocessed::text`].
    pub text: TextId,
    /// Where the characters stand: inside the macro's definition for a token of a macro's body.
    pub spelling: Span,
    /// Where the user wrote it: the token itself, also when it is an argument of a macro call
    /// written in the same file; the name of the outermost macro called for a token out of a body.
    pub expansion: Span,
    /// The outermost macro this token came through.
    pub macro_name: Option<TextId>,
    /// Whether it is the first of a line of the file being read.
    pub starts_line: bool,
}

/// A `#pragma` or `_Pragma` that the preprocessor did not answer itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pragma {
    /// It stands before `tokens[before]` of the [`Preprocessed`].
    pub before: usize,
    /// The spellings behind the word `pragma`.
    pub words: Vec<String>,
    /// Where it is written.
    pub span: Span,
}

/// The outcome of preprocessing. There always is one; what went wrong is in `errors`.
#[derive(Debug, Default)]
pub struct Preprocessed {
    /// Every file that was read, the main file first.
    pub files: SourceFiles,
    /// The tokens left when all directives are done and all macros are expanded.
    pub tokens: Vec<Token>,
    /// The spellings of the tokens.
    pub texts: Texts,
    /// What was wrong.
    pub errors: Vec<SyntaxError>,
    /// Every header that was read, once each, in the order of first use.
    pub dependencies: Vec<PathBuf>,
    /// The pragmas, in order.
    pub pragmas: Vec<Pragma>,
    /// Whether the dialect is C23 or later, where `bool`, `true`, `nullptr` … are keywords.
    pub c23: bool,
}

impl Preprocessed {
    /// The spelling of a token.
    #[must_use]
    pub fn text(&self, token: &Token) -> &str {
        self.texts.get(token.text)
    }
}
