//! Shift amounts must be at least 0 and less than the width of the promoted left operand. (A left shift into or out of the
//! sign bit is undefined in C11 but defined by every compiler we model, as in C23 drafts and GCC's manual: it is not reported.)

use std::sync::Arc;

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, Scalar, Site};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "invalid-shift",
    cwe: &[1335],
    title: |failure| format!("invalid shift amount: `{}` does not hold", failure.condition),
    last_step: None,
    help: "the amount must be at least 0 and less than the width of the left operand",
    is_claim: false,
    is_opt_in: false,
    ends_executions: true,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/invalid-shift.md"),
};

fn demand(_function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    let Part::Expr(Expr::Binary(BinaryOp::Shl | BinaryOp::Shr, lhs, amount, _)) = part else { return };
    let (Scalar::Int(ty), Scalar::Int(amount_type)) = (lhs.scalar(), amount.scalar()) else { return };
    let width = i128::from(ty.bits);
    if matches!(**amount, Expr::Int(value, _) if (0..width).contains(&value)) {
        return;
    }
    let mut push = |op, bound| {
        let condition = Expr::Compare(op, amount.clone(), Arc::new(Expr::Int(bound, amount_type)));
        out.push(Demand { condition, site });
    };
    if amount_type.signed {
        push(CompareOp::Ge, 0);
    }
    if amount_type.max() >= width {
        push(CompareOp::Lt, width);
    }
}
