//! A local must have been given a value before it is read. Lowering keeps a shadow (`x?`) for each local where this is not
//! plain from the text.

use std::sync::Arc;

use proofline_cfa::{CompareOp, Expr, Function, IntType, LocalId, Lvalue, Role, Scalar, Site};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "uninitialised",
    title: |_| "use of an uninitialised variable".to_owned(),
    last_step: None,
    help: "give the variable a value on every path",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/uninitialised.md"),
};

fn demand(function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    let Part::Read(id) = part else { return };
    let local = function.local(id);
    if local.role == Role::Shadow {
        return;
    }
    let Some(index) = function.locals.iter().position(|shadow| {
        shadow.role == Role::Shadow && shadow.name.strip_suffix('?') == Some(local.name.as_str())
    }) else {
        return;
    };
    let shadow = &function.locals[index];
    let lvalue = Lvalue::local(LocalId(index as u32), shadow.ty, Scalar::Int(IntType::BOOL), shadow.size);
    let zero = Arc::new(Expr::Int(0, IntType::BOOL));
    let condition = Expr::Compare(CompareOp::Ne, Arc::new(Expr::Load(lvalue)), zero);
    out.push(Demand { condition, site });
}
