//! An array of variable length must have elements. Lowering puts the obligation where the array is declared.

use proofline_cfa_build::{HAS_ELEMENTS, INVALID_LENGTH};

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: INVALID_LENGTH,
    cwe: &[1284, 131],
    title: |failure| {
        let name = failure.condition.strip_suffix(HAS_ELEMENTS).unwrap_or(failure.condition);
        format!("the array `{name}` has no elements, or a negative number of them")
    },
    last_step: None,
    help: "look at the length before the array is declared; memory from `malloc` may have the length 0",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Calls,
    page: include_str!("../../../../tests/suites/checks/invalid-length.md"),
};
