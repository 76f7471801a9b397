//! C's floats over the solver's IEEE numbers, rounding to nearest: exact for `float` and `double`. There is one NaN.

use proofline_cfa::{BinaryOp, CompareOp, Float, FloatType, IntType, UnaryOp};
use proofline_smt::{
    Term, build as t,
    term::{BitVec, FloatConst, FloatOp, Rounding},
};

use crate::encoding::float_sort;

const NEAREST: Rounding = Rounding::NearestEven;

/// The constant; of formats that are not exact a token.
pub(crate) fn constant(value: Float) -> Term {
    match value.format() {
        FloatType::F32 | FloatType::F64 => t::float(FloatConst::from(value)),
        FloatType::F16 | FloatType::F80 | FloatType::F128 => token(value),
    }
}

/// A number that stands for a constant; nothing but equality of constants can be seen in it.
pub(crate) fn token(value: Float) -> Term {
    match value.to_f64() {
        Some(double) => t::int(double.to_bits()),
        None => t::int(num_bigint::BigInt::from(value.to_bits()) << 64),
    }
}

/// `op a`; `None` if there is no such operation.
pub(crate) fn unary(op: UnaryOp, a: Term) -> Option<Term> {
    match op {
        UnaryOp::Negate => Some(t::fp(FloatOp::Neg, &[a])),
        UnaryOp::BitNot => None,
    }
}

/// `a op b`; `None` if there is no such operation.
pub(crate) fn binary(op: BinaryOp, a: Term, b: Term) -> Option<Term> {
    let op = match op {
        BinaryOp::Add => FloatOp::Add(NEAREST),
        BinaryOp::Sub => FloatOp::Sub(NEAREST),
        BinaryOp::Mul => FloatOp::Mul(NEAREST),
        BinaryOp::Div => FloatOp::Div(NEAREST),
        BinaryOp::Rem
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor => return None,
    };
    Some(t::fp(op, &[a, b]))
}

/// `a op b`; with NaN only `!=` holds.
pub(crate) fn compare(op: CompareOp, a: Term, b: Term) -> Term {
    match op {
        CompareOp::Lt => t::fp(FloatOp::Lt, &[a, b]),
        CompareOp::Le => t::fp(FloatOp::Le, &[a, b]),
        CompareOp::Gt => t::fp(FloatOp::Lt, &[b, a]),
        CompareOp::Ge => t::fp(FloatOp::Le, &[b, a]),
        CompareOp::Eq => t::fp(FloatOp::Eq, &[a, b]),
        CompareOp::Ne => t::not(t::fp(FloatOp::Eq, &[a, b])),
    }
}

/// That it counts as true: NaN does.
pub(crate) fn truth(a: Term) -> Term {
    t::not(t::fp(FloatOp::IsZero, &[a]))
}

/// Conversion between formats.
pub(crate) fn convert(to: FloatType, a: Term) -> Option<Term> {
    Some(t::fp(FloatOp::FromFloat(NEAREST, float_sort(to)?), &[a]))
}

/// Conversion of an integer.
pub(crate) fn from_int(to: FloatType, a: Term, from: IntType) -> Option<Term> {
    let sort = float_sort(to)?;
    let op =
        if from.signed { FloatOp::FromSigned(NEAREST, sort) } else { FloatOp::FromUnsigned(NEAREST, sort) };
    Some(t::fp(op, &[a]))
}

/// Conversion to an integer, and the condition under which it is defined: truncated, it is in range.
pub(crate) fn to_int(to: IntType, a: Term, from: FloatType) -> (Term, Term) {
    let width = u32::from(to.bits);
    let op = if to.signed {
        FloatOp::ToSigned(Rounding::Zero, width)
    } else {
        FloatOp::ToUnsigned(Rounding::Zero, width)
    };
    let whole = t::fp(FloatOp::RoundToIntegral(Rounding::Zero), &[a]);
    let power = |exponent: u8| 2f64.powi(i32::from(exponent));
    let (low, end) =
        if to.signed { (-power(to.bits - 1), power(to.bits - 1)) } else { (0.0, power(to.bits)) };
    let limit = |value: f64| constant(Float::from_f64(value).convert(from, NEAREST).value);
    let defined =
        t::and([t::fp(FloatOp::Le, &[limit(low), whole]), t::fp(FloatOp::Lt, &[whole, limit(end)])]);
    (t::fp(op, &[a]), defined)
}

/// The number with these bits.
pub(crate) fn from_bits(bits: Term, ty: FloatType) -> Option<Term> {
    Some(t::fp(FloatOp::FromBits(float_sort(ty)?), &[bits]))
}

/// The bits of a constant, unless it is NaN, whose bits are not known.
pub(crate) fn bits_of_constant(a: Term) -> Option<BitVec> {
    match a.op() {
        proofline_smt::Op::Float(constant) if !constant.is_nan() => Some(constant.bits().clone()),
        _ => None,
    }
}
