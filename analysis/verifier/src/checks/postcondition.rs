//! Where a function returns, what the text says of it holds (`/*@ ensures … */`). The obligations are made by `contracts::obligations`.

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "postcondition",
    cwe: &[573],
    title: |failure| failure.named("the function does not ensure what its contract says"),
    last_step: None,
    help: "correct the result, or the `ensures` in front of the function",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Calls,
    page: include_str!("../../../../tests/suites/checks/postcondition.md"),
};
