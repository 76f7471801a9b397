//! Floating-point constants and operators (SMT-LIB's FloatingPoint). Constants of C's formats are folded, by `proofline_float`;
//! everything else is left to the solver.

use std::cmp::Ordering;

pub use proofline_float::Rounding;
use proofline_float::{Arithmetic, Float, Format};

use super::{BitVec, FloatSort, Sort};

/// An operator of the theory of floating-point numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FloatOp {
    /// Sum.
    Add(Rounding),
    /// Difference.
    Sub(Rounding),
    /// Product.
    Mul(Rounding),
    /// Quotient.
    Div(Rounding),
    /// Square root.
    Sqrt(Rounding),
    /// Nearest integral number.
    RoundToIntegral(Rounding),
    /// IEEE remainder.
    Rem,
    /// Sign change.
    Neg,
    /// Absolute value.
    Abs,
    /// IEEE equality: NaN equals nothing, -0 equals +0 (`=` is identity).
    Eq,
    /// IEEE `<`.
    Lt,
    /// IEEE `<=`.
    Le,
    /// Is not a number.
    IsNan,
    /// Is an infinity.
    IsInfinite,
    /// Is +0 or -0.
    IsZero,
    /// Has its sign bit set and is a number.
    IsNegative,
    /// Conversion between formats.
    FromFloat(Rounding, FloatSort),
    /// From a two's complement bit vector.
    FromSigned(Rounding, FloatSort),
    /// From an unsigned bit vector.
    FromUnsigned(Rounding, FloatSort),
    /// From the bits of the interchange format.
    FromBits(FloatSort),
    /// To a two's complement bit vector of this width; any value where the result does not fit.
    ToSigned(Rounding, u32),
    /// To an unsigned bit vector of this width; any value where the result does not fit.
    ToUnsigned(Rounding, u32),
}

impl FloatOp {
    pub(super) fn sort(self, args: &[Sort]) -> Option<Sort> {
        let float = |n: usize| {
            let first = args.first()?.float()?;
            (args.len() == n && args.iter().all(|s| *s == Sort::Float(first))).then_some(Sort::Float(first))
        };
        match self {
            FloatOp::Add(_) | FloatOp::Sub(_) | FloatOp::Mul(_) | FloatOp::Div(_) | FloatOp::Rem => float(2),
            FloatOp::Sqrt(_) | FloatOp::RoundToIntegral(_) | FloatOp::Neg | FloatOp::Abs => float(1),
            FloatOp::Eq | FloatOp::Lt | FloatOp::Le => float(2).map(|_| Sort::Bool),
            FloatOp::IsNan | FloatOp::IsInfinite | FloatOp::IsZero | FloatOp::IsNegative => {
                float(1).map(|_| Sort::Bool)
            }
            FloatOp::FromFloat(_, to) => float(1).map(|_| Sort::Float(to)),
            FloatOp::FromSigned(_, to) | FloatOp::FromUnsigned(_, to) => {
                matches!(args, [Sort::BitVec(_)]).then_some(Sort::Float(to))
            }
            FloatOp::FromBits(to) => (args == [Sort::BitVec(to.width())]).then_some(Sort::Float(to)),
            FloatOp::ToSigned(_, width) | FloatOp::ToUnsigned(_, width) => {
                float(1).filter(|_| width > 0).map(|_| Sort::BitVec(width))
            }
        }
    }
}

/// A floating-point number by its bits; there is one NaN per format.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FloatConst {
    sort: FloatSort,
    bits: BitVec,
}

impl FloatConst {
    /// The number with these bits (interchange format). Every NaN becomes the same one.
    ///
    /// # Panics
    /// If the width of the bits is not that of the format.
    #[must_use]
    pub fn new(sort: FloatSort, bits: BitVec) -> FloatConst {
        assert_eq!(sort.width(), bits.width(), "bits of the format");
        let this = FloatConst { sort, bits };
        if this.is_nan() { FloatConst::nan(sort) } else { this }
    }

