//! Checks of whole programs, once: what the command line and other batch tools ask. Reports are the verifier's plain data, and
//! [`Sources`] show where in the text they are. Knows no terminal and no format.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use proofline_db::{Database, Stopped, Store, Work};
use proofline_verifier::portfolio::{self, Programs};

pub use proofline_verifier::{
    Cancel, Check, Name, Program, Unknown,
    blame::Blame,
    counterexample::Counterexample,
    engines::{groups as engine_groups, names as engine_names},
    finding::{Finding, StepKind, TraceStep},
    load::{Allocation, LoadError, Options, VolatileReads},
    portfolio::{Control, FindingListener, Listener, Request, Round},
    property::Property,
    report::{Overall, Report},
    sources::{Position, Problem, Sources},
    task::Task,
    verdict::Verdict,
};

use crate::host::MOST_BYTES;

/// Why there is no report.
#[derive(Debug)]
pub enum CheckError {
    /// The solver's library is another version, whose answers cannot be trusted; says what to do.
    Solver(String),
    /// A file cannot be read.
    Load(LoadError),
    /// Executions are to start in a function that has no body.
    NoSuchEntry(Name),
    /// The caller asked to stop before anything was read.
    Stopped,
    /// The caller's time limit passed before everything was read.
    OutOfTime,
}

impl From<Stopped> for CheckError {
    fn from(why: Stopped) -> CheckError {
        match why {
            Stopped::Load(error) => CheckError::Load(error),
            Stopped::Cancelled | Stopped::Edited => CheckError::Stopped,
            Stopped::OutOfTime => CheckError::OutOfTime,
        }
    }
}

/// A program of one or more files as they are on the disk.
pub struct WholeProgram {
    db: Database,
}

/// What was done so far, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Entries that were verified.
    pub verified: usize,
    /// Entries whose verdicts were known from before.
    pub recalled: usize,
    /// Functions of which some block was explored.
    pub rechecked: usize,
    /// Functions all of whose blocks were known from before.
    pub reused: usize,
    /// Blocks that were found on the disk.
    pub blocks_from_disk: u64,
}

impl WholeProgram {
    /// The program of these files. Answers outlive the process in the cache folder, if there is one.
    ///
    /// # Errors
    /// If the solver's library cannot be trusted. Files are read later.
    pub fn new(
        files: Vec<PathBuf>,
        options: Options,
        cache: Option<&Path>,
    ) -> Result<WholeProgram, CheckError> {
        proofline_verifier::check_solver().map_err(|mismatch| CheckError::Solver(mismatch.to_string()))?;
        let mut db = Database::new(files, options);
        if let Some(folder) = cache {
            db.set_store(Store::new(folder, MOST_BYTES));
        }
        Ok(WholeProgram { db })
    }

    /// What is wrong with the texts, and where things are in them.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn sources(&self) -> Result<Sources, CheckError> {
        Ok(self.db.sources()?)
    }

    /// The same, ended as `control` says.
    ///
    /// # Errors
    /// If a file cannot be read, or the work was stopped before.
    pub fn sources_within(&self, control: &Control) -> Result<Sources, CheckError> {
        Ok(self.db.within(control).sources()?)
    }

    /// The automata with their obligations, to which verdicts refer by number.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn program(&self) -> Result<Arc<Program>, CheckError> {
        Ok(self.db.program()?)
    }

    /// Verdicts and findings of the executions from these functions; without any: from `main`, or from functions without callers. What is known
    /// when the work is stopped is a report, too.
    ///
    /// # Errors
    /// If a file cannot be read, or an entry has no body.
    pub fn check(
        &self,
        request: &Request,
        entries: &[Name],
        control: &Control,
    ) -> Result<Report, CheckError> {
        let db = self.db.within(control);
        let report = match portfolio::check(&db, request, entries, control) {
            Ok(report) => report,
            Err(Stopped::Cancelled) => Report::nothing(Unknown::Cancelled),
            Err(Stopped::OutOfTime) => return Ok(Report::nothing(Unknown::OutOfTime)),
            Err(why) => return Err(why.into()),
        };
        if report.reason.is_some() {
            for entry in entries {
                if report.reason != Some(Unknown::OutOfTime) && !db.has_body(*entry)? {
                    return Err(CheckError::NoSuchEntry(*entry));
                }
            }
        }
        Ok(report)
    }

    /// Writes new answers to the cache folder.
    pub fn save(&self) {
        self.db.save();
    }

    /// What was done since the last call.
    pub fn take_statistics(&self) -> Statistics {
        let mut out = Statistics { blocks_from_disk: self.db.blocks_from_disk(), ..Statistics::default() };
        for work in self.db.take_work() {
            match work {
                Work::Verified(_) => out.verified += 1,
                Work::Recalled(_) => out.recalled += 1,
                Work::Rechecked(_) => out.rechecked += 1,
                Work::Reused(_) => out.reused += 1,
                Work::Read(_) | Work::Linked | Work::Sliced(_) | Work::Explained(_) => {}
            }
        }
        out
    }
}
