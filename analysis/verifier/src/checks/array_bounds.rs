//! An index must be inside an array whose type says its length. Forming the address one past the end is allowed.

use std::sync::Arc;

use proofline_cfa::{Check, CompareOp, Expr, Function, Scalar, Site};

use super::{Demand, Part};

pub(super) fn demand(_function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    let Part::Element { index, length, past_end, .. } = part else { return };
    let Scalar::Int(ty) = index.scalar() else { return };
    // Arrays of length 0 and 1 at the end of records are used as flexible arrays; length 0 says nothing at all.
    if length == 0 {
        return;
    }
    let last = i128::from(length) - i128::from(!past_end);
    if matches!(index, Expr::Int(value, _) if (0..=last).contains(value)) {
        return;
    }
    let mut push = |op, bound| {
        let condition = Expr::Compare(op, Arc::new(index.clone()), Arc::new(Expr::Int(bound, ty)));
        out.push(Demand { check: Check::ArrayBounds, condition, site });
    };
    if ty.signed {
        push(CompareOp::Ge, 0);
    }
    if ty.max() > last {
        push(CompareOp::Le, last);
    }
}
