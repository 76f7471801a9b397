//! What the first units of an object hold, of those that have values because so many have (`filled.rs`): numbers between two others. So `a[i]` is
//! less than 100 wherever `i < n` and a loop has stored `n` such numbers: arrays of indices, a partition by sign. Knows no calls.
//!
//! **Law.** Every whole unit before `Filled` of an object to which a listed pointer leads that is not null, read as such a scalar, is in these bounds.

use std::sync::Arc;

use proofline_cfa::{Expr, IntType, Lvalue, Scalar};
use serde::{Deserialize, Serialize};

use super::{
    filled::{Filled, Given},
    form::{Form, View},
    places::Place,
    state::Relations,
    terminator::Written,
    transfer::Step,
    variable::Var,
    zone::Dim,
};

/// Bounds that loops have moved so often go as far as they can.
const OFTEN: u8 = 24;

/// What each of some units holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Units {
    /// There is no unit.
    Nothing,
    /// Zero bytes.
    Zero,
    /// A number of this type, which takes a whole unit.
    Between {
        /// The type.
        ty: IntType,
        /// The smallest.
        low: i128,
        /// The largest.
        high: i128,
        /// So often that has grown where loops were widened. It says nothing.
        grown: u8,
    },
    /// Anything.
    Any,
}

impl Units {
    /// A number; the type's bounds say nothing.
    fn between(ty: IntType, low: i128, high: i128, grown: u8) -> Units {
        match (low, high) {
            (0, 0) => Units::Zero,
            _ if low <= ty.min() && high >= ty.max() || low > high => Units::Any,
            _ => Units::Between { ty, low, high, grown },
        }
    }

    /// What holds where either holds.
    #[must_use]
    pub fn join(self, other: Units) -> Units {
        match (self, other) {
            (Units::Nothing, known) | (known, Units::Nothing) => known,
            (Units::Zero, Units::Zero) => Units::Zero,
            (Units::Zero, Units::Between { ty, low, high, grown })
            | (Units::Between { ty, low, high, grown }, Units::Zero) => {
                Units::between(ty, low.min(0), high.max(0), grown)
            }
            (
                Units::Between { ty, low, high, grown },
                Units::Between { ty: of, low: least, high: most, grown: more },
            ) if ty == of => Units::between(ty, low.min(least), high.max(most), grown.max(more)),
            (Units::Between { .. } | Units::Any, _) | (_, Units::Any) => Units::Any,
        }
    }

    /// Whether the other one holds wherever this one does.
    pub fn implies(self, other: Units) -> bool {
        match (self.join(other), other) {
            (Units::Between { low, high, .. }, Units::Between { low: least, high: most, .. }) => {
                (low, high) == (least, most)
            }
            (joined, other) => joined == other,
        }
    }

    /// What holds where either holds, such that every chain ends: what has grown often has no bound but 0 there.
    #[must_use]
    pub fn widen(self, new: Units) -> Units {
        let joined = self.join(new);
        let (Units::Between { ty, low: old, high: top, .. }, Units::Between { low, high, grown, .. }) =
            (self, joined)
        else {
            return joined;
        };
        if (low, high) == (old, top) {
            return joined;
        }
        if grown < OFTEN {
            return Units::between(ty, low, high, grown + 1);
        }
        let low = match (low < old, low >= 0) {
            (false, _) => low,
            (true, true) => 0,
            (true, false) => ty.min(),
        };
        let high = match (high > top, high <= 0) {
            (false, _) => high,
            (true, true) => 0,
            (true, false) => ty.max(),
        };
        Units::between(ty, low, high, grown)
    }

    /// The bounds of a scalar that takes a whole unit.
    fn bounds(self, scalar: Scalar) -> Option<(i128, i128)> {
        match (self, scalar) {
            (Units::Zero, Scalar::Int(_)) => Some((0, 0)),
            (Units::Between { ty, low, high, .. }, Scalar::Int(of)) if ty == of => Some((low, high)),
            (Units::Nothing | Units::Zero | Units::Between { .. } | Units::Any, _) => None,
        }
    }
}

/// Whether so many bytes are a whole number of units.
fn is_whole(view: &View<'_>, bytes: &Expr, unit: u64) -> bool {
    let is_multiple = |form: Form| form.is_constant() && form.low % i128::from(unit) == 0;
    view.form(bytes).is_some_and(is_multiple) || view.in_units(bytes, unit).is_some()
}

