//! Sets of floating numbers of one format: a range in the order in which `-0 < +0`, and whether NaN is among them. Knows no operators' syntax and no
//! states.
//!
//! C rounds to nearest, and rounding is monotone: the least result of an operation is that of operands at ends of their ranges, rounded as C
//! rounds. So bounds are results of `proofline-float` themselves, and no wider than they must be. Of `_Float16`, which compilers may compute in a wider
//! format, nothing is computed here.

use std::{cmp::Ordering, fmt};

use proofline_cfa::{BinaryOp, CompareOp, Float, FloatType, IntType};
use proofline_float::{Arithmetic, Rounding};
use serde::{Deserialize, Serialize};

/// C's rounding.
const NEAREST: Rounding = Rounding::NearestEven;

/// A non-empty set of numbers of one format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Floats {
    /// The least and the greatest that is not NaN.
    range: Option<(Float, Float)>,
    /// Whether NaN is one of them.
    nan: bool,
    format: FloatType,
}

impl fmt::Debug for Floats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Floats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.range, self.nan) {
            (None, _) => write!(f, "NaN"),
            (Some((low, high)), false) if low == high => write!(f, "{low}"),
            (Some((low, high)), false) => write!(f, "[{low}, {high}]"),
            (Some((low, high)), true) => write!(f, "[{low}, {high}] | NaN"),
        }
    }
}

/// In the order of the ranges: as they compare, and `-0 < +0`. Neither is NaN.
fn order(a: Float, b: Float) -> Ordering {
    match a.compare(b) {
        Some(Ordering::Equal) | None => b.is_negative().cmp(&a.is_negative()),
        Some(order) => order,
    }
}

fn least(a: Float, b: Float) -> Float {
    if order(a, b).is_le() { a } else { b }
}

fn greatest(a: Float, b: Float) -> Float {
    if order(a, b).is_ge() { a } else { b }
}

/// The number before this one in the order, which is not the least one; of `+0` and `-0` alike the greatest negative one.
fn below(value: Float) -> Option<Float> {
    if value.is_zero() {
        return Float::from_bits(value.format(), 1).map(Float::negated);
    }
    if value.is_negative() {
        // Away from zero.
        let bits = value.magnitude().to_bits();
        return if value.is_infinite() {
            None
        } else {
            stepped(value.format(), bits, true).map(Float::negated)
        };
    }
    stepped(value.format(), value.to_bits(), false)
}

fn above(value: Float) -> Option<Float> {
    below(value.negated()).map(Float::negated)
}

/// The next magnitude up, or down. Formats with an explicit integer bit have gaps: of those, nothing.
fn stepped(format: FloatType, bits: u128, up: bool) -> Option<Float> {
    if format == FloatType::F80 {
        return None;
    }
    Float::from_bits(format, if up { bits + 1 } else { bits.checked_sub(1)? })
}

impl Floats {
    /// One number, or NaN.
    pub fn single(value: Float) -> Floats {
        let value = value.canonical();
        let range = (!value.is_nan()).then_some((value, value));
        Floats { range, nan: value.is_nan(), format: value.format() }
    }

    /// All of a format.
    pub fn of(format: FloatType) -> Floats {
        let infinity = Float::infinity(format);
        Floats { range: Some((infinity.negated(), infinity)), nan: true, format }
    }

    /// From one number to another, neither of which is NaN; `None`: there is none between them, or they are of different formats.
    pub fn between(low: Float, high: Float) -> Option<Floats> {
        let is_range = low.format() == high.format() && !low.is_nan() && !high.is_nan();
        (is_range && order(low, high).is_le()).then(|| Floats {
            range: Some((low, high)),
            nan: false,
            format: low.format(),
        })
    }

    fn with(range: Option<(Float, Float)>, nan: bool, format: FloatType) -> Option<Floats> {
        let range = range.filter(|(low, high)| order(*low, *high).is_le());
        (range.is_some() || nan).then_some(Floats { range, nan, format })
    }

    /// The place of a number in the order of its format: neighbours have neighbouring places, NaN comes behind all others. `None`: of `long double`
    /// and wider, whose bits have gaps or are too many.
    pub fn place(value: Float) -> Option<i128> {
        let format = value.format();
        if !matches!(format, FloatType::F32 | FloatType::F64) {
            return None;
        }
        let bits = |value: Float| i128::try_from(value.to_bits()).ok();
        if value.is_nan() {
            bits(Float::infinity(format)).map(|infinity| infinity + 1)
        } else if value.is_negative() {
            bits(value.magnitude()).map(|magnitude| -1 - magnitude)
        } else {
            bits(value)
        }
    }

