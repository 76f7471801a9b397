//! Strings: that an object holds a unit of zeros at a place that only relations know. A run that looks at unit after unit and goes on where it is
//! not 0 stays before that place; so `while (*s) s++` stays inside of what `s[n - 1] = 0` has ended. Decides what memory operations do to
//! such facts. Knows no calls.
//!
//! **Law.** A pointer with `has_zero` that is not null leads to an object whose unit at `Zero` is inside of it and holds 0. Of a number that is
//! *tested*: if it is not 0, `From` is not `Stop`. The number is the local's value or, of a pointer, that of the unit which it leads to.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Base, CompareOp, Expr, LocalId, Lvalue, Name, Object, Scalar, Step as PathStep, texts, visit,
};

use super::{
    form::{Form, View},
    places::Place,
    state::Relations,
    transfer::{Result, Step, restrict, set},
    variable::Var,
    zone::Dim,
};

/// What is written.
pub(super) enum Written<'e> {
    /// An object, or a part of one, with what value, if that is a scalar's, and whether it certainly has one.
    Object { dst: &'e Lvalue, value: Option<&'e Expr>, has_value: bool },
    /// Some of so many bytes from here on.
    Bytes(&'e Expr, &'e Expr),
    /// So many bytes, which get values.
    Values(&'e Expr, &'e Expr),
    /// Zeros from here on, so many bytes.
    Zeros(&'e Expr, &'e Expr),
    /// Bytes that lie elsewhere are copied.
    Copied { to: &'e Expr, from: &'e Expr, size: &'e Expr },
    /// What unknown code reaches that has these values.
    Reached(&'e [Expr]),
    /// Any object.
    Anything,
}

impl<'e> Written<'e> {
    /// An object gets a value of which nothing is known.
    pub(super) fn unknown(dst: &'e Lvalue) -> Written<'e> {
        Written::Object { dst, value: None, has_value: false }
    }
}

/// Of two numbers that they differ where a third one is not 0.
pub(super) struct Tested {
    pub(super) from: Form,
    pub(super) stop: Form,
}

impl Step<'_> {
    /// Memory changes.
    pub(super) fn wrote(&self, state: &mut Relations, written: &Written<'_>) -> Result<()> {
        let view = self.view();
        let kept = match written {
            Written::Object { dst, value: Some(value), .. } => {
                unit_of(&view, dst).and_then(|id| Some((id, self.tested(&view, value)?)))
            }
            Written::Object { value: None, .. }
            | Written::Bytes(..)
            | Written::Values(..)
            | Written::Zeros(..)
            | Written::Copied { .. }
            | Written::Reached(_)
            | Written::Anything => None,
        };
        state.retain_units(|var| var.local().is_some_and(|id| !is_pointer(self, id)));
        let lost: BTreeSet<Var> = state
            .pointers
            .iter()
            .filter(|(id, pointer)| pointer.has_zero && !self.keeps_zero(&view, **id, written))
            .map(|(id, _)| *id)
            .collect();
        state.lose_zeros(|id| lost.contains(&id));
        self.ends_string(&view, state, written)?;
        self.fills(&view, state, written)?;
        if let Some((id, tested)) = kept {
            test(state, id, &tested)?;
        }
        Ok(())
    }

    /// What follows from a value being another one than 0. Of `isspace(c)` that is what follows from `c` being none.
    pub(super) fn tested(&self, view: &View<'_>, value: &Expr) -> Option<Tested> {
        let value = converted(value);
        let direct = match value {
            Expr::Load(lvalue) => self.tested_unit(view, lvalue),
            _ => None,
        };
        direct.or_else(|| self.not_zero_where(view, value, true).pop().map(|(_, tested)| tested))
    }

    /// What follows from a number being another one than 0: it was read from a string, or is a unit of one.
    fn tested_unit(&self, view: &View<'_>, lvalue: &Lvalue) -> Option<Tested> {
        if !matches!(lvalue.scalar, Some(Scalar::Int(_))) || lvalue.bits.is_some() {
            return None;
        }
        let of = |id: Var| {
            let is_known = view.state.tested.contains(&id);
            is_known.then(|| Tested { from: view.number(Dim::From(id)), stop: view.number(Dim::Stop(id)) })
        };
        if let Some((id, _)) = view.whole(lvalue) {
            return of(Var::Local(id));
        }
        if let Some((place, zero)) = in_string(view, lvalue) {
            return Some(Tested { from: place.offset, stop: zero });
        }
        unit_of(view, lvalue).and_then(of)
    }

    /// The numbers in a condition that are not 0 where it counts as `truth`, because others know that it would not if they were:
    /// the class of the character 0 has no bit that says "blank".
    fn not_zero_where<'e>(
        &self,
        view: &View<'_>,
        condition: &'e Expr,
        truth: bool,
    ) -> Vec<(&'e Lvalue, Tested)> {
        let mut found: Vec<(&Lvalue, Tested)> = Vec::new();
        visit::walk(condition, &mut |part| {
            if let Expr::Load(lvalue) = part
                && !found.iter().any(|(other, _)| *other == lvalue)
                && let Some(tested) = self.tested_unit(view, lvalue)
                && self.facts.truth(&with_zero(condition, lvalue)) == Some(!truth)
            {
                found.push((lvalue, tested));
            }
        });
        found
    }

    /// What follows for strings from a condition that counts as `truth`.
    pub(super) fn goes_on(&self, state: &mut Relations, condition: &Expr, truth: bool) -> Result<()> {
        let view = self.view();
        for (lvalue, tested) in self.not_zero_where(&view, condition, truth) {
            restrict(&view, state, CompareOp::Ne, &tested.from, &tested.stop)?;
            if let Some(id) = unit_of(&view, lvalue) {
                Arc::make_mut(&mut state.not_zero).insert(id);
            }
        }
        Ok(())
    }

    /// Whether the zero that a pointer is known to lead to is still there.
    fn keeps_zero(&self, view: &View<'_>, id: Var, written: &Written<'_>) -> bool {
        let (dst, value) = match written {
            Written::Zeros(..) => return true,
            Written::Anything => return false,
            Written::Reached(values) => return !self.is_reached(view.state, id, values),
            Written::Bytes(to, _) | Written::Values(to, _) | Written::Copied { to, .. } => {
                return self.is_apart(view, id, to);
            }
            Written::Object { dst, value, .. } => (*dst, *value),
        };
        let address = Expr::Address(dst.clone());
        if self.is_apart(view, id, &address) || value.is_some_and(|value| is_zero(view, value)) {
            return true;
        }
        let zero = view.number(Dim::Zero(id));
        unit_written(view, dst).is_some_and(|place| {
            let is_apart = view.distance(&place.offset, &zero) < 0 || view.distance(&zero, &place.offset) < 0;
            leads_there(view, id, dst, &place) && is_apart
        })
    }

    /// Whether the object of the pointer is another one than that of an address.
    pub(super) fn is_apart(&self, view: &View<'_>, id: Var, address: &Expr) -> bool {
        let ours = view.state.pointers.get(&id).and_then(|pointer| pointer.tag);
        let theirs = view.place(address).and_then(|place| place.pointer.tag);
        if let (Some(ours), Some(theirs)) = (ours, theirs)
            && ours.is_apart(theirs)
        {
            return true;
        }
        let objects = &self.env.targets(self.at.function.name, address).objects;
        !self.aliases().holds_one_of(view.state, id, objects)
    }

    /// A library function gives a string that it keeps: it may have written it where another one was.
    pub(super) fn library_writes(&self, state: &mut Relations) {
        let kept: BTreeSet<Object> = [Object::Global(Name::new(texts::LIBRARY))].into();
        let aliases = self.aliases();
        let pointers = state.pointers.keys().copied();
        let lost: Vec<Var> = pointers.filter(|var| aliases.holds_one_of(state, *var, &kept)).collect();
        state.lose_zeros(|id| lost.contains(&id));
        state.lose_values(|id| lost.contains(&id));
    }

    /// Whether unknown code that has these values reaches the object of the pointer.
    pub(super) fn is_reached(&self, state: &Relations, var: Var, values: &[Expr]) -> bool {
        let aliases = self.aliases();
        aliases.is_reached(values, |objects| aliases.holds_one_of(state, var, objects))
    }

    /// Zeros that were written end strings.
    fn ends_string(&self, view: &View<'_>, state: &mut Relations, written: &Written<'_>) -> Result<()> {
        let (place, at, base) = match written {
            Written::Object { dst, value: Some(value), .. } if is_zero(view, value) => {
                let Some(place) = unit_written(view, dst) else { return Ok(()) };
                let offset = place.offset.clone();
                (place, offset, Some(*dst))
            }
            Written::Copied { to, from, size } => {
                let Some((place, zero)) = self.copied_zero(view, to, from, size) else { return Ok(()) };
                (place, zero, None)
            }
            Written::Zeros(to, size) => {
                let (Some(place), Some(size)) = (view.place(to), view.form(size)) else { return Ok(()) };
                if place.pointer.unit != 1 || size.low < 1 {
                    return Ok(());
                }
                let last = place.offset.plus(&size).plus(&Form::constant(-1));
                (place, last, None)
            }
            Written::Object { .. }
            | Written::Bytes(..)
            | Written::Values(..)
            | Written::Reached(_)
            | Written::Anything => return Ok(()),
        };
        let is_one = |id: Var| match base {
            Some(dst) => leads_there(view, id, dst, &place),
            None => has_tag(view, id, &place),
        };
        let held: Vec<Var> = state
            .pointers
            .iter()
            .filter(|(id, pointer)| !pointer.has_zero && is_one(**id))
            .map(|(id, _)| *id)
            .collect();
        for id in held {
            hold_zero(state, id, &at)?;
        }
        Ok(())
    }

    /// What follows from how two numbers compare.
    pub(super) fn passes_no_end(
        &self,
        state: &mut Relations,
        op: CompareOp,
        lhs: &Expr,
        rhs: &Expr,
    ) -> Result<()> {
        for (op, one, other) in [(op, lhs, rhs), (op.mirrored(), rhs, lhs)] {
            let view = self.view();
            if !matches!(converted(one), Expr::Load(_)) || !excludes_zero(&view, op, other) {
                continue;
            }
            let Expr::Load(lvalue) = converted(one) else { continue };
            if let Some(tested) = self.tested(&view, one) {
                restrict(&view, state, CompareOp::Ne, &tested.from, &tested.stop)?;
            }
            if let Some(id) = unit_of(&view, lvalue) {
                Arc::make_mut(&mut state.not_zero).insert(id);
            }
        }
        Ok(())
    }
}

