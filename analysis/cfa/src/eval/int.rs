//! Integer arithmetic of C on `i128`. Values are in the range of their type; of `unsigned __int128` only the lower half
//! can be said, everything else is `None`.

use super::Overflow;
use crate::{
    expr::{BinaryOp, CompareOp, UnaryOp},
    scalar::IntType,
};

/// `value` if it is a value of `ty` that `i128` can hold.
pub fn representable(ty: IntType, value: i128) -> Option<i128> {
    ty.contains(value).then_some(value)
}

/// `(to)value`: modulo 2^bits.
pub fn cast(to: IntType, value: i128) -> Option<i128> {
    representable(to, to.wrap(value))
}

/// `op arg` in `ty`.
pub fn unary(op: UnaryOp, ty: IntType, arg: i128, overflow: Overflow) -> Option<i128> {
    match op {
        UnaryOp::Negate => binary(BinaryOp::Sub, ty, 0, arg, overflow),
        // Of `unsigned __int128` the complement of a small value is large, and the other way round.
        UnaryOp::BitNot => representable(ty, arg).and_then(|arg| cast(ty, !arg)),
    }
}

/// `lhs op rhs` in `ty`; of a shift `rhs` may have another type. What is shifted to the left wraps around whatever the mode: no check asks about it,
/// and compilers define it so.
pub fn binary(op: BinaryOp, ty: IntType, lhs: i128, rhs: i128, overflow: Overflow) -> Option<i128> {
    representable(ty, lhs)?;
    if !is_shift(op) {
        representable(ty, rhs)?;
    }
    let bits = i128::from(ty.bits);
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
            let exact = match op {
                BinaryOp::Add => lhs.checked_add(rhs),
                BinaryOp::Sub => lhs.checked_sub(rhs),
                _ => lhs.checked_mul(rhs),
            };
            if let Some(exact) = exact.filter(|value| ty.contains(*value)) {
                return Some(exact);
            }
            if ty.signed && overflow == Overflow::Undefined {
                return None;
            }
            // 2^bits divides 2^128, so wrapping in 128 bits first changes nothing.
            let wrapped = match op {
                BinaryOp::Add => lhs.wrapping_add(rhs),
                BinaryOp::Sub => lhs.wrapping_sub(rhs),
                _ => lhs.wrapping_mul(rhs),
            };
            cast(ty, wrapped)
        }
        // The quotient of the smallest value by -1 traps whatever the mode.
        BinaryOp::Div => lhs.checked_div(rhs).and_then(|value| representable(ty, value)),
        BinaryOp::Rem => {
            lhs.checked_div(rhs).and_then(|value| representable(ty, value))?;
            lhs.checked_rem(rhs)
        }
        BinaryOp::Shl => {
            if !(0..bits).contains(&rhs) {
                return None;
            }
            if !ty.is_exact() && lhs > i128::MAX >> rhs {
                return None;
            }
            cast(ty, lhs << rhs)
        }
        BinaryOp::Shr => (0..bits).contains(&rhs).then(|| lhs >> rhs),
        BinaryOp::BitAnd => Some(lhs & rhs),
        BinaryOp::BitOr => Some(lhs | rhs),
        BinaryOp::BitXor => Some(lhs ^ rhs),
    }
}

/// `lhs op rhs`
pub fn compare(op: CompareOp, lhs: i128, rhs: i128) -> bool {
    match op {
        CompareOp::Lt => lhs < rhs,
        CompareOp::Le => lhs <= rhs,
        CompareOp::Gt => lhs > rhs,
        CompareOp::Ge => lhs >= rhs,
        CompareOp::Eq => lhs == rhs,
        CompareOp::Ne => lhs != rhs,
    }
}

/// Whether the mathematical result is outside `ty`. Of `Rem` the quotient counts; of shifts `lhs · 2^rhs`. `None` where
/// there is no mathematical result (division by zero, shift amount out of range) or it cannot be said.
pub fn overflows(op: BinaryOp, ty: IntType, lhs: i128, rhs: i128) -> Option<bool> {
    representable(ty, lhs)?;
    if !is_shift(op) {
        representable(ty, rhs)?;
    }
    let outside = |result: Option<i128>| match result {
        Some(value) if ty.contains(value) => Some(false),
        Some(value) if value < 0 || ty.is_exact() => Some(true),
        // Between 2^127 and 2^128, or beyond: `unsigned __int128` may still hold it.
        Some(_) => None,
        None if ty.is_exact() => Some(true),
        None => None,
    };
    match op {
        BinaryOp::Add => outside(lhs.checked_add(rhs)),
        BinaryOp::Sub => outside(lhs.checked_sub(rhs)),
        BinaryOp::Mul => outside(lhs.checked_mul(rhs)),
        BinaryOp::Div | BinaryOp::Rem if rhs == 0 => None,
        BinaryOp::Div | BinaryOp::Rem => outside(lhs.checked_div(rhs)),
        BinaryOp::Shl if !(0..i128::from(ty.bits)).contains(&rhs) => None,
        BinaryOp::Shl => {
            let fits = lhs <= i128::MAX >> rhs && lhs >= i128::MIN >> rhs;
            outside(fits.then(|| lhs << rhs))
        }
        BinaryOp::Shr if !(0..i128::from(ty.bits)).contains(&rhs) => None,
        BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => Some(false),
    }
}

fn is_shift(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Shl | BinaryOp::Shr)
}
