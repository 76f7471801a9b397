//! Terms without arguments: truth values, numbers, variables. They are normal as they are, so no constructor above is needed.

use num_bigint::BigInt;

use super::{BitVec, FloatConst, Op, Sort, Term, Var};

/// `true` or `false`.
#[must_use]
pub fn bool(value: bool) -> Term {
    Term::raw(Op::Bool(value), Vec::new())
}

/// An integer.
#[must_use]
pub fn int(value: impl Into<BigInt>) -> Term {
    Term::raw(Op::Int(value.into()), Vec::new())
}

/// `value` modulo `2^width`.
///
/// # Panics
/// If `width` is 0.
#[must_use]
pub fn bv(value: impl Into<BigInt>, width: u32) -> Term {
    bits(BitVec::new(width, &value.into()))
}

/// A bit vector.
pub(crate) fn bits(value: BitVec) -> Term {
    Term::raw(Op::BitVec(value), Vec::new())
}

/// A floating-point number.
#[must_use]
pub fn float(value: FloatConst) -> Term {
    Term::raw(Op::Float(value), Vec::new())
}

/// A variable.
#[must_use]
pub fn var(var: Var) -> Term {
    Term::raw(Op::Var(var), Vec::new())
}

/// A variable without SSA index, by name.
///
/// # Panics
/// If the name begins with `?`, as names of bound variables do.
#[must_use]
pub fn named(name: &str, sort: Sort) -> Term {
    self::var(Var::new(name, sort))
}
