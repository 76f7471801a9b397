//! Strings that the program does not name: those behind `argv` and `envp`, and those that library functions keep (`getenv`, `strerror`).
//! One name stands for all of a kind. Its address is that of any of these strings, or of a place in one at or before its end: the rest of a
//! string is a string. So two such addresses need not be equal, and their distance says nothing.

use proofline_hir::{
    Linkage, Name, Type, TypeKind,
    types::{ArrayLength, IntKind},
};

use crate::{Global, Object};

/// What elements of `argv` and `envp` point to.
pub const ARGUMENTS: &str = "#arguments";
/// What library functions keep. Nothing but the library may write there (C11 7.22.4.6, 7.24.6.2).
pub const LIBRARY: &str = "#texts";

/// Whether the object stands for strings that the program does not name.
pub fn is_text(object: Object) -> bool {
    matches!(object, Object::Global(name) if matches!(name.as_str(), ARGUMENTS | LIBRARY))
}

/// The object behind one of the names.
pub fn object(name: &str) -> Global {
    Global {
        name: Name::new(name),
        ty: Type::new(TypeKind::Array(Type::new(TypeKind::Int(IntKind::Char)), ArrayLength::Unknown)),
        size: 0,
        linkage: Linkage::Internal,
        defined: false,
        constant: false,
        init: Vec::new(),
        hidden: Vec::new(),
    }
}
