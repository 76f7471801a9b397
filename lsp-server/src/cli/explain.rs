//! `proofline explain`: why functions of a file are proved, or what is missing: what editors show in their view of a proof, as text.

use std::{io::Write, path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::{Context, Result, bail};
use proofline_ide::{
    AnalysisHost, Cancel, Change, Effort, FileResults, Settings, State, default_cache, proof, shown,
};

use super::{session::interruptible, terminal::Progress};
use crate::choices::Allocates;

/// Steps per question.
const STEPS: u64 = 3_000_000;

/// Which functions.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The C file.
    file: PathBuf,
    /// Functions of it (default: all).
    functions: Vec<String>,
    /// Include directory.
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<String>,
    /// Macro.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Whether memory can run out: `malloc` and its kin may return null, or never do.
    #[arg(long, value_enum, default_value_t = Allocates::MayFail)]
    allocation: Allocates,
    /// Steps per question (default: 3000000).
    #[arg(long, value_name = "STEPS", default_value_t = STEPS)]
    budget: u64,
    /// Says on standard error what is being done, line by line (a terminal shows the last line anyway).
    #[arg(long)]
    progress: bool,
}

/// Verifies the file as an editor would, and writes down why.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    crate::solver_process::employ_workers(4096);
    let cancel = interruptible();
    let path = std::path::absolute(&arguments.file)?;
    let text = std::fs::read(&path).with_context(|| format!("cannot read {}", shown(&arguments.file)))?;
    let text: Arc<str> = String::from_utf8_lossy(&text).into();
    let mut settings = Settings::default();
    let flags = |letter: char, values: &[String]| -> Vec<String> {
        values.iter().map(|v| format!("-{letter}{v}")).collect()
    };
    settings.options.flags = [flags('I', &arguments.include), flags('D', &arguments.define)].concat();
    settings.options.allocation = arguments.allocation.into();
    let mut host = default_cache().map_or_else(AnalysisHost::default, AnalysisHost::with_cache);
    let texts = vec![(path.clone(), Some(text.clone()))];
    host.apply(Change { texts, settings: Some(settings), ..Change::default() });
    let file = verified(&mut host, FileResults::new(path, text), arguments, &cancel)?;
    let mut out = std::io::stdout();
    // As people name it.
    let here = std::env::current_dir().unwrap_or_default();
    for problem in file.problems().iter().filter(|problem| problem.is_error) {
        eprintln!("warning: {}", problem.message);
    }
    let mut code = 0;
    let names: Vec<String> = match arguments.functions.is_empty() {
        true => file.functions().map(|function| function.name.clone()).collect(),
        false => arguments.functions.clone(),
    };
    for name in names {
        let Some(proof) = proof(&file, &name) else {
            bail!("there is no function `{name}` with a body in {}", shown(&arguments.file));
        };
        writeln!(out, "{}", proof.text(|path| shown(path.strip_prefix(&here).unwrap_or(path))))?;
        code = super::check::worst(
            code,
            match proof.state {
                State::Proved => 0,
                State::Violated => 1,
                State::Asks
                | State::Unknown
                | State::InternalError
                | State::Queued
                | State::Running
                | State::Stale => 2,
            },
        );
    }
    if cancel.is_cancelled() {
        eprintln!("interrupted: this is what is known so far");
    }
    Ok(ExitCode::from(code))
}

/// Asks what an editor asks, round by round.
fn verified(
    host: &mut AnalysisHost,
    mut file: FileResults,
    arguments: &Arguments,
    cancel: &Cancel,
) -> Result<FileResults> {
    let progress = Progress::new(arguments.progress);
    let stopped = |_| anyhow::anyhow!("stopped");
    progress.say("reading the program");
    let analysis = host.analysis(file.path());
    let program = analysis.program(cancel).map_err(stopped)?;
    let wanted = |decides: &std::collections::BTreeSet<proofline_ide::check::Name>| {
        let is_wanted = |name: &String| decides.iter().any(|decided| decided.as_str() == name);
        arguments.functions.is_empty() || arguments.functions.iter().any(is_wanted)
    };
    let entries: Vec<String> = program
        .entries()
        .iter()
        .filter(|entry| wanted(&entry.decides))
        .map(|entry| entry.name.clone())
        .collect();
    file.loaded(program);
    let mut waiting = entries;
    let mut effort = Some(Effort::quick(arguments.budget));
    while let Some(now) = effort {
        effort = now.next();
        for entry in std::mem::take(&mut waiting) {
            let listener = progress.clone();
            let heard = Arc::new(move |doing: &proofline_ide::Doing| listener.hear(doing));
            // Stopped: what is known is told.
            let Ok(report) = analysis.verify(&entry, &now, cancel, heard) else { break };
            let is_final = report.is_settled || effort.is_none();
            file.verified(report, is_final);
            if !is_final {
                waiting.push(entry);
            }
        }
    }
    file.stop();
    if let Ok(knowledge) = analysis.knowledge(cancel) {
        file.known(Arc::new(knowledge));
    }
    progress.done();
    Ok(file)
}
