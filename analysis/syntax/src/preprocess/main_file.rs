//! Reading bytes as text: what is refused with a clear message and what is mended with a warning.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::error::SyntaxError;
use crate::fs::{FileSystem, shown};
use crate::limits::MAX_FILE_BYTES;

/// Text made of bytes, and how many bytes had to be replaced.
pub(super) struct Decoded {
    pub(super) text: Arc<str>,
    pub(super) replaced: usize,
}

/// Reads the file the user named, or says why not.
pub(super) fn read_main(path: &Path, fs: &dyn FileSystem) -> Result<Decoded, SyntaxError> {
    let name = shown(path);
    let bytes = fs.read(path).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(path));
    }
    if bytes.contains(&0) {
        return Err(SyntaxError::error(format!("`{name}` looks like a binary file"), None)
            .with_help("give the C source text, not the compiled program"));
    }
    Ok(decode(&bytes))
}

/// The message for a file that cannot be read.
fn unreadable(path: &Path, error: &io::Error) -> SyntaxError {
    let name = shown(path);
    match error.kind() {
        io::ErrorKind::NotFound => SyntaxError::error(format!("`{name}`: no such file"), None),
        io::ErrorKind::IsADirectory => {
            SyntaxError::error(format!("`{name}` is a directory"), None).with_help("name the C files in it")
        }
        io::ErrorKind::FileTooLarge => too_large(path),
        _ => SyntaxError::error(format!("`{name}` cannot be read: {error}"), None),
    }
}

fn too_large(path: &Path) -> SyntaxError {
    let limit = MAX_FILE_BYTES >> 20;
    SyntaxError::error(format!("`{}` is larger than {limit} MB", shown(path)), None)
        .with_help("split the file; nothing in it was checked")
}

/// Bytes as text with the same offsets: each byte that is not UTF-8 becomes one `?`.
///
/// A line splice at the end of the file gets empty lines behind it, because rucc-lex 0.30.15 panics on it, and
/// does not end if it is in a comment.
pub(super) fn decode(bytes: &[u8]) -> Decoded {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Decoded { text: ended(text), replaced: 0 };
    }
    let mut text = String::with_capacity(bytes.len());
    let mut replaced = 0;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for _ in chunk.invalid() {
            text.push('?');
            replaced += 1;
        }
    }
    Decoded { text: ended(&text), replaced }
}

fn ended(text: &str) -> Arc<str> {
    let last = text.trim_end();
    if last.ends_with('\\') || last.ends_with("??/") { format!("{text}\n\n").into() } else { text.into() }
}