/// The object of the pointer holds a 0 there.
pub(super) fn hold_zero(state: &mut Relations, id: Var, at: &Form) -> Result<()> {
    set(state, &[(Dim::Zero(id), at)])?;
    if let Some(pointer) = Arc::make_mut(&mut state.pointers).get_mut(&id) {
        pointer.has_zero = true;
    }
    Ok(())
}

/// The number of the local was read so.
fn test(state: &mut Relations, id: Var, tested: &Tested) -> Result<()> {
    set(state, &[(Dim::From(id), &tested.from), (Dim::Stop(id), &tested.stop)])?;
    Arc::make_mut(&mut state.tested).insert(id);
    Ok(())
}

/// Whether the number cannot be 0 if it compares so with the other one.
fn excludes_zero(view: &View<'_>, op: CompareOp, other: &Expr) -> bool {
    if let (CompareOp::Eq, Expr::Load(lvalue)) = (op, converted(other))
        && unit_of(view, lvalue).is_some_and(|id| view.state.not_zero.contains(&id))
        && is_kept(other)
    {
        return true;
    }
    let Some(other) = view.form(other) else { return false };
    match op {
        CompareOp::Eq => other.low > 0 || other.high < 0,
        CompareOp::Ne => other.low == 0 && other.high == 0,
        CompareOp::Lt => other.high <= 0,
        CompareOp::Le => other.high < 0,
        CompareOp::Gt => other.low >= 0,
        CompareOp::Ge => other.low > 0,
    }
}

