//! Contracts of functions: what a function asks of its callers' memory and arguments. Here they are data; [`draft`] guesses them from what the
//! function does, [`assume`] makes the automaton of a function that was called as its contract says, [`acsl`] reads them from the text, and
//! the portfolio finds out which guesses are enough. Knows no engine.
//!
//! **Law.** If every obligation of the automaton that [`assume::under`] makes holds, then no execution of the function fails whose callers keep its contract,
//! as far as the functions that it calls are given what *their* contracts ask for, which are obligations of that automaton. By induction
//! over the open calls no execution from an entry fails whose caller keeps the entry's contract.

pub mod acsl;
mod apart;
pub(crate) mod assume;
mod bytes;
pub(crate) mod draft;
mod ensures;
mod guards;
pub(crate) mod hooks;
mod named;
pub(crate) mod obligations;
mod opaque;
mod origin;
mod owned;
pub(crate) mod promises;
mod punned;
pub(crate) mod record_invariants;
mod separated;
mod text;
mod whole;
mod writes;

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Base, Expr, Function, Name};

pub use hooks::{Hook, HookPlace, Hooks, Like};
pub use record_invariants::{Fact, Number, OfRecord, records_given};

/// What a function asks of its callers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Contract {
    /// Of what a pointer points to, by the number of the parameter.
    pub pointers: BTreeMap<usize, Asked>,
    /// What must hold of the arguments: expressions that read parameters only.
    pub conditions: Vec<Expr>,
    /// Parameters that do not lead into one object.
    pub separated: BTreeSet<(usize, usize)>,
    /// Of records that pointers lead to, by the number of the parameter.
    pub records: BTreeMap<usize, OfRecord>,
    /// What functions behave as that are called through pointers. (Of all calls through these, in the function and in what it calls.)
    pub hooks: Hooks,
    /// The function frees nothing of callers, and changes no pointers of theirs, but in what it may free as this contract says.
    pub is_contained: bool,
    /// It stands in the text. What it asks of calls is in the program then, as far as expressions say it (`obligations`).
    pub is_written: bool,
}

/// Contracts by function.
pub type Contracts = BTreeMap<Name, Contract>;

/// What is asked of a pointer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Asked {
    /// What it points to, unless it is null.
    pub memory: Memory,
    /// It may be null.
    pub or_null: bool,
}

/// What a pointer must point to. Each of them means an object that is alive.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Memory {
    /// Nothing is asked.
    Nothing,
    /// So many bytes.
    Bytes(u64),
    /// So many elements of so many bytes each; the number is an expression that reads parameters only. Where it is not positive: nothing.
    Elements(Expr, u64),
    /// Whole elements up to where the pointer that is passed as this parameter leads: into the same object, and not before this one. Neither is null.
    Until(usize),
    /// Bytes up to and with a byte 0.
    String,
    /// The start of an object that was allocated: it can be freed.
    Allocated,
    /// An object of the type that the pointer's type says, of which the function may free parts.
    Tree(Tree),
    /// An object of the type that the pointer's type says; the same holds of all pointers in it that are not null, and pointers to
    /// characters point to strings. Two such objects are the same, or one is a part of the other, or they do not overlap.
    Structure,
}

/// Objects of their types that are alive, each of which one pointer leads to, and no other argument.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tree {
    /// Each of these is null, or leads to the start of an object of its type that was allocated, for it alone; those that are pointers to characters lead to
    /// strings. Of other pointers in the objects nothing is said.
    pub members: BTreeSet<Member>,
    /// The pointer itself leads to such an object.
    pub is_allocated: bool,
}

/// A member of a record.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Member {
    /// The record's tag.
    pub record: Name,
    /// Bytes from its start.
    pub offset: u64,
    /// The member's name.
    pub name: Name,
}

impl Contract {
    /// Whether two parameters do not lead into one object.
    fn are_separated(&self, one: usize, other: usize) -> bool {
        self.separated.contains(&(one, other)) || self.separated.contains(&(other, one))
    }

    /// Nothing is asked.
    pub fn is_empty(&self) -> bool {
        let asks_of_records = self.records.values().any(|of| !of.asked.is_empty());
        self.pointers.is_empty() && self.conditions.is_empty() && self.hooks.is_empty() && !asks_of_records
    }
}

/// The expression with the parameters' values in the place of the parameters; `None` if it reads anything else.
fn at_call(callee: &Function, expr: &Expr, arguments: &[Option<&Expr>]) -> Option<Expr> {
    replaced(expr, &|load| {
        let Expr::Load(lvalue) = load else { return None };
        let Base::Local(id) = lvalue.base else { return None };
        let at = callee.parameters.iter().position(|parameter| *parameter == id)?;
        let argument = (*arguments.get(at)?)?;
        (lvalue.path.is_empty() && argument.scalar() == load.scalar()).then(|| argument.clone())
    })
}

/// The expression with each load replaced; `None` if one of them has no replacement, or the expression is of a kind that contracts do not have.
fn replaced(expr: &Expr, by: &dyn Fn(&Expr) -> Option<Expr>) -> Option<Expr> {
    use std::sync::Arc;
    let again = |expr: &Arc<Expr>| replaced(expr, by).map(Arc::new);
    Some(match expr {
        Expr::Int(..) | Expr::Null => expr.clone(),
        Expr::Load(_) => by(expr)?,
        Expr::Unary(op, arg, site) => Expr::Unary(*op, again(arg)?, *site),
        Expr::Binary(op, lhs, rhs, site) => Expr::Binary(*op, again(lhs)?, again(rhs)?, *site),
        Expr::Compare(op, lhs, rhs) => Expr::Compare(*op, again(lhs)?, again(rhs)?),
        Expr::Cast(to, arg, site) => Expr::Cast(*to, again(arg)?, *site),
        Expr::Memory(predicate, pointer, size) => Expr::Memory(*predicate, again(pointer)?, again(size)?),
        Expr::Float(_)
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Overflows(..)
        | Expr::PointerDifference(..) => return None,
    })
}
