//! Calls that must not happen: `reach_error` and `__VERIFIER_error` (SV-COMP).

use proofline_cfa::{Callee, Name, Op};

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "reach-error",
    cwe: &[617],
    title: |_| "an error call is reached".to_owned(),
    last_step: None,
    help: "either the code before it is wrong, or the condition asks for too much: follow the steps",
    is_claim: true,
    is_opt_in: false,
    ends_executions: true,
    rule: Rule::Operation(forbid),
    page: include_str!("../../../../tests/suites/checks/reach-error.md"),
};

fn forbid(op: &Op) -> Option<Name> {
    let Op::Call(call) = op else { return None };
    let Callee::Direct(name) = call.callee else { return None };
    match name.as_str() {
        "reach_error" | "__VERIFIER_error" => Some(Name::new(&format!("{name} is not called"))),
        _ => None,
    }
}

/// Whether it is a call of an error function.
pub(super) fn is_error_call(op: &Op) -> bool {
    forbid(op).is_some()
}
