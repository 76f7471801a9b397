//! The command line.

mod batch;
mod check;
mod dump;
mod explain;
mod formats;
mod html;
mod input;
mod news;
mod pages;
mod project;
mod render;
mod session;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Proves that the places in C programs where a check applies do no harm (assertions, arithmetic, memory accesses, the lives of objects, values
/// that were never stored), or shows the path on which one does. What no check names is not looked at.
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
    /// Exit code: 0 proved, or nothing to prove; 1 violated; 2 unknown; 3 the command line or an input cannot be used.
    Check(Box<check::Arguments>),
    /// Writes down what a check has to do, as jobs that other machines can solve.
    ///
    /// Example: proofline plan jobs/ -- --property all src/*.c
    Plan(batch::PlanArguments),
    /// Solves jobs of a plan, on whatever machine.
    Solve(batch::SolveArguments),
    /// Reports what the solved jobs of a plan found, as `check` would have. To be called where the plan was made.
    ///
    /// Exit code: as of `check`.
    Merge(batch::MergeArguments),
    /// Says why functions of a file are proved, or what is missing: what they need, what holds in their loops, and each place that was checked.
    ///
    /// Example: proofline explain average.c careful
    ///
    /// Exit code: 0 proved; 1 something fails; 2 something is up to callers or not decided; 3 unusable.
    Explain(explain::Arguments),
    /// Shows what is inside: tokens, trees, automata and so on.
    Dump(dump::Arguments),
    /// Serves editors (the Language Server Protocol on standard input and output).
    Lsp(crate::lsp::Arguments),
    /// Replays a counterexample in a debugger (the Debug Adapter Protocol on standard input and output).
    Dap(crate::dap::Arguments),
    /// Prints what a shell needs to complete commands and options.
    ///
    /// For bash: proofline completions bash > ~/.local/share/bash-completion/completions/proofline
    Completions(pages::Completions),
    /// Writes the manual pages.
    #[command(hide = true)]
    ManualPages(pages::ManualPages),
    /// Runs a program with few rights: how tests are run.
    #[command(hide = true)]
    Confined(crate::sandbox::Arguments),
    /// Answers questions to the solver, for a `proofline` that started it.
    #[command(hide = true)]
    Worker(crate::solver_process::Arguments),
}

/// Exit code for wrong usage and unusable input.
const USAGE: u8 = 3;

/// Exit code of programs that write to a pipe that nobody reads: 128 and the number of the signal SIGPIPE.
const CLOSED_PIPE: u8 = 141;

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

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
        Command::Plan(arguments) => batch::plan(&arguments),
        Command::Solve(arguments) => batch::solve(&arguments),
        Command::Merge(arguments) => batch::merge(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Dump(arguments) => dump::run(&arguments),
        Command::Lsp(arguments) => crate::lsp::run(&arguments),
        Command::Dap(arguments) => crate::dap::run(&arguments),
        Command::Completions(arguments) => pages::completions::<Arguments>(&arguments),
        Command::ManualPages(arguments) => pages::manual::<Arguments>(&arguments),
        Command::Confined(arguments) => return crate::sandbox::become_confined(&arguments),
        Command::Worker(arguments) => crate::solver_process::run(&arguments),
    };
    // Their processor time counts as ours.
    proofline_ide::solver_process::dismiss();
    outcome.unwrap_or_else(|error| {
        if is_closed_pipe(&error) {
            // Who reads the output has read enough (`| head`).
            return ExitCode::from(CLOSED_PIPE);
        }
        eprintln!("error: {error:#}");
        ExitCode::from(USAGE)
    })
}
