//! Comments that take a finding back: `// proofline: ignore array-bounds: the caller checks`, on its line or the one before.

use crate::{
    place::{Point, Range},
    text::{indentation, readable_line},
};

/// What such a comment says before the check's code.
const MARK: &str = "proofline: ignore";

/// The code of the check that a comment on this line takes back, with its columns.
pub(crate) fn suppressed(line: &str) -> Option<(&str, std::ops::Range<usize>)> {
    let from = line.find(MARK)? + MARK.len();
    let start = from + line[from..].len() - line[from..].trim_start().len();
    let length = line[start..].find(|c: char| c != '-' && !c.is_ascii_alphanumeric());
    let columns = start..length.map_or(line.len(), |length| start + length);
    Some((&line[columns.clone()], columns))
}

/// The code that a comment around a point of a text takes back, with its range.
pub(crate) fn suppressed_at(text: &str, point: Point) -> Option<(&str, Range)> {
    let (code, columns) = suppressed(readable_line(text, point.line)?)?;
    let at = |column: usize| Point { line: point.line, column: column as u32 };
    let range = Range { start: at(columns.start), end: at(columns.end) };
    range.touches(point).then_some((code, range))
}

/// The comment that takes a check back before a line of a text; a person says why.
pub(crate) fn comment(text: &str, line: u32, check: &str) -> String {
    format!("{}// {MARK} {check}: say why\n", indentation(text, line))
}
