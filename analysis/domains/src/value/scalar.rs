//! Explicit values [EXP12 §II-C]: one known scalar. Knows no state.

use proofline_cfa::{Float, IntType, Name, Object, Scalar, eval};
use serde::{Deserialize, Serialize};

use crate::store::{Abstract, AbstractValue};

/// A known scalar. The null pointer is `Int(0)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ExplicitValue {
    /// An integer, in the range of its type; or a pointer with this address.
    Int(i128),
    /// A floating number; there is one NaN.
    Float(Float),
    /// So many bytes from the start of an object (of some instance of it, when there may be several).
    Address(Object, i64),
    /// A function.
    Function(Name),
}

impl AbstractValue for ExplicitValue {
    fn join(&self, other: &ExplicitValue, _: Scalar) -> Abstract<ExplicitValue> {
        if self == other { Abstract::Of(*self) } else { Abstract::Any }
    }

    fn leq(&self, other: &ExplicitValue) -> bool {
        self == other
    }

    fn zero(scalar: Scalar) -> ExplicitValue {
        match scalar {
            Scalar::Int(_) | Scalar::Pointer => ExplicitValue::Int(0),
            Scalar::Float(ty) => ExplicitValue::Float(Float::zero(ty)),
        }
    }

    fn is_zero(&self) -> bool {
        match self {
            ExplicitValue::Int(value) => *value == 0,
            ExplicitValue::Float(value) => value.is_positive_zero(),
            ExplicitValue::Address(..) | ExplicitValue::Function(_) => false,
        }
    }

    fn bounds(&self) -> Option<(i128, i128)> {
        if let ExplicitValue::Int(value) = self { Some((*value, *value)) } else { None }
    }

    fn leads_to(&self) -> Option<Object> {
        if let ExplicitValue::Address(object, _) = self { Some(*object) } else { None }
    }

    fn is_never_null(&self) -> bool {
        matches!(self, ExplicitValue::Address(..))
    }

    fn may_lead_to(&self, objects: &dyn Fn(Object) -> bool) -> bool {
        matches!(self, ExplicitValue::Address(object, _) if objects(*object))
    }

    fn bits(&self, scalar: Scalar, len: i64) -> Option<u128> {
        known_bits(
            match self {
                ExplicitValue::Int(value) => eval::Value::Int(*value),
                ExplicitValue::Float(bits) => eval::Value::Float(*bits),
                ExplicitValue::Address(..) | ExplicitValue::Function(_) => return None,
            },
            scalar,
            len,
        )
    }

    fn from_bits(scalar: Scalar, len: i64, bits: u128) -> Abstract<ExplicitValue> {
        Abstract::from(bits_known(scalar, len, bits)).map(|value| match value {
            eval::Value::Int(value) => ExplicitValue::Int(value),
            eval::Value::Float(bits) => ExplicitValue::Float(bits),
        })
    }

    fn reinterpret(&self, from: Scalar, to: Scalar, len: i64) -> Abstract<ExplicitValue> {
        match (self, to) {
            (ExplicitValue::Int(_) | ExplicitValue::Float(_), _) => match self.bits(from, len) {
                Some(bits) => ExplicitValue::from_bits(to, len, bits),
                None => Abstract::Any,
            },
            (ExplicitValue::Address(..) | ExplicitValue::Function(_), Scalar::Int(_) | Scalar::Pointer) => {
                Abstract::Of(*self)
            }
            (ExplicitValue::Address(..) | ExplicitValue::Function(_), Scalar::Float(_)) => Abstract::Any,
        }
    }
}

/// Bits in memory of a constant.
pub(crate) fn known_bits(value: eval::Value, scalar: Scalar, len: i64) -> Option<u128> {
    let raw = match (value, scalar) {
        (eval::Value::Int(value), Scalar::Int(_) | Scalar::Pointer) => value as u128,
        // Sign and payload of what is not a number are not known.
        (eval::Value::Float(value), Scalar::Float(_)) if value.is_nan() => return None,
        (eval::Value::Float(value), Scalar::Float(_)) => value.to_bits(),
        (eval::Value::Int(_), Scalar::Float(_))
        | (eval::Value::Float(_), Scalar::Int(_) | Scalar::Pointer) => return None,
    };
    Some(if len >= 128 { raw } else { raw & ((1u128 << len) - 1) })
}

/// The constant with these `len` bits in memory.
pub(crate) fn bits_known(scalar: Scalar, len: i64, bits: u128) -> Option<eval::Value> {
    match scalar {
        Scalar::Int(ty) => {
            let bits_of_field = u8::try_from(len).map_or(ty.bits, |len| len.min(ty.bits));
            let field = IntType { bits: bits_of_field, ..ty };
            eval::int::cast(field, bits as i128).map(eval::Value::Int)
        }
        Scalar::Pointer => i128::try_from(bits).ok().map(eval::Value::Int),
        Scalar::Float(ty) if len == i64::from(ty.width()) => {
            Float::from_bits(ty, bits).map(|value| eval::Value::Float(value.canonical()))
        }
        Scalar::Float(_) => None,
    }
}
