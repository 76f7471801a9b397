//! States of relations: one zone per open call, and what is known of the pointers in its locals. Knows no operation.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use proofline_cfa::{EdgeId, IntType, LocalId, Name, Scalar};
use serde::{Deserialize, Serialize};

use super::{
    units::Units,
    variable::{Cell, Tag, Var},
    zone::{Dim, Zone, products},
};

/// So many cells are looked at that hold the same as a factor of a product.
const MOST_EQUAL: usize = 4;

/// A set of concrete states, seen from the innermost frame.
///
/// **Meaning.** There are numbers for all dimensions that satisfy the zone, such that values of locals, cells and access paths are their values, and every listed pointer
/// that is not null leads to an object that is alive, of at least `Size` units, `Offset` units from its start; `terminator.rs` says what is
/// known of the zeros in it, `filled.rs` which units have values. The object may be a part of one, such as the rest of a string. A local array is listed
/// like a pointer to its start. What the numbers of a pointer are that is null, [`Null`] says.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Relations {
    /// Of the innermost frame.
    pub function: Name,
    /// The call edge it was entered by, when that is known.
    pub called_at: Option<(Name, EdgeId)>,
    /// Bounds of its numbers.
    pub zone: Arc<Zone>,
    /// What its pointers lead to, and its arrays.
    pub pointers: Arc<BTreeMap<Var, Pointer>>,
    /// Numbers that are at most so large as it is far from where a pointer leads to the zero that is known of its object: `strlen(p)`.
    pub rests: Arc<BTreeMap<Var, Rest>>,
    /// Numbers that were read from a string: locals, cells, and units that pointers lead to.
    pub tested: Arc<BTreeSet<Var>>,
    /// Pointers that lead to a unit which is not 0.
    pub not_zero: Arc<BTreeSet<Var>>,
    /// Something on the heap may have been freed since the frame, or the block, was entered.
    pub frees: bool,
    /// The caller's frame, as far as it is known.
    pub below: Option<Arc<Relations>>,
}

/// Where a number is in a string.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Rest {
    /// The pointer to the string.
    pub of: Var,
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
    /// Whether it may be null.
    pub null: Null,
    /// A unit of its object holds 0.
    pub has_zero: bool,
    /// The first units of its object have values.
    pub is_filled: bool,
    /// What these hold; of a pointer that is not `is_filled`: anything.
    pub units: Units,
    /// Its object is on the heap.
    pub on_heap: bool,
}

/// Whether a pointer may be null, and what its numbers are then.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Null {
    /// It is not null.
    Never,
    /// It is null. Its numbers are 0, whatever the unit.
    Always,
    /// If it is null, its object has no unit, and it is at the start: so it is not null where there is a unit.
    Empty,
    /// If it is null, its numbers mean nothing.
    Any,
}

impl Null {
    /// What holds where either holds.
    #[must_use]
    pub fn join(self, other: Null) -> Null {
        match (self, other) {
            (Null::Any, _) | (_, Null::Any) => Null::Any,
            (Null::Never, Null::Never) => Null::Never,
            (Null::Always, Null::Always) => Null::Always,
            (Null::Never | Null::Always | Null::Empty, Null::Never | Null::Always | Null::Empty) => {
                Null::Empty
            }
        }
    }
}

impl Pointer {
    /// A pointer that is null.
    pub const NULL: Pointer = Pointer {
        unit: 1,
        tag: None,
        null: Null::Always,
        has_zero: true,
        is_filled: true,
        units: Units::Nothing,
        on_heap: true,
    };

    /// Whether it is not null.
    pub fn is_there(&self) -> bool {
        self.null == Null::Never
    }

    /// Whether every such pointer is one of the other's.
    fn implies(&self, other: &Pointer) -> bool {
        let is_null = self.null == Null::Always;
        (self.unit == other.unit || is_null)
            && (other.tag.is_none() || self.tag == other.tag || is_null)
            && self.null.join(other.null) == other.null
            && (self.has_zero || !other.has_zero)
            && (self.is_filled || !other.is_filled)
            && (self.units.implies(other.units) || is_null)
            && (self.on_heap || !other.on_heap)
    }