    /// The number at a place.
    pub fn at_place(format: FloatType, place: i128) -> Option<Float> {
        let magnitude = if place < 0 { -1 - place } else { place };
        let value = Float::from_bits(format, u128::try_from(magnitude).ok()?)?.canonical();
        let value = if place < 0 { value.negated() } else { value };
        // Behind NaN there is nothing.
        (Floats::place(value) == Some(place)).then_some(value)
    }

    /// The numbers' format.
    pub fn format(&self) -> FloatType {
        self.format
    }

    /// The least and the greatest of those that are not NaN.
    pub fn range(&self) -> Option<(Float, Float)> {
        self.range
    }

    /// Whether NaN may be the value.
    pub fn may_be_nan(&self) -> bool {
        self.nan
    }

    /// The number, or NaN, if it is only one.
    pub fn as_single(&self) -> Option<Float> {
        match (self.range, self.nan) {
            (None, _) => Some(Float::nan(self.format)),
            (Some((low, high)), false) => (low == high).then_some(low),
            (Some(_), true) => None,
        }
    }

    /// Whether it is one of them.
    pub fn contains(&self, value: Float) -> bool {
        if value.is_nan() {
            return self.nan;
        }
        self.range.is_some_and(|(low, high)| order(low, value).is_le() && order(value, high).is_le())
    }

    /// Whether it says anything of the format.
    pub fn is_all(&self) -> bool {
        *self == Floats::of(self.format)
    }

