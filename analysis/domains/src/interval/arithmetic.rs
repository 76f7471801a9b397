//! Operators of the interval analysis on its scalars: integers by [`Arith`], pointers by their targets, floats by [`Floats`].

use proofline_cfa::{
    BinaryOp, CompareOp, Expr, Float, FloatType, Function, IntType, LocalId, Name, Object, Scalar, UnaryOp,
    eval::{self, Semantics},
};

use crate::{
    interval::{
        floats::Floats,
        operators::{self, Arith},
        pointers::{compare_pointers, equal_pointers, is_text, show_pointer},
        ranges::Ranges,
        scalar::{
            IntervalValue, Pointee, Pointer, Targets, known_float, known_int, pointer_bits_range,
            pointer_of_range,
        },
        thresholds::Thresholds,
    },
    store::{Abstract, AbstractValue, Addresses, Arithmetic, Eval, Impossible, Objects, Offsets, Operands},
};

/// The domain of intervals.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    /// Meaning of overflow, width of pointers.
    pub semantics: Semantics,
}

/// The integers an operand may be.
fn ranges(ty: IntType, value: Abstract<&IntervalValue>) -> Ranges {
    match value {
        Abstract::Of(IntervalValue::Int(ranges)) => ranges.clone(),
        Abstract::Of(IntervalValue::Float(_) | IntervalValue::Pointer(_)) | Abstract::Any => Ranges::of(ty),
    }
}

/// The object that a pointer leads to.
fn named((to, offsets): &(Pointee, Offsets)) -> Option<(Object, Offsets)> {
    match to {
        Pointee::Object(object) => Some((*object, *offsets)),
        Pointee::Function(_) | Pointee::Older => None,
    }
}

/// The pointers an operand may be.
fn pointer(value: Abstract<&IntervalValue>) -> Pointer {
    match value {
        Abstract::Of(IntervalValue::Pointer(pointer)) => pointer.clone(),
        Abstract::Of(IntervalValue::Int(_) | IntervalValue::Float(_)) | Abstract::Any => {
            Pointer { null: true, to: Targets::Any }
        }
    }
}

/// The numbers an operand may be.
fn floats(ty: FloatType, value: Abstract<&IntervalValue>) -> Floats {
    match value {
        Abstract::Of(IntervalValue::Float(values)) => *values,
        Abstract::Of(IntervalValue::Int(_) | IntervalValue::Pointer(_)) | Abstract::Any => Floats::of(ty),
    }
}

impl Intervals {
    fn arith(&self) -> Arith {
        Arith { overflow: self.semantics.overflow }
    }

    fn address_type(&self) -> IntType {
        IntType { bits: self.semantics.pointer_bits, signed: false }
    }

    /// Widening of values: see [`Ranges::widen`]; pointers have few targets, their offsets go to the limit.
    pub fn widen(
        &self,
        scalar: Scalar,
        old: &IntervalValue,
        new: &IntervalValue,
        thresholds: &Thresholds,
    ) -> Abstract<IntervalValue> {
        let Abstract::Of(joined) = old.join(new, scalar) else { return Abstract::Any };
        match (old, &joined, scalar) {
            (IntervalValue::Int(old), IntervalValue::Int(joined), Scalar::Int(ty)) => {
                known_int(ty, old.widen(joined, &thresholds.integers, ty))
            }
            (IntervalValue::Float(old), IntervalValue::Float(joined), Scalar::Float(_)) => {
                known_float(old.widen(joined, &thresholds.floats))
            }
            (IntervalValue::Pointer(old), IntervalValue::Pointer(joined), _) => {
                let to = match (&old.to, &joined.to) {
                    (Targets::These(old), Targets::These(joined)) => {
                        let widened = joined.iter().map(|(to, offsets)| {
                            let before = old.iter().find(|(other, _)| other == to);
                            (*to, before.map_or(*offsets, |(_, before)| before.widen(*offsets)))
                        });
                        Targets::these(widened.collect())
                    }
                    (Targets::Any, _) | (_, Targets::Any) => Targets::Any,
                };
                Pointer { null: joined.null, to }.known()
            }
            _ => Abstract::Of(joined),
        }
    }
}

impl Arithmetic for Intervals {
    type Value = IntervalValue;

