//! Content as a short name: equal fingerprints mean equal content, in every process and on every machine.

use proofline_cfa::{Name, Program};

/// A hash of content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 32]);

/// Of a program that is entered at `entry`. The program's text says all of it (law: it parses back to an equal one).
pub(crate) fn fingerprint(program: &Program, entry: Name) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    hasher.update(entry.as_str().as_bytes());
    hasher.update(&[0]);
    hasher.update(proofline_cfa::text::print_program(program).as_bytes());
    Fingerprint(*hasher.finalize().as_bytes())
}
