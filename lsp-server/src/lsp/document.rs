//! A buffer: its text as the client edits it, and what is known about it.

use std::{
    cell::Cell,
    path::PathBuf,
    time::{Duration, Instant},
};

use proofline_ide::{Edit, FileResults, Point};
use ropey::Rope;
use tower_lsp_server::ls_types::{TextDocumentContentChangeEvent, Uri};

use super::{
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
    /// Which of all changes that jobs may see was the last one that this buffer's answers depend on; answers of another one are old.
    pub(super) revision: u64,
    /// The other files of its program, and for which undefined functions they were looked for.
    pub(super) linked: Linked,
    /// The other files of its program, as the host knows them.
    pub(super) companions: Vec<PathBuf>,
    /// What is known.
    pub(super) results: FileResults,
    /// When the client last asked about it, among all its questions: editors ask about what they show.
    pub(super) used: Cell<u64>,
    /// When the client was last told what is known, and how long it took to say.
    pub(super) told: Cell<(Instant, Duration)>,
}

impl Document {
    pub(super) fn new(uri: Uri, path: PathBuf, version: i32, text: &str, revision: u64) -> Document {
        let text = unix(text);
        let results = FileResults::new(path.clone(), text.as_ref().into());
        Document {
            uri,
            path,
            version,
            text: Rope::from_str(&text),
            revision,
            linked: None,
            companions: Vec::new(),
            results,
            used: Cell::new(0),
            told: Cell::new((Instant::now(), Duration::ZERO)),
        }
    }

    /// Applies the changes of a notification, in their order.
    pub(super) fn change(&mut self, changes: &[TextDocumentContentChangeEvent], encoding: Encoding) {
        let edits: Vec<Edit> = changes.iter().map(|change| self.apply(change, encoding)).collect();
        self.results.edit(&edits, self.text.to_string().into());
    }

    fn apply(&mut self, change: &TextDocumentContentChangeEvent, encoding: Encoding) -> Edit {
        let new = unix(&change.text);
        let (start, end, new) = match change.range {
            Some(range) => {
                let start = byte_of(&self.text, encoding.point(&self.text, range.start));
                let end = byte_of(&self.text, encoding.point(&self.text, range.end));
                (start, end.max(start), &*new)
            }
            None => self.difference(&new),
        };
        let (edit_start, old_end) = (self.point(start), self.point(end));
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
