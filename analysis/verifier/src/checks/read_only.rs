//! What is written through a pointer must not be a string literal, and not an object that is declared `const` (C11 6.4.5p7, 6.7.3p6). What library
//! functions write, their models say, so those obligations are in the automata before.

use std::sync::Arc;

use proofline_cfa::{Base, Expr, Function, IntType, MemoryPredicate, Site, is_read_only};

use super::{Check, Demand, Part, Rule, out_of_bounds::is_number};

/// See its page.
pub static CHECK: Check = Check {
    code: proofline_cfa_build::models::READ_ONLY,
    cwe: &[758],
    title: |failure| failure.named("a read-only object is written"),
    last_step: Some(|failure| Some(format!("`{}` must not be written", failure.source?))),
    help: "copy it into an array of its own, or declare it without `const`",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/read-only.md"),
};

fn demand(function: &Function, part: Part<'_>, _site: Site, out: &mut Vec<Demand>) {
    let Part::Write { place, pointer, site } = part else { return };
    // Nothing is written to an object without a size.
    if place.size == 0 || is_number(pointer) || is_variable(function, pointer) {
        return;
    }
    let address =
        if place.path.is_empty() { Arc::new(pointer.clone()) } else { Arc::new(Expr::Address(place.clone())) };
    let size = Arc::new(Expr::Int(i128::from(place.size), IntType { bits: 64, signed: false }));
    out.push(Demand { condition: Expr::Memory(MemoryPredicate::Writable, address, size), site });
}

/// Whether it is the address of a variable of the function that is not `const`.
fn is_variable(function: &Function, pointer: &Expr) -> bool {
    match pointer {
        Expr::Address(named) => match named.base {
            Base::Local(id) => !is_read_only(function.local(id).ty),
            Base::Global(_) | Base::Deref(..) => false,
        },
        _ => false,
    }
}
