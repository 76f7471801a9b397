//! Judgement: obligations become verdicts. Reads programs, inserts obligations, asks engines, confirms counterexamples by
//! running them. Must not know a database, an editor or a terminal.

pub mod blame;
pub mod blocks;
pub mod callers;
mod callers_memory;
pub mod checks;
pub mod contracts;
pub mod counterexample;
pub mod dump;
pub mod engines;
pub mod entry_points;
mod evidence;
pub mod facts;
pub mod finding;
pub mod inspect;
pub mod interpret;
pub mod load;
pub mod module_invariants;
pub mod monitors;
mod objects;
mod pass;
mod picture;
pub mod portfolio;
pub mod property;
pub mod report;
mod rests_on;
pub mod scene;
pub mod sources;
mod steps;
mod subject;
mod summaries;
pub mod task;
pub mod verdict;
pub mod wording;

pub use checks::Check;
pub use evidence::Evidence;
pub use proofline_cfa::{
    CheckId, Entry, EntryKind, Function, Name, ObligationId, Program, Site, command_line,
};
pub use proofline_cpa::{Budget, Cancel, GraphFormat, Unknown};
pub use proofline_smt::{second_eye::keep_in as keep_questions, worker as solver_process};
pub use subject::Subject;
pub use summaries::{PersistentCache, Summaries};

/// Whether the solver's library is one whose answers can be trusted; the error says what to do.
///
/// # Errors
/// If another version was loaded.
pub fn check_solver() -> Result<(), proofline_smt::LibraryMismatch> {
    proofline_smt::check_library().map(|_| ())
}