    /// What holds where either holds, if they have the same units.
    fn join(&self, other: &Pointer, of_units: &dyn Fn(Units, Units) -> Units) -> Option<Pointer> {
        let (unit, tag) = match (self.null, other.null) {
            (Null::Always, _) => (other.unit, other.tag),
            (_, Null::Always) => (self.unit, self.tag),
            _ if self.unit == other.unit => (self.unit, self.tag.filter(|tag| Some(*tag) == other.tag)),
            _ => return None,
        };
        Some(Pointer {
            unit,
            tag,
            null: self.null.join(other.null),
            has_zero: self.has_zero && other.has_zero,
            is_filled: self.is_filled && other.is_filled,
            units: of_units(self.units, other.units),
            on_heap: self.on_heap && other.on_heap,
        })
    }
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
        let missing = upper
            .pointers
            .iter()
            .find(|(var, pointer)| self.pointers.get(var).is_none_or(|own| !own.implies(pointer)));
        if let Some((var, pointer)) = missing {
            return Some(format!("{var:?} is not {pointer:?}"));
        }
        let is_same = |own: &Rest, other: &Rest| own.of == other.of && (own.is_before || !other.is_before);
        if upper.rests.iter().any(|(id, rest)| self.rests.get(id).is_none_or(|own| !is_same(own, rest))) {
            return Some("of other numbers it is known that they are in a string".to_owned());
        }
        if !upper.tested.is_subset(&self.tested) || !upper.not_zero.is_subset(&self.not_zero) {
            return Some("of other numbers it is known where they were read".to_owned());
        }
        if !Arc::ptr_eq(&self.zone, &upper.zone) {
            let mut zone = self.zone.clone();
            for (var, _) in upper.pointers.iter().filter(|(_, pointer)| pointer.null == Null::Any) {
                if self.pointers.get(var).is_some_and(|own| own.null == Null::Always) {
                    free_numbers(&mut zone, &upper.zone, *var);
                }
            }
            if let Some(why) = zone.first_not_implied(&upper.zone) {
                return Some(why);
            }
        }
        match (&self.below, &upper.below) {
            (Some(own), Some(other)) => own.first_not_implied(other),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => Some("other calls are open".to_owned()),
        }
    }

    /// Both, frame by frame.
    pub fn upper(
        &self,
        other: &Relations,
        of_zones: &dyn Fn(&Zone, &Zone) -> Zone,
        of_units: &dyn Fn(Units, Units) -> Units,
    ) -> Relations {
        if self == other {
            return self.clone();
        }
        let mut pointers = BTreeMap::new();
        let (mut of_self, mut of_other) = (self.zone.clone(), other.zone.clone());
        for (var, own) in self.pointers.iter() {
            let Some(new) = other.pointers.get(var) else { continue };
            let is_free = match (own.null, new.null) {
                (Null::Always, Null::Always | Null::Empty) | (Null::Empty, Null::Always) => false,
                (Null::Always, _) => frees_numbers(&mut of_self, &of_other, *var),
                (_, Null::Always) => frees_numbers(&mut of_other, &of_self, *var),
                (_, _) => false,
            };
            if let Some(joined) = own.join(new, of_units) {
                let null = if is_free { Null::Any } else { joined.null };
                pointers.insert(*var, Pointer { null, ..joined });
            }
        }
        let zone = match Arc::ptr_eq(&of_self, &of_other) {
            true => of_self,
            false => Arc::new(of_zones(&of_self, &of_other)),
        };
        let below = match (&self.below, &other.below) {
            (Some(own), Some(other)) if Arc::ptr_eq(own, other) => Some(own.clone()),
            (Some(own), Some(other)) => Some(Arc::new(own.upper(other, of_zones, of_units))),
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
            | Dim::Product(..)
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
    pub(super) fn retain_rests(&mut self, keep: impl Fn(Var, Var) -> bool) {
        if self.rests.iter().any(|(id, rest)| !keep(*id, rest.of)) {
            Arc::make_mut(&mut self.rests).retain(|id, rest| keep(*id, rest.of));
        }
    }

    /// Forgets the pointers for which `keep` does not hold.
    pub fn retain_pointers(&mut self, keep: impl Fn(Var, &Pointer) -> bool) {
        if self.pointers.iter().any(|(id, pointer)| !keep(*id, pointer)) {
            Arc::make_mut(&mut self.pointers).retain(|id, pointer| keep(*id, pointer));
            self.drop_untracked();
        }
    }

    /// Forgets of units of memory what their values say: those of these pointers are kept.
    pub(super) fn retain_units(&mut self, keep: impl Fn(Var) -> bool) {
        if self.not_zero.iter().any(|id| !keep(*id)) {
            Arc::make_mut(&mut self.not_zero).retain(|id| keep(*id));
        }
        if self.tested.iter().any(|id| !keep(*id)) {
            Arc::make_mut(&mut self.tested).retain(|id| keep(*id));
            self.drop_untracked();
        }
    }

    /// Forgets the zeros in the objects of these pointers.
    pub(super) fn lose_zeros(&mut self, is_lost: impl Fn(Var) -> bool) {
        if self.pointers.iter().any(|(id, pointer)| pointer.has_zero && is_lost(*id)) {
            let pointers = Arc::make_mut(&mut self.pointers).iter_mut();
            pointers.filter(|(id, _)| is_lost(**id)).for_each(|(_, pointer)| pointer.has_zero = false);
            self.drop_untracked();
        }
    }

    /// Forgets which units of the objects of these pointers have values.
    pub(super) fn lose_values(&mut self, is_lost: impl Fn(Var) -> bool) {
        if self.pointers.iter().any(|(id, pointer)| pointer.is_filled && is_lost(*id)) {
            let pointers = Arc::make_mut(&mut self.pointers).iter_mut();
            pointers.filter(|(id, _)| is_lost(**id)).for_each(|(_, pointer)| {
                (pointer.is_filled, pointer.units) = (false, Units::Any);
            });
            self.drop_untracked();
        }
    }

    /// Forgets what is known of the locals and cells for which `keep` does not hold, but for values at the call.
    pub fn retain_vars(&mut self, keep: impl Fn(Var) -> bool) {
        let is_lost = |dim: Dim| match dim {
            Dim::Value(var, _)
            | Dim::Twice(var, _)
            | Dim::Offset(var)
            | Dim::Size(var)
            | Dim::Zero(var)
            | Dim::Filled(var)
            | Dim::From(var)
            | Dim::Stop(var) => !keep(var),
            Dim::Product(..) => !dim.factors().all(&keep),
            Dim::Global(..) | Dim::First(..) | Dim::FirstOffset(_) => false,
            Dim::Scratch(_) => true,
        };
        self.retain_units(&keep);
        self.retain_rests(|var, of| keep(var) && keep(of));
        if self.zone.mentions(is_lost) {
            Arc::make_mut(&mut self.zone).retain(|dim| !is_lost(dim));
        }
        self.retain_pointers(|var, _| keep(var));
    }

    /// The same of locals.
    pub fn retain_locals(&mut self, keep: impl Fn(LocalId) -> bool) {
        self.retain_vars(|var| var.local().is_none_or(&keep));
    }

    /// The same of cells.
    pub fn retain_cells(&mut self, keep: impl Fn(Cell) -> bool) {
        self.retain_vars(|var| var.cell().is_none_or(&keep));
    }

    /// Products are as large as the bounds of their factors say. False: there are no such numbers.
    #[must_use]
    pub(super) fn multiply(&mut self) -> bool {
        let all: Vec<Dim> = self.zone.dims().filter(|dim| matches!(dim, Dim::Product(..))).collect();
        all.into_iter().all(|dim| {
            let Dim::Product(a, a_ty, b, b_ty) = dim else { return true };
            let (first, second) = (Dim::Value(a, a_ty), Dim::Value(b, b_ty));
            let (low, high) = products(self.zone.followed(first), self.zone.followed(second));
            let (least, most) = self.zone.bounds(dim);
            low <= least && most <= high || Arc::make_mut(&mut self.zone).bound(dim, low, high)
        })
    }

    /// Of products of locals it is said of which cells they are products, where the cells hold the same: a function's locals end with it, and what it has put
    /// into memory is there behind it.
    pub(super) fn products_of_cells(&mut self) {
        let products: Vec<Dim> = self.zone.dims().filter(|dim| matches!(dim, Dim::Product(..))).collect();
        for dim in products {
            let Dim::Product(a, a_ty, b, b_ty) = dim else { continue };
            let equal = |var: Var, ty: IntType| -> Vec<(Var, IntType)> {
                let own = Dim::Value(var, ty);
                let is_equal =
                    |other: Dim| self.zone.distance(own, other) <= 0 && self.zone.distance(other, own) <= 0;
                let others = self.zone.dims().filter_map(|other| match other {
                    Dim::Value(cell @ Var::Cell(_), of) if cell != var && is_equal(other) => Some((cell, of)),
                    _ => None,
                });
                others.take(MOST_EQUAL).chain([(var, ty)]).collect()
            };
            let (first, second) = (equal(a, a_ty), equal(b, b_ty));
            let zone = Arc::make_mut(&mut self.zone);
            for (x, y) in first.iter().flat_map(|x| second.iter().map(move |y| (*x, *y))) {
                let same = Dim::product(x, y);
                // Both are one number, so nothing becomes impossible.
                let _ = same == dim || zone.constrain(same, dim, 0) && zone.constrain(dim, same, 0);
            }
        }
    }

    /// The cells of which something is known.
    pub fn cells(&self) -> BTreeSet<Cell> {
        let numbers = self.zone.dims().flat_map(Dim::cells);
        numbers.chain(self.pointers.keys().filter_map(|var| var.cell())).collect()
    }

    /// So many bytes the pointer in a local is from the start of the object with that name, if it leads there.
    pub(super) fn leads_to(&self, id: LocalId, tag: Tag) -> Option<i128> {
        let var = Var::Local(id);
        let pointer = self.pointers.get(&var).filter(|pointer| pointer.tag == Some(tag))?;
        let (low, high) = self.zone.bounds(Dim::Offset(var));
        (low == high).then(|| low.saturating_mul(i128::from(pointer.unit)))
    }

    /// A cell, or where a path leads, was written as such a scalar: what it was before as another one is forgotten.
    pub(super) fn holds_only(&mut self, var: Var, scalar: Scalar) {
        if scalar != Scalar::Pointer && self.pointers.contains_key(&var) {
            self.retain_pointers(|known, _| known != var);
        }
        let is_other = |dim: Dim| match dim {
            Dim::Value(known, ty) | Dim::Twice(known, ty) => known == var && scalar != Scalar::Int(ty),
            _ => false,
        };
        if self.zone.mentions(is_other) {
            Arc::make_mut(&mut self.zone).retain(|dim| !is_other(dim));
        }
    }

    /// Forgets cells of objects to which nothing that is known leads any more.
    pub(super) fn drop_unreachable(&mut self) {
        let cells = self.cells();
        if cells.is_empty() {
            return;
        }
        let has_name = |tag: Tag| match tag {
            Tag::Named(_) | Tag::Passed(_) | Tag::Behind(..) | Tag::Left(..) => true,
            Tag::Allocated { .. } | Tag::Older(..) => false,
        };
        let mut reached: BTreeSet<Tag> = BTreeSet::new();
        loop {
            let is_held = |var: &Var| match var {
                Var::Local(_) | Var::Path(_) => true,
                Var::Cell(cell) => has_name(cell.of) || reached.contains(&cell.of),
            };
            let next = self.pointers.iter().filter(|(var, _)| is_held(var)).filter_map(|(_, p)| p.tag);
            let next: BTreeSet<Tag> = next.collect();
            if next.len() == reached.len() {
                break;
            }
            reached = next;
        }
        if cells.iter().any(|cell| !has_name(cell.of) && !reached.contains(&cell.of)) {
            self.retain_cells(|cell| has_name(cell.of) || reached.contains(&cell.of));
        }
    }

    /// Forgets what is known of the globals for which `keep` does not hold.
    pub fn retain_globals(&mut self, keep: impl Fn(Name) -> bool) {
        let is_lost = |dim: Dim| matches!(dim, Dim::Global(name, _) if !keep(name));
        if self.zone.mentions(is_lost) {
            Arc::make_mut(&mut self.zone).retain(|dim| !is_lost(dim));
        }
    }

    /// The edge allocates: from here on its tags name other objects. What pointers lead to that are listed is older, and each of those whose object has
    /// no other name gets one that says so, if a local leads there.
    pub(super) fn allocates(&mut self, edge: EdgeId) {
        let is_newest = |tag: Option<Tag>| matches!(tag, Some(Tag::Allocated { at, .. }) if at == edge);
        let mut names: BTreeMap<Tag, Option<Tag>> = BTreeMap::new();
        let mut unnamed: Vec<(Var, Tag)> = Vec::new();
        for (var, pointer) in self.pointers.iter() {
            let older = var.local().map(|id| Tag::Older(id, edge));
            match (pointer.tag, older) {
                (Some(tag), older) if is_newest(pointer.tag) => {
                    let name = names.entry(tag).or_insert(older);
                    *name = name.or(older);
                }
                (None, Some(older)) => unnamed.push((*var, older)),
                (Some(_) | None, _) => {}
            }
        }
        let cells = self.cells();
        for cell in cells.iter().filter(|cell| is_newest(Some(cell.of))) {
            names.entry(cell.of).or_insert(None);
        }
        if names.is_empty() && unnamed.is_empty() {
            return;
        }
        // Whose name that was keeps none.
        let new: BTreeSet<Tag> =
            names.values().flatten().copied().chain(unnamed.iter().map(|(_, tag)| *tag)).collect();
        let name = |tag: Tag| match names.get(&tag) {
            Some(name) => *name,
            None => Some(tag).filter(|tag| !new.contains(tag)),
        };
        self.rename_objects(name);
        let pointers = Arc::make_mut(&mut self.pointers);
        for (var, tag) in unnamed {
            if let Some(pointer) = pointers.get_mut(&var) {
                pointer.tag = Some(tag);
            }
        }
    }

    /// Objects get other names. Of one that has none no cells are known. No two get the same.
    pub(super) fn rename_objects(&mut self, name: impl Fn(Tag) -> Option<Tag>) {
        let has_other = |cell: &Cell| name(cell.of) != Some(cell.of);
        if self.cells().iter().any(has_other) {
            let of = |cell: Cell| name(cell.of).map(|of| Var::Cell(Cell { of, ..cell }));
            self.rename(|var| match var {
                Var::Local(_) | Var::Path(_) => Some(var),
                Var::Cell(cell) => of(cell),
            });
        }
        if self.pointers.values().any(|pointer| pointer.tag.is_some_and(|tag| name(tag) != Some(tag))) {
            let pointers = Arc::make_mut(&mut self.pointers).values_mut();
            pointers.for_each(|pointer| pointer.tag = pointer.tag.and_then(&name));
        }
    }

    /// What holds numbers gets other names; nothing is known of what has none. No two get the same.
    pub(super) fn rename(&mut self, name: impl Fn(Var) -> Option<Var>) {
        let of_dim = |dim: Dim| match dim.var() {
            Some(var) => name(var).map(|var| dim.held_by(var)),
            None if matches!(dim, Dim::Product(..)) => dim.product_held_by(&name),
            None => Some(dim),
        };
        self.zone = Arc::new(self.zone.renamed(of_dim));
        let pointers = self.pointers.iter().filter_map(|(var, pointer)| Some((name(*var)?, *pointer)));
        self.pointers = Arc::new(pointers.collect());
        let rest = |(var, rest): (&Var, &Rest)| Some((name(*var)?, Rest { of: name(rest.of)?, ..*rest }));
        self.rests = Arc::new(self.rests.iter().filter_map(rest).collect());
        self.tested = Arc::new(self.tested.iter().filter_map(|var| name(*var)).collect());
        self.not_zero = Arc::new(self.not_zero.iter().filter_map(|var| name(*var)).collect());
        self.drop_untracked();
    }

    /// Something was freed, and what leads there is not known: pointers to named objects stay.
    pub fn freed(&mut self) {
        self.frees = true;
        self.retain_pointers(|_, pointer| matches!(pointer.tag, Some(Tag::Named(_))));
    }
}

/// The numbers of a pointer that is null become those that it has in another zone, if that says nothing of the rest. (A choice: they
/// can stay 0 as well. That says more where another number is 0 only where the pointer is null.)
fn frees_numbers(zone: &mut Arc<Zone>, other: &Zone, var: Var) -> bool {
    let size = Dim::Size(var);
    let tells = |dim: Dim| {
        dim.var() != Some(var)
            && other.bounds(dim).0 >= 1
            && zone.bounds(dim).1 <= 0
            && other.distance(dim, size) <= 0
    };
    if other.dims().any(tells) { false } else { free_numbers(zone, other, var) }
}

fn free_numbers(zone: &mut Arc<Zone>, other: &Zone, var: Var) -> bool {
    let is_own = |dim: Dim| match dim {
        Dim::Offset(of) | Dim::Size(of) | Dim::Zero(of) | Dim::Filled(of) => of == var,
        _ => false,
    };
    match zone.extended(other, is_own) {
        Some(extended) => {
            *zone = Arc::new(extended);
            true
        }
        None => false,
    }
}

fn both(a: &Arc<BTreeSet<Var>>, b: &Arc<BTreeSet<Var>>) -> Arc<BTreeSet<Var>> {
    if a.is_subset(b) { a.clone() } else { Arc::new(a.intersection(b).copied().collect()) }
}
