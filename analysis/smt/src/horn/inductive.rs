//! What still holds of formulas that solved another system: of candidates for each predicate those that are inductive together, and which rules
//! without head they make valid. [Houdini01] A candidate may be anything; what is returned is certified.

use std::collections::BTreeSet;

use super::{HornSystem, Solution, argument, certify};
use crate::build::{and, not};
use crate::solver::{Limits, Outcome, Reason, Solver};
use crate::term::{Term, Var, free_vars, has_quantifier};
use crate::z3::Z3;

/// Candidates that are inductive together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inductive {
    /// Their conjunction, per predicate. Every rule with a head is valid under it.
    pub invariants: Solution,
    /// The rules without head that are valid, too.
    pub goals: BTreeSet<usize>,
}

/// The largest part of `candidates` that is inductive: conjuncts per predicate over its [`argument`] variables.
///
/// # Errors
/// If the solver gives up: within `limits`, which hold for each question.
pub fn inductive(
    z3: &Z3,
    system: &HornSystem,
    mut candidates: Vec<Vec<Term>>,
    limits: Limits,
) -> Result<Inductive, Reason> {
    candidates.resize(system.predicates.len(), Vec::new());
    for (predicate, formulas) in system.predicates.iter().zip(&mut candidates) {
        let own: Vec<Var> = predicate.sorts.iter().enumerate().map(|(i, s)| argument(i, *s)).collect();
        let speaks_of_own = |formula: &Term| free_vars(*formula).iter().all(|v| own.contains(v));
        formulas.retain(|formula| speaks_of_own(formula) && !has_quantifier(*formula));
    }
    let mut solver = z3.solver();
    solver.set_limits(limits);
    // A conjunct that does not follow goes; what it was needed for is asked again.
    loop {
        let mut has_changed = false;
        for rule in &system.rules {
            let Some(head) = &rule.head else { continue };
            if candidates[head.predicate.index()].is_empty() || rule.constraint.is_false() {
                continue;
            }
            let all = Solution::of(&candidates);
            let body = and(rule.body.iter().map(|atom| all.at(atom.predicate, &atom.args)));
            solver.push();
            solver.assert(and([body, rule.constraint]));
            let follows = |solver: &mut dyn Solver, formula: Term| {
                solver.push();
                solver.assert(not(formula));
                let outcome = solver.check();
                solver.pop();
                match outcome {
                    Outcome::Unsat => Ok(true),
                    Outcome::Sat => Ok(false),
                    Outcome::Unknown(Reason::Interrupted) => Err(Reason::Interrupted),
                    // What is too hard to show is not kept.
                    Outcome::Unknown(_) => Ok(false),
                }
            };
            if !follows(&mut solver, all.at(head.predicate, &head.args))? {
                let mut kept = Vec::new();
                for formula in std::mem::take(&mut candidates[head.predicate.index()]) {
                    if follows(&mut solver, Solution::apply(formula, &head.args))? {
                        kept.push(formula);
                    } else {
                        has_changed = true;
                    }
                }
                candidates[head.predicate.index()] = kept;
            }
            solver.pop();
        }
        if !has_changed {
            break;
        }
    }
    let invariants = Solution::of(&candidates);
    let goals = certify::invariants(z3, system, &invariants, limits)?;
    Ok(Inductive { invariants, goals })
}
