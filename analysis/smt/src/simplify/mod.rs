//! Cheap, meaning-preserving normalisation of one application at a time, given normalised arguments. Everything here
//! is an identity of SMT-LIB's theories (held by property tests against evaluation and against Z3); nothing asks a
//! solver, and no rule makes a term larger than what it replaces by more than a constant.
//!
//! Normal forms: conjunctions and disjunctions are flat, sorted and without complements; integer atoms are
//! `Σ cᵢ·mᵢ <= k` and `Σ cᵢ·mᵢ = k` with coprime coefficients of which the first is positive; bit-vector comparisons
//! use `<=` only.
//!
//! One file per kind of operator. A rule builds other operators through the [`Constructors`] that it is given.

pub(crate) mod arith;
pub(crate) mod array;
pub(crate) mod bit_order;
pub(crate) mod bits;
pub(crate) mod boolean;
mod bounds;
mod constructors;
pub(crate) mod equality;
mod linear;

pub(crate) use constructors::Constructors;
pub(crate) use linear::Linear;

use crate::term::{Op, Term, constants, eval_op, value_of};

/// Negation.
pub(crate) fn negate(t: Term) -> Term {
    match t.op() {
        Op::Bool(b) => constants::bool(!b),
        Op::Not => t.args()[0],
        _ => Term::raw(Op::Not, vec![t]),
    }
}

/// The constant that `op` yields on constant arguments.
pub(crate) fn fold(op: &Op, args: &[Term]) -> Option<Term> {
    if !args.iter().all(|a| a.is_value()) {
        return None;
    }
    let values: Option<Vec<_>> = args.iter().map(|a| value_of(*a)).collect();
    let values = values?;
    Some(eval_op(op, &values.iter().collect::<Vec<_>>())?.to_term())
}

/// Rules that walk into a term stop at this size: terms are graphs, and such a walk repeats shared parts.
const SMALL: u64 = 256;

/// Pushes a predicate on `(conditional, constant)` into the conditional when a branch is constant:
/// `ite(c, 1, x) ≤ 0` becomes `if c then 1 ≤ 0 else x ≤ 0`. C's comparisons yield such terms everywhere.
pub(crate) fn split_conditional(
    make: impl Constructors,
    a: Term,
    b: Term,
    predicate: &dyn Fn(Term, Term) -> Term,
) -> Option<Term> {
    let branches = |t: Term| match t.op() {
        Op::Ite if t.size() <= SMALL && (t.args()[1].is_value() || t.args()[2].is_value()) => {
            Some((t.args()[0], t.args()[1], t.args()[2]))
        }
        _ => None,
    };
    if let (Some((c, x, y)), true) = (branches(a), b.is_value()) {
        return Some(make.ite(c, predicate(x, b), predicate(y, b)));
    }
    if let (true, Some((c, x, y))) = (a.is_value(), branches(b)) {
        return Some(make.ite(c, predicate(a, x), predicate(a, y)));
    }
    None
}
