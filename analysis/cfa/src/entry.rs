//! Where executions start, and what may have happened before. Whether that is a whole program or a library is decided here, once.
//! Knows no analysis.

use std::fmt;

use crate::Name;

/// What may have happened before an execution starts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EntryKind {
    /// Nothing: the function is where the program starts, and globals have their initial values.
    Program,
    /// Anything: unknown code calls the function, at any time and with any arguments; globals that can change hold any value.
    Library,
}

/// A function that executions start in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Entry {
    /// The function.
    pub name: Name,
    /// What may have happened before.
    pub kind: EntryKind,
}

impl Entry {
    /// The function with this name: `main` starts a program, every other function is one of a library.
    pub fn new(name: Name) -> Entry {
        let kind = if name.as_str() == "main" { EntryKind::Program } else { EntryKind::Library };
        Entry { name, kind }
    }

    /// `main`.
    pub fn main() -> Entry {
        Entry::new(Name::new("main"))
    }

    /// Whether unknown code calls it, at any time and with any arguments.
    pub fn is_library(self) -> bool {
        self.kind == EntryKind::Library
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}
