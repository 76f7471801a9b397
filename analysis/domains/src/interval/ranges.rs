//! Sets of integers as a few disjoint ranges. Mathematics on `i128`; types come in by `within` and `wrap`. Knows no operators of C.

use proofline_cfa::IntType;
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

/// At most so many ranges; more are joined where the gap is smallest.
const MOST: usize = 4;

/// A non-empty set of integers: disjoint ranges with gaps between them, ascending.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ranges(SmallVec<[(i128, i128); 1]>);

impl std::fmt::Debug for Ranges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::fmt::Display for Ranges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (lo, hi)) in self.0.iter().enumerate() {
            let between = if index == 0 { "" } else { " | " };
            write!(f, "{between}[{lo}, {hi}]")?;
        }
        Ok(())
    }
}

impl Ranges {
    /// One number.
    pub fn single(value: i128) -> Ranges {
        Ranges(smallvec![(value, value)])
    }

    /// `lo..=hi`; the bounds may come in any order.
    pub fn new(lo: i128, hi: i128) -> Ranges {
        Ranges(smallvec![(lo.min(hi), lo.max(hi))])
    }

    /// All values of a type.
    pub fn of(ty: IntType) -> Ranges {
        Ranges::new(ty.min(), ty.max())
    }

    /// A superset of these ranges (exact as long as there are few), `None` for the empty set.
    pub fn union_of(ranges: impl IntoIterator<Item = (i128, i128)>) -> Option<Ranges> {
        let mut all: SmallVec<[(i128, i128); 8]> = ranges.into_iter().filter(|(lo, hi)| lo <= hi).collect();
        all.sort_unstable();
        let mut result: SmallVec<[(i128, i128); 8]> = SmallVec::new();
        for (lo, hi) in all {
            match result.last_mut() {
                Some(last) if lo <= last.1.saturating_add(1) => last.1 = last.1.max(hi),
                _ => result.push((lo, hi)),
            }
        }
        while result.len() > MOST {
            let gap = |at: &usize| result[at + 1].0.abs_diff(result[*at].1);
            let closest = (0..result.len() - 1).min_by_key(gap)?;
            result[closest].1 = result[closest + 1].1;
            result.remove(closest + 1);
        }
        (!result.is_empty()).then(|| Ranges(result.into_iter().collect()))
    }

    /// The ranges, ascending.
    pub fn parts(&self) -> &[(i128, i128)] {
        &self.0
    }

    /// Least element.
    pub fn lo(&self) -> i128 {
        self.0.first().map_or(i128::MIN, |part| part.0)
    }

    /// Greatest element.
    pub fn hi(&self) -> i128 {
        self.0.last().map_or(i128::MAX, |part| part.1)
    }

    /// The element, if there is one only.
    pub fn as_single(&self) -> Option<i128> {
        (self.lo() == self.hi()).then_some(self.lo())
    }

    /// Whether it is an element.
    pub fn contains(&self, value: i128) -> bool {
        self.0.iter().any(|(lo, hi)| *lo <= value && value <= *hi)
    }

    /// Whether every element is one of the other's.
    pub fn leq(&self, other: &Ranges) -> bool {
        self.0.iter().all(|(lo, hi)| other.0.iter().any(|(from, to)| from <= lo && hi <= to))
    }

    /// A superset of both.
    pub fn join(&self, other: &Ranges) -> Ranges {
        if self == other {
            return self.clone();
        }
        Ranges::union_of(self.0.iter().chain(&other.0).copied()).unwrap_or_else(|| self.clone())
    }

    /// The elements of either, if they can be said exactly.
    pub fn union(&self, other: &Ranges) -> Option<Ranges> {
        let joined = self.join(other);
        // Each part of the join is covered from below by parts of either, without a gap.
        let covered = |&(low, high): &(i128, i128)| {
            let mut next = low;
            loop {
                let parts = self.0.iter().chain(&other.0);
                let Some(end) =
                    parts.filter(|(from, to)| *from <= next && next <= *to).map(|part| part.1).max()
                else {
                    return false;
                };
                if end >= high {
                    return true;
                }
                next = end + 1;
            }
        };
        joined.0.iter().all(covered).then_some(joined)
    }

