//! Small expressions over numbers of bytes, all of them `uint64_t`, which wrap as addresses do. Knows no pointers.

use std::sync::Arc;

use proofline_cfa::{BinaryOp, CompareOp, Expr, IntType, LocalId, Lvalue, Scalar, Site, Type};
use proofline_hir::{TypeKind, types::IntKind};

/// The type of numbers of bytes.
pub(super) const BYTES: IntType = IntType { bits: 64, signed: false };

/// No object is larger, so larger numbers are negative ones.
pub(super) const MOST: i128 = 1 << 62;

pub(super) fn bytes_type() -> Type {
    Type::new(TypeKind::Int(IntKind::ULongLong))
}

pub(super) fn number(value: i128) -> Expr {
    Expr::Int(BYTES.wrap(value), BYTES)
}

/// A local that holds a number of bytes.
pub(super) fn local(id: LocalId) -> Lvalue {
    Lvalue::local(id, bytes_type(), Scalar::Int(BYTES), 8)
}

pub(super) fn load(id: LocalId) -> Expr {
    Expr::Load(local(id))
}

/// An integer of any type as a number of bytes.
pub(super) fn widened(expr: &Expr) -> Expr {
    match expr {
        Expr::Int(value, _) => number(*value),
        _ if expr.int_type() == Some(BYTES) => expr.clone(),
        _ => Expr::Cast(Scalar::Int(BYTES), Arc::new(expr.clone()), Site::NOWHERE),
    }
}

fn binary(op: BinaryOp, lhs: Expr, rhs: Expr) -> Expr {
    Expr::Binary(op, Arc::new(lhs), Arc::new(rhs), Site::NOWHERE)
}

/// `lhs + by`
pub(super) fn plus(lhs: Expr, by: i128) -> Expr {
    match (lhs, by) {
        (lhs, 0) => lhs,
        (Expr::Int(value, _), by) => number(value + by),
        (lhs, by) if by < 0 => binary(BinaryOp::Sub, lhs, number(-by)),
        (lhs, by) => binary(BinaryOp::Add, lhs, number(by)),
    }
}

pub(super) fn sum(lhs: Expr, rhs: Expr) -> Expr {
    match (lhs, rhs) {
        (Expr::Int(0, _), other) | (other, Expr::Int(0, _)) => other,
        (lhs, rhs) => binary(BinaryOp::Add, lhs, rhs),
    }
}

pub(super) fn difference(lhs: Expr, rhs: Expr) -> Expr {
    match (lhs, rhs) {
        (lhs, Expr::Int(0, _)) => lhs,
        (Expr::Int(a, _), Expr::Int(b, _)) => number(a - b),
        (lhs, rhs) => binary(BinaryOp::Sub, lhs, rhs),
    }
}

pub(super) fn times(lhs: Expr, by: u64) -> Expr {
    match (lhs, by) {
        (lhs, 1) => lhs,
        (Expr::Int(value, _), by) => number(value * i128::from(by)),
        (lhs, by) => binary(BinaryOp::Mul, lhs, number(i128::from(by))),
    }
}

/// The product of two numbers as a mathematical number; `None`: no type of 64 bits has them all.
pub(super) fn product(lhs: &Expr, rhs: &Expr) -> Option<Expr> {
    let (left, right) = (lhs.int_type()?, rhs.int_type()?);
    let is_short = left.bits <= 32 && right.bits <= 32;
    let ty = IntType { bits: 64, signed: left.signed || right.signed };
    let wide = |expr: &Expr| Arc::new(Expr::Cast(Scalar::Int(ty), Arc::new(expr.clone()), Site::NOWHERE));
    is_short.then(|| Expr::Binary(BinaryOp::Mul, wide(lhs), wide(rhs), Site::NOWHERE))
}

/// `lhs <= rhs`
pub(super) fn at_most(lhs: Expr, rhs: Expr) -> Expr {
    compare(CompareOp::Le, lhs, rhs)
}

pub(super) fn compare(op: CompareOp, lhs: Expr, rhs: Expr) -> Expr {
    if let (CompareOp::Le, Expr::Int(a, _), Expr::Int(b, _)) = (op, &lhs, &rhs) {
        return truth(a <= b);
    }
    Expr::Compare(op, Arc::new(lhs), Arc::new(rhs))
}

pub(super) fn truth(holds: bool) -> Expr {
    Expr::int(i128::from(holds))
}

/// Both, of conditions that are 0 or 1.
pub(super) fn and(lhs: Expr, rhs: Expr) -> Expr {
    match (lhs, rhs) {
        (Expr::Int(0, _), _) | (_, Expr::Int(0, _)) => truth(false),
        (Expr::Int(..), other) | (other, Expr::Int(..)) => other,
        (lhs, rhs) => binary(BinaryOp::BitAnd, lhs, rhs),
    }
}

/// One of them, of conditions that are 0 or 1.
pub(super) fn or(lhs: Expr, rhs: Expr) -> Expr {
    match (lhs, rhs) {
        (Expr::Int(0, _), other) | (other, Expr::Int(0, _)) => other,
        (Expr::Int(..), _) | (_, Expr::Int(..)) => truth(true),
        (lhs, rhs) => binary(BinaryOp::BitOr, lhs, rhs),
    }
}

pub(super) fn is_null(pointer: &Expr) -> Expr {
    Expr::Compare(CompareOp::Eq, Arc::new(pointer.clone()), Arc::new(Expr::Null))
}

pub(super) fn is_not_null(pointer: &Expr) -> Expr {
    Expr::Compare(CompareOp::Ne, Arc::new(pointer.clone()), Arc::new(Expr::Null))
}
