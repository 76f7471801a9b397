//! Block-abstraction memoization, [BAM20] §3: blocks are explored once per reduced entry state and precision, and their exit
//! states stand for them wherever they are entered again. Recursion is a fixpoint over summaries (ALGORITHMS.md §6) inside
//! one recursive component of the call graph; only what is stable leaves it.

pub(crate) mod block;
mod cache;
pub(crate) mod fixpoint;
mod transfer;

pub use block::{Block, Blocks};
pub use cache::{
    BlockWork, ForgetfulStore, Key, KeyOf, MemoryStore, Recalled, Session, Shelf, Stable, Summaries,
    SummaryStore,
};

crate::arg::id! {
    /// A block abstraction that is being computed in a run.
    OpenId "a",
    /// A stable block abstraction in a store.
    SummaryId "s",
}
