//! What a state says of where pointers lead: into which object, how far from its start, and what is there. Knows numbers by their forms. Changes
//! nothing.

use std::sync::Arc;

use proofline_cfa::{Base, BinaryOp, Constant, Expr, Global, IntType, Lvalue, Object, Scalar, Step};
use smallvec::SmallVec;

use super::{
    form::{Form, View},
    state::{Null, Pointer},
    units::Units,
    variable::{Tag, Var},
    zone::Dim,
};

/// Pointers are compared as numbers so far from their objects.
const NEAR: i128 = 1 << 46;

/// What is known of a pointer that is not null.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Unit, object, and whether it is certainly not null.
    pub(super) pointer: Pointer,
    /// Units from the start.
    pub(super) offset: Form,
    /// Units in the object, at least.
    pub(super) size: Form,
    /// Units from the start to one that holds 0, if there is one.
    pub(super) zero: Option<Form>,
    /// So many units from the start on have values, at least.
    pub(super) filled: Option<Form>,
}

impl Place {
    /// Where a pointer leads that is null.
    pub(super) fn null() -> Place {
        let zero = || Form::constant(0);
        Place {
            pointer: Pointer::NULL,
            offset: zero(),
            size: zero(),
            zero: Some(zero()),
            filled: Some(zero()),
        }
    }

    /// Its numbers are compared with no other of which `is_lost` holds.
    pub(super) fn forget(&mut self, is_lost: impl Fn(Dim) -> bool) {
        let Place { offset, size, zero, filled, pointer: _ } = self;
        for form in [offset, size].into_iter().chain(zero.as_mut()).chain(filled.as_mut()) {
            form.forget(&is_lost);
        }
    }
}

