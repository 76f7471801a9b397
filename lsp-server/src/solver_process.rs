//! The solver's processes: this binary, started as `proofline worker`. Knows how they are started, what they may use and how they end.

use std::{process::ExitCode, sync::OnceLock};

use anyhow::{Context, Result};
use proofline_ide::solver_process::{Care, Launch, employ, serve};

use crate::{memory::resident_mb, platform};

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
    if let Some(program) = platform::own_binary() {
        employ(Launch { program, arguments });
    }
}

/// Answers until whoever asks is gone.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    limit(arguments.memory);
    let care = Care {
        is_worn: || resident_mb().is_some_and(|used| used > WORN_MB),
        is_full: || resident_mb().zip(LIMIT_MB.get()).is_some_and(|(used, limit)| used > *limit),
        end: || platform::end_at_once(),
    };
    serve(std::io::stdin(), std::io::stdout(), care).context("the conversation ended")?;
    Ok(ExitCode::SUCCESS)
}

/// Beyond the limit the worker says that it is full; far beyond it the system ends it. No crash of it writes a file.
fn limit(memory_mb: u64) {
    let _ = LIMIT_MB.set(memory_mb);
    platform::limit_memory(memory_mb);
}
