//! All memory must be freed when the program ends, also what can still be reached (SV-COMP's valid-memcleanup).

use std::sync::Arc;

use proofline_cfa::{Expr, MemoryPredicate};

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: proofline_cfa_build::models::MEMORY_CLEANUP,
    cwe: &[401],
    title: |_| "memory is still allocated when the program ends".to_owned(),
    last_step: Some(|_| Some("the program ends, and not all memory is freed".to_owned())),
    help: "free all memory before the program ends",
    is_claim: false,
    is_opt_in: true,
    ends_executions: false,
    rule: Rule::AtEnd(condition),
    page: include_str!("../../../../tests/suites/checks/memory-cleanup.md"),
};

pub(super) fn condition() -> Expr {
    Expr::Memory(MemoryPredicate::NothingLeft, Arc::new(Expr::Null), Arc::new(Expr::int(0)))
}