    fn int(&self, ty: IntType, value: i128) -> Abstract<IntervalValue> {
        Abstract::from(eval::int::representable(ty, value))
            .and_then(|value| known_int(ty, Ranges::single(value)))
    }
    fn float(&self, value: Float) -> Abstract<IntervalValue> {
        Abstract::Of(IntervalValue::Float(Floats::single(value)))
    }
    fn null(&self) -> IntervalValue {
        IntervalValue::Pointer(Pointer::null())
    }
    fn address(&self, object: Object, offsets: Offsets) -> Abstract<IntervalValue> {
        Abstract::Of(IntervalValue::Pointer(Pointer {
            null: false,
            to: Targets::these(vec![(Pointee::Object(object), offsets)]),
        }))
    }
    fn function(&self, name: Name) -> Abstract<IntervalValue> {
        let to = Targets::these(vec![(Pointee::Function(name), Offsets::at(0))]);
        Abstract::Of(IntervalValue::Pointer(Pointer { null: false, to }))
    }
    fn any_of(&self, ty: IntType) -> Abstract<IntervalValue> {
        ty.is_exact().then(|| IntervalValue::Int(Ranges::of(ty))).into()
    }
    fn older(&self) -> Abstract<IntervalValue> {
        let to = Targets::these(vec![(Pointee::Older, Offsets::ANYWHERE)]);
        Abstract::Of(IntervalValue::Pointer(Pointer { null: true, to }))
    }
    fn non_null(&self) -> Abstract<IntervalValue> {
        Abstract::Of(IntervalValue::Pointer(Pointer { null: false, to: Targets::Any }))
    }
    fn between(&self, ty: IntType, lo: i128, hi: i128) -> Abstract<IntervalValue> {
        known_int(ty, Ranges::new(lo, hi))
    }

    fn unary(&self, op: UnaryOp, ty: Scalar, arg: Abstract<&IntervalValue>) -> Eval<IntervalValue> {
        match ty {
            Scalar::Int(ty) if ty.is_exact() => {
                let arg = ranges(ty, arg);
                let result = match op {
                    UnaryOp::Negate => self.arith().negate(ty, &arg)?,
                    UnaryOp::BitNot => self.arith().complement(ty, &arg),
                };
                Ok(known_int(ty, result))
            }
            Scalar::Float(ty) => match op {
                UnaryOp::Negate => Ok(known_float(floats(ty, arg).negated())),
                UnaryOp::BitNot => Ok(Abstract::Any),
            },
            Scalar::Int(_) | Scalar::Pointer => Ok(Abstract::Any),
        }
    }

    fn binary(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&IntervalValue>,
        rhs_ty: Scalar,
        rhs: Abstract<&IntervalValue>,
    ) -> Eval<IntervalValue> {
        match (ty, rhs_ty) {
            (Scalar::Int(ty), Scalar::Int(rhs_ty)) if ty.is_exact() => {
                let result = self.arith().binary(op, ty, &ranges(ty, lhs), &ranges(rhs_ty, rhs))?;
                Ok(known_int(ty, result))
            }
            (Scalar::Float(FloatType::F16), _) => {
                // Only exact results are certain.
                let single = |value| floats(FloatType::F16, value).as_single().map(eval::Value::Float);
                let result = single(lhs).zip(single(rhs));
                let result = result.and_then(|(lhs, rhs)| eval::binary(op, ty, lhs, rhs, self.semantics));
                Ok(Abstract::from(result).and_then(from_float))
            }
            (Scalar::Float(ty), _) => {
                Ok(Abstract::from(floats(ty, lhs).binary(op, &floats(ty, rhs))).and_then(known_float))
            }
            (Scalar::Int(_) | Scalar::Pointer, _) => Ok(Abstract::Any),
        }
    }

    fn compare(
        &self,
        op: CompareOp,
        ty: Scalar,
        lhs: Abstract<&IntervalValue>,
        rhs: Abstract<&IntervalValue>,
        objects: &dyn Objects,
    ) -> Option<bool> {
        match ty {
            Scalar::Int(ty) if ty.is_exact() => operators::compare(op, &ranges(ty, lhs), &ranges(ty, rhs)),
            Scalar::Float(ty) => floats(ty, lhs).compare(op, &floats(ty, rhs)),
            Scalar::Pointer => compare_pointers(op, &pointer(lhs), &pointer(rhs), objects),
            Scalar::Int(_) => None,
        }
    }

