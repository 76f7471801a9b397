//! A stream (`FILE *`) that is given to a library function must not be null. The models of library functions say which arguments are streams
//! (`needs $1 stream` in `libc.model`), so the obligations are in the automata before the other checks' are.

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: proofline_cfa_build::models::INVALID_STREAM,
    cwe: &[476, 690],
    title: |failure| failure.named("a null stream is used"),
    last_step: None,
    help: "look whether the file could be opened before it is used: fopen gives NULL where it fails",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Calls,
    page: include_str!("../../../../tests/suites/checks/invalid-stream.md"),
};
