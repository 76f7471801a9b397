//! An index must be inside an array whose type says its length. Forming the address one past the end is allowed.

use std::sync::Arc;

use proofline_cfa::{CompareOp, Expr, Function, Scalar, Site};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "array-bounds",
    cwe: &[125, 787],
    title: |failure| format!("index outside the array: `{}` does not hold", failure.condition),
    last_step: None,
    help: "check the index before it is used",
    is_claim: false,
    is_opt_in: false,
    ends_executions: true,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/array-bounds.md"),
};

fn demand(_function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
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
        out.push(Demand { condition, site });
    };
    if ty.signed {
        push(CompareOp::Ge, 0);
    }
    if ty.max() > last {
        push(CompareOp::Le, last);
    }
}
