//! Explicit values [EXP12 §II-C]: one known scalar. Knows no state.

use proofline_cfa::{FloatType, IntType, Name, Object, Scalar, eval};
use serde::{Deserialize, Serialize};

use crate::store::CellValue;

/// A known scalar. The null pointer is `Int(0)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Known {
    /// An integer, in the range of its type; or a pointer with this address.
    Int(i128),
    /// Bits of an `f64` that equals the value.
    Float(u64),
    /// So many bytes from the start of an object (of some instance of it, when there may be several).
    Address(Object, i64),
    /// A function.
    Function(Name),
}

impl CellValue for Known {
    fn join(&self, other: &Known, _: Scalar) -> Option<Known> {
        (self == other).then_some(*self)
    }

    fn leq(&self, other: &Known) -> bool {
        self == other
    }

    fn zero(scalar: Scalar) -> Known {
        match scalar {
            Scalar::Int(_) | Scalar::Pointer => Known::Int(0),
            Scalar::Float(_) => Known::Float(0),
        }
    }

    fn is_zero(&self) -> bool {
        matches!(self, Known::Int(0) | Known::Float(0))
    }

    fn bits(&self, scalar: Scalar, len: i64) -> Option<u128> {
        known_bits(
            match self {
                Known::Int(value) => eval::Value::Int(*value),
                Known::Float(bits) => eval::Value::Float(*bits),
                Known::Address(..) | Known::Function(_) => return None,
            },
            scalar,
            len,
        )
    }

    fn from_bits(scalar: Scalar, len: i64, bits: u128) -> Option<Known> {
        Some(match bits_known(scalar, len, bits)? {
            eval::Value::Int(value) => Known::Int(value),
            eval::Value::Float(bits) => Known::Float(bits),
        })
    }

    fn reinterpret(&self, from: Scalar, to: Scalar, len: i64) -> Option<Known> {
        match (self, to) {
            (Known::Int(_) | Known::Float(_), _) => Known::from_bits(to, len, self.bits(from, len)?),
            (Known::Address(..) | Known::Function(_), Scalar::Int(_) | Scalar::Pointer) => Some(*self),
            (Known::Address(..) | Known::Function(_), Scalar::Float(_)) => None,
        }
    }
}

/// Bits in memory of a constant.
pub(crate) fn known_bits(value: eval::Value, scalar: Scalar, len: i64) -> Option<u128> {
    let raw = match (value, scalar) {
        (eval::Value::Int(value), Scalar::Int(_) | Scalar::Pointer) => value as u128,
        (eval::Value::Float(bits), Scalar::Float(ty)) => {
            let value = f64::from_bits(bits);
            if value.is_nan() {
                return None;
            }
            match ty {
                FloatType::F32 => u128::from((value as f32).to_bits()),
                FloatType::F64 => u128::from(bits),
                FloatType::F16 | FloatType::F80 | FloatType::F128 => return (bits == 0).then_some(0),
            }
        }
        (eval::Value::Int(_), Scalar::Float(_))
        | (eval::Value::Float(_), Scalar::Int(_) | Scalar::Pointer) => return None,
    };
    Some(if len >= 128 { raw } else { raw & ((1u128 << len) - 1) })
}

/// The constant with these `len` bits in memory.
pub(crate) fn bits_known(scalar: Scalar, len: i64, bits: u128) -> Option<eval::Value> {
    match scalar {
        Scalar::Int(ty) => {
            let bits_of_field = u8::try_from(len).map_or(ty.bits, |len| len.min(ty.bits));
            let field = IntType { bits: bits_of_field, ..ty };
            eval::int::cast(field, bits as i128).map(eval::Value::Int)
        }
        Scalar::Pointer => i128::try_from(bits).ok().map(eval::Value::Int),
        Scalar::Float(FloatType::F32) => {
            let value = f64::from(f32::from_bits(bits as u32));
            Some(eval::Value::Float(eval::float::canonical(value.to_bits())))
        }
        Scalar::Float(FloatType::F64) => Some(eval::Value::Float(eval::float::canonical(bits as u64))),
        Scalar::Float(FloatType::F16 | FloatType::F80 | FloatType::F128) => {
            (bits == 0).then_some(eval::Value::Float(0))
        }
    }
}
