//! Constrained Horn clauses: systems of implications between unknown relations, solved by Spacer.
//!
//! A solution gives every predicate a formula that makes every rule valid; a refutation derives falsity. Both are
//! checked here, independently of the engine, before they are returned.

mod arrays;
mod certify;
mod derivation;
mod parameters;
mod spacer;
mod symbolic_abstraction;

use std::collections::{BTreeMap, BTreeSet};

pub use arrays::Cells;
pub use derivation::{Derivation, DerivationStep};
pub use symbolic_abstraction::{Invariants, Split, SymbolicAbstractionOptions, invariants};

use crate::solver::{Limits, Reason};
use crate::term::{Sort, Term, Value, Var, substitute};
use crate::z3::Z3;

/// A predicate of a system, by position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PredId(pub u32);

impl PredId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// An unknown relation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Predicate {
    /// For people; need not be unique.
    pub name: String,
    /// Sorts of its arguments.
    pub sorts: Vec<Sort>,
}

/// A predicate applied to terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Atom {
    /// Which predicate.
    pub predicate: PredId,
    /// Its arguments.
    pub args: Vec<Term>,
}

/// `body ∧ constraint ⇒ head`, for all values of the variables; without head, `⇒ false`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Predicates that must hold.
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
    /// The rules.
    pub rules: Vec<Rule>,
}

/// What is known about a system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HornOutcome {
    /// Falsity cannot be derived: a certified model.
    Solved(Solution),
    /// Falsity can be derived; the derivation, checked, if the engine's answer allowed to rebuild it.
    Refuted(Option<Derivation>),
    /// Not decided.
    Unknown(Reason),
}

/// A formula per predicate, over [`argument`] variables. Every rule of the system holds under it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Solution {
    formulas: Vec<Term>,
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

    /// The formula of a predicate at `args`.
    #[must_use]
    pub fn at(&self, predicate: PredId, args: &[Term]) -> Term {
        let map: BTreeMap<Var, Term> =
            args.iter().enumerate().map(|(i, t)| (argument(i, t.sort()), *t)).collect();
        substitute(self.formula(predicate), &map)
    }
}

impl HornSystem {
    /// Adds a predicate.
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
    fn derivable(&self) -> BTreeSet<PredId> {
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
    fn relevant(&self) -> BTreeSet<PredId> {
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

/// How a system is solved.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HornOptions {
    /// Limits of the engine, and of each certifying check.
    pub limits: Limits,
    /// Spacer's global guidance: lemmas are generalised across each other. Finds some invariants that the default
    /// search diverges on, and costs time elsewhere. Of several facts that a rule needs, the last is then looked at first.
    pub guided: bool,
    /// A refutation comes with its derivation. Reading one back may take longer than the search.
    pub derivation: bool,
}

/// Decides a system within `limits`, by the default search, without derivations.
#[must_use]
pub fn solve(z3: &Z3, system: &HornSystem, limits: Limits) -> HornOutcome {
    solve_with(z3, system, HornOptions { limits, ..HornOptions::default() })
}

/// Decides a system.
#[must_use]
pub fn solve_with(z3: &Z3, system: &HornSystem, options: HornOptions) -> HornOutcome {
    match try_solve(z3, system, options) {
        Ok(outcome) => outcome,
        Err(reason) => HornOutcome::Unknown(reason),
    }
}

fn try_solve(z3: &Z3, system: &HornSystem, options: HornOptions) -> Result<HornOutcome, Reason> {
    let limits = options.limits;
    let derivable = system.derivable();
    let relevant = system.relevant();
    let used = |a: &Atom| derivable.contains(&a.predicate) && relevant.contains(&a.predicate);
    let rules: Vec<usize> = (0..system.rules.len())
        .filter(|i| {
            let rule = &system.rules[*i];
            rule.body.iter().all(used) && rule.head.as_ref().is_none_or(used) && !rule.constraint.is_false()
        })
        .collect();
    let active: BTreeSet<PredId> = derivable.intersection(&relevant).copied().collect();
    // A predicate that cannot be derived is false; one that nothing asks for is true.
    let default = |p: PredId| crate::build::bool(derivable.contains(&p));
    match spacer::query(z3, system, &rules, &active, options)? {
        spacer::Found::Cover(covers) => {
            let ids = (0..).map(PredId).take(system.predicates.len());
            let formulas = ids.map(|p| covers.get(&p).copied().unwrap_or_else(|| default(p))).collect();
            let solution = Solution { formulas };
            certify::solution(z3, system, &solution, limits)?;
            Ok(HornOutcome::Solved(solution))
        }
        spacer::Found::Facts(facts) => {
            let derivation = facts.and_then(|facts| derivation::rebuild(z3, system, &rules, &facts, limits));
            Ok(HornOutcome::Refuted(derivation))
        }
    }
}

/// A ground fact: a predicate at values.
type Fact = (PredId, Vec<Value>);
