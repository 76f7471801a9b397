//! Order and bounds of regions. Laws: `leq` implies that every read of the upper region covers that of the lower one;
//! `combine` with an upper bound of values is an upper bound of regions.

use proofline_cfa::Scalar;

use crate::store::{
    region::{Access, Cell, Content, Ends, Region},
    value::{Abstract, AbstractValue},
};

impl<V: AbstractValue> Region<V> {
    /// Whether everything known in `upper` is known here.
    pub fn leq(&self, upper: &Region<V>) -> bool {
        if upper.ends().is_some_and(|ends| !self.is_ended(&ends)) {
            return false;
        }
        // Two plain scalars in one place: what is compared most, nearly always to find that they differ.
        if let ([mine], [theirs]) = (self.cells(), upper.cells())
            && (mine.start, mine.len) == (theirs.start, theirs.len)
        {
            match (&mine.content, &theirs.content) {
                (Content::Zero, Content::Zero) | (_, Content::Any) => return true,
                (Content::Each(..) | Content::Any, Content::Zero) | (Content::Any, Content::Each(..)) => {
                    return false;
                }
                (
                    Content::Each(scalar, item, value),
                    Content::Each(upper_scalar, upper_item, upper_value),
                ) if scalar == upper_scalar && item == upper_item => {
                    return value.leq(upper_value);
                }
                (Content::Zero | Content::Each(..), Content::Each(..)) => {}
            }
        }
        upper.cells().iter().all(|cell| self.implies(cell))
    }

    /// Whether one of these characters certainly is 0.
    pub fn is_ended(&self, ends: &Ends) -> bool {
        self.ends().is_some_and(|mine| mine.is_within(ends))
            || first_zero(self, ends.first, ends.item).is_some_and(|zero| zero <= ends.last)
    }

    /// Of some of these characters one is certainly 0.
    fn some_of(&self, ends: &Ends) -> Option<Ends> {
        let mine =
            self.ends().filter(|mine| mine.item == ends.item && (mine.first - ends.first) % ends.item == 0);
        mine.or_else(|| {
            let zero = first_zero(self, ends.first, ends.item)?;
            Some(Ends { first: zero, last: zero, item: ends.item })
        })
    }

    /// Where a string ends in both, if that is in some of so many characters; `self` is older.
    fn ends_of_both(&self, newer: &Region<V>) -> Option<Ends> {
        let hull = |a: Ends, b: Ends| {
            let joined = Ends { first: a.first.min(b.first), last: a.last.max(b.last), item: a.item };
            // What grows more often than this grows without end.
            (joined == b || joined.last - joined.first <= MOST_GROWTH * a.item).then_some(joined)
        };
        match (self.ends(), newer.ends()) {
            (None, None) => {
                let is_text = |region: &Region<V>| {
                    region.cells().iter().any(|cell| matches!(cell.content, Content::Each(_, 8, _)))
                };
                if !is_text(self) && !is_text(newer) {
                    return None;
                }
                let zero = |region: &Region<V>| first_zero(region, 0, 8);
                let (a, b) = (zero(self)?, zero(newer)?);
                // A zero of both stays a cell.
                let is_common =
                    |at: i64| first_zero(self, at, 8) == Some(at) && first_zero(newer, at, 8) == Some(at);
                if is_common(a) || is_common(b) {
                    return None;
                }
                hull(Ends { first: a, last: a, item: 8 }, Ends { first: b, last: b, item: 8 })
            }
            (Some(mine), _) => hull(mine, newer.some_of(&mine)?),
            (None, Some(theirs)) => hull(self.some_of(&theirs)?, theirs),
        }
    }

    fn implies(&self, upper: &Cell<V>) -> bool {
        let lower = self.overlapping(upper.start, upper.end());
        let mut position = upper.start;
        for cell in lower {
            if cell.start > position {
                return false;
            }
            let end = cell.end().min(upper.end());
            if !Self::cell_implies(cell, upper, position, end) {
                // One scalar may still be known in another shape.
                let Content::Each(scalar, item, value) = &upper.content else { return false };
                let whole = Access { start: upper.start, len: upper.len, room: upper.len, scalar: *scalar };
                return *item == upper.len && self.read(whole).known().is_some_and(|read| read.leq(value));
            }
            position = end;
        }
        position >= upper.end()
    }

