//! Edits of a text, and where positions of an older text are after them. Knows no contents: an edit is three points.

use crate::place::{Point, Range};

/// A replacement of a range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The first replaced byte, the same in the old and in the new text.
    pub start: Point,
    /// Behind the last replaced byte, in the old text.
    pub old_end: Point,
    /// Behind the last inserted byte, in the new text.
    pub new_end: Point,
}

impl Edit {
    /// Where a point of the old text is now. Inside what was replaced: at its start.
    fn after(&self, point: Point) -> Point {
        if point <= self.start {
            return point;
        }
        if point < self.old_end {
            return self.start;
        }
        let line = point.line - self.old_end.line + self.new_end.line;
        if point.line == self.old_end.line {
            Point { line, column: point.column - self.old_end.column + self.new_end.column }
        } else {
            Point { line, column: point.column }
        }
    }

    /// Where a point of the new text was before; `None`: it was not there.
    fn before(&self, point: Point) -> Option<Point> {
        if point <= self.start {
            return Some(point);
        }
        if point < self.new_end {
            return None;
        }
        let line = point.line - self.new_end.line + self.old_end.line;
        let column = if point.line == self.new_end.line {
            point.column - self.new_end.column + self.old_end.column
        } else {
            point.column
        };
        Some(Point { line, column })
    }
}

/// Where a range is after the edits, which were made in this order. A range inside of replaced text is empty, at its start.
pub fn range_after(range: Range, edits: &[Edit]) -> Range {
    edits.iter().fold(range, |range, edit| {
        let start = edit.after(range.start);
        Range { start, end: edit.after(range.end).max(start) }
    })
}

/// Where a point was before the edits, if it was there.
pub fn point_before(point: Point, edits: &[Edit]) -> Option<Point> {
    edits.iter().rev().try_fold(point, |point, edit| edit.before(point))
}
