//! Memory: the query graph from text to verdicts. Only here: salsa. What was computed once is computed again only when something it
//! depends on has changed. Must not know an editor or a terminal.
//!
//! ```text
//! texts, options -> source -> lowered -> automata (no positions) -> linked parts -> slice per entry -> verdicts
//!                      \________________________________ positions ________________________________/-> findings
//! ```
//!
//! A verdict is a function of the *slice* of its entry (see `proofline_program_analysis::slice`), a program of its own without positions.
//! So it is enough to compare slices: a comment changes none, an edit changes those that can reach it.

mod apart;
mod blocks;
mod database;
mod files;
mod fingerprint;
mod front;
mod functions;
mod linked;
mod memory;
mod module_invariants;
mod program;
mod shared;
mod shelf;
mod slices;
mod store;
mod stored;
mod team;
mod verdict;
mod wide;
mod work;

pub use database::{Database, KnownFrom, Prepared, Stopped};
pub use files::Texts;
pub use memory::Memory;
pub use store::Store;
pub use stored::ENGINES;
pub use team::{Fetched, TeamPlace};
pub use work::{Counts, Work};
