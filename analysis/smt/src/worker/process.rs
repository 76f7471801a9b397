//! One worker process.

use std::ffi::OsString;
use std::io::{BufReader, Error, Result};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::frame;

/// How a worker is started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// The program, which shall call [`serve`](super::serve) and answer on its standard output.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// What ends a worker, from any thread.
#[derive(Debug)]
pub(crate) struct Leash {
    child: Mutex<Child>,
    is_late: AtomicBool,
}

impl Leash {
    /// Ends the process; whoever waits for its answer hears that at once.
    pub(crate) fn kill(&self) {
        // One that has ended already cannot be killed.
        let _ = self.child.lock().kill();
    }

    /// Ends the process because its time is over.
    pub(super) fn time_out(&self) {
        self.is_late.store(true, Ordering::SeqCst);
        self.kill();
    }
}

/// A running worker.
#[derive(Debug)]
pub(super) struct Process {
    leash: Arc<Leash>,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts one.
    pub(super) fn start(launch: &Launch) -> Result<Process> {
        let mut command = Command::new(&launch.program);
        command.args(&launch.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Ctrl-C at the terminal is for the program that has workers, not for them.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let piped = |what| Error::other(format!("a worker without {what}"));
        let input = child.stdin.take().ok_or_else(|| piped("input"))?;
        let output = child.stdout.take().ok_or_else(|| piped("output"))?;
        let leash = Arc::new(Leash { child: Mutex::new(child), is_late: AtomicBool::new(false) });
        Ok(Process { leash, input: Some(input), output: BufReader::new(output) })
    }

    pub(super) fn leash(&self) -> &Arc<Leash> {
        &self.leash
    }

    /// Sends a message.
    pub(super) fn send(&mut self, payload: &[u8]) -> Result<()> {
        match &mut self.input {
            Some(input) => frame::write(input, payload),
            None => Err(Error::other("the worker was told to end")),
        }
    }

    /// Sends a message and waits for the answer.
    pub(super) fn exchange(&mut self, payload: &[u8]) -> Result<Vec<u8>> {
        self.send(payload)?;
        frame::read(&mut self.output)
    }

    /// Whether it was ended because its time was over.
    pub(super) fn is_late(&self) -> bool {
        self.leash.is_late.load(Ordering::SeqCst)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        self.leash.kill();
        // A killed process ends; until it was waited for, its number stays taken and its processor time is not counted as ours.
        let _ = self.leash.child.lock().wait();
    }
}
