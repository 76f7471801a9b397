//! C's integer operators on [`Ranges`]. Operands are in the ranges of their types. Signed results out of range do not exist (the
//! obligation before the edge blocks them) unless overflow wraps. What is shifted to the left always wraps.

use proofline_cfa::{BinaryOp, CompareOp, IntType, eval::Overflow};

use crate::{
    interval::ranges::Ranges,
    store::{Abstract, Eval, Impossible, Operands},
};

/// Mathematical results before they meet a type: `None` where they leave `i128`.
type Raw = Option<Vec<(i128, i128)>>;

/// How results meet their type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arith {
    /// Signed overflow.
    pub overflow: Overflow,
}

impl Arith {
    fn is_checked(self, ty: IntType) -> bool {
        ty.signed && self.overflow == Overflow::Undefined
    }

    /// Clips or wraps.
    fn fit(self, ty: IntType, raw: Raw) -> Result<Ranges, Impossible> {
        // Outside of `i128` on either side: nothing is known.
        let Some(raw) = raw.and_then(Ranges::union_of) else { return Ok(Ranges::of(ty)) };
        if self.is_checked(ty) { raw.within(ty).ok_or(Impossible) } else { Ok(raw.wrap(ty)) }
    }

    /// `lhs op rhs` in `ty`.
    ///
    /// # Errors
    /// [`Impossible`] if no operands have a result, as for a division by zero only.
    pub fn binary(self, op: BinaryOp, ty: IntType, lhs: &Ranges, rhs: &Ranges) -> Result<Ranges, Impossible> {
        match op {
            BinaryOp::Add => {
                self.fit(ty, pairs(lhs, rhs, |a, b| Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?))))
            }
            BinaryOp::Sub => {
                self.fit(ty, pairs(lhs, rhs, |a, b| Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?))))
            }
            BinaryOp::Mul => self.fit(ty, pairs(lhs, rhs, multiply)),
            // The quotient of the smallest value by -1 is undefined even where overflow wraps.
            BinaryOp::Div => divide(lhs, rhs).and_then(|raw| raw.within(ty)).ok_or(Impossible),
            BinaryOp::Rem => remainder(lhs, rhs).ok_or(Impossible),
            BinaryOp::Shl => {
                let by = rhs.meet(&Ranges::new(0, i128::from(ty.bits) - 1)).ok_or(Impossible)?;
                let powers = by.map(|lo, hi| (power(lo), power(hi)));
                if by.hi() >= 126 {
                    return Ok(Ranges::of(ty));
                }
                // No obligation keeps it in range: compilers define that it wraps, of negative numbers, too.
                let wrapping = Arith { overflow: Overflow::Wraps };
                wrapping.fit(ty, pairs(lhs, &powers, multiply))
            }
            BinaryOp::Shr => {
                let by = rhs.meet(&Ranges::new(0, i128::from(ty.bits) - 1)).ok_or(Impossible)?;
                let raw = pairs(lhs, &by, |a, by| {
                    Some(((a.0 >> by.0).min(a.0 >> by.1), (a.1 >> by.0).max(a.1 >> by.1)))
                });
                self.fit(ty, raw)
            }
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                Ok(bitwise(op, lhs, rhs).within(ty).unwrap_or_else(|| Ranges::of(ty)))
            }
        }
    }

    /// `-arg`
    ///
    /// # Errors
    /// [`Impossible`] if no operand has a result.
    pub fn negate(self, ty: IntType, arg: &Ranges) -> Result<Ranges, Impossible> {
        self.binary(BinaryOp::Sub, ty, &Ranges::single(0), arg)
    }

    /// `~arg`
    pub fn complement(self, ty: IntType, arg: &Ranges) -> Ranges {
        if ty.signed {
            arg.map(|lo, hi| (!hi, !lo))
        } else {
            arg.map(|lo, hi| (ty.max() - hi, ty.max() - lo))
        }
    }

    /// Operands for which the result is in `wanted`.
    ///
    /// # Errors
    /// [`Impossible`] if no operands give a wanted result.
    pub fn backward(
        self,
        op: BinaryOp,
        ty: IntType,
        lhs: &Ranges,
        rhs: &Ranges,
        wanted: &Ranges,
    ) -> Operands<Ranges> {
        let checked = self.is_checked(ty);
        // Without wrap-around the operators can be turned around as in mathematics.
        let exact = checked && op != BinaryOp::Shl || self.stays_inside(op, ty, lhs, rhs);
        Ok(match op {
            BinaryOp::Add => (
                self.solve(
                    ty,
                    exact,
                    pairs(wanted, rhs, |r, b| Some((r.0.checked_sub(b.1)?, r.1.checked_sub(b.0)?))),
                )?,
                self.solve(
                    ty,
                    exact,
                    pairs(wanted, lhs, |r, a| Some((r.0.checked_sub(a.1)?, r.1.checked_sub(a.0)?))),
                )?,
            ),
            BinaryOp::Sub => (
                self.solve(
                    ty,
                    exact,
                    pairs(wanted, rhs, |r, b| Some((r.0.checked_add(b.0)?, r.1.checked_add(b.1)?))),
                )?,
                self.solve(
                    ty,
                    exact,
                    pairs(lhs, wanted, |a, r| Some((a.0.checked_sub(r.1)?, a.1.checked_sub(r.0)?))),
                )?,
            ),
            BinaryOp::Mul if exact => {
                let factor = |by: &Ranges| match by.as_single() {
                    Some(by) if by != 0 => divide_exactly(wanted, by).map(Abstract::Of).ok_or(Impossible),
                    Some(_) | None => Ok(Abstract::Any),
                };
                let (first, second) = (factor(rhs)?, factor(lhs)?);
                if wanted.contains(0) {
                    (first, second)
                } else {
                    let nonzero = |found: Abstract<Ranges>, now: &Ranges| {
                        found.known().unwrap_or_else(|| now.clone()).without(0).ok_or(Impossible)
                    };
                    (Abstract::Of(nonzero(first, lhs)?), Abstract::Of(nonzero(second, rhs)?))
                }
            }
            BinaryOp::Mul if !wanted.contains(0) => (
                Abstract::Of(lhs.without(0).ok_or(Impossible)?),
                Abstract::Of(rhs.without(0).ok_or(Impossible)?),
            ),
            BinaryOp::Mul => (Abstract::Any, Abstract::Any),
            BinaryOp::Div => (dividend(wanted, rhs).into(), Abstract::Any),
            BinaryOp::Rem => {
                let mut first = lhs.clone();
                if wanted.lo() > 0 {
                    first = first.at_least(wanted.lo()).ok_or(Impossible)?;
                } else if wanted.hi() < 0 {
                    first = first.at_most(wanted.hi()).ok_or(Impossible)?;
                } else if !wanted.contains(0) {
                    first = first.without(0).ok_or(Impossible)?;
                }
                (Abstract::Of(first), Abstract::Any)
            }
            BinaryOp::Shl if exact => match rhs.as_single() {
                Some(by) if (0..126).contains(&by) => {
                    (Abstract::Of(divide_exactly(wanted, power(by)).ok_or(Impossible)?), Abstract::Any)
                }
                Some(_) | None => (Abstract::Any, Abstract::Any),
            },
            BinaryOp::Shl => (Abstract::Any, Abstract::Any),
            BinaryOp::Shr => match rhs.as_single() {
                Some(by) if (0..126).contains(&by) => {
                    let raw = wanted.parts().iter().map(|(lo, hi)| {
                        Some((
                            lo.checked_mul(power(by))?,
                            hi.checked_mul(power(by))?.checked_add(power(by) - 1)?,
                        ))
                    });
                    (raw.collect::<Raw>().and_then(Ranges::union_of).into(), Abstract::Any)
                }
                Some(_) | None => (Abstract::Any, Abstract::Any),
            },
            BinaryOp::BitAnd if !wanted.contains(0) => (
                Abstract::Of(lhs.without(0).ok_or(Impossible)?),
                Abstract::Of(rhs.without(0).ok_or(Impossible)?),
            ),
            // No bit is added: of what is not negative the result is at most each operand.
            BinaryOp::BitAnd => (Abstract::Any, Abstract::Any),
            BinaryOp::BitOr if wanted.as_single() == Some(0) => {
                (Abstract::Of(Ranges::single(0)), Abstract::Of(Ranges::single(0)))
            }
            BinaryOp::BitOr if lhs.lo() >= 0 && rhs.lo() >= 0 => (
                lhs.at_most(wanted.hi()).map(Abstract::Of).ok_or(Impossible)?,
                rhs.at_most(wanted.hi()).map(Abstract::Of).ok_or(Impossible)?,
            ),
            BinaryOp::BitOr => (Abstract::Any, Abstract::Any),
            BinaryOp::BitXor => match (lhs.as_single(), rhs.as_single(), wanted.as_single()) {
                (_, Some(by), Some(wanted)) => (Abstract::Of(Ranges::single(by ^ wanted)), Abstract::Any),
                (Some(by), _, Some(wanted)) => (Abstract::Any, Abstract::Of(Ranges::single(by ^ wanted))),
                (_, Some(by), None) if !wanted.contains(0) => {
                    (Abstract::Of(lhs.without(by).ok_or(Impossible)?), Abstract::Any)
                }
                (Some(by), _, None) if !wanted.contains(0) => {
                    (Abstract::Any, Abstract::Of(rhs.without(by).ok_or(Impossible)?))
                }
                (_, _, Some(0)) => (Abstract::Of(rhs.clone()), Abstract::Of(lhs.clone())),
                _ => (Abstract::Any, Abstract::Any),
            },
        })
    }

    /// An operand found by calculating backwards.
    fn solve(self, ty: IntType, exact: bool, raw: Raw) -> Eval<Ranges> {
        let Some(raw) = raw.and_then(Ranges::union_of) else { return Ok(Abstract::Any) };
        if exact {
            raw.within(ty).map(Abstract::Of).ok_or(Impossible)
        } else {
            Ok(Abstract::Of(raw.wrap(ty)))
        }
    }

    /// Whether no pair of operands leaves the type.
    fn stays_inside(self, op: BinaryOp, ty: IntType, lhs: &Ranges, rhs: &Ranges) -> bool {
        overflows(op, ty, lhs, rhs) == Some(false)
    }

    /// Operands for which the mathematical result is outside the type (or is not).
    ///
    /// # Errors
    /// [`Impossible`] if no operands behave so.
    pub fn where_overflows(
        self,
        op: BinaryOp,
        ty: IntType,
        lhs: &Ranges,
        rhs: &Ranges,
        outside: bool,
    ) -> Operands<Ranges> {
        let wanted: &[(i128, i128)] = &if outside {
            let (Some(below), Some(above)) = (ty.min().checked_sub(1), ty.max().checked_add(1)) else {
                return Ok((Abstract::Any, Abstract::Any));
            };
            vec![(i128::MIN / 2, below), (above, i128::MAX / 2)]
        } else {
            vec![(ty.min(), ty.max())]
        };
        // Results of narrower types do not reach the bounds taken here for infinity.
        if ty.bits > 64 {
            return Ok((Abstract::Any, Abstract::Any));
        }
        let wanted = Ranges::union_of(wanted.iter().copied()).ok_or(Impossible)?;
        let solve = |raw: Raw, now: &Ranges| match raw.and_then(Ranges::union_of) {
            Some(raw) => raw.meet(now).map(Abstract::Of).ok_or(Impossible),
            None => Ok(Abstract::Any),
        };
        Ok(match op {
            BinaryOp::Add => (
                solve(pairs(&wanted, rhs, |r, b| Some((r.0.checked_sub(b.1)?, r.1.checked_sub(b.0)?))), lhs)?,
                solve(pairs(&wanted, lhs, |r, a| Some((r.0.checked_sub(a.1)?, r.1.checked_sub(a.0)?))), rhs)?,
            ),
            BinaryOp::Sub => (
                solve(pairs(&wanted, rhs, |r, b| Some((r.0.checked_add(b.0)?, r.1.checked_add(b.1)?))), lhs)?,
                solve(pairs(lhs, &wanted, |a, r| Some((a.0.checked_sub(r.1)?, a.1.checked_sub(r.0)?))), rhs)?,
            ),
            // Wider products do not fit.
            BinaryOp::Mul if ty.bits > 62 => (Abstract::Any, Abstract::Any),
            BinaryOp::Mul => {
                let factor = |by: &Ranges, now: &Ranges| match by.as_single() {
                    Some(0) if outside => Err(Impossible),
                    Some(0) | None => Ok(Abstract::Any),
                    Some(by) => match divide_exactly(&wanted, by) {
                        Some(found) => found.meet(now).map(Abstract::Of).ok_or(Impossible),
                        None => Err(Impossible),
                    },
                };
                (factor(rhs, lhs)?, factor(lhs, rhs)?)
            }
            BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor => (Abstract::Any, Abstract::Any),
        })
    }
}

