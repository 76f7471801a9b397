//! A null pointer must not be followed.

use std::sync::Arc;

use proofline_cfa::{CompareOp, Expr, Function, Site};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "null-dereference",
    cwe: &[476],
    title: |failure| failure.named("null pointer dereference"),
    last_step: None,
    help: "check the pointer before it is followed",
    is_claim: false,
    is_opt_in: false,
    ends_executions: true,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/null-dereference.md"),
};

fn demand(_function: &Function, part: Part<'_>, _site: Site, out: &mut Vec<Demand>) {
    let Part::Dereference { pointer, site } = part else { return };
    if is_never_null(pointer) {
        return;
    }
    let condition = Expr::Compare(CompareOp::Ne, Arc::new(pointer.clone()), Arc::new(Expr::Null));
    out.push(Demand { condition, site });
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