impl View<'_> {
    /// Where a pointer leads if it is not null.
    pub(super) fn place(&self, pointer: &Expr) -> Option<Place> {
        if self.fuel.get() == 0 {
            return None;
        }
        self.fuel.set(self.fuel.get() - 1);
        match pointer {
            Expr::Load(lvalue) => {
                let (var, Scalar::Pointer) = self.variable(lvalue)? else { return None };
                let mut pointer = *self.state.pointers.get(&var)?;
                let (offset, size) = (self.number(Dim::Offset(var)), self.number(Dim::Size(var)));
                if pointer.null == Null::Empty && size.low > 0 {
                    pointer.null = Null::Never;
                }
                let zero = pointer.has_zero.then(|| self.number(Dim::Zero(var)));
                let filled = pointer.is_filled.then(|| self.number(Dim::Filled(var)));
                Some(Place { pointer, offset, size, zero, filled })
            }
            Expr::Null => Some(Place::null()),
            Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => self.place(arg),
            Expr::Address(lvalue) => self.address(lvalue),
            Expr::Cast(..)
            | Expr::Int(..)
            | Expr::Float(_)
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::Overflows(..)
            | Expr::Memory(..)
            | Expr::PointerDifference(..) => None,
        }
    }

    fn address(&self, lvalue: &Lvalue) -> Option<Place> {
        let base = match &lvalue.base {
            Base::Deref(pointer, _) => {
                let place = self.place(pointer)?;
                let is_moved = lvalue.path.iter().any(|step| !matches!(step, Step::Field { offset: 0, .. }));
                // Nobody knows where null and some bytes are.
                if is_moved && !place.pointer.is_there() {
                    return None;
                }
                place
            }
            Base::Local(id) => {
                let local = self.function.local(*id);
                let known = self.state.pointers.get(&Var::Local(*id));
                let unit = known.map(|known| known.unit);
                let object = Object::Local(self.function.name, *id);
                let start = start(object, local.size, unit, &lvalue.path);
                let mut start = Some(start).filter(|_| local.size > 0)?;
                if let Some(known) = known.filter(|known| known.unit == start.pointer.unit) {
                    start.pointer = *known;
                    start.zero = known.has_zero.then(|| self.number(Dim::Zero(Var::Local(*id))));
                    start.filled = known.is_filled.then(|| self.number(Dim::Filled(Var::Local(*id))));
                }
                start
            }
            Base::Global(name) => {
                let global = self.program.globals.get(name).filter(|global| global.size > 0)?;
                let mut start = start(Object::Global(*name), global.size, None, &lvalue.path);
                if global.constant && global.defined {
                    start.filled = Some(start.size.clone());
                    start.pointer.is_filled = true;
                    start.zero = if start.pointer.unit == 1 { first_zero(global) } else { None };
                    start.pointer.has_zero = start.zero.is_some();
                }
                start
            }
        };
        let moved = self.moved(&base, &lvalue.path);
        let mut place = moved.or_else(|| self.moved(&in_bytes(&base), &lvalue.path))?;
        if let Base::Deref(pointer, _) = &lvalue.base
            && let Some(before) = self.end_of_rest(pointer, &lvalue.path)
        {
            place.offset.above.push(before);
        }
        Some(place)
    }

    /// The zero that an address is not behind, because it is so far from a pointer as a string there is long, at most.
    fn end_of_rest(&self, pointer: &Expr, path: &[Step]) -> Option<(Dim, i128)> {
        let [Step::Index { index, stride, .. }] = path else { return None };
        let id = self.holder(pointer)?;
        let known = self.state.pointers.get(&id).filter(|known| known.has_zero && known.unit == *stride)?;
        let (number, _) = self.number_of(index)?;
        let rest = self.state.rests.get(&number).filter(|rest| rest.of == id && known.has_zero)?;
        Some((Dim::Zero(id), -i128::from(rest.is_before)))
    }

    /// All that holds a pointer.
    pub(super) fn holders(&self, pointer: &Expr) -> SmallVec<[Var; 2]> {
        match pointer {
            Expr::Load(lvalue) => self.variables(lvalue),
            Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => self.holders(arg),
            _ => SmallVec::new(),
        }
    }

    /// What holds a pointer.
    pub(super) fn holder(&self, pointer: &Expr) -> Option<Var> {
        match pointer {
            Expr::Load(lvalue) => self.variable(lvalue).map(|(var, _)| var),
            Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => self.holder(arg),
            _ => None,
        }
    }

    /// What holds the pointer that an address is made from, or the local array.
    pub(super) fn base(&self, address: &Expr) -> Option<Var> {
        match address {
            Expr::Address(Lvalue { base: Base::Deref(pointer, _), .. }) => self.base(pointer),
            Expr::Address(Lvalue { base: Base::Local(id), .. }) => Some(Var::Local(*id)),
            Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => self.base(arg),
            _ => self.holder(address),
        }
    }

    /// Steps further; `None` if these are no whole units.
    fn moved(&self, from: &Place, path: &[Step]) -> Option<Place> {
        let unit = i128::from(from.pointer.unit);
        let (mut bytes, mut offset) = (0i128, from.offset.clone());
        for step in path {
            match step {
                Step::Field { offset, .. } => bytes += i128::from(*offset),
                Step::Index { index, stride, .. } => {
                    let (form, stride) = (self.form(index)?, i128::from(*stride));
                    if stride > 0 && stride % unit == 0 {
                        offset = offset.plus(&form.times(stride / unit));
                    } else if form.is_constant() {
                        bytes = bytes.checked_add(form.low.checked_mul(stride)?)?;
                    } else {
                        return None;
                    }
                }
            }
        }
        (bytes % unit == 0)
            .then(|| Place { offset: offset.plus(&Form::constant(bytes / unit)), ..from.clone() })
    }

    /// Whether both, not null, lead to one object, and are not so far from it that addresses wrap around.
    pub(super) fn is_one_object(&self, left: &Place, right: &Place) -> bool {
        let (a, b) = (left.pointer, right.pointer);
        let is_near = |place: &Place| {
            let near = NEAR / i128::from(place.pointer.unit.max(1));
            let is_inside = place.offset.low >= 0 && self.distance(&place.offset, &place.size) <= 0;
            is_inside || place.offset.low >= -near && place.offset.high <= near
        };
        a.tag.is_some()
            && a.tag == b.tag
            && a.unit == b.unit
            && a.is_there()
            && b.is_there()
            && is_near(left)
            && is_near(right)
    }

    /// Whether so many bytes from the pointer on are certainly in its object.
    pub(super) fn is_inside(&self, pointer: &Expr, size: &Expr) -> bool {
        let Some(place) = self.place(pointer) else { return false };
        let Some(bytes) = self.form(size) else { return false };
        if !place.pointer.is_there() || bytes.low < 0 {
            return false;
        }
        let fits = |place: &Place, length: &Form| {
            let end = place.offset.plus(length);
            let is_before = |zero: &Form| self.distance(&end, zero) <= 1;
            let is_before_end =
                || self.distance(&end, &place.size) <= 0 || place.zero.as_ref().is_some_and(is_before);
            place.offset.low >= 0 && is_before_end()
        };
        let length = self.length(&bytes, size, place.pointer.unit);
        length.is_some_and(|length| fits(&place, &length)) || fits(&in_bytes(&place), &bytes)
    }

    /// Whether the pointer is certainly null or the start of a heap object that is alive.
    pub(super) fn is_freeable(&self, pointer: &Expr) -> bool {
        let Some(place) = self.place(pointer) else { return false };
        place.pointer.on_heap && (place.offset.low, place.offset.high) == (0, 0)
    }

    /// Whether a byte 0 certainly comes behind the pointer, before its object ends.
    pub(super) fn is_terminated(&self, pointer: &Expr) -> bool {
        let Some(place) = self.place(pointer) else { return false };
        let Some(zero) = &place.zero else { return false };
        place.pointer.is_there()
            && place.pointer.unit == 1
            && place.offset.low >= 0
            && self.distance(&place.offset, zero) <= 0
    }

    /// The same, or, if a size is given, whether so many bytes are certainly there.
    pub(super) fn is_terminated_within(&self, pointer: &Expr, size: &Expr) -> bool {
        let is_some = || self.form(size).is_some_and(|bytes| bytes.low > 0);
        self.is_terminated(pointer) || is_some() && self.is_inside(pointer, size)
    }

    /// Whether so many bytes from the pointer on certainly have values.
    pub(super) fn is_filled(&self, pointer: &Expr, size: &Expr) -> bool {
        let (Some(place), Some(bytes)) = (self.place(pointer), self.form(size)) else { return false };
        if !place.pointer.is_there() || bytes.low < 0 {
            return false;
        }
        let fits = |place: &Place, length: &Form| {
            let end = place.offset.plus(length);
            place.offset.low >= 0
                && place.filled.as_ref().is_some_and(|filled| self.distance(&end, filled) <= 0)
        };
        self.length(&bytes, size, place.pointer.unit).is_some_and(|length| fits(&place, &length))
            || fits(&in_bytes(&place), &bytes)
    }

    /// So many bytes in units, rounded up.
    pub(super) fn length(&self, bytes: &Form, size: &Expr, unit: u64) -> Option<Form> {
        let by = i128::from(unit);
        match bytes.is_constant() {
            true => Some(Form::constant((bytes.low + by - 1) / by)),
            false => self.in_units(size, unit),
        }
    }

    /// A product that does not wrap around, without a constant that is one of its factors: the quotient.
    fn without_factor(&self, product: &Expr, factor: u64) -> Option<Expr> {
        let Expr::Binary(BinaryOp::Mul, lhs, rhs, site) = product else { return None };
        let (value, ty) = (self.operation(BinaryOp::Mul, lhs, rhs)?, product.int_type()?);
        if value.low < ty.min() || value.high > ty.max() {
            return None;
        }
        let is_it = |side: &Expr| matches!(side, Expr::Int(value, _) if *value == i128::from(factor));
        let part = |side: &Expr, other: &Arc<Expr>| {
            if is_it(side) {
                return Some((**other).clone());
            }
            let rest = self.without_factor(side, factor)?;
            Some(Expr::Binary(BinaryOp::Mul, Arc::new(rest), other.clone(), *site))
        };
        part(rhs, lhs).or_else(|| part(lhs, rhs))
    }

    /// A number of bytes as a number of whole units: `n * 4` is `n` units of 4.
    pub(super) fn in_units(&self, bytes: &Expr, unit: u64) -> Option<Form> {
        let (form, by) = (self.form(bytes)?, i128::from(unit));
        if unit == 1 {
            return Some(form);
        }
        if form.is_constant() && form.low % by == 0 {
            return Some(Form::constant(form.low / by));
        }
        match bytes {
            Expr::Binary(BinaryOp::Mul, ..) => self.form(&self.without_factor(bytes, unit)?),
            Expr::Cast(Scalar::Int(ty), arg, _) => {
                let (inner, ty) = (self.form(arg)?, *ty);
                let is_same = ty.min() <= inner.low && inner.high <= ty.max();
                if is_same { self.in_units(arg, unit) } else { None }
            }
            Expr::Cast(..)
            | Expr::Binary(..)
            | Expr::Int(..)
            | Expr::Float(_)
            | Expr::Null
            | Expr::Load(_)
            | Expr::Address(_)
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Compare(..)
            | Expr::Overflows(..)
            | Expr::Memory(..)
            | Expr::PointerDifference(..) => None,
        }
    }
}

