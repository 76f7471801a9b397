//! Sizes and alignments of types and the placing of a record's members, as gcc does it for the System V ABIs of
//! x86-64 (LP64) and i386 (ILP32). Knows types only: attributes arrive as numbers, nothing here reads a tree.

use proofline_syntax::DataModel;

use crate::{
    Name,
    types::{ArrayLength, BitField, Field, FloatKind, IntKind, Record, Records, Type, TypeKind},
};

/// Answers questions about the bytes of types.
#[derive(Clone, Copy)]
pub struct Layout<'r> {
    /// Sizes of the basic types.
    pub model: DataModel,
    /// Complete records.
    pub records: &'r Records,
}

impl<'r> Layout<'r> {
    /// A layout over these records.
    pub fn new(model: DataModel, records: &'r Records) -> Layout<'r> {
        Layout { model, records }
    }

    fn is_lp64(self) -> bool {
        self.model == DataModel::Lp64
    }

    /// Bytes of a pointer.
    pub fn pointer_size(self) -> u64 {
        if self.is_lp64() { 8 } else { 4 }
    }

    /// `sizeof`, in bytes. `void` and functions have GNU C's size 1. `None`: incomplete, of variable length or unknown.
    pub fn size_of(self, ty: Type) -> Option<u64> {
        match ty.kind() {
            TypeKind::Void | TypeKind::Function(_) | TypeKind::Bool => Some(1),
            TypeKind::Int(kind) | TypeKind::Enum(_, kind) => Some(u64::from(kind.bits(self.model) / 8)),
            TypeKind::Float(kind) => Some(self.float_size(*kind)),
            TypeKind::Complex(kind) => Some(2 * self.float_size(*kind)),
            TypeKind::Pointer(_) => Some(self.pointer_size()),
            TypeKind::Array(element, ArrayLength::Fixed(length)) => {
                self.size_of(*element)?.checked_mul(*length)
            }
            TypeKind::Array(_, ArrayLength::Unknown | ArrayLength::Variable) => None,
            TypeKind::Record(tag) => Some(self.records.get(tag)?.size),
            TypeKind::Vector(element, length) => self.size_of(*element)?.checked_mul(u64::from(*length)),
            TypeKind::VaList => Some(if self.is_lp64() { 24 } else { 4 }),
            TypeKind::Error => None,
        }
    }

    fn float_size(self, kind: FloatKind) -> u64 {
        match kind {
            FloatKind::Float16 => 2,
            FloatKind::Float => 4,
            FloatKind::Double => 8,
            FloatKind::LongDouble => {
                if self.is_lp64() {
                    16
                } else {
                    12
                }
            }
            FloatKind::Float128 => 16,
        }
    }

    /// `_Alignof` in bytes: the alignment of a member of this type, in i386's records at most 4 for `long long` and
    /// `double`. `None`: incomplete or unknown.
    pub fn align_of(self, ty: Type) -> Option<u64> {
        let natural = self.preferred_align_of(ty)?;
        if self.is_lp64() {
            return Some(natural);
        }
        let mut core = ty;
        while let TypeKind::Array(element, _) = core.kind() {
            core = *element;
        }
        if core.qualifiers().is_atomic {
            return Some(natural);
        }
        Some(match core.kind() {
            TypeKind::Int(_)
            | TypeKind::Enum(..)
            | TypeKind::Float(FloatKind::Double)
            | TypeKind::Complex(FloatKind::Double) => natural.min(4),
            // Without MMX gcc keeps such a vector like a `long long`.
            TypeKind::Vector(..) if natural == 8 => 4,
            TypeKind::Record(tag) if natural == 8 && self.is_atomic_word(*tag) => 4,
            TypeKind::Void
            | TypeKind::Function(_)
            | TypeKind::Bool
            | TypeKind::Float(_)
            | TypeKind::Complex(_)
            | TypeKind::Pointer(_)
            | TypeKind::Array(..)
            | TypeKind::Record(_)
            | TypeKind::Vector(..)
            | TypeKind::VaList
            | TypeKind::Error => natural,
        })
    }

    /// Whether a record of 8 bytes is as much as an atomic `long long`. As a member gcc gives it a `long long`'s
    /// alignment again, although it has 8 by itself.
    fn is_atomic_word(self, tag: Name) -> bool {
        let Some(record) = self.records.get(&tag).filter(|r| r.size == 8) else { return false };
        // gcc handles a record with a part that fits no machine word as a block, and leaves its alignment.
        if record.fields.iter().any(|f| f.bits.is_none() && self.is_block(f.ty)) {
            return false;
        }
        record.fields.iter().any(|field| {
            let mut core = field.ty;
            while let TypeKind::Array(element, _) = core.kind() {
                core = *element;
            }
            match core.kind() {
                TypeKind::Record(inner) if !core.qualifiers().is_atomic => self.is_atomic_word(*inner),
                _ => core.qualifiers().is_atomic && self.size_of(core) == Some(8),
            }
        })
    }

    /// Whether an aggregate of at most 8 bytes, or a part of it, fits no machine word.
    fn is_block(self, ty: Type) -> bool {
        let odd = !matches!(self.size_of(ty), Some(0 | 1 | 2 | 4 | 8));
        match ty.kind() {
            TypeKind::Array(element, _) => odd || self.is_block(*element),
            TypeKind::Record(tag) => {
                let fields = self.records.get(tag).map_or(&[][..], |r| &r.fields);
                odd || fields.iter().any(|f| f.bits.is_none() && self.is_block(f.ty))
            }
            _ => false,
        }
    }

    /// GNU `__alignof__` in bytes: the alignment of a variable of this type.
    pub fn preferred_align_of(self, ty: Type) -> Option<u64> {
        let natural = match ty.kind() {
            TypeKind::Void | TypeKind::Function(_) | TypeKind::Bool => 1,
            TypeKind::Int(_) | TypeKind::Enum(..) | TypeKind::Pointer(_) => self.size_of(ty)?,
            TypeKind::Float(kind) | TypeKind::Complex(kind) => match kind {
                FloatKind::LongDouble if !self.is_lp64() => 4,
                FloatKind::Float16
                | FloatKind::Float
                | FloatKind::Double
                | FloatKind::LongDouble
                | FloatKind::Float128 => self.float_size(*kind),
            },
            TypeKind::Array(element, _) => self.preferred_align_of(*element)?,
            TypeKind::Record(tag) => self.records.get(tag)?.align,
            TypeKind::Vector(..) => self.size_of(ty)?.max(1),
            TypeKind::VaList => self.pointer_size(),
            TypeKind::Error => return None,
        };
        if !ty.qualifiers().is_atomic {
            return Some(natural);
        }
        // Atomic objects of the size of a machine word type are aligned so that one instruction reaches them.
        let size = self.size_of(ty)?;
        Some(if matches!(size, 1 | 2 | 4 | 8 | 16) { natural.max(size) } else { natural })
    }

    /// The member of a record with this name as a path of field indices, through anonymous members.
    pub fn field_path(self, tag: Name, name: Name) -> Option<Vec<u32>> {
        let record = self.records.get(&tag)?;
        for (index, field) in record.fields.iter().enumerate() {
            let index = u32::try_from(index).ok()?;
            if field.name == name {
                return Some(vec![index]);
            }
            if let (true, TypeKind::Record(inner)) = (field.name.starts_with('#'), field.ty.kind())
                && let Some(mut path) = self.field_path(*inner, name)
            {
                path.insert(0, index);
                return Some(path);
            }
        }
        None
    }
}

/// A member as it was declared, before it has a place.
pub(crate) struct Member {
    /// `None` for an anonymous record or an unnamed bit-field.
    pub(crate) name: Option<Name>,
    pub(crate) ty: Type,
    /// Alignment of the type where a typedef's `aligned` overrides the natural one.
    pub(crate) type_align: Option<u64>,
    /// Width of a bit-field.
    pub(crate) width: Option<u64>,
    /// `packed`, on the member or on the record.
    pub(crate) packed: bool,
    /// `aligned(n)` or `_Alignas` on the member.
    pub(crate) align: Option<u64>,
}

/// What the declaration says about a record's layout.
#[derive(Clone, Copy, Default)]
pub(crate) struct RecordSpec {
    pub(crate) is_union: bool,
    /// `aligned(n)` on the record.
    pub(crate) align: Option<u64>,
    /// `#pragma pack(n)` in force.
    pub(crate) pack: Option<u64>,
}

const BITS: u64 = 8;

/// Gives every member its place. Members of unknown type have size 0 here; the lowering that made them reported them.
///
/// Source: gcc's `stor-layout.cc` (`place_field`, `update_alignment_for_field`, `layout_decl`) with x86's
/// `PCC_BITFIELD_TYPE_MATTERS` and `ADJUST_FIELD_ALIGN`. All numbers in bits until the end.
pub(crate) fn place(tag: Name, spec: RecordSpec, members: &[Member], layout: Layout<'_>) -> Record {
    let mut record_align = BITS.max(spec.align.unwrap_or(1).saturating_mul(BITS));
    let mut position = 0u64;
    let mut union_size = 0u64;
    let mut fields: Vec<Field> = Vec::new();
    let mut anonymous = 0;
    for member in members {
        let natural = layout.align_of(member.ty).unwrap_or(1);
        let type_align = member.type_align.unwrap_or(natural).saturating_mul(BITS);
        let type_size = layout.size_of(member.ty).unwrap_or(0).saturating_mul(BITS);
        let size = member.width.unwrap_or(type_size);
        if spec.is_union {
            position = 0;
        }
        let known_align = if position == 0 { u64::MAX } else { position & position.wrapping_neg() };
        let desired = desired_align(member, type_align, known_align, size, spec, layout);
        if member.width.is_some() {
            if member.name.is_some() {
                let mut implied = type_align;
                if let Some(pack) = spec.pack {
                    implied = implied.min(pack.saturating_mul(BITS));
                } else if member.packed {
                    implied = implied.min(BITS);
                }
                record_align = record_align.max(desired).max(implied);
            }
        } else {
            record_align = record_align.max(desired);
        }
        position = round_up(position, desired);
        let straddles = |at: u64| {
            let units = (at % type_align).saturating_add(size).div_ceil(type_align);
            units > type_size / type_align
        };
        let is_free_bit_field = member.width.is_some_and(|w| w != 0) && !member.packed && spec.pack.is_none();
        if is_free_bit_field && straddles(position) {
            position = round_up(position, type_align);
        }
        let is_named = member.name.is_some() || member.width.is_none();
        if is_named {
            let name = member.name.unwrap_or_else(|| {
                anonymous += 1;
                Name::new(&format!("#{}", anonymous - 1))
            });
            let bits = member.width.map(|width| BitField {
                first: (position % BITS) as u8,
                width: u8::try_from(width.max(1)).unwrap_or(u8::MAX),
            });
            fields.push(Field { name, ty: member.ty, offset: position / BITS, bits });
        }
        position = position.saturating_add(size);
        union_size = union_size.max(size);
    }
    let end = if spec.is_union { union_size } else { position };
    let align = record_align / BITS;
    let size = round_up(end.div_ceil(BITS), align);
    Record { tag, is_union: spec.is_union, fields, size, align }
}

/// gcc's `DECL_ALIGN` of a member, in bits: where it must start.
fn desired_align(
    member: &Member,
    type_align: u64,
    known_align: u64,
    size: u64,
    spec: RecordSpec,
    layout: Layout<'_>,
) -> u64 {
    let explicit = member.align.map(|a| a.saturating_mul(BITS));
    let pack = spec.pack.map_or(u64::MAX, |p| p.saturating_mul(BITS));
    match member.width {
        // Neither `packed` nor `#pragma pack` moves what follows a zero-width bit-field.
        Some(0) => type_align.max(explicit.unwrap_or(1)),
        Some(_) => {
            // A bit-field that happens to fill an aligned unit is an ordinary member (on i386 one of 64 bits is
            // aligned like a `long long` member, so to 4 bytes, unless it has an alignment of its own).
            let fills_unit =
                matches!(size, 8 | 16 | 32) || (size == 64 && (layout.is_lp64() || explicit.is_some()));
            let as_unit =
                if fills_unit && known_align >= size && (size == BITS || !member.packed) { size } else { 1 };
            explicit.unwrap_or(1).max(as_unit).min(pack)
        }
        None => {
            let align = match (member.packed, explicit) {
                (true, Some(explicit)) => explicit,
                (true, None) => BITS,
                (false, Some(explicit)) => explicit.max(type_align),
                (false, None) => type_align,
            };
            align.min(pack)
        }
    }
}

fn round_up(value: u64, to: u64) -> u64 {
    if to <= 1 { value } else { value.div_ceil(to).saturating_mul(to) }
}

/// The integer kind an enum with these bounds is compatible with. `packed`: the smallest that holds them.
pub(crate) fn enum_kind(min: i128, max: i128, packed: bool, model: DataModel) -> IntKind {
    use IntKind::{Int, Long, LongLong, SChar, Short, UChar, UInt, ULong, ULongLong, UShort};
    let fits = |kind: IntKind| kind.holds(min, model) && kind.holds(max, model);
    let candidates: &[IntKind] = if packed {
        &[UChar, SChar, UShort, Short, UInt, Int, ULong, Long, ULongLong, LongLong]
    } else {
        &[UInt, Int, ULong, Long, ULongLong, LongLong]
    };
    candidates.iter().copied().find(|&kind| fits(kind)).unwrap_or(LongLong)
}
