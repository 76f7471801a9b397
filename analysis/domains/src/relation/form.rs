//! What a state says of an expression's value: bounds, and bounds of its distance from numbers of the state. Values are mathematical: an operation
//! whose result may wrap around says nothing but its type. Changes nothing.

use std::{cell::Cell, collections::BTreeSet};

use proofline_cfa::{
    Base, BinaryOp, Constant, Expr, Function, Global, IntType, LocalId, Lvalue, Name, Object, Program,
    Scalar, Step, UnaryOp,
};
use proofline_cpa::Facts;
use smallvec::SmallVec;

use super::{
    state::{Pointer, Relations, Tag},
    zone::Dim,
};

/// So many numbers a form is compared with.
const MOST: usize = 6;

/// Expressions are looked into so many times.
const FUEL: u32 = 200;

/// Pointers are compared as numbers so far from their objects.
const NEAR: i128 = 1 << 46;

/// A number with its distance.
type Near = SmallVec<[(Dim, i128); 2]>;

/// What is known of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    /// Smallest and largest value.
    pub(super) low: i128,
    /// Largest.
    pub(super) high: i128,
    /// It is at most so much larger than these.
    pub(super) above: Near,
    /// These are at most so much larger than it.
    pub(super) below: Near,
}

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

impl Form {
    pub(super) fn between(low: i128, high: i128) -> Form {
        Form { low, high, above: Near::new(), below: Near::new() }
    }

    pub(super) fn constant(value: i128) -> Form {
        Form::between(value, value)
    }

    fn map(self, low: i128, high: i128, above: impl Fn(i128) -> i128, below: impl Fn(i128) -> i128) -> Form {
        Form {
            low,
            high,
            above: self.above.into_iter().map(|(dim, most)| (dim, above(most))).collect(),
            below: self.below.into_iter().map(|(dim, most)| (dim, below(most))).collect(),
        }
    }

    /// The sum, as a mathematical number.
    pub(super) fn plus(&self, other: &Form) -> Form {
        let mut sum = self.clone().map(
            self.low.saturating_add(other.low),
            self.high.saturating_add(other.high),
            |most| most.saturating_add(other.high),
            |most| most.saturating_sub(other.low),
        );
        let more = other.clone().map(
            0,
            0,
            |most| most.saturating_add(self.high),
            |most| most.saturating_sub(self.low),
        );
        sum.above.extend(more.above);
        sum.below.extend(more.below);
        sum.above.truncate(MOST);
        sum.below.truncate(MOST);
        sum
    }

    /// The smaller of both.
    pub(super) fn least(&self, other: &Form) -> Form {
        let above: Near = self.above.iter().chain(&other.above).copied().take(MOST).collect();
        Form { low: self.low.min(other.low), high: self.high.min(other.high), above, below: Near::new() }
    }

    /// The number times a positive one.
    fn times(&self, factor: i128) -> Form {
        if factor == 1 {
            return self.clone();
        }
        Form::between(self.low.saturating_mul(factor), self.high.saturating_mul(factor))
    }

    fn is_constant(&self) -> bool {
        self.low == self.high
    }
}

