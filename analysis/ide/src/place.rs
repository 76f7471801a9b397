//! Positions as plain data: lines and columns from 0, columns in bytes. Knows no file contents.

use std::{path::Path, sync::Arc};

use proofline_verifier::sources::Position;

/// A point between two bytes of a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Point {
    /// From 0.
    pub line: u32,
    /// Bytes from the line's start.
    pub column: u32,
}

/// From a point to a point, the last one excluded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Range {
    /// The first byte.
    pub start: Point,
    /// Behind the last byte.
    pub end: Point,
}

impl Range {
    /// Whether the point is inside or at its end (a cursor behind a word is on the word).
    pub fn touches(&self, point: Point) -> bool {
        self.start <= point && point <= self.end
    }

    /// Orders ranges by how much they span: lines, then columns.
    pub(crate) fn size(&self) -> (u32, u32) {
        (self.end.line - self.start.line, self.end.column.wrapping_sub(self.start.column))
    }
}

/// A range of a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The file, absolute.
    pub path: Arc<Path>,
    /// Where in it.
    pub range: Range,
}

impl Place {
    /// Whether the other is inside.
    pub(crate) fn holds(&self, other: &Place) -> bool {
        self.path == other.path && self.range.start <= other.range.start && other.range.end <= self.range.end
    }

    /// From the verifier's position.
    pub(crate) fn of(position: &Position) -> Place {
        let range = Range {
            start: Point { line: position.line, column: position.column },
            end: Point { line: position.end_line, column: position.end_column },
        };
        let path = match &position.path {
            path if path.is_absolute() => path.clone(),
            path => std::path::absolute(path).map_or_else(|_| path.clone(), Into::into),
        };
        Place { path, range }
    }
}
