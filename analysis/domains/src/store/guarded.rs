//! What is known where a local has certain values: that bytes have a value where a call has succeeded, as its result says. Such a fact
//! is found where states are joined, and speaks of a local of the innermost frame; where that local changes or ends, it is kept if its
//! condition holds then. Laws: a state covers another only if its facts hold there; the facts of an upper bound hold in both states.

use std::sync::Arc;

use proofline_cfa::{LocalId, Scalar};
use serde::{Deserialize, Serialize};

use crate::store::{
    region::{Content, Ends, Region},
    state::{Frame, State},
    value::AbstractValue,
    view::Target,
};

/// Where the local is from `low` to `high` (a pointer: 0 if it is null, else 1), the fact is true.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Guarded {
    /// Of which object.
    pub target: Target,
    /// An integer or a pointer of the innermost frame.
    pub by: LocalId,
    /// Its least value.
    pub low: i128,
    /// Its largest value.
    pub high: i128,
    /// What is true then.
    pub fact: Fact,
}

/// Something about bits of an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fact {
    /// All of these have values.
    Values(i64, i64),
    /// A string ends there.
    Ends(Ends),
}

/// So many facts are kept.
const MOST: usize = 16;

impl<V: AbstractValue> Frame<V> {
    /// Least and largest value of an integer local; of a pointer 0 if it is null, and 1 if it certainly is the start of an object.
    fn guard(&self, id: LocalId) -> Option<(i128, i128)> {
        let [cell] = self.local(id)?.cells() else { return None };
        match &cell.content {
            _ if cell.start != 0 => None,
            Content::Zero => Some((0, 0)),
            Content::Each(Scalar::Int(_), item, value) if *item == cell.len => value.bounds(),
            Content::Each(Scalar::Pointer, item, value) if *item == cell.len => {
                value.is_never_null().then_some((1, 1))
            }
            Content::Each(..) | Content::Any => None,
        }
    }

    fn is_in_force(&self, guarded: &Guarded) -> bool {
        self.guard(guarded.by).is_some_and(|(low, high)| guarded.low <= low && high <= guarded.high)
    }
}

impl<V: AbstractValue> State<V> {
    fn known(&self, target: Target) -> Option<&Arc<Region<V>>> {
        match target {
            Target::Local(id) => self.frame.local(id),
            Target::Object(object) => self.memory.get(object),
        }
    }

    /// Bits that have values because a local has the value that it has.
    pub(super) fn values_by_guard(&self, target: Target) -> impl Iterator<Item = (i64, i64)> {
        self.frame.guarded.iter().filter_map(move |guarded| match guarded.fact {
            Fact::Values(from, to) if guarded.target == target => {
                self.frame.is_in_force(guarded).then_some((from, to))
            }
            Fact::Values(..) | Fact::Ends(_) => None,
        })
    }

    /// Where strings end in an object, beside what its cells say.
    pub(super) fn ends_of(&self, target: Target) -> Vec<Ends> {
        let guarded = self.frame.guarded.iter().filter_map(|guarded| match guarded.fact {
            Fact::Ends(ends) if guarded.target == target => self.frame.is_in_force(guarded).then_some(ends),
            Fact::Values(..) | Fact::Ends(_) => None,
        });
        self.known(target).and_then(|region| region.ends()).into_iter().chain(guarded).collect()
    }

    fn is_fact(&self, target: Target, fact: &Fact) -> bool {
        match fact {
            Fact::Values(from, to) => self.has_values(target, *from, *to),
            Fact::Ends(ends) => {
                self.known(target).is_some_and(|region| region.is_ended(ends))
                    || self.ends_of(target).iter().any(|known| known.is_within(ends))
            }
        }
    }

    /// Whether the fact is true of every concrete state.
    pub(super) fn is_guarded(&self, guarded: &Guarded) -> bool {
        let is_never = || {
            let range = self.frame.guard(guarded.by);
            range.is_some_and(|(low, high)| high < guarded.low || guarded.high < low)
        };
        let is_listed = || {
            self.frame.guarded.iter().any(|known| {
                let is_stronger = match (known.fact, guarded.fact) {
                    (Fact::Values(from, to), Fact::Values(start, end)) => from <= start && end <= to,
                    (Fact::Ends(mine), Fact::Ends(theirs)) => mine.is_within(&theirs),
                    (Fact::Values(..), Fact::Ends(_)) | (Fact::Ends(_), Fact::Values(..)) => false,
                };
                is_stronger
                    && (known.target, known.by) == (guarded.target, guarded.by)
                    && known.low <= guarded.low
                    && guarded.high <= known.high
            })
        };
        is_never() || is_listed() || self.is_fact(guarded.target, &guarded.fact)
    }

    /// `self ⊑ upper`, of these facts.
    pub(super) fn guarded_leq(&self, upper: &State<V>) -> bool {
        upper.frame.guarded.iter().all(|guarded| self.is_guarded(guarded))
    }

