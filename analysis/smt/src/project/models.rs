//! Model-based projection: a formula over the kept variables that one model satisfies and that implies the projection;
//! and the disjunction of such formulas until every model is covered.

use std::collections::BTreeSet;

use super::ProjectOptions;
use crate::build::{and, not, or, var};
use crate::solver::{Outcome, Reason, Solver};
use crate::term::{Term, Var, conjuncts, free_vars};
use crate::z3::ffi::Result as Z3Result;
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
    let z3 = solver.session().clone();
    let failed = |error: crate::z3::ffi::Error| Reason::of(&error.0);
    let constants: Vec<Term> = gone.iter().map(|v| var(*v)).collect();
    let bound = z3.write_all(&constants).map_err(failed)?;
    let body = z3.write(formula).map_err(failed)?;
    let model = solver.model().ok_or_else(|| Reason::Failed("no model to project".into()))?;
    let term = z3.run(|| -> Z3Result<Term> {
        // Not simplified by Z3: reading normalises, and its rewriter need not terminate (see `Z3::solver`).
        z3.read(&model.project(&bound, &body)?)
    })?;
    if !free_vars(term).is_disjoint(gone) {
        return Err(Reason::Incomplete("Z3 cannot project here".into()));
    }
    Ok(conjuncts(term))
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
