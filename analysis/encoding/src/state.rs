//! Symbolic states: a term per cell, and what is known about the path.

use std::collections::BTreeMap;

use proofline_cfa::{LocalId, Object, Scalar};
use proofline_smt::{Sort, Term, Var, build as t};

/// A part of the state that has its own term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Key {
    /// A register of an inlined instance of a function.
    Local(u32, LocalId),
    /// A scalar cell of an object: at this byte offset, in this format.
    Cell(Object, u64, Scalar),
    /// The elements of an object that is an array of records or scalars of `stride` bytes: those at this offset in
    /// the element, as an array of integers by element number.
    Elements(Object, u64, u64, Scalar),
}

impl Key {
    /// The sort of its term over integers ([`crate::Encoding::sort_of`] knows more).
    pub fn sort(self) -> Sort {
        match self {
            Key::Local(..) | Key::Cell(..) => Sort::Int,
            Key::Elements(..) => Sort::array(Sort::Int, Sort::Int),
        }
    }
}

/// Makes variables that occur nowhere else.
#[derive(Clone, Debug, Default)]
pub struct Fresh {
    next: u32,
    /// Variables made since the beginning, each a loss of exactness unless it is an input.
    made: Vec<Term>,
}

impl Fresh {
    /// Variables with numbers above this one.
    pub fn after(last: u32) -> Fresh {
        Fresh { next: last, made: Vec::new() }
    }
    /// The number of the last variable.
    pub fn last(&self) -> u32 {
        self.next
    }
    /// A fresh variable.
    pub fn variable(&mut self, sort: Sort) -> Term {
        self.next += 1;
        let variable = t::var(Var::new(&format!("$f{}", self.next), sort));
        self.made.push(variable);
        variable
    }
    /// Everything made so far.
    pub fn made(&self) -> &[Term] {
        &self.made
    }
}

/// A set of concrete states: those that satisfy `guard`, with the cells' values as terms over the variables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// What holds.
    pub guard: Term,
    /// Values; a cell that is absent is indeterminate.
    pub values: BTreeMap<Key, Term>,
}

impl State {
    /// Nothing known, no cell named.
    pub fn top() -> State {
        State { guard: t::bool(true), values: BTreeMap::new() }
    }

    /// Adds a condition.
    pub fn assume(&mut self, condition: Term) {
        self.guard = t::and([self.guard, condition]);
    }

    /// Either of two states, whose guards exclude each other. Where they differ, the value depends on which guard holds.
    pub fn either(self, other: State, fresh: &mut Fresh) -> State {
        if self.guard.is_false() {
            return other;
        }
        if other.guard.is_false() {
            return self;
        }
        let mut values = BTreeMap::new();
        let keys: std::collections::BTreeSet<Key> =
            self.values.keys().chain(other.values.keys()).copied().collect();
        for key in keys {
            // A cell that one side never named is indeterminate there.
            let (mine, theirs) = match (self.values.get(&key), other.values.get(&key)) {
                (Some(mine), Some(theirs)) => (*mine, *theirs),
                (Some(mine), None) => (*mine, fresh.variable(mine.sort())),
                (None, Some(theirs)) => (fresh.variable(theirs.sort()), *theirs),
                (None, None) => continue,
            };
            values.insert(key, t::ite(self.guard, mine, theirs));
        }
        State { guard: t::or([self.guard, other.guard]), values }
    }
}
