//! Floating-point numbers of C, bit by bit: the one meaning of `_Float16`, `float`, `double`, `long double` (x87) and `__float128` that
//! constant folding, the interpreter, the value domains and the solver's terms share. Must not know C's types or expressions.
//!
//! Arithmetic is IEEE 754-2019, computed in software by `rustc_apfloat` (a port of LLVM's APFloat), so that it does not depend on the
//! machine the verifier runs on.

mod number;
mod parse;
mod show;

pub use number::{Arithmetic, Float, Rounded};
use serde::{Deserialize, Serialize};

/// A floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Format {
    /// IEEE binary16: `_Float16`.
    F16,
    /// IEEE binary32: `float`.
    F32,
    /// IEEE binary64: `double`.
    F64,
    /// x87 extended precision, 80 bits with an explicit integer bit: `long double` on x86.
    F80,
    /// IEEE binary128: `__float128`.
    F128,
}

impl Format {
    /// All of them, by width.
    pub const ALL: [Format; 5] = [Format::F16, Format::F32, Format::F64, Format::F80, Format::F128];

    /// Bits of a value, without padding.
    pub fn width(self) -> u32 {
        match self {
            Format::F16 => 16,
            Format::F32 => 32,
            Format::F64 => 64,
            Format::F80 => 80,
            Format::F128 => 128,
        }
    }
}

/// How a result that the format cannot hold becomes one that it can.
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
    /// Its name in SMT-LIB.
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
