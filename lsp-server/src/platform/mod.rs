//! What depends on the system, and nothing else: processes, what they may use, and how rights are taken away. Each system has a file with the same
//! functions; `other.rs` has what a system that nobody has looked at can do, and says what it cannot. Nothing outside of this folder asks which system
//! it is on (`cargo xtask tidy` looks).

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

use std::{ffi::OsString, path::PathBuf, process::ExitStatus, time::Duration};

use crate::sandbox::Confinement;

#[cfg(not(unix))]
pub(crate) use other::{end_at_once, end_group, in_own_group, limit_memory};
#[cfg(unix)]
pub(crate) use unix::{end_at_once, end_group, in_own_group, limit_memory};

/// This binary, to be started again. On Linux also if the file was replaced meanwhile: what is started must be of the same build.
pub(crate) fn own_binary() -> Option<PathBuf> {
    let this = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && this.exists() { Some(this) } else { std::env::current_exe().ok() }
}

/// Whether a process with this number runs; `None` where nobody knows.
pub(crate) fn is_running(process: u32) -> Option<bool> {
    cfg!(target_os = "linux").then(|| PathBuf::from(format!("/proc/{process}")).exists())
}

/// Waits until a process has ended, which need not be a child. Comes back at once where nobody can tell whether it runs.
pub(crate) fn wait_for(process: u32) {
    #[cfg(target_os = "linux")]
    if linux::wait_for(process).is_ok() {
        return;
    }
    while is_running(process) == Some(true) {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Megabytes that the children of this process have in memory together, where the system tells.
pub(crate) fn children_mb() -> u64 {
    #[cfg(target_os = "linux")]
    return linux::children_mb();
    #[cfg(not(target_os = "linux"))]
    return 0;
}

/// Megabytes that a process and all that it has started have in memory together, where the system tells.
pub(crate) fn tree_mb(process: u32) -> u64 {
    #[cfg(target_os = "linux")]
    return linux::tree_mb(process);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = process;
        0
    }
}

/// Ended by the system and not by itself: `abort`, a division by zero.
pub(crate) fn is_killed(status: ExitStatus) -> bool {
    #[cfg(unix)]
    return unix::is_killed(status);
    #[cfg(not(unix))]
    return other::is_killed(status);
}

/// Gives memory that was freed back to the system, where that does not happen by itself.
pub(crate) fn give_back_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    linux::give_back_memory();
}

/// Gives up all rights but these, for good, and becomes the program, if there is one. Comes back with the reason why not, or with `None` if there was no
/// program and all went well.
pub(crate) fn confine(confinement: &Confinement, command: &[OsString]) -> Option<anyhow::Error> {
    #[cfg(target_os = "linux")]
    return match linux::confine(confinement) {
        Ok(()) if command.is_empty() => None,
        Ok(()) => Some(linux::become_program(command)),
        Err(why) => Some(why),
    };
    #[cfg(not(target_os = "linux"))]
    return Some(anyhow::anyhow!("there is no sandbox on this system: {confinement:?} {command:?}"));
}

/// The systems that nobody has looked at, compiled on this one, so that a change that breaks them is noticed.
#[cfg(test)]
#[path = "other.rs"]
mod elsewhere;

#[cfg(all(test, target_os = "linux"))]
mod processes {
    use std::process::Command;

    use super::{children_mb, is_running, wait_for};

    #[test]
    fn children_count_and_their_end_is_noticed() {
        let mut child = Command::new("python3")
            .args(["-c", "import sys; held = b'x' * (64 << 20); print(flush=True); sys.stdin.read()"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut ready = [0];
        std::io::Read::read_exact(child.stdout.as_mut().expect("it is piped"), &mut ready)
            .expect("it says so");
        assert!(children_mb() >= 64, "{}", children_mb());
        let number = child.id();
        assert_eq!(is_running(number), Some(true));
        drop(child.stdin.take());
        wait_for(number);
        child.wait().expect("it has ended");
        assert_eq!(is_running(number), Some(false));
        wait_for(number);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::{Child, Command, ExitStatus};

    use super::{elsewhere, unix};

    fn ended(in_own_group: fn(&mut Command), end_group: fn(&mut Child)) -> ExitStatus {
        let mut command = Command::new("sleep");
        command.arg("60");
        in_own_group(&mut command);
        let mut child = command.spawn().expect("it starts");
        end_group(&mut child);
        child.wait().expect("it has ended")
    }

    #[test]
    fn a_child_is_ended_everywhere_and_that_is_seen() {
        let here = ended(unix::in_own_group, unix::end_group);
        let there = ended(elsewhere::in_own_group, elsewhere::end_group);
        for status in [here, there] {
            assert!(unix::is_killed(status) && elsewhere::is_killed(status), "{status}");
        }
        let itself = Command::new("false").status().expect("it runs");
        assert!(!unix::is_killed(itself) && !elsewhere::is_killed(itself));
    }

    #[test]
    fn every_system_has_the_same_functions() {
        let memory: [fn(u64); 2] = [unix::limit_memory, elsewhere::limit_memory];
        let ends: [fn() -> !; 2] = [unix::end_at_once, elsewhere::end_at_once];
        assert_eq!((memory.len(), ends.len()), (2, 2));
    }
}
