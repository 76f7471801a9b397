//! One cut: a formula between `a` and `b`, which contradict each other, over their common symbols. The four methods.

use super::relax::needed;
use super::tree::Vocabulary;
use super::{Failure, Method, Options, Tree, farkas};
use crate::build::{and, le, not, or, var};
use crate::horn::{self, Atom, HornOutcome, HornSystem};
use crate::project::{ProjectOptions, project, project_model};
use crate::solver::{Outcome, Reason, Solver};
use crate::term::{Op, Sort, Term, Var, conjuncts, free_functions, free_vars};
use crate::z3::Z3;
use std::collections::BTreeSet;

/// A formula implied by `a` and inconsistent with `b`, over the symbols common to both.
pub(super) fn between(z3: &Z3, a: Term, b: Term, method: Method, options: Options) -> Result<Term, Failure> {
    let common = Vocabulary::of(a).common(&Vocabulary::of(b)).vars();
    let quantifying = ProjectOptions { limits: options.limits, models: options.models };
    match method {
        Method::Sp => Ok(project(z3, a, &common, quantifying)?),
        Method::Wp => match project(z3, b, &common, quantifying) {
            Ok(reaches) => Ok(not(reaches)),
            Err(Reason::Interrupted) => Err(Failure::Unknown(Reason::Interrupted)),
            // Typically an unknown value over bit vectors after the cut: what is before it may be easier.
            Err(Reason::Limit | Reason::Incomplete(_) | Reason::Failed(_)) => {
                Ok(project(z3, a, &common, quantifying)?)
            }
        },
        Method::Mbp => by_models(z3, a, b, &common, options),
        Method::Horn => by_horn(z3, a, b, &common, options),
        Method::Farkas => Ok(farkas::farkas(z3, &Tree::sequence(vec![a, b]), options)?[0]),
    }
}

/// Models of `a`, each projected to the common variables and weakened as far as `b` allows.
fn by_models(z3: &Z3, a: Term, b: Term, common: &BTreeSet<Var>, options: Options) -> Result<Term, Failure> {
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
        let kept = needed(&mut right, &literals).ok_or(Failure::Unknown(Reason::Limit))?;
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
            vec![crate::build::bvsle(x, y), crate::build::bvsle(y, x)]
        }
        _ => vec![literal],
    }
}

fn by_horn(z3: &Z3, a: Term, b: Term, common: &BTreeSet<Var>, options: Options) -> Result<Term, Failure> {
    if !free_functions(and([a, b])).is_empty() {
        return Err(Failure::Unknown(Reason::Incomplete("Horn clauses with functions".into())));
    }
    let vars: Vec<Term> = common.iter().map(|v| var(*v)).collect();
    let mut system = HornSystem::default();
    let sorts: Vec<Sort> = common.iter().map(|v| v.sort).collect();
    let predicate = system.predicate("cut", &sorts);
    system.rule(Vec::new(), a, Some(Atom { predicate, args: vars.clone() }));
    system.rule(vec![Atom { predicate, args: vars.clone() }], b, None);
    match horn::solve(z3, &system, options.limits) {
        HornOutcome::Solved(solution) => Ok(solution.at(predicate, &vars)),
        HornOutcome::Refuted(_) => Err(Failure::Feasible),
        HornOutcome::Unknown(reason) => Err(Failure::Unknown(reason)),
    }
}
