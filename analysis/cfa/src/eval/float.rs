//! IEEE arithmetic, rounding to nearest, on the formats that Rust has. A value is the bits of an `f64` that equals it,
//! whatever its format; arithmetic of formats other than `float` and `double` is `None` unless it cannot round.

use crate::{
    expr::{BinaryOp, CompareOp, UnaryOp},
    scalar::{FloatType, IntType},
};

/// The one NaN: sign and payload of a real one are unknown, so its bytes must be treated as unknown.
pub const NAN: u64 = 0x7ff8_0000_0000_0000;

/// The same value with NaN made [`NAN`].
pub fn canonical(bits: u64) -> u64 {
    if f64::from_bits(bits).is_nan() { NAN } else { bits }
}

fn from_f64(value: f64) -> u64 {
    canonical(value.to_bits())
}

/// `op arg`. Negation is exact in every format; that of zero is `-0.0`.
pub fn unary(op: UnaryOp, _ty: FloatType, arg: u64) -> Option<u64> {
    match op {
        UnaryOp::Negate => Some(from_f64(-f64::from_bits(arg))),
        UnaryOp::BitNot => None,
    }
}

/// `lhs op rhs` in `ty`. Division by zero is infinite or NaN.
pub fn binary(op: BinaryOp, ty: FloatType, lhs: u64, rhs: u64) -> Option<u64> {
    let (lhs, rhs) = (f64::from_bits(lhs), f64::from_bits(rhs));
    match ty {
        FloatType::F64 => match op {
            BinaryOp::Add => Some(from_f64(lhs + rhs)),
            BinaryOp::Sub => Some(from_f64(lhs - rhs)),
            BinaryOp::Mul => Some(from_f64(lhs * rhs)),
            BinaryOp::Div => Some(from_f64(lhs / rhs)),
            BinaryOp::Rem
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor => None,
        },
        FloatType::F32 => {
            let (lhs, rhs) = (lhs as f32, rhs as f32);
            match op {
                BinaryOp::Add => Some(from_f64(f64::from(lhs + rhs))),
                BinaryOp::Sub => Some(from_f64(f64::from(lhs - rhs))),
                BinaryOp::Mul => Some(from_f64(f64::from(lhs * rhs))),
                BinaryOp::Div => Some(from_f64(f64::from(lhs / rhs))),
                BinaryOp::Rem
                | BinaryOp::Shl
                | BinaryOp::Shr
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor => None,
            }
        }
        FloatType::F16 | FloatType::F80 | FloatType::F128 => None,
    }
}

/// `lhs op rhs`; with NaN only `!=` holds.
pub fn compare(op: CompareOp, lhs: u64, rhs: u64) -> bool {
    let (lhs, rhs) = (f64::from_bits(lhs), f64::from_bits(rhs));
    match op {
        CompareOp::Lt => lhs < rhs,
        CompareOp::Le => lhs <= rhs,
        CompareOp::Gt => lhs > rhs,
        CompareOp::Ge => lhs >= rhs,
        CompareOp::Eq => lhs == rhs,
        CompareOp::Ne => lhs != rhs,
    }
}

/// Conversion between formats.
pub fn cast(to: FloatType, bits: u64) -> Option<u64> {
    let value = f64::from_bits(bits);
    match to {
        FloatType::F32 => Some(from_f64(f64::from(value as f32))),
        // Each holds every `f64`.
        FloatType::F64 | FloatType::F80 | FloatType::F128 => Some(canonical(bits)),
        FloatType::F16 => None,
    }
}

/// Conversion of an integer, rounding to nearest.
pub fn from_int(to: FloatType, value: i128) -> Option<u64> {
    match to {
        FloatType::F32 => Some(from_f64(f64::from(value as f32))),
        FloatType::F64 => Some(from_f64(value as f64)),
        // Both hold what `f64` holds exactly; of anything else their rounding is not computed here.
        FloatType::F80 | FloatType::F128 => {
            let near = value as f64;
            (near < 2f64.powi(127) && near as i128 == value).then(|| from_f64(near))
        }
        FloatType::F16 => None,
    }
}

/// Conversion to an integer: truncates; undefined (`None`) for NaN and when the truncated value is out of range.
pub fn to_int(to: IntType, bits: u64) -> Option<i128> {
    let value = f64::from_bits(bits).trunc();
    let limit = 2f64.powi(127);
    if !(value >= -limit && value < limit) {
        return None;
    }
    super::int::representable(to, value as i128)
}
