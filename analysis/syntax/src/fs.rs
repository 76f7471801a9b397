//! Where text is read from. The only door to the disk; unsaved buffers lie on top of it.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A place to read files from.
pub trait FileSystem: Send + Sync {
    /// The bytes of a file.
    ///
    /// # Errors
    ///
    /// What the operating system says; [`io::ErrorKind::NotFound`] is ordinary in an include search.
    fn read(&self, path: &Path) -> io::Result<Arc<[u8]>>;

    /// One name for all the names of a file, so that `#pragma once` and include guards know it.
    fn identity(&self, path: &Path) -> PathBuf {
        lexical(path)
    }

    /// The folder that relative paths are meant from.
    fn folder(&self) -> PathBuf {
        std::env::current_dir().unwrap_or_default()
    }

    /// Whether the bytes of this path are held in memory only (an unsaved buffer).
    fn is_unsaved(&self, path: &Path) -> bool {
        let _ = path;
        false
    }
}

/// A path in a line of text for people. Names may contain line breaks, which must not look like lines of ours, and characters that move the
/// cursor or turn the direction of writing.
#[must_use]
pub fn shown(path: &Path) -> String {
    let is_odd = |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut out = String::new();
    for c in path.to_string_lossy().chars() {
        if is_odd(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// The disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealFs;

impl FileSystem for RealFs {
    fn read(&self, path: &Path) -> io::Result<Arc<[u8]>> {
        let size = std::fs::metadata(path)?;
        if size.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
        }
        // A pipe that nothing writes into, or a device that never ends, in a folder of somebody else.
        let is_given = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|ours| path.starts_with(ours));
        if !size.is_file() && !is_given {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no ordinary file"));
        }
        let most = crate::limits::MAX_FILE_BYTES;
        let mut bytes = Vec::new();
        if size.len() <= most {
            std::fs::File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
        }
        if size.len() > most || bytes.len() as u64 > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "file too large"));
        }
        Ok(Arc::from(bytes))
    }

    fn identity(&self, path: &Path) -> PathBuf {
        std::fs::canonicalize(path).unwrap_or_else(|_| lexical(path))
    }
}

/// Buffers on top of another file system. A buffer hides the file of the same name.
pub struct OverlayFs<F> {
    below: F,
    buffers: BTreeMap<PathBuf, Arc<[u8]>>,
}

impl<F: FileSystem> OverlayFs<F> {
    /// Nothing unsaved yet.
    pub fn new(below: F) -> Self {
        Self { below, buffers: BTreeMap::new() }
    }

    /// Puts a buffer in place of the file at `path`.
    pub fn insert(&mut self, path: impl AsRef<Path>, bytes: impl Into<Arc<[u8]>>) {
        self.buffers.insert(lexical(path.as_ref()), bytes.into());
    }

    /// Shows the file below again.
    pub fn remove(&mut self, path: impl AsRef<Path>) {
        self.buffers.remove(&lexical(path.as_ref()));
    }

    fn buffer(&self, path: &Path) -> Option<&Arc<[u8]>> {
        self.buffers.get(&lexical(path))
    }
}

impl<F: FileSystem> FileSystem for OverlayFs<F> {
    fn read(&self, path: &Path) -> io::Result<Arc<[u8]>> {
        match self.buffer(path) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.below.read(path),
        }
    }

    fn identity(&self, path: &Path) -> PathBuf {
        if self.buffer(path).is_some() { lexical(path) } else { self.below.identity(path) }
    }

    fn folder(&self) -> PathBuf {
        self.below.folder()
    }

    fn is_unsaved(&self, path: &Path) -> bool {
        self.buffer(path).is_some() || self.below.is_unsaved(path)
    }
}

/// A file system without files: everything comes from the buffers of an [`OverlayFs`] on it.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFs;

impl FileSystem for NoFs {
    fn read(&self, path: &Path) -> io::Result<Arc<[u8]>> {
        Err(io::Error::new(io::ErrorKind::NotFound, format!("{}: no such file", shown(path))))
    }
}

impl<F: FileSystem + ?Sized> FileSystem for &F {
    fn read(&self, path: &Path) -> io::Result<Arc<[u8]>> {
        (**self).read(path)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        (**self).identity(path)
    }

    fn folder(&self) -> PathBuf {
        (**self).folder()
    }

    fn is_unsaved(&self, path: &Path) -> bool {
        (**self).is_unsaved(path)
    }
}

/// A path without `.` and, as far as the text alone can tell, without `..`.
#[must_use]
pub fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            Component::ParentDir | Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                out.push(part);
            }
        }
    }
    out
}
