//! States of relations: one zone per open call, and what is known of the pointers in its locals. Knows no operation.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use proofline_cfa::{EdgeId, LocalId, Name, Object};
use serde::{Deserialize, Serialize};

use super::zone::{Dim, Zone};

/// A set of concrete states, seen from the innermost frame.
///
/// **Meaning.** There are numbers for all dimensions that satisfy the zone, such that values of locals are their values, and every listed pointer
/// that is not null leads to an object that is alive, of at least `Size` units, `Offset` units from its start; `terminator.rs` says what is
/// known of the zeros in it, `filled.rs` which units have values. The object may be a part of one, such as the rest of a string. A local array is listed
/// like a pointer to its start.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Relations {
    /// Of the innermost frame.
    pub function: Name,
    /// The call edge it was entered by, when that is known.
    pub called_at: Option<(Name, EdgeId)>,
    /// Bounds of its numbers.
    pub zone: Arc<Zone>,
    /// What its pointers lead to, and its arrays.
    pub pointers: Arc<BTreeMap<LocalId, Pointer>>,
    /// Numbers that are at most so large as it is far from where a pointer leads to the zero that is known of its object: `strlen(p)`.
    pub rests: Arc<BTreeMap<LocalId, Rest>>,
    /// Numbers that were read from a string: locals, and units that pointers lead to.
    pub tested: Arc<BTreeSet<LocalId>>,
    /// Pointers that lead to a unit which is not 0.
    pub not_zero: Arc<BTreeSet<LocalId>>,
    /// Something on the heap may have been freed since the frame, or the block, was entered.
    pub frees: bool,
    /// The caller's frame, as far as it is known.
    pub below: Option<Arc<Relations>>,
}

/// Where a number is in a string.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Rest {
    /// The pointer to the string.
    pub of: LocalId,
    /// So far from there is no zero: the number is smaller than the rest.
    pub is_before: bool,
}

/// What is known of a pointer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Pointer {
    /// Bytes of a unit.
    pub unit: u64,
    /// Which object it leads to: pointers with the same tag, none of them null, lead to the same.
    pub tag: Option<Tag>,
    /// It is not null.
    pub is_there: bool,
    /// A unit of its object holds 0.
    pub has_zero: bool,
    /// The first units of its object have values.
    pub is_filled: bool,
    /// Its object is on the heap.
    pub on_heap: bool,
}

/// Names an object for the time of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Tag {
    /// A global, or a local of the innermost frame.
    Named(Object),
    /// What this edge, or what it calls, allocated last in this activation, and whether that is on the heap.
    Allocated(EdgeId, bool),
    /// What this parameter pointed to when the function was called.
    Passed(LocalId),
    /// What this local led to when this edge was taken last. If the edge allocates, that is older than what it has allocated.
    Older(LocalId, EdgeId),
}

impl Relations {
    /// A frame of which nothing is known.
    pub fn new(
        function: Name,
        called_at: Option<(Name, EdgeId)>,
        below: Option<Arc<Relations>>,
    ) -> Relations {
        Relations {
            function,
            called_at,
            zone: Arc::default(),
            pointers: Arc::default(),
            rests: Arc::default(),
            tested: Arc::default(),
            not_zero: Arc::default(),
            frees: false,
            below,
        }
    }

    /// Digest of the open calls: states with different ones are unrelated.
    pub fn calls(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut frame = Some(self);
        while let Some(one) = frame {
            (one.function, one.called_at).hash(&mut hasher);
            frame = one.below.as_deref();
        }
        hasher.finish()
    }

    /// Whether both have the same open calls.
    pub fn has_same_calls(&self, other: &Relations) -> bool {
        let (mut a, mut b) = (Some(self), Some(other));
        while let (Some(one), Some(two)) = (a, b) {
            if std::ptr::eq(one, two) {
                return true;
            }
            if (one.function, one.called_at) != (two.function, two.called_at) {
                return false;
            }
            (a, b) = (one.below.as_deref(), two.below.as_deref());
        }
        a.is_none() && b.is_none()
    }

