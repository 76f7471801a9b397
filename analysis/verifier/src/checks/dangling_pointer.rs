//! What a pointer points to must not be a local variable whose scope or function has ended when the pointer is followed.

use std::sync::Arc;

use proofline_cfa::{Expr, Function, IntType, MemoryPredicate, Site};

use super::{Check, Demand, Part, Rule, use_after_free::may_end};

/// See its page.
pub static CHECK: Check = Check {
    code: "dangling-pointer",
    cwe: &[562, 825],
    title: |failure| failure.named("use of a variable after its scope has ended"),
    last_step: Some(|failure| Some(format!("`{}` uses a variable that no longer exists", failure.source?))),
    help: "let the variable live longer (declare it outside, or allocate it), or copy its value",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/dangling-pointer.md"),
};

fn demand(_function: &Function, part: Part<'_>, _site: Site, out: &mut Vec<Demand>) {
    let Part::Dereference { pointer, site } = part else { return };
    if !may_end(pointer) {
        return;
    }
    let size = Arc::new(Expr::Int(0, IntType::INT));
    let condition = Expr::Memory(MemoryPredicate::NotEnded, Arc::new(pointer.clone()), size);
    out.push(Demand { condition, site });
}
