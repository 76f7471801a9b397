//! What editors are told, without an editor: snapshots, staleness after edits, hovers, hints, navigation, folding.

mod common;
mod diagnostics;
mod errors;
mod folding;
mod hovers;
mod navigation;
mod proofs;
mod snapshots;
mod staleness;
mod whole_programs;
mod words;
