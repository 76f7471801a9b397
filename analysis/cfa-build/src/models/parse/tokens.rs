//! The words of a model file, and what is said of them that are wrong. Must not know what they mean.

use std::fmt;

/// What is wrong with a model file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelError {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// What is wrong and what is expected.
    pub message: String,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ModelError {}

/// A word.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) column: usize,
    /// First of an unindented line: a new entry begins.
    pub(super) starts_entry: bool,
}

/// All words of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ModelError> {
    let mut out = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut starts_entry = !line.starts_with([' ', '\t']);
        let mut chars = line.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let column = line[..at].chars().count() + 1;
            if c.is_whitespace() {
                continue;
            }
            if c == '#' {
                break;
            }
            let mut end = at + c.len_utf8();
            let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '*' | '-');
            if c == '"' {
                let Some(close) = line[end..].find('"') else {
                    let message = "this quote is not closed on its line".to_owned();
                    return Err(ModelError { line: number + 1, column, message });
                };
                end += close + 1;
                while chars.next_if(|(i, _)| *i < end).is_some() {}
            } else if is_word(c) {
                while let Some((i, c)) = chars.next_if(|(_, c)| is_word(*c)) {
                    end = i + c.len_utf8();
                }
            } else if c == '.' && line[end..].starts_with('.') {
                chars.next();
                end += 1;
            } else if !matches!(c, ':' | ';' | '(' | ')' | ',' | '?') {
                let message = format!("`{c}` means nothing here");
                return Err(ModelError { line: number + 1, column, message });
            }
            out.push(Token { text: line[at..end].to_owned(), line: number + 1, column, starts_entry });
            starts_entry = false;
        }
    }
    Ok(out)
}

impl Token {
    pub(super) fn error(&self, message: String) -> ModelError {
        ModelError { line: self.line, column: self.column, message }
    }
}