    /// The only NaN of the format: quiet, positive, without a payload.
    #[must_use]
    pub fn nan(sort: FloatSort) -> FloatConst {
        let fraction = sort.significand - 1;
        let quiet = super::bitvec::power_of_two(fraction - 1);
        let exponent = super::bitvec::power_of_two(sort.exponent) - 1;
        FloatConst { sort, bits: BitVec::new(sort.width(), &((exponent << fraction) + quiet)) }
    }

    /// The number of a C `float`, exactly; every NaN becomes the one of [`FloatConst::nan`].
    #[must_use]
    pub fn from_f32(value: f32) -> FloatConst {
        FloatConst::from(Float::from_f32(value))
    }

    /// The number of a C `double`, exactly; every NaN becomes the one of [`FloatConst::nan`].
    #[must_use]
    pub fn from_f64(value: f64) -> FloatConst {
        FloatConst::from(Float::from_f64(value))
    }

    /// The format whose bits it has.
    #[must_use]
    pub fn sort(&self) -> FloatSort {
        self.sort
    }

    /// The bits of the interchange format.
    #[must_use]
    pub fn bits(&self) -> &BitVec {
        &self.bits
    }

    /// Sign bit, biased exponent, fraction.
    #[must_use]
    pub fn parts(&self) -> (BitVec, BitVec, BitVec) {
        let (width, fraction) = (self.sort.width(), self.sort.significand - 1);
        let sign = self.bits.extract(width - 1, width - 1);
        (sign, self.bits.extract(width - 2, fraction), self.bits.extract(fraction - 1, 0))
    }

    /// Whether it is NaN.
    #[must_use]
    pub fn is_nan(&self) -> bool {
        let (_, exponent, fraction) = self.parts();
        exponent.is_ones() && !fraction.is_zero()
    }

    /// The `f64` that equals it, if the format is one of C's and there is one.
    #[must_use]
    pub fn to_f64(&self) -> Option<f64> {
        self.number()?.to_f64()
    }

    /// The number, if the format is one of C's.
    #[must_use]
    pub fn number(&self) -> Option<Float> {
        let format = format(self.sort)?;
        let bits = u128::try_from(self.bits.unsigned()).ok()?;
        let bits = match format {
            // SMT-LIB leaves the integer bit out.
            Format::F80 => {
                let (upper, fraction) = (bits >> 63, bits & ((1 << 63) - 1));
                upper << 64 | u128::from(upper & 0x7fff != 0) << 63 | fraction
            }
            Format::F16 | Format::F32 | Format::F64 | Format::F128 => bits,
        };
        Float::from_bits(format, bits)
    }
}

impl From<Float> for FloatConst {
    fn from(value: Float) -> FloatConst {
        let sort = sort(value.format());
        let bits = match value.format() {
            Format::F80 => value.to_bits() >> 64 << 63 | value.to_bits() & ((1 << 63) - 1),
            Format::F16 | Format::F32 | Format::F64 | Format::F128 => value.to_bits(),
        };
        FloatConst::new(sort, BitVec::new(sort.width(), &bits.into()))
    }
}

fn sort(format: Format) -> FloatSort {
    let (exponent, significand) = match format {
        Format::F16 => (5, 11),
        Format::F32 => (8, 24),
        Format::F64 => (11, 53),
        Format::F80 => (15, 64),
        Format::F128 => (15, 113),
    };
    FloatSort { exponent, significand }
}

fn format(of: FloatSort) -> Option<Format> {
    Format::ALL.into_iter().find(|format| sort(*format) == of)
}

/// The outcome of an operator on constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FloatResult {
    Float(FloatConst),
    Bool(bool),
    Bits(BitVec),
}

