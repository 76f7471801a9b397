//! The abstract values that memory cells hold: the lattice of scalar values that a region (`region.rs`, where the cells are) is built
//! over. Knows formats, no operators and no objects. "Any value" is none of them: it is the absence of one.

use std::{fmt::Debug, hash::Hash};

use proofline_cfa::Scalar;

/// A set of scalars other than "all of its format". Values of one cell have one format.
pub trait AbstractValue: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// Covers both; `None`: anything.
    fn join(&self, other: &Self, scalar: Scalar) -> Option<Self>;

    /// Whether everything in `self` is in `other`.
    fn leq(&self, other: &Self) -> bool;

    /// The one value of the format whose bits are all zero.
    fn zero(scalar: Scalar) -> Self;

    /// Whether the value is exactly the one whose bits are all zero.
    fn is_zero(&self) -> bool;

    /// The bits in memory (the low `len`), if they are known.
    fn bits(&self, scalar: Scalar, len: i64) -> Option<u128>;

    /// The value of a cell of `len` bits (for a bit-field fewer than its format has) that has these bits.
    fn from_bits(scalar: Scalar, len: i64, bits: u128) -> Option<Self>;

    /// The same `len` bits read in another format.
    fn reinterpret(&self, from: Scalar, to: Scalar, len: i64) -> Option<Self>;
}

/// Bits of a format's value in memory (of `long double` without its padding). Pointers: `pointer_bits`.
pub fn value_bits(scalar: Scalar, pointer_bits: u8) -> i64 {
    use proofline_cfa::FloatType;
    match scalar {
        Scalar::Int(ty) => 8 * ty.bytes().next_power_of_two() as i64,
        Scalar::Pointer => i64::from(pointer_bits),
        Scalar::Float(FloatType::F16) => 16,
        Scalar::Float(FloatType::F32) => 32,
        Scalar::Float(FloatType::F64) => 64,
        Scalar::Float(FloatType::F80) => 80,
        Scalar::Float(FloatType::F128) => 128,
    }
}
