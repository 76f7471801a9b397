//! Any other system: what the standard library can do everywhere.

use std::process::{Child, Command, ExitStatus};

/// There are no groups of processes here: a command is started as it is.
pub(crate) fn in_own_group(_command: &mut Command) {}

/// Ends a child. What it has started goes on.
pub(crate) fn end_group(child: &mut Child) {
    let _ = child.kill();
}

/// Nobody limits it here; the process itself looks at what it uses.
pub(crate) fn limit_memory(_memory_mb: u64) {}

/// Ends this process at once.
pub(crate) fn end_at_once() -> ! {
    std::process::abort()
}

/// Signals end with codes that programs do not choose.
pub(super) fn is_killed(status: ExitStatus) -> bool {
    status.code().is_none_or(|code| !(0..=1).contains(&code))
}
