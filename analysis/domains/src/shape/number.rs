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

/// Ranges with at least so many numbers are rounded.
const WIDE: i128 = 1 << 16;

/// Bounds that are no further from the least or greatest number of a type than this are that number.
const NEAR: i128 = 2;

/// A superset: of what a comparison of two unknown numbers says, that one of them is not the greatest there is, nothing is kept.
pub(super) fn round(ranges: &Ranges) -> Option<Ranges> {
    const LEAST: [i128; 2] = [i64::MIN as i128, i32::MIN as i128];
    const GREATEST: [i128; 4] = [i32::MAX as i128, u32::MAX as i128, i64::MAX as i128, u64::MAX as i128];
    let (low, high) = (ranges.lo(), ranges.hi());
    if ranges.parts().len() > 1 || high.saturating_sub(low) < WIDE {
        return None;
    }
    let low = LEAST.into_iter().find(|limit| (*limit..=limit + NEAR).contains(&low)).unwrap_or(low);
    let high = GREATEST.into_iter().find(|limit| (limit - NEAR..=*limit).contains(&high)).unwrap_or(high);
    let rounded = Ranges::new(low, high);
    (rounded != *ranges).then_some(rounded)
}
