//! Strings in known bytes: where the first byte 0 behind a pointer is. Knows regions, no library functions.

use proofline_cfa::{Conversion, Expr, IntType, LocalId, Object, Quantity, Scalar, texts};

use crate::store::{
    arithmetic::{Arithmetic, Impossible, Objects},
    offsets::Offsets,
    region::{Content, Region},
    region_order::first_zero,
    value::{Abstract, AbstractValue},
    view::{StateView, Target},
};

/// Bounds of the distance to the first byte 0: from the first byte that may be 0 to the first that certainly is, if there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Length {
    pub(super) least: i64,
    pub(super) most: Option<i64>,
}

impl<A: Arithmetic> StateView<'_, A> {
    /// How many characters of so many bytes the string behind a pointer has; `None`: nothing is known, or the pointer leads to no byte.
    ///
    /// # Errors
    /// [`Impossible`] if the evaluation has no result in any concrete state.
    pub(super) fn string_length(&self, pointer: &Expr, width: i64) -> Result<Option<Length>, Impossible> {
        let Some(value) = self.eval(pointer)?.known() else { return Ok(None) };
        let Some(places) = self.model.arithmetic.addresses(&value) else { return Ok(None) };
        let lengths = places.iter().map(|(object, offsets)| self.length_in(*object, *offsets, width));
        Ok(lengths
            .reduce(|a, b| {
                let (a, b) = (a?, b?);
                Some(Length { least: a.least.min(b.least), most: a.most.and_then(|a| Some(a.max(b.most?))) })
            })
            .flatten())
    }

    /// Whether a string of such characters certainly ends behind the pointer, where that is not null.
    ///
    /// # Errors
    /// [`Impossible`] if the evaluation has no result in any concrete state.
    pub(super) fn ends(&self, pointer: &Expr, width: i64) -> Result<bool, Impossible> {
        let Some(value) = self.eval(pointer)?.known() else { return Ok(false) };
        let Some(places) = self.model.arithmetic.addresses(&value) else { return Ok(false) };
        let ends = |(object, offsets): &(Object, Offsets)| match texts::is_text(*object) {
            true => width == 1 && offsets.hi <= 0,
            false => self.length_in(*object, *offsets, width).is_some_and(|length| length.most.is_some()),
        };
        Ok(!places.is_empty() && places.iter().all(ends))
    }

    fn length_in(&self, object: Object, offsets: Offsets, width: i64) -> Option<Length> {
        let region = self.region(Target::Object(object));
        let (from, to) = (offsets.lo.checked_mul(8)?, offsets.hi.checked_mul(8)?);
        let item = width * 8;
        // Characters of several bytes are counted from where the string begins.
        if from < 0 || width > 1 && from != to {
            return None;
        }
        // The furthest start reaches the first 0 behind it at the latest; the nearest one has the longest way there.
        let said = self.state.ends_of(Target::Object(object)).into_iter();
        let said = said.filter(|ends| ends.item == item && ends.first >= to && (ends.first - to) % item == 0);
        let end =
            said.map(|ends| ends.last).chain(region.and_then(|region| first_zero(region, to, item))).min();
        let is_inside =
            |end: &i64| self.sizes(object).is_some_and(|(bytes, _)| end / 8 + width <= bytes as i64);
        let most = end.filter(is_inside).map(|end| (end - from) / item);
        end?;
        let is_single = offsets.single().is_some();
        let least = match region {
            Some(region) if is_single => (first_possible(region, from, item) - from) / item,
            Some(_) | None => 0,
        };
        Some(Length { least, most })
    }

    /// Bounds of what a library function computes, of `size_t` or `int`; `None`: nothing is known.
    ///
    /// # Errors
    /// [`Impossible`] if the evaluation has no result in any concrete state.
    pub(super) fn library_result(
        &self,
        id: LocalId,
        scalar: Scalar,
    ) -> Result<Abstract<A::Value>, Impossible> {
        let Scalar::Int(ty) = scalar else { return Ok(Abstract::Any) };
        let Some(result) = self.function.library_results.iter().find(|result| result.dst == id) else {
            return Ok(Abstract::Any);
        };
        // Whether something is found is another question.
        if result.is_absence {
            return Ok(Abstract::Any);
        }
        let (extra, width) = match result.quantity {
            Quantity::StringLength => (0, 1),
            Quantity::WideLength => (0, 4),
            Quantity::StringSize => (1, 1),
            Quantity::BoundedLength => return self.bounded_length(&result.arguments, 1, ty),
            Quantity::WideBounded => return self.bounded_length(&result.arguments, 4, ty),
            Quantity::Overlap | Quantity::Meeting => return self.overlap(&result.arguments, ty),
            Quantity::PrintedLength => return self.printed_length(&result.arguments, ty),
            _ => return Ok(Abstract::Any),
        };
        let [string] = &result.arguments[..] else { return Ok(Abstract::Any) };
        Ok(match self.string_length(string, width)? {
            Some(Length { least, most: Some(most) }) => {
                self.model.arithmetic.between(ty, i128::from(least) + extra, i128::from(most) + extra)
            }
            Some(_) | None => Abstract::Any,
        })
    }
}

