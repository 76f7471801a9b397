//! Counterexample-guided abstraction refinement: the loop around the block fixpoint, error paths, and what a refinement keeps of the
//! graphs. Knows no domain.

pub(crate) mod driver;
mod error_path;
mod lazy_abstraction;
