//! What is solved: rules over unknown relations, and what a solution says of each relation.

use std::collections::{BTreeMap, BTreeSet};

use crate::build::and;
use crate::rewrite::substitute;
use crate::term::{Sort, Term, Value, Var};

/// A predicate of a system, by position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PredId(pub u32);

impl PredId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// An unknown relation between values of these sorts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Predicate {
    /// For people; need not be unique.
    pub name: String,
    /// Sorts of its arguments, in order.
    pub sorts: Vec<Sort>,
}

/// A predicate applied to terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Atom {
    /// The predicate, of the system that the atom belongs to.
    pub predicate: PredId,
    /// Terms of the sorts of the predicate's arguments.
    pub args: Vec<Term>,
}

/// `body ∧ constraint ⇒ head`, for all values of the variables; without head, `⇒ false`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Atoms that must all hold; none: the constraint alone implies the head.
    pub body: Vec<Atom>,
    /// A formula without predicates.
    pub constraint: Term,
    /// What follows; `None` is falsity.
    pub head: Option<Atom>,
}

/// A set of rules over predicates.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HornSystem {
    /// The predicates; a [`PredId`] is a position here.
    pub predicates: Vec<Predicate>,
    /// The rules, all of which a solution makes valid.
    pub rules: Vec<Rule>,
}

/// A formula per predicate, over [`argument`] variables. Every rule of the system holds under it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Solution {
    pub(super) formulas: Vec<Term>,
}

/// The variable that stands for argument `i` of a predicate in a [`Solution`].
#[must_use]
pub fn argument(i: usize, sort: Sort) -> Var {
    Var::indexed("%arg", u32::try_from(i).unwrap_or(u32::MAX - 1) + 1, sort)
}

impl Solution {
    /// The formula of a predicate over its argument variables.
    #[must_use]
    pub fn formula(&self, predicate: PredId) -> Term {
        self.formulas[predicate.index()]
    }

    /// Conjunctions of formulas, per predicate.
    pub(super) fn of(conjuncts: &[Vec<Term>]) -> Solution {
        Solution { formulas: conjuncts.iter().map(|all| and(all.iter().copied())).collect() }
    }

    /// The formula of a predicate at `args`.
    #[must_use]
    pub fn at(&self, predicate: PredId, args: &[Term]) -> Term {
        Solution::apply(self.formula(predicate), args)
    }

    /// A formula over argument variables, at `args`.
    #[must_use]
    pub fn apply(formula: Term, args: &[Term]) -> Term {
        let map: BTreeMap<Var, Term> =
            args.iter().enumerate().map(|(i, t)| (argument(i, t.sort()), *t)).collect();
        substitute(formula, &map)
    }
}

impl HornSystem {
    /// Adds a predicate; its id is its position.
    pub fn predicate(&mut self, name: &str, sorts: &[Sort]) -> PredId {
        let id = PredId(u32::try_from(self.predicates.len()).unwrap_or(u32::MAX));
        self.predicates.push(Predicate { name: name.into(), sorts: sorts.to_vec() });
        id
    }

    /// Adds a rule.
    ///
    /// # Panics
    /// If an atom has other sorts than its predicate, or the constraint is no formula.
    pub fn rule(&mut self, body: Vec<Atom>, constraint: Term, head: Option<Atom>) {
        assert_eq!(constraint.sort(), Sort::Bool, "a constraint is a formula");
        for atom in body.iter().chain(&head) {
            let sorts: Vec<Sort> = atom.args.iter().map(|t| t.sort()).collect();
            assert_eq!(sorts, self.predicates[atom.predicate.index()].sorts, "arguments of a predicate");
        }
        self.rules.push(Rule { body, constraint, head });
    }

    /// Predicates that some derivation could produce, by the shape of the rules.
    pub(super) fn derivable(&self) -> BTreeSet<PredId> {
        let mut known = BTreeSet::new();
        loop {
            let before = known.len();
            for rule in self.rules.iter().filter(|r| !r.constraint.is_false()) {
                if let Some(head) = &rule.head
                    && rule.body.iter().all(|a| known.contains(&a.predicate))
                {
                    known.insert(head.predicate);
                }
            }
            if known.len() == before {
                return known;
            }
        }
    }

    /// Predicates that some derivation of falsity could use.
    pub(super) fn relevant(&self) -> BTreeSet<PredId> {
        let mut known: BTreeSet<PredId> = BTreeSet::new();
        loop {
            let before = known.len();
            for rule in self.rules.iter().filter(|r| !r.constraint.is_false()) {
                if rule.head.as_ref().is_none_or(|h| known.contains(&h.predicate)) {
                    known.extend(rule.body.iter().map(|a| a.predicate));
                }
            }
            if known.len() == before {
                return known;
            }
        }
    }
}

/// A ground fact: a predicate at values.
pub(crate) type Fact = (PredId, Vec<Value>);
