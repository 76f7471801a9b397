//! A translation unit after resolving: its records, globals and functions, in the order of the text, without
//! positions. Positions live beside it, in [`ModuleMap`].

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_syntax::{Concerns, DataModel, Flags, Span, Unit};

use crate::{
    Name,
    body::{Body, BodyMap, Initializer, LocalId},
    types::{Records, Type},
};

/// One translation unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// Sizes of C's types.
    pub data_model: DataModel,
    /// Every complete record of the unit.
    pub records: Records,
    /// Objects with static storage, including `static` locals (named `f.x`, a second one `f.x#1`).
    pub globals: Vec<Global>,
    /// Functions declared or defined, each once, the definition winning.
    pub functions: Vec<Arc<Function>>,
    /// Text of string literals: the object `name` holds these bytes (with the terminating NUL). Sorted, named by content.
    pub strings: Vec<StringLiteral>,
    /// What the linker calls functions and objects that have another name here and are not defined here (`asm("name")`).
    pub linker_names: BTreeMap<Name, Name>,
    /// Functions and objects that are declared weak and not defined here: if no other file defines one either, its address is null.
    pub absent: BTreeSet<Name>,
    /// Assembly stands outside of functions: it may name all that is here.
    pub has_assembly: bool,
    /// What the compiler is told that is not modelled.
    pub dialect: Dialect,
}

/// What a compiler is told that gives a unit another meaning than the one that is modelled: the flag, by what it concerns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Dialect {
    /// All functions.
    pub everything: Option<Name>,
    /// Functions that compute with floating numbers.
    pub floats: Option<Name>,
    /// Those that multiply and add them.
    pub fused: Option<Name>,
    /// Whether floating numbers may have more precision than their types while they are computed with (`-m32` without `-mfpmath=sse`).
    pub is_wider: bool,
    /// Signed arithmetic wraps around (`-fwrapv`), which is modelled.
    pub wraps: bool,
}

impl Dialect {
    pub(crate) fn of(unit: &Unit, flags: &Flags) -> Dialect {
        let flag = |concerns| flags.unmodelled(concerns).map(Name::new);
        let parallel = || flag(Concerns::Parallel).filter(|_| has_parallel_pragmas(unit));
        Dialect {
            everything: flag(Concerns::Everything).or_else(parallel),
            floats: flag(Concerns::Floats),
            fused: flag(Concerns::Fused),
            wraps: flags.wrapv,
            is_wider: flags.data_model == DataModel::Ilp32 && !flags.sse,
        }
    }
}

/// Whether `#pragma omp` or `_Pragma("omp …")` stands in one of the unit's files that is no header of the machine.
fn has_parallel_pragmas(unit: &Unit) -> bool {
    let files = unit.files();
    let is_one = |line: &str| {
        let Some((_, rest)) = line.split_once("ragma") else { return false };
        let word = rest.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        ["omp", "acc"].iter().any(|name| word.starts_with(name))
    };
    files.ids().filter(|id| !files.is_system(*id)).any(|id| files.text(id).lines().any(is_one))
}

/// Where a name can be seen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Linkage {
    /// Visible to other units.
    External,
    /// `static`: the name is made unique per file when several units are linked.
    Internal,
}

/// An object with static storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// Unique in the unit.
    pub name: Name,
    /// Complete type where the unit completes it.
    pub ty: Type,
    /// Its linkage: which files see it.
    pub linkage: Linkage,
    /// Whether this unit defines it (a tentative definition does); otherwise `extern`.
    pub defined: bool,
    /// `_Thread_local`
    pub thread_local: bool,
    /// Constant initialiser; what it does not name is zero. `None`: zero (if defined) or unknown (if extern).
    pub init: Option<Initializer>,
    /// A body that holds the initialiser's expressions (all constant).
    pub init_body: Option<Arc<Body>>,
}

/// A string literal's object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StringLiteral {
    /// Unique by content, e.g. `"abc"` with its quotes; wide ones with their prefix.
    pub name: Name,
    /// Element type and length including the terminator.
    pub ty: Type,
    /// Element values.
    pub elements: Vec<u32>,
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Unique in the unit. A GNU nested function is named `outer.inner`.
    pub name: Name,
    /// Its function type.
    pub ty: Type,
    /// Its linkage: which files see it.
    pub linkage: Linkage,
    /// Attributes and keywords that change meaning.
    pub attributes: FunctionAttributes,
    /// Parameters, when there is a body.
    pub parameters: Vec<LocalId>,
    /// The body, when this unit defines it.
    pub body: Option<Arc<Body>>,
}

/// What a declaration says about a function beyond its type.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FunctionAttributes {
    /// `_Noreturn`, `__attribute__((noreturn))`
    pub noreturn: bool,
    /// `inline`
    pub inline: bool,
    /// `pure` or `const`
    pub pure: bool,
    /// `malloc`: the result is a fresh object.
    pub malloc: bool,
    /// `constructor` or `destructor`: runs outside `main`.
    pub runs_outside_main: bool,
    /// `weak`: another file's definition replaces this one.
    pub weak: bool,
}

/// Positions of a module's things, parallel to its vectors.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModuleMap {
    /// Per global: its declarator's name.
    pub globals: Vec<Span>,
    /// Per global with an initialiser: its expressions' positions.
    pub global_bodies: Vec<Option<Arc<BodyMap>>>,
    /// Per function: its name.
    pub functions: Vec<Span>,
    /// Per function with a body: the whole definition.
    pub definitions: Vec<Option<Span>>,
    /// Per function with a body: the body's positions.
    pub bodies: Vec<Option<Arc<BodyMap>>>,
    /// What the text calls the values of enumerations.
    pub enumerations: Arc<Enumerations>,
}

/// Names and values of the constants of enumerations, by tag. No meaning depends on them: values in messages have them as their names.
pub type Enumerations = BTreeMap<Name, Vec<(Name, i128)>>;