    fn cast(&self, from: Scalar, to: Scalar, arg: Abstract<&IntervalValue>) -> Eval<IntervalValue> {
        Ok(match (from, to) {
            (Scalar::Int(from), Scalar::Int(to)) if from.is_exact() && to.is_exact() => {
                known_int(to, ranges(from, arg).wrap(to))
            }
            (Scalar::Int(from), Scalar::Pointer) if from.is_exact() => {
                let arg = ranges(from, arg).wrap(self.address_type());
                pointer_of_range(&arg)
            }
            (Scalar::Pointer, Scalar::Int(to)) => {
                let pointer = pointer(arg);
                // Of an address the low bits may be zero.
                if to.bits >= self.semantics.pointer_bits || pointer.is_null() {
                    let address = pointer_bits_range(&pointer, self.address_type());
                    let bits = ranges(self.address_type(), address.as_ref());
                    if to.is_exact() { known_int(to, bits.wrap(to)) } else { Abstract::Any }
                } else {
                    Abstract::Any
                }
            }
            (Scalar::Pointer, Scalar::Pointer) => arg.cloned(),
            (Scalar::Int(from), Scalar::Float(to)) if from.is_exact() => {
                let ranges = ranges(from, arg);
                match ranges.as_single() {
                    Some(value) => {
                        let value = eval::cast(
                            Scalar::Int(from),
                            Scalar::Float(to),
                            eval::Value::Int(value),
                            self.semantics,
                        );
                        Abstract::from(value).and_then(from_float)
                    }
                    None => {
                        let converted = Floats::from_integers(ranges.lo(), ranges.hi(), to);
                        Abstract::from(converted).and_then(known_float)
                    }
                }
            }
            (Scalar::Float(from), Scalar::Float(to)) => {
                let arg = floats(from, arg);
                match arg.as_single() {
                    Some(value) => Abstract::from(eval::float::cast(to, value))
                        .and_then(|value| known_float(Floats::single(value))),
                    None => Abstract::from(arg.convert(to)).and_then(known_float),
                }
            }
            (Scalar::Float(from), Scalar::Int(ty)) if ty.is_exact() => {
                Abstract::from(floats(from, arg).to_integers(ty))
                    .and_then(|(low, high)| known_int(ty, Ranges::new(low, high)))
            }
            (Scalar::Int(_) | Scalar::Float(_), Scalar::Int(_) | Scalar::Float(_))
            | (Scalar::Int(_), Scalar::Pointer)
            | (Scalar::Pointer, Scalar::Float(_))
            | (Scalar::Float(_), Scalar::Pointer) => Abstract::Any,
        })
    }

    fn overflows(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&IntervalValue>,
        rhs: Abstract<&IntervalValue>,
    ) -> Option<bool> {
        match ty {
            Scalar::Int(ty) if ty.is_exact() => {
                // Of a shift the amount may have another type; its values outside of this one's width do not matter.
                let rhs = match rhs {
                    Abstract::Any if matches!(op, BinaryOp::Shl | BinaryOp::Shr) => {
                        Ranges::new(0, i128::from(ty.bits))
                    }
                    _ => ranges(ty, rhs),
                };
                operators::overflows(op, ty, &ranges(ty, lhs), &rhs)
            }
            Scalar::Int(_) | Scalar::Float(_) | Scalar::Pointer => None,
        }
    }

    fn difference(
        &self,
        lhs: Abstract<&IntervalValue>,
        rhs: Abstract<&IntervalValue>,
        stride: u64,
        ty: IntType,
    ) -> Abstract<IntervalValue> {
        let (Abstract::Of(IntervalValue::Pointer(left)), Abstract::Of(IntervalValue::Pointer(right))) =
            (lhs, rhs)
        else {
            return Abstract::Any;
        };
        let (Targets::These(left), Targets::These(right)) = (&left.to, &right.to) else {
            return Abstract::Any;
        };
        match (&left[..], &right[..]) {
            ([(from, a)], [(to, b)])
                if from == to && stride > 0 && !is_text(from) && *from != Pointee::Older =>
            {
                let stride = i128::from(stride);
                let lo = (i128::from(a.lo) - i128::from(b.hi)).div_euclid(stride);
                let hi = (i128::from(a.hi) - i128::from(b.lo)).div_euclid(stride);
                Abstract::from(Ranges::new(lo, hi).within(ty)).and_then(|ranges| known_int(ty, ranges))
            }
            _ => Abstract::Any,
        }
    }