/// Whether only 0 becomes 0 by the conversions.
fn is_kept(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(Scalar::Int(to), arg, _) => {
            arg.int_type().is_some_and(|from| from.bits <= to.bits) && is_kept(arg)
        }
        _ => true,
    }
}

/// The expression with 0 in the place of a number.
fn with_zero(expr: &Expr, number: &Lvalue) -> Expr {
    let mut expr = expr.clone();
    visit::replace_in(&mut expr, &|part| match part {
        Expr::Load(read) if read == number => part.int_type().map(|ty| Expr::Int(0, ty)),
        _ => None,
    });
    expr
}

/// What is converted between integers: where the result is not 0, it is not either.
fn converted(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(Scalar::Int(_), arg, _) if arg.int_type().is_some() => converted(arg),
        _ => expr,
    }
}

/// The pointer `p` of a whole unit `*p`.
fn unit_of(view: &View<'_>, lvalue: &Lvalue) -> Option<Var> {
    let Base::Deref(pointer, _) = &lvalue.base else { return None };
    let is_start = lvalue.path.iter().all(|step| matches!(step, PathStep::Field { offset: 0, .. }));
    let is_unit = |id: &Var| view.state.pointers.get(id).is_some_and(|known| known.unit == lvalue.size);
    view.holder(pointer).filter(|id| is_start && lvalue.bits.is_none() && is_unit(id))
}