/// Applies `op` to constants of C's formats. What SMT-LIB leaves open (a result that does not fit the bit vector) has no value.
pub(crate) fn apply(op: FloatOp, args: &[FloatConst]) -> Option<FloatResult> {
    let a = args.first()?.number()?;
    let b = match args.get(1) {
        Some(b) => b.number()?,
        None => a,
    };
    let float = |value: Float| Some(FloatResult::Float(value.into()));
    let arithmetic = |op, rounding| float(a.arithmetic(op, b, rounding).value);
    match op {
        FloatOp::Add(rounding) => arithmetic(Arithmetic::Add, rounding),
        FloatOp::Sub(rounding) => arithmetic(Arithmetic::Subtract, rounding),
        FloatOp::Mul(rounding) => arithmetic(Arithmetic::Multiply, rounding),
        FloatOp::Div(rounding) => arithmetic(Arithmetic::Divide, rounding),
        FloatOp::Sqrt(Rounding::NearestEven) => square_root(a).and_then(float),
        FloatOp::RoundToIntegral(rounding) => float(a.round_to_integral(rounding)),
        FloatOp::Neg => float(a.negated()),
        FloatOp::Abs => float(a.magnitude()),
        FloatOp::Eq => Some(FloatResult::Bool(a.compare(b) == Some(Ordering::Equal))),
        FloatOp::Lt => Some(FloatResult::Bool(a.compare(b) == Some(Ordering::Less))),
        FloatOp::Le => Some(FloatResult::Bool(a.compare(b).is_some_and(Ordering::is_le))),
        FloatOp::IsNan => Some(FloatResult::Bool(a.is_nan())),
        FloatOp::IsInfinite => Some(FloatResult::Bool(a.is_infinite())),
        FloatOp::IsZero => Some(FloatResult::Bool(a.is_zero())),
        FloatOp::IsNegative => Some(FloatResult::Bool(a.is_negative())),
        FloatOp::FromFloat(rounding, to) => float(a.convert(format(to)?, rounding).value),
        FloatOp::ToSigned(rounding, width) => {
            let whole = a.to_i128(rounding)?;
            let bits = BitVec::new(width, &whole.into());
            (bits.signed() == whole.into()).then_some(FloatResult::Bits(bits))
        }
        FloatOp::ToUnsigned(rounding, width) => {
            let whole = a.to_u128(rounding)?;
            let bits = BitVec::new(width, &whole.into());
            (bits.unsigned() == whole.into()).then_some(FloatResult::Bits(bits))
        }
        FloatOp::Sqrt(_)
        | FloatOp::Rem
        | FloatOp::FromSigned(..)
        | FloatOp::FromUnsigned(..)
        | FloatOp::FromBits(_) => None,
    }
}

/// The root rounded to nearest, where the machine computes it. That of a `float` goes through `double`: rounded twice it is rounded
/// right, for the significand of `double` has at least 2·24+2 bits.
fn square_root(of: Float) -> Option<Float> {
    if !matches!(of.format(), Format::F32 | Format::F64) {
        return None;
    }
    Some(Float::from_f64(of.to_f64()?.sqrt()).convert(of.format(), Rounding::NearestEven).value)
}

/// From a bit vector.
pub(crate) fn from_bits(op: FloatOp, bits: &BitVec) -> Option<FloatConst> {
    match op {
        FloatOp::FromBits(to) => Some(FloatConst::new(to, bits.clone())),
        FloatOp::FromSigned(rounding, to) => {
            Some(Float::from_i128(format(to)?, bits.signed().try_into().ok()?, rounding).value.into())
        }
        FloatOp::FromUnsigned(rounding, to) => {
            Some(Float::from_u128(format(to)?, bits.unsigned().try_into().ok()?, rounding).value.into())
        }
        FloatOp::Add(_)
        | FloatOp::Sub(_)
        | FloatOp::Mul(_)
        | FloatOp::Div(_)
        | FloatOp::Sqrt(_)
        | FloatOp::RoundToIntegral(_)
        | FloatOp::Rem
        | FloatOp::Neg
        | FloatOp::Abs
        | FloatOp::Eq
        | FloatOp::Lt
        | FloatOp::Le
        | FloatOp::IsNan
        | FloatOp::IsInfinite
        | FloatOp::IsZero
        | FloatOp::IsNegative
        | FloatOp::FromFloat(..)
        | FloatOp::ToSigned(..)
        | FloatOp::ToUnsigned(..) => None,
    }
}
