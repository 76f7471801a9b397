//! Block-abstraction memoization, [BAM20] §3: blocks are explored once per reduced entry state and precision, and their exit
//! states stand for them wherever they are entered again. Recursion is a fixpoint over summaries (ALGORITHMS.md §6) inside
//! one recursive component of the call graph; only what is stable leaves it.

mod audit;
pub(crate) mod block;
mod calls;
pub(crate) mod engine;
pub(crate) mod refined;
mod shared;
mod store;
pub(crate) mod trace;
mod written;

pub use block::{Block, Blocks};
pub use shared::{BlockWork, Session, Shelf, Summaries};
pub use store::{ForgetfulStore, Key, KeyOf, MemoryStore, Recalled, Stable, SummaryStore};

crate::arg::id! {
    /// A block abstraction that is being computed in a run.
    OpenId "a",
    /// A stable block abstraction in a store.
    SummaryId "s",
}
