//! Objects with static storage and their initial values.

use std::collections::{BTreeMap, BTreeSet};

use proofline_hir::{
    Linkage, Name, StringLiteral, Type, TypeKind,
    body::{Body, ExprId, ExprKind, InitStep, Initializer},
    consteval::{self, ConstValue},
    types::{ArrayLength, BitField},
};

use super::{
    Context,
    jump::{label_address, label_difference, label_of},
};
use proofline_cfa::{
    Constant, Global, InitialValue, IntType, Scalar, Types,
    types::{array, is_constant},
};

/// More scalars than this are not listed: the object then has any value.
const MAX_VALUES: u64 = 4_000_000;

/// Lowers an object; its name stays as it is in the unit.
pub(super) fn global(context: &Context<'_>, source: &proofline_hir::Global) -> Global {
    let types = context.types;
    let function = source.name.rsplit_once('.').map(|(function, _)| Name::new(function));
    let mut values = Values { context, function, at: BTreeMap::new(), end: 0, overflow: false };
    if let (Some(init), Some(body)) = (&source.init, &source.init_body) {
        values.initialise(body, init, Part { ty: source.ty, offset: 0, bits: None });
    }
    let hidden = match &source.init_body {
        Some(body) if values.hides() => addressed(body),
        Some(_) | None => Vec::new(),
    };
    let last = values.at.last_key_value().map_or(0, |((offset, _), value)| offset + value.bytes(types));
    let end = values.end.max(last);
    let defined = source.defined && !values.overflow;
    // A flexible array member may have been given elements, elsewhere nobody knows how many.
    let is_known = defined || !ends_open(types, source.ty);
    let size = if is_known { types.size(source.ty).unwrap_or(0).max(end) } else { 0 };
    Global {
        name: source.name,
        ty: source.ty,
        size,
        linkage: source.linkage,
        defined,
        constant: is_constant(source.ty),
        init: values.finish(),
        hidden,
    }
}

/// Whether the last part of an object of this type is an array without a length.
fn ends_open(types: Types<'_>, ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Array(_, length) => *length == ArrayLength::Unknown,
        TypeKind::Record(tag) => {
            let last = types.records.get(tag).and_then(|record| record.fields.last());
            last.is_some_and(|field| ends_open(types, field.ty))
        }
        _ => false,
    }
}

/// Objects and functions that an initial value mentions, by name.
fn addressed(body: &Body) -> Vec<Name> {
    let names = body.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Global(name) | ExprKind::Function(name) | ExprKind::StringLiteral(name) => Some(name),
        _ => None,
    });
    names.collect::<BTreeSet<Name>>().into_iter().collect()
}

/// The object of a string literal.
pub(super) fn string(types: Types<'_>, literal: &StringLiteral) -> Global {
    let element = array(literal.ty).map_or(literal.ty, |(element, _)| element);
    let stride = types.size(element).unwrap_or(1);
    let mut init = Vec::new();
    if let Some(scalar @ Scalar::Int(ty)) = types.scalar(element) {
        for (at, value) in literal.elements.iter().enumerate().filter(|(_, value)| **value != 0) {
            let value = Constant::Int(ty.wrap(i128::from(*value)));
            init.push(InitialValue { offset: at as u64 * stride, scalar, bits: None, value });
        }
    }
    let size = types.size(literal.ty).unwrap_or(literal.elements.len() as u64 * stride);
    Global {
        name: literal.name,
        ty: literal.ty,
        size,
        linkage: Linkage::Internal,
        defined: true,
        constant: true,
        init,
        hidden: Vec::new(),
    }
}

/// A part of the object.
#[derive(Clone, Copy)]
struct Part {
    ty: Type,
    offset: u64,
    bits: Option<BitField>,
}

struct Values<'c> {
    context: &'c Context<'c>,
    /// Whose labels the values may name: the static local's function.
    function: Option<Name>,
    /// By byte and first bit: later entries replace what they overlap.
    at: BTreeMap<(u64, u8), InitialValue>,
    overflow: bool,
    /// Bytes up to the end of the last element that is mentioned.
    end: u64,
}

