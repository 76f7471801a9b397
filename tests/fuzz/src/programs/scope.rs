//! The names a piece of a generated program can use.

use super::types::Int;

/// A named thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A scalar variable.
    Scalar(Int),
    /// A volatile variable; pointers to it would have to say so.
    Volatile(Int),
    /// An array.
    Array(Int, usize),
    /// A record of the type with that number.
    Record(usize),
    /// Two or more records.
    Records(usize, usize),
    /// A pointer to a scalar; never null unless `maybe_null`.
    Pointer { to: Int, maybe_null: bool },
    /// A pointer to the first of at least so many elements.
    ArrayPointer(Int, usize),
    /// A pointer to a record.
    RecordPointer(usize),
    /// A pointer to `int (int, unsigned)`.
    Handler,
}

/// A name in scope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Assignments to it, and to things through it, are allowed.
    pub(crate) writable: bool,
    /// 0 for what lives as long as the program, else the number of open blocks.
    pub(crate) depth: usize,
}

/// A field of a record: name, type, length of an array, width of a bit-field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Int,
    pub(crate) length: Option<usize>,
    pub(crate) width: Option<u32>,
}

/// A record type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) is_union: bool,
    pub(crate) fields: Vec<Field>,
}

/// An lvalue of scalar type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) text: String,
    pub(crate) ty: Int,
    /// Width of a bit-field.
    pub(crate) width: Option<u32>,
    pub(crate) addressable: bool,
    /// Its text has no operand that changes from one visit to another by itself.
    pub(crate) is_steady: bool,
}
