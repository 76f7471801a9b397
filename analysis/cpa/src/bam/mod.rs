//! Block-abstraction memoization, [BAM20] §3: blocks are explored once per reduced entry state and precision, and their exit
//! states stand for them wherever they are entered again. Recursion is a fixpoint over summaries (ALGORITHMS.md §6) inside
//! one recursive component of the call graph; only what is stable leaves it.

mod block;
mod cache;
pub(crate) mod fixpoint;
mod summary;
pub(crate) mod tabulation;
mod transfer;

pub use block::{Block, Blocks};
pub use cache::{
    BlockWork, CacheSession, ForgetfulStore, LookupResult, MemoryStore, PersistentCache, SummaryCache,
    SummaryStore,
};
pub(crate) use summary::Dependency;
pub use summary::{Key, KeyOf, Stable};

pub use crate::arg::{OpenId, SummaryId};
