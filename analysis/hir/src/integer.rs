//! Arithmetic facts of C's integer types: width, signedness, rank, wrap-around. Knows no expressions and no trees.

use proofline_syntax::DataModel;

use crate::types::{IntKind, Type, TypeKind};

impl IntKind {
    /// Whether negative values exist. Plain `char` is signed (x86).
    pub fn is_signed(self) -> bool {
        match self {
            IntKind::Char
            | IntKind::SChar
            | IntKind::Short
            | IntKind::Int
            | IntKind::Long
            | IntKind::LongLong
            | IntKind::Int128 => true,
            IntKind::UChar
            | IntKind::UShort
            | IntKind::UInt
            | IntKind::ULong
            | IntKind::ULongLong
            | IntKind::UInt128 => false,
        }
    }

    /// Width in bits, the sign included.
    pub fn bits(self, model: DataModel) -> u32 {
        match self {
            IntKind::Char | IntKind::SChar | IntKind::UChar => 8,
            IntKind::Short | IntKind::UShort => 16,
            IntKind::Int | IntKind::UInt => 32,
            IntKind::Long | IntKind::ULong => match model {
                DataModel::Lp64 => 64,
                DataModel::Ilp32 => 32,
            },
            IntKind::LongLong | IntKind::ULongLong => 64,
            IntKind::Int128 | IntKind::UInt128 => 128,
        }
    }

    /// Conversion rank: a higher number converts to the type of the higher rank. Equal for the two signednesses.
    pub fn rank(self) -> u8 {
        match self {
            IntKind::Char | IntKind::SChar | IntKind::UChar => 1,
            IntKind::Short | IntKind::UShort => 2,
            IntKind::Int | IntKind::UInt => 3,
            IntKind::Long | IntKind::ULong => 4,
            IntKind::LongLong | IntKind::ULongLong => 5,
            IntKind::Int128 | IntKind::UInt128 => 6,
        }
    }

    /// The unsigned type of the same rank.
    pub fn to_unsigned(self) -> IntKind {
        match self {
            IntKind::Char | IntKind::SChar | IntKind::UChar => IntKind::UChar,
            IntKind::Short | IntKind::UShort => IntKind::UShort,
            IntKind::Int | IntKind::UInt => IntKind::UInt,
            IntKind::Long | IntKind::ULong => IntKind::ULong,
            IntKind::LongLong | IntKind::ULongLong => IntKind::ULongLong,
            IntKind::Int128 | IntKind::UInt128 => IntKind::UInt128,
        }
    }

    /// The value congruent to `value` modulo 2^bits that the type holds (`unsigned __int128`: modulo 2^128 as `i128`).
    pub fn wrap(self, value: i128, model: DataModel) -> i128 {
        wrap_bits(value, self.bits(model), self.is_signed())
    }

    /// Whether the type holds the (mathematical) value. `unsigned __int128` is kept modulo 2^128: it holds everything.
    pub fn holds(self, value: i128, model: DataModel) -> bool {
        self.wrap(value, model) == value
    }
}

/// The value congruent to `value` modulo 2^bits in the range of a two's complement (or unsigned) type of that width.
/// 128 bits unsigned stays as it is: such values are kept as `i128`.
pub fn wrap_bits(value: i128, bits: u32, signed: bool) -> i128 {
    if bits == 0 {
        return 0;
    }
    if bits >= 128 {
        return value;
    }
    let shift = 128 - bits;
    if signed { (value << shift) >> shift } else { (((value as u128) << shift) >> shift) as i128 }
}

impl Type {
    /// The kind of an integer type or of the one that an enum is compatible with; `None` for `_Bool` and all others.
    pub fn int_kind(self) -> Option<IntKind> {
        match self.kind() {
            TypeKind::Int(kind) | TypeKind::Enum(_, kind) => Some(*kind),
            _ => None,
        }
    }

    /// Integer, `_Bool`, enum or real floating.
    pub fn is_arithmetic(self) -> bool {
        self.is_integer() || matches!(self.kind(), TypeKind::Float(_))
    }

    /// Whether every value of the integer type is at least 0.
    pub fn is_unsigned(self) -> bool {
        matches!(self.kind(), TypeKind::Bool) || self.int_kind().is_some_and(|k| !k.is_signed())
    }

    /// Value of a conversion of an integer to this integer type or (as an address) pointer type, `None` for other types.
    pub fn wrap_int(self, value: i128, model: DataModel) -> Option<i128> {
        match self.kind() {
            TypeKind::Bool => Some(i128::from(value != 0)),
            TypeKind::Int(kind) | TypeKind::Enum(_, kind) => Some(kind.wrap(value, model)),
            TypeKind::Pointer(_) => Some(IntKind::ULong.wrap(value, model)),
            _ => None,
        }
    }
}
