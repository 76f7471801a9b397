//! Method `mbp`: model-based projection [KGC14] of one side of a cut, weakened against the other side.

use std::collections::BTreeSet;

use super::super::unsat_core::core_of_literals;
use super::super::vocabulary::Vocabulary;
use super::super::{Failure, Options};
use crate::build::{and, bvsle, le, not, or};
use crate::logic::conjuncts;
use crate::project::project_model;
use crate::solver::{Outcome, Reason, Solver};
use crate::term::{Op, Sort, Term, Var, free_vars};
use crate::z3::Z3;

/// Models of `a`, each projected to the common variables and weakened as far as `b` allows.
pub(super) fn between(z3: &Z3, a: Term, b: Term, options: Options) -> Result<Term, Failure> {
    let common = Vocabulary::of(a).common(&Vocabulary::of(b)).vars();
    let gone: BTreeSet<Var> = free_vars(a).into_iter().filter(|v| !common.contains(v)).collect();
    let mut left = z3.solver();
    left.set_limits(options.limits);
    left.assert(a);
    let mut right = z3.solver();
    right.set_limits(options.limits);
    for part in conjuncts(b) {
        right.assert(part);
    }
    let mut found: Vec<Term> = Vec::new();
    loop {
        match left.check() {
            Outcome::Unsat => return Ok(or(found)),
            Outcome::Unknown(reason) => return Err(Failure::Unknown(reason)),
            Outcome::Sat if found.len() == options.models => return Err(Failure::Unknown(Reason::Limit)),
            Outcome::Sat => {}
        }
        let literals = project_model(&mut left, a, &gone)?;
        let literals: Vec<Term> = literals.into_iter().flat_map(halves).collect();
        let kept = core_of_literals(&mut right, &literals).ok_or(Failure::Unknown(Reason::Limit))?;
        let cube = and(kept);
        left.assert(not(cube));
        found.push(cube);
    }
}

/// An equation between numbers as two inequalities, so that one of them can be dropped.
fn halves(literal: Term) -> Vec<Term> {
    match literal.op() {
        Op::Eq if literal.args()[0].sort() == Sort::Int => {
            let (x, y) = (literal.args()[0], literal.args()[1]);
            vec![le(x, y), le(y, x)]
        }
        Op::Eq if literal.args()[0].sort().width().is_some() => {
            let (x, y) = (literal.args()[0], literal.args()[1]);
            vec![bvsle(x, y), bvsle(y, x)]
        }
        _ => vec![literal],
    }
}
