//! Division and remainder by zero, of integers. (Floating division by zero is defined by IEEE 754.)

use std::sync::Arc;

use proofline_cfa::{BinaryOp, Check, CompareOp, Expr, Function, Scalar, Site};

use super::{Demand, Part};

pub(super) fn demand(_function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    if let Part::Expr(Expr::Binary(BinaryOp::Div | BinaryOp::Rem, _, divisor, _)) = part
        && let Scalar::Int(ty) = divisor.scalar()
        && !matches!(**divisor, Expr::Int(value, _) if value != 0)
    {
        let zero = Arc::new(Expr::Int(0, ty));
        let condition = Expr::Compare(CompareOp::Ne, divisor.clone(), zero);
        out.push(Demand { check: Check::DivisionByZero, condition, site });
    }
}
