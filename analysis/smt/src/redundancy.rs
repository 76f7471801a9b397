//! Redundant members of a formula, found with the help of the solver: for invariants and summaries that people read, and for predicates
//! taken from them. Costs solver calls; the constructors do what is free.

use crate::build::{and, not, or};
use crate::solver::{Limits, Outcome, Solver};
use crate::term::{Op, Term};
use crate::z3::Z3;

/// Formulas with more members than this are left alone.
const MEMBERS: usize = 64;

/// An equivalent formula without conjuncts that the others imply, and without disjuncts that imply the others, three
/// levels deep. What cannot be decided within `limits` stays.
#[must_use]
pub fn without_redundancy(z3: &Z3, formula: Term, limits: Limits) -> Term {
    let mut solver = z3.solver();
    solver.set_limits(limits);
    within(&mut solver, formula, 3)
}

/// `formula` without redundant members, where what is on the solver's stack is known to hold.
fn within(solver: &mut dyn Solver, formula: Term, depth: u32) -> Term {
    let conjunction = match formula.op() {
        Op::And => true,
        Op::Or => false,
        Op::Not if depth > 0 && matches!(formula.args()[0].op(), Op::And | Op::Or) => {
            return not(within(solver, formula.args()[0], depth));
        }
        _ => return formula,
    };
    if depth == 0 || formula.args().len() > MEMBERS {
        return formula;
    }
    // Large members first: they are the ones to lose.
    let mut members: Vec<Term> = formula.args().to_vec();
    let mut at = members.len();
    while at > 0 {
        at -= 1;
        // In a conjunction a member is judged where the others hold, in a disjunction where they fail.
        solver.push();
        for (i, other) in members.iter().enumerate() {
            if i != at {
                solver.assert(if conjunction { *other } else { not(*other) });
            }
        }
        let surplus = if conjunction { not(members[at]) } else { members[at] };
        let redundant = solver.check_assuming(&[surplus]) == Outcome::Unsat;
        if !redundant {
            members[at] = within(solver, members[at], depth - 1);
        }
        solver.pop();
        if redundant {
            members.remove(at);
        }
    }
    if conjunction { and(members) } else { or(members) }
}
