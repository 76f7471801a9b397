//! Only the start of a heap object that is alive, or null, may be given to `free` and `realloc`.

use std::sync::Arc;

use proofline_cfa::{Expr, Function, IntType, MemoryPredicate, Site};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "invalid-free",
    cwe: &[415, 590, 761],
    title: |failure| failure.named("invalid free"),
    last_step: Some(|failure| Some(format!("`{}` frees what is no live heap object", failure.source?))),
    help: "free each pointer from malloc, calloc or realloc once, and nothing else",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/invalid-free.md"),
};

fn demand(function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    let Part::Free { pointer } = part else { return };
    if *pointer == Expr::Null || function.is_laid_aside(pointer) {
        return;
    }
    let size = Arc::new(Expr::Int(0, IntType::INT));
    let condition = Expr::Memory(MemoryPredicate::Freeable, Arc::new(pointer.clone()), size);
    out.push(Demand { condition, site });
}
