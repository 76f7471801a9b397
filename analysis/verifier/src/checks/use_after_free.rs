//! What a pointer points to must not have been given back by `free` or `realloc` when the pointer is followed.

use std::sync::Arc;

use proofline_cfa::{Expr, Function, IntType, MemoryPredicate, Site};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "use-after-free",
    cwe: &[416],
    title: |failure| failure.named("use after free"),
    last_step: Some(|failure| Some(format!("`{}` is used after its memory was freed", failure.source?))),
    help: "free the memory after its last use, and set the pointer to NULL where it may be looked at again",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/use-after-free.md"),
};

fn demand(_function: &Function, part: Part<'_>, _site: Site, out: &mut Vec<Demand>) {
    let Part::Dereference { pointer, site } = part else { return };
    if !may_end(pointer) {
        return;
    }
    let size = Arc::new(Expr::Int(0, IntType::INT));
    let condition = Expr::Memory(MemoryPredicate::NotFreed, Arc::new(pointer.clone()), size);
    out.push(Demand { condition, site });
}

/// Whether it is more than the address of an object that the expression names, or of a function.
pub(super) fn may_end(pointer: &Expr) -> bool {
    match pointer {
        Expr::Function(_) | Expr::Null => false,
        Expr::Address(lvalue) => match &lvalue.base {
            proofline_cfa::Base::Deref(pointer, _) => may_end(pointer),
            proofline_cfa::Base::Local(_) | proofline_cfa::Base::Global(_) => false,
        },
        // A number: a device's registers.
        Expr::Cast(_, arg, _) => !matches!(**arg, Expr::Int(..)) && may_end(arg),
        _ => true,
    }
}
