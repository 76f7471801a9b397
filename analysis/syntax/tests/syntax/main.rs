//! What a user of this crate sees: trees, positions, side tables, errors, flags.

mod attributes;
mod common;
mod constructs;
mod edits;
mod flags;
mod oracle;
mod positions;
mod robust;
mod views;
