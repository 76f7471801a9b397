//! Strings in known bytes: where the first byte 0 behind a pointer is. Knows regions, no library functions.

use proofline_cfa::{Expr, IntType, LocalId, Object, Quantity, Scalar};

use crate::store::{
    arithmetic::{Arithmetic, Impossible},
    offsets::Offsets,
    region::{Content, Region},
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
    /// How long the string behind a pointer is; `None`: nothing is known, or the pointer leads to no byte.
    ///
    /// # Errors
    /// [`Impossible`] if the evaluation has no result in any concrete state.
    pub(super) fn string_length(&self, pointer: &Expr) -> Result<Option<Length>, Impossible> {
        let Some(value) = self.eval(pointer)?.known() else { return Ok(None) };
        let Some(places) = self.model.arithmetic.addresses(&value) else { return Ok(None) };
        let lengths = places.iter().map(|(object, offsets)| self.length_in(*object, *offsets));
        Ok(lengths
            .reduce(|a, b| {
                let (a, b) = (a?, b?);
                Some(Length { least: a.least.min(b.least), most: a.most.and_then(|a| Some(a.max(b.most?))) })
            })
            .flatten())
    }

    fn length_in(&self, object: Object, offsets: Offsets) -> Option<Length> {
        let region = self.region(Target::Object(object))?;
        let (from, to) = (offsets.lo.checked_mul(8)?, offsets.hi.checked_mul(8)?);
        if from < 0 {
            return None;
        }
        // The furthest start reaches the first 0 behind it at the latest; the nearest one has the longest way there.
        let end = first_zero(region, to)?;
        let is_inside = self.sizes(object).is_some_and(|(bytes, _)| end / 8 < bytes as i64);
        let most = is_inside.then_some((end - from) / 8);
        let least = if offsets.single().is_some() { (first_possible(region, from) - from) / 8 } else { 0 };
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
        let extra = match result.quantity {
            Quantity::StringLength => 0,
            Quantity::StringSize => 1,
            Quantity::BoundedLength => return self.bounded_length(&result.arguments, ty),
            _ => return Ok(Abstract::Any),
        };
        let [string] = &result.arguments[..] else { return Ok(Abstract::Any) };
        Ok(match self.string_length(string)? {
            Some(Length { least, most: Some(most) }) => {
                self.model.arithmetic.between(ty, i128::from(least) + extra, i128::from(most) + extra)
            }
            Some(_) | None => Abstract::Any,
        })
    }
}

impl<A: Arithmetic> StateView<'_, A> {
    /// Bounds of `strnlen(s, n)`.
    fn bounded_length(&self, arguments: &[Expr], ty: IntType) -> Result<Abstract<A::Value>, Impossible> {
        let [string, most] = arguments else { return Ok(Abstract::Any) };
        let range = self.eval(most)?.known().and_then(|most| self.model.arithmetic.range(&most));
        let Some((low, high)) = range.filter(|(low, _)| *low >= 0) else { return Ok(Abstract::Any) };
        let length = self.string_length(string)?;
        let least = length.map_or(0, |length| i128::from(length.least)).min(low);
        let most = length.and_then(|length| length.most).map_or(high, |most| high.min(i128::from(most)));
        Ok(self.model.arithmetic.between(ty, least, most))
    }
}

/// Bit position of the first byte from there on that certainly is 0.
fn first_zero<V: AbstractValue>(region: &Region<V>, from: i64) -> Option<i64> {
    region.overlapping(from, i64::MAX).iter().find_map(|cell| {
        let start = cell.start.max(from).checked_add(7)? / 8 * 8;
        let is_zero = match &cell.content {
            Content::Zero => true,
            Content::Each(..) | Content::Any => false,
        };
        (is_zero && start + 8 <= cell.end()).then_some(start)
    })
}

/// Bit position of the first byte from there on that may be 0.
fn first_possible<V: AbstractValue>(region: &Region<V>, from: i64) -> i64 {
    let mut at = from;
    for cell in region.overlapping(from, i64::MAX) {
        let is_never_zero = match &cell.content {
            Content::Zero => false,
            Content::Each(scalar, 8, value) => value.bits(*scalar, 8).is_some_and(|bits| bits != 0),
            Content::Each(..) | Content::Any => false,
        };
        if cell.start > at || !is_never_zero {
            break;
        }
        at = cell.end();
    }
    at
}
