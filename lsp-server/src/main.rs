//! The one binary: `proofline`. Knows the terminal and the editors; everything it says comes from the verifier.

mod choices;
mod cli;
mod dap;
mod lsp;
mod memory;
mod picture;
mod platform;
mod project_file;
mod sandbox;
mod solver_process;
mod team;

use std::process::ExitCode;

/// Abstract states are many small objects, made and dropped by several threads at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Deeply nested programs need a deep stack; the main thread's size is not ours to choose.
    let work = std::thread::Builder::new().name("proofline".into()).stack_size(1 << 29).spawn(cli::run);
    match work.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => {
            eprintln!(
                "error: an internal error ended the program (the message is above)\n  help: please report it with the input file"
            );
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: cannot start a thread: {error}");
            ExitCode::from(3)
        }
    }
}
