//! `__builtin_unreachable()` must not be reached.

use proofline_cfa::{Callee, Name, Op};

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "unreachable",
    cwe: &[758],
    title: |_| "code marked unreachable is reached".to_owned(),
    last_step: None,
    help: "the assumption behind `__builtin_unreachable()` does not hold",
    is_claim: false,
    is_opt_in: false,
    ends_executions: true,
    rule: Rule::Operation(forbid),
    page: include_str!("../../../../tests/suites/checks/unreachable.md"),
};

fn forbid(op: &Op) -> Option<Name> {
    match op {
        Op::Call(call) if matches!(call.callee, Callee::Direct(name) if name.as_str() == "__builtin_unreachable") => {
            Some(Name::new("__builtin_unreachable is not called"))
        }
        _ => None,
    }
}
