//! A program as a tool gets it, and what is known of its error.

use std::path::{Path, PathBuf};

use super::alert::{Alert, Kind};

/// Files and flags.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// For tables.
    pub(super) name: String,
    /// Programs that are counted together.
    pub(super) family: String,
    pub(super) sources: Vec<PathBuf>,
    /// What it uses but is not about.
    pub(super) support: Vec<PathBuf>,
    pub(super) folders: Vec<PathBuf>,
    pub(super) macros: Vec<String>,
    /// For a machine of 32 bits.
    pub(super) is_32_bit: bool,
    /// Whether it has a `main`.
    pub(super) is_whole: bool,
    /// What its errors are, if it has some; of a right program, what they would be.
    pub(super) kinds: Vec<Kind>,
    /// Its errors; none in a right program.
    pub(super) errors: Vec<Error>,
    /// Its authors know that it loses memory, which is not what it is about.
    pub(super) is_leaky: bool,
    /// All of `errors` are places of one error.
    pub(super) has_one_error: bool,
}

/// Lines where a tool may report an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Error {
    pub(super) file: PathBuf,
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Program {
    pub(super) fn is_wrong(&self) -> bool {
        !self.errors.is_empty()
    }

    /// Whether an alert is about one of its errors, whatever its kind.
    pub(super) fn hits(&self, error: &Error, alert: &Alert) -> bool {
        // A string is read where the library of the suite prints it: then the call is the place. What is lost is lost at the end of its
        // function, and the suites mark where it was allocated.
        let is_support = self.support.iter().any(|file| is_same(file, &alert.file));
        let is_elsewhere = is_support || alert.kind == Kind::Leak;
        let on_the_way = || alert.way.iter().any(|(file, line)| error.covers(file, *line));
        error.covers(&alert.file, alert.line) || is_elsewhere && on_the_way()
    }
}

impl Error {
    fn covers(&self, file: &Path, line: u32) -> bool {
        (self.first..=self.last).contains(&line) && is_same(&self.file, file)
    }
}

/// Tools shorten paths in their own ways.
fn is_same(a: &Path, b: &Path) -> bool {
    a.file_name() == b.file_name()
}