/// `lhs op rhs`, if it is the same for all.
pub(crate) fn compare(op: CompareOp, lhs: &Ranges, rhs: &Ranges) -> Option<bool> {
    match op {
        CompareOp::Lt if lhs.hi() < rhs.lo() => Some(true),
        CompareOp::Lt if lhs.lo() >= rhs.hi() => Some(false),
        CompareOp::Le if lhs.hi() <= rhs.lo() => Some(true),
        CompareOp::Le if lhs.lo() > rhs.hi() => Some(false),
        CompareOp::Gt => compare(CompareOp::Lt, rhs, lhs),
        CompareOp::Ge => compare(CompareOp::Le, rhs, lhs),
        CompareOp::Eq => match (lhs.as_single(), rhs.as_single()) {
            (Some(left), Some(right)) => Some(left == right),
            _ if lhs.meet(rhs).is_none() => Some(false),
            _ => None,
        },
        CompareOp::Ne => compare(CompareOp::Eq, lhs, rhs).map(|equal| !equal),
        CompareOp::Lt | CompareOp::Le => None,
    }
}

/// Operands for which the comparison holds.
pub(crate) fn where_compares(op: CompareOp, lhs: &Ranges, rhs: &Ranges) -> Option<(Ranges, Ranges)> {
    Some(match op {
        CompareOp::Lt => (lhs.at_most(rhs.hi().checked_sub(1)?)?, rhs.at_least(lhs.lo().checked_add(1)?)?),
        CompareOp::Le => (lhs.at_most(rhs.hi())?, rhs.at_least(lhs.lo())?),
        CompareOp::Gt | CompareOp::Ge => {
            let op = if op == CompareOp::Gt { CompareOp::Lt } else { CompareOp::Le };
            let (right, left) = where_compares(op, rhs, lhs)?;
            (left, right)
        }
        CompareOp::Eq => {
            let both = lhs.meet(rhs)?;
            (both.clone(), both)
        }
        CompareOp::Ne => {
            let without = |set: &Ranges, other: &Ranges| match other.as_single() {
                Some(value) => set.without(value),
                None => Some(set.clone()),
            };
            (without(lhs, rhs)?, without(rhs, lhs)?)
        }
    })
}