    /// Facts that are true of both, and are not known without a condition in `joined`.
    pub(super) fn guarded_join(&self, other: &State<V>, joined: &State<V>) -> Vec<Guarded> {
        let mut found: Vec<Guarded> =
            self.frame.guarded.iter().chain(&other.frame.guarded).copied().collect();
        found.extend(self.guarded_against(other, joined));
        found.extend(other.guarded_against(self, joined));
        found.sort_unstable();
        found.dedup();
        found.retain(|guarded| {
            self.is_guarded(guarded)
                && other.is_guarded(guarded)
                && !joined.is_fact(guarded.target, &guarded.fact)
        });
        found.truncate(MOST);
        found
    }

    /// Facts of this state that are lost where it is joined with the other, under the condition that tells the two apart.
    fn guarded_against(&self, other: &State<V>, joined: &State<V>) -> Vec<Guarded> {
        let mut lost = Vec::new();
        for (object, region) in self.memory.objects() {
            let theirs = other.memory.get(*object);
            if theirs.is_some_and(|theirs| Arc::ptr_eq(region, theirs)) {
                continue;
            }
            let (target, after) = (Target::Object(*object), joined.memory.get(*object));
            if region.tracks() {
                // Runs of bits with values that the bound has no values for.
                let mut run: Option<(i64, i64)> = None;
                for cell in region.cells() {
                    if after.is_some_and(|after| after.has_values(cell.start, cell.end())) {
                        continue;
                    }
                    match &mut run {
                        Some((_, end)) if *end == cell.start => *end = cell.end(),
                        _ => {
                            lost.extend(run.map(|(from, to)| (target, Fact::Values(from, to))));
                            run = Some((cell.start, cell.end()));
                        }
                    }
                }
                lost.extend(run.map(|(from, to)| (target, Fact::Values(from, to))));
            }
            if let Some(ends) = region.ends()
                && after.is_none_or(|after| !after.is_ended(&ends))
            {
                lost.push((target, Fact::Ends(ends)));
            }
        }
        if lost.is_empty() {
            return Vec::new();
        }
        lost.truncate(MOST);
        let mut out = Vec::new();
        for (id, region) in &self.frame.locals {
            let Some(theirs) = other.frame.local(*id).filter(|theirs| !Arc::ptr_eq(region, theirs)) else {
                continue;
            };
            if region == theirs {
                continue;
            }
            let (Some((low, high)), Some((least, most))) = (self.frame.guard(*id), other.frame.guard(*id))
            else {
                continue;
            };
            let (low, high) = if low > most {
                (most + 1, i128::MAX)
            } else if high < least {
                (i128::MIN, least - 1)
            } else {
                continue;
            };
            out.extend(lost.iter().map(|(target, fact)| Guarded {
                target: *target,
                by: *id,
                low,
                high,
                fact: *fact,
            }));
        }
        out
    }

    /// Ends the facts for which `ends` holds. Where their condition holds, what they say stays.
    pub(super) fn conclude_guarded(&mut self, ends: &dyn Fn(&Guarded) -> bool) {
        if !self.frame.guarded.iter().any(ends) {
            return;
        }
        for guarded in self.frame.guarded.clone().iter().filter(|guarded| ends(guarded)) {
            if !self.frame.is_in_force(guarded) {
                continue;
            }
            let known = self.known(guarded.target).map(|region| Region::clone(region));
            let mut region = known.unwrap_or_else(Region::tracking);
            match guarded.fact {
                Fact::Values(from, to) => region.give(from, to),
                Fact::Ends(ends) => region.set_ends(Some(ends)),
            }
            match guarded.target {
                Target::Local(id) => Arc::make_mut(&mut self.frame).set_local(id, region),
                Target::Object(object) => self.memory.set(object, region),
            }
        }
        self.unguard(ends);
    }

    /// Forgets the facts for which `lost` holds.
    pub(super) fn unguard(&mut self, lost: &dyn Fn(&Guarded) -> bool) {
        if self.frame.guarded.iter().any(lost) {
            Arc::make_mut(&mut self.frame).guarded.retain(|guarded| !lost(guarded));
        }
    }

    /// Where strings end in the object is about to change.
    pub(super) fn unend(&mut self, target: Target) {
        self.conclude_guarded(&|guarded| guarded.target == target && matches!(guarded.fact, Fact::Ends(_)));
    }

    /// What is known where one local has certain values is so where its copy has them.
    pub(super) fn copy_guarded(&mut self, from: LocalId, to: LocalId) {
        let copies: Vec<Guarded> =
            self.frame.guarded.iter().filter(|known| known.by == from).copied().collect();
        if copies.is_empty() {
            return;
        }
        let frame = Arc::make_mut(&mut self.frame);
        frame.guarded.extend(copies.into_iter().map(|known| Guarded { by: to, ..known }));
        frame.guarded.sort_unstable();
        frame.guarded.dedup();
    }
}
