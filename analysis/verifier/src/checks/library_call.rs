//! What library functions are given must be what they ask for: readable, writable, strings that end. The models of library functions
//! say what they ask for (`needs` in `libc.model`), so the obligations are in the automata before the other checks' are.

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: proofline_cfa_build::models::LIBRARY_CALL,
    cwe: &[119, 170, 628],
    title: |failure| match failure.source {
        Some(source) => format!("invalid argument of a library function in `{source}`"),
        None => "invalid argument of a library function".to_owned(),
    },
    last_step: None,
    help: "pointers must lead to objects that are large enough, strings must end with a zero byte, and formats must fit their arguments",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Calls,
    page: include_str!("../../../../tests/suites/checks/library-call.md"),
};
