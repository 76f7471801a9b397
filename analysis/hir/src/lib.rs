//! Meaning: from a syntax tree to typed, resolved, position-free C. Must not know automata or analyses.
//!
//! [`Module`] is a translation unit; [`ModuleMap`] beside it holds the positions.

pub mod body;
pub mod consteval;
mod content_hash;
mod float;
mod index;
pub mod integer;
pub mod layout;
mod lower;
pub mod module;
mod name;
pub mod print;
pub mod types;
pub mod verify;

pub use content_hash::{ContentHash, ContentHasher};
pub use lower::{HirError, Lowered, lower};
pub use module::{
    Dialect, Enumerations, Function, FunctionAttributes, Global, Linkage, Module, ModuleMap, StringLiteral,
};
pub use name::Name;
pub use types::{Record, Records, Type, TypeKind};
