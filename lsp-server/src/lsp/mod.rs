//! `proofline lsp`: the language server on standard input and output. A thin transport (tower-lsp-server on tokio) over one actor that
//! owns every buffer and every answer; workers compute. Knows LSP; knows nothing of how verdicts are found.

mod actor;
mod backend;
mod capabilities;
mod commands;
mod convert;
mod diagnostics;
mod document;
mod event;
mod features;
mod functions;
mod host;
mod jobs;
mod markdown;
mod memory;
mod outbox;
mod pages;
mod progress;
mod reproduce;
mod requests;
mod settings;
mod watcher;
mod worker;

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use tower_lsp_server::{LspService, Server};

use backend::Backend;
use event::Event;

/// Faults that a debug build can be asked to have, so that a test can show that it would notice.
fn has_fault(name: &str) -> bool {
    cfg!(debug_assertions) && std::env::var_os("PROOFLINE_TEST_FAULT").is_some_and(|fault| fault == name)
}

/// How the server is started.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Prints the JSON schema of the settings section `proofline` and ends.
    #[arg(long)]
    settings_schema: bool,
    /// Accepted because some editors pass it: standard input and output are all there is.
    #[arg(long)]
    stdio: bool,
}

/// How long the end of the process waits for workers that are asked to stop.
const GRACE: Duration = Duration::from_millis(400);

/// Serves until the client says `exit` or closes the input.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.settings_schema {
        println!("{}", serde_json::to_string_pretty(&settings::schema())?);
        return Ok(ExitCode::SUCCESS);
    }
    let _ = arguments.stdio;
    crate::solver_process::employ_workers(memory::of_one_worker(
        settings::Settings::default().memory_limit_mb,
    ));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .thread_name("transport")
        .build()
        .context("cannot start the transport")?;
    let (events, inbox) = std::sync::mpsc::channel();
    let mut actor = None;
    let closed = std::sync::Arc::new(tokio::sync::Notify::new());
    let (service, socket) = LspService::build(|client| {
        let outbox = outbox::Outbox::new(client, runtime.handle(), events.clone());
        actor = Some(actor::start(outbox, events.clone(), inbox));
        Backend::new(events.clone(), closed.clone())
    })
    .custom_method("proofline/functions", Backend::functions)
    .custom_method("window/workDoneProgress/cancel", Backend::progress_cancelled)
    .finish();
    let actor = actor.transpose().context("cannot start a thread")?;
    let is_orderly = service.inner().is_shut_down();
    runtime.block_on(async {
        let input = backend::watch(tokio::io::stdin(), closed.clone());
        let server = Server::new(input, tokio::io::stdout(), socket).concurrency_level(64);
        let serve = server.serve(service);
        // The answers to requests that are still open when the input ends go nowhere.
        tokio::select! {
            () = serve => {}
            () = async { closed.notified().await; tokio::time::sleep(Duration::from_millis(200)).await } => {}
        }
    });
    let _ = events.send(Event::Exit);
    let end = std::time::Instant::now() + GRACE;
    while actor.as_ref().is_some_and(|(thread, _)| !thread.is_finished()) && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    if let Some((_, answers)) = &actor {
        answers.save();
    }
    runtime.shutdown_background();
    let code = u8::from(!is_orderly.load(std::sync::atomic::Ordering::Relaxed));
    Ok(ExitCode::from(code))
}
