//! A null pointer must not be followed.

use std::sync::Arc;

use proofline_cfa::{Check, CompareOp, Expr, Function, Site};

use super::{Demand, Part};

pub(super) fn demand(_function: &Function, part: Part<'_>, _site: Site, out: &mut Vec<Demand>) {
    let Part::Dereference { pointer, site } = part else { return };
    if is_never_null(pointer) {
        return;
    }
    let condition = Expr::Compare(CompareOp::Ne, Arc::new(pointer.clone()), Arc::new(Expr::Null));
    out.push(Demand { check: Check::NullDereference, condition, site });
}

/// Addresses of objects and functions.
fn is_never_null(pointer: &Expr) -> bool {
    match pointer {
        Expr::Function(_) => true,
        Expr::Address(lvalue) => !matches!(lvalue.base, proofline_cfa::Base::Deref(..)),
        Expr::Cast(_, arg, _) => is_never_null(arg),
        _ => false,
    }
}