/// Whether the mathematical result leaves the type, if it is the same for all operands that have one.
pub(crate) fn overflows(op: BinaryOp, ty: IntType, lhs: &Ranges, rhs: &Ranges) -> Option<bool> {
    let decide = |raw: Raw| {
        let raw = raw.and_then(Ranges::union_of)?;
        match raw.within(ty) {
            None => Some(true),
            Some(inside) if inside == raw => Some(false),
            Some(_) => None,
        }
    };
    match op {
        BinaryOp::Add => decide(pairs(lhs, rhs, |a, b| Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)))),
        BinaryOp::Sub => decide(pairs(lhs, rhs, |a, b| Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?)))),
        BinaryOp::Mul => decide(pairs(lhs, rhs, multiply)),
        BinaryOp::Div | BinaryOp::Rem => match (ty.signed, lhs.as_single(), rhs.as_single()) {
            (true, Some(lhs), Some(-1)) if lhs == ty.min() => Some(true),
            (true, _, _) if lhs.contains(ty.min()) && rhs.contains(-1) => None,
            _ => Some(false),
        },
        BinaryOp::Shl => {
            let by = rhs.meet(&Ranges::new(0, i128::from(ty.bits) - 1))?;
            if by.hi() >= 126 {
                return None;
            }
            decide(pairs(lhs, &by.map(|lo, hi| (power(lo), power(hi))), multiply))
        }
        BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => Some(false),
    }
}

