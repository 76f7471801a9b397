//! Expressions without where they are in the text: which two mean the same. Knows no values.

use std::sync::Arc;

use super::expr::{Base, Expr, Lvalue, Site, Step};

/// The expression as if it were nowhere in the text.
#[must_use]
pub fn without_sites(expr: &Expr) -> Expr {
    let plain = |expr: &Arc<Expr>| Arc::new(without_sites(expr));
    match expr {
        Expr::Unary(op, arg, _) => Expr::Unary(*op, plain(arg), Site::NOWHERE),
        Expr::Binary(op, lhs, rhs, _) => Expr::Binary(*op, plain(lhs), plain(rhs), Site::NOWHERE),
        Expr::Cast(to, arg, _) => Expr::Cast(*to, plain(arg), Site::NOWHERE),
        Expr::Compare(op, lhs, rhs) => Expr::Compare(*op, plain(lhs), plain(rhs)),
        Expr::PointerDifference(lhs, rhs, stride, ty) => {
            Expr::PointerDifference(plain(lhs), plain(rhs), *stride, *ty)
        }
        Expr::Overflows(op, lhs, rhs) => Expr::Overflows(*op, plain(lhs), plain(rhs)),
        Expr::Memory(predicate, lhs, rhs) => Expr::Memory(*predicate, plain(lhs), plain(rhs)),
        Expr::Load(lvalue) => Expr::Load(place_without_sites(lvalue)),
        Expr::Address(lvalue) => Expr::Address(place_without_sites(lvalue)),
        Expr::Int(..) | Expr::Float(_) | Expr::Null | Expr::Function(_) => expr.clone(),
    }
}

/// The place as if it were nowhere in the text.
#[must_use]
pub fn place_without_sites(lvalue: &Lvalue) -> Lvalue {
    let plain = |expr: &Arc<Expr>| Arc::new(without_sites(expr));
    let base = match &lvalue.base {
        Base::Deref(pointer, _) => Base::Deref(plain(pointer), Site::NOWHERE),
        base @ (Base::Local(_) | Base::Global(_)) => base.clone(),
    };
    let path = lvalue.path.iter().map(|step| match step {
        Step::Index { index, stride, length, .. } => {
            Step::Index { index: plain(index), stride: *stride, length: *length, site: Site::NOWHERE }
        }
        step @ Step::Field { .. } => step.clone(),
    });
    Lvalue { base, path: path.collect(), ..lvalue.clone() }
}

/// Whether two places are written alike, wherever in the text: then they are one where nothing has changed between.
#[must_use]
pub fn is_same_place(a: &Lvalue, b: &Lvalue) -> bool {
    let is_same_base = match (&a.base, &b.base) {
        (Base::Deref(a, _), Base::Deref(b, _)) => is_same(a, b),
        (Base::Local(a), Base::Local(b)) => a == b,
        (Base::Global(a), Base::Global(b)) => a == b,
        (Base::Deref(..) | Base::Local(_) | Base::Global(_), _) => false,
    };
    let is_same_step = |(a, b): (&Step, &Step)| match (a, b) {
        (Step::Index { index: a, stride: by, .. }, Step::Index { index: b, stride, .. }) => {
            by == stride && is_same(a, b)
        }
        (Step::Field { offset: a, .. }, Step::Field { offset: b, .. }) => a == b,
        (Step::Index { .. } | Step::Field { .. }, _) => false,
    };
    is_same_base
        && (a.scalar, a.bits, a.size) == (b.scalar, b.bits, b.size)
        && a.path.len() == b.path.len()
        && a.path.iter().zip(&b.path).all(is_same_step)
}

/// Whether two expressions are written alike, wherever in the text.
fn is_same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Load(a), Expr::Load(b)) | (Expr::Address(a), Expr::Address(b)) => is_same_place(a, b),
        (Expr::Cast(to, a, _), Expr::Cast(other, b, _)) => to == other && is_same(a, b),
        (Expr::Unary(op, a, _), Expr::Unary(other, b, _)) => op == other && is_same(a, b),
        (Expr::Binary(op, a, x, _), Expr::Binary(other, b, y, _)) => {
            op == other && is_same(a, b) && is_same(x, y)
        }
        (Expr::Compare(op, a, x), Expr::Compare(other, b, y)) => {
            op == other && is_same(a, b) && is_same(x, y)
        }
        (Expr::Overflows(op, a, x), Expr::Overflows(other, b, y)) => {
            op == other && is_same(a, b) && is_same(x, y)
        }
        (Expr::Memory(predicate, a, x), Expr::Memory(other, b, y)) => {
            predicate == other && is_same(a, b) && is_same(x, y)
        }
        (Expr::PointerDifference(a, x, stride, kind), Expr::PointerDifference(b, y, by, other)) => {
            stride == by && kind == other && is_same(a, b) && is_same(x, y)
        }
        (a @ (Expr::Int(..) | Expr::Float(_) | Expr::Null | Expr::Function(_)), b) => a == b,
        (
            Expr::Load(_)
            | Expr::Address(_)
            | Expr::Cast(..)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::Overflows(..)
            | Expr::Memory(..)
            | Expr::PointerDifference(..),
            _,
        ) => false,
    }
}
