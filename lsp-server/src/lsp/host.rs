//! The thread that owns the analysis host. A write waits until what it makes worthless has stopped: that happens here, so that the actor
//! never waits. Jobs get their snapshots here, after all changes that were told before. Knows no client.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::mpsc,
};

use proofline_ide::{AnalysisHost, Change, solver_process::retire};

use super::{
    event::{Event, Outcome},
    jobs::{Job, Task},
    worker::{Work, panic_text},
};
use crate::platform::give_back_memory;

/// What the host's thread does, in the order in which it is told.
enum Order {
    /// Changes the inputs.
    Apply(Change),
    /// Forgets what was computed.
    Forget,
    /// The same of all files but these.
    Shed(BTreeSet<PathBuf>),
    /// Gives a worker a job, with a snapshot of the inputs as they are then.
    Give { worker: usize, job: Box<Job> },
}

/// The way to the host's thread.
#[derive(Clone)]
pub(super) struct Host(mpsc::Sender<Order>);

impl Host {
    /// Starts the thread. It ends with the last way to it.
    pub(super) fn start(
        mut host: AnalysisHost,
        workers: Vec<mpsc::Sender<Work>>,
        events: mpsc::Sender<Event>,
    ) -> std::io::Result<Host> {
        let (orders, inbox) = mpsc::channel();
        let work = move || {
            for order in inbox {
                match order {
                    Order::Apply(change) => {
                        let closes = change.texts.iter().any(|(_, text)| text.is_none());
                        host.apply(change);
                        if closes {
                            give_back_memory();
                        }
                    }
                    Order::Forget => {
                        retire();
                        host.forget();
                        give_back_memory();
                    }
                    Order::Shed(busy) => {
                        if host.shed(&busy) {
                            give_back_memory();
                        }
                    }
                    Order::Give { worker, job } => give(&mut host, &workers[worker], worker, *job, &events),
                }
            }
        };
        std::thread::Builder::new().name("host".into()).spawn(work)?;
        Ok(Host(orders))
    }

    /// Changes the inputs of all jobs that are given from now on.
    pub(super) fn apply(&self, change: Change) {
        let _ = self.0.send(Order::Apply(change));
    }

    /// Forgets what was computed, to save memory.
    pub(super) fn forget(&self) {
        let _ = self.0.send(Order::Forget);
    }

    /// Forgets what was computed of files that wait for nothing.
    pub(super) fn shed(&self, busy: BTreeSet<PathBuf>) {
        let _ = self.0.send(Order::Shed(busy));
    }

    /// Gives a worker that is idle a job.
    pub(super) fn give(&self, worker: usize, job: Job) {
        let _ = self.0.send(Order::Give { worker, job: Box::new(job) });
    }
}

fn give(
    host: &mut AnalysisHost,
    to: &mpsc::Sender<Work>,
    worker: usize,
    job: Job,
    events: &mpsc::Sender<Event>,
) {
    // Who looks at folders reads nothing that is edited.
    let analysis = match &job.task {
        Task::Look { .. } | Task::Plan { .. } => Ok(None),
        Task::Load { .. } | Task::Verify { .. } | Task::Know | Task::Test { .. } => {
            catch_unwind(AssertUnwindSafe(|| Some(host.analysis(&job.path))))
        }
    };
    match analysis {
        Ok(analysis) => {
            let _ = to.send(Work { job, analysis });
        }
        Err(panic) => {
            let (path, revision) = (job.path, job.revision);
            let outcome = Outcome::Panicked { path, revision, text: panic_text(&*panic) };
            let _ = events.send(Event::Done { worker, job: job.id, outcome });
        }
    }
}
