//! Model-based projection: a formula over the kept variables that one model satisfies and that implies the projection;
//! and the disjunction of such formulas until every model is covered.

use std::collections::BTreeSet;

use num_bigint::BigInt;

use super::ProjectOptions;
use crate::build::{and, not, or};
use crate::logic::conjuncts;
use crate::solver::{Outcome, Reason, Solver};
use crate::term::{Op, Sort, Term, Var, free_vars, has_quantifier, postorder};
use crate::z3::{Z3, Z3Solver};

/// After `Sat` of a solver whose model satisfies `formula`: literals over the variables outside of `gone` that the
/// model satisfies and whose conjunction implies `∃ gone. formula`.
///
/// # Errors
/// If there is no model, or Z3 cannot project in this theory.
pub fn project_model(
    solver: &mut Z3Solver,
    formula: Term,
    gone: &BTreeSet<Var>,
) -> Result<Vec<Term>, Reason> {
    complete(solver, formula)?;
    let bound: Vec<Var> = gone.iter().copied().collect();
    let term = solver.project(formula, &bound)?;
    if !free_vars(term).is_disjoint(gone) {
        return Err(Reason::Incomplete("Z3 cannot project here".into()));
    }
    Ok(conjuncts(term))
}

/// Makes the model say something of every number in the formula. Where it does not, Z3 ends a projection in the middle, and now and then
/// with a damaged heap. Numbers that the search did not need get a value when they are asked for; what is divided by zero has none.
fn complete(solver: &mut Z3Solver, formula: Term) -> Result<(), Reason> {
    let open = |why: &str| Err(Reason::Incomplete(why.into()));
    let mut asked: Vec<(Term, bool)> = Vec::new();
    for term in postorder(&[formula]) {
        match (term.op(), term.args()) {
            (Op::Div | Op::Mod, [_, by]) if by.as_int().is_none() => asked.push((*by, true)),
            _ if term.as_var().is_some_and(|var| !var.is_bound()) => asked.push((term, false)),
            _ => {}
        }
    }
    if asked.iter().any(|(_, divides)| *divides) && has_quantifier(formula) {
        return open("a division beside a quantifier");
    }
    let terms: Vec<Term> = asked.iter().map(|(term, _)| *term).collect();
    for ((term, divides), value) in asked.into_iter().zip(solver.values(&terms)) {
        let number = value.as_ref().and_then(|value| value.as_int());
        if term.sort() == Sort::Int && number.is_none() {
            return open("a model that leaves a number open");
        }
        if divides && number.is_some_and(|number| *number == BigInt::ZERO) {
            return open("a model that divides by zero");
        }
    }
    Ok(())
}

/// `∃ gone. formula` as a disjunction of projections. Exact: the loop ends when no model of the formula is outside.
pub(super) fn cover(
    z3: &Z3,
    formula: Term,
    gone: &BTreeSet<Var>,
    options: ProjectOptions,
) -> Result<Term, Reason> {
    let mut solver = z3.solver();
    solver.set_limits(options.limits);
    solver.assert(formula);
    let mut cubes: Vec<Term> = Vec::new();
    loop {
        match solver.check() {
            Outcome::Unsat => return Ok(or(cubes)),
            Outcome::Unknown(reason) => return Err(reason),
            Outcome::Sat if cubes.len() == options.models => return Err(Reason::Limit),
            Outcome::Sat => {}
        }
        let cube = and(project_model(&mut solver, formula, gone)?);
        solver.assert(not(cube));
        cubes.push(cube);
    }
}
