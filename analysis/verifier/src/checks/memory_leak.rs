//! What was allocated must be freed before the last pointer to it goes away.

use std::sync::Arc;

use proofline_cfa::{Expr, MemoryPredicate};

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: proofline_cfa_build::models::MEMORY_LEAK,
    cwe: &[401],
    title: |_| "memory is allocated and never freed".to_owned(),
    last_step: Some(|_| Some("the function returns or the program ends, and nothing refers to the memory any more".to_owned())),
    help: "free the memory on every path before the last pointer to it goes away",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::AtReturn(condition),
    page: include_str!("../../../../tests/suites/checks/memory-leak.md"),
};

fn condition() -> Expr {
    Expr::Memory(MemoryPredicate::NothingLost, Arc::new(Expr::Null), Arc::new(Expr::int(1)))
}
