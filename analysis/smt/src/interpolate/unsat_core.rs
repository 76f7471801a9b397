//! Unsatisfiable cores, minimised by deletion: which parts of the formulas the contradiction needs. That is the first step of every
//! method, because interpolants of the weaker formulas are interpolants of the original ones, and speak of less.

use super::{Failure, Tree};
use crate::build::and;
use crate::logic::conjuncts;
use crate::solver::{Limits, Outcome, Solver};
use crate::term::Term;
use crate::z3::Z3;

/// The core is minimised by deletion only up to this size; beyond it the solver's own core is kept.
const MINIMISE: usize = 120;

/// The tree with labels reduced to conjuncts that together are still unsatisfiable.
///
/// # Errors
/// If all labels together are satisfiable, or the solver does not know.
pub(super) fn restricted_to_core(z3: &Z3, tree: &Tree, limits: Limits) -> Result<Tree, Failure> {
    let parts: Vec<(usize, Term)> = tree
        .nodes()
        .flat_map(|n| conjuncts(tree.label(n)).into_iter().map(move |t| (n.index(), t)))
        .collect();
    let mut solver = z3.solver();
    solver.set_limits(limits);
    let names: Vec<Term> = parts.iter().map(|(_, t)| solver.name(*t)).collect();
    let mut core = match solver.check_assuming(&names) {
        Outcome::Unsat => solver.core(),
        Outcome::Sat => return Err(Failure::Feasible),
        Outcome::Unknown(reason) => return Err(Failure::Unknown(reason)),
    };
    if core.len() <= MINIMISE {
        core = minimise(&mut solver, &names, core);
    }
    let mut kept: Vec<Vec<Term>> = vec![Vec::new(); tree.nodes().count()];
    for i in core {
        kept[parts[i].0].push(parts[i].1);
    }
    Ok(tree.relabelled(kept.into_iter().map(and).collect()))
}

/// Deletes members one by one while the rest is still unsatisfiable. What cannot be decided is kept.
fn minimise(solver: &mut dyn Solver, names: &[Term], mut core: Vec<usize>) -> Vec<usize> {
    let mut at = 0;
    while at < core.len() {
        let without: Vec<usize> = core.iter().copied().filter(|i| *i != core[at]).collect();
        let assumed: Vec<Term> = without.iter().map(|i| names[*i]).collect();
        if solver.check_assuming(&assumed) == Outcome::Unsat {
            // Members before `at` are needed, so they are in every core.
            core = solver.core().into_iter().map(|i| without[i]).collect();
        } else {
            at += 1;
        }
    }
    core
}

/// The members of `literals` that contradict what is on the solver's stack, minimised; `None` if they do not.
pub(super) fn core_of_literals(solver: &mut dyn Solver, literals: &[Term]) -> Option<Vec<Term>> {
    solver.push();
    let names: Vec<Term> = literals.iter().map(|t| solver.name(*t)).collect();
    let core = (solver.check_assuming(&names) == Outcome::Unsat).then(|| solver.core());
    let core = core.map(|core| minimise(solver, &names, core));
    solver.pop();
    Some(core?.into_iter().map(|i| literals[i]).collect())
}
