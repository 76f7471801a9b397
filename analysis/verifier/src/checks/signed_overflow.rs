//! Signed arithmetic whose mathematical result is not in its type: `+ - *`, negation, `INT_MIN / -1`.

use std::sync::Arc;

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, Scalar, Site, UnaryOp};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "signed-overflow",
    cwe: &[190],
    title: |failure| failure.named("signed overflow"),
    last_step: Some(|failure| Some(format!("`{}` overflows", failure.source?))),
    help: "check the operands' ranges before, or compute in a wider or unsigned type",
    is_claim: false,
    is_opt_in: false,
    ends_executions: true,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/signed-overflow.md"),
};

/// Whether the arithmetic wraps around with `-fwrapv`. The least value divided by -1 ends the program all the same.
pub(super) fn is_wrapped(demand: &Demand) -> bool {
    let Expr::Compare(_, overflows, _) = &demand.condition else { return false };
    matches!(**overflows, Expr::Overflows(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..))
}

fn demand(_function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    let Part::Expr(expr) = part else { return };
    if !matches!(expr.scalar(), Scalar::Int(ty) if ty.signed) {
        return;
    }
    let overflows = match expr {
        Expr::Unary(UnaryOp::Negate, arg, _) => {
            if matches!(**arg, Expr::Int(value, ty) if value != ty.min()) {
                return;
            }
            Expr::Overflows(BinaryOp::Sub, Arc::new(expr.zero()), arg.clone())
        }
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), lhs, rhs, _) => {
            Expr::Overflows(*op, lhs.clone(), rhs.clone())
        }
        // Only the least value divided by -1 overflows.
        Expr::Binary(BinaryOp::Div | BinaryOp::Rem, lhs, rhs, _) => {
            let harmless_divisor = matches!(**rhs, Expr::Int(value, _) if value != -1);
            let harmless_dividend = matches!(**lhs, Expr::Int(value, ty) if value != ty.min());
            if harmless_divisor || harmless_dividend {
                return;
            }
            Expr::Overflows(BinaryOp::Div, lhs.clone(), rhs.clone())
        }
        _ => return,
    };
    let condition = Expr::Compare(CompareOp::Eq, Arc::new(overflows), Arc::new(Expr::int(0)));
    out.push(Demand { condition, site });
}
