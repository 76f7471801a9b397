//! Answers: what editors ask about C, as plain data in editor words (files, lines, byte columns, sentences). Must not know LSP,
//! JSON or threads: the caller brings the threads, the budget and the cancellation flag.
//!
//! An [`AnalysisHost`] holds the texts and changes; an [`Analysis`] is an immutable, cheap snapshot of one file's program that can be
//! sent to a thread. What comes back is put together in [`FileResults`], which edits move and mark; what editors show is read from there. Everything slow takes a [`Cancel`] and answers `Err(Cancelled)` when it was asked to stop.

mod actions;
mod annotations;
mod cancel;
pub mod check;
mod diagnostics;
mod edit;
mod finding;
mod fix;
mod folding;
mod hints;
mod host;
mod hover;
mod index;
mod knowledge;
pub mod layers;
mod navigation;
pub mod picture;
mod place;
mod plan;
mod program;
mod proof;
mod reproduce;
mod results;
mod scan;
mod settings;
mod shapes;
mod state;
mod summary;
mod suppression;
mod text;
mod tokens;
mod undecided;
mod verify;
pub mod words;
mod workspace;

pub use actions::{Action, Choice, Insertion, actions, choices};
pub use annotations::{Annotation, AnnotationKind, annotations};
pub use cancel::{Cancellable, Cancelled};
pub use diagnostics::{Diagnostic, Severity, diagnostics};
pub use edit::{Edit, point_before, range_after};
pub use finding::{Finding, Nature, Step, StepKind, whole_path};
pub use folding::{Fold, FoldKind, folds};
pub use hints::{Hint, HintContent, hints};
pub use host::{Analysis, AnalysisHost, Answers, Change, default_cache};
pub use hover::{Hover, HoverContent, LoopMoment, hover};
pub use index::{Declaration, Expansion, Index, Occurrence, Statement, Symbol};
pub use knowledge::{Knowledge, LoopKnowledge, Value};
pub use navigation::{
    Call, CallItem, Definition, FoundSymbol, Highlight, Searched, call_item, definition, highlights,
    incoming, outgoing, references, symbols,
};
pub use place::{Place, Point, Range};
pub use program::{EntryPoint, FunctionItem, Problem, Program};
pub use proof::{Line as ProofLine, LineKind, Proof, proof};
pub use proofline_db::Counts;
pub use proofline_syntax::shown;
pub use proofline_verifier::solver_process;
pub use proofline_verifier::{
    Cancel, Check, EntryKind,
    portfolio::{Ceiling, Doing, Listener, Rounds},
    property::Property,
};
pub use reproduce::{Test, compiler_flags, test};
pub use results::{FileResults, ShownFinding};
pub use settings::Settings;
pub use state::{FunctionReport, State, report};
pub use summary::{CheckCount, Summary};
pub use text::line;
pub use tokens::{TokenKind, tokens};
pub use undecided::Undecided;
pub use verify::{Effort, EntryReport, Obligation, Verdict};
pub use workspace::{NamedFiles, Sighting, Workspace};