    /// Why not every state is one of the other's.
    pub fn first_not_implied(&self, upper: &Relations) -> Option<String> {
        if std::ptr::eq(self, upper) {
            return None;
        }
        if (self.function, self.called_at) != (upper.function, upper.called_at) {
            return Some("other calls are open".to_owned());
        }
        if self.frees && !upper.frees {
            return Some("something may have been freed".to_owned());
        }
        let missing = upper.pointers.iter().find(|(id, pointer)| {
            self.pointers.get(id).is_none_or(|own| {
                own.unit != pointer.unit
                    || pointer.tag.is_some() && own.tag != pointer.tag
                    || pointer.is_there && !own.is_there
                    || pointer.has_zero && !own.has_zero
                    || pointer.is_filled && !own.is_filled
                    || pointer.on_heap && !own.on_heap
            })
        });
        if let Some((id, pointer)) = missing {
            return Some(format!("{id} is not {pointer:?}"));
        }
        let is_same = |own: &Rest, other: &Rest| own.of == other.of && (own.is_before || !other.is_before);
        if upper.rests.iter().any(|(id, rest)| self.rests.get(id).is_none_or(|own| !is_same(own, rest))) {
            return Some("of other numbers it is known that they are in a string".to_owned());
        }
        if !upper.tested.is_subset(&self.tested) || !upper.not_zero.is_subset(&self.not_zero) {
            return Some("of other numbers it is known where they were read".to_owned());
        }
        if !Arc::ptr_eq(&self.zone, &upper.zone)
            && let Some(why) = self.zone.first_not_implied(&upper.zone)
        {
            return Some(why);
        }
        match (&self.below, &upper.below) {
            (Some(own), Some(other)) => own.first_not_implied(other),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => Some("other calls are open".to_owned()),
        }
    }

    /// Both, frame by frame.
    pub fn upper(&self, other: &Relations, of_zones: &dyn Fn(&Zone, &Zone) -> Zone) -> Relations {
        if self == other {
            return self.clone();
        }
        let mut pointers = BTreeMap::new();
        for (id, own) in self.pointers.iter() {
            if let Some(new) = other.pointers.get(id).filter(|new| new.unit == own.unit) {
                let tag = own.tag.filter(|tag| Some(*tag) == new.tag);
                let (is_there, has_zero) = (own.is_there && new.is_there, own.has_zero && new.has_zero);
                let (is_filled, on_heap) = (own.is_filled && new.is_filled, own.on_heap && new.on_heap);
                pointers.insert(*id, Pointer { tag, is_there, has_zero, is_filled, on_heap, ..*own });
            }
        }
        let zone = if Arc::ptr_eq(&self.zone, &other.zone) {
            self.zone.clone()
        } else {
            Arc::new(of_zones(&self.zone, &other.zone))
        };
        let below = match (&self.below, &other.below) {
            (Some(own), Some(other)) if Arc::ptr_eq(own, other) => Some(own.clone()),
            (Some(own), Some(other)) => Some(Arc::new(own.upper(other, of_zones))),
            (own, _) => own.clone(),
        };
        let frees = self.frees || other.frees;
        let tested = both(&self.tested, &other.tested);
        let not_zero = both(&self.not_zero, &other.not_zero);
        let rests = self.rests.iter().filter_map(|(id, own)| {
            let rest = other.rests.get(id).filter(|rest| rest.of == own.of)?;
            Some((*id, Rest { of: own.of, is_before: own.is_before && rest.is_before }))
        });
        let rests = match self.rests == other.rests {
            true => self.rests.clone(),
            false => Arc::new(rests.collect()),
        };
        let pointers = Arc::new(pointers);
        let mut joined = Relations { zone, pointers, rests, tested, not_zero, frees, below, ..self.clone() };
        joined.drop_untracked();
        joined
    }

    /// Numbers about pointers that are not listed mean nothing.
    pub(super) fn drop_untracked(&mut self) {
        let (pointers, tested) = (&self.pointers, &self.tested);
        let is_lost = |dim: Dim| match dim {
            Dim::Offset(id) | Dim::Size(id) => !pointers.contains_key(&id),
            Dim::Zero(id) => !pointers.get(&id).is_some_and(|pointer| pointer.has_zero),
            Dim::Filled(id) => !pointers.get(&id).is_some_and(|pointer| pointer.is_filled),
            Dim::From(id) | Dim::Stop(id) => !tested.contains(&id),
            Dim::Value(..)
            | Dim::Twice(..)
            | Dim::Global(..)
            | Dim::First(..)
            | Dim::FirstOffset(_)
            | Dim::Scratch(_) => false,
        };
        if self.zone.mentions(is_lost) {
            Arc::make_mut(&mut self.zone).retain(|dim| !is_lost(dim));
        }
        let pointers = self.pointers.clone();
        self.retain_rests(|_, of| pointers.get(&of).is_some_and(|pointer| pointer.has_zero));
    }

    /// Forgets of numbers that they are in strings, if `keep` does not hold of number and pointer.
    pub(super) fn retain_rests(&mut self, keep: impl Fn(LocalId, LocalId) -> bool) {
        if self.rests.iter().any(|(id, rest)| !keep(*id, rest.of)) {
            Arc::make_mut(&mut self.rests).retain(|id, rest| keep(*id, rest.of));
        }
    }

    /// Forgets the pointers for which `keep` does not hold.
    pub fn retain_pointers(&mut self, keep: impl Fn(LocalId, &Pointer) -> bool) {
        if self.pointers.iter().any(|(id, pointer)| !keep(*id, pointer)) {
            Arc::make_mut(&mut self.pointers).retain(|id, pointer| keep(*id, pointer));
            self.drop_untracked();
        }
    }

