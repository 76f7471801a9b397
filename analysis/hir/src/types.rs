//! C types as interned, position-free values. `Type` is a `Copy` handle; two types are equal iff they are the same
//! type with the same qualifiers. Records and enums are referred to by a unique tag, defined in a [`Records`] table
//! (that breaks the cycle of `struct list { struct list *next; }`). Knows nothing of bytes: see `layout`.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    fmt,
    hash::{Hash, Hasher},
    sync::{Arc, LazyLock},
};

use parking_lot::RwLock;
use proofline_float::Format;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ContentHasher, Name};

/// A C type with its qualifiers, interned for the life of the process.
#[derive(Clone, Copy)]
pub struct Type(&'static Interned);

struct Interned {
    data: TypeData,
    /// Of the content: the same in every process.
    digest: [u8; 16],
}

/// What a [`Type`] is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TypeData {
    /// The type without qualifiers.
    pub kind: TypeKind,
    /// `const`, `volatile`, `restrict`, `_Atomic` on this level.
    pub qualifiers: Qualifiers,
}

/// Qualifiers of one level of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Qualifiers {
    /// `const`
    pub is_const: bool,
    /// `volatile`: the object may change behind the program.
    pub is_volatile: bool,
    /// `restrict`
    pub is_restrict: bool,
    /// `_Atomic`
    pub is_atomic: bool,
}

/// The kinds of C types.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TypeKind {
    /// `void`
    Void,
    /// `_Bool`
    Bool,
    /// An integer type of C's list, plain `char` apart from `signed char`.
    Int(IntKind),
    /// A real floating type.
    Float(FloatKind),
    /// `_Complex` of a floating type.
    Complex(FloatKind),
    /// Pointer to the type.
    Pointer(Type),
    /// Array.
    Array(Type, ArrayLength),
    /// Function type.
    Function(Arc<Signature>),
    /// `struct` or `union`, defined in [`Records`] under this tag (absent there while incomplete).
    Record(Name),
    /// `enum` with this unique tag; the integer kind it is compatible with.
    Enum(Name, IntKind),
    /// GNU vector: element type and number of elements.
    Vector(Type, u32),
    /// `__builtin_va_list` (LP64: an array of one record; its content is never modelled).
    VaList,
    /// A type that could not be determined; everything about it is unknown. An error was reported.
    Error,
}

/// The length of an array type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ArrayLength {
    /// Known constant.
    Fixed(u64),
    /// `[]`: incomplete, or a flexible array member.
    Unknown,
    /// A variable length array; the length is an expression of the enclosing body (not part of the type's identity).
    Variable,
}

/// C's integer types (`_Bool` and enums apart).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "C's own names")]
pub enum IntKind {
    Char,
    SChar,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    LongLong,
    ULongLong,
    Int128,
    UInt128,
}

/// Real floating types. `_Float32x` and friends map to the one with the same format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "C's own names")]
pub enum FloatKind {
    Float16,
    Float,
    Double,
    LongDouble,
    Float128,
}

impl FloatKind {
    /// Its numbers.
    pub fn format(self) -> Format {
        match self {
            FloatKind::Float16 => Format::F16,
            FloatKind::Float => Format::F32,
            FloatKind::Double => Format::F64,
            FloatKind::LongDouble => Format::F80,
            FloatKind::Float128 => Format::F128,
        }
    }
}

/// A function's type.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Signature {
    /// Return type.
    pub result: Type,
    /// Parameter types after adjustment (arrays and functions are pointers).
    pub parameters: Vec<Type>,
    /// `...`
    pub variadic: bool,
    /// `f()` before C23: nothing is known about the parameters.
    pub unprototyped: bool,
}

/// Definitions of records, by unique tag. Tags are unique within a translation unit and stable under edits elsewhere:
/// `struct s`, `union u`; a second one in an inner scope or without a tag gets a suffix that counts within its function
/// or file (`struct s#f#1`).
pub type Records = BTreeMap<Name, Arc<Record>>;

/// A complete `struct` or `union` with its layout.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Record {
    /// Unique tag, also the key in [`Records`].
    pub tag: Name,
    /// Whether it is a union.
    pub is_union: bool,
    /// Members in order, unnamed bit-fields left out (they have no value).
    pub fields: Vec<Field>,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
}

