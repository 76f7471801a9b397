//! A thread that computes. It knows jobs and answers, no client.

use std::{
    any::Any,
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, mpsc},
};

use proofline_ide::{Analysis, Cancelled, Doing, NamedFiles, Workspace, words};

use super::{
    event::{Event, Outcome},
    has_fault,
    jobs::{Job, Task},
    reproduce::{self, Permission},
};

/// A job with a snapshot of the inputs, if it looks at any.
pub(super) struct Work {
    pub(super) job: Job,
    pub(super) analysis: Option<Analysis>,
}

/// Deeply nested programs need a deep stack. Only what is used of it is memory.
const STACK: usize = 1 << 29;

/// Starts a worker.
pub(super) fn start(number: usize, events: mpsc::Sender<Event>) -> std::io::Result<mpsc::Sender<Work>> {
    let (jobs, inbox) = mpsc::channel::<Work>();
    let work = move || {
        for work in inbox {
            let id = work.job.id;
            let (path, revision) = (work.job.path.clone(), work.job.revision);
            let outcome = catch_unwind(AssertUnwindSafe(|| perform(work, &events)))
                .unwrap_or_else(|panic| Outcome::Panicked { path, revision, text: panic_text(&*panic) });
            if events.send(Event::Done { worker: number, job: id, outcome }).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name(format!("worker {number}")).stack_size(STACK).spawn(work)?;
    Ok(jobs)
}

/// A panic's message.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn perform(work: Work, events: &mpsc::Sender<Event>) -> Outcome {
    let Work { job: Job { id, path, revision, task, cancel }, analysis } = work;
    match task {
        Task::Load { workspace, linked, is_urgent: _ } => {
            let program = analysis.ok_or(Cancelled).and_then(|analysis| analysis.program(&cancel));
            let linked = program.as_ref().ok().zip(workspace).map(|(program, workspace)| {
                let undefined = program.undefined();
                match linked {
                    Some((known, companions)) if known == *undefined => (known, companions),
                    Some(_) | None => (undefined.clone(), workspace.companions(&path, undefined)),
                }
            });
            Outcome::Loaded { path, revision, program, linked }
        }
        Task::Plan { program } => {
            // No edit waits for this.
            drop(analysis);
            let planned = program.find_plan_unless(&cancel);
            Outcome::Planned { path, revision, planned }
        }
        Task::Look { roots, program, project, before } => {
            let programs = |files: &BTreeSet<PathBuf>| {
                let named = project.iter().flat_map(|found| found.programs(files).into_values());
                named.map(|files| files.into_iter().collect()).collect()
            };
            let models = project.as_ref().map(|found| found.models()).unwrap_or_default();
            let named = NamedFiles { program: &program, programs: &programs, models: &models };
            Outcome::Looked(Workspace::look(&roots, &named, before.as_deref(), &cancel).map(Arc::new))
        }
        Task::Know => {
            let knowledge = analysis.ok_or(Cancelled).and_then(|analysis| analysis.knowledge(&cancel));
            let knowledge = knowledge.map(Arc::new);
            Outcome::Known { path, revision, knowledge }
        }
        Task::Test { program, finding, permission } => {
            let inputs = analysis.map(|analysis| {
                let text = analysis.text().unwrap_or_default();
                let beside = analysis.texts_of(program.companions());
                (text, beside, proofline_ide::compiler_flags(&path, analysis.settings()))
            });
            // The snapshot is gone: no edit waits for a compiler or for the test.
            let result = proofline_ide::test(&program, &finding).map(|test| {
                let inputs = inputs.filter(|_| permission != Permission::Write && test.is_visible);
                let ran = inputs.map(|(text, beside, flags)| {
                    reproduce::run(&test, &path, &text, &beside, &flags, permission, &cancel)
                });
                (test, ran)
            });
            Outcome::Tested { path, revision, finding: finding.id, result }
        }
        Task::Verify { entry, effort } => {
            let events = events.clone();
            let progress = Arc::new(move |doing: &Doing| {
                assert!(!(has_fault("panic") && doing.entry.as_str() == "panics"), "a seeded fault");
                let _ = events.send(Event::Progress { job: id, text: words::doing(doing) });
            });
            // A write on behalf of another buffer, at the worst moment.
            let is_lost = has_fault("lost") && revision == 1;
            let report = analysis
                .filter(|_| !is_lost)
                .ok_or(Cancelled)
                .and_then(|analysis| analysis.verify(&entry, &effort, &cancel, progress));
            Outcome::Verified { path, revision, entry, report, effort }
        }
    }
}