    fn shift(&self, pointer: &IntervalValue, by: Offsets) -> Abstract<IntervalValue> {
        let IntervalValue::Pointer(pointer) = pointer else { return Abstract::Any };
        if by == Offsets::at(0) {
            return Abstract::Of(IntervalValue::Pointer(pointer.clone()));
        }
        if pointer.is_null() {
            return Abstract::Any;
        }
        let to = match &pointer.to {
            // What lies before a place in a string need not be in it.
            Targets::These(these) if by.lo < 0 && these.iter().any(|(to, _)| is_text(to)) => Targets::Any,
            Targets::Any => Targets::Any,
            Targets::These(these) => {
                Targets::these(these.iter().map(|(to, at)| (*to, at.plus(by))).collect())
            }
        };
        Pointer { null: pointer.null, to }.known()
    }

    fn truncate(&self, field: IntType, value: &IntervalValue) -> Abstract<IntervalValue> {
        match value {
            // A field's range is worth keeping even when it is all of the field.
            IntervalValue::Int(ranges) if field.is_exact() => {
                Abstract::Of(IntervalValue::Int(ranges.wrap(field)))
            }
            IntervalValue::Int(_) | IntervalValue::Float(_) | IntervalValue::Pointer(_) => Abstract::Any,
        }
    }

    fn truth(&self, value: &IntervalValue) -> Option<bool> {
        match value {
            IntervalValue::Int(ranges) if !ranges.contains(0) => Some(true),
            IntervalValue::Int(ranges) => ranges.as_single().map(|value| value != 0),
            IntervalValue::Float(values) => values.truth(),
            IntervalValue::Pointer(pointer) if !pointer.null => Some(true),
            IntervalValue::Pointer(pointer) => pointer.is_null().then_some(false),
        }
    }

    fn range(&self, value: &IntervalValue) -> Option<(i128, i128)> {
        if let IntervalValue::Int(ranges) = value { Some((ranges.lo(), ranges.hi())) } else { None }
    }

    fn addresses(&self, value: &IntervalValue) -> Option<Addresses> {
        let IntervalValue::Pointer(Pointer { to: Targets::These(these), .. }) = value else { return None };
        let is_older = |(to, _): &(Pointee, Offsets)| *to == Pointee::Older;
        let named = || these.iter().filter_map(named).collect();
        (!these.iter().any(is_older)).then(named)
    }

    fn newer(&self, value: &IntervalValue) -> Option<Addresses> {
        let IntervalValue::Pointer(Pointer { to: Targets::These(these), .. }) = value else { return None };
        Some(these.iter().filter_map(named).collect())
    }

    fn functions(&self, value: &IntervalValue) -> Option<Vec<Name>> {
        match value {
            IntervalValue::Pointer(Pointer { to: Targets::These(these), .. }) => {
                if these.iter().any(|(to, _)| matches!(to, Pointee::Older)) {
                    return None;
                }
                let name = |(to, _): &(Pointee, _)| match to {
                    Pointee::Function(name) => Some(*name),
                    Pointee::Object(_) | Pointee::Older => None,
                };
                Some(these.iter().filter_map(name).collect())
            }
            IntervalValue::Pointer(_) | IntervalValue::Int(_) | IntervalValue::Float(_) => None,
        }
    }

    fn meet(
        &self,
        value: Abstract<&IntervalValue>,
        wanted: &IntervalValue,
        ty: Scalar,
        objects: &dyn Objects,
    ) -> Eval<IntervalValue> {
        let Abstract::Of(value) = value else { return Ok(Abstract::Of(wanted.clone())) };
        match (value, wanted) {
            (IntervalValue::Int(mine), IntervalValue::Int(theirs)) => match ty {
                Scalar::Int(_) => {
                    mine.meet(theirs).map(|both| Abstract::Of(IntervalValue::Int(both))).ok_or(Impossible)
                }
                Scalar::Pointer | Scalar::Float(_) => Ok(Abstract::Of(value.clone())),
            },
            (IntervalValue::Pointer(mine), IntervalValue::Pointer(theirs)) => {
                equal_pointers(mine, theirs, objects).map(Pointer::known)
            }
            (IntervalValue::Float(mine), IntervalValue::Float(theirs)) => {
                mine.meet(theirs).map(known_float).ok_or(Impossible)
            }
            (IntervalValue::Int(_) | IntervalValue::Float(_) | IntervalValue::Pointer(_), _) => {
                Ok(Abstract::Of(value.clone()))
            }
        }
    }

    fn are_ordered(&self, ty: Scalar, lhs: Abstract<&IntervalValue>, rhs: Abstract<&IntervalValue>) -> bool {
        match ty {
            Scalar::Int(_) | Scalar::Pointer => true,
            Scalar::Float(ty) => floats(ty, lhs).are_ordered(&floats(ty, rhs)),
        }
    }

