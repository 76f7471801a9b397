//! Checks a solution against its definition: every rule is valid under it, every formula speaks of its arguments only
//! and has no quantifier.

use std::collections::BTreeSet;

use super::{HornSystem, PredId, Rule, Solution, argument};
use crate::build::{and, not};
use crate::second_eye;
use crate::solver::{Limits, Outcome, Reason, Solver};
use crate::term::{Var, free_vars, has_quantifier};
use crate::z3::Z3;

pub(super) fn solution(
    z3: &Z3,
    system: &HornSystem,
    solution: &Solution,
    limits: Limits,
) -> Result<(), Reason> {
    for (i, predicate) in system.predicates.iter().enumerate() {
        let formula = solution.formulas[i];
        let allowed: Vec<Var> = predicate.sorts.iter().enumerate().map(|(i, s)| argument(i, *s)).collect();
        let foreign = free_vars(formula).into_iter().find(|v| !allowed.contains(v));
        if has_quantifier(formula) {
            return Err(Reason::Incomplete(format!("the solution of {} has a quantifier", predicate.name)));
        }
        if let Some(v) = foreign {
            return Err(Reason::Failed(format!("the solution of {} mentions {v}", predicate.name)));
        }
    }
    let mut solver = z3.solver();
    solver.set_limits(limits);
    for (i, rule) in system.rules.iter().enumerate() {
        if !is_valid(&mut solver, solution, rule)? {
            return Err(Reason::Failed(format!("rule {i} does not hold under the solution found")));
        }
    }
    Ok(())
}

/// The same for formulas of which only the rules with a head must be valid. Which of the others are.
pub(super) fn invariants(
    z3: &Z3,
    system: &HornSystem,
    found: &Solution,
    limits: Limits,
) -> Result<BTreeSet<usize>, Reason> {
    let mut goals = BTreeSet::new();
    let mut solver = z3.solver();
    solver.set_limits(limits);
    for (i, rule) in system.rules.iter().enumerate() {
        match (rule.head.is_some(), is_valid(&mut solver, found, rule)) {
            (true, Ok(true)) => {}
            (true, Ok(false)) => return Err(Reason::Failed(format!("rule {i} does not hold"))),
            (true, Err(reason)) | (false, Err(reason @ Reason::Interrupted)) => return Err(reason),
            (false, Ok(true)) => {
                goals.insert(i);
            }
            (false, Ok(false) | Err(_)) => {}
        }
    }
    Ok(goals)
}

fn is_valid(solver: &mut dyn Solver, solution: &Solution, rule: &Rule) -> Result<bool, Reason> {
    let holds = |p: PredId, args: &[_]| solution.at(p, args);
    let body = and(rule.body.iter().map(|a| holds(a.predicate, &a.args)));
    let head = rule.head.as_ref().map_or(crate::build::bool(false), |a| holds(a.predicate, &a.args));
    solver.push();
    let counterexample = and([body, rule.constraint, not(head)]);
    solver.assert(counterexample);
    let outcome = solver.check();
    solver.pop();
    match outcome {
        Outcome::Unsat => {
            second_eye::certifying(|| second_eye::rests_on(counterexample));
            Ok(true)
        }
        Outcome::Sat => Ok(false),
        Outcome::Unknown(reason) => Err(reason),
    }
}
