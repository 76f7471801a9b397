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

mod answer;
mod files;
mod fingerprint;
mod front;
mod host;
mod linked;
mod program;
mod store;
mod stored;
mod verdict;
mod work;

pub use answer::Answer;
pub use host::{Control, Database, KnownFrom, Listener, Question, Stopped};
pub use store::Store;
pub use work::Work;

use std::sync::Arc;

use proofline_verifier::Cancel;

/// What queries ask of the database besides memory.
#[salsa::db]
pub(crate) trait Db: salsa::Database {
    /// What all handles share.
    fn shared(&self) -> &Arc<host::Shared>;
    /// What ends the work of this handle.
    fn cancel(&self) -> &Cancel;
    /// When the work of this handle ends in any case.
    fn deadline(&self) -> Option<std::time::Instant>;
    /// Cores that one verdict may use.
    fn threads(&self) -> usize;
    /// Tells who listens what is going on.
    fn say(&self, text: &str);
}
