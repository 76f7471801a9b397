//! What C says of floating constants: how they are spelled, and which operations on them a compiler computes. What the numbers are
//! is `proofline_float`'s business. Knows no expressions.

use proofline_float::{Arithmetic, Float, Rounding};
use proofline_syntax::DataModel;

use crate::{
    body::BinaryOp,
    types::{FloatKind, IntKind},
};

/// C's rounding, unless the program asks for another.
const NEAREST: Rounding = Rounding::NearestEven;

/// A literal split into its parts, in lower case, without suffix.
pub(crate) struct FloatText<'a> {
    /// Digits before and after the point, with the point.
    mantissa: &'a str,
    /// Exponent with sign; of 10, or of 2 for a hexadecimal one.
    exponent: &'a str,
    hex: bool,
}

impl<'a> FloatText<'a> {
    /// Splits `1.5e3f` into its parts and the suffix `f`. The text is in lower case.
    pub(crate) fn split(lower: &'a str, hex: bool) -> Option<(FloatText<'a>, &'a str)> {
        let body = if hex { lower.strip_prefix("0x")? } else { lower };
        let radix = if hex { 16 } else { 10 };
        let end = body.find(|c: char| !(c.is_digit(radix) || c == '.')).unwrap_or(body.len());
        let (mantissa, rest) = body.split_at(end);
        if mantissa.chars().filter(|c| *c == '.').count() > 1
            || !mantissa.contains(|c: char| c.is_digit(radix))
        {
            return None;
        }
        let mut parts = FloatText { mantissa, exponent: "", hex };
        let Some(rest) = rest.strip_prefix(if hex { 'p' } else { 'e' }) else {
            return (!hex).then_some((parts, rest));
        };
        let sign = usize::from(rest.starts_with(['+', '-']));
        let end = rest[sign..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |at| at + sign);
        if end == sign {
            return None;
        }
        parts.exponent = &rest[..end];
        Some((parts, &rest[end..]))
    }

    fn exponent(&self) -> i64 {
        let clamp = if self.exponent.starts_with('-') { -1_000_000 } else { 1_000_000 };
        if self.exponent.is_empty() {
            0
        } else {
            self.exponent.parse::<i64>().unwrap_or(clamp).clamp(-1_000_000, 1_000_000)
        }
    }
}

/// The constant in its type, and whether every compiler gives it this value: `_Float16` may keep more digits (C11 5.2.4.2.2p9).
pub(crate) fn parse(text: &FloatText<'_>, kind: FloatKind) -> Option<(Float, bool)> {
    let (prefix, mark) = if text.hex { ("0x", 'p') } else { ("", 'e') };
    let zero = if text.mantissa.starts_with('.') { "0" } else { "" };
    let spelling = format!("{prefix}{zero}{}{mark}{}", text.mantissa, text.exponent());
    let constant = Float::parse(&spelling, kind.format())?;
    Some((constant.value, constant.certain().is_some()))
}

/// One operation, `None` when a compiler may compute it otherwise.
pub(crate) fn arithmetic(op: BinaryOp, left: Float, right: Float) -> Option<Float> {
    let op = match op {
        BinaryOp::Add => Arithmetic::Add,
        BinaryOp::Sub => Arithmetic::Subtract,
        BinaryOp::Mul => Arithmetic::Multiply,
        BinaryOp::Div => Arithmetic::Divide,
        BinaryOp::Rem
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor => return None,
    };
    if left.format() != right.format() {
        return None;
    }
    left.arithmetic(op, right, NEAREST).certain()
}

/// Whether finite operands give no finite result, which raises an exception at run time.
pub(crate) fn traps(left: Float, right: Float, result: Float) -> bool {
    !result.is_finite() && left.is_finite() && right.is_finite()
}

/// Truncation toward zero, `None` when the value is outside the type (undefined in C).
pub(crate) fn to_int(value: Float, kind: IntKind, model: DataModel) -> Option<i128> {
    if kind == IntKind::UInt128 {
        return value.to_u128(Rounding::Zero).map(|whole| whole as i128);
    }
    value.to_i128(Rounding::Zero).filter(|whole| kind.holds(*whole, model))
}

/// The nearest value of the type, `None` when compilers may differ.
pub(crate) fn from_int(value: i128, is_unsigned_128: bool, kind: FloatKind) -> Option<Float> {
    if is_unsigned_128 {
        Float::from_u128(kind.format(), value as u128, NEAREST).certain()
    } else {
        Float::from_i128(kind.format(), value, NEAREST).certain()
    }
}

/// A value rounded to a type.
pub(crate) fn round_to(value: Float, kind: FloatKind) -> Float {
    value.convert(kind.format(), NEAREST).value
}
