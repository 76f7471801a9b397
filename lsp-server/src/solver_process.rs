//! The solver's processes: this binary, started as `proofline worker`. Knows how they are started, what they may use and how they end.

use std::{path::PathBuf, process::ExitCode, sync::OnceLock};

use anyhow::{Context, Result};
use proofline_ide::solver_process::{Care, Launch, employ, serve};

use crate::memory::resident_mb;

/// How a worker is started; for this binary alone.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Megabytes it may use.
    #[arg(long, value_name = "MB")]
    memory: u64,
}

/// A worker that has grown beyond so many megabytes ends after its session.
const WORN_MB: u64 = 256;

static LIMIT_MB: OnceLock<u64> = OnceLock::new();

/// Solver sessions are in workers from now on, each with so much memory.
pub(crate) fn employ_workers(memory_mb: u64) {
    let arguments = ["worker", "--memory", &memory_mb.to_string()].map(Into::into).to_vec();
    if let Some(program) = program() {
        employ(Launch { program, arguments });
    }
}

/// This binary. On Linux also if the file was replaced meanwhile: a worker must be of the same build.
fn program() -> Option<PathBuf> {
    let this = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && this.exists() { Some(this) } else { std::env::current_exe().ok() }
}

/// Answers until whoever asks is gone.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    limit(arguments.memory);
    let care = Care {
        is_worn: || resident_mb().is_some_and(|used| used > WORN_MB),
        is_full: || resident_mb().zip(LIMIT_MB.get()).is_some_and(|(used, limit)| used > *limit),
        end,
    };
    serve(std::io::stdin(), std::io::stdout(), care).context("the conversation ended")?;
    Ok(ExitCode::SUCCESS)
}

/// Beyond the limit the worker says that it is full; far beyond it the system ends it. No crash of it writes a file.
fn limit(memory_mb: u64) {
    let _ = LIMIT_MB.set(memory_mb);
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        // Address space that nothing is in counts, too: stacks, the program itself.
        let most = (memory_mb.saturating_mul(2).saturating_add(2048)) << 20;
        let _ = setrlimit(Resource::As, Rlimit { current: Some(most), maximum: Some(most) });
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
}

/// Ends this process at once. Not by `exit`: that tidies up under the feet of the solver.
fn end() {
    #[cfg(unix)]
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort();
}
