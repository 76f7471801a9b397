//! Constrained Horn clauses: systems of implications between unknown relations, solved by Spacer.
//!
//! A solution gives every predicate a formula that makes every rule valid; a refutation derives falsity. Both are
//! checked here, independently of the engine, before they are returned.

mod arrays;
mod certify;
mod derivation;
mod inductive;
mod options;
mod parameters;
pub(crate) mod spacer;
mod symbolic_abstraction;
pub(crate) mod system;

use std::borrow::Cow;
use std::collections::BTreeSet;

pub use arrays::{CellSystem, Cells};
pub use derivation::{Derivation, DerivationStep};
pub use inductive::{Inductive, inductive};
pub use options::HornOptions;
pub use symbolic_abstraction::{
    Invariants, Split, SymbolicAbstractionOptions, invariants, invariants_of_cells,
};
pub use system::{Atom, HornSystem, PredId, Predicate, Rule, Solution, argument};

use crate::solver::{Limits, Reason};
use crate::z3::{Place, Z3};

/// What is known about a system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HornOutcome {
    /// Falsity cannot be derived: a certified model.
    Solved(Solution),
    /// Falsity can be derived; the derivation, checked, if the engine's answer allowed to rebuild it.
    Refuted(Option<Derivation>),
    /// Neither was found, or what was found was not certified, for this reason.
    Unknown(Reason),
}

/// Decides a system within `limits`, by the default search, without derivations.
#[must_use]
pub fn solve(z3: &Z3, system: &HornSystem, limits: Limits) -> HornOutcome {
    solve_with(z3, system, HornOptions { limits, ..HornOptions::default() })
}

/// Decides a system: a solution or a refutation is certified before it is returned.
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
    let query = spacer::Query { system: Cow::Borrowed(system), rules, active, options };
    let found = match z3.place() {
        Place::Here(session) => query.answer(session),
        Place::Worker(session) => session.spacer(&query),
    };
    match found? {
        spacer::Found::Cover(covers) => {
            let ids = (0..).map(PredId).take(system.predicates.len());
            let formulas = ids.map(|p| covers.get(&p).copied().unwrap_or_else(|| default(p))).collect();
            let solution = Solution { formulas };
            certify::solution(z3, system, &solution, limits)?;
            Ok(HornOutcome::Solved(solution))
        }
        spacer::Found::Facts(facts) => {
            let derivation =
                facts.and_then(|facts| derivation::rebuild(z3, system, &query.rules, &facts, limits));
            Ok(HornOutcome::Refuted(derivation))
        }
    }
}
