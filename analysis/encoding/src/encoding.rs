//! The two encodings of C's values, behind one interface: mathematical integers with explicit wrap-around, and bit vectors with floats.
//! Must not know expressions, memory or its users.
//!
//! Integers are cheap and over-approximate: bit operations of two unknowns are bounded, floats are opaque. Bit vectors are exact for
//! every integer type, and for `float` and `double`.

use proofline_cfa::{Float, FloatType, IntType, LocalId, Scalar};
use proofline_smt::{Sort, Term, build as t, term::FloatSort};

use crate::state::Key;

/// Width of an address in formulas, whatever the data model: addresses are stand-ins that no program sees as numbers, so there is
/// room for regions that are apart.
pub(crate) const ADDRESS_BITS: u8 = 64;
const ADDRESS: IntType = IntType { bits: ADDRESS_BITS, signed: false };

/// How values become terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub enum Encoding {
    /// Mathematical integers.
    #[default]
    Integers,
    /// Bit vectors, and IEEE numbers.
    BitVectors,
}

/// The solver's format of a C format, where arithmetic is exact.
pub(crate) fn float_sort(ty: FloatType) -> Option<FloatSort> {
    match ty {
        FloatType::F32 => Some(FloatSort::F32),
        FloatType::F64 => Some(FloatSort::F64),
        FloatType::F16 | FloatType::F80 | FloatType::F128 => None,
    }
}

impl Encoding {
    /// Whether values are bit vectors.
    pub fn is_bits(self) -> bool {
        self == Encoding::BitVectors
    }

    /// The sort of a value. Floats that are not exact are tokens without meaning.
    pub fn sort(self, scalar: Scalar) -> Sort {
        match (self, scalar) {
            (Encoding::Integers, _) => Sort::Int,
            (Encoding::BitVectors, Scalar::Int(ty)) => Sort::BitVec(u32::from(ty.bits)),
            (Encoding::BitVectors, Scalar::Pointer) => self.address_sort(),
            (Encoding::BitVectors, Scalar::Float(ty)) => float_sort(ty).map_or(Sort::Int, Sort::Float),
        }
    }

    /// The sort of a part of the state; `local` is the format of the register, if it is one.
    pub fn sort_of(self, key: Key, local: impl FnOnce(LocalId) -> Option<Scalar>) -> Sort {
        match key {
            Key::Local(_, id) => local(id).map_or(Sort::Int, |scalar| self.sort(scalar)),
            Key::Cell(_, _, scalar) => self.sort(scalar),
            Key::Elements(_, _, _, scalar) => self.array(scalar),
        }
    }

    /// The sort of arrays of such values.
    pub fn array(self, scalar: Scalar) -> Sort {
        Sort::array(self.address_sort(), self.sort(scalar))
    }

    /// That a term is in the range of a format.
    pub fn in_range(self, term: Term, scalar: Scalar) -> Term {
        match (self, scalar) {
            (Encoding::BitVectors, _) | (_, Scalar::Float(_)) => t::bool(true),
            (Encoding::Integers, Scalar::Int(ty)) => crate::within(term, ty),
            (Encoding::Integers, Scalar::Pointer) => crate::within(term, ADDRESS),
        }
    }

    /// An integer of a type, given modulo 2^128.
    pub fn int(self, value: i128, ty: IntType) -> Term {
        match self {
            Encoding::Integers => t::int(value),
            Encoding::BitVectors => t::bv(value, u32::from(ty.bits)),
        }
    }

    /// A floating constant; nothing if the encoding does not know the format.
    pub fn float(self, value: Float) -> Option<Term> {
        (self.is_bits() && float_sort(value.format()).is_some()).then(|| crate::floats::constant(value))
    }

    /// What all bytes 0 are in a format.
    pub fn zero(self, scalar: Scalar) -> Term {
        match (self, scalar) {
            (_, Scalar::Int(ty)) => self.int(0, ty),
            (_, Scalar::Pointer) => self.address(0),
            (Encoding::BitVectors, Scalar::Float(ty)) => crate::floats::constant(Float::zero(ty)),
            (Encoding::Integers, Scalar::Float(_)) => t::int(0),
        }
    }

    /// That a value counts as false.
    pub(crate) fn is_zero(self, value: Term, scalar: Scalar) -> Term {
        t::eq(value, self.zero(scalar))
    }

    /// `low <= value <= high`
    pub fn between(self, value: Term, low: i128, high: i128, ty: IntType) -> Term {
        let (low, high) = (self.int(low, ty), self.int(high, ty));
        t::and([self.at_most(low, value, ty.signed), self.at_most(value, high, ty.signed)])
    }

    /// `a - b <= most` of values of these types, as whole numbers; `None` where that would have to be computed in wider numbers.
    pub fn differ_by(self, a: Term, b: Term, most: i128, types: (IntType, IntType)) -> Option<Term> {
        match (self, most) {
            (Encoding::Integers, _) => Some(t::le(a, t::add([b, t::int(most)]))),
            (Encoding::BitVectors, _) if types.0 != types.1 => None,
            (Encoding::BitVectors, 0) => Some(self.at_most(a, b, types.0.signed)),
            (Encoding::BitVectors, -1) => Some(t::not(self.at_most(b, a, types.0.signed))),
            (Encoding::BitVectors, _) => None,
        }
    }

    /// `a <= b` of two values of one type.
    pub(crate) fn at_most(self, a: Term, b: Term, signed: bool) -> Term {
        match self {
            Encoding::Integers => t::le(a, b),
            Encoding::BitVectors if signed => t::bvsle(a, b),
            Encoding::BitVectors => t::bvule(a, b),
        }
    }

    // ---- addresses, offsets, element numbers

    fn address_sort(self) -> Sort {
        match self {
            Encoding::Integers => Sort::Int,
            Encoding::BitVectors => Sort::BitVec(u32::from(ADDRESS_BITS)),
        }
    }

    /// An address or a distance of bytes.
    pub fn address(self, value: impl Into<i128>) -> Term {
        self.int(value.into(), ADDRESS)
    }

    /// A sum of addresses and distances.
    pub(crate) fn sum(self, parts: impl IntoIterator<Item = Term>) -> Term {
        match self {
            Encoding::Integers => t::add(parts),
            Encoding::BitVectors => parts.into_iter().fold(self.address(0), t::bvadd),
        }
    }

    pub(crate) fn minus(self, a: Term, b: Term) -> Term {
        match self {
            Encoding::Integers => t::sub(a, b),
            Encoding::BitVectors => t::bvsub(a, b),
        }
    }

    /// So many times.
    pub(crate) fn times(self, term: Term, factor: u64) -> Term {
        match self {
            Encoding::Integers => t::mul([term, t::int(factor)]),
            Encoding::BitVectors => t::bvmul(self.address(factor), term),
        }
    }

    /// A value of an integer type as a distance.
    pub(crate) fn widen(self, term: Term, ty: IntType) -> Term {
        match self {
            Encoding::Integers => term,
            Encoding::BitVectors => crate::vectors::resize(term, ty, ADDRESS),
        }
    }

    /// `a < b` of distances, which may be negative.
    pub(crate) fn before(self, a: Term, b: Term) -> Term {
        match self {
            Encoding::Integers => t::lt(a, b),
            Encoding::BitVectors => t::bvslt(a, b),
        }
    }

    /// `0 <= a < end`
    pub(crate) fn inside(self, a: Term, end: u64) -> Term {
        match self {
            Encoding::Integers => t::and([t::le(t::int(0), a), t::lt(a, t::int(end))]),
            Encoding::BitVectors => t::bvult(a, self.address(end)),
        }
    }
}
