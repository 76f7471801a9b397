//! Values of the interval analysis: ranges of integers, pointers by what they may point to, exact floats. Knows no state.

use std::sync::Arc;

use proofline_cfa::{IntType, Name, Object, Scalar, eval};
use serde::{Deserialize, Serialize};

use crate::{
    interval::ranges::Ranges,
    store::{CellValue, Offsets},
    value::{bits_known, known_bits},
};

/// More targets than this are any.
const TARGETS: usize = 4;

/// A set of scalars of one format.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Abstract {
    /// Integers.
    Int(Ranges),
    /// The float with these `f64` bits.
    Float(u64),
    /// Pointers.
    Pointer(Pointer),
}

/// A set of pointers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Pointer {
    /// May be null.
    pub null: bool,
    /// What it may point to else.
    pub to: Targets,
}

/// What pointers may point to.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Targets {
    /// Anything.
    Any,
    /// Only these, sorted, each once.
    These(Arc<[(Pointee, Offsets)]>),
}

/// What a pointer points to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pointee {
    /// Memory.
    Object(Object),
    /// A function.
    Function(Name),
}

impl Targets {
    /// Nothing.
    pub fn nothing() -> Targets {
        Targets::These(Arc::new([]))
    }

    /// These, at most a few.
    pub fn these(mut all: Vec<(Pointee, Offsets)>) -> Targets {
        all.sort_unstable();
        all.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = earlier.1.join(later.1);
            }
            same
        });
        if all.len() > TARGETS { Targets::Any } else { Targets::These(all.into()) }
    }

    fn join(&self, other: &Targets) -> Targets {
        match (self, other) {
            (Targets::These(mine), Targets::These(theirs)) => {
                if mine == theirs {
                    return self.clone();
                }
                Targets::these(mine.iter().chain(theirs.iter()).copied().collect())
            }
            (Targets::Any, _) | (_, Targets::Any) => Targets::Any,
        }
    }

    fn leq(&self, other: &Targets) -> bool {
        match (self, other) {
            (_, Targets::Any) => true,
            (Targets::Any, Targets::These(_)) => false,
            (Targets::These(mine), Targets::These(theirs)) => mine.iter().all(|(to, offsets)| {
                theirs.iter().any(|(other, others)| to == other && offsets.leq(*others))
            }),
        }
    }
}

impl Pointer {
    /// Null.
    pub fn null() -> Pointer {
        Pointer { null: true, to: Targets::nothing() }
    }

    /// The value, unless it says nothing.
    pub fn known(self) -> Option<Abstract> {
        if self.null && self.to == Targets::Any { None } else { Some(Abstract::Pointer(self)) }
    }

    /// Whether it is null and nothing else.
    pub fn is_null(&self) -> bool {
        self.null && self.to == Targets::nothing()
    }
}

/// The integers of a cell as wide as `len` bits, unless that says nothing.
pub(super) fn known_int(ty: IntType, ranges: Ranges) -> Option<Abstract> {
    (ty.is_exact() && ranges != Ranges::of(ty)).then_some(Abstract::Int(ranges))
}

/// Bounds of an integer that holds the bits of a pointer.
pub(super) fn pointer_bits_range(pointer: &Pointer, ty: IntType) -> Option<Abstract> {
    if pointer.is_null() {
        known_int(ty, Ranges::single(0))
    } else if pointer.null {
        None
    } else {
        Ranges::of(ty).without(0).and_then(|ranges| known_int(ty, ranges))
    }
}

/// The pointers that have an integer's bits (the integer being as wide as a pointer, or narrower).
pub(super) fn pointer_of_range(ranges: &Ranges) -> Option<Abstract> {
    if ranges.as_single() == Some(0) {
        Some(Abstract::Pointer(Pointer::null()))
    } else if ranges.contains(0) {
        None
    } else {
        Some(Abstract::Pointer(Pointer { null: false, to: Targets::Any }))
    }
}

