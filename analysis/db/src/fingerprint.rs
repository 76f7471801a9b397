//! Slices as short names, by which answers are found again.

use std::hash::Hasher;

use proofline_cfa::{Name, Program};
use proofline_hir::{ContentHash, ContentHasher};

/// Of a program that is entered at `entry`. The program's text says all of it (law: it parses back to an equal one), but whether unknown
/// code has to do with it.
pub(crate) fn fingerprint(program: &Program, entry: Name, is_open: bool) -> ContentHash {
    let mut hasher = ContentHasher::default();
    hasher.write(entry.as_str().as_bytes());
    hasher.write(&[0, u8::from(is_open)]);
    hasher.write(proofline_cfa::text::print_program(program).as_bytes());
    hasher.content_hash()
}
