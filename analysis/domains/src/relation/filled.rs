//! Which units of an object have values: the first ones, so many as only relations know. So `a[i]` has one wherever `i < n` and a loop has read `n` of
//! them, and a buffer where `fread` says how much it gave. Local arrays are listed like pointers to their start. Decides what memory operations do to
//! such facts. Knows no calls.
//!
//! **Law.** A pointer that `is_filled`, and is not null, leads to an object of which every whole unit before `Filled` has a value.

use std::sync::Arc;

use proofline_cfa::{Expr, Function, IntType, LocalId, Object, Quantity, scalar_of};
use proofline_hir::{TypeKind, types::ArrayLength};

use super::{
    form::{Form, View},
    places::Place,
    state::{Null, Pointer, Relations},
    terminator::{Written, has_tag},
    transfer::{Result, Step, set},
    units::Units,
    variable::{Tag, Var},
    zone::Dim,
};

/// Whether the local is an array that is listed.
pub(super) fn is_array(function: &Function, id: LocalId) -> bool {
    let local = function.local(id);
    let is_fixed = matches!(local.ty.kind(), TypeKind::Array(_, ArrayLength::Fixed(_)));
    is_fixed && local.size > 0
}

/// Whether it is an array that only edges change which name it.
pub(super) fn is_private(function: &Function, var: Var) -> bool {
    var.local().is_some_and(|id| is_array(function, id) && !function.local(id).address_taken)
}

/// What certainly has values behind a write, in bytes.
pub(super) struct Given {
    pub(super) address: Expr,
    pub(super) size: Expr,
    pub(super) has_values: bool,
    /// What they are.
    pub(super) units: Units,
    /// If not all has: so many units of this size, from the start on.
    pub(super) first: Option<(u64, Form)>,
}