    fn where_compares(
        &self,
        op: CompareOp,
        ty: Scalar,
        lhs: Abstract<&IntervalValue>,
        rhs: Abstract<&IntervalValue>,
        objects: &dyn Objects,
    ) -> Operands<IntervalValue> {
        match ty {
            Scalar::Int(ty) if ty.is_exact() => {
                let (left, right) =
                    operators::where_compares(op, &ranges(ty, lhs), &ranges(ty, rhs)).ok_or(Impossible)?;
                Ok((known_int(ty, left), known_int(ty, right)))
            }
            Scalar::Pointer => {
                let (left, right) = (pointer(lhs), pointer(rhs));
                match op {
                    CompareOp::Eq => Ok((
                        equal_pointers(&left, &right, objects)?.known(),
                        equal_pointers(&right, &left, objects)?.known(),
                    )),
                    CompareOp::Ne => {
                        let without = |mine: &Pointer, other: &Pointer| {
                            let null = mine.null && !other.is_null();
                            let result = Pointer { null, to: mine.to.clone() };
                            if !null && result.to == Targets::nothing() {
                                Err(Impossible)
                            } else {
                                Ok(result.known())
                            }
                        };
                        Ok((without(&left, &right)?, without(&right, &left)?))
                    }
                    CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {
                        Ok((Abstract::Any, Abstract::Any))
                    }
                }
            }
            Scalar::Float(ty) => {
                let (left, right) = floats(ty, lhs).where_compares(op, &floats(ty, rhs)).ok_or(Impossible)?;
                Ok((known_float(left), known_float(right)))
            }
            Scalar::Int(_) => Ok((Abstract::Any, Abstract::Any)),
        }
    }

    fn where_true(&self, ty: Scalar, value: Abstract<&IntervalValue>) -> Eval<IntervalValue> {
        match ty {
            Scalar::Int(ty) if ty.is_exact() => {
                ranges(ty, value).without(0).map(|ranges| known_int(ty, ranges)).ok_or(Impossible)
            }
            Scalar::Pointer => {
                let now = pointer(value);
                if now.is_null() { Err(Impossible) } else { Ok(Pointer { null: false, ..now }.known()) }
            }
            Scalar::Int(_) | Scalar::Float(_) => Ok(Abstract::Any),
        }
    }

    fn unary_backward(&self, op: UnaryOp, ty: Scalar, wanted: &IntervalValue) -> Eval<IntervalValue> {
        match (ty, wanted) {
            (Scalar::Int(ty), IntervalValue::Int(wanted)) if ty.is_exact() => {
                let arg = match op {
                    UnaryOp::Negate => self.arith().negate(ty, wanted)?,
                    UnaryOp::BitNot => self.arith().complement(ty, wanted),
                };
                Ok(known_int(ty, arg))
            }
            (Scalar::Float(_), IntervalValue::Float(wanted)) if op == UnaryOp::Negate => {
                Ok(known_float(wanted.negated()))
            }
            _ => Ok(Abstract::Any),
        }
    }

    fn cast_backward(
        &self,
        from: Scalar,
        to: Scalar,
        now: Abstract<&IntervalValue>,
        wanted: &IntervalValue,
    ) -> Eval<IntervalValue> {
        match (from, to, wanted) {
            (Scalar::Int(from), Scalar::Int(to), IntervalValue::Int(wanted))
                if from.is_exact() && to.is_exact() =>
            {
                preimage(from, to, &ranges(from, now), wanted)
                    .map(|arg| known_int(from, arg))
                    .ok_or(Impossible)
            }
            (Scalar::Int(from), Scalar::Pointer, IntervalValue::Pointer(wanted))
                if from.is_exact() && from.bits <= self.semantics.pointer_bits =>
            {
                Ok(pointer_bits_range(wanted, from))
            }
            (Scalar::Pointer, Scalar::Int(to), IntervalValue::Int(wanted))
                if to.bits >= self.semantics.pointer_bits =>
            {
                Ok(pointer_of_range(wanted))
            }
            // What is left after cutting off is not zero, so the whole was not.
            (Scalar::Pointer, Scalar::Int(_), IntervalValue::Int(wanted)) if !wanted.contains(0) => {
                Ok(self.non_null())
            }
            (Scalar::Pointer, Scalar::Pointer, _) => Ok(Abstract::Of(wanted.clone())),
            // A wider format holds every number of a narrower one.
            (Scalar::Float(from), Scalar::Float(to), IntervalValue::Float(wanted)) if from < to => {
                wanted.converted_from(from).map(known_float).ok_or(Impossible)
            }
            _ => Ok(Abstract::Any),
        }
    }