/// The same place in units of one byte: bounds only.
fn in_bytes(place: &Place) -> Place {
    let unit = i128::from(place.pointer.unit);
    if unit == 1 {
        return place.clone();
    }
    let pointer = Pointer { unit: 1, has_zero: false, units: Units::Any, ..place.pointer };
    let filled = place.filled.as_ref().map(|filled| filled.times(unit));
    Place { pointer, offset: place.offset.times(unit), size: place.size.times(unit), zero: None, filled }
}

/// The start of an object of known size, in the units of its elements, or in those that are asked for.
fn start(object: Object, size: u64, unit: Option<u64>, path: &[Step]) -> Place {
    let index = path.iter().find_map(|step| match step {
        Step::Index { stride, .. } if *stride > 0 => Some(*stride),
        Step::Index { .. } | Step::Field { .. } => None,
    });
    let unit = index.or(unit).unwrap_or(1);
    let tag = Some(Tag::Named(object));
    let (null, units) = (Null::Never, Units::Any);
    let pointer = Pointer { unit, tag, null, has_zero: false, is_filled: false, units, on_heap: false };
    let size = Form::constant(i128::from(size / unit));
    Place { pointer, offset: Form::constant(0), size, zero: None, filled: None }
}

/// Where the first byte 0 of an object is that keeps its initial value.
fn first_zero(global: &Global) -> Option<Form> {
    let mut at = 0;
    for value in &global.init {
        match (value.scalar, &value.value) {
            _ if value.offset > at => break,
            (Scalar::Int(IntType { bits: 8, .. }), Constant::Int(_)) if value.bits.is_none() => at += 1,
            _ => return None,
        }
    }
    (at < global.size).then(|| Form::constant(i128::from(at)))
}
