//! Files as they were read, and positions in them. Knows nothing of tokens or of C.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// One reading of a file: an index into [`SourceFiles`].
///
/// A header that is included twice is two ids with the same path. Id 0 is the main file.
/// An id means something only beside the [`SourceFiles`] that issued it, and is position data:
/// it must never enter a value that is cached or compared across edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

impl FileId {
    /// The file the user asked about.
    pub const MAIN: FileId = FileId(0);
}

/// A range of bytes in the text of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end` of `file`.
    #[must_use]
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// The smallest span of `self.file` that holds both; `self` if `other` is in another file.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// The text of one file and where its lines start.
#[derive(Debug)]
struct SourceFile {
    path: Arc<Path>,
    text: Arc<str>,
    lines: OnceLock<Vec<u32>>,
    included_from: Option<Span>,
    system: bool,
}

/// Every file that one translation unit was made from.
#[derive(Debug, Default)]
pub struct SourceFiles {
    files: Vec<SourceFile>,
}

impl SourceFiles {
    /// No files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. `included_from` is the `#include` line that named it, `system` tells a header
    /// of the machine from one of the project.
    pub fn add(
        &mut self,
        path: PathBuf,
        text: Arc<str>,
        included_from: Option<Span>,
        system: bool,
    ) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        let lines = OnceLock::new();
        self.files.push(SourceFile { path: path.into(), text, lines, included_from, system });
        id
    }

    fn get(&self, file: FileId) -> Option<&SourceFile> {
        self.files.get(file.0 as usize)
    }

    /// The path as it was searched for, not made absolute. Empty for an unknown id.
    #[must_use]
    pub fn path(&self, file: FileId) -> &Path {
        self.get(file).map_or(Path::new(""), |f| &f.path)
    }

    /// The same to keep. Places in one file have one path, so that comparing them is cheap.
    #[must_use]
    pub fn shared_path(&self, file: FileId) -> Arc<Path> {
        self.get(file).map_or_else(|| Path::new("").into(), |f| f.path.clone())
    }

    /// The text that every [`Span`] of this file counts in.
    ///
    /// Each byte of the file that is not UTF-8 appears as one `?`, so offsets are those of the file.
    #[must_use]
    pub fn text(&self, file: FileId) -> &str {
        self.get(file).map_or("", |f| &f.text)
    }

    /// The text of a span, empty if the span is not in its file.
    #[must_use]
    pub fn span_text(&self, span: Span) -> &str {
        self.text(span.file).get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The `#include` that named this file, `None` for the main file and for built-in text.
    #[must_use]
    pub fn included_from(&self, file: FileId) -> Option<Span> {
        self.get(file)?.included_from
    }

    /// Whether this is a header of the machine rather than of the project.
    #[must_use]
    pub fn is_system(&self, file: FileId) -> bool {
        self.get(file).is_some_and(|f| f.system)
    }

    /// Line and column of an offset, both from 0, the column in bytes. Past the end is the end.
    #[must_use]
    pub fn line_col(&self, file: FileId, offset: u32) -> (u32, u32) {
        let Some(file) = self.get(file) else { return (0, 0) };
        let lines = file.lines();
        let offset = offset.min(u32::try_from(file.text.len()).unwrap_or(u32::MAX));
        let line = lines.partition_point(|&start| start <= offset) - 1;
        (u32::try_from(line).unwrap_or(u32::MAX), offset - lines[line])
    }

    /// Offset of the first byte of a line counted from 0, `None` behind the last line.
    #[must_use]
    pub fn line_start(&self, file: FileId, line: u32) -> Option<u32> {
        self.get(file)?.lines().get(line as usize).copied()
    }

    /// Every id, in the order in which the files were opened.
    pub fn ids(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..u32::try_from(self.files.len()).unwrap_or(u32::MAX)).map(FileId)
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is no file at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

impl SourceFile {
    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let newlines = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0)
                .chain(newlines.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX)))
                .collect()
        })
    }
}
