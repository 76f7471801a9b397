//! Formats of C types and the C types of formats. Knows layouts, no expressions.

use proofline_hir::{
    Name, Records, Type, TypeKind,
    layout::Layout,
    types::{ArrayLength, FloatKind, IntKind, Record},
};
use proofline_syntax::DataModel;

use crate::{
    FloatType,
    scalar::{IntType, Scalar},
};

/// Sizes and formats of the types of a unit or program.
#[derive(Clone, Copy)]
pub struct Types<'h> {
    /// Layouts by tag.
    pub records: &'h Records,
    /// Sizes of C's types.
    pub model: DataModel,
}

impl<'h> Types<'h> {
    /// Format of a scalar type; `None` for everything else.
    pub fn scalar(self, ty: Type) -> Option<Scalar> {
        scalar_of(ty, self.model)
    }

    /// A C type of the format.
    pub fn of_scalar(self, scalar: Scalar) -> Type {
        match scalar {
            Scalar::Pointer => Type::void().pointer_to(),
            Scalar::Float(float) => Type::new(TypeKind::Float(match float {
                FloatType::F16 => FloatKind::Float16,
                FloatType::F32 => FloatKind::Float,
                FloatType::F64 => FloatKind::Double,
                FloatType::F80 => FloatKind::LongDouble,
                FloatType::F128 => FloatKind::Float128,
            })),
            Scalar::Int(ty) => {
                let long = if self.model == DataModel::Lp64 { IntKind::Long } else { IntKind::LongLong };
                let kind = match ty.bits {
                    0..=8 => IntKind::SChar,
                    9..=16 => IntKind::Short,
                    17..=32 => IntKind::Int,
                    33..=64 => long,
                    65.. => IntKind::Int128,
                };
                Type::new(TypeKind::Int(if ty.signed { kind } else { kind.to_unsigned() }))
            }
        }
    }

    /// Bytes; `None` when incomplete or variable.
    pub fn size(self, ty: Type) -> Option<u64> {
        Layout::new(self.model, self.records).size_of(ty)
    }

    /// The record with the tag.
    pub fn record(self, tag: Name) -> Option<&'h Record> {
        self.records.get(&tag).map(|record| &**record)
    }

    /// Bits of a pointer.
    pub fn pointer_bits(self) -> u8 {
        match self.model {
            DataModel::Lp64 => 64,
            DataModel::Ilp32 => 32,
        }
    }

    /// `size_t`
    pub fn size_t(self) -> IntType {
        IntType { bits: self.pointer_bits(), signed: false }
    }

    /// `ptrdiff_t`
    pub fn ptrdiff_t(self) -> IntType {
        IntType { bits: self.pointer_bits(), signed: true }
    }
}

/// Format of a scalar type; `None` for everything else.
pub fn scalar_of(ty: Type, model: DataModel) -> Option<Scalar> {
    Some(match ty.kind() {
        TypeKind::Bool => Scalar::Int(IntType::BOOL),
        TypeKind::Int(kind) | TypeKind::Enum(_, kind) => {
            Scalar::Int(IntType { bits: kind.bits(model) as u8, signed: kind.is_signed() })
        }
        TypeKind::Float(kind) => Scalar::Float(kind.format()),
        TypeKind::Pointer(_) => Scalar::Pointer,
        TypeKind::Void
        | TypeKind::Complex(_)
        | TypeKind::Array(..)
        | TypeKind::Function(_)
        | TypeKind::Record(_)
        | TypeKind::Vector(..)
        | TypeKind::VaList
        | TypeKind::Error => return None,
    })
}

/// Whether the size is known only at run time.
pub fn is_variable(ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Array(_, ArrayLength::Variable) => true,
        TypeKind::Array(element, ArrayLength::Fixed(_) | ArrayLength::Unknown) => is_variable(*element),
        _ => false,
    }
}

/// The element below all dimensions.
pub fn innermost(ty: Type) -> Type {
    match ty.kind() {
        TypeKind::Array(element, _) => innermost(*element),
        _ => ty,
    }
}

/// Element type and length of an array type.
pub fn array(ty: Type) -> Option<(Type, Option<u64>)> {
    match ty.kind() {
        TypeKind::Array(element, ArrayLength::Fixed(length)) => Some((*element, Some(*length))),
        TypeKind::Array(element, ArrayLength::Unknown | ArrayLength::Variable) => Some((*element, None)),
        _ => None,
    }
}

/// Whether an object that is declared with this type must not be written: `const`, or an array of such elements.
pub fn is_read_only(ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Array(element, _) => ty.qualifiers().is_const || is_read_only(*element),
        _ => ty.qualifiers().is_const,
    }
}

/// Whether nothing of an object of the type can be written or change by itself.
pub fn is_constant(ty: Type) -> bool {
    let q = ty.qualifiers();
    match ty.kind() {
        TypeKind::Array(element, _) => !q.is_volatile && (q.is_const || is_constant(*element)),
        _ => q.is_const && !q.is_volatile,
    }
}
