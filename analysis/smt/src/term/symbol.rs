//! Names, variables and uninterpreted functions: the free symbols of a term. Interned, ordered by spelling.

use std::collections::BTreeSet;
use std::fmt;

use super::Sort;
use parking_lot::Mutex;

/// An interned name. Ordered as its text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(&'static str);

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl Name {
    /// The name spelled `text`.
    #[must_use]
    pub fn new(text: &str) -> Name {
        let mut table = NAMES.lock();
        if let Some(known) = table.get(text) {
            return Name(known);
        }
        let leaked: &'static str = Box::leak(text.into());
        table.insert(leaked);
        Name(leaked)
    }

    /// Its spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A variable. Two variables are the same iff name, index and sort are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var {
    /// The program's name, or any other. A name that begins with `?` is kept for bound variables.
    pub name: Name,
    /// The SSA index; 0 is "not instantiated".
    pub index: u32,
    /// The sort of its values.
    pub sort: Sort,
}

impl Var {
    /// A variable without an SSA index.
    #[must_use]
    pub fn new(name: &str, sort: Sort) -> Var {
        Var::indexed(name, 0, sort)
    }

    /// A variable with an SSA index.
    ///
    /// # Panics
    /// If the name begins with `?`: those are bound variables, made by the quantifiers alone.
    #[must_use]
    pub fn indexed(name: &str, index: u32, sort: Sort) -> Var {
        assert!(!name.starts_with('?'), "`?` is kept for bound variables: {name}");
        Var { name: Name::new(name), index, sort }
    }

    /// The same variable with another SSA index.
    #[must_use]
    pub fn at(self, index: u32) -> Var {
        Var { index, ..self }
    }

    /// A variable that a quantifier binds, named by the height of its binder.
    pub(crate) fn bound(level: u32, sort: Sort) -> Var {
        Var { name: Name::new("?"), index: level, sort }
    }

    /// Whether a quantifier made it.
    #[must_use]
    pub fn is_bound(self) -> bool {
        self.name.as_str() == "?"
    }
}

impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            0 => write!(f, "{}", self.name),
            index => write!(f, "{}@{index}", self.name),
        }
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An uninterpreted function symbol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Func(&'static Signature);

#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Signature {
    name: Name,
    params: Vec<Sort>,
    result: Sort,
}

static FUNCS: Mutex<BTreeSet<&'static Signature>> = Mutex::new(BTreeSet::new());

impl Func {
    /// The function of this name and these sorts.
    #[must_use]
    pub fn new(name: &str, params: &[Sort], result: Sort) -> Func {
        let key = Signature { name: Name::new(name), params: params.to_vec(), result };
        let mut table = FUNCS.lock();
        if let Some(known) = table.get(&key) {
            return Func(known);
        }
        let leaked: &'static Signature = Box::leak(Box::new(key));
        table.insert(leaked);
        Func(leaked)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> Name {
        self.0.name
    }

    /// The sorts of its arguments.
    #[must_use]
    pub fn params(self) -> &'static [Sort] {
        &self.0.params
    }

    /// The sort of its result.
    #[must_use]
    pub fn result(self) -> Sort {
        self.0.result
    }
}

impl fmt::Debug for Func {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.name)
    }
}
