//! A message on a pipe: its length, a checksum, its bytes.

use std::hash::Hasher;
use std::io::{Error, ErrorKind, Read, Result, Write};

/// Longer messages are garbage.
const LONGEST: usize = 1 << 30;

/// Length and checksum.
const HEADER: usize = 8;

fn checksum(payload: &[u8]) -> u32 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(payload);
    let hash = hasher.finish();
    (hash >> 32) as u32 ^ hash as u32
}

/// Writes a message.
pub(super) fn write(to: &mut impl Write, payload: &[u8]) -> Result<()> {
    let length = u32::try_from(payload.len()).ok().filter(|_| payload.len() <= LONGEST);
    let length = length.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "a message that is too long"))?;
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..].copy_from_slice(&checksum(payload).to_le_bytes());
    // One call where it is short: the reader is woken once.
    if payload.len() <= 1 << 16 {
        let mut all = Vec::with_capacity(HEADER + payload.len());
        all.extend_from_slice(&header);
        all.extend_from_slice(payload);
        to.write_all(&all)?;
    } else {
        to.write_all(&header)?;
        to.write_all(payload)?;
    }
    to.flush()
}

/// Reads a message. The end of the pipe is an error.
pub(super) fn read(from: &mut impl Read) -> Result<Vec<u8>> {
    let garbage = |what: &str| Error::new(ErrorKind::InvalidData, what.to_owned());
    let mut header = [0; HEADER];
    from.read_exact(&mut header)?;
    let [a, b, c, d, e, f, g, h] = header;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > LONGEST {
        return Err(garbage("a message that is too long"));
    }
    let mut payload = Vec::new();
    // Not allocated at once: a length is believed when the bytes are there.
    from.take(length as u64).read_to_end(&mut payload)?;
    if payload.len() != length || checksum(&payload) != u32::from_le_bytes([e, f, g, h]) {
        return Err(garbage("a damaged message"));
    }
    Ok(payload)
}