impl View<'_> {
    /// The bounds of a number in memory, if it is one of the first units.
    pub(super) fn unit(&self, lvalue: &Lvalue) -> Option<(i128, i128)> {
        let is_known = |units: Units| !matches!(units, Units::Any | Units::Nothing);
        let scalar = lvalue.scalar.filter(|_| lvalue.bits.is_none())?;
        if !self.state.pointers.values().any(|pointer| is_known(pointer.units)) {
            return None;
        }
        let place = self.place(&Expr::Address(lvalue.clone()))?;
        let filled = place.filled.as_ref()?;
        let is_first = place.pointer.is_there()
            && place.pointer.unit == lvalue.size
            && place.offset.low >= 0
            && self.distance(&place.offset, filled) < 0;
        place.pointer.units.bounds(scalar).filter(|_| is_first)
    }
}

impl Step<'_> {
    /// What the units hold that a write gives values.
    pub(super) fn units_given(&self, view: &View<'_>, written: &Written<'_>) -> Units {
        match written {
            Written::Object { dst, value: Some(value), has_value: true } if dst.bits.is_none() => {
                match (dst.scalar, view.form(value)) {
                    (Some(Scalar::Int(ty)), Some(form)) if u64::from(ty.bits) == dst.size * 8 => {
                        Units::between(ty, form.low, form.high, 0)
                    }
                    _ => Units::Any,
                }
            }
            Written::Zeros(..) => Units::Zero,
            Written::Copied { from, size, .. } => self.units_copied(view, from, size),
            Written::Object { .. }
            | Written::Bytes(..)
            | Written::Values(..)
            | Written::Reached(_)
            | Written::Anything => Units::Any,
        }
    }

    /// What the units hold that are copied and have values: the first ones of an object are copied from its start on.
    fn units_copied(&self, view: &View<'_>, from: &Expr, size: &Expr) -> Units {
        let Some(source) = view.place(from) else { return Units::Any };
        let is_start = source.pointer.is_there() && (source.offset.low, source.offset.high) == (0, 0);
        let Some(filled) = source.filled.as_ref().filter(|_| is_start) else { return Units::Any };
        let length = view.in_units(self.copied_size(from, size), source.pointer.unit);
        match length.is_some_and(|length| view.distance(&length, filled) <= 0) {
            true => source.pointer.units,
            false => Units::Any,
        }
    }

    /// What the first units hold then.
    pub(super) fn units_then(
        &self,
        view: &View<'_>,
        id: Var,
        given: &Given,
        there: Option<&Place>,
        filled: &Filled,
    ) -> Units {
        let known = view.state.pointers.get(&id);
        let was_filled = known.is_some_and(|pointer| pointer.is_filled);
        let old = match known {
            Some(pointer) if was_filled => pointer.units,
            // All that has values then was given them here.
            Some(_) | None => Units::Nothing,
        };
        let unit = known.map(|pointer| pointer.unit);
        let Some(place) = there.filter(|place| Some(place.pointer.unit) == unit) else {
            return if self.is_apart(view, id, &given.address) { old } else { Units::Any };
        };
        let now = if was_filled { view.number(Dim::Filled(id)) } else { Form::constant(0) };
        let is_behind = view.distance(&now, &place.offset) <= 0;
        match filled {
            Filled::Lost => Units::Any,
            // Behind the first ones, or fewer of them.
            Filled::Same if is_behind => old,
            Filled::To(_) if !given.has_values && given.first.is_none() => old,
            Filled::Same | Filled::To(_) => {
                let fits = match given.units {
                    Units::Between { ty, .. } => u64::from(ty.bits) == place.pointer.unit * 8,
                    Units::Nothing | Units::Zero | Units::Any => true,
                };
                // Of a unit that is written in part nobody knows what it holds then.
                let is_whole = !given.has_values || is_whole(view, &given.size, place.pointer.unit);
                if fits && is_whole { old.join(given.units) } else { Units::Any }
            }
        }
    }

    /// Bytes change somewhere.
    pub(super) fn loses_units(&self, view: &View<'_>, state: &mut Relations, address: &Expr) {
        let is_lost = |id: &Var| !self.is_apart(view, *id, address);
        let lost: Vec<Var> =
            state.pointers.iter().filter(|(_, p)| p.units != Units::Any).map(|(id, _)| *id).collect();
        for id in lost.into_iter().filter(is_lost) {
            if let Some(pointer) = Arc::make_mut(&mut state.pointers).get_mut(&id) {
                pointer.units = Units::Any;
            }
        }
    }
}

impl Relations {
    /// Nothing is known of what units hold.
    pub(super) fn forget_units(&mut self) {
        if self.pointers.values().any(|pointer| pointer.units != Units::Any) {
            for pointer in Arc::make_mut(&mut self.pointers).values_mut() {
                pointer.units = Units::Any;
            }
        }
    }
}
