//! Floating-point constants and operators (SMT-LIB's FloatingPoint). Constants are folded only where the machine's
//! `f32` and `f64` give the IEEE result; everything else is left to the solver.

use super::{BitVec, FloatSort, Sort};

/// How a result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Rounding {
    /// To nearest, ties to even: C's default.
    NearestEven,
    /// To nearest, ties away from zero.
    NearestAway,
    /// Toward positive infinity.
    Up,
    /// Toward negative infinity.
    Down,
    /// Toward zero: C's conversion to integers.
    Zero,
}

impl Rounding {
    /// The SMT-LIB name.
    #[must_use]
    pub fn smtlib(self) -> &'static str {
        match self {
            Rounding::NearestEven => "RNE",
            Rounding::NearestAway => "RNA",
            Rounding::Up => "RTP",
            Rounding::Down => "RTN",
            Rounding::Zero => "RTZ",
        }
    }

    /// All of them.
    pub const ALL: [Rounding; 5] =
        [Rounding::NearestEven, Rounding::NearestAway, Rounding::Up, Rounding::Down, Rounding::Zero];
}

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

    /// Not a number.
    #[must_use]
    pub fn nan(sort: FloatSort) -> FloatConst {
        let fraction = sort.significand - 1;
        let quiet = super::bitvec::power_of_two(fraction - 1);
        let exponent = super::bitvec::power_of_two(sort.exponent) - 1;
        FloatConst { sort, bits: BitVec::new(sort.width(), &((exponent << fraction) + quiet)) }
    }

    /// From a C `float`.
    #[must_use]
    pub fn from_f32(value: f32) -> FloatConst {
        FloatConst::new(FloatSort::F32, BitVec::new(32, &value.to_bits().into()))
    }

    /// From a C `double`.
    #[must_use]
    pub fn from_f64(value: f64) -> FloatConst {
        FloatConst::new(FloatSort::F64, BitVec::new(64, &value.to_bits().into()))
    }

    /// The format.
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

    /// Its value, if it is a `float` or a `double`. Exact.
    #[must_use]
    pub fn to_f64(&self) -> Option<f64> {
        let bits = u64::try_from(self.bits.unsigned()).ok()?;
        match self.sort {
            FloatSort::F64 => Some(f64::from_bits(bits)),
            FloatSort::F32 => Some(f64::from(f32::from_bits(u32::try_from(bits).ok()?))),
            FloatSort { .. } => None,
        }
    }

    /// Rounds `value` (to nearest even) to this format.
    fn round(sort: FloatSort, value: f64) -> Option<FloatConst> {
        match sort {
            FloatSort::F64 => Some(FloatConst::from_f64(value)),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "rounding to nearest even is what is asked for"
            )]
            FloatSort::F32 => Some(FloatConst::from_f32(value as f32)),
            FloatSort { .. } => None,
        }
    }
}

/// The outcome of an operator on constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FloatResult {
    Float(FloatConst),
    Bool(bool),
    Bits(BitVec),
}

/// Applies `op` to floating-point constants, if the machine can do it exactly as IEEE 754 asks.
/// `float` goes through `double`: sum, difference, product, quotient and root rounded twice are rounded right
/// (the significand of `double` has at least 2·24+2 bits).
pub(crate) fn apply(op: FloatOp, args: &[FloatConst]) -> Option<FloatResult> {
    let sort = args.first()?.sort();
    let a = args.first()?.to_f64()?;
    let b = match args.get(1) {
        Some(b) => b.to_f64()?,
        None => 0.0,
    };
    let float = |value: f64| FloatConst::round(sort, value).map(FloatResult::Float);
    match op {
        FloatOp::Add(Rounding::NearestEven) => float(a + b),
        FloatOp::Sub(Rounding::NearestEven) => float(a - b),
        FloatOp::Mul(Rounding::NearestEven) => float(a * b),
        FloatOp::Div(Rounding::NearestEven) => float(a / b),
        FloatOp::Sqrt(Rounding::NearestEven) => float(a.sqrt()),
        FloatOp::RoundToIntegral(Rounding::NearestEven) => float(a.round_ties_even()),
        FloatOp::RoundToIntegral(Rounding::NearestAway) => float(a.round()),
        FloatOp::RoundToIntegral(Rounding::Up) => float(a.ceil()),
        FloatOp::RoundToIntegral(Rounding::Down) => float(a.floor()),
        FloatOp::RoundToIntegral(Rounding::Zero) => float(a.trunc()),
        FloatOp::Neg => float(-a),
        FloatOp::Abs => float(a.abs()),
        FloatOp::Eq => Some(FloatResult::Bool(a == b)),
        FloatOp::Lt => Some(FloatResult::Bool(a < b)),
        FloatOp::Le => Some(FloatResult::Bool(a <= b)),
        FloatOp::IsNan => Some(FloatResult::Bool(a.is_nan())),
        FloatOp::IsInfinite => Some(FloatResult::Bool(a.is_infinite())),
        FloatOp::IsZero => Some(FloatResult::Bool(a == 0.0)),
        FloatOp::IsNegative => Some(FloatResult::Bool(a.is_sign_negative() && !a.is_nan())),
        FloatOp::FromFloat(Rounding::NearestEven, to) => FloatConst::round(to, a).map(FloatResult::Float),
        FloatOp::ToSigned(rounding, width) => integral(rounding, a)
            .filter(|i| -(1i128 << (width.min(64) - 1)) <= *i && *i < (1i128 << (width.min(64) - 1)))
            .map(|i| FloatResult::Bits(BitVec::new(width, &i.into()))),
        FloatOp::ToUnsigned(rounding, width) => integral(rounding, a)
            .filter(|i| 0 <= *i && *i < (1i128 << width.min(64)))
            .map(|i| FloatResult::Bits(BitVec::new(width, &i.into()))),
        FloatOp::Add(_)
        | FloatOp::Sub(_)
        | FloatOp::Mul(_)
        | FloatOp::Div(_)
        | FloatOp::Sqrt(_)
        | FloatOp::Rem
        | FloatOp::FromFloat(..)
        | FloatOp::FromSigned(..)
        | FloatOp::FromUnsigned(..)
        | FloatOp::FromBits(_) => None,
    }
}

/// From a bit vector.
pub(crate) fn from_bits(op: FloatOp, bits: &BitVec) -> Option<FloatConst> {
    let exact = |value: i128, to: FloatSort| match to {
        #[expect(clippy::cast_precision_loss, reason = "rounding to nearest even is what is asked for")]
        FloatSort::F64 => Some(FloatConst::from_f64(value as f64)),
        #[expect(clippy::cast_precision_loss, reason = "rounding to nearest even is what is asked for")]
        FloatSort::F32 => Some(FloatConst::from_f32(value as f32)),
        FloatSort { .. } => None,
    };
    match op {
        FloatOp::FromBits(to) => Some(FloatConst::new(to, bits.clone())),
        FloatOp::FromSigned(Rounding::NearestEven, to) => exact(bits.signed().try_into().ok()?, to),
        FloatOp::FromUnsigned(Rounding::NearestEven, to) => exact(bits.unsigned().try_into().ok()?, to),
        _ => None,
    }
}

fn integral(rounding: Rounding, value: f64) -> Option<i128> {
    let rounded = match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::Up => value.ceil(),
        Rounding::Down => value.floor(),
        Rounding::Zero => value.trunc(),
    };
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked, the value is integral")]
    (rounded.abs() < 1e30).then_some(rounded as i128)
}
