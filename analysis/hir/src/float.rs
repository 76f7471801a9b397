//! C's floating values as far as an `f64` holds them: literals correctly rounded to their type, and arithmetic that
//! answers `None` rather than approximate. Knows spellings and numbers, no expressions.

use proofline_syntax::DataModel;

use crate::{
    body::BinaryOp,
    types::{FloatKind, IntKind},
};

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

/// Mantissa bits and exponent of the least positive value.
fn precision(kind: FloatKind) -> (u32, i64) {
    match kind {
        FloatKind::Float16 => (11, -24),
        FloatKind::Float => (24, -149),
        FloatKind::Double | FloatKind::LongDouble | FloatKind::Float128 => (53, -1074),
    }
}

/// The nearest `f64`, and whether it is exactly the constant's value in its type.
pub(crate) fn parse(text: &FloatText<'_>, kind: FloatKind) -> Option<(f64, bool)> {
    if text.hex {
        return Some(parse_hex(text, kind));
    }
    let spelling = format!("{}e{}", text.mantissa, text.exponent());
    let spelling = if text.mantissa.starts_with('.') { format!("0{spelling}") } else { spelling };
    let value: f64 = spelling.parse().ok()?;
    Some(match kind {
        FloatKind::Double => (value, true),
        FloatKind::Float => (f64::from(spelling.parse::<f32>().ok()?), true),
        FloatKind::LongDouble | FloatKind::Float128 => (value, is_decimal(value, text)),
        FloatKind::Float16 => {
            let exact = is_decimal(value, text);
            let (rounded, _) = round_to(value, FloatKind::Float16);
            (rounded, exact)
        }
    })
}

/// Whether the decimal text denotes exactly `value`: compares all significant digits.
fn is_decimal(value: f64, text: &FloatText<'_>) -> bool {
    if !value.is_finite() {
        return false;
    }
    let (whole, fraction) = text.mantissa.split_once('.').unwrap_or((text.mantissa, ""));
    let digits = format!("{whole}{fraction}");
    significant(&digits, text.exponent() - fraction.len() as i64) == {
        let printed = format!("{value:.1100}");
        let (whole, fraction) = printed.split_once('.').unwrap_or((&printed, ""));
        significant(&format!("{whole}{fraction}"), -(fraction.len() as i64))
    }
}

/// Digits without zeros at either end, and the exponent of the last digit.
fn significant(digits: &str, exponent: i64) -> (String, i64) {
    let short = digits.trim_end_matches('0');
    let exponent = exponent + (digits.len() - short.len()) as i64;
    let short = short.trim_start_matches('0');
    if short.is_empty() { (String::new(), 0) } else { (short.to_owned(), exponent) }
}

fn parse_hex(text: &FloatText<'_>, kind: FloatKind) -> (f64, bool) {
    let (mut mantissa, mut exponent, mut sticky, mut point) = (0u128, text.exponent(), false, false);
    for c in text.mantissa.chars() {
        let Some(digit) = c.to_digit(16) else {
            point = true;
            continue;
        };
        if mantissa >> 120 == 0 {
            mantissa = mantissa << 4 | u128::from(digit);
            exponent -= if point { 4 } else { 0 };
        } else {
            sticky |= digit != 0;
            exponent += if point { 0 } else { 4 };
        }
    }
    let (bits, least) = precision(kind);
    let (value, exact) = round(mantissa, exponent, sticky, bits, least);
    match kind {
        FloatKind::Double | FloatKind::Float | FloatKind::Float16 => (limit(value, kind), true),
        FloatKind::LongDouble | FloatKind::Float128 => (value, exact && value.is_finite()),
    }
}

/// Rounds to nearest-even `mantissa * 2^exponent` (a little more if `sticky`) to so many bits, the least value being
/// `2^least`. Returns the result and whether it is exact.
fn round(mut mantissa: u128, mut exponent: i64, sticky: bool, bits: u32, least: i64) -> (f64, bool) {
    if mantissa == 0 {
        return (0.0, !sticky);
    }
    let length = 128 - i64::from(mantissa.leading_zeros());
    let drop = (length - i64::from(bits)).max(least - exponent).max(0);
    let mut exact = !sticky;
    if drop > 128 {
        return (0.0, false);
    }
    if drop > 0 {
        let (kept, rest) =
            if drop == 128 { (0, mantissa) } else { (mantissa >> drop, mantissa & ((1u128 << drop) - 1)) };
        let half = 1u128 << (drop - 1);
        exact &= rest == 0;
        let up = rest > half || (rest == half && (sticky || kept & 1 == 1));
        mantissa = kept + u128::from(up);
        exponent += drop;
    }
    let value = scale(mantissa as f64, exponent);
    (value, exact && value.is_finite())
}