/// A member of a record.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// Its name; an anonymous struct or union member has a unique name that no C name can have (`#0`, `#1`, …).
    pub name: Name,
    /// Its type (for a bit-field the declared type).
    pub ty: Type,
    /// Byte offset in the record; for a bit-field, of the byte that holds its first bit.
    pub offset: u64,
    /// For a bit-field: position of its lowest bit counted from bit 0 of the byte at `offset` (0..8), and width in bits.
    pub bits: Option<BitField>,
}

/// Where a bit-field lies in its bytes (little endian).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BitField {
    /// Lowest bit, from bit 0 of the byte at the field's offset: 0..8.
    pub first: u8,
    /// Width in bits, at least 1.
    pub width: u8,
}

static TABLE: LazyLock<RwLock<FxHashMap<&'static TypeData, Type>>> = LazyLock::new(Default::default);

impl Type {
    /// The unqualified type of this kind.
    pub fn new(kind: TypeKind) -> Type {
        Type::intern(TypeData { kind, qualifiers: Qualifiers::default() })
    }

    /// Interns a type.
    pub fn intern(data: TypeData) -> Type {
        if let Some(&known) = TABLE.read().get(&data) {
            return known;
        }
        let mut digest = ContentHasher::default();
        data.hash(&mut digest);
        let [digest @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = digest.content_hash().0;
        let mut table = TABLE.write();
        if let Some(&known) = table.get(&data) {
            return known;
        }
        let leaked: &'static Interned = Box::leak(Box::new(Interned { data, digest }));
        table.insert(&leaked.data, Type(leaked));
        Type(leaked)
    }

    /// Kind without qualifiers.
    pub fn kind(self) -> &'static TypeKind {
        &self.0.data.kind
    }

    /// Qualifiers of the outermost level.
    pub fn qualifiers(self) -> Qualifiers {
        self.0.data.qualifiers
    }

    /// The same kind without qualifiers.
    pub fn unqualified(self) -> Type {
        if self.qualifiers() == Qualifiers::default() { self } else { Type::new(self.kind().clone()) }
    }

    /// The same kind with `extra` qualifiers added.
    pub fn qualified(self, extra: Qualifiers) -> Type {
        let q = self.qualifiers();
        Type::intern(TypeData {
            kind: self.kind().clone(),
            qualifiers: Qualifiers {
                is_const: q.is_const || extra.is_const,
                is_volatile: q.is_volatile || extra.is_volatile,
                is_restrict: q.is_restrict || extra.is_restrict,
                is_atomic: q.is_atomic || extra.is_atomic,
            },
        })
    }

    /// `T *`
    pub fn pointer_to(self) -> Type {
        Type::new(TypeKind::Pointer(self))
    }

    /// `void`
    pub fn void() -> Type {
        Type::new(TypeKind::Void)
    }

    /// `int`
    pub fn int() -> Type {
        Type::new(TypeKind::Int(IntKind::Int))
    }

    /// What a pointer points to.
    pub fn pointee(self) -> Option<Type> {
        if let TypeKind::Pointer(inner) = self.kind() { Some(*inner) } else { None }
    }

    /// Whether a value of this type is one number or address (not a record, array, complex, vector or `void`).
    pub fn is_scalar(self) -> bool {
        matches!(
            self.kind(),
            TypeKind::Bool
                | TypeKind::Int(_)
                | TypeKind::Float(_)
                | TypeKind::Pointer(_)
                | TypeKind::Enum(..)
        )
    }

    /// Integer, `_Bool` or enum.
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), TypeKind::Bool | TypeKind::Int(_) | TypeKind::Enum(..))
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Type {}
impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // By content, as for names: hashes of what holds types mean the same in every process.
        state.write(&self.0.digest);
    }
}
impl Ord for Type {
    fn cmp(&self, other: &Type) -> Ordering {
        if self == other { Ordering::Equal } else { self.0.data.cmp(&other.0.data) }
    }
}
impl PartialOrd for Type {
    fn partial_cmp(&self, other: &Type) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.data, f)
    }
}
impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.data.serialize(serializer)
    }
}
impl<'de> Deserialize<'de> for Type {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Type, D::Error> {
        TypeData::deserialize(deserializer).map(Type::intern)
    }
}
