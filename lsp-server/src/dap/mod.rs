//! `proofline dap`: a debug adapter that replays a counterexample, forward and back. It speaks the Debug Adapter Protocol on standard
//! input and output; nothing is executed, every value comes from the recorded path.

mod evaluate;
mod launch;
mod protocol;
mod replay;
mod session;

use std::{
    io::{BufReader, stdin, stdout},
    process::ExitCode,
};

use anyhow::Result;

use protocol::Incoming;
use session::Session;

/// How the adapter is started.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

/// Serves one debug session.
pub(crate) fn run(_: &Arguments) -> Result<ExitCode> {
    let mut input = BufReader::new(stdin().lock());
    let mut session = Session::new(protocol::Output::new(stdout()));
    while let Some(message) = protocol::read(&mut input)? {
        let Incoming::Request(request) = message else { continue };
        if !session.handle(&request)? {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}
