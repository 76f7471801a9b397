//! A thread that computes. It knows jobs and answers, no client.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc},
};

use proofline_ide::{Cancelled, Workspace};

use super::{
    event::{Event, Outcome},
    has_fault,
    jobs::{Job, Task},
    reproduce,
};

/// Deeply nested programs need a deep stack. Only what is used of it is memory.
const STACK: usize = 1 << 29;

/// Starts a worker.
pub(super) fn start(number: usize, events: mpsc::Sender<Event>) -> std::io::Result<mpsc::Sender<Job>> {
    let (jobs, inbox) = mpsc::channel::<Job>();
    let work = move || {
        for job in inbox {
            let id = job.id;
            let (path, stamp) = (job.path.clone(), job.stamp);
            let outcome = catch_unwind(AssertUnwindSafe(|| perform(job, &events))).unwrap_or_else(|panic| {
                let text = panic
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                Outcome::Panicked { path, stamp, text }
            });
            if events.send(Event::Done { worker: number, job: id, outcome }).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name(format!("worker {number}")).stack_size(STACK).spawn(work)?;
    Ok(jobs)
}

fn perform(job: Job, events: &mpsc::Sender<Event>) -> Outcome {
    let Job { id, path, stamp, task, analysis, cancel } = job;
    match task {
        Task::Load { workspace, linked } => {
            let program = analysis.program(&path, &cancel);
            let linked = program.as_ref().ok().zip(workspace).map(|(program, workspace)| {
                let undefined = program.undefined();
                match linked {
                    Some((known, companions)) if known == *undefined => (known, companions),
                    Some(_) | None => (undefined.clone(), workspace.companions(&path, undefined)),
                }
            });
            Outcome::Loaded { path, stamp, program, linked }
        }
        Task::Look { roots, program, before } => {
            Outcome::Looked(Workspace::look(&roots, &program, before.as_deref(), &cancel).map(Arc::new))
        }
        Task::Know => {
            let knowledge = analysis.knowledge(&path, &cancel).map(Arc::new);
            Outcome::Known { path, stamp, knowledge }
        }
        Task::Test { program, finding, may_run } => {
            let result = proofline_ide::test(&program, &finding).map(|test| {
                let ran = (may_run && test.is_visible).then(|| {
                    let text = analysis.text(&path).unwrap_or_default();
                    let flags = proofline_ide::compiler_flags(&path, analysis.settings());
                    reproduce::run(&test, &path, &text, &flags, &cancel)
                });
                (test, ran)
            });
            Outcome::Tested { path, stamp, finding: finding.id, result }
        }
        Task::Verify { entry, effort, is_final } => {
            let events = events.clone();
            let progress = Arc::new(move |text: &str| {
                assert!(!(has_fault("panic") && text.starts_with("panics:")), "a seeded fault");
                let _ = events.send(Event::Progress { job: id, text: text.to_owned() });
            });
            // A write on behalf of somebody else, at the worst moment.
            let is_lost = has_fault("lost") && stamp == 1;
            let report = if is_lost {
                Err(Cancelled)
            } else {
                analysis.verify(&path, &entry, &effort, &cancel, progress)
            };
            Outcome::Verified { path, stamp, entry, report, is_final }
        }
    }
}