impl<A: Arithmetic> StateView<'_, A> {
    /// Bounds of `strnlen(s, n)`.
    fn bounded_length(
        &self,
        arguments: &[Expr],
        width: i64,
        ty: IntType,
    ) -> Result<Abstract<A::Value>, Impossible> {
        let [string, most] = arguments else { return Ok(Abstract::Any) };
        let range = self.eval(most)?.known().and_then(|most| self.model.arithmetic.range(&most));
        let Some((low, high)) = range.filter(|(low, _)| *low >= 0) else { return Ok(Abstract::Any) };
        let length = self.string_length(string, width)?;
        let least = length.map_or(0, |length| i128::from(length.least)).min(low);
        let most = length.and_then(|length| length.most).map_or(high, |most| high.min(i128::from(most)));
        Ok(self.model.arithmetic.between(ty, least, most))
    }

    /// Whether so many bytes behind two pointers, or so many behind each of them, have one in common.
    fn overlap(&self, arguments: &[Expr], ty: IntType) -> Result<Abstract<A::Value>, Impossible> {
        let (one, other, sizes) = match arguments {
            [one, other, size] => (one, other, [size, size]),
            [one, size, other, other_size] => (one, other, [size, other_size]),
            _ => return Ok(Abstract::Any),
        };
        let places = |pointer: &Expr| {
            let value = self.eval(pointer)?.known();
            let known = value.as_ref().and_then(|value| self.model.arithmetic.addresses(value));
            Ok(known.unwrap_or_else(|| {
                let newer = value.and_then(|value| self.model.arithmetic.newer(&value));
                let without_name = newer.is_some().then_some(Object::External);
                let all = self.targets(pointer, &newer).chain(without_name);
                all.map(|object| (object, Offsets::ANYWHERE)).collect()
            }))
        };
        let (ones, others) = (places(one)?, places(other)?);
        let most = |size: &Expr| -> Result<i128, Impossible> {
            let range = self.eval(size)?.known().and_then(|size| self.model.arithmetic.range(&size));
            Ok(range.map_or(i128::MAX, |(_, most)| most))
        };
        let (size, other_size) = (most(sizes[0])?, most(sizes[1])?);
        // Of several objects of one site it is not known whether it is the same.
        let are_apart = |a: &(Object, Offsets), b: &(Object, Offsets)| {
            let is_far =
                |low: Offsets, size: i128, high: Offsets| i128::from(high.lo) - i128::from(low.hi) >= size;
            match (a.0, b.0) {
                // Memory without a name is none that has one.
                (Object::External, Object::External) => false,
                (x, y) => {
                    x != y || self.is_single(x) && (is_far(a.1, size, b.1) || is_far(b.1, other_size, a.1))
                }
            }
        };
        let never = ones.iter().all(|a| others.iter().all(|b| are_apart(a, b)));
        Ok(match never {
            true => self.model.arithmetic.int(ty, 0),
            false => Abstract::Any,
        })
    }

    /// How many characters a number has.
    fn printed_length(&self, arguments: &[Expr], ty: IntType) -> Result<Abstract<A::Value>, Impossible> {
        let [number, Expr::Int(kind, _)] = arguments else { return Ok(Abstract::Any) };
        if number.int_type().is_none() {
            return Ok(Abstract::Any);
        }
        let range = self.eval(number)?.known().and_then(|number| self.model.arithmetic.range(&number));
        let (Some((low, high)), Some(conversion)) = (range, Conversion::from_number(*kind)) else {
            return Ok(Abstract::Any);
        };
        let (least, most) = conversion.lengths(low, high);
        Ok(self.model.arithmetic.between(ty, least, most))
    }
}

/// Bit position of the first character from there on that may be 0.
fn first_possible<V: AbstractValue>(region: &Region<V>, from: i64, item: i64) -> i64 {
    let mut at = from;
    for cell in region.overlapping(from, i64::MAX) {
        let is_never_zero = match &cell.content {
            Content::Zero => false,
            Content::Each(scalar, size, value) if *size == item && (at - cell.start) % item == 0 => {
                value.bits(*scalar, item).is_some_and(|bits| bits != 0)
            }
            Content::Each(..) | Content::Any => false,
        };
        if cell.start > at || !is_never_zero {
            break;
        }
        at = cell.end();
    }
    at
}
