//! The words of a monitor's text, line by line, and what is said of a text that is wrong. Must not know what the words mean.

use std::fmt;

/// What is wrong with a monitor's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MonitorError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for MonitorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  help: {}", self.line, self.message, self.help)
    }
}

impl std::error::Error for MonitorError {}

/// A word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// A name.
    Name(String),
    /// A number that is not negative.
    Number(i128),
    /// Text between quotes.
    Text(String),
    /// `->`, `==`, `(`, …
    Sign(&'static str),
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Name(name) => write!(f, "`{name}`"),
            Word::Number(number) => write!(f, "`{number}`"),
            Word::Text(text) => write!(f, "\"{text}\""),
            Word::Sign(sign) => write!(f, "`{sign}`"),
        }
    }
}

/// A line that says something, with its number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) words: Vec<Word>,
}

/// The longest first.
const SIGNS: &[&str] =
    &["...", "->", "==", "!=", "<=", ">=", "+=", "-=", "(", ")", ",", ":", "=", "<", ">", "|", "-"];

/// The lines of a text. One that ends in `|`, `,` or `->` goes on in the next.
pub(super) fn lines(text: &str) -> Result<Vec<Line>, MonitorError> {
    let mut out: Vec<Line> = Vec::new();
    let mut goes_on = false;
    for (number, line) in text.lines().enumerate() {
        let words = words(line, number + 1)?;
        if words.is_empty() {
            continue;
        }
        let next = matches!(words.last(), Some(Word::Sign("|" | "," | "->")));
        match out.last_mut().filter(|_| goes_on) {
            Some(last) => last.words.extend(words),
            None => out.push(Line { number: number + 1, words }),
        }
        goes_on = next;
    }
    Ok(out)
}

fn words(line: &str, number: usize) -> Result<Vec<Word>, MonitorError> {
    let mut out = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == '#' {
            break;
        }
        let length = word_length(rest);
        if first == '"' {
            let Some(end) = rest[1..].find('"') else {
                let message = "this text has no closing quote".to_owned();
                return Err(MonitorError {
                    line: number,
                    message,
                    help: "end it on its line with `\"`".into(),
                });
            };
            out.push(Word::Text(rest[1..=end].to_owned()));
            rest = rest[end + 2..].trim_start();
            continue;
        }
        if length > 0 {
            let word = &rest[..length];
            out.push(if first.is_ascii_digit() {
                Word::Number(digits(word, number)?)
            } else {
                Word::Name(word.into())
            });
            rest = rest[length..].trim_start();
            continue;
        }
        let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) else {
            let message = format!("`{first}` means nothing here");
            let help = "a line is a call, `->`, a state and a message in quotes; a comment begins with `#`";
            return Err(MonitorError { line: number, message, help: help.to_owned() });
        };
        out.push(Word::Sign(sign));
        rest = rest[sign.len()..].trim_start();
    }
    Ok(out)
}

/// Letters, digits, `_`, `$`, and `-` between letters.
fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_part =
        |at: usize| bytes.get(at).is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$'));
    let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
    let mut length = 0;
    while is_part(length)
        || length > 0 && bytes.get(length) == Some(&b'-') && is_letter(length - 1) && is_letter(length + 1)
    {
        length += 1;
    }
    length
}

fn digits(word: &str, line: usize) -> Result<i128, MonitorError> {
    let value = match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => word.parse::<u64>(),
    };
    value.map(i128::from).map_err(|_| MonitorError {
        line,
        message: format!("`{word}` is no number"),
        help: "write it with decimal digits, or as 0x1f, below 2^64".to_owned(),
    })
}
