//! What monitors forbid ([`crate::monitors`]): a check for each, by the monitor's name. The monitor's text says what fails and what mends it.

use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};

use proofline_cfa::CheckId;

use super::{Check, Rule};

/// Codes of these checks begin so.
pub const FAMILY: &str = "monitor:";

/// The checks of monitors that were read, by their codes. A name means what the last text with it said.
static READ: RwLock<BTreeMap<String, &'static Check>> = RwLock::new(BTreeMap::new());

/// The check of a monitor.
pub(crate) fn of(name: &str, cwe: &[u16], help: &str) -> &'static Check {
    let code = format!("{FAMILY}{name}");
    let mut read = READ.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = read.get(&code)
        && known.cwe == cwe
        && known.help == help
    {
        return known;
    }
    // As names of programs are, the few texts that one process reads are kept for ever.
    let check: &'static Check = Box::leak(Box::new(Check {
        code: Box::leak(code.clone().into_boxed_str()),
        cwe: Box::leak(cwe.to_vec().into_boxed_slice()),
        title: |failure| failure.condition.to_owned(),
        last_step: Some(|failure| Some(failure.condition.to_owned())),
        help: Box::leak(help.to_owned().into_boxed_str()),
        is_claim: false,
        is_opt_in: false,
        ends_executions: false,
        rule: Rule::Calls,
        page: include_str!("../../../../tests/suites/checks/monitor.md"),
    }));
    read.insert(code, check);
    check
}

/// Whether obligations of this check are a monitor's.
pub(crate) fn is_one(check: CheckId) -> bool {
    check.code().starts_with(FAMILY)
}

/// The check with this code, if its monitor was read.
pub(super) fn from_code(code: &str) -> Option<&'static Check> {
    READ.read().unwrap_or_else(PoisonError::into_inner).get(code).copied()
}

/// Every check of a monitor that was read.
pub(crate) fn all() -> Vec<&'static Check> {
    READ.read().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
}
