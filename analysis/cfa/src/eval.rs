//! Exact evaluation of operators on constants: the one meaning of arithmetic that analyses, folding and the interpreter
//! share. Must not know memory, states or abstractions. Law: `Some(v)` only if every execution that goes on computes
//! exactly `v`; `None` where C leaves the result undefined or where it is not representable here.

pub mod float;
pub mod int;

use proofline_float::Float;

use crate::{
    expr::{BinaryOp, CompareOp, Expr, UnaryOp},
    scalar::Scalar,
};

/// What a signed operation means whose result leaves its type, and a left shift of or into the sign.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Overflow {
    /// Undefined: no execution goes on.
    Undefined,
    /// Two's complement (`wrapv`).
    Wraps,
}

/// What operators depend on besides their operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Semantics {
    /// Signed overflow.
    pub overflow: Overflow,
    /// Width of a pointer.
    pub pointer_bits: u8,
}

/// A scalar value; its format is known from where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Value {
    /// Integer, in the range of its type; or the address of a pointer (null is 0).
    Int(i128),
    /// A number of its format. What is computed gives one NaN: sign and payload of a real one are not known.
    Float(Float),
}

impl Value {
    /// The integer.
    pub fn int(self) -> Option<i128> {
        if let Value::Int(value) = self { Some(value) } else { None }
    }
    /// Whether it counts as true.
    pub fn truth(self) -> bool {
        match self {
            Value::Int(value) => value != 0,
            Value::Float(value) => !value.is_zero(),
        }
    }
}

fn truth_value(truth: bool) -> Value {
    Value::Int(i128::from(truth))
}

/// `op arg`, of the format `ty`.
pub fn unary(op: UnaryOp, ty: Scalar, arg: Value, semantics: Semantics) -> Option<Value> {
    match (ty, arg) {
        (Scalar::Int(ty), Value::Int(arg)) => int::unary(op, ty, arg, semantics.overflow).map(Value::Int),
        (Scalar::Float(_), Value::Float(arg)) => float::unary(op, arg).map(Value::Float),
        _ => None,
    }
}

/// `lhs op rhs`, of the format `ty` (the format of `lhs`; for shifts `rhs` may have another).
pub fn binary(op: BinaryOp, ty: Scalar, lhs: Value, rhs: Value, semantics: Semantics) -> Option<Value> {
    match (ty, lhs, rhs) {
        (Scalar::Int(ty), Value::Int(lhs), Value::Int(rhs)) => {
            int::binary(op, ty, lhs, rhs, semantics.overflow).map(Value::Int)
        }
        (Scalar::Float(_), Value::Float(lhs), Value::Float(rhs)) => {
            float::binary(op, lhs, rhs).map(Value::Float)
        }
        _ => None,
    }
}

/// `lhs op rhs` as C compares them; pointers by address.
pub fn compare(op: CompareOp, lhs: Value, rhs: Value) -> Option<bool> {
    match (lhs, rhs) {
        (Value::Int(lhs), Value::Int(rhs)) => Some(int::compare(op, lhs, rhs)),
        (Value::Float(lhs), Value::Float(rhs)) => float::compare(op, lhs, rhs),
        _ => None,
    }
}

/// `(to)value`, where `value` has the format `from`. Pointers convert as unsigned integers of their width.
pub fn cast(from: Scalar, to: Scalar, value: Value, semantics: Semantics) -> Option<Value> {
    let address = crate::IntType { bits: semantics.pointer_bits, signed: false };
    match (value, to) {
        (Value::Int(value), Scalar::Int(to)) => int::cast(to, value).map(Value::Int),
        (Value::Int(value), Scalar::Pointer) => int::cast(address, value).map(Value::Int),
        (Value::Int(value), Scalar::Float(to)) => match from {
            Scalar::Int(_) => float::from_int(to, value).map(Value::Float),
            Scalar::Float(_) | Scalar::Pointer => None,
        },
        (Value::Float(value), Scalar::Float(to)) => float::cast(to, value).map(Value::Float),
        (Value::Float(value), Scalar::Int(to)) => float::to_int(to, value).map(Value::Int),
        (Value::Float(_), Scalar::Pointer) => None,
    }
}

/// Whether the mathematical result of `lhs op rhs` is outside `ty`.
pub fn overflows(op: BinaryOp, ty: Scalar, lhs: Value, rhs: Value) -> Option<bool> {
    match (ty, lhs, rhs) {
        (Scalar::Int(ty), Value::Int(lhs), Value::Int(rhs)) => int::overflows(op, ty, lhs, rhs),
        _ => None,
    }
}

/// Evaluates an expression. `leaf` is asked for what depends on the state: loads, addresses of objects and functions,
/// and differences of pointers whose addresses are not known (the default for those: `None`).
pub fn expr(
    expr: &Expr,
    semantics: Semantics,
    leaf: &mut dyn FnMut(&Expr) -> Option<Value>,
) -> Option<Value> {
    match expr {
        Expr::Int(value, ty) => int::representable(*ty, *value).map(Value::Int),
        Expr::Float(value) => Some(Value::Float(value.canonical())),
        Expr::Null => Some(Value::Int(0)),
        Expr::Load(_)
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => leaf(expr),
        Expr::Unary(op, arg, _) => {
            let value = self::expr(arg, semantics, leaf)?;
            unary(*op, arg.scalar(), value, semantics)
        }
        Expr::Binary(op, lhs, rhs, _) => {
            let ty = lhs.scalar();
            let (lhs, rhs) = (self::expr(lhs, semantics, leaf)?, self::expr(rhs, semantics, leaf)?);
            binary(*op, ty, lhs, rhs, semantics)
        }
        Expr::Compare(op, lhs, rhs) => {
            let (lhs, rhs) = (self::expr(lhs, semantics, leaf)?, self::expr(rhs, semantics, leaf)?);
            compare(*op, lhs, rhs).map(truth_value)
        }
        Expr::Cast(to, arg, _) => {
            let value = self::expr(arg, semantics, leaf)?;
            cast(arg.scalar(), *to, value, semantics)
        }
        Expr::Overflows(op, lhs, rhs) => {
            let ty = lhs.scalar();
            let (lhs, rhs) = (self::expr(lhs, semantics, leaf)?, self::expr(rhs, semantics, leaf)?);
            overflows(*op, ty, lhs, rhs).map(truth_value)
        }
    }
}

/// The value of an expression that depends on no state.
pub fn constant(expr: &Expr, semantics: Semantics) -> Option<Value> {
    self::expr(expr, semantics, &mut |_| None)
}
