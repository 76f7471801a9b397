//! A linked program: automata by name, global objects with their initial bytes, records. What analyses run on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_hir::{Linkage, Name, Records, Type};
use proofline_syntax::DataModel;
use serde::{Deserialize, Serialize};

use crate::{
    Entry, MONITOR,
    callable::may_be_called,
    function::{Function, Loc},
    scalar::{IntType, Scalar},
    types::{Types, is_read_only},
};

/// A whole program or library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Sizes of C's types.
    pub data_model: DataModel,
    /// Layouts by tag.
    pub records: Records,
    /// Objects with static storage (string literals included), by name.
    pub globals: BTreeMap<Name, Arc<Global>>,
    /// Functions with bodies, by name.
    pub functions: BTreeMap<Name, Arc<Function>>,
    /// Functions that are declared but have no body here: their types.
    pub externals: BTreeMap<Name, Type>,
    /// Of a part of a program: objects that functions elsewhere in it read and write by name, too, though none of them has their address.
    pub shared: BTreeSet<Name>,
    /// What makes every verdict about the program unknown (threads, for instance), with the function that does it.
    pub unsupported: Vec<(Name, Name)>,
}

/// An object with static storage.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Global {
    /// Unique in the program.
    pub name: Name,
    /// C type.
    pub ty: Type,
    /// Bytes; 0 if unknown.
    pub size: u64,
    /// Whether code outside the program can name it.
    pub linkage: Linkage,
    /// Defined here: starts with its initial value (zero where `init` is silent). Otherwise `extern`: any value at entry.
    pub defined: bool,
    /// Never written after its initialisation (declared const throughout).
    pub constant: bool,
    /// Initial values of its scalars that are not zero, by offset, not overlapping.
    pub init: Vec<InitialValue>,
    /// Objects and functions whose addresses are in what was not computed of its initial value, by name.
    pub hidden: Vec<Name>,
}

/// An initial scalar.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InitialValue {
    /// Bytes from the start.
    pub offset: u64,
    /// Format.
    pub scalar: Scalar,
    /// For a bit-field.
    pub bits: Option<proofline_hir::types::BitField>,
    /// Value.
    pub value: Constant,
}

impl Global {
    /// Whether it is the object of a string literal.
    pub fn is_literal(&self) -> bool {
        self.name.contains('"')
    }

    /// Whether it has its initial value where executions start. What is called in the middle of a program finds what runs before have left, but in
    /// what nothing writes, and in variables of monitors, which begin to watch there.
    pub fn keeps_initial(&self, entry: Entry) -> bool {
        self.defined && (!entry.is_library() || self.constant || self.name.starts_with(MONITOR))
    }
}

impl InitialValue {
    /// Bytes that it touches, from its offset on.
    pub fn bytes(&self, types: Types<'_>) -> u64 {
        match self.bits {
            Some(bits) => (u64::from(bits.first) + u64::from(bits.width)).div_ceil(8),
            None => types.size(types.of_scalar(self.scalar)).unwrap_or(1),
        }
    }

    /// Occupied bits `start..end` of the object.
    pub fn bit_range(&self, types: Types<'_>) -> (u64, u64) {
        match self.bits {
            Some(bits) => {
                let start = self.offset * 8 + u64::from(bits.first);
                (start, start + u64::from(bits.width))
            }
            None => (self.offset * 8, (self.offset + self.bytes(types)) * 8),
        }
    }
}

/// A constant known before the program starts.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Constant {
    /// Integer.
    Int(i128),
    /// Floating.
    Float(proofline_float::Float),
    /// Address inside a global.
    Address(Name, i64),
    /// Function.
    Function(Name),
    /// Not computed: any value.
    Unknown,
}

/// An object, as analyses name it: all activations of a local and all allocations of a site are one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Object {
    /// Static storage.
    Global(Name),
    /// A local of a function (any activation).
    Local(Name, crate::LocalId),
    /// What an allocation site of a function allocates.
    Heap(Name, crate::Site),
    /// Memory the program text does not name: what unknown callers and callees own.
    External,
}

/// A place in the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Place {
    /// Function.
    pub function: Name,
    /// Location.
    pub loc: Loc,
}

impl Program {
    /// With nothing in it.
    pub fn empty(data_model: DataModel) -> Program {
        Program {
            data_model,
            records: Records::new(),
            globals: BTreeMap::new(),
            functions: BTreeMap::new(),
            externals: BTreeMap::new(),
            shared: BTreeSet::new(),
            unsupported: Vec::new(),
        }
    }
    /// The function with a body.
    pub fn function(&self, name: Name) -> Option<&Arc<Function>> {
        self.functions.get(&name)
    }
    /// Whether the object must not be written: a string literal, or declared `const`.
    pub fn is_read_only(&self, object: Object) -> bool {
        match object {
            Object::Global(name) => {
                self.globals.get(&name).is_some_and(|global| global.is_literal() || is_read_only(global.ty))
            }
            Object::Local(function, id) => {
                let function = self.functions.get(&function);
                function.is_some_and(|function| is_read_only(function.local(id).ty))
            }
            Object::Heap(..) | Object::External => false,
        }
    }

    /// Whether a function may be called as `called` with so many arguments; `None`: it is not known here.
    pub fn may_call(&self, function: Name, called: Type, arguments: usize) -> Option<bool> {
        let ty = match self.functions.get(&function) {
            Some(function) => function.ty,
            None => *self.externals.get(&function)?,
        };
        let types = Types { records: &self.records, model: self.data_model };
        Some(may_be_called(ty, called, arguments, types))
    }

    /// Width of pointers, `size_t` and `long` in bits.
    pub fn pointer_bits(&self) -> u8 {
        match self.data_model {
            DataModel::Lp64 => 64,
            DataModel::Ilp32 => 32,
        }
    }
    /// `size_t`
    pub fn size_type(&self) -> IntType {
        IntType { bits: self.pointer_bits(), signed: false }
    }
    /// Bytes that a scalar of the format occupies in memory.
    pub fn scalar_bytes(&self, scalar: Scalar) -> u64 {
        use crate::FloatType;
        match (scalar, self.data_model) {
            (Scalar::Int(ty), _) => ty.bytes().next_power_of_two(),
            (Scalar::Pointer, _) => u64::from(self.pointer_bits() / 8),
            (Scalar::Float(FloatType::F16), _) => 2,
            (Scalar::Float(FloatType::F32), _) => 4,
            (Scalar::Float(FloatType::F64), _) => 8,
            (Scalar::Float(FloatType::F80), DataModel::Ilp32) => 12,
            (Scalar::Float(FloatType::F80 | FloatType::F128), _) => 16,
        }
    }
}
