//! A floating number that is converted to an integer type must have a value there once its fraction is cut off (C11 6.3.1.4p1). NaN and the
//! infinities have none.

use std::sync::Arc;

use proofline_cfa::{BinaryOp, CompareOp, Expr, Float, FloatType, Function, IntType, Rounding, Scalar, Site};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "float-to-int",
    cwe: &[681],
    title: |failure| failure.named("floating value out of range of the integer type"),
    last_step: Some(|failure| Some(format!("the value of `{}` does not fit", failure.source?))),
    help: "check the value before it is converted, or convert to a wider type",
    is_claim: false,
    is_opt_in: false,
    // Compilers give some number, and programs whose other mistakes are asked about go on with it.
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/float-to-int.md"),
};

fn demand(_function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    let Part::Expr(Expr::Cast(Scalar::Int(to), arg, _)) = part else { return };
    let Scalar::Float(from) = arg.scalar() else { return };
    out.extend(fits(*to, arg, from).map(|condition| Demand { condition, site }));
}

/// `min - 1 < x && x < max + 1`, without the sides that every finite number of the format is on; NaN is on none.
fn fits(to: IntType, arg: &Arc<Expr>, from: FloatType) -> Option<Expr> {
    if !to.is_exact() {
        return None;
    }
    // Larger numbers than `i128` has.
    let (above, below) = (to.max().checked_add(1)?, to.min().checked_sub(1)?);
    let compare = |op, bound| Expr::Compare(op, arg.clone(), Arc::new(Expr::Float(bound)));
    // Between the least integer, a power of two or 0, and the largest number below it that the format has there is no other number.
    let below = Float::from_i128(from, below, Rounding::Zero);
    let lower = compare(if below.exact { CompareOp::Gt } else { CompareOp::Ge }, below.value);
    // A power of two, or more than the format has, which is rounded to infinity.
    let upper = compare(CompareOp::Lt, Float::from_i128(from, above, Rounding::NearestEven).value);
    Some(Expr::Binary(BinaryOp::BitAnd, Arc::new(lower), Arc::new(upper), Site::NOWHERE))
}
