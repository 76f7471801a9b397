//! A child process with an end: time, output and a caller who loses interest. It and whatever it started are gone afterwards.

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

/// How a child ended.
pub(crate) enum Ended {
    /// By itself, with what it wrote.
    Itself(ExitStatus, String),
    /// It took too long, or nobody wants to know any more.
    Stopped,
}

/// Runs a command. What it writes goes to a file without a name, so that no pipe can fill.
///
/// # Errors
/// If it cannot be started, or what it wrote cannot be read.
pub(crate) fn run(mut command: Command, limit: Duration, cancel: &Cancel) -> io::Result<Ended> {
    let mut output = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    platform::in_own_group(&mut command);
    let mut child = command.spawn()?;
    let end = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if Instant::now() > end || cancel.is_cancelled() {
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    end_all(&mut child);
    match status {
        Some(status) => Ok(Ended::Itself(status, text(&mut output)?)),
        None => Ok(Ended::Stopped),
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
