//! Division and remainder by zero, of integers. (Floating division by zero is defined by IEEE 754.)

use std::sync::Arc;

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, Scalar, Site};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "division-by-zero",
    cwe: &[369],
    title: |failure| failure.named("division by zero"),
    last_step: None,
    help: "guard the division, or make sure that the divisor cannot be 0",
    is_claim: false,
    is_opt_in: false,
    ends_executions: true,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/division-by-zero.md"),
};

fn demand(_function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    if let Part::Expr(Expr::Binary(BinaryOp::Div | BinaryOp::Rem, _, divisor, _)) = part
        && let Scalar::Int(ty) = divisor.scalar()
        && !matches!(**divisor, Expr::Int(value, _) if value != 0)
    {
        let zero = Arc::new(Expr::Int(0, ty));
        let condition = Expr::Compare(CompareOp::Ne, divisor.clone(), zero);
        out.push(Demand { condition, site });
    }
}
