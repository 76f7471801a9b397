//! Slices as short names, by which answers are found again.

use std::{
    collections::BTreeMap,
    hash::{Hash, Hasher},
};

use proofline_cfa::{Name, Program};
use proofline_hir::{ContentHash, ContentHasher};

use crate::functions::Functions;

/// Of a program that is entered at `entry`. The program's text says all of it but its functions (law: it parses back to an equal one), and
/// whether unknown code has to do with it.
pub(crate) fn fingerprint(
    program: &Program,
    entry: Name,
    is_open: bool,
    functions: &Functions,
) -> ContentHash {
    let mut hasher = ContentHasher::default();
    hasher.write(entry.as_str().as_bytes());
    hasher.write(&[0, u8::from(is_open)]);
    program.functions.values().for_each(|function| functions.hash(function).hash(&mut hasher));
    let around = Program { functions: BTreeMap::new(), ..program.clone() };
    hasher.write(proofline_cfa::text::print_program(&around).as_bytes());
    hasher.content_hash()
}
