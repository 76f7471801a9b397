//! Who calls a function must keep what its contract asks for. Contracts are found out or read from the text, and the obligations are made where a function
//! is judged with the contracts of what it calls (`contracts::assume`).

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "precondition",
    cwe: &[628],
    title: |failure| failure.named("the call breaks what the function asks for"),
    last_step: None,
    help: "pass what the contract of the function asks for",
    is_claim: false,
    is_opt_in: false,
    ends_executions: true,
    rule: Rule::Calls,
    page: include_str!("../../../../tests/suites/checks/precondition.md"),
};
