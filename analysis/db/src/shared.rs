//! What queries need besides what they are computed from: the ends of the work, what handles share. Knows no query.

use std::{
    collections::BTreeMap,
    panic::resume_unwind,
    path::PathBuf,
    sync::{Arc, Weak},
    time::Instant,
};

use parking_lot::Mutex;
use proofline_cpa::OnCancel;
use proofline_syntax::Unit;
use proofline_verifier::{Cancel, Name, Summaries, blocks::BlockRun, portfolio::Control, report::Judgement};

use crate::{files::Files, functions::Functions, memory::Memory, work::Work};

/// Pieces of work that are remembered for who asks for them.
const MOST_WORK: usize = 1 << 20;

/// What queries ask of the database besides memory.
#[salsa::db]
pub(crate) trait Db: salsa::Database {
    /// What all handles share.
    fn shared(&self) -> &Arc<Shared>;
    /// What ends the work of this handle, and who hears of it.
    fn control(&self) -> &Control;
    /// The run that asks for blocks.
    fn run(&self) -> &dyn BlockRun;
    /// Another handle, for the blocks of a run.
    fn handle(&self, run: Option<Arc<dyn BlockRun>>) -> Box<dyn Db + Send>;
}

/// Unwinds through salsa where work was stopped without an edit: nothing is remembered.
pub(crate) struct Interrupted {
    /// What was known by then.
    pub(crate) partial: Judgement,
}

/// What all handles share.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) files: Files,
    /// What files were parsed to last, as long as somebody has it.
    pub(crate) parsed: Mutex<BTreeMap<PathBuf, Weak<Unit>>>,
    pub(crate) functions: Functions,
    /// Shared with other graphs, maybe.
    pub(crate) memory: Arc<Memory>,
    pub(crate) summaries: Arc<Summaries>,
    pub(crate) millis: Mutex<BTreeMap<Name, u64>>,
    pub(crate) saved: Mutex<Option<Instant>>,
    pub(crate) running: Arc<Running>,
    pub(crate) work: Mutex<Vec<Work>>,
}

/// What has to stop before a write goes on.
#[derive(Default)]
pub(crate) struct Running {
    jobs: Mutex<(u64, BTreeMap<u64, Cancel>)>,
}

/// A job in the registry; leaves it when dropped.
pub(crate) struct Registration {
    running: Arc<Running>,
    key: u64,
}

/// Engines at work for one query. A write stops them, and so does whoever asked the handle; what stops them stops nothing else on the handle.
pub(crate) struct Asking {
    /// How they end.
    pub(crate) control: Control,
    _written: Registration,
    _asked: OnCancel,
}

impl dyn Db + '_ {
    /// Engines begin to work here. Looks for a write that came before; a later one finds us registered.
    pub(crate) fn asking(&self) -> Asking {
        let cancel = Cancel::default();
        let asked = self.control().cancel.on_cancel({
            let cancel = cancel.clone();
            move || cancel.cancel()
        });
        let written = self.shared().register(&cancel);
        self.unwind_if_revision_cancelled();
        let control = Control { cancel, ..self.control().clone() };
        Asking { control, _written: written, _asked: asked }
    }
}

impl Asking {
    /// They have ended. Unwinds if they were stopped, or if they found out less than they might have (`is_partial`) because time is over:
    /// nothing is remembered then.
    pub(crate) fn ended(self, db: &dyn Db, is_partial: bool, known: impl FnOnce() -> Judgement) {
        let is_stopped = self.control.cancel.is_cancelled();
        let is_late = self.control.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        drop(self);
        db.unwind_if_revision_cancelled();
        if is_stopped || is_partial && is_late {
            resume_unwind(Box::new(Interrupted { partial: known() }));
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.running.jobs.lock().1.remove(&self.key);
    }
}

impl Running {
    /// Stops all of it.
    pub(crate) fn stop(&self) {
        let jobs: Vec<Cancel> = self.jobs.lock().1.values().cloned().collect();
        jobs.iter().for_each(Cancel::cancel);
    }
}

impl Shared {
    pub(crate) fn log(&self, work: Work) {
        self.memory.counts.lock().add(&work);
        let mut all = self.work.lock();
        if all.len() >= MOST_WORK {
            // Nobody asks for it.
            all.clear();
        }
        all.push(work);
    }

    /// Work that an edit stops through `cancel`. Look whether one is waiting after this, not before.
    pub(crate) fn register(&self, cancel: &Cancel) -> Registration {
        let mut jobs = self.running.jobs.lock();
        jobs.0 += 1;
        let key = jobs.0;
        jobs.1.insert(key, cancel.clone());
        Registration { running: self.running.clone(), key }
    }
}