fn pairs(
    lhs: &Ranges,
    rhs: &Ranges,
    mut f: impl FnMut((i128, i128), (i128, i128)) -> Option<(i128, i128)>,
) -> Raw {
    let mut out = Vec::with_capacity(lhs.parts().len() * rhs.parts().len());
    for a in lhs.parts() {
        for b in rhs.parts() {
            out.push(f(*a, *b)?);
        }
    }
    Some(out)
}

fn hull(values: [i128; 4]) -> (i128, i128) {
    let (mut lo, mut hi) = (values[0], values[0]);
    for value in values {
        (lo, hi) = (lo.min(value), hi.max(value));
    }
    (lo, hi)
}

fn multiply(a: (i128, i128), b: (i128, i128)) -> Option<(i128, i128)> {
    Some(hull([a.0.checked_mul(b.0)?, a.0.checked_mul(b.1)?, a.1.checked_mul(b.0)?, a.1.checked_mul(b.1)?]))
}

/// `2^by`, for `by` below 127.
fn power(by: i128) -> i128 {
    1i128 << by.clamp(0, 126)
}

/// The parts of a divisor on either side of zero.
fn divisors(rhs: &Ranges) -> impl Iterator<Item = (i128, i128)> + '_ {
    rhs.parts()
        .iter()
        .flat_map(|(lo, hi)| [(*lo, (*hi).min(-1)), ((*lo).max(1), *hi)])
        .filter(|(lo, hi)| lo <= hi)
}

