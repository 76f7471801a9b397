//! Systems like Unix.

use std::{
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus},
};

use rustix::process::{Pid, Resource, Rlimit, Signal, getpid, kill_process, kill_process_group, setrlimit};

/// The command and what it starts can be ended together, and signals of the terminal do not reach them.
pub(crate) fn in_own_group(command: &mut Command) {
    command.process_group(0);
}

/// Ends a child that is in a group of its own, and what it has started.
pub(crate) fn end_group(child: &mut Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
}

/// The system ends this process if it takes far more than so many megabytes. No crash of it writes a file.
pub(crate) fn limit_memory(memory_mb: u64) {
    // Address space that nothing is in counts, too: stacks, the program itself.
    let most = (memory_mb.saturating_mul(2).saturating_add(2048)) << 20;
    let _ = setrlimit(Resource::As, Rlimit { current: Some(most), maximum: Some(most) });
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// Ends this process at once. Not by `exit`: that tidies up under the feet of the solver.
pub(crate) fn end_at_once() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    std::process::abort()
}

pub(super) fn is_killed(status: ExitStatus) -> bool {
    status.signal().is_some()
}