    fn cell_implies(lower: &Cell<V>, upper: &Cell<V>, from: i64, to: i64) -> bool {
        match (&lower.content, &upper.content) {
            (Content::Zero, Content::Zero) | (_, Content::Any) => true,
            (Content::Each(..) | Content::Any, Content::Zero) | (Content::Any, Content::Each(..)) => false,
            (Content::Zero, Content::Each(scalar, item, value)) => {
                (from - upper.start) % item == 0 && (to - from) % item == 0 && V::zero(*scalar).leq(value)
            }
            (Content::Each(scalar, item, value), Content::Each(upper_scalar, upper_item, upper_value)) => {
                let is_within = |value: &V| value.leq(upper_value);
                item == upper_item
                    && (lower.start - upper.start) % item == 0
                    && match scalar == upper_scalar {
                        true => is_within(value),
                        // As in `combine_cells`.
                        false => value
                            .reinterpret(*scalar, *upper_scalar, *item)
                            .known()
                            .as_ref()
                            .is_some_and(is_within),
                    }
            }
        }
    }

    /// What both know, values combined by `bound` (older first).
    pub fn combine(
        &self,
        newer: &Region<V>,
        bound: &mut dyn FnMut(Scalar, &V, &V) -> Abstract<V>,
    ) -> Region<V> {
        let mut result = if self.tracks() { self.empty() } else { newer.empty() };
        let (mut olds, mut news) = (self.cells().iter().peekable(), newer.cells().iter().peekable());
        while let (Some(old), Some(new)) = (olds.peek(), news.peek()) {
            let (from, to) = (old.start.max(new.start), old.end().min(new.end()));
            if from < to {
                let cell = match (old.within(from, to), new.within(from, to)) {
                    (Some(old), Some(new)) => combine_cells(&old, &new, bound),
                    (Some(_) | None, _) => None,
                };
                result.push_padded(from, to, cell);
            }
            if old.end() <= to {
                olds.next();
            }
            if new.end() <= to {
                news.next();
            }
        }
        result.set_ends(self.ends_of_both(newer));
        result
    }
}

/// So many characters may the end of a string be apart in states that are joined.
const MOST_GROWTH: i64 = 256;

/// Bit position of the first character of so many bits from there on that certainly is 0.
pub(super) fn first_zero<V: AbstractValue>(region: &Region<V>, from: i64, item: i64) -> Option<i64> {
    region.overlapping(from, i64::MAX).iter().find_map(|cell| {
        let behind = (cell.start - from).max(0);
        let start = from + behind.checked_add(item - 1)? / item * item;
        let is_zero = match &cell.content {
            Content::Zero => true,
            Content::Each(..) | Content::Any => false,
        };
        (is_zero && start + item <= cell.end()).then_some(start)
    })
}

fn combine_cells<V: AbstractValue>(
    old: &Cell<V>,
    new: &Cell<V>,
    bound: &mut dyn FnMut(Scalar, &V, &V) -> Abstract<V>,
) -> Option<Cell<V>> {
    let each = |shape: &Cell<V>, scalar: Scalar, item: i64, value: Abstract<V>| {
        value.known().map(|value| Cell { content: Content::Each(scalar, item, value), ..shape.clone() })
    };
    match (&old.content, &new.content) {
        // That there are values is said by whoever asks.
        (Content::Any, _) | (_, Content::Any) => None,
        (Content::Zero, Content::Zero) => {
            let (start, end) = (old.start.max(new.start), old.end().min(new.end()));
            Some(Cell { start, len: end - start, content: Content::Zero })
        }
        (Content::Zero, Content::Each(scalar, item, value)) => {
            let shape = new.within(old.start, old.end())?;
            each(&shape, *scalar, *item, bound(*scalar, &V::zero(*scalar), value))
        }
        (Content::Each(scalar, item, value), Content::Zero) => {
            let shape = old.within(new.start, new.end())?;
            each(&shape, *scalar, *item, bound(*scalar, value, &V::zero(*scalar)))
        }
        (Content::Each(scalar, item, old_value), Content::Each(new_scalar, new_item, new_value)) => {
            if item != new_item || (old.start - new.start) % item != 0 {
                return None;
            }
            let shape = old.within(new.start, new.end())?;
            if scalar == new_scalar {
                return each(&shape, *scalar, *item, bound(*scalar, old_value, new_value));
            }
            let new_value = new_value.reinterpret(*new_scalar, *scalar, *item).known()?;
            each(&shape, *scalar, *item, bound(*scalar, old_value, &new_value))
        }
    }
}
