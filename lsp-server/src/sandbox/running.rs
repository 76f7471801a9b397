//! A child process with an end: time, memory, output and a caller who loses interest. It and whatever it started are gone afterwards.

use std::{
    fs::File,
    io::{self, Read},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use proofline_ide::Cancel;

use crate::platform;

/// Bytes of output that are kept.
const OUTPUT: u64 = 16 * 1024;

/// How often its memory is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Where a child is stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Of the clock.
    pub(crate) time: Duration,
    /// Of it and what it starts, together, where the system tells.
    pub(crate) memory_mb: u64,
}

/// How a child ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// By itself, with what it wrote.
    Itself(ExitStatus, String),
    /// It took too long, or nobody wants to know any more.
    TooLong,
    /// It needed too much memory.
    TooLarge,
}

/// Runs a command. What it writes goes to a file without a name, so that no pipe can fill.
///
/// # Errors
/// If it cannot be started, or what it wrote cannot be read.
pub(crate) fn run(mut command: Command, limits: Limits, cancel: &Cancel) -> io::Result<Ended> {
    let mut output = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    platform::in_own_group(&mut command);
    let mut child = command.spawn()?;
    let begun = Instant::now();
    let mut looked = begun;
    let ended = loop {
        if let Some(status) = child.try_wait()? {
            break Ended::Itself(status, String::new());
        }
        if begun.elapsed() > limits.time || cancel.is_cancelled() {
            break Ended::TooLong;
        }
        if looked.elapsed() > LOOK {
            looked = Instant::now();
            if platform::tree_mb(child.id()) > limits.memory_mb {
                break Ended::TooLarge;
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    end_all(&mut child);
    match ended {
        Ended::Itself(status, _) => Ok(Ended::Itself(status, text(&mut output)?)),
        stopped => Ok(stopped),
    }
}

/// Kills the child and what it started.
fn end_all(child: &mut Child) {
    platform::end_group(child);
    let _ = child.wait();
}

fn text(output: &mut File) -> io::Result<String> {
    io::Seek::rewind(output)?;
    let mut bytes = Vec::new();
    output.take(OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_much_memory_is_stopped() {
        if platform::tree_mb(std::process::id()) == 0 {
            // This system does not tell.
            return;
        }
        // What the shell starts counts, too.
        let mut command = Command::new("sh");
        command.args(["-c", "head -c 400000000 /dev/zero | tail; true"]);
        let limits = Limits { time: Duration::from_secs(60), memory_mb: 100 };
        let ended = run(command, limits, &Cancel::default()).expect("it runs");
        assert!(matches!(ended, Ended::TooLarge), "{ended:?}");
    }
}
