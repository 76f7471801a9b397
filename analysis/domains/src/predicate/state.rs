//! Abstract states: what was known at the last abstraction, and every way from there to here as one formula. Knows no solver.
//!
//! A state `(ψ, φ)` of a function means: some values of the variables satisfy ψ and the guard of φ, and the registers and cells have
//! the values that φ computes from them. At an abstraction φ is trivial and ψ speaks of the present values and of the ghosts.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{EdgeId, Loc, Name};
use proofline_smt::{Sort, Term, Var, build as t, logic::conjuncts};

use proofline_encoding::Key;

/// Values by key.
pub(super) type Values = BTreeMap<Key, Term>;

/// A set of concrete states of one activation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PredicateState {
    pub(super) function: Name,
    /// ψ
    pub(super) abstraction: Term,
    /// φ
    pub(super) path: Arc<PathFormula>,
}

impl PredicateState {
    /// What was known at the last abstraction.
    pub fn abstraction(&self) -> Term {
        self.abstraction
    }

    /// Whether it was abstracted here: the abstraction says everything.
    pub fn is_abstract(&self) -> bool {
        self.path.is_trivial
    }

    /// The function whose registers it speaks of.
    pub fn function(&self) -> Name {
        self.function
    }
}

/// From the last abstraction to here.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PathFormula {
    /// What holds along the way.
    pub(super) guard: Term,
    pub(super) origin: Origin,
    /// Nothing happened since the abstraction.
    pub(super) is_trivial: bool,
    /// The last abstraction was made in this activation, so that ghosts are variables; else they are terms over the caller's.
    pub(super) is_rooted: bool,
    /// Number of the last variable that was made on the way.
    pub(super) fresh: u32,
    pub(super) values: Arc<Values>,
    pub(super) ghosts: Arc<Values>,
    /// What was merged into it.
    pub(super) merged: Vec<Arc<PathFormula>>,
}

/// Where the last abstraction was made, and the calls since. Only what came the same way is merged: then a path through merged states
/// stands for all of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Origin {
    pub(super) function: Name,
    pub(super) loc: Loc,
    pub(super) calls: Arc<Vec<(Turn, EdgeId, Name)>>,
}

/// What happened at a call edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Turn {
    Enter,
    Leave,
    Summary,
}

impl Origin {
    pub(super) fn new(function: Name, loc: Loc) -> Origin {
        Origin { function, loc, calls: Arc::new(Vec::new()) }
    }

    pub(super) fn then(&self, turn: Turn, edge: EdgeId, callee: Name) -> Origin {
        let mut calls = (*self.calls).clone();
        calls.push((turn, edge, callee));
        Origin { calls: Arc::new(calls), ..self.clone() }
    }
}

impl PathFormula {
    /// Whether everything in `self` is in `other`, if both start from the same abstraction.
    pub(super) fn is_within(self: &Arc<PathFormula>, other: &Arc<PathFormula>) -> bool {
        self == other || other.merged.iter().any(|part| part == self)
    }

    /// Either of two ways from one abstraction. `None` if they do not fit together.
    pub(super) fn either(
        self: &Arc<PathFormula>,
        other: &Arc<PathFormula>,
        insist: bool,
    ) -> Option<PathFormula> {
        let fits = self.is_rooted == other.is_rooted && self.ghosts == other.ghosts;
        let is_wanted = self.origin == other.origin && !self.is_trivial && !other.is_trivial;
        if !fits || !(is_wanted || insist) {
            return None;
        }
        let last = self.fresh.max(other.fresh);
        let joined = Either::new((self.guard, &self.values), (other.guard, &other.values), last);
        let mut merged = other.merged.clone();
        for part in self.merged.iter().chain([other, self]) {
            if !merged.contains(part) {
                merged.push(part.clone());
            }
        }
        Some(PathFormula {
            guard: joined.guard,
            origin: other.origin.clone(),
            is_trivial: false,
            is_rooted: other.is_rooted,
            fresh: joined.fresh,
            values: Arc::new(joined.values),
            ghosts: other.ghosts.clone(),
            merged,
        })
    }
}

/// Two guarded states as one.
pub(super) struct Either {
    pub(super) guard: Term,
    pub(super) values: Values,
    /// True where the first is meant.
    pub(super) first: Term,
    pub(super) fresh: u32,
}

impl Either {
    /// `first` decides which of both is meant: a condition that holds in one and not in the other, or else a free choice. Variables of one
    /// name may stand for different things in the two: each valuation is read as one of them only.
    pub(super) fn new(a: (Term, &Values), b: (Term, &Values), mut last: u32) -> Either {
        let (mine, theirs) = (conjuncts(a.0), conjuncts(b.0));
        let common: Vec<Term> = mine.iter().copied().filter(|part| theirs.contains(part)).collect();
        let only = |parts: &[Term]| -> Vec<Term> {
            parts.iter().copied().filter(|part| !common.contains(part)).collect()
        };
        let (mine, theirs) = (only(&mine), only(&theirs));
        let opposite = mine.iter().copied().find(|part| theirs.contains(&t::not(*part)));
        let first = match opposite {
            Some(condition) => condition,
            None if a == b => t::bool(true),
            None => {
                last += 1;
                t::var(Var::new(&format!("$s{last}"), Sort::Bool))
            }
        };
        let (mine, theirs) =
            (t::and(mine.into_iter().chain([first])), t::and(theirs.into_iter().chain([t::not(first)])));
        let guard = t::and(common.into_iter().chain([t::or([mine, theirs])]));
        // What one of them does not know is not known.
        let both = |(key, term): (&Key, &Term)| Some((*key, t::ite(first, *term, *b.1.get(key)?)));
        let values = a.1.iter().filter_map(both).collect();
        Either { guard, values, first, fresh: last }
    }
}
