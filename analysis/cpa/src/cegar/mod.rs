//! Counterexample-guided abstraction refinement: the loop around the block fixpoint, error paths, and what a refinement keeps of the
//! graphs. Knows no domain.

pub(crate) mod driver;
pub(crate) mod error_path;
pub(crate) mod lazy_abstraction;
mod refinement;
