//! The door to Z3: a session owns a Z3 context and translates between our terms and Z3's expressions.
//! Nothing of Z3 leaves this module; what does is terms, values and outcomes.

mod backend;
pub(crate) mod ffi;
mod interrupt;
mod patient;
mod read;
mod session;
mod version;
mod write;

pub use backend::Z3Solver;
pub use interrupt::Interrupter;
pub use patient::PatientSolver;
pub use session::{Z3, limit_memory};
pub use version::{COMPATIBLE, LibraryMismatch, SHIPPED, Version, check_library, check_version};
