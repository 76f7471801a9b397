//! Block-abstraction memoization, [BAM20] §3: blocks are explored once per reduced entry state and precision, and their exit
//! states stand for them wherever they are entered again. Recursion is a fixpoint over summaries (ALGORITHMS.md §6) inside
//! one recursive component of the call graph; only what is stable leaves it.

mod audit;
mod block;
mod codec;
pub(crate) mod fixpoint;
mod memory;
pub(crate) mod seeds;
mod store;
mod summarise;
mod summary;
pub(crate) mod tabulation;
mod transfer;

pub use audit::difference;
pub use block::{Block, Blocks};
pub use codec::{bytes, from_bytes};
pub use memory::{ForgetfulStore, MemoryStore};
pub use store::SummaryStore;
pub use summarise::{component_key, summarise};
pub use summary::{Dependency, Key, KeyOf, Stable};

pub use crate::arg::{OpenId, SummaryId};
