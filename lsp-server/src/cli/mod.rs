//! The command line.

mod check;
mod dump;
mod formats;
mod input;
mod render;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Proves assertions and the absence of run-time errors in C, or shows the path that breaks them.
#[derive(Parser)]
#[command(name = "proofline", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks programs.
    ///
    /// Exit code: 0 proved, 1 violated, 2 unknown, 3 the command line or an input cannot be used.
    Check(check::Arguments),
    /// Shows what is inside: tokens, trees, automata and so on.
    Dump(dump::Arguments),
    /// Serves editors (the Language Server Protocol on standard input and output).
    Lsp(crate::lsp::Arguments),
    /// Replays a counterexample in a debugger (the Debug Adapter Protocol on standard input and output).
    Dap(crate::dap::Arguments),
}

/// Exit code for wrong usage and unusable input.
const USAGE: u8 = 3;

/// Runs the command line.
pub(crate) fn run() -> ExitCode {
    let arguments = match Arguments::try_parse_from(input::gcc_spelling(std::env::args_os())) {
        Ok(arguments) => arguments,
        Err(error) => {
            // `--help` and `--version` are errors to clap, and successes to people.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    let outcome = match arguments.command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Dump(arguments) => dump::run(&arguments),
        Command::Lsp(arguments) => crate::lsp::run(&arguments),
        Command::Dap(arguments) => crate::dap::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(USAGE)
    })
}