/// A state as its innermost function sees it.
pub(super) struct View<'a> {
    pub(super) program: &'a Program,
    pub(super) function: &'a Function,
    pub(super) state: &'a Relations,
    pub(super) facts: &'a dyn Facts,
    /// Globals that relations speak of.
    pub(super) globals: &'a BTreeSet<Name>,
    fuel: Cell<u32>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        program: &'a Program,
        function: &'a Function,
        state: &'a Relations,
        facts: &'a dyn Facts,
        globals: &'a BTreeSet<Name>,
    ) -> View<'a> {
        View { program, function, state, facts, globals, fuel: Cell::new(FUEL) }
    }

    /// The number itself.
    pub(super) fn number(&self, dim: Dim) -> Form {
        let (low, high) = self.state.zone.followed(dim);
        let near: Near = [(dim, 0)].into_iter().collect();
        Form { low, high, above: near.clone(), below: near }
    }

    /// By how much the first is at most larger than the second.
    pub(super) fn distance(&self, x: &Form, y: &Form) -> i128 {
        let mut most = x.high.saturating_sub(y.low);
        for (a, first) in &x.above {
            for (b, last) in &y.below {
                let between = self.between(*a, *b);
                most = most.min(between.saturating_add(*first).saturating_add(*last));
            }
        }
        most
    }

    /// By how much a number is at most larger than another one. Twice the numbers are twice as far from each other.
    fn between(&self, a: Dim, b: Dim) -> i128 {
        let zone = &self.state.zone;
        match (a, b) {
            (Dim::Twice(x, of_x), Dim::Twice(y, of_y)) => {
                let halves = zone.distance(Dim::Value(x, of_x), Dim::Value(y, of_y));
                zone.distance(a, b).min(halves.saturating_mul(2))
            }
            _ => zone.distance(a, b),
        }
    }

    /// The number that twice an expression is, if that is a local.
    fn twice(&self, expr: &Expr) -> Option<Dim> {
        match self.number_of(expr)? {
            (id, Scalar::Int(ty)) if ty.bits <= 64 => Some(Dim::Twice(id, ty)),
            _ => None,
        }
    }

    /// The value of an expression of an integer type of at most 64 bits.
    pub(super) fn form(&self, expr: &Expr) -> Option<Form> {
        let Scalar::Int(ty) = expr.scalar() else { return None };
        if ty.bits > 64 || self.fuel.get() == 0 {
            return None;
        }
        self.fuel.set(self.fuel.get() - 1);
        let (mut low, mut high) = (ty.min(), ty.max());
        let exact = self.exact(expr).filter(|form| ty.min() <= form.low && form.high <= ty.max());
        if exact.as_ref().is_none_or(|form| !form.is_constant())
            && let Some((least, most)) = self.facts.int_range(expr)
        {
            (low, high) = (low.max(least), high.min(most));
        }
        let mut form = exact.unwrap_or_else(|| Form::between(low, high));
        (form.low, form.high) = (form.low.max(low), form.high.min(high));
        Some(form)
    }

    /// The mathematical value, which may be outside of the type.
    fn exact(&self, expr: &Expr) -> Option<Form> {
        match expr {
            Expr::Int(value, _) => Some(Form::constant(*value)),
            Expr::Load(lvalue) => self.dim(lvalue).map(|dim| self.number(dim)),
            Expr::Binary(op, lhs, rhs, _) => self.operation(*op, lhs, rhs),
            Expr::Cast(_, arg, _) => self.form(arg),
            Expr::Unary(UnaryOp::Negate, arg, _) => {
                let form = self.form(arg)?;
                Some(Form::between(-form.high, -form.low))
            }
            Expr::Compare(op, lhs, rhs) => Some(match self.truth(*op, lhs, rhs) {
                Some(truth) => Form::constant(i128::from(truth)),
                None => Form::between(0, 1),
            }),
            Expr::Overflows(..) | Expr::Memory(..) => Some(Form::between(0, 1)),
            Expr::PointerDifference(lhs, rhs, stride, _) => {
                let (left, right) = (self.place(lhs)?, self.place(rhs)?);
                let is_one = self.is_one_object(&left, &right) && left.pointer.unit == *stride;
                is_one.then(|| self.difference(&left.offset, &right.offset))
            }
            Expr::Unary(UnaryOp::BitNot, ..)
            | Expr::Float(_)
            | Expr::Null
            | Expr::Address(_)
            | Expr::Function(_) => None,
        }
    }

    /// The mathematical result; of operations on bits what is simple.
    pub(super) fn operation(&self, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Option<Form> {
        let (left, right) = (self.form(lhs)?, self.form(rhs)?);
        let same = |most: i128| most;
        let loose = Near::new;
        match op {
            BinaryOp::Add => {
                let mut sum = left.plus(&right);
                for (low, part) in [(lhs, rhs), (rhs, lhs)] {
                    sum.above.extend(self.halfway(low, part).into_iter().flatten());
                }
                let most =
                    sum.above.iter().map(|(dim, most)| self.state.zone.bounds(*dim).1.saturating_add(*most));
                sum.high = most.fold(sum.high, i128::min);
                Some(sum)
            }
            BinaryOp::Sub => Some(self.difference(&left, &right)),
            BinaryOp::Mul if right == Form::constant(1) => Some(left),
            BinaryOp::Mul if left == Form::constant(1) => Some(right),
            BinaryOp::Mul => {
                // A product with a positive number is no smaller.
                let more = |factor: &Form, by: &Form| match factor.low >= 0 && by.low >= 1 {
                    true => factor.low.saturating_mul(by.low - 1),
                    false => 0,
                };
                let (of_left, of_right) = (more(&left, &right), more(&right, &left));
                let mut below = Near::new();
                if left.low >= 0 && right.low >= 1 {
                    below.extend(left.below.iter().map(|(dim, most)| (*dim, most.saturating_sub(of_left))));
                }
                if right.low >= 0 && left.low >= 1 {
                    below.extend(right.below.iter().map(|(dim, most)| (*dim, most.saturating_sub(of_right))));
                }
                let products = [
                    (left.low, right.low),
                    (left.low, right.high),
                    (left.high, right.low),
                    (left.high, right.high),
                ]
                .map(|(a, b)| a.saturating_mul(b));
                let low = products.into_iter().min()?;
                let high = products.into_iter().max()?;
                let mut above = Near::new();
                for (number, by) in [(lhs, &right), (rhs, &left)] {
                    if let Some(twice) = (*by == Form::constant(2)).then(|| self.twice(number)).flatten() {
                        above.push((twice, 0));
                        below.insert(0, (twice, 0));
                    }
                }
                below.truncate(MOST);
                Some(Form { above, below, ..Form::between(low, high) })
            }
            BinaryOp::Div if left.low >= 0 && right.low >= 1 => {
                let (low, high) = (left.low / right.high, left.high / right.low);
                Some(Form { below: loose(), ..left.map(low, high, same, same) })
            }
            BinaryOp::Rem if left.low >= 0 && right.low >= 1 => {
                let high = left.high.min(right.high - 1);
                let mut form = Form { below: loose(), ..left.map(0, high, same, same) };
                form.above.extend(right.above.iter().map(|(dim, most)| (*dim, most - 1)));
                form.above.truncate(MOST);
                Some(form)
            }
            BinaryOp::Shr if left.low >= 0 => {
                let high = left.high;
                Some(Form { below: loose(), ..left.map(0, high, same, same) })
            }
            BinaryOp::Shl if left.low >= 0 && right.is_constant() && (0..=64).contains(&right.low) => {
                let by = 1i128 << right.low;
                let more = left.low.saturating_mul(by - 1);
                let (low, high) = (left.low.saturating_mul(by), left.high.saturating_mul(by));
                let below = |most: i128| most.saturating_sub(more);
                let mut form = Form { above: loose(), ..left.map(low, high, same, below) };
                if let Some(twice) = (by == 2).then(|| self.twice(lhs)).flatten() {
                    form.above.push((twice, 0));
                    form.below.insert(0, (twice, 0));
                    form.below.truncate(MOST);
                }
                Some(form)
            }
            BinaryOp::BitAnd if left.low >= 0 || right.low >= 0 => {
                let high = match (left.low >= 0, right.low >= 0) {
                    (true, true) => left.high.min(right.high),
                    (true, false) => left.high,
                    (false, _) => right.high,
                };
                let mut form = Form::between(0, high);
                for side in [&left, &right].into_iter().filter(|side| side.low >= 0) {
                    form.above.extend(side.above.iter().copied());
                }
                form.above.truncate(MOST);
                Some(form)
            }
            BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::Shr
            | BinaryOp::Shl
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor => None,
        }
    }

    /// What `low + (high − low) / 2` is not above.
    fn halfway(&self, low: &Expr, part: &Expr) -> Option<Near> {
        let Expr::Binary(BinaryOp::Div | BinaryOp::Shr, whole, by, _) = part else { return None };
        let Expr::Binary(BinaryOp::Sub, high, start, _) = &**whole else { return None };
        // As numbers: what wraps around is on no way.
        let way = self.operation(BinaryOp::Sub, high, start).filter(|way| **start == *low && way.low >= 0)?;
        let is_less = way.low >= 1 && matches!(**by, Expr::Int(by, _) if by >= 2);
        let near = self.form(high)?.above.into_iter();
        Some(near.map(|(dim, most)| (dim, most - i128::from(is_less))).collect())
    }

    /// `a − b`.
    pub(super) fn difference(&self, left: &Form, right: &Form) -> Form {
        let low = left.low.saturating_sub(right.high).max(self.distance(right, left).saturating_neg());
        let high = left.high.saturating_sub(right.low).min(self.distance(left, right));
        left.clone().map(
            low,
            high,
            |most| most.saturating_sub(right.low),
            |most| most.saturating_add(right.high),
        )
    }

    /// Where a pointer leads if it is not null.
    pub(super) fn place(&self, pointer: &Expr) -> Option<Place> {
        if self.fuel.get() == 0 {
            return None;
        }
        self.fuel.set(self.fuel.get() - 1);
        match pointer {
            Expr::Load(lvalue) => {
                let (id, Scalar::Pointer) = self.whole(lvalue)? else { return None };
                let pointer = *self.state.pointers.get(&id)?;
                let (offset, size) = (self.number(Dim::Offset(id)), self.number(Dim::Size(id)));
                let zero = pointer.has_zero.then(|| self.number(Dim::Zero(id)));
                let filled = pointer.is_filled.then(|| self.number(Dim::Filled(id)));
                Some(Place { pointer, offset, size, zero, filled })
            }
            Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => self.place(arg),
            Expr::Address(lvalue) => self.address(lvalue),
            Expr::Cast(..)
            | Expr::Int(..)
            | Expr::Float(_)
            | Expr::Null
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
                if is_moved && !place.pointer.is_there {
                    return None;
                }
                place
            }
            Base::Local(id) => {
                let local = self.function.local(*id);
                let known = self.state.pointers.get(id);
                let unit = known.map(|known| known.unit);
                let object = Object::Local(self.function.name, *id);
                let start = start(object, local.size, unit, &lvalue.path);
                let mut start = Some(start).filter(|_| local.address_taken && local.size > 0)?;
                if let Some(known) = known.filter(|known| known.unit == start.pointer.unit) {
                    start.pointer = *known;
                    start.zero = known.has_zero.then(|| self.number(Dim::Zero(*id)));
                    start.filled = known.is_filled.then(|| self.number(Dim::Filled(*id)));
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
        let id = self.register(pointer)?;
        let known = self.state.pointers.get(&id).filter(|known| known.has_zero && known.unit == *stride)?;
        let (number, _) = self.number_of(index)?;
        let rest = self.state.rests.get(&number).filter(|rest| rest.of == id && known.has_zero)?;
        Some((Dim::Zero(id), -i128::from(rest.is_before)))
    }

    /// The register that a pointer is.
    pub(super) fn register(&self, pointer: &Expr) -> Option<LocalId> {
        match pointer {
            Expr::Load(lvalue) => self.whole(lvalue).map(|(id, _)| id),
            Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => self.register(arg),
            _ => None,
        }
    }

    /// The register, or the local array, that an address is made from.
    pub(super) fn base(&self, address: &Expr) -> Option<LocalId> {
        match address {
            Expr::Address(Lvalue { base: Base::Deref(pointer, _), .. }) => self.base(pointer),
            Expr::Address(Lvalue { base: Base::Local(id), .. }) => Some(*id),
            Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => self.base(arg),
            _ => self.register(address),
        }
    }

    /// The register that the expression reads.
    pub(super) fn whole_of(&self, expr: &Expr) -> Option<(LocalId, Scalar)> {
        match expr {
            Expr::Load(lvalue) => self.whole(lvalue),
            _ => None,
        }
    }

    /// The register that a number is, whatever it is converted to, if that does not change it.
    pub(super) fn number_of(&self, expr: &Expr) -> Option<(LocalId, Scalar)> {
        match expr {
            Expr::Load(lvalue) => self.whole(lvalue).filter(|(_, scalar)| matches!(scalar, Scalar::Int(_))),
            Expr::Cast(Scalar::Int(to), arg, _) => {
                let (form, to) = (self.form(arg)?, *to);
                (to.min() <= form.low && form.high <= to.max()).then(|| self.number_of(arg))?
            }
            _ => None,
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
                    if form.is_constant() {
                        bytes = bytes.checked_add(form.low.checked_mul(stride)?)?;
                    } else if stride > 0 && stride % unit == 0 {
                        offset = offset.plus(&form.times(stride / unit));
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
            && a.is_there
            && b.is_there
            && is_near(left)
            && is_near(right)
    }

    /// Whether so many bytes from the pointer on are certainly in its object.
    pub(super) fn is_inside(&self, pointer: &Expr, size: &Expr) -> bool {
        let Some(place) = self.place(pointer) else { return false };
        let Some(bytes) = self.form(size) else { return false };
        if !place.pointer.is_there || bytes.low < 0 {
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
        place.pointer.is_there
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
        if !place.pointer.is_there || bytes.low < 0 {
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

    /// A number of bytes as a number of whole units: `n * 4` is `n` units of 4.
    pub(super) fn in_units(&self, bytes: &Expr, unit: u64) -> Option<Form> {
        let form = self.form(bytes)?;
        if unit == 1 {
            return Some(form);
        }
        match bytes {
            Expr::Binary(BinaryOp::Mul, lhs, rhs, _) => {
                let by = |factor: &Expr| matches!(factor, Expr::Int(value, _) if *value == i128::from(unit));
                let number = if by(rhs) {
                    lhs
                } else if by(lhs) {
                    rhs
                } else {
                    return None;
                };
                let product = self.operation(BinaryOp::Mul, lhs, rhs)?;
                let ty = bytes.int_type()?;
                let is_exact = ty.min() <= product.low && product.high <= ty.max();
                if is_exact { self.form(number) } else { None }
            }
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
    let pointer = Pointer { unit: 1, has_zero: false, ..place.pointer };
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
    let pointer = Pointer { unit, tag, is_there: true, has_zero: false, is_filled: false, on_heap: false };
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
