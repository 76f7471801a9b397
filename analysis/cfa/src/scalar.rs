//! The types of values on edges: what an operation sees of a C type once layout is decided.

use std::fmt;

use proofline_float::Format as FloatType;
use serde::{Deserialize, Serialize};

/// An integer format. `_Bool` is 8 bits unsigned holding 0 or 1; an enum is its integer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IntType {
    /// Width in bits: 1..=128 (odd widths only for bit-fields and for wide intermediate results).
    pub bits: u8,
    /// Two's complement, or not.
    pub signed: bool,
}

/// The format of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scalar {
    /// Integer.
    Int(IntType),
    /// Floating point.
    Float(FloatType),
    /// Address (of an object or a function); width from the program's data model.
    Pointer,
}

impl IntType {
    /// `int` of both data models.
    pub const INT: IntType = IntType { bits: 32, signed: true };
    /// Truth values of comparisons are `int`s 0 and 1.
    pub const BOOL: IntType = IntType { bits: 8, signed: false };

    /// Smallest value. For 128-bit types as far as `i128` goes (see [`IntType::is_exact`]).
    pub fn min(self) -> i128 {
        if !self.signed {
            0
        } else if self.bits >= 128 {
            i128::MIN
        } else {
            -(1i128 << (self.bits - 1))
        }
    }

    /// Largest value; for `unsigned __int128` this is `i128::MAX`, see [`IntType::is_exact`].
    pub fn max(self) -> i128 {
        if self.bits >= 128 {
            i128::MAX
        } else if self.signed {
            (1i128 << (self.bits - 1)) - 1
        } else {
            (1i128 << self.bits) - 1
        }
    }

    /// Whether every value of the type is an `i128`: false only for `unsigned __int128`, whose values analyses must
    /// treat as unknown.
    pub fn is_exact(self) -> bool {
        self.signed || self.bits < 128
    }

    /// Whether the value is in range.
    pub fn contains(self, value: i128) -> bool {
        self.min() <= value && value <= self.max()
    }

    /// The value modulo 2^bits, in range: what a conversion to this type gives. Law: `contains(wrap(v))`, `wrap(v) ≡ v (mod 2^bits)`.
    pub fn wrap(self, value: i128) -> i128 {
        if self.bits >= 128 {
            return value;
        }
        let shift = 128 - u32::from(self.bits);
        if self.signed { (value << shift) >> shift } else { ((value as u128) << shift >> shift) as i128 }
    }

    /// Width in bytes, rounded up.
    pub fn bytes(self) -> u64 {
        u64::from(self.bits).div_ceil(8)
    }
}

impl fmt::Display for IntType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.signed { 'i' } else { 'u' }, self.bits)
    }
}
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Int(int) => int.fmt(f),
            Scalar::Float(FloatType::F16) => f.write_str("f16"),
            Scalar::Float(FloatType::F32) => f.write_str("f32"),
            Scalar::Float(FloatType::F64) => f.write_str("f64"),
            Scalar::Float(FloatType::F80) => f.write_str("f80"),
            Scalar::Float(FloatType::F128) => f.write_str("f128"),
            Scalar::Pointer => f.write_str("ptr"),
        }
    }
}
