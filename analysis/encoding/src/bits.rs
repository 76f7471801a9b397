//! Bit operations over mathematical integers: exact where one operand is a constant, bounded otherwise.

use num_bigint::BigInt;
use proofline_cfa::{BinaryOp, IntType, Scalar};
use proofline_smt::{Term, build as t};

use crate::arithmetic::{ExprContext, unknown};

/// `a & b`, `a | b`, `a ^ b`
pub(crate) fn logical(op: BinaryOp, ty: IntType, a: Term, b: Term, context: &mut dyn ExprContext) -> Term {
    if a == b {
        return if op == BinaryOp::BitXor { t::int(0) } else { a };
    }
    let constant = |term: Term| term.as_int().and_then(|value| i128::try_from(value).ok());
    let (term, mask) = match (constant(a), constant(b)) {
        (Some(mask), _) => (b, mask),
        (_, Some(mask)) => (a, mask),
        (None, None) => return bounded(op, ty, a, b, context),
    };
    let Some(and) = and_constant(term, mask, ty) else { return bounded(op, ty, a, b, context) };
    match op {
        // a | m = a + m - (a & m), a ^ m = a + m - 2 (a & m): true bit by bit, and for two's complement as a whole.
        BinaryOp::BitOr => t::sub(t::add([term, t::int(mask)]), and),
        BinaryOp::BitXor => t::sub(t::add([term, t::int(mask)]), t::mul([t::int(2), and])),
        _ => and,
    }
}

/// `a & mask` as a sum over the mask's runs of ones. Floor division is arithmetic shift, so negative values are right too.
fn and_constant(a: Term, mask: i128, ty: IntType) -> Option<Term> {
    if mask < 0 {
        // a & m = a - (a & ~m)
        return Some(t::sub(a, and_constant(a, !mask, ty)?));
    }
    if mask == 0 {
        return Some(t::int(0));
    }
    if !ty.signed && mask == ty.max() {
        return Some(a);
    }
    let mut parts = Vec::new();
    let mut rest = mask as u128;
    while rest != 0 {
        if parts.len() == 4 {
            return None;
        }
        let low = rest.trailing_zeros();
        let run = (!(rest >> low)).trailing_zeros();
        let power = |n: u32| t::int(BigInt::from(1) << n);
        let shifted = if low == 0 { a } else { t::div(a, power(low)) };
        parts.push(t::mul([t::modulo(shifted, power(run)), power(low)]));
        rest = rest >> low >> run << run << low;
    }
    Some(t::add(parts))
}

fn bounded(op: BinaryOp, ty: IntType, a: Term, b: Term, context: &mut dyn ExprContext) -> Term {
    let result = unknown(context, Scalar::Int(ty));
    let zero = t::int(0);
    let both = t::and([t::le(zero, a), t::le(zero, b)]);
    let bound = match op {
        BinaryOp::BitAnd => t::and([t::le(zero, result), t::le(result, a), t::le(result, b)]),
        BinaryOp::BitOr => t::and([t::le(a, result), t::le(b, result), t::le(result, t::add([a, b]))]),
        _ => t::and([t::le(zero, result), t::le(result, t::add([a, b]))]),
    };
    context.assume(t::implies(both, bound));
    if op == BinaryOp::BitAnd {
        // A non-negative operand bounds the result, whatever the other is.
        for operand in [a, b] {
            let at_most = t::and([t::le(zero, result), t::le(result, operand)]);
            context.assume(t::implies(t::le(zero, operand), at_most));
        }
    }
    result
}

/// Shifts by an amount that is no constant.
pub(crate) fn shift(op: BinaryOp, ty: IntType, a: Term, b: Term, context: &mut dyn ExprContext) -> Term {
    if let Some(value) = a.as_int().cloned() {
        // A constant shifted: one case per amount. The obligation before says that the amount is in range.
        let mut cases = t::int(0);
        for amount in (0..u32::from(ty.bits)).rev() {
            let shifted = if op == BinaryOp::Shl { &value << amount } else { &value >> amount };
            let shifted =
                i128::try_from(&shifted).map_or_else(|_| t::int(shifted.clone()), |v| t::int(ty.wrap(v)));
            cases = t::ite(t::eq(b, t::int(i128::from(amount))), shifted, cases);
        }
        return cases;
    }
    let result = unknown(context, Scalar::Int(ty));
    if op == BinaryOp::Shr {
        let non_negative = t::le(t::int(0), a);
        let bound = t::and([t::le(t::int(0), result), t::le(result, a)]);
        context.assume(t::implies(non_negative, bound));
    }
    result
}
