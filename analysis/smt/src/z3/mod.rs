//! The door to Z3: a session owns a Z3 context and translates between our terms and Z3's expressions.
//! Nothing of Z3 leaves this module; what does is terms, values and outcomes. A session is in this process or in a worker (`crate::worker`).

mod backend;
mod door;
pub(crate) mod ffi;
mod interrupt;
mod patient;
mod read;
mod session;
mod version;
mod write;

pub(crate) use backend::{LocalSolver, is_literal, nth_name};
pub(crate) use door::Place;
pub use door::{Z3, Z3Solver};
pub use interrupt::Interrupter;
pub(crate) use interrupt::Target;
pub use patient::PatientSolver;
pub use session::limit_memory;
pub(crate) use session::{Local, Settings};
pub use version::{COMPATIBLE, LibraryMismatch, SHIPPED, Version, check_library, check_version};
