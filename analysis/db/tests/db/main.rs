//! The query graph as its callers see it: answers, and the work they took.

mod blocks;
mod common;
mod disk;
mod edits_while_verifying;
mod footprints;
mod hints;
mod incremental;
mod linking;
mod sessions;
mod wide;
