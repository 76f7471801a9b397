//! Solver sessions in processes, as users have them: Z3 can crash, and a test of a program must not end with it. The test's own binary is
//! the process, started with an argument of its own.

use std::process::{ExitCode, abort};

use proofline_smt::worker::{Care, Launch, employ, serve};

const ARGUMENT: &str = "solver-worker";

/// First thing in `main`: if this process is a worker, works until whoever asks is gone, and says how `main` ends. If it is not, solver
/// sessions are in workers from now on.
#[must_use]
pub fn work_or_employ() -> Option<ExitCode> {
    if std::env::args().nth(1).is_some_and(|argument| argument == ARGUMENT) {
        let care = Care { is_worn: || false, is_full: || false, end: || abort() };
        return Some(ExitCode::from(u8::from(serve(std::io::stdin(), std::io::stdout(), care).is_err())));
    }
    if let Ok(program) = std::env::current_exe() {
        employ(Launch { program, arguments: vec![ARGUMENT.into()] });
    }
    None
}
