//! Expressions on edges: free of side effects, fully typed, every conversion explicit. `&&`, `||`, `?:`, calls,
//! increments and assignments are gone (they are edges). Position-free: a [`Site`] names a place that the map knows.
//!
//! An expression is total except where C says it is undefined; there an obligation stands before the edge, and analyses
//! may assume that it holds.

use std::sync::Arc;

use proofline_hir::{Name, Type, index, types::BitField};
use serde::{Deserialize, Serialize};

pub use proofline_hir::body::{BinaryOp, CompareOp};

use proofline_float::Float;

use crate::{
    memory::MemoryPredicate,
    scalar::{IntType, Scalar},
};

index! {
    /// A place in the function's text, known to the map. Numbered in the order of lowering.
    pub Site "@",
    /// A local object of a function: return slot, parameter, variable, temporary.
    pub LocalId "%",
}

impl Site {
    /// No place in the text: of what holds without being written there.
    pub const NOWHERE: Site = Site(u32::MAX);

    /// Set in sites beside others.
    const BESIDE: u32 = 1 << 30;

    /// A second site at the same place in the text, which the map does not list: `realloc` allocates twice.
    #[must_use]
    pub fn beside(self) -> Site {
        Site(self.0 | Site::BESIDE)
    }

    /// Whether it is such a second site.
    pub fn is_beside(self) -> bool {
        self != Site::NOWHERE && self.0 & Site::BESIDE != 0
    }

    /// The site in the map that says where it is.
    #[must_use]
    pub fn in_map(self) -> Site {
        if self == Site::NOWHERE { self } else { Site(self.0 & !Site::BESIDE) }
    }
}

/// A value without side effects.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Expr {
    /// An integer in the range of its type (`unsigned __int128`: modulo 2^128 as `i128`).
    Int(i128, IntType),
    /// A floating constant. Constants that compilers may compute otherwise are havocked temporaries.
    Float(Float),
    /// The null pointer.
    Null,
    /// Reads a scalar. Of a bit-field: its value. Of a volatile object: lowering puts the value into a
    /// temporary, and a havoc behind it.
    Load(Lvalue),
    /// Address of an object or of a part of it (arrays decay to this; pointer arithmetic is this with an `Index` step).
    Address(Lvalue),
    /// Address of a function.
    Function(Name),
    /// `-x`, `~x`; `!x` is `x == 0`.
    Unary(UnaryOp, Arc<Expr>, Site),
    /// Both operands have the result's type (shifts: the left one has). Signed results out of range are undefined: an obligation stands
    /// before; with two's complement semantics asked for, they wrap. Unsigned results wrap. Division truncates toward zero.
    Binary(BinaryOp, Arc<Expr>, Arc<Expr>, Site),
    /// Operands of one type; result `int` 0 or 1. Pointers compare as addresses.
    Compare(CompareOp, Arc<Expr>, Arc<Expr>),
    /// Conversion to the type: integers wrap (`_Bool` targets are lowered to `!= 0`), pointers to and from integers keep
    /// their bits, integers and floats round.
    Cast(Scalar, Arc<Expr>, Site),
    /// `int` 1 iff the operation's mathematical result is outside the type of its operands (for `Sub` with a zero left
    /// operand this is negation; `Div`, `Rem`: the quotient). Only in conditions of obligations and overflow builtins.
    Overflows(BinaryOp, Arc<Expr>, Arc<Expr>),
    /// `int` 1 iff so many bytes (of `size_t`; see the predicate) from the pointer on are what it says. Only in conditions of obligations.
    Memory(MemoryPredicate, Arc<Expr>, Arc<Expr>),
    /// Distance of two pointers into one array, in units of `stride` bytes; of the model's `ptrdiff_t`.
    PointerDifference(Arc<Expr>, Arc<Expr>, u64, IntType),
}

/// Unary operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum UnaryOp {
    /// `-x`
    Negate,
    /// `~x`
    BitNot,
}

