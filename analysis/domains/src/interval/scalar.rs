//! Values of the interval analysis: ranges of integers and of floats, pointers by what they may point to. Knows no state.

use std::sync::Arc;

use proofline_cfa::{Float, IntType, Name, Object, Scalar, eval};
use serde::{Deserialize, Serialize};

use crate::{
    interval::{floats::Floats, ranges::Ranges},
    store::{Abstract, AbstractValue, Offsets},
    value::{bits_known, known_bits},
};

/// More targets than this are any,
const TARGETS: usize = 4;

/// and more literals and functions, of which tables are made: `static const char *names[]`.
const CONSTANTS: usize = 64;

/// A set of scalars of one format.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum IntervalValue {
    /// Integers.
    Int(Ranges),
    /// Floating numbers.
    Float(Floats),
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
    /// What was there before the run began: no object that the run itself allocates, and no variable of its functions.
    Older,
}

impl Pointee {
    /// A literal, or a function.
    fn is_constant(&self) -> bool {
        match self {
            Pointee::Function(_) => true,
            Pointee::Object(Object::Global(name)) => name.contains('"'),
            Pointee::Object(Object::Local(..) | Object::Heap(..) | Object::External) | Pointee::Older => {
                false
            }
        }
    }
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
        let constants = all.iter().filter(|(to, _)| to.is_constant()).count();
        let is_any = constants > CONSTANTS || all.len() - constants > TARGETS;
        if is_any { Targets::Any } else { Targets::These(all.into()) }
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
    pub fn known(self) -> Abstract<IntervalValue> {
        if self.null && self.to == Targets::Any {
            Abstract::Any
        } else {
            Abstract::Of(IntervalValue::Pointer(self))
        }
    }

    /// Whether it is null and nothing else.
    pub fn is_null(&self) -> bool {
        self.null && self.to == Targets::nothing()
    }
}

/// The integers of a cell as wide as `len` bits, unless that says nothing.
pub(super) fn known_int(ty: IntType, ranges: Ranges) -> Abstract<IntervalValue> {
    if ty.is_exact() && ranges != Ranges::of(ty) {
        Abstract::Of(IntervalValue::Int(ranges))
    } else {
        Abstract::Any
    }
}

/// The numbers, unless that says nothing.
pub(super) fn known_float(values: Floats) -> Abstract<IntervalValue> {
    if values.is_all() { Abstract::Any } else { Abstract::Of(IntervalValue::Float(values)) }
}

/// Bounds of an integer that holds the bits of a pointer.
pub(super) fn pointer_bits_range(pointer: &Pointer, ty: IntType) -> Abstract<IntervalValue> {
    if pointer.is_null() {
        known_int(ty, Ranges::single(0))
    } else if pointer.null {
        Abstract::Any
    } else {
        Abstract::from(Ranges::of(ty).without(0)).and_then(|ranges| known_int(ty, ranges))
    }
}

/// The pointers that have an integer's bits (the integer being as wide as a pointer, or narrower).
pub(super) fn pointer_of_range(ranges: &Ranges) -> Abstract<IntervalValue> {
    if ranges.as_single() == Some(0) {
        Abstract::Of(IntervalValue::Pointer(Pointer::null()))
    } else if ranges.contains(0) {
        Abstract::Any
    } else {
        Abstract::Of(IntervalValue::Pointer(Pointer { null: false, to: Targets::Any }))
    }
}

impl AbstractValue for IntervalValue {
    fn join(&self, other: &IntervalValue, scalar: Scalar) -> Abstract<IntervalValue> {
        match (self, other) {
            (IntervalValue::Int(mine), IntervalValue::Int(theirs)) => match scalar {
                Scalar::Int(ty) => known_int(ty, mine.join(theirs)),
                Scalar::Pointer | Scalar::Float(_) => Abstract::Any,
            },
            (IntervalValue::Float(mine), IntervalValue::Float(theirs)) => known_float(mine.join(theirs)),
            (IntervalValue::Pointer(mine), IntervalValue::Pointer(theirs)) => {
                Pointer { null: mine.null || theirs.null, to: mine.to.join(&theirs.to) }.known()
            }
            (IntervalValue::Int(_) | IntervalValue::Float(_) | IntervalValue::Pointer(_), _) => Abstract::Any,
        }
    }

