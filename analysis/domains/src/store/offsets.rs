//! Sets of byte offsets into an object: `{lo, lo + step, …, hi}`. Knows nothing of objects and values.

use serde::{Deserialize, Serialize};

/// Offsets beyond this are not told apart: large enough for any object, small enough that bit positions fit in `i64`.
const LIMIT: i64 = 1 << 56;

/// A non-empty set of byte offsets. `step` is 0 iff there is one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Offsets {
    /// Smallest.
    pub lo: i64,
    /// Largest.
    pub hi: i64,
    /// Distance between neighbours.
    pub step: u64,
}

impl Offsets {
    /// Every offset.
    pub const ANYWHERE: Offsets = Offsets { lo: -LIMIT, hi: LIMIT, step: 1 };

    /// One offset.
    pub fn at(offset: i64) -> Offsets {
        if offset.abs() > LIMIT { Offsets::ANYWHERE } else { Offsets { lo: offset, hi: offset, step: 0 } }
    }

    /// `{lo, lo + step, …, hi}`; [`Offsets::ANYWHERE`] if that leaves the limits.
    pub fn range(lo: i128, hi: i128, step: u64) -> Offsets {
        let limit = i128::from(LIMIT);
        if lo < -limit || hi > limit || lo > hi {
            return Offsets::ANYWHERE;
        }
        let (lo, hi) = (lo as i64, hi as i64);
        if lo == hi {
            return Offsets::at(lo);
        }
        let step = step.max(1);
        if step > LIMIT as u64 {
            return Offsets { lo, hi, step: 1 };
        }
        let hi = lo + (hi - lo) / step as i64 * step as i64;
        if lo == hi { Offsets::at(lo) } else { Offsets { lo, hi, step } }
    }

    /// The offset, when there is one.
    pub fn single(self) -> Option<i64> {
        (self.step == 0).then_some(self.lo)
    }

    /// Number of offsets.
    pub fn count(self) -> u64 {
        self.lo.abs_diff(self.hi).checked_div(self.step).unwrap_or(0) + 1
    }

    /// The offsets, in order.
    pub fn iter(self) -> impl Iterator<Item = i64> {
        (0..self.count()).map(move |k| self.lo + (k * self.step) as i64)
    }

    /// Sums of one from each.
    pub fn plus(self, other: Offsets) -> Offsets {
        let (lo, hi) =
            (i128::from(self.lo) + i128::from(other.lo), i128::from(self.hi) + i128::from(other.hi));
        Offsets::range(lo, hi, gcd(self.step, other.step))
    }

    /// A superset of both.
    pub fn join(self, other: Offsets) -> Offsets {
        if self == other {
            return self;
        }
        let step = gcd(gcd(self.step, other.step), self.lo.abs_diff(other.lo));
        Offsets::range(i128::from(self.lo.min(other.lo)), i128::from(self.hi.max(other.hi)), step)
    }

    /// Whether every offset is one of `other`'s.
    pub fn leq(self, other: Offsets) -> bool {
        if self.lo < other.lo || self.hi > other.hi {
            return false;
        }
        let aligned = |x: u64| if other.step == 0 { x == 0 } else { x.is_multiple_of(other.step) };
        aligned(self.lo.abs_diff(other.lo)) && (self.step == 0 || aligned(self.step))
    }

    /// Those between `lo` and `hi`, `None` if there are none.
    pub fn clip(self, lo: i64, hi: i64) -> Option<Offsets> {
        if self.step == 0 {
            return (lo <= self.lo && self.lo <= hi).then_some(self);
        }
        let step = self.step as i128;
        let (from, to) = (i128::from(self.lo), i128::from(self.hi.min(hi)));
        let skipped = (i128::from(lo) - from).max(0);
        let first = from + (skipped + step - 1) / step * step;
        (first <= to).then(|| Offsets::range(first, to, self.step))
    }

    /// A bound for all later joins with growing sets: what grew goes to the limit.
    pub fn widen(self, joined: Offsets) -> Offsets {
        let lo = if joined.lo < self.lo { -LIMIT } else { self.lo };
        let hi = if joined.hi > self.hi { LIMIT } else { self.hi };
        if lo == self.lo && hi == self.hi && joined.step == self.step {
            return self;
        }
        let step = gcd(self.step, joined.step).max(1);
        // Keep the residue that accesses depend on: limits are moved to a multiple of the step.
        let align = |limit: i64| joined.lo + (limit - joined.lo) / step as i64 * step as i64;
        let (lo, hi) = (if lo == -LIMIT { align(lo) } else { lo }, if hi == LIMIT { align(hi) } else { hi });
        Offsets::range(i128::from(lo), i128::from(hi), step)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
