//! Answers: what editors ask about C, as plain data in editor words (files, lines, byte columns, sentences). Must not know LSP,
//! JSON or threads: the caller brings the threads, the budget and the cancellation flag.
//!
//! An [`AnalysisHost`] holds the texts and changes; an [`Analysis`] is an immutable, cheap snapshot of it that can be sent to a
//! thread. Everything slow takes a [`Cancel`] and answers `Err(Cancelled)` when it was asked to stop.

mod finding;
mod fix;
mod host;
mod index;
mod knowledge;
mod place;
mod program;
mod reproduce;
mod scan;
mod settings;
mod state;
mod summary;
mod verify;
mod workspace;

pub use finding::{Finding, Nature, Step, StepKind, whole_path};
pub use fix::{Fix, condition_of, fixes};
pub use host::{Analysis, AnalysisHost, Cancellable, Cancelled, Change};
pub use index::{Declaration, Expansion, Index, Occurrence, Statement, Symbol};
pub use knowledge::{Knowledge, LoopKnowledge, Value};
pub use place::{Place, Point, Range};
pub use program::{Entry, FunctionItem, Problem, Program, Role};
pub use proofline_db::Listener;
pub use proofline_verifier::{Cancel, property::Property};
pub use reproduce::{Test, compiler_flags, test};
pub use settings::Settings;
pub use state::{FunctionReport, State, report};
pub use summary::{CheckCount, Summary};
pub use verify::{Effort, EntryReport, Obligation, Verdict};
pub use workspace::{Sighting, Workspace};
