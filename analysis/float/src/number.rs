//! One number of a format: its bits, arithmetic, comparison and conversion.

use std::cmp::Ordering;

use rustc_apfloat::{Float as _, FloatConvert, Round, Status, StatusAnd, ieee};
use serde::{Deserialize, Serialize};

use crate::{Format, Rounding};

/// A number of a format, or an infinity, or "not a number".
///
/// Equality, hash and order are of the representation (`-0` and `+0` differ, a NaN equals itself); what C's operators say is
/// [`Float::compare`]. Every NaN that an operation gives is [`Float::nan`]: sign and payload of a real one are not known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Float {
    format: Format,
    // Two halves, not a `u128`: the alignment of one would make every value of the domains larger.
    high: u64,
    low: u64,
}

/// A result, and whether the format holds it without rounding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rounded {
    /// The number of the format.
    pub value: Float,
    /// It is what mathematics gives: nothing was rounded, and nothing overflowed.
    pub exact: bool,
}

impl Rounded {
    /// The number, where every implementation of C computes it. Compilers may compute `_Float16` in a wider format and round later
    /// (C11 5.2.4.2.2p9), so of that format only exact results are certain.
    pub fn certain(self) -> Option<Float> {
        (self.exact || self.value.format != Format::F16).then_some(self.value)
    }
}

/// The operations of arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Evaluates an expression with a name for the type that computes in a format.
macro_rules! in_format {
    ($format:expr, $F:ident => $value:expr) => {
        match $format {
            Format::F16 => {
                type $F = ieee::Half;
                $value
            }
            Format::F32 => {
                type $F = ieee::Single;
                $value
            }
            Format::F64 => {
                type $F = ieee::Double;
                $value
            }
            Format::F80 => {
                type $F = ieee::X87DoubleExtended;
                $value
            }
            Format::F128 => {
                type $F = ieee::Quad;
                $value
            }
        }
    };
}
pub(crate) use in_format;

impl From<Rounding> for Round {
    fn from(rounding: Rounding) -> Round {
        match rounding {
            Rounding::NearestEven => Round::NearestTiesToEven,
            Rounding::NearestAway => Round::NearestTiesToAway,
            Rounding::Up => Round::TowardPositive,
            Rounding::Down => Round::TowardNegative,
            Rounding::Zero => Round::TowardZero,
        }
    }
}

/// The result of an operation in a format.
pub(crate) fn rounded<F: rustc_apfloat::Float>(format: Format, result: StatusAnd<F>) -> Rounded {
    Rounded { value: Float::of(format, result.value), exact: result.status == Status::OK }
}

impl Float {
    fn of<F: rustc_apfloat::Float>(format: Format, value: F) -> Float {
        let bits = if value.is_nan() { F::NAN.to_bits() } else { value.to_bits() };
        Float { format, high: (bits >> 64) as u64, low: bits as u64 }
    }

    /// Positive zero.
    pub fn zero(format: Format) -> Float {
        Float { format, high: 0, low: 0 }
    }

    /// Positive infinity.
    pub fn infinity(format: Format) -> Float {
        in_format!(format, F => Float::of(format, F::INFINITY))
    }

    /// Not a number.
    pub fn nan(format: Format) -> Float {
        in_format!(format, F => Float::of(format, F::NAN))
    }

    /// The number with these bits (of x87: 80 of them; higher ones are ignored). `None`: the processor takes them for no number at all,
    /// which only x87 has (the integer bit contradicts the exponent).
    pub fn from_bits(format: Format, bits: u128) -> Option<Float> {
        let bits = if format.width() == 128 { bits } else { bits & ((1 << format.width()) - 1) };
        if format == Format::F80 && (bits >> 63 & 1 == 1) != (bits >> 64 & 0x7fff != 0) {
            return None;
        }
        Some(Float { format, high: (bits >> 64) as u64, low: bits as u64 })
    }

    /// The same with every NaN made [`Float::nan`].
    #[must_use]
    pub fn canonical(self) -> Float {
        if self.is_nan() { Float::nan(self.format) } else { self }
    }

