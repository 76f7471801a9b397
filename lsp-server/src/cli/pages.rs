//! What shells and `man` know of the command line, from its own definition.

use std::{io::Write, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::CommandFactory;

/// `proofline completions`
#[derive(clap::Args)]
pub(super) struct Completions {
    /// For which shell.
    shell: clap_complete::Shell,
}

/// `proofline manual-pages`
#[derive(clap::Args)]
pub(super) struct ManualPages {
    /// Where they go; a page for each command.
    folder: PathBuf,
}

/// Prints a shell's completions of a command line.
///
/// # Errors
/// If nobody reads.
pub(super) fn completions<C: CommandFactory>(arguments: &Completions) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut C::command(), "proofline", &mut text);
    std::io::stdout().write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the manual pages of a command line.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn manual<C: CommandFactory>(arguments: &ManualPages) -> Result<ExitCode> {
    let folder = &arguments.folder;
    let what = || format!("cannot write manual pages into {}", folder.display());
    std::fs::create_dir_all(folder).with_context(what)?;
    clap_mangen::generate_to(C::command(), folder).with_context(what)?;
    Ok(ExitCode::SUCCESS)
}