    /// Whether each is one of the other's.
    pub fn leq(&self, other: &Floats) -> bool {
        let within = match (self.range, other.range) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => order(theirs.0, mine.0).is_le() && order(mine.1, theirs.1).is_le(),
        };
        within && (other.nan || !self.nan)
    }

    /// Covers both.
    #[must_use]
    pub fn join(&self, other: &Floats) -> Floats {
        let range = match (self.range, other.range) {
            (Some(a), Some(b)) => Some((least(a.0, b.0), greatest(a.1, b.1))),
            (one, other) => one.or(other),
        };
        Floats { range, nan: self.nan || other.nan, format: self.format }
    }

    /// Those that are in both.
    pub fn meet(&self, other: &Floats) -> Option<Floats> {
        let range = match (self.range, other.range) {
            (Some(a), Some(b)) => Some((greatest(a.0, b.0), least(a.1, b.1))),
            (None, _) | (_, None) => None,
        };
        Floats::with(range, self.nan && other.nan, self.format)
    }

    /// A bound of a growing sequence: bounds that moved go to the next of the thresholds (ascending, of any formats), or to an infinity.
    #[must_use]
    pub fn widen(&self, joined: &Floats, thresholds: &[Float]) -> Floats {
        let (Some(old), Some(new)) = (self.range, joined.range) else { return *joined };
        let infinity = Float::infinity(self.format);
        let up = |to: Float| {
            let mut candidates = thresholds.iter().map(|t| t.convert(self.format, Rounding::Up).value);
            candidates.find(|t| order(*t, to).is_ge()).unwrap_or(infinity)
        };
        let down = |to: Float| {
            let mut candidates =
                thresholds.iter().rev().map(|t| t.convert(self.format, Rounding::Down).value);
            candidates.find(|t| order(*t, to).is_le()).unwrap_or(infinity.negated())
        };
        let low = if order(new.0, old.0).is_lt() { down(new.0) } else { old.0 };
        let high = if order(new.1, old.1).is_gt() { up(new.1) } else { old.1 };
        Floats { range: Some((low, high)), ..*joined }
    }

    /// `-x`
    #[must_use]
    pub fn negated(&self) -> Floats {
        Floats { range: self.range.map(|(low, high)| (high.negated(), low.negated())), ..*self }
    }

    /// `self op other`; `None`: not known.
    pub fn binary(&self, op: BinaryOp, other: &Floats) -> Option<Floats> {
        if self.format == FloatType::F16 || self.format != other.format {
            return None;
        }
        let (Some(a), Some(b)) = (self.range, other.range) else {
            return Some(Floats { range: None, nan: true, format: self.format });
        };
        let nan = self.nan || other.nan;
        match op {
            BinaryOp::Add => self.monotone(Arithmetic::Add, a, b, nan),
            BinaryOp::Sub => self.monotone(Arithmetic::Subtract, a, b, nan),
            BinaryOp::Mul => self.monotone(Arithmetic::Multiply, a, b, nan || is_zero_by_infinity(a, b)),
            BinaryOp::Div => {
                let nan = nan || has_zero(a) && has_zero(b);
                // On either side of zero the quotient is monotone.
                let zero = Float::zero(self.format);
                let negative = Some((b.0, least(b.1, zero.negated()))).filter(|r| order(r.0, r.1).is_le());
                let positive = Some((greatest(b.0, zero), b.1)).filter(|r| order(r.0, r.1).is_le());
                let parts = [negative, positive].into_iter().flatten();
                let quotients = parts.filter_map(|b| self.monotone(Arithmetic::Divide, a, b, nan));
                quotients.reduce(|all, part| all.join(&part))
            }
            BinaryOp::Rem
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor => None,
        }
    }

    /// The results of an operation that is monotone in each operand: they are between those at the ends. Where those are NaN (`inf - inf`,
    /// `0 * inf`, `0 / 0`, `inf / inf`), the ones beside them are zeros, infinities or other ends.
    fn monotone(
        &self,
        op: Arithmetic,
        a: (Float, Float),
        b: (Float, Float),
        mut nan: bool,
    ) -> Option<Floats> {
        let mut range: Option<(Float, Float)> = None;
        let mut add = |value: Float| {
            range =
                Some(range.map_or((value, value), |(low, high)| (least(low, value), greatest(high, value))));
        };
        for x in [a.0, a.1] {
            for y in [b.0, b.1] {
                let result = x.arithmetic(op, y, NEAREST).value;
                if !result.is_nan() {
                    add(result);
                    continue;
                }
                nan = true;
                match op {
                    // Beside `inf - inf` there is anything.
                    Arithmetic::Add | Arithmetic::Subtract => {
                        if a.0 != a.1 || b.0 != b.1 {
                            add(Float::infinity(self.format));
                            add(Float::infinity(self.format).negated());
                        }
                    }
                    Arithmetic::Multiply | Arithmetic::Divide => {
                        add(Float::zero(self.format));
                        add(Float::zero(self.format).negated());
                    }
                }
            }
        }
        Floats::with(range, nan, self.format)
    }

    /// `self op other`, if it is the same for all.
    pub fn compare(&self, op: CompareOp, other: &Floats) -> Option<bool> {
        let (Some(a), Some(b)) = (self.range, other.range) else {
            // With NaN only `!=` holds.
            return Some(op == CompareOp::Ne);
        };
        let is = |a: Float, b: Float, holds: fn(Ordering) -> bool| a.compare(b).is_some_and(holds);
        let known = match op {
            CompareOp::Lt if is(a.1, b.0, Ordering::is_lt) => Some(true),
            CompareOp::Lt if is(a.0, b.1, Ordering::is_ge) => Some(false),
            CompareOp::Le if is(a.1, b.0, Ordering::is_le) => Some(true),
            CompareOp::Le if is(a.0, b.1, Ordering::is_gt) => Some(false),
            CompareOp::Gt => return other.compare(CompareOp::Lt, self),
            CompareOp::Ge => return other.compare(CompareOp::Le, self),
            CompareOp::Eq if is(a.1, b.0, Ordering::is_lt) || is(a.0, b.1, Ordering::is_gt) => Some(false),
            CompareOp::Eq if is(a.0, b.1, Ordering::is_eq) && is(a.1, b.0, Ordering::is_eq) => Some(true),
            CompareOp::Ne => return self.compare(CompareOp::Eq, other).map(|equal| !equal),
            CompareOp::Lt | CompareOp::Le | CompareOp::Eq => None,
        };
        // NaN makes it false.
        known.filter(|known| !known || !self.nan && !other.nan)
    }

    /// Whether any two of them compare: neither is NaN.
    pub fn are_ordered(&self, other: &Floats) -> bool {
        !self.nan && !other.nan
    }

    /// Those of both with which the comparison holds; `None`: it never does.
    pub fn where_compares(&self, op: CompareOp, other: &Floats) -> Option<(Floats, Floats)> {
        let numbers = |of: &Floats| Floats::with(of.range, false, of.format);
        let zero = Float::zero(self.format);
        // The zeros are equal: a bound that is one of them allows both.
        let from = |bound: Float| if bound.is_zero() { zero.negated() } else { bound };
        let to = |bound: Float| if bound.is_zero() { zero } else { bound };
        let infinity = Float::infinity(self.format);
        let at_most = |of: &Floats, high| of.meet(&Floats::between(infinity.negated(), high)?);
        let at_least = |of: &Floats, low| of.meet(&Floats::between(low, infinity)?);
        match op {
            CompareOp::Lt => {
                let (mine, theirs) = (numbers(self)?, numbers(other)?);
                let (low, high) = (mine.range?.0, theirs.range?.1);
                // Without a next number the bound itself is right, too.
                let (strict_low, strict_high) =
                    (above(low).unwrap_or(from(low)), below(high).unwrap_or(to(high)));
                if low.compare(high).is_none_or(Ordering::is_ge) {
                    return None;
                }
                Some((at_most(&mine, strict_high)?, at_least(&theirs, strict_low)?))
            }
            CompareOp::Le => {
                let (mine, theirs) = (numbers(self)?, numbers(other)?);
                let (low, high) = (mine.range?.0, theirs.range?.1);
                Some((at_most(&mine, to(high))?, at_least(&theirs, from(low))?))
            }
            CompareOp::Gt => other.where_compares(CompareOp::Lt, self).map(|(theirs, mine)| (mine, theirs)),
            CompareOp::Ge => other.where_compares(CompareOp::Le, self).map(|(theirs, mine)| (mine, theirs)),
            CompareOp::Eq => {
                let (mine, theirs) = (numbers(self)?, numbers(other)?);
                let widened = |of: &Floats| {
                    let (low, high) = of.range?;
                    Floats::between(from(low), to(high))
                };
                Some((mine.meet(&widened(&theirs)?)?, theirs.meet(&widened(&mine)?)?))
            }
            CompareOp::Ne => Some((self.without(other)?, other.without(self)?)),
        }
    }

    /// Those that differ from what is one number.
    fn without(&self, other: &Floats) -> Option<Floats> {
        let (Some((low, high)), Some((value, last))) = (self.range, other.range) else { return Some(*self) };
        if other.nan || value.compare(last) != Some(Ordering::Equal) {
            return Some(*self);
        }
        let is_it = |bound: Float| bound.compare(value) == Some(Ordering::Equal);
        if is_it(low) && is_it(high) {
            return Floats::with(None, self.nan, self.format);
        }
        let low = if is_it(low) { above(low).unwrap_or(low) } else { low };
        let high = if is_it(high) { below(high).unwrap_or(high) } else { high };
        Floats::with(Some((low, high)), self.nan, self.format)
    }

    /// In another format; `None`: not known.
    pub fn convert(&self, to: FloatType) -> Option<Floats> {
        if to == FloatType::F16 && self.format != FloatType::F16 {
            return None;
        }
        let range =
            self.range.map(|(low, high)| (low.convert(to, NEAREST).value, high.convert(to, NEAREST).value));
        Floats::with(range, self.nan, to)
    }

    /// Numbers of `from` whose conversion is among these. Exact conversions only: from a narrower format.
    pub fn converted_from(&self, from: FloatType) -> Option<Floats> {
        let range = self.range.map(|(low, high)| {
            (low.convert(from, Rounding::Up).value, high.convert(from, Rounding::Down).value)
        });
        Floats::with(range, self.nan, from)
    }

    /// Of integers between two; `None`: not known.
    pub fn from_integers(low: i128, high: i128, to: FloatType) -> Option<Floats> {
        if to == FloatType::F16 {
            return None;
        }
        let convert = |value| Float::from_i128(to, value, NEAREST).value;
        Floats::between(convert(low), convert(high))
    }

    /// As integers of a type; `None`: some have none.
    pub fn to_integers(&self, ty: IntType) -> Option<(i128, i128)> {
        let (low, high) = self.range.filter(|_| !self.nan)?;
        let (low, high) = (low.to_i128(Rounding::Zero)?, high.to_i128(Rounding::Zero)?);
        (ty.contains(low) && ty.contains(high)).then_some((low, high))
    }

    /// Whether it counts as true, if that is the same for all: NaN does, zeros do not.
    pub fn truth(&self) -> Option<bool> {
        let zero = Floats::single(Float::zero(self.format));
        self.compare(CompareOp::Ne, &zero)
    }
}

/// Whether a zero is in the range.
fn has_zero((low, high): (Float, Float)) -> bool {
    let zero = Float::zero(low.format());
    low.compare(zero).is_some_and(Ordering::is_le) && high.compare(zero).is_some_and(Ordering::is_ge)
}

/// Whether a zero of the one may meet an infinity of the other, also inside the ranges.
fn is_zero_by_infinity(a: (Float, Float), b: (Float, Float)) -> bool {
    let has_infinity = |(low, high): (Float, Float)| low.is_infinite() || high.is_infinite();
    has_zero(a) && has_infinity(b) || has_zero(b) && has_infinity(a)
}