impl CellValue for Abstract {
    fn join(&self, other: &Abstract, scalar: Scalar) -> Option<Abstract> {
        match (self, other) {
            (Abstract::Int(mine), Abstract::Int(theirs)) => match scalar {
                Scalar::Int(ty) => known_int(ty, mine.join(theirs)),
                Scalar::Pointer | Scalar::Float(_) => None,
            },
            (Abstract::Float(mine), Abstract::Float(theirs)) => (mine == theirs).then(|| self.clone()),
            (Abstract::Pointer(mine), Abstract::Pointer(theirs)) => {
                Pointer { null: mine.null || theirs.null, to: mine.to.join(&theirs.to) }.known()
            }
            (Abstract::Int(_) | Abstract::Float(_) | Abstract::Pointer(_), _) => None,
        }
    }

    fn leq(&self, other: &Abstract) -> bool {
        match (self, other) {
            (Abstract::Int(mine), Abstract::Int(theirs)) => mine.leq(theirs),
            (Abstract::Float(mine), Abstract::Float(theirs)) => mine == theirs,
            (Abstract::Pointer(mine), Abstract::Pointer(theirs)) => {
                (theirs.null || !mine.null) && mine.to.leq(&theirs.to)
            }
            (Abstract::Int(_) | Abstract::Float(_) | Abstract::Pointer(_), _) => false,
        }
    }

    fn zero(scalar: Scalar) -> Abstract {
        match scalar {
            Scalar::Int(_) => Abstract::Int(Ranges::single(0)),
            Scalar::Float(_) => Abstract::Float(0),
            Scalar::Pointer => Abstract::Pointer(Pointer::null()),
        }
    }

    fn is_zero(&self) -> bool {
        match self {
            Abstract::Int(ranges) => ranges.as_single() == Some(0),
            Abstract::Float(bits) => *bits == 0,
            Abstract::Pointer(pointer) => pointer.is_null(),
        }
    }

    fn bits(&self, scalar: Scalar, len: i64) -> Option<u128> {
        let value = match self {
            Abstract::Int(ranges) => eval::Value::Int(ranges.as_single()?),
            Abstract::Float(bits) => eval::Value::Float(*bits),
            Abstract::Pointer(pointer) => return pointer.is_null().then_some(0),
        };
        known_bits(value, scalar, len)
    }

    fn from_bits(scalar: Scalar, len: i64, bits: u128) -> Option<Abstract> {
        match (bits_known(scalar, len, bits)?, scalar) {
            (eval::Value::Int(value), Scalar::Int(ty)) => known_int(ty, Ranges::single(value)),
            (eval::Value::Int(value), Scalar::Pointer) => pointer_of_range(&Ranges::single(value)),
            (eval::Value::Float(bits), Scalar::Float(_)) => Some(Abstract::Float(bits)),
            (eval::Value::Int(_), Scalar::Float(_))
            | (eval::Value::Float(_), Scalar::Int(_) | Scalar::Pointer) => None,
        }
    }

    fn reinterpret(&self, from: Scalar, to: Scalar, len: i64) -> Option<Abstract> {
        let field =
            |ty: IntType| IntType { bits: u8::try_from(len).map_or(ty.bits, |len| len.min(ty.bits)), ..ty };
        match (self, to) {
            (Abstract::Int(ranges), Scalar::Int(ty)) if ty.is_exact() => {
                known_int(ty, ranges.wrap(field(ty)))
            }
            (Abstract::Int(ranges), Scalar::Pointer) => pointer_of_range(ranges),
            (Abstract::Pointer(pointer), Scalar::Int(ty)) => pointer_bits_range(pointer, ty),
            (Abstract::Pointer(_), Scalar::Pointer) => Some(self.clone()),
            (Abstract::Int(_) | Abstract::Float(_), _) => Abstract::from_bits(to, len, self.bits(from, len)?),
            (Abstract::Pointer(_), Scalar::Float(_)) => None,
        }
    }
}
