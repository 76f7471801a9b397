//! The abstract values that memory cells hold: the lattice of scalar values that a region (`region.rs`, where the cells are) is built
//! over. Knows formats, no operators and no objects. "Any value" is none of them: [`Abstract::Any`] says it.

use std::{fmt::Debug, hash::Hash};

use proofline_cfa::{Object, Scalar};

/// What is known of a scalar: nothing, so that it may be any value of its format (top), or that it is in a set `V`. Bottom, no value at all,
/// is the absence of an `Abstract`: [`Impossible`](crate::store::Impossible).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Abstract<V> {
    /// Any value of the format.
    Any,
    /// A value in this set.
    Of(V),
}

impl<V> Abstract<V> {
    /// Whether nothing is known.
    pub fn is_any(&self) -> bool {
        matches!(self, Abstract::Any)
    }

    /// The set, if something is known.
    pub fn known(self) -> Option<V> {
        match self {
            Abstract::Any => None,
            Abstract::Of(value) => Some(value),
        }
    }

    /// The same about a borrowed set.
    pub fn as_ref(&self) -> Abstract<&V> {
        match self {
            Abstract::Any => Abstract::Any,
            Abstract::Of(value) => Abstract::Of(value),
        }
    }

    /// The image of the set. The image of "any value" is "any value".
    pub fn map<W>(self, image: impl FnOnce(V) -> W) -> Abstract<W> {
        match self {
            Abstract::Any => Abstract::Any,
            Abstract::Of(value) => Abstract::Of(image(value)),
        }
    }

    /// As [`Abstract::map`], where the image may be anything.
    pub fn and_then<W>(self, image: impl FnOnce(V) -> Abstract<W>) -> Abstract<W> {
        match self {
            Abstract::Any => Abstract::Any,
            Abstract::Of(value) => image(value),
        }
    }

    /// This, or where it says nothing, `other`. Both must be true of the scalar.
    pub fn or_else(self, other: impl FnOnce() -> Abstract<V>) -> Abstract<V> {
        if self.is_any() { other() } else { self }
    }
}

impl<V: Clone> Abstract<&V> {
    /// The same about a set of one's own.
    pub fn cloned(self) -> Abstract<V> {
        self.map(V::clone)
    }
}

/// What is not known is any value.
impl<V> From<Option<V>> for Abstract<V> {
    fn from(known: Option<V>) -> Abstract<V> {
        known.map_or(Abstract::Any, Abstract::Of)
    }
}

/// A set of scalars other than "all of its format". Values of one cell have one format.
pub trait AbstractValue: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// Covers both.
    fn join(&self, other: &Self, scalar: Scalar) -> Abstract<Self>;

    /// Whether everything in `self` is in `other`.
    fn leq(&self, other: &Self) -> bool;

    /// The one value of the format whose bits are all zero.
    fn zero(scalar: Scalar) -> Self;

    /// Whether the value is exactly the one whose bits are all zero.
    fn is_zero(&self) -> bool;

    /// The least and the largest, of integers.
    fn bounds(&self) -> Option<(i128, i128)>;

    /// The object that it certainly is an address of, the start or any other; then it is not null.
    fn leads_to(&self) -> Option<Object>;

    /// Whether it certainly is an address.
    fn is_never_null(&self) -> bool;

    /// Whether it may be an address in one of these objects. (What is any address is no value.)
    fn may_lead_to(&self, objects: &dyn Fn(Object) -> bool) -> bool;

    /// The bits in memory (the low `len`), if they are known.
    fn bits(&self, scalar: Scalar, len: i64) -> Option<u128>;

    /// The value of a cell of `len` bits (for a bit-field fewer than its format has) that has these bits.
    fn from_bits(scalar: Scalar, len: i64, bits: u128) -> Abstract<Self>;

    /// The same `len` bits read in another format.
    fn reinterpret(&self, from: Scalar, to: Scalar, len: i64) -> Abstract<Self>;
}

/// Covers every one of the values, of which there is at least one; of none nothing is known.
pub(super) fn join_all<V: AbstractValue>(
    values: impl IntoIterator<Item = Abstract<V>>,
    scalar: Scalar,
) -> Abstract<V> {
    let joined =
        values.into_iter().map(Abstract::known).try_fold(None::<V>, |all, value| match (all, value?) {
            (None, value) => Some(Some(value)),
            (Some(old), value) => old.join(&value, scalar).known().map(Some),
        });
    joined.flatten().into()
}

/// Bits of a format's value in memory (of `long double` without its padding). Pointers: `pointer_bits`.
pub fn value_bits(scalar: Scalar, pointer_bits: u8) -> i64 {
    use proofline_cfa::FloatType;
    match scalar {
        Scalar::Int(ty) => 8 * ty.bytes().next_power_of_two() as i64,
        Scalar::Pointer => i64::from(pointer_bits),
        Scalar::Float(FloatType::F16) => 16,
        Scalar::Float(FloatType::F32) => 32,
        Scalar::Float(FloatType::F64) => 64,
        Scalar::Float(FloatType::F80) => 80,
        Scalar::Float(FloatType::F128) => 128,
    }
}