    /// Its bits.
    pub fn to_bits(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    /// A `double`.
    pub fn from_f64(value: f64) -> Float {
        Float { format: Format::F64, high: 0, low: value.to_bits() }
    }

    /// A `float`.
    pub fn from_f32(value: f32) -> Float {
        Float { format: Format::F32, high: 0, low: value.to_bits().into() }
    }

    /// The `f64` that equals it; `None`: none does.
    pub fn to_f64(self) -> Option<f64> {
        let double = self.convert(Format::F64, Rounding::NearestEven);
        double.exact.then(|| f64::from_bits(double.value.low))
    }

    /// Its format.
    pub fn format(self) -> Format {
        self.format
    }

    /// Whether it is not a number.
    pub fn is_nan(self) -> bool {
        in_format!(self.format, F => F::from_bits(self.to_bits()).is_nan())
    }

    /// Whether it is an infinity.
    pub fn is_infinite(self) -> bool {
        in_format!(self.format, F => F::from_bits(self.to_bits()).is_infinite())
    }

    /// Whether it is a number, and no infinity.
    pub fn is_finite(self) -> bool {
        in_format!(self.format, F => F::from_bits(self.to_bits()).is_finite())
    }

    /// Whether it is `+0` or `-0`.
    pub fn is_zero(self) -> bool {
        in_format!(self.format, F => F::from_bits(self.to_bits()).is_zero())
    }

    /// Whether it is `+0`, whose bytes are all 0.
    pub fn is_positive_zero(self) -> bool {
        self.high == 0 && self.low == 0
    }

    /// Whether it has its sign bit set and is a number.
    pub fn is_negative(self) -> bool {
        in_format!(self.format, F => F::from_bits(self.to_bits()).is_negative()) && !self.is_nan()
    }

    /// The same with the other sign; exact.
    #[must_use]
    pub fn negated(self) -> Float {
        in_format!(self.format, F => Float::of(self.format, -F::from_bits(self.to_bits())))
    }

    /// The same without sign; exact.
    #[must_use]
    pub fn magnitude(self) -> Float {
        if self.is_negative() { self.negated() } else { self }
    }

    /// `self op other`. Division by zero is infinite or NaN.
    ///
    /// # Panics
    /// If the formats differ: that is a mistake of the caller.
    pub fn arithmetic(self, op: Arithmetic, other: Float, rounding: Rounding) -> Rounded {
        assert_eq!(self.format, other.format, "operands of one format");
        in_format!(self.format, F => {
            let (a, b) = (F::from_bits(self.to_bits()), F::from_bits(other.to_bits()));
            rounded(self.format, match op {
                Arithmetic::Add => a.add_r(b, rounding.into()),
                Arithmetic::Subtract => a.sub_r(b, rounding.into()),
                Arithmetic::Multiply => a.mul_r(b, rounding.into()),
                Arithmetic::Divide => a.div_r(b, rounding.into()),
            })
        })
    }

    /// How it compares as C compares: the zeros are equal; `None`: one of them is not a number.
    ///
    /// # Panics
    /// If the formats differ: that is a mistake of the caller.
    pub fn compare(self, other: Float) -> Option<Ordering> {
        assert_eq!(self.format, other.format, "operands of one format");
        in_format!(self.format, F => F::from_bits(self.to_bits()).partial_cmp(&F::from_bits(other.to_bits())))
    }

    /// The nearest integral number of the same format.
    #[must_use]
    pub fn round_to_integral(self, rounding: Rounding) -> Float {
        in_format!(self.format, F => {
            Float::of(self.format, F::from_bits(self.to_bits()).round_to_integral(rounding.into()).value)
        })
    }

    /// The number in another format. Law: exact if the other format holds every number of this one.
    pub fn convert(self, to: Format, rounding: Rounding) -> Rounded {
        in_format!(self.format, F => {
            let value = F::from_bits(self.to_bits());
            if value.is_nan() {
                return Rounded { value: Float::nan(to), exact: true };
            }
            in_format!(to, G => {
                let mut loses = false;
                let result: StatusAnd<G> = value.convert_r(rounding.into(), &mut loses);
                Rounded { value: Float::of(to, result.value), exact: !loses }
            })
        })
    }

    /// An integer in a format.
    pub fn from_i128(format: Format, value: i128, rounding: Rounding) -> Rounded {
        in_format!(format, F => rounded(format, F::from_i128_r(value, rounding.into())))
    }

    /// An unsigned integer in a format.
    pub fn from_u128(format: Format, value: u128, rounding: Rounding) -> Rounded {
        in_format!(format, F => rounded(format, F::from_u128_r(value, rounding.into())))
    }

    /// The integer it becomes by rounding; `None`: it is not a number, or the integer is outside of `i128`.
    pub fn to_i128(self, rounding: Rounding) -> Option<i128> {
        let mut exact = false;
        let result = in_format!(self.format, F => {
            F::from_bits(self.to_bits()).to_i128_r(128, rounding.into(), &mut exact)
        });
        (!result.status.contains(Status::INVALID_OP)).then_some(result.value)
    }

    /// The integer it becomes by rounding; `None`: it is not a number, or the integer is outside of `u128`.
    pub fn to_u128(self, rounding: Rounding) -> Option<u128> {
        let mut exact = false;
        let result = in_format!(self.format, F => {
            F::from_bits(self.to_bits()).to_u128_r(128, rounding.into(), &mut exact)
        });
        (!result.status.contains(Status::INVALID_OP)).then_some(result.value)
    }
}
