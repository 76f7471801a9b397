//! C's operators on floating values, rounding to nearest. `None` where a value is not certain: of `_Float16`, which compilers may compute in
//! a wider format, wherever the result was rounded.

use std::cmp::Ordering;

use proofline_float::{Arithmetic, Float, Rounding};

use crate::{
    FloatType,
    expr::{BinaryOp, CompareOp, UnaryOp},
    scalar::IntType,
};

/// C's rounding, unless the program asks for another.
const NEAREST: Rounding = Rounding::NearestEven;

/// `op arg`. Negation is exact in every format; that of zero is `-0.0`.
pub fn unary(op: UnaryOp, arg: Float) -> Option<Float> {
    match op {
        UnaryOp::Negate => Some(arg.negated()),
        UnaryOp::BitNot => None,
    }
}

/// `lhs op rhs`, of one format. Division by zero is infinite or NaN.
pub fn binary(op: BinaryOp, lhs: Float, rhs: Float) -> Option<Float> {
    let op = match op {
        BinaryOp::Add => Arithmetic::Add,
        BinaryOp::Sub => Arithmetic::Subtract,
        BinaryOp::Mul => Arithmetic::Multiply,
        BinaryOp::Div => Arithmetic::Divide,
        BinaryOp::Rem
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor => return None,
    };
    if lhs.format() != rhs.format() {
        return None;
    }
    lhs.arithmetic(op, rhs, NEAREST).certain()
}

/// `lhs op rhs`, of one format; with NaN only `!=` holds.
pub fn compare(op: CompareOp, lhs: Float, rhs: Float) -> Option<bool> {
    if lhs.format() != rhs.format() {
        return None;
    }
    let order = lhs.compare(rhs);
    Some(match op {
        CompareOp::Lt => order == Some(Ordering::Less),
        CompareOp::Le => order.is_some_and(Ordering::is_le),
        CompareOp::Gt => order == Some(Ordering::Greater),
        CompareOp::Ge => order.is_some_and(Ordering::is_ge),
        CompareOp::Eq => order == Some(Ordering::Equal),
        CompareOp::Ne => order != Some(Ordering::Equal),
    })
}

/// Conversion between formats.
pub fn cast(to: FloatType, value: Float) -> Option<Float> {
    value.convert(to, NEAREST).certain()
}

/// Conversion of an integer.
pub fn from_int(to: FloatType, value: i128) -> Option<Float> {
    Float::from_i128(to, value, NEAREST).certain()
}

/// Conversion to an integer: truncates; undefined (`None`) for NaN and when the truncated value is out of range.
pub fn to_int(to: IntType, value: Float) -> Option<i128> {
    super::int::representable(to, value.to_i128(Rounding::Zero)?)
}
