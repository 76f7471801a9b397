//! A buffer: its text, and the edits that older results have to be moved by.

use std::path::PathBuf;

use proofline_ide::{Point, Range};
use ropey::Rope;
use tower_lsp_server::ls_types::{TextDocumentContentChangeEvent, Uri};

use super::{
    board::Board,
    convert::{Encoding, byte_of},
    jobs::Linked,
};

/// An open file.
pub(super) struct Document {
    /// As the client spells it.
    pub(super) uri: Uri,
    pub(super) path: PathBuf,
    pub(super) version: i32,
    pub(super) text: Rope,
    /// Number of the last change; answers for another number are old.
    pub(super) stamp: u64,
    /// The last change.
    pub(super) last_edit: Option<Edit>,
    /// Findings of this text that a test has confirmed.
    pub(super) confirmed: std::collections::BTreeSet<String>,
    /// The other files of its program, and for which undefined functions they were looked for.
    pub(super) linked: Linked,
    /// What is known.
    pub(super) board: Board,
}

/// A replacement of a range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edit {
    start: Point,
    old_end: Point,
    new_end: Point,
}

impl Edit {
    /// Where a point of the old text is now. Inside what was replaced: at its start.
    fn point(&self, point: Point) -> Point {
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

    /// The range in the new text.
    pub(super) fn span(&self) -> Range {
        Range { start: self.start, end: self.new_end }
    }
}

/// Where a range is after the edits.
pub(super) fn moved(range: Range, edits: &[Edit]) -> Range {
    edits.iter().fold(range, |range, edit| {
        let start = edit.point(range.start);
        Range { start, end: edit.point(range.end).max(start) }
    })
}

/// Where a point was before the edits, if it was there.
pub(super) fn before(point: Point, edits: &[Edit]) -> Option<Point> {
    edits.iter().rev().try_fold(point, |point, edit| edit.before(point))
}

impl Document {
    pub(super) fn new(uri: Uri, path: PathBuf, version: i32, text: &str, stamp: u64) -> Document {
        let text = Rope::from_str(&unix(text));
        let confirmed = std::collections::BTreeSet::new();
        let board = Board::default();
        Document { uri, path, version, text, stamp, last_edit: None, confirmed, linked: None, board }
    }

    /// Applies a change of the protocol and says what was replaced.
    pub(super) fn change(&mut self, change: &TextDocumentContentChangeEvent, encoding: Encoding) -> Edit {
        let new = unix(&change.text);
        let (start, end) = match change.range {
            Some(range) => {
                let start = byte_of(&self.text, encoding.point(&self.text, range.start));
                let end = byte_of(&self.text, encoding.point(&self.text, range.end));
                (start, end.max(start))
            }
            None => (0, self.text.len_bytes()),
        };
        let (start, end, new) = match change.range {
            Some(_) => (start, end, &*new),
            None => self.difference(&new),
        };
        let edit_start = self.point(start);
        let old_end = self.point(end);
        let from = self.text.byte_to_char(start);
        self.text.remove(from..self.text.byte_to_char(end));
        self.text.insert(from, new);
        Edit { start: edit_start, old_end, new_end: self.point(start + new.len()) }
    }

    /// The smallest replacement of one range that makes the text equal to `new`, so that a client that sends whole texts keeps
    /// its results where they belong.
    fn difference<'n>(&self, new: &'n str) -> (usize, usize, &'n str) {
        let old = self.text.to_string();
        let same = |(a, b): &(u8, u8)| a == b;
        let mut head = old.bytes().zip(new.bytes()).take_while(same).count();
        while !old.is_char_boundary(head) || !new.is_char_boundary(head) {
            head -= 1;
        }
        let most = old.len().min(new.len()) - head;
        let mut tail = old.bytes().rev().zip(new.bytes().rev()).take(most).take_while(same).count();
        while !old.is_char_boundary(old.len() - tail) || !new.is_char_boundary(new.len() - tail) {
            tail -= 1;
        }
        (head, old.len() - tail, &new[head..new.len() - tail])
    }

    fn point(&self, byte: usize) -> Point {
        let line = self.text.byte_to_line(byte);
        Point { line: line as u32, column: (byte - self.text.line_to_byte(line)) as u32 }
    }
}

/// A lone carriage return ends a line for the protocol; here only line feeds do. Lengths stay the same.
fn unix(text: &str) -> std::borrow::Cow<'_, str> {
    let bytes = text.as_bytes();
    let is_lone = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1).is_some_and(|next| *next != b'\n');
    if !(0..bytes.len()).any(is_lone) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for (at, char) in text.char_indices() {
        out.push(if char == '\r' && is_lone(at) { '\n' } else { char });
    }
    out.into()
}
