//! Where stable block abstractions are kept: within a run ([`memory`]), between runs of one process ([`summary_cache`], seen by a run
//! through [`incremental`]), between processes ([`persistent`], as bytes by [`codec`]). Knows no strategy.

mod audit;
mod codec;
mod incremental;
mod lookup;
mod memory;
mod persistent;
mod store;
mod summary_cache;

pub use incremental::{BlockWork, CacheSession};
pub use memory::{ForgetfulStore, MemoryStore};
pub use persistent::PersistentCache;
pub use store::{LookupResult, SummaryStore};
pub use summary_cache::SummaryCache;
