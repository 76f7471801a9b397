//! Models of library functions: data that says what a call of a function without a body does, and the pass that puts it in the call's
//! place. Knows operations, not C text. The format and the models of the C library are in `models/libc.model`.
//!
//! A function with a body is never replaced. One without body and model may do anything: see `external`.

mod allocation;
mod apply;
mod arguments;
mod callbacks;
mod counts;
mod ctype;
mod effect;
mod emit;
mod errno;
mod external;
mod format;
mod input;
mod kept;
mod lines;
mod lists;
mod long_options;
mod members;
mod needs;
mod option;
mod parse;
mod printing;
mod prototypes;
mod range;
mod result;
mod strings;
mod surroundings;
mod through_pointers;
mod time;
mod tokens;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use proofline_hir::Name;

pub use effect::Model;
pub use parse::ModelError;
use proofline_cfa::Program;
pub use through_pointers::{Addressed, addressed, addresses, name_targets};

/// The check of what library functions ask for.
pub const LIBRARY_CALL: &str = "library-call";

/// The check of bytes that library functions look at.
pub const UNINITIALISED: &str = "uninitialised";

/// The check of streams that library functions use.
pub const INVALID_STREAM: &str = "invalid-stream";

/// The check of what library functions write.
pub const READ_ONLY: &str = "read-only";

/// The check whose obligations the pass puts before calls that end the program: nothing is lost.
pub const MEMORY_LEAK: &str = "memory-leak";

/// The same: nothing is left.
pub const MEMORY_CLEANUP: &str = "memory-cleanup";

/// Models by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Library {
    exact: BTreeMap<Name, Arc<Model>>,
    /// Names that begin so; the longest wins.
    prefixes: BTreeMap<Name, Arc<Model>>,
    /// Objects of the library that never hold an address which the program gave away.
    objects: BTreeSet<Name>,
}

impl Library {
    /// Reads models. The error names line and column.
    ///
    /// # Errors
    /// With the line and column of the first thing that is not in the notation of models.
    pub fn parse(text: &str) -> Result<Library, ModelError> {
        parse::library(text)
    }

    /// Adds models; the other's win.
    pub fn extend(&mut self, other: Library) {
        self.exact.extend(other.exact);
        self.prefixes.extend(other.prefixes);
        self.objects.extend(other.objects);
    }

    /// The model of a function: under its own name, or that of the library function which a builtin stands for.
    pub fn model(&self, name: &str) -> Option<&Arc<Model>> {
        self.own_model(name).or_else(|| {
            let plain = name.strip_prefix("__builtin_")?;
            // Fortified versions only check more: `__builtin___memcpy_chk`.
            let plain = plain.strip_prefix("__").and_then(|rest| rest.strip_suffix("_chk")).unwrap_or(plain);
            self.own_model(plain)
        })
    }

    fn own_model(&self, name: &str) -> Option<&Arc<Model>> {
        let exact = self.exact.get(&Name::new(name));
        exact.or_else(|| {
            let fitting = self.prefixes.iter().filter(|(prefix, _)| name.starts_with(prefix.as_str()));
            fitting.max_by_key(|(prefix, _)| prefix.len()).map(|(_, model)| model)
        })
    }

    /// Functions through which code runs beside the program's own: threads, handlers of signals.
    pub fn interfering(&self) -> impl Iterator<Item = Name> {
        let interferes = |(_, model): &(&Name, &Arc<Model>)| model.unsupported_program.is_some();
        self.exact.iter().filter(interferes).map(|(name, _)| *name)
    }

    /// Every name or prefix (with `*`) that has a model, sorted.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let exact = self.exact.keys().map(|name| name.to_string());
        exact.chain(self.prefixes.keys().map(|prefix| format!("{prefix}*")))
    }
}

static STANDARD: LazyLock<Library> = LazyLock::new(|| {
    let library = Library::parse(include_str!("../../models/libc.model"));
    library.unwrap_or_else(|error| panic!("models/libc.model:{error}"))
});

static INFALLIBLE: LazyLock<Library> = LazyLock::new(|| {
    let mut library = STANDARD.clone();
    let changes = Library::parse(include_str!("../../models/infallible.model"));
    library.extend(changes.unwrap_or_else(|error| panic!("models/infallible.model:{error}")));
    library
});

/// The built-in models, where allocation never fails.
pub fn infallible() -> &'static Library {
    &INFALLIBLE
}

/// The models that are built in.
pub fn standard() -> &'static Library {
    &STANDARD
}

/// Whether code that is not in the program has to do with its names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Surroundings {
    /// No more than the library, which knows no name of the program.
    Closed,
    /// An unknown function, inline assembly, or an object of another file may use whatever has external linkage.
    Open,
}

impl Surroundings {
    /// Of a program with both.
    #[must_use]
    pub fn with(self, other: Surroundings) -> Surroundings {
        if self == Surroundings::Open { self } else { other }
    }
}

/// What assembly and objects of other files say of it, before models and monitors are in the program.
pub fn surroundings(program: &Program, library: &Library) -> Surroundings {
    let library = &*library.for_program(program);
    let is_open = surroundings::has_assembly(program) || surroundings::has_unknown_object(program, library);
    if is_open { Surroundings::Open } else { Surroundings::Closed }
}

/// Replaces every direct call of a function without a body by what its model says. Calls that a later pass looks at stay.
pub fn apply(program: &mut Program, library: &Library) -> Surroundings {
    let library = &*library.for_program(program);
    let around = surroundings(program, library);
    if apply::program(program, library) || around == Surroundings::Open {
        Surroundings::Open
    } else {
        Surroundings::Closed
    }
}
