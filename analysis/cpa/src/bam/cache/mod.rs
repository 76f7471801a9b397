//! Where stable block abstractions are kept: within a run, between runs, between processes. Knows no strategy.

mod audit;
mod codec;
mod incremental;
mod memory;

pub use incremental::{BlockWork, Session, Shelf, Summaries};
pub(crate) use memory::Asked;
pub use memory::{ForgetfulStore, Key, KeyOf, MemoryStore, Recalled, Stable, SummaryStore};