/// Designates an object or a part of one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lvalue {
    /// The object.
    pub base: Base,
    /// Into the object.
    pub path: Vec<Step>,
    /// C type of what is designated (for a bit-field its declared type).
    pub ty: Type,
    /// Format of a read, when it is a scalar; `None` for aggregates. For a bit-field of width w: the declared integer's type
    /// (its value is always in the range of w bits).
    pub scalar: Option<Scalar>,
    /// When it is a bit-field.
    pub bits: Option<BitField>,
    /// Size in bytes of what is designated (of a bit-field: of the bytes it touches). 0 if unknown (incomplete or variable).
    pub size: u64,
}

/// Where an lvalue starts.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Base {
    /// A local of this activation.
    Local(LocalId),
    /// An object with static storage, string literals included.
    Global(Name),
    /// What a pointer points to.
    Deref(Arc<Expr>, Site),
}

/// A step into an object; every step knows its bytes, so that layouts need not be looked up.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Step {
    /// A member.
    Field {
        /// Tag of its record.
        record: Name,
        /// Its name.
        name: Name,
        /// Bytes from the record's start.
        offset: u64,
    },
    /// An element: of an array, or of the array a pointer points into (then the length is unknown here).
    Index {
        /// Any integer type, as written.
        index: Arc<Expr>,
        /// Bytes per element.
        stride: u64,
        /// Number of elements, when the type says.
        length: Option<u64>,
        /// Where.
        site: Site,
    },
}

impl Expr {
    /// An `int`.
    pub fn int(value: i128) -> Expr {
        Expr::Int(value, IntType::INT)
    }

    /// Format of the value.
    pub fn scalar(&self) -> Scalar {
        match self {
            Expr::Int(_, ty) => Scalar::Int(*ty),
            Expr::Float(value) => Scalar::Float(value.format()),
            Expr::Null | Expr::Address(_) | Expr::Function(_) => Scalar::Pointer,
            // An aggregate is never loaded; the checker says so. Pointer is the answer that assumes least.
            Expr::Load(lvalue) => lvalue.scalar.unwrap_or(Scalar::Pointer),
            Expr::Unary(_, arg, _) => arg.scalar(),
            Expr::Binary(_, lhs, _, _) => lhs.scalar(),
            Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) => Scalar::Int(IntType::INT),
            Expr::Cast(to, _, _) => *to,
            Expr::PointerDifference(_, _, _, ty) => Scalar::Int(*ty),
        }
    }

    /// The integer format, if it is one.
    pub fn int_type(&self) -> Option<IntType> {
        if let Scalar::Int(ty) = self.scalar() { Some(ty) } else { None }
    }

    /// Negation of a truth value: comparisons are turned around (not for floats, where NaN forbids it), others become `== 0`.
    pub fn negated(&self) -> Expr {
        if let Expr::Compare(op, lhs, rhs) = self {
            let float = matches!(lhs.scalar(), Scalar::Float(_));
            let turned = match op {
                CompareOp::Eq => Some(CompareOp::Ne),
                CompareOp::Ne => Some(CompareOp::Eq),
                CompareOp::Lt if !float => Some(CompareOp::Ge),
                CompareOp::Le if !float => Some(CompareOp::Gt),
                CompareOp::Gt if !float => Some(CompareOp::Le),
                CompareOp::Ge if !float => Some(CompareOp::Lt),
                CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => None,
            };
            if let Some(op) = turned {
                return Expr::Compare(op, lhs.clone(), rhs.clone());
            }
        }
        Expr::Compare(CompareOp::Eq, Arc::new(self.clone()), Arc::new(self.zero()))
    }

    /// Zero of this expression's format.
    pub fn zero(&self) -> Expr {
        match self.scalar() {
            Scalar::Int(ty) => Expr::Int(0, ty),
            Scalar::Float(ty) => Expr::Float(Float::zero(ty)),
            Scalar::Pointer => Expr::Null,
        }
    }
}

impl Lvalue {
    /// A whole scalar local.
    pub fn local(id: LocalId, ty: Type, scalar: Scalar, size: u64) -> Lvalue {
        Lvalue { base: Base::Local(id), path: Vec::new(), ty, scalar: Some(scalar), bits: None, size }
    }
}
