//! Lines and words of a text. Knows bytes and C's identifiers, no programs.

use crate::place::{Point, Range};

/// Longer lines are generated; comments in them are not read.
const LONGEST_READ: usize = 10_000;

/// Longer lines are not searched for words.
const LONGEST_SEARCHED: usize = 100_000;

/// A line, from 0, with its end; a text that ends with a line feed has an empty last line.
pub fn line(text: &str, number: u32) -> Option<&str> {
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes());
    let start = match number.checked_sub(1) {
        Some(before) => ends.nth(before as usize)? + 1,
        None => 0,
    };
    Some(&text[start..ends.next().map_or(text.len(), |end| end + 1)])
}

/// A line that people may have written.
pub(crate) fn readable_line(text: &str, number: u32) -> Option<&str> {
    line(text, number).filter(|line| line.len() < LONGEST_READ)
}

/// The blanks that a line begins with.
pub(crate) fn indentation(text: &str, number: u32) -> &str {
    let line = line(text, number).unwrap_or_default();
    let width = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).take(200).count();
    &line[..width]
}

/// The identifier or keyword of C at a point or right before it.
pub(crate) fn word_at(text: &str, point: Point) -> Option<(&str, Range)> {
    let line = line(text, point.line).filter(|line| line.len() <= LONGEST_SEARCHED)?;
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let bytes = line.as_bytes();
    let at = (point.column as usize).min(bytes.len());
    let start = at - bytes[..at].iter().rev().take_while(|byte| is_word(byte)).count();
    let end = at + bytes[at..].iter().take_while(|byte| is_word(byte)).count();
    if start == end || bytes[start].is_ascii_digit() {
        return None;
    }
    let range = Range {
        start: Point { line: point.line, column: start as u32 },
        end: Point { line: point.line, column: end as u32 },
    };
    Some((line.get(start..end)?, range))
}
