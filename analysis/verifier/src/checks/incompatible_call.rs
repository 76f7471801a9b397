//! A function must be called through a pointer to a function of its type (C11 6.3.2.3p8). What counts as its type says `cfa::may_be_called`. Calls by name
//! that do not fit the definition have their obligations since linking, `va_arg` since lowering.

use std::sync::Arc;

use proofline_cfa::{Base, CALLABLE, Expr, Function, Lvalue, MemoryPredicate, Site};
use proofline_cfa_build::{INCOMPATIBLE_CALL, VA_ARG};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: INCOMPATIBLE_CALL,
    cwe: &[843, 686, 685],
    title: |failure| {
        let what = match failure.condition {
            condition if condition.starts_with(VA_ARG) => "argument that was not passed, or is of another type,",
            condition if condition.ends_with(CALLABLE) => "call of a function through a pointer of another type",
            _ => "call of a function otherwise than it is defined",
        };
        failure.named(what)
    },
    last_step: None,
    help: "declare the function with a prototype, in a header that its definition includes, too; give one that is called through a pointer the parameters and the \
           result that the pointer's type says",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/incompatible-call.md"),
};

fn demand(_function: &Function, part: Part<'_>, _site: Site, out: &mut Vec<Demand>) {
    let Part::Call { pointer, ty, arguments, site } = part else { return };
    let base = Base::Deref(Arc::new(pointer.clone()), site);
    // GNU C gives functions the size 1.
    let called = Lvalue { base, path: Vec::new(), ty, scalar: None, bits: None, size: 1 };
    let (called, arguments) = (Arc::new(Expr::Address(called)), Arc::new(Expr::int(arguments as i128)));
    out.push(Demand { condition: Expr::Memory(MemoryPredicate::Callable, called, arguments), site });
}
