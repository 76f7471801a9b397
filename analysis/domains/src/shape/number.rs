//! How numbers grow. Knows no state.

use crate::interval::Ranges;

/// Bounds go to the next of these.
const STEPS: [i128; 7] =
    [i64::MIN as i128, i32::MIN as i128, -1, 0, i32::MAX as i128, u32::MAX as i128, i64::MAX as i128];

/// So many numbers are told apart.
const MOST: i128 = 4;

/// A superset of both, such that every chain of these steps ends.
pub(super) fn widen(a: &Ranges, b: &Ranges) -> Ranges {
    let both = a.join(b);
    if both == *a || both == *b {
        return both;
    }
    let count = both
        .parts()
        .iter()
        .try_fold(0i128, |sum, (low, high)| sum.checked_add(high.checked_sub(*low)?.checked_add(1)?));
    if count.is_some_and(|count| count <= MOST) {
        return both;
    }
    let low = STEPS.iter().rev().find(|step| **step <= both.lo()).copied().unwrap_or(i128::MIN);
    let high = STEPS.iter().find(|step| both.hi() <= **step).copied();
    Ranges::new(
        low,
        high.unwrap_or(if both.hi() <= i128::from(u64::MAX) { u64::MAX.into() } else { i128::MAX }),
    )
}