impl Step<'_> {
    /// An array of scalars begins: none of its elements has a value.
    pub(super) fn begins(&self, state: &mut Relations, id: LocalId) -> Result<()> {
        let local = self.at.function.local(id);
        let TypeKind::Array(element, ArrayLength::Fixed(length)) = local.ty.kind() else { return Ok(()) };
        if !is_array(self.at.function, id) || scalar_of(*element, self.env.program().data_model).is_none() {
            return Ok(());
        }
        let Some(unit) = local.size.checked_div(*length).filter(|unit| *unit > 0) else { return Ok(()) };
        let tag = Some(Tag::Named(Object::Local(self.at.function.name, id)));
        let (null, has_zero, is_filled, on_heap) = (Null::Never, false, true, false);
        let pointer = Pointer { unit, tag, null, has_zero, is_filled, units: Units::Nothing, on_heap };
        Arc::make_mut(&mut state.pointers).insert(Var::Local(id), pointer);
        set(state, &[(Dim::Filled(Var::Local(id)), &Form::constant(0))])
    }

    /// Memory changes: units get values, or may have none any more.
    pub(super) fn fills(&self, view: &View<'_>, state: &mut Relations, written: &Written<'_>) -> Result<()> {
        let Some(given) = self.given(view, state, written) else { return Ok(()) };
        let place = view.place(&given.address);
        let known: Vec<(Var, bool)> =
            state.pointers.iter().map(|(id, pointer)| (*id, pointer.is_filled)).collect();
        for (id, is_filled) in known {
            let there = place.as_ref().filter(|place| leads_into(view, id, &given.address, place));
            if !is_filled && there.is_none() {
                continue;
            }
            let filled = self.filled(view, id, &given, there);
            let units = self.units_then(view, id, &given, there, &filled);
            match filled {
                Filled::Same if is_filled => self.holds(state, id, units),
                Filled::Same => {}
                Filled::Lost => state.lose_values(|lost| lost == id),
                Filled::To(end) => {
                    set(state, &[(Dim::Filled(id), &end)])?;
                    if let Some(pointer) = Arc::make_mut(&mut state.pointers).get_mut(&id) {
                        pointer.is_filled = true;
                    }
                    self.holds(state, id, units);
                }
            }
        }
        Ok(())
    }

    fn holds(&self, state: &mut Relations, id: Var, units: Units) {
        if state.pointers.get(&id).is_some_and(|pointer| pointer.units != units)
            && let Some(pointer) = Arc::make_mut(&mut state.pointers).get_mut(&id)
        {
            pointer.units = units;
        }
    }

    /// What gets values. `None`: nothing, and nothing is lost beside what this forgets.
    fn given(&self, view: &View<'_>, state: &mut Relations, written: &Written<'_>) -> Option<Given> {
        let given = |address: &Expr, size: &Expr, has_values| {
            let units = self.units_given(view, written);
            Some(Given { address: address.clone(), size: size.clone(), has_values, units, first: None })
        };
        match written {
            // What changes has a value then; what does not has what it had.
            Written::Bytes(to, _) => {
                self.loses_units(view, state, to);
                None
            }
            Written::Object { dst, has_value, .. } => {
                let size = Expr::Int(i128::from(dst.size), IntType { bits: 64, signed: false });
                // Of a unit that holds bit-fields only some bits get values.
                let is_partial = *has_value && dst.bits.is_some();
                let address = Expr::Address((*dst).clone());
                if is_partial {
                    self.loses_units(view, state, &address);
                    return None;
                }
                given(&address, &size, *has_value)
            }
            Written::Values(to, size) | Written::Zeros(to, size) => given(to, size, true),
            Written::Copied { to, from, size } => {
                let mut given = given(to, size, view.is_filled(from, size))?;
                given.first = self.first_copied(view, from, size);
                if let (false, Some(source)) = (given.has_values, view.place(from)) {
                    given.units = source.pointer.units;
                }
                Some(given)
            }
            Written::Reached(values) => {
                let pointers = state.pointers.keys().copied();
                let lost: Vec<Var> = pointers.filter(|var| self.is_reached(state, *var, values)).collect();
                state.lose_values(|id| lost.contains(&id));
                None
            }
            Written::Anything => {
                state.lose_values(|var| !is_private(self.at.function, var));
                None
            }
        }
    }

    /// How many of the units that are copied certainly have values, and their size.
    fn first_copied(&self, view: &View<'_>, from: &Expr, size: &Expr) -> Option<(u64, Form)> {
        let source = view.place(from).filter(|place| place.pointer.is_there() && place.offset.low >= 0)?;
        let there = view.difference(source.filled.as_ref()?, &source.offset);
        let copied = whole_units(view, self.copied_size(from, size), source.pointer.unit)?;
        let first = if view.distance(&there, &copied) <= 0 {
            there
        } else if view.distance(&copied, &there) <= 0 {
            copied
        } else {
            there.least(&copied)
        };
        (first.low >= 0).then_some((source.pointer.unit, first))
    }

    /// So many bytes are copied, or all that there are: of an object that moves, `realloc` copies what fits into the new one.
    pub(super) fn copied_size<'e>(&'e self, from: &Expr, size: &'e Expr) -> &'e Expr {
        self.kept_of(from, size).unwrap_or(size)
    }

    /// The size of the new object, if the number is what `realloc` keeps of the old one, computed just before.
    fn kept_of(&self, from: &Expr, size: &Expr) -> Option<&Expr> {
        let function = self.at.function;
        let (number, _) = self.view().whole_of(size)?;
        let results = function.library_results.iter();
        let [old, new] = &results
            .filter(|result| result.quantity == Quantity::KeptBytes)
            .find(|result| result.dst == number)?
            .arguments[..]
        else {
            return None;
        };
        (old == from && self.was_just_computed(number)).then_some(new)
    }

    /// How far the object of a pointer has values then. `there`: the place that is written, if it certainly is in that object.
    fn filled(&self, view: &View<'_>, id: Var, given: &Given, there: Option<&Place>) -> Filled {
        let known = view.state.pointers.get(&id);
        // Of an object of which nothing is known no unit need have a value.
        let now = match known.is_some_and(|pointer| pointer.is_filled) {
            true => view.number(Dim::Filled(id)),
            false => Form::constant(0),
        };
        let unit = known.map(|pointer| pointer.unit);
        let Some(place) = there.filter(|place| Some(place.pointer.unit) == unit) else {
            let stays = given.has_values || self.is_apart(view, id, &given.address);
            return if stays { Filled::Same } else { Filled::Lost };
        };
        let starts_inside = place.offset.low >= 0 && view.distance(&place.offset, &now) <= 0;
        if let (true, false, Some((of, first))) = (starts_inside, given.has_values, &given.first)
            && Some(*of) == unit
        {
            return Filled::To(Box::new(place.offset.plus(first)));
        }
        match given.has_values {
            true => {
                let Some(length) = whole_units(view, &given.size, place.pointer.unit) else {
                    return Filled::Same;
                };
                let end = place.offset.plus(&length);
                // Of two ends of which nobody knows which is further, the one of many units is more likely to be asked for.
                let is_further = view.distance(&now, &end) <= 0 || length.low != length.high;
                let is_new = view.distance(&end, &now) > 0;
                if starts_inside && is_further && is_new { Filled::To(Box::new(end)) } else { Filled::Same }
            }
            false if view.distance(&now, &place.offset) <= 0 => Filled::Same,
            false if starts_inside => Filled::To(Box::new(place.offset.clone())),
            false => Filled::Lost,
        }
    }
}

/// What a write does to the units that have values.
pub(super) enum Filled {
    Same,
    Lost,
    To(Box<Form>),
}

/// So many whole units bytes make, at least.
fn whole_units(view: &View<'_>, size: &Expr, unit: u64) -> Option<Form> {
    let bytes = view.form(size)?;
    match bytes.low == bytes.high {
        true => Some(Form::constant(bytes.low / i128::from(unit))),
        false => view.in_units(size, unit),
    }
}

/// Whether the pointer in a local, if it is not null, leads to the object that an address is in, whose place this is.
pub(super) fn leads_into(view: &View<'_>, id: Var, address: &Expr, place: &Place) -> bool {
    let unit = view.state.pointers.get(&id).map(|pointer| pointer.unit);
    has_tag(view, id, place) || view.base(address) == Some(id) && unit == Some(place.pointer.unit)
}