/// Truncating quotients; `None`: the divisor is zero.
fn divide(lhs: &Ranges, rhs: &Ranges) -> Option<Ranges> {
    // The smallest `i128` by -1 saturates: outside of every narrower type, and clipped in the widest.
    let quotient = |a: i128, b: i128| a.checked_div(b).unwrap_or(i128::MAX);
    let all = divisors(rhs).flat_map(|b| {
        lhs.parts().iter().map(move |a| {
            hull([quotient(a.0, b.0), quotient(a.0, b.1), quotient(a.1, b.0), quotient(a.1, b.1)])
        })
    });
    Ranges::union_of(all)
}

/// Remainders with the sign of the dividend; `None`: the divisor is zero.
fn remainder(lhs: &Ranges, rhs: &Ranges) -> Option<Ranges> {
    let all = divisors(rhs).flat_map(|(lo, hi)| {
        let (least, most) =
            (lo.unsigned_abs().min(hi.unsigned_abs()), lo.unsigned_abs().max(hi.unsigned_abs()));
        let limit = i128::try_from(most - 1).unwrap_or(i128::MAX);
        lhs.parts().iter().flat_map(move |(a, b)| {
            // Dividends on either side of zero.
            let sides = [(*a, (*b).min(-1)), ((*a).max(0), *b)];
            sides.into_iter().filter(|(a, b)| a <= b).map(move |(a, b)| {
                let nearest = if a < 0 { b.unsigned_abs() } else { a.unsigned_abs() };
                let farthest = if a < 0 { a.unsigned_abs() } else { b.unsigned_abs() };
                if farthest < least {
                    return (a, b);
                }
                if least == most && nearest / most == farthest / most && most <= i128::MAX.unsigned_abs() {
                    let by = most as i128;
                    return (a % by, b % by);
                }
                if a < 0 { (a.max(-limit), 0) } else { (0, b.min(limit)) }
            })
        })
    });
    Ranges::union_of(all)
}

