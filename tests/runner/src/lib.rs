//! Runs the Markdown suites: a heading is a test, the comments of its C block are the expectations. See
//! `tests/suites/README.md` for the marks.

mod edits;
mod expect;
mod incremental;
mod markdown;
mod run;
mod solvers;

pub use edits::edit;
pub use expect::{Expectation, Mark};
pub use markdown::{Case, Edit, Snapshot, cases};
pub use run::{run, snapshot};
pub use solvers::work_or_employ;
