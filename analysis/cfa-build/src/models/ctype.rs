//! The tables behind glibc's `ctype.h` in the C locale: 384 entries for -128..=255, reached through a pointer to entry 0. Knows
//! characters, nothing of programs but their globals.

use proofline_hir::{
    Linkage, Name, Type, TypeKind,
    types::{ArrayLength, IntKind, Qualifiers},
};

use super::effect::Table;
use proofline_cfa::{Constant, Global, InitialValue, IntType, Scalar};

/// Entries below 0.
pub(super) const BEFORE: i128 = 128;
/// Entries.
const LENGTH: u64 = 384;

impl Table {
    /// Type of an entry.
    pub(super) fn entry(self) -> (Type, IntType) {
        match self {
            Table::Classes => {
                (Type::new(TypeKind::Int(IntKind::UShort)), IntType { bits: 16, signed: false })
            }
            Table::Lower | Table::Upper => (Type::int(), IntType::INT),
        }
    }

    /// Name of the object with the entries.
    pub(super) fn object(self) -> Name {
        Name::new(match self {
            Table::Classes => "#ctype_b",
            Table::Lower => "#ctype_tolower",
            Table::Upper => "#ctype_toupper",
        })
    }

    /// Name of the pointer to the entry of 0.
    pub(super) fn pointer(self) -> Name {
        Name::new(&format!("{}_pointer", self.object()))
    }

    /// Type of the entries' object.
    pub(super) fn ty(self) -> Type {
        let element = self.entry().0.qualified(Qualifiers { is_const: true, ..Qualifiers::default() });
        Type::new(TypeKind::Array(element, ArrayLength::Fixed(LENGTH)))
    }

    /// Bytes of the entries' object.
    pub(super) fn size(self) -> u64 {
        LENGTH * self.entry().1.bytes()
    }

    /// The object with the entries, and the pointer into it.
    pub(super) fn globals(self, pointer_bytes: u64) -> [Global; 2] {
        let (element, ty) = self.entry();
        let bytes = ty.bytes();
        let init = (0..LENGTH)
            .map(|at| (at, self.value(i128::from(at) - BEFORE)))
            .filter(|(_, value)| *value != 0)
            .map(|(at, value)| InitialValue {
                offset: at * bytes,
                scalar: Scalar::Int(ty),
                bits: None,
                value: Constant::Int(value),
            })
            .collect();
        let entries = Global {
            name: self.object(),
            ty: self.ty(),
            size: self.size(),
            linkage: Linkage::Internal,
            defined: true,
            constant: true,
            init,
        };
        let into = Constant::Address(self.object(), (BEFORE as u64 * bytes) as i64);
        let pointer = Global {
            name: self.pointer(),
            ty: element.qualified(Qualifiers { is_const: true, ..Qualifiers::default() }).pointer_to(),
            size: pointer_bytes,
            linkage: Linkage::Internal,
            defined: true,
            constant: true,
            init: vec![InitialValue { offset: 0, scalar: Scalar::Pointer, bits: None, value: into }],
        };
        [entries, pointer]
    }

    /// Entry of a character. Negative ones (but `EOF`) stand for the upper half of `unsigned char`, which has no classes.
    fn value(self, character: i128) -> i128 {
        let byte = match u8::try_from(character) {
            Ok(byte) if byte.is_ascii() => byte,
            // Not ASCII: maps to itself as the table says, `(unsigned char)c` below 0 but for EOF.
            Ok(byte) => return if self == Table::Classes { 0 } else { i128::from(byte) },
            Err(_) if self == Table::Classes => return 0,
            Err(_) if character == -1 => return -1,
            Err(_) => return character + 256,
        };
        match self {
            Table::Lower => i128::from(byte.to_ascii_lowercase()),
            Table::Upper => i128::from(byte.to_ascii_uppercase()),
            Table::Classes => classes(byte),
        }
    }
}

/// glibc's bits on a little endian machine: `_ISbit(n)` is `(1 << n) << 8` for n < 8, else `(1 << n) >> 8`.
fn classes(byte: u8) -> i128 {
    let members = [
        byte.is_ascii_uppercase(),
        byte.is_ascii_lowercase(),
        byte.is_ascii_alphabetic(),
        byte.is_ascii_digit(),
        byte.is_ascii_hexdigit(),
        matches!(byte, b' ' | 9..=13),
        byte.is_ascii_graphic() || byte == b' ',
        byte.is_ascii_graphic(),
        matches!(byte, b' ' | b'\t'),
        byte.is_ascii_control(),
        byte.is_ascii_punctuation(),
        byte.is_ascii_alphanumeric(),
    ];
    let bit = |n: usize| if n < 8 { (1 << n) << 8 } else { (1 << n) >> 8 };
    members.iter().enumerate().filter(|(_, is_member)| **is_member).map(|(n, _)| bit(n)).sum()
}