/// Numbers whose product with `by` is wanted.
fn divide_exactly(wanted: &Ranges, by: i128) -> Option<Ranges> {
    let floor = |a: i128, b: i128| {
        a.checked_div_euclid(b).map(|q| if b < 0 && a.rem_euclid(b) != 0 { q - 1 } else { q })
    };
    let ceil = |a: i128, b: i128| floor(a.checked_neg()?, b).and_then(i128::checked_neg);
    let parts = wanted.parts().iter().map(|(lo, hi)| {
        let (first, last) = if by > 0 { (*lo, *hi) } else { (*hi, *lo) };
        match (ceil(first, by), floor(last, by)) {
            (Some(lo), Some(hi)) => (lo, hi),
            _ => (i128::MIN, i128::MAX),
        }
    });
    Ranges::union_of(parts)
}

/// Dividends whose quotient by a positive constant is wanted.
fn dividend(wanted: &Ranges, rhs: &Ranges) -> Option<Ranges> {
    let by = rhs.as_single().filter(|by| *by > 0)?;
    let parts = wanted.parts().iter().map(|(lo, hi)| {
        let from = if *lo <= 0 { lo.checked_mul(by)?.checked_sub(by - 1)? } else { lo.checked_mul(by)? };
        let to = if *hi >= 0 { hi.checked_mul(by)?.checked_add(by - 1)? } else { hi.checked_mul(by)? };
        Some((from, to))
    });
    parts.collect::<Raw>().and_then(Ranges::union_of)
}

/// The smallest `2^k - 1` that is at least `value`.
fn ones(value: i128) -> i128 {
    if value <= 0 { 0 } else { i128::MAX >> (value.leading_zeros() - 1) }
}

fn bitwise(op: BinaryOp, lhs: &Ranges, rhs: &Ranges) -> Ranges {
    let mut out = Vec::new();
    for a in signs(lhs) {
        for b in signs(rhs) {
            out.push(match op {
                BinaryOp::BitOr => or(a, b),
                BinaryOp::BitXor => xor(a, b),
                _ => and(a, b),
            });
        }
    }
    Ranges::union_of(out).unwrap_or_else(|| Ranges::new(i128::MIN, i128::MAX))
}

/// The parts on either side of the sign.
fn signs(ranges: &Ranges) -> impl Iterator<Item = (i128, i128)> + '_ {
    ranges
        .parts()
        .iter()
        .flat_map(|(lo, hi)| [(*lo, (*hi).min(-1)), ((*lo).max(0), *hi)])
        .filter(|(lo, hi)| lo <= hi)
}

type Range = (i128, i128);

fn and(a: Range, b: Range) -> Range {
    if a.0 == a.1 && b.0 == b.1 {
        return (a.0 & b.0, a.0 & b.0);
    }
    // A mask of low ones, on a range that does not cross a multiple: a remainder.
    for (range, mask) in [(a, b), (b, a)] {
        if mask.0 == mask.1 && mask.0 >= 0 && mask.0 == ones(mask.0) && range.0 & !mask.0 == range.1 & !mask.0
        {
            return (range.0 & mask.0, range.1 & mask.0);
        }
    }
    match (a.0 >= 0, b.0 >= 0) {
        (true, true) => (0, a.1.min(b.1)),
        (true, false) => (0, a.1),
        (false, true) => (0, b.1),
        (false, false) => (!ones(!a.0.min(b.0)), a.1.min(b.1)),
    }
}

fn or(a: Range, b: Range) -> Range {
    // ¬(¬a ∧ ¬b)
    let not = |range: Range| (!range.1, !range.0);
    let (lo, hi) = not(and(not(a), not(b)));
    match (a.0 >= 0, b.0 >= 0) {
        (true, true) => (lo.max(a.0).max(b.0), hi.min(ones(a.1.max(b.1)))),
        (true, false) | (false, true) | (false, false) => (lo, hi),
    }
}

fn xor(a: Range, b: Range) -> Range {
    if a.0 == a.1 && b.0 == b.1 {
        return (a.0 ^ b.0, a.0 ^ b.0);
    }
    let magnitude = |range: Range| if range.0 >= 0 { range.1 } else { !range.0 };
    let most = ones(magnitude(a).max(magnitude(b)));
    if (a.0 >= 0) == (b.0 >= 0) { (0, most) } else { (!most, -1) }
}