    fn leq(&self, other: &IntervalValue) -> bool {
        match (self, other) {
            (IntervalValue::Int(mine), IntervalValue::Int(theirs)) => mine.leq(theirs),
            (IntervalValue::Float(mine), IntervalValue::Float(theirs)) => mine.leq(theirs),
            (IntervalValue::Pointer(mine), IntervalValue::Pointer(theirs)) => {
                (theirs.null || !mine.null) && mine.to.leq(&theirs.to)
            }
            (IntervalValue::Int(_) | IntervalValue::Float(_) | IntervalValue::Pointer(_), _) => false,
        }
    }

    fn zero(scalar: Scalar) -> IntervalValue {
        match scalar {
            Scalar::Int(_) => IntervalValue::Int(Ranges::single(0)),
            Scalar::Float(ty) => IntervalValue::Float(Floats::single(Float::zero(ty))),
            Scalar::Pointer => IntervalValue::Pointer(Pointer::null()),
        }
    }

    fn is_zero(&self) -> bool {
        match self {
            IntervalValue::Int(ranges) => ranges.as_single() == Some(0),
            IntervalValue::Float(values) => values.as_single().is_some_and(Float::is_positive_zero),
            IntervalValue::Pointer(pointer) => pointer.is_null(),
        }
    }

    fn bounds(&self) -> Option<(i128, i128)> {
        if let IntervalValue::Int(ranges) = self { Some((ranges.lo(), ranges.hi())) } else { None }
    }

    fn leads_to(&self) -> Option<Object> {
        let IntervalValue::Pointer(Pointer { null: false, to: Targets::These(these) }) = self else {
            return None;
        };
        match these[..] {
            [(Pointee::Object(object), _)] => Some(object),
            _ => None,
        }
    }

    fn is_never_null(&self) -> bool {
        matches!(self, IntervalValue::Pointer(Pointer { null: false, .. }))
    }

    fn may_lead_to(&self, objects: &dyn Fn(Object) -> bool) -> bool {
        let IntervalValue::Pointer(Pointer { to: Targets::These(these), .. }) = self else { return false };
        these.iter().any(|(to, _)| matches!(to, Pointee::Object(object) if objects(*object)))
    }

    fn bits(&self, scalar: Scalar, len: i64) -> Option<u128> {
        let value = match self {
            IntervalValue::Int(ranges) => eval::Value::Int(ranges.as_single()?),
            IntervalValue::Float(values) => eval::Value::Float(values.as_single()?),
            IntervalValue::Pointer(pointer) => return pointer.is_null().then_some(0),
        };
        known_bits(value, scalar, len)
    }

    fn from_bits(scalar: Scalar, len: i64, bits: u128) -> Abstract<IntervalValue> {
        let Some(value) = bits_known(scalar, len, bits) else { return Abstract::Any };
        match (value, scalar) {
            (eval::Value::Int(value), Scalar::Int(ty)) => known_int(ty, Ranges::single(value)),
            (eval::Value::Int(value), Scalar::Pointer) => pointer_of_range(&Ranges::single(value)),
            (eval::Value::Float(bits), Scalar::Float(_)) => known_float(Floats::single(bits)),
            (eval::Value::Int(_), Scalar::Float(_))
            | (eval::Value::Float(_), Scalar::Int(_) | Scalar::Pointer) => Abstract::Any,
        }
    }

    fn reinterpret(&self, from: Scalar, to: Scalar, len: i64) -> Abstract<IntervalValue> {
        let field =
            |ty: IntType| IntType { bits: u8::try_from(len).map_or(ty.bits, |len| len.min(ty.bits)), ..ty };
        match (self, to) {
            (IntervalValue::Int(ranges), Scalar::Int(ty)) if ty.is_exact() => {
                known_int(ty, ranges.wrap(field(ty)))
            }
            (IntervalValue::Int(ranges), Scalar::Pointer) => pointer_of_range(ranges),
            (IntervalValue::Pointer(pointer), Scalar::Int(ty)) => pointer_bits_range(pointer, ty),
            (IntervalValue::Pointer(_), Scalar::Pointer) => Abstract::Of(self.clone()),
            (IntervalValue::Int(_) | IntervalValue::Float(_), _) => match self.bits(from, len) {
                Some(bits) => IntervalValue::from_bits(to, len, bits),
                None => Abstract::Any,
            },
            (IntervalValue::Pointer(_), Scalar::Float(_)) => Abstract::Any,
        }
    }
}