    fn binary_backward(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&IntervalValue>,
        rhs_ty: Scalar,
        rhs: Abstract<&IntervalValue>,
        wanted: &IntervalValue,
    ) -> Operands<IntervalValue> {
        match (ty, rhs_ty, wanted) {
            (Scalar::Int(ty), Scalar::Int(rhs_ty), IntervalValue::Int(wanted)) if ty.is_exact() => {
                let (left, right) =
                    self.arith().backward(op, ty, &ranges(ty, lhs), &ranges(rhs_ty, rhs), wanted)?;
                Ok((left.and_then(|set| known_int(ty, set)), right.and_then(|set| known_int(rhs_ty, set))))
            }
            _ => Ok((Abstract::Any, Abstract::Any)),
        }
    }

    fn where_overflows(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&IntervalValue>,
        rhs: Abstract<&IntervalValue>,
        overflows: bool,
    ) -> Operands<IntervalValue> {
        match ty {
            Scalar::Int(ty) if ty.is_exact() => {
                let (left, right) =
                    self.arith().where_overflows(op, ty, &ranges(ty, lhs), &ranges(ty, rhs), overflows)?;
                Ok((left.and_then(|set| known_int(ty, set)), right.and_then(|set| known_int(ty, set))))
            }
            Scalar::Int(_) | Scalar::Float(_) | Scalar::Pointer => Ok((Abstract::Any, Abstract::Any)),
        }
    }

    fn keeps_definition(
        &self,
        _: &Function,
        _: LocalId,
        expr: &Expr,
        value: Abstract<&IntervalValue>,
    ) -> bool {
        let is_exact = match value {
            Abstract::Of(IntervalValue::Int(ranges)) => ranges.as_single().is_some(),
            Abstract::Of(IntervalValue::Float(values)) => values.as_single().is_some(),
            Abstract::Of(IntervalValue::Pointer(pointer)) => pointer.is_null(),
            Abstract::Any => false,
        };
        !is_exact && !matches!(expr.scalar(), Scalar::Float(_))
    }

    fn show(&self, value: &IntervalValue, ty: Scalar) -> Option<String> {
        match (value, ty) {
            (IntervalValue::Int(ranges), Scalar::Int(ty)) => match ranges.as_single() {
                Some(value) => Some(format!("= {value}")),
                // The end of the type is no information.
                None if ranges.parts().len() == 1 && ranges.lo() == ty.min() => {
                    Some(format!("<= {}", ranges.hi()))
                }
                None if ranges.parts().len() == 1 && ranges.hi() == ty.max() => {
                    Some(format!(">= {}", ranges.lo()))
                }
                None if Ranges::of(ty).without(0).as_ref() == Some(ranges) => Some("!= 0".to_owned()),
                None => Some(format!("in {ranges}")),
            },
            (IntervalValue::Int(ranges), Scalar::Pointer | Scalar::Float(_)) => Some(format!("in {ranges}")),
            (IntervalValue::Float(values), _) => match values.as_single() {
                Some(value) => Some(format!("= {value}")),
                None => Some(format!("in {values}")),
            },
            (IntervalValue::Pointer(pointer), _) => show_pointer(pointer),
        }
    }
}

fn from_float(value: eval::Value) -> Abstract<IntervalValue> {
    match value {
        eval::Value::Float(value) => known_float(Floats::single(value)),
        eval::Value::Int(_) => Abstract::Any,
    }
}

/// Integers of `from`, among `now`, whose conversion to `to` is wanted.
fn preimage(from: IntType, to: IntType, now: &Ranges, wanted: &Ranges) -> Option<Ranges> {
    if now.within(to).as_ref() == Some(now) {
        return wanted.meet(now);
    }
    // The conversion shifts by a multiple of 2^bits, by another one on each stretch of `now`.
    if to.bits > 64 || from.bits > 64 {
        return Some(now.clone());
    }
    let period = 1i128 << to.bits;
    let (first, last) = ((now.lo() - to.min()).div_euclid(period), (now.hi() - to.min()).div_euclid(period));
    if last - first > 3 {
        return Some(now.clone());
    }
    let parts = (first..=last)
        .flat_map(|k| wanted.parts().iter().map(move |(lo, hi)| (lo + k * period, hi + k * period)));
    Ranges::union_of(parts).and_then(|set| set.meet(now))
}