impl Values<'_> {
    /// Whether some of the value is not computed.
    fn hides(&self) -> bool {
        self.overflow || self.at.values().any(|initial| initial.value == Constant::Unknown)
    }

    fn initialise(&mut self, body: &Body, init: &Initializer, part: Part) {
        for entry in &init.entries {
            self.entry(body, &entry.path, entry.value, part);
        }
    }

    fn entry(&mut self, body: &Body, path: &[InitStep], value: ExprId, part: Part) {
        let Some((step, rest)) = path.split_first() else { return self.store(body, value, part) };
        let types = self.context.types;
        let (first, last) = match *step {
            InitStep::Field(field) => {
                let TypeKind::Record(tag) = part.ty.kind() else { return };
                let Some(found) = types.record(*tag).and_then(|r| r.fields.get(field as usize)) else {
                    return;
                };
                let inner = Part { ty: found.ty, offset: part.offset + found.offset, bits: found.bits };
                return self.entry(body, rest, value, inner);
            }
            InitStep::Element(at) => (at, at),
            InitStep::Range(first, last) => (first, last),
        };
        let element = match part.ty.kind() {
            TypeKind::Array(element, _) | TypeKind::Vector(element, _) => *element,
            _ => return,
        };
        let Some(stride) = types.size(element) else { return };
        if last.saturating_sub(first) > MAX_VALUES {
            self.overflow = true;
            return;
        }
        // What an element's own list leaves out is there, too.
        self.end = self.end.max(part.offset + last.saturating_add(1).saturating_mul(stride));
        for at in first..=last {
            let inner = Part { ty: element, offset: part.offset + at * stride, bits: None };
            self.entry(body, rest, value, inner);
        }
    }

    fn store(&mut self, body: &Body, value: ExprId, part: Part) {
        let types = self.context.types;
        let expr = body.expr(value);
        let Some(scalar) = types.scalar(part.ty) else { return self.store_aggregate(body, value, part) };
        let computed = consteval::eval_initial(body, value, types.records, types.model);
        let constant = match (computed, scalar) {
            (Some(ConstValue::Int(value)), Scalar::Int(ty)) => {
                // A bit-field keeps the low bits only: reading it gives what fits.
                let kept = part.bits.map_or(ty, |bits| IntType { bits: bits.width, signed: ty.signed });
                Constant::Int(kept.wrap(value))
            }
            (Some(ConstValue::Int(value)), Scalar::Pointer) => match self.context.register_at(value, part.ty)
            {
                Some(register) => Constant::Address(register, 0),
                None => Constant::Int(value),
            },
            (Some(ConstValue::Float(value)), Scalar::Float(ty)) if value.format() == ty => {
                Constant::Float(value)
            }
            (Some(ConstValue::Address { object, offset }), Scalar::Pointer) => {
                Constant::Address(object, offset)
            }
            (Some(ConstValue::Function(name)), Scalar::Pointer) => Constant::Function(name),
            (Some(ConstValue::Address { object, offset }), Scalar::Int(ty))
                if ty.bits == types.pointer_bits() =>
            {
                Constant::Address(object, offset)
            }
            (Some(ConstValue::Function(name)), Scalar::Int(ty)) if ty.bits == types.pointer_bits() => {
                Constant::Function(name)
            }
            _ => match expr.kind {
                ExprKind::StringLiteral(object) if scalar == Scalar::Pointer => Constant::Address(object, 0),
                _ => match (label_of(body, value), self.function) {
                    (Some(label), Some(function)) if scalar == Scalar::Pointer => {
                        Constant::Int(label_address(function, label, types.model))
                    }
                    _ => match label_difference(body, value) {
                        Some((from, to)) if from == to => Constant::Int(0),
                        _ => Constant::Unknown,
                    },
                },
            },
        };
        self.set(part, scalar, constant);
    }

    fn store_aggregate(&mut self, body: &Body, value: ExprId, part: Part) {
        match &body.expr(value).kind {
            ExprKind::StringLiteral(name) => {
                let (Some(literal), Some((element, length))) =
                    (self.context.strings.get(name), array(part.ty))
                else {
                    return self.unknown(part);
                };
                let types = self.context.types;
                let (Some(stride), Some(scalar @ Scalar::Int(ty))) =
                    (types.size(element), types.scalar(element))
                else {
                    return self.unknown(part);
                };
                let count =
                    length.map_or(literal.elements.len() as u64, |n| n.min(literal.elements.len() as u64));
                for (at, value) in (0..count).zip(&literal.elements) {
                    let inner = Part { ty: element, offset: part.offset + at * stride, bits: None };
                    self.set(inner, scalar, Constant::Int(ty.wrap(i128::from(*value))));
                }
            }
            ExprKind::Load(inner) | ExprKind::Cast(inner) => self.store_aggregate(body, *inner, part),
            ExprKind::CompoundLiteral(_, init) => {
                self.clear(part);
                self.initialise(body, init, part);
            }
            _ => self.unknown(part),
        }
    }

    /// Removes what lies inside the part.
    fn clear(&mut self, part: Part) {
        let size = self.context.types.size(part.ty).unwrap_or(0);
        let keys: Vec<(u64, u8)> =
            self.at.range((part.offset, 0)..(part.offset + size, 0)).map(|(key, _)| *key).collect();
        for key in keys {
            self.at.remove(&key);
        }
    }

    /// Any value in all scalars of the part.
    fn unknown(&mut self, part: Part) {
        let types = self.context.types;
        if let Some(scalar) = types.scalar(part.ty) {
            return self.set(part, scalar, Constant::Unknown);
        }
        match part.ty.kind() {
            TypeKind::Array(element, _) | TypeKind::Vector(element, _) => {
                let (Some(stride), Some(size)) = (types.size(*element), types.size(part.ty)) else { return };
                let count = size.checked_div(stride).unwrap_or(0);
                if count > MAX_VALUES {
                    self.overflow = true;
                    return;
                }
                for at in 0..count {
                    self.unknown(Part { ty: *element, offset: part.offset + at * stride, bits: None });
                }
            }
            TypeKind::Record(tag) => {
                for field in types.record(*tag).map_or(&[][..], |record| &record.fields) {
                    self.unknown(Part { ty: field.ty, offset: part.offset + field.offset, bits: field.bits });
                }
            }
            _ => self.overflow = true,
        }
    }

    fn set(&mut self, part: Part, scalar: Scalar, value: Constant) {
        proofline_syntax::interrupt::poll();
        if self.at.len() as u64 > MAX_VALUES {
            self.overflow = true;
            return;
        }
        let types = self.context.types;
        let new = InitialValue { offset: part.offset, scalar, bits: part.bits, value };
        let (start, end) = new.bit_range(types);
        // A scalar has at most 16 bytes: what overlaps starts no further away.
        let overlapping: Vec<(u64, u8)> = self
            .at
            .range((part.offset.saturating_sub(16), 0)..(end.div_ceil(8), 0))
            .filter(|(_, old)| {
                let (from, to) = old.bit_range(types);
                from < end && start < to
            })
            .map(|(key, _)| *key)
            .collect();
        for key in overlapping {
            self.at.remove(&key);
        }
        self.at.insert((part.offset, part.bits.map_or(0, |bits| bits.first)), new);
    }

    fn finish(self) -> Vec<InitialValue> {
        if self.overflow {
            return Vec::new();
        }
        self.at
            .into_values()
            .filter(|value| {
                !matches!(value.value, Constant::Int(0))
                    && !matches!(value.value, Constant::Float(zero) if zero.is_positive_zero())
            })
            .collect()
    }
}