fn is_pointer(step: &Step<'_>, id: LocalId) -> bool {
    step.at.function.local(id).ty.pointee().is_some()
}

fn is_zero(view: &View<'_>, value: &Expr) -> bool {
    view.form(value).is_some_and(|form| form.low == 0 && form.high == 0)
}

/// Which whole unit of which object is written.
pub(super) fn unit_written(view: &View<'_>, dst: &Lvalue) -> Option<Place> {
    let is_unit = |place: &Place| place.pointer.unit == dst.size && place.pointer.is_there();
    view.place(&Expr::Address(dst.clone())).filter(|place| dst.bits.is_none() && is_unit(place))
}

/// Where in which string the place is, and where the string has its zero.
fn in_string(view: &View<'_>, lvalue: &Lvalue) -> Option<(Place, Form)> {
    let mut place = unit_written(view, lvalue)?;
    let zero = place.zero.take()?;
    Some((place, zero))
}

pub(super) fn has_tag(view: &View<'_>, id: Var, place: &Place) -> bool {
    view.state.pointers.get(&id).is_some_and(|pointer| {
        pointer.tag.is_some() && pointer.tag == place.pointer.tag && pointer.unit == place.pointer.unit
    })
}

/// Whether the pointer in a local, if it is not null, leads to the object that an lvalue, whose place this is, is in.
pub(super) fn leads_there(view: &View<'_>, id: Var, lvalue: &Lvalue, place: &Place) -> bool {
    let is_base = match &lvalue.base {
        Base::Deref(pointer, _) => view.holder(pointer) == Some(id),
        Base::Local(_) | Base::Global(_) => false,
    };
    let is_unit = view.state.pointers.get(&id).is_some_and(|pointer| pointer.unit == place.pointer.unit);
    has_tag(view, id, place) || is_base && is_unit
}
