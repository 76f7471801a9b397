//! `<`, `<=`, `>`, `>=` and `-` have a meaning for pointers into one object only (C11 6.5.6, 6.5.8). Real programs order others, so the
//! check is opt-in.

use proofline_cfa::{CompareOp, Expr, Function, MemoryPredicate, Scalar, Site};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "pointer-comparison",
    cwe: &[469],
    title: |failure| failure.named("pointers into different objects are ordered or subtracted"),
    last_step: Some(|failure| Some(format!("the pointers in `{}` lead into different objects", failure.source?))),
    help: "order or subtract pointers into the same object only; `==` and `!=` are fine",
    is_claim: false,
    is_opt_in: true,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/pointer-comparison.md"),
};

fn demand(_function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    let (left, right) = match part {
        Part::Expr(Expr::PointerDifference(left, right, ..)) => (left, right),
        Part::Expr(Expr::Compare(op, left, right)) if left.scalar() == Scalar::Pointer => match op {
            CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => (left, right),
            CompareOp::Eq | CompareOp::Ne => return,
        },
        _ => return,
    };
    if left != right {
        let condition = Expr::Memory(MemoryPredicate::SameObject, left.clone(), right.clone());
        out.push(Demand { condition, site });
    }
}
