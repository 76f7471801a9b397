//! The label `ERROR` must not be reached (the convention of older benchmark programs). Only in programs that call no error function:
//! there, `ERROR: reach_error();` is judged by its call.

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "error-label",
    cwe: &[617],
    title: |_| "the label ERROR is reached".to_owned(),
    last_step: None,
    help: "either the code before it is wrong, or the condition asks for too much: follow the steps",
    is_claim: true,
    is_opt_in: false,
    ends_executions: true,
    rule: Rule::Label(|label| label == "ERROR" || label.starts_with("ERROR#")),
    page: include_str!("../../../../tests/suites/checks/error-label.md"),
};
