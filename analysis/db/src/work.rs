//! What was done: for tests that name the work, and for statistics. Never for answers.

use std::path::PathBuf;

use proofline_verifier::Name;

/// Entries, by where their verdicts came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Engines decided.
    pub verified: u64,
    /// They were on the disk.
    pub recalled: u64,
    /// The team's store said them, and they were confirmed here.
    pub confirmed: u64,
    /// It said what was not confirmed.
    pub refused: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, work: &Work) {
        match work {
            Work::Verified(_) => self.verified += 1,
            Work::Recalled(_) => self.recalled += 1,
            Work::Confirmed(_) => self.confirmed += 1,
            Work::Refused(_) => self.refused += 1,
            Work::Read(_)
            | Work::Linked
            | Work::Sliced(_)
            | Work::Rechecked(_)
            | Work::Reused(_)
            | Work::Explained(_) => {}
        }
    }
}

/// A piece of work.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Work {
    /// A file was preprocessed, parsed and resolved.
    Read(PathBuf),
    /// The names of the program were put together: a file has other ones than before.
    Linked,
    /// The slice of an entry was put together.
    Sliced(Name),
    /// Engines decided an entry's obligations.
    Verified(Name),
    /// An entry's verdicts were found on the disk.
    Recalled(Name),
    /// An entry's verdicts were said by the team's store, and confirmed.
    Confirmed(Name),
    /// They were said there, and not confirmed: engines decided.
    Refused(Name),
    /// Blocks of a function were explored.
    Rechecked(Name),
    /// Blocks of a function were used that had been explored before the last edit, or for another entry; none had to be explored.
    Reused(Name),
    /// A path was run again to explain it.
    Explained(Name),
}
