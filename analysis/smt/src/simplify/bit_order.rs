//! Normalisation of comparisons of bit vectors, unsigned and signed.

use num_bigint::BigInt;

use super::bits::width;
use super::{Constructors, fold, split_conditional};
use crate::term::bitvec::power_of_two;
use crate::term::constants::{bits, bool};
use crate::term::{BitVec, Op, Term};

/// `a <= b`, where `op` says whether unsigned (`BvUle`) or signed (`BvSle`).
pub(crate) fn at_most(make: impl Constructors, op: &Op, a: Term, b: Term) -> Term {
    if let Some(t) = fold(op, &[a, b]) {
        return t;
    }
    if a == b {
        return bool(true);
    }
    let w = width(a);
    let signed = *op == Op::BvSle;
    let ones = BitVec::new(w, &BigInt::from(-1));
    let top = BitVec::new(w, &power_of_two(w - 1));
    // Least and greatest value in this order.
    let (least, greatest) = if signed { (top.clone(), top.not()) } else { (ones.not(), ones.clone()) };
    let (x, y) = (a.as_bitvec(), b.as_bitvec());
    if x == Some(&least) || y == Some(&greatest) {
        return bool(true);
    }
    if y == Some(&least) || x == Some(&greatest) {
        return make.eq(a, b);
    }
    if let Some(t) = split_conditional(make, a, b, &|a, b| at_most(make, op, a, b)) {
        return t;
    }
    match (a.op(), b.op()) {
        (Op::ZeroExtend(m), Op::ZeroExtend(n)) if m == n => {
            return at_most(make, &Op::BvUle, a.args()[0], b.args()[0]);
        }
        (Op::SignExtend(m), Op::SignExtend(n)) if m == n && signed => {
            return at_most(make, &Op::BvSle, a.args()[0], b.args()[0]);
        }
        (Op::ZeroExtend(by), Op::BitVec(c)) => {
            return match narrowed(c, *by, signed) {
                Narrowed::Fits(c) => at_most(make, &Op::BvUle, a.args()[0], c),
                Narrowed::Below => bool(false),
                Narrowed::Above => bool(true),
            };
        }
        (Op::BitVec(c), Op::ZeroExtend(by)) => {
            return match narrowed(c, *by, signed) {
                Narrowed::Fits(c) => at_most(make, &Op::BvUle, c, b.args()[0]),
                Narrowed::Below => bool(true),
                Narrowed::Above => bool(false),
            };
        }
        _ => {}
    }
    Term::raw(op.clone(), vec![a, b])
}

/// A constant beside a vector that was extended by zeros.
enum Narrowed {
    /// The constant in the vector's own width.
    Fits(Term),
    /// Smaller than every extended value.
    Below,
    /// Greater than every extended value.
    Above,
}

/// `c`, read as `signed` says, against values that `by` zeros in front extend to its width: those are `0 .. 2^(width - by)` in either order.
fn narrowed(c: &BitVec, by: u32, signed: bool) -> Narrowed {
    let width = c.width() - by;
    let value = if signed { c.signed() } else { c.unsigned() };
    if value < BigInt::from(0) {
        Narrowed::Below
    } else if value >= power_of_two(width) {
        Narrowed::Above
    } else {
        Narrowed::Fits(bits(BitVec::new(width, &value)))
    }
}