    /// The elements of both.
    pub fn meet(&self, other: &Ranges) -> Option<Ranges> {
        let pairs = self.0.iter().flat_map(|a| other.0.iter().map(move |b| (a.0.max(b.0), a.1.min(b.1))));
        Ranges::union_of(pairs)
    }

    /// The elements in a type's range.
    pub fn within(&self, ty: IntType) -> Option<Ranges> {
        self.meet(&Ranges::of(ty))
    }

    /// The elements but one number.
    pub fn without(&self, value: i128) -> Option<Ranges> {
        if !self.contains(value) {
            return Some(self.clone());
        }
        let parts = self.0.iter().flat_map(|(lo, hi)| {
            if *lo <= value && value <= *hi {
                let left = value.checked_sub(1).map_or((1, 0), |below| (*lo, below));
                let right = value.checked_add(1).map_or((1, 0), |above| (above, *hi));
                [left, right]
            } else {
                [(*lo, *hi), (1, 0)]
            }
        });
        // One gap more may be one too many: then a hull that contains the number is still right.
        Ranges::union_of(parts)
    }

    /// The elements that are at most (or at least) `bound`.
    pub fn at_most(&self, bound: i128) -> Option<Ranges> {
        self.meet(&Ranges(smallvec![(i128::MIN, bound)]))
    }
    /// The elements that are at least `bound`.
    pub fn at_least(&self, bound: i128) -> Option<Ranges> {
        self.meet(&Ranges(smallvec![(bound, i128::MAX)]))
    }

    /// The union of `f` over the ranges.
    pub fn map(&self, mut f: impl FnMut(i128, i128) -> (i128, i128)) -> Ranges {
        Ranges::union_of(self.0.iter().map(|(lo, hi)| f(*lo, *hi))).unwrap_or_else(|| self.clone())
    }

    /// The elements modulo 2^bits, in the type's range.
    pub fn wrap(&self, ty: IntType) -> Ranges {
        let mut out: SmallVec<[(i128, i128); 8]> = SmallVec::new();
        for (lo, hi) in &self.0 {
            wrap_range(ty, *lo, *hi, &mut out);
        }
        Ranges::union_of(out).unwrap_or_else(|| Ranges::of(ty))
    }

    /// A bound of a growing sequence `self ⊑ joined ⊑ …`: bounds that moved go to the next threshold (ascending) or to the type's end,
    /// gaps that changed close. Every chain of these steps ends.
    pub fn widen(&self, joined: &Ranges, thresholds: &[i128], ty: IntType) -> Ranges {
        if joined.leq(self) {
            return self.clone();
        }
        let lo = if joined.lo() < self.lo() {
            let at = thresholds.partition_point(|t| *t <= joined.lo());
            at.checked_sub(1).map_or(ty.min(), |at| thresholds[at].max(ty.min()))
        } else {
            self.lo()
        };
        let hi = if joined.hi() > self.hi() {
            let at = thresholds.partition_point(|t| *t < joined.hi());
            thresholds.get(at).map_or(ty.max(), |t| (*t).min(ty.max()))
        } else {
            self.hi()
        };
        let gaps = |ranges: &Ranges| -> Vec<(i128, i128)> {
            ranges.0.windows(2).map(|two| (two[0].1, two[1].0)).collect()
        };
        let old = gaps(self);
        let mut result: SmallVec<[(i128, i128); 1]> = SmallVec::new();
        let mut from = lo;
        for (left, right) in gaps(joined) {
            if old.contains(&(left, right)) {
                result.push((from, left));
                from = right;
            }
        }
        result.push((from, hi));
        Ranges(result)
    }
}

/// Appends `lo..=hi` modulo 2^bits.
fn wrap_range(ty: IntType, lo: i128, hi: i128, out: &mut SmallVec<[(i128, i128); 8]>) {
    if ty.contains(lo) && ty.contains(hi) {
        out.push((lo, hi));
        return;
    }
    let is_whole = match hi.checked_sub(lo) {
        None => true,
        Some(width) => ty.bits < 127 && width >= (1i128 << ty.bits) - 1,
    };
    if is_whole || ty.bits >= 127 {
        out.push((ty.min(), ty.max()));
        return;
    }
    let (first, last) = (ty.wrap(lo), ty.wrap(hi));
    if first <= last {
        out.push((first, last));
    } else {
        out.push((ty.min(), last));
        out.push((first, ty.max()));
    }
}
