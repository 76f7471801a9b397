//! Constructors of expressions that compute constants where C defines the result. Law: the value is unchanged, and a
//! subexpression that C may leave undefined is never dropped.

use std::sync::Arc;

use proofline_cfa::{
    Base, BinaryOp, CompareOp, Expr, IntType, Lvalue, Scalar, Site, Step, UnaryOp,
    eval::{self, Overflow, Semantics, Value},
};

/// Signed overflow is never folded, and the width matters only for addresses, which are not folded.
const SEMANTICS: Semantics = Semantics { overflow: Overflow::Undefined, pointer_bits: 64 };

fn folded(expr: Expr) -> Expr {
    match (eval::constant(&expr, SEMANTICS), expr.scalar()) {
        (Some(Value::Int(value)), Scalar::Int(ty)) => Expr::Int(value, ty),
        (Some(Value::Float(value)), Scalar::Float(_)) => Expr::Float(value),
        _ => expr,
    }
}

fn is_int(expr: &Expr) -> bool {
    matches!(expr, Expr::Int(..))
}

/// `op arg`
pub(crate) fn unary(op: UnaryOp, arg: Expr, site: Site) -> Expr {
    let fold = is_int(&arg);
    let expr = Expr::Unary(op, Arc::new(arg), site);
    if fold { folded(expr) } else { expr }
}

/// `lhs op rhs`
pub(crate) fn binary(op: BinaryOp, lhs: Expr, rhs: Expr, site: Site) -> Expr {
    let fold = is_int(&lhs) && is_int(&rhs);
    let expr = Expr::Binary(op, Arc::new(lhs), Arc::new(rhs), site);
    if fold { folded(expr) } else { expr }
}

/// `lhs op rhs`
pub(crate) fn compare(op: CompareOp, lhs: Expr, rhs: Expr) -> Expr {
    let nulls = matches!((&lhs, &rhs), (Expr::Null, Expr::Null));
    let fold = is_int(&lhs) && is_int(&rhs) || nulls;
    let expr = Expr::Compare(op, Arc::new(lhs), Arc::new(rhs));
    if fold { folded(expr) } else { expr }
}

/// `(to)arg`, not for `_Bool`.
pub(crate) fn cast(to: Scalar, arg: Expr, site: Site) -> Expr {
    if arg.scalar() == to {
        return arg;
    }
    match (&arg, to) {
        (Expr::Int(0, _), Scalar::Pointer) => Expr::Null,
        (Expr::Null, Scalar::Int(ty)) => Expr::Int(0, ty),
        (Expr::Int(..), Scalar::Int(_) | Scalar::Float(_)) => folded(Expr::Cast(to, Arc::new(arg), site)),
        // `(int *)(intptr_t)p` of the full width keeps the pointer.
        _ => Expr::Cast(to, Arc::new(arg), site),
    }
}

/// `arg != 0` as `int`.
pub(crate) fn truth(arg: Expr) -> Expr {
    if matches!(arg, Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..)) {
        return arg;
    }
    let zero = arg.zero();
    compare(CompareOp::Ne, arg, zero)
}

/// The same truth without conversions of it: `(_Bool)(x != 0)` is `x != 0`.
pub(crate) fn condition(arg: Expr) -> Expr {
    match arg {
        Expr::Cast(Scalar::Int(_), inner, _) if is_truth(&inner) && !matches!(*inner, Expr::Load(_)) => {
            condition(Expr::clone(&inner))
        }
        Expr::Compare(CompareOp::Ne, inner, zero) if is_truth(&inner) && matches!(*zero, Expr::Int(0, _)) => {
            condition(Expr::clone(&inner))
        }
        _ => arg,
    }
}

/// `arg == 0` as `int`.
pub(crate) fn not(arg: Expr) -> Expr {
    if is_int(&arg) || matches!(arg, Expr::Null) {
        let zero = arg.zero();
        return compare(CompareOp::Eq, arg, zero);
    }
    arg.negated()
}

/// `(_Bool)arg`
pub(crate) fn to_bool(arg: Expr, site: Site) -> Expr {
    if arg.scalar() == Scalar::Int(IntType::BOOL) && is_truth(&arg) {
        return arg;
    }
    cast(Scalar::Int(IntType::BOOL), truth(arg), site)
}

/// Whether the value is known to be 0 or 1.
fn is_truth(arg: &Expr) -> bool {
    match arg {
        Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) => true,
        Expr::Int(value, _) => (0..=1).contains(value),
        Expr::Cast(_, inner, _) => is_truth(inner),
        // `unsigned char` has the format of `_Bool` but not its values.
        Expr::Load(lvalue) => matches!(lvalue.ty.kind(), proofline_hir::TypeKind::Bool),
        _ => false,
    }
}

/// `&lvalue`; `&*p` is `p`.
pub(crate) fn address(lvalue: Lvalue) -> Expr {
    match &lvalue.base {
        Base::Deref(pointer, _) if lvalue.path.is_empty() => Expr::clone(pointer),
        _ => Expr::Address(lvalue),
    }
}

/// Whether its evaluation can be undefined (so that it must be evaluated where it stands, used or not).
pub(crate) fn is_partial(expr: &Expr) -> bool {
    match expr {
        Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => false,
        Expr::Load(lvalue) => lvalue_is_partial(lvalue),
        // Forming an address: only indices matter.
        Expr::Address(lvalue) => match &lvalue.base {
            Base::Deref(pointer, _) => is_partial(pointer) || !lvalue.path.is_empty(),
            Base::Local(_) | Base::Global(_) => lvalue_is_partial(lvalue),
        },
        Expr::Unary(op, arg, _) => {
            is_partial(arg) || (*op == UnaryOp::Negate && arg.int_type().is_some_and(|ty| ty.signed))
        }
        Expr::Binary(op, lhs, rhs, _) => {
            let undefined = match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => lhs.int_type().is_some_and(|ty| ty.signed),
                BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr => lhs.int_type().is_some(),
                BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => false,
            };
            undefined || is_partial(lhs) || is_partial(rhs)
        }
        Expr::Compare(_, lhs, rhs)
        | Expr::Overflows(_, lhs, rhs)
        | Expr::Memory(_, lhs, rhs)
        | Expr::PointerDifference(lhs, rhs, _, _) => is_partial(lhs) || is_partial(rhs),
        Expr::Cast(to, arg, _) => {
            is_partial(arg) || matches!((to, arg.scalar()), (Scalar::Int(_), Scalar::Float(_)))
        }
    }
}

fn lvalue_is_partial(lvalue: &Lvalue) -> bool {
    matches!(lvalue.base, Base::Deref(..))
        || lvalue.path.iter().any(|step| match step {
            Step::Field { .. } => false,
            Step::Index { index, length, .. } => match (&**index, length) {
                (Expr::Int(value, _), Some(length)) => !(0..i128::from(*length)).contains(value),
                _ => true,
            },
        })
}
