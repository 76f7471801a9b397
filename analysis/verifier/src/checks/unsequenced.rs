//! What an expression changes must not be used beside the change in an order that C does not lay down. Where that is, lowering finds, so the
//! obligations are in the automata before the other checks' are.

use proofline_cfa_build::{HAS_ORDER, UNSEQUENCED};

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: UNSEQUENCED,
    cwe: &[758],
    title: |failure| {
        let name = failure.condition.strip_suffix(HAS_ORDER).unwrap_or(failure.condition);
        failure.named(&format!("`{name}` is changed and used in an order that C does not lay down,"))
    },
    last_step: Some(|failure| {
        let name = failure.condition.strip_suffix(HAS_ORDER)?;
        Some(format!("`{name}` changes here, and another part of the expression uses it, sooner or later"))
    }),
    help: "make two statements of it: C does not say which happens first, and calls the program's behaviour undefined",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Calls,
    page: include_str!("../../../../tests/suites/checks/unsequenced.md"),
};
