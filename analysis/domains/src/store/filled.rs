//! Arrays that a loop gives values element by element: at the loop's head all elements before `i` have one, however far `i` has come. Such a
//! fact speaks of a local of the innermost frame; where that local changes or ends, what its least value says is kept in the region.
//! Laws: a state covers another only if its facts hold there; the facts of an upper bound hold in both states.

use std::sync::Arc;

use proofline_cfa::{LocalId, Scalar};
use serde::{Deserialize, Serialize};

use crate::store::{
    region::{Content, Region},
    state::{Frame, State},
    value::AbstractValue,
    view::Target,
};

/// The elements before `by + ahead` have values, none if that is not positive. Elements have `stride` bytes, the first begins at byte `start`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Filled {
    /// Of which object.
    pub target: Target,
    /// Where the first element begins.
    pub start: i64,
    /// Bytes of an element.
    pub stride: i64,
    /// An integer local of the innermost frame.
    pub by: LocalId,
    /// So many more than it says.
    pub ahead: i64,
}

/// A fact that is further behind is dropped, so that chains of upper bounds end.
const FURTHEST_BEHIND: i64 = -4;

impl Filled {
    fn is_about_the_same(&self, other: &Filled) -> bool {
        (self.target, self.start, self.stride, self.by) == (other.target, other.start, other.stride, other.by)
    }

    /// The bits that have values if the local is (at least) this number; `None` if there are none.
    fn bits(&self, by: i128) -> Option<(i64, i64)> {
        let count = i64::try_from(by).ok()?.checked_add(self.ahead)?;
        let bytes = count.checked_mul(self.stride)?.checked_add(self.start)?;
        (count > 0).then_some((self.start.checked_mul(8)?, bytes.checked_mul(8)?))
    }
}

impl<V: AbstractValue> Frame<V> {
    /// Least and largest value of an integer local.
    fn bounds(&self, id: LocalId) -> Option<(i128, i128)> {
        let [cell] = self.local(id)?.cells() else { return None };
        match &cell.content {
            _ if cell.start != 0 => None,
            Content::Zero => Some((0, 0)),
            Content::Each(Scalar::Int(_), item, value) if *item == cell.len => value.bounds(),
            Content::Each(..) | Content::Any => None,
        }
    }

    /// Adds a fact; of two about the same the one that says more stays.
    pub fn fill(&mut self, fact: Filled) {
        if fact.ahead < FURTHEST_BEHIND {
            return;
        }
        match self.filled.iter_mut().find(|known| known.is_about_the_same(&fact)) {
            Some(known) => known.ahead = known.ahead.max(fact.ahead),
            None => {
                self.filled.push(fact);
                self.filled.sort_unstable();
            }
        }
    }
}

impl<V: AbstractValue> State<V> {
    fn target(&self, target: Target) -> Option<&Arc<Region<V>>> {
        match target {
            Target::Local(id) => self.frame.local(id),
            Target::Object(object) => self.memory.get(object),
        }
    }

    /// Whether all bits of `from..to` of a target certainly have a value.
    pub(super) fn has_values(&self, target: Target, from: i64, to: i64) -> bool {
        let spans = self.frame.filled.iter().filter(|fact| fact.target == target);
        let spans = spans.filter_map(|fact| fact.bits(self.frame.bounds(fact.by)?.0));
        let spans = spans.chain(self.values_by_guard(target));
        let position = spans.filter(|(start, _)| *start <= from).map(|(_, end)| end).fold(from, i64::max);
        position >= to || self.target(target).is_some_and(|region| region.has_values(position, to))
    }

    /// Whether the fact is true of every concrete state.
    pub(super) fn is_filled(&self, fact: &Filled) -> bool {
        let is_listed =
            self.frame.filled.iter().any(|known| known.is_about_the_same(fact) && known.ahead >= fact.ahead);
        is_listed
            || self.frame.bounds(fact.by).is_some_and(|(_, most)| match fact.bits(most) {
                Some((from, to)) => self.has_values(fact.target, from, to),
                // Too large to be said, or nothing.
                None => most.saturating_add(i128::from(fact.ahead)) <= 0,
            })
    }

    /// `self ⊑ upper`, of these facts.
    pub(super) fn filled_leq(&self, upper: &State<V>) -> bool {
        upper.frame.filled.iter().all(|fact| self.is_filled(fact))
    }

    /// Facts that are true of both.
    pub(super) fn filled_join(&self, other: &State<V>) -> Vec<Filled> {
        let (mine, theirs) = (&self.frame.filled, &other.frame.filled);
        let mut frame: Frame<V> = Frame::new(self.frame.function, None);
        for fact in mine.iter().chain(theirs) {
            let same = mine.iter().chain(theirs).filter(|known| known.is_about_the_same(fact));
            let least = same.map(|known| known.ahead).fold(fact.ahead, i64::min);
            for fact in [*fact, Filled { ahead: least, ..*fact }] {
                if self.is_filled(&fact) && other.is_filled(&fact) {
                    frame.fill(fact);
                }
            }
        }
        frame.filled
    }

    /// Ends the facts for which `ends` holds. What they say of every concrete state stays.
    pub(super) fn conclude(&mut self, ends: &dyn Fn(&Filled) -> bool) {
        if !self.frame.filled.iter().any(ends) {
            return;
        }
        for fact in self.frame.filled.clone().iter().filter(|fact| ends(fact)) {
            let Some((from, to)) = self.frame.bounds(fact.by).and_then(|(least, _)| fact.bits(least)) else {
                continue;
            };
            let mut region =
                self.target(fact.target).map_or_else(Region::tracking, |region| Region::clone(region));
            region.give(from, to);
            match fact.target {
                Target::Local(id) => Arc::make_mut(&mut self.frame).set_local(id, region),
                Target::Object(object) => self.memory.set(object, region),
            }
        }
        self.unfill(ends);
    }

    /// Forgets the facts for which `lost` holds.
    pub(super) fn unfill(&mut self, lost: &dyn Fn(&Filled) -> bool) {
        if self.frame.filled.iter().any(lost) {
            Arc::make_mut(&mut self.frame).filled.retain(|fact| !lost(fact));
        }
    }
}