    /// Forgets of units of memory what their values say: those of these pointers are kept.
    pub(super) fn retain_units(&mut self, keep: impl Fn(LocalId) -> bool) {
        if self.not_zero.iter().any(|id| !keep(*id)) {
            Arc::make_mut(&mut self.not_zero).retain(|id| keep(*id));
        }
        if self.tested.iter().any(|id| !keep(*id)) {
            Arc::make_mut(&mut self.tested).retain(|id| keep(*id));
            self.drop_untracked();
        }
    }

    /// Forgets the zeros in the objects of these pointers.
    pub(super) fn lose_zeros(&mut self, is_lost: impl Fn(LocalId) -> bool) {
        if self.pointers.iter().any(|(id, pointer)| pointer.has_zero && is_lost(*id)) {
            let pointers = Arc::make_mut(&mut self.pointers).iter_mut();
            pointers.filter(|(id, _)| is_lost(**id)).for_each(|(_, pointer)| pointer.has_zero = false);
            self.drop_untracked();
        }
    }

    /// Forgets which units of the objects of these pointers have values.
    pub(super) fn lose_values(&mut self, is_lost: impl Fn(LocalId) -> bool) {
        if self.pointers.iter().any(|(id, pointer)| pointer.is_filled && is_lost(*id)) {
            let pointers = Arc::make_mut(&mut self.pointers).iter_mut();
            pointers.filter(|(id, _)| is_lost(**id)).for_each(|(_, pointer)| pointer.is_filled = false);
            self.drop_untracked();
        }
    }

    /// Forgets what is known of the locals for which `keep` does not hold, but for their values at the call.
    pub fn retain_locals(&mut self, keep: impl Fn(LocalId) -> bool) {
        let is_lost = |dim: Dim| match dim {
            Dim::Value(id, _)
            | Dim::Twice(id, _)
            | Dim::Offset(id)
            | Dim::Size(id)
            | Dim::Zero(id)
            | Dim::Filled(id)
            | Dim::From(id)
            | Dim::Stop(id) => !keep(id),
            Dim::Global(..) | Dim::First(..) | Dim::FirstOffset(_) => false,
            Dim::Scratch(_) => true,
        };
        self.retain_units(&keep);
        self.retain_rests(|id, of| keep(id) && keep(of));
        if self.zone.mentions(is_lost) {
            Arc::make_mut(&mut self.zone).retain(|dim| !is_lost(dim));
        }
        self.retain_pointers(|id, _| keep(id));
    }

    /// Forgets what is known of the globals for which `keep` does not hold.
    pub fn retain_globals(&mut self, keep: impl Fn(Name) -> bool) {
        let is_lost = |dim: Dim| matches!(dim, Dim::Global(name, _) if !keep(name));
        if self.zone.mentions(is_lost) {
            Arc::make_mut(&mut self.zone).retain(|dim| !is_lost(dim));
        }
    }

    /// The edge allocates: from here on its tag names another object. What pointers lead to that are listed is older, and each of those whose object has
    /// no other name gets one that says so.
    pub(super) fn allocates(&mut self, edge: EdgeId) {
        let is_newest = |pointer: &Pointer| matches!(pointer.tag, Some(Tag::Allocated(at, _)) if at == edge);
        let newest = self.pointers.iter().find(|(_, pointer)| is_newest(pointer)).map(|(id, _)| *id);
        let renamed: Vec<(LocalId, Tag)> = self
            .pointers
            .iter()
            .filter_map(|(id, pointer)| match newest {
                Some(first) if is_newest(pointer) => Some((*id, Tag::Older(first, edge))),
                _ if pointer.tag.is_none() => Some((*id, Tag::Older(*id, edge))),
                _ => None,
            })
            .collect();
        if renamed.is_empty() {
            return;
        }
        let pointers = Arc::make_mut(&mut self.pointers);
        // Whose name that was keeps none.
        for pointer in pointers.values_mut() {
            if renamed.iter().any(|(_, tag)| pointer.tag == Some(*tag)) {
                pointer.tag = None;
            }
        }
        for (id, tag) in renamed {
            if let Some(pointer) = pointers.get_mut(&id) {
                pointer.tag = Some(tag);
            }
        }
    }

    /// Something was freed, and what leads there is not known: pointers to named objects stay.
    pub fn freed(&mut self) {
        self.frees = true;
        self.retain_pointers(|_, pointer| matches!(pointer.tag, Some(Tag::Named(_))));
    }
}

fn both(a: &Arc<BTreeSet<LocalId>>, b: &Arc<BTreeSet<LocalId>>) -> Arc<BTreeSet<LocalId>> {
    if a.is_subset(b) { a.clone() } else { Arc::new(a.intersection(b).copied().collect()) }
}