/// `value * 2^exponent`, exact unless it overflows; the caller has rounded before.
fn scale(value: f64, exponent: i64) -> f64 {
    let power = |e: i64| match e {
        -1022..=1023 => f64::from_bits(((e + 1023) as u64) << 52),
        -1074..=-1023 => f64::from_bits(1 << (e + 1074)),
        _ => 0.0,
    };
    match exponent {
        1024.. => value * power(1023) * power((exponent - 1023).min(1023)),
        -1074..=1023 => value * power(exponent),
        _ => 0.0,
    }
}

/// Infinity above the largest finite value of the type.
fn limit(value: f64, kind: FloatKind) -> f64 {
    let most = match kind {
        FloatKind::Float16 => 65504.0,
        FloatKind::Float => f64::from(f32::MAX),
        FloatKind::Double | FloatKind::LongDouble | FloatKind::Float128 => return value,
    };
    if value.abs() > most { f64::INFINITY.copysign(value) } else { value }
}

/// Rounds an `f64` to a type; the flag says whether the result is the C value (it is not known for wider types).
pub(crate) fn round_to(value: f64, kind: FloatKind) -> (f64, bool) {
    match kind {
        FloatKind::Float => (f64::from(value as f32), true),
        FloatKind::Double | FloatKind::LongDouble | FloatKind::Float128 => (value, true),
        FloatKind::Float16 if !value.is_finite() || value == 0.0 => (value, true),
        FloatKind::Float16 => {
            let raw = value.abs().to_bits();
            let (exponent, fraction) = ((raw >> 52) as i64, raw & ((1 << 52) - 1));
            let (mantissa, exponent) =
                if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
            let (bits, least) = precision(kind);
            let (rounded, _) = round(u128::from(mantissa), exponent, false, bits, least);
            (limit(rounded, kind).copysign(value), true)
        }
    }
}

/// One operation in a type, `None` when the result is not known exactly (or has no meaning).
pub(crate) fn arithmetic(op: BinaryOp, left: f64, right: f64, kind: FloatKind) -> Option<f64> {
    let result = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Sub => left - right,
        BinaryOp::Mul => left * right,
        BinaryOp::Div => left / right,
        BinaryOp::Rem
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor => return None,
    };
    let result = if kind == FloatKind::Float { f64::from(result as f32) } else { result };
    // What would raise an exception is left to the run time, as in gcc.
    if !result.is_finite() && left.is_finite() && right.is_finite() {
        return None;
    }
    match kind {
        FloatKind::Double => Some(result),
        // 53 bits are more than twice 24 plus 2: rounding twice is rounding once.
        FloatKind::Float => Some(result),
        FloatKind::Float16 | FloatKind::LongDouble | FloatKind::Float128 => {
            exact(op, left, right, result).then_some(result)
        }
    }
}

/// Whether the operation did not round; says no when in doubt.
fn exact(op: BinaryOp, left: f64, right: f64, result: f64) -> bool {
    let normal = |x: f64| x == 0.0 || (x.is_normal() && (1e-100..1e100).contains(&x.abs()));
    if ![left, right, result].into_iter().all(normal) {
        return false;
    }
    match op {
        BinaryOp::Add | BinaryOp::Sub => {
            let right = if op == BinaryOp::Sub { -right } else { right };
            let back = result - left;
            (left - (result - back)) + (right - back) == 0.0
        }
        BinaryOp::Mul => left.mul_add(right, -result) == 0.0,
        BinaryOp::Div => right != 0.0 && result.mul_add(right, -left) == 0.0,
        _ => false,
    }
}

/// Truncation toward zero, `None` when the value is outside the type (undefined in C).
pub(crate) fn to_int(value: f64, kind: IntKind, model: DataModel) -> Option<i128> {
    let whole = value.trunc();
    if kind == IntKind::UInt128 {
        return (whole >= 0.0 && whole < 2f64.powi(128)).then_some(whole as u128 as i128);
    }
    if !(whole >= -2f64.powi(127) && whole < 2f64.powi(127)) {
        return None;
    }
    let result = whole as i128;
    kind.holds(result, model).then_some(result)
}

/// The nearest value of the type, `None` when an `f64` does not hold it.
pub(crate) fn from_int(value: i128, is_unsigned_128: bool, kind: FloatKind) -> Option<f64> {
    let (double, single) = if is_unsigned_128 {
        (value as u128 as f64, value as u128 as f32)
    } else {
        (value as f64, value as f32)
    };
    let below = |most: u128| !(is_unsigned_128 && value < 0) && value.unsigned_abs() <= most;
    match kind {
        FloatKind::Double => Some(double),
        FloatKind::Float => Some(f64::from(single)),
        FloatKind::Float16 => below(1 << 11).then_some(double),
        FloatKind::LongDouble | FloatKind::Float128 => below(1 << 53).then_some(double),
    }
}
