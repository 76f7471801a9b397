//! Other programs under a limit of processor time, and several of them at a time.

use std::{
    fs,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use anyhow::{Context, Result};
use wait4::Wait4;

/// What a program did.
pub(crate) struct Finished {
    /// What it wrote; its errors, too, where they were asked for.
    pub(crate) output: String,
    pub(crate) status: ExitStatus,
    /// Processor time.
    pub(crate) cpu: Duration,
    /// Peak, MiB.
    pub(crate) memory: u64,
}

/// Whose output is of interest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// The standard output.
    Results,
    /// Both.
    ResultsAndErrors,
}

static SCRATCH: AtomicUsize = AtomicUsize::new(0);

/// Runs a program; after so many seconds of processor time, or 200 MB of output, the shell's limits end it.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn run(program: &Path, arguments: &[&str], seconds: u64, output: Output) -> Result<Finished> {
    let number = SCRATCH.fetch_add(1, Ordering::Relaxed);
    let scratch = std::env::temp_dir().join(format!("proofline-{}-{number}.out", std::process::id()));
    let file = fs::File::create(&scratch)?;
    let errors = match output {
        Output::Results => Stdio::null(),
        Output::ResultsAndErrors => file.try_clone()?.into(),
    };
    let child = Command::new("sh")
        .args(["-c", &format!("ulimit -t {seconds}; ulimit -f 400000; exec \"$0\" \"$@\"")])
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(errors)
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let usage = child.wait4()?;
    let output = String::from_utf8_lossy(&fs::read(&scratch)?).into_owned();
    let _ = fs::remove_file(&scratch);
    Ok(Finished {
        output,
        status: usage.status,
        cpu: usage.rusage.utime + usage.rusage.stime,
        memory: usage.rusage.maxrss / 1_048_576,
    })
}

/// Does something for each item, so many at a time. The results come in no order.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], jobs: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = parking_lot::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(item);
                    results.lock().push(result);
                }
            });
        }
    });
    results.into_inner()
}
