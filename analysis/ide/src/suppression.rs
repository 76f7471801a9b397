//! Comments that take a finding back: `// proofline: ignore array-bounds: the caller checks`, on its line or in a comment on the line before.
//! Somebody has to say why: without a reason the finding stays.

use std::ops::Range as Columns;

use crate::{
    place::{Point, Range},
    text::{indentation, readable_line},
};

/// What such a comment says before the check's code.
const MARK: &str = "proofline: ignore";

/// What the comment that editors insert says in place of a reason.
const TO_BE_SAID: &str = "say why";

/// Such a comment.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Suppression<'l> {
    check: &'l str,
    columns: Columns<usize>,
    reason: &'l str,
}

/// The comment on this line.
fn suppression(line: &str) -> Option<Suppression<'_>> {
    let from = line.find(MARK)? + MARK.len();
    let start = from + line[from..].len() - line[from..].trim_start().len();
    let length = line[start..].find(|c: char| c != '-' && !c.is_ascii_alphanumeric());
    let columns = start..length.map_or(line.len(), |length| start + length);
    let rest = line[columns.end..].trim_start().strip_prefix(':').unwrap_or_default();
    let reason = rest.split("*/").next().unwrap_or_default().trim();
    Some(Suppression { check: &line[columns.clone()], columns, reason })
}

/// Why a comment takes back what this check finds on a line, counted from 0. `text` gives a line of the file.
pub fn suppressed_because<L: AsRef<str>>(
    check: &str,
    line: u32,
    text: impl Fn(usize) -> Option<L>,
) -> Option<String> {
    let at = line as usize;
    let is_comment = |line: &str| line.trim_start().starts_with("//") || line.trim_start().starts_with("/*");
    let before = at.checked_sub(1).and_then(&text).filter(|line| is_comment(line.as_ref()));
    [text(at), before].into_iter().flatten().find_map(|line| {
        let found = suppression(line.as_ref())?;
        let is_meant = found.check == check && !found.reason.is_empty() && found.reason != TO_BE_SAID;
        is_meant.then(|| found.reason.to_owned())
    })
}

/// The code that a comment around a point of a text takes back, with its range.
pub(crate) fn suppressed_at(text: &str, point: Point) -> Option<(&str, Range)> {
    let Suppression { check, columns, .. } = suppression(readable_line(text, point.line)?)?;
    let at = |column: usize| Point { line: point.line, column: column as u32 };
    let range = Range { start: at(columns.start), end: at(columns.end) };
    range.touches(point).then_some((check, range))
}

/// The comment that takes a check back before a line of a text, once a person has said why.
pub(crate) fn comment(text: &str, line: u32, check: &str) -> String {
    format!("{}// {MARK} {check}: {TO_BE_SAID}\n", indentation(text, line))
}

#[cfg(test)]
mod tests {
    use super::suppressed_because;

    fn because(text: &str, line: u32) -> Option<String> {
        suppressed_because("array-bounds", line, |at| text.lines().nth(at))
    }

    #[test]
    fn a_comment_with_a_reason_counts_for_its_line_and_alone_for_the_next() {
        let own = "a[i]; // proofline: ignore array-bounds: the caller checks\nb[i];\n";
        assert_eq!(because(own, 0).as_deref(), Some("the caller checks"));
        assert_eq!(because(own, 1), None);
        let before = "/* proofline: ignore array-bounds: checked */\na[i];\nb[i];\n";
        assert_eq!(because(before, 1).as_deref(), Some("checked"));
        assert_eq!(because(before, 2), None);
    }

    #[test]
    fn without_a_reason_or_of_another_check_it_takes_nothing_back() {
        for text in [
            "a[i]; // proofline: ignore array-bounds",
            "a[i]; // proofline: ignore array-bounds: ",
            "a[i]; // proofline: ignore array-bounds: say why",
            "a[i]; // proofline: ignore division-by-zero: it is 1",
            "a[i]; // proofline: ignore",
        ] {
            assert_eq!(because(text, 0), None, "{text}");
        }
    }
}
