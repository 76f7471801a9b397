//! Operations of integers whose result no argument has a say in (`x - x`, `x * 0`, `x % 1`, `x == x`), or one alone (`x + 0`). (A floating number may be none.)

use std::sync::Arc;

use proofline_cfa::{BinaryOp, CompareOp, Expr, IntType, Scalar, Site};

/// `a op b`.
pub(super) fn binary(op: BinaryOp, a: Arc<Expr>, b: Arc<Expr>, site: Site) -> Expr {
    let is = |expr: &Expr, number: i128| matches!(expr, Expr::Int(value, _) if *value == number);
    let is_zero = match op {
        BinaryOp::Sub | BinaryOp::BitXor => a == b,
        BinaryOp::Mul | BinaryOp::BitAnd => is(&a, 0) || is(&b, 0),
        BinaryOp::Rem => is(&b, 1),
        BinaryOp::Add | BinaryOp::BitOr | BinaryOp::Div | BinaryOp::Shl | BinaryOp::Shr => false,
    };
    match a.scalar() {
        Scalar::Int(ty) if is_zero => Expr::Int(0, ty),
        Scalar::Int(_) if matches!(op, BinaryOp::Add | BinaryOp::Sub) && is(&b, 0) => Arc::unwrap_or_clone(a),
        Scalar::Int(_) if op == BinaryOp::Add && is(&a, 0) => Arc::unwrap_or_clone(b),
        Scalar::Int(_) | Scalar::Float(_) | Scalar::Pointer => Expr::Binary(op, a, b, site),
    }
}

/// `a op b`, 0 or 1. That a comparison is 0, or not, is a comparison.
pub(super) fn compare(op: CompareOp, a: Arc<Expr>, b: Arc<Expr>) -> Expr {
    match (op, &*a, &*b) {
        (CompareOp::Eq, Expr::Compare(..), Expr::Int(0, _)) => return a.negated(),
        (CompareOp::Ne, Expr::Compare(..), Expr::Int(0, _)) => return Arc::unwrap_or_clone(a),
        _ => {}
    }
    let order = match (&*a, &*b) {
        (Expr::Int(a, _), Expr::Int(b, _)) => Some(a.cmp(b)),
        (a, b) if a == b && matches!(a.scalar(), Scalar::Int(_)) => Some(std::cmp::Ordering::Equal),
        _ => None,
    };
    let Some(order) = order else { return Expr::Compare(op, a, b) };
    let holds = match op {
        CompareOp::Eq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
    };
    Expr::Int(i128::from(holds), IntType::INT)
}
