//! Which job which worker does next: reading before verifying, small budgets before large ones, the most recently edited first.
//! One worker is always kept free of large jobs, so that an edit never waits for one.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use proofline_ide::{Cancel, Effort, Finding, Program, Rounds, Workspace};

use super::{host::Host, reproduce::Permission};
use crate::project_file::Found;

/// What to do.
#[derive(Clone)]
pub(super) enum Task {
    /// Read the file; what its program consists of was found out before for these undefined functions.
    /// If it `is_urgent`, somebody has edited or opened it.
    Load { workspace: Option<Arc<Workspace>>, linked: Linked, is_urgent: bool },
    /// Decide what an entry decides.
    Verify { entry: String, effort: Effort },
    /// Look at the C files under the roots, again if there is something to start from.
    Look {
        roots: Vec<PathBuf>,
        program: Vec<PathBuf>,
        project: Option<Arc<Found>>,
        before: Option<Arc<Workspace>>,
    },
    /// Find out from where the text of a large file is checked.
    Plan { program: Arc<Program> },
    /// Find out what holds where in the file.
    Know,
    /// Write the test of a finding, and run it.
    Test { program: Arc<Program>, finding: Box<Finding>, permission: Permission },
}

/// Smaller is earlier: class, then (behind how long ago somebody asked about the buffer) how long ago it was touched, then the place in the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Priority {
    class: u8,
    age: u64,
    place: usize,
}

/// A job that waits.
struct Waiting {
    path: PathBuf,
    revision: u64,
    task: Task,
    priority: Priority,
}

/// A job for a worker.
pub(super) struct Job {
    pub(super) id: u64,
    pub(super) path: PathBuf,
    pub(super) revision: u64,
    pub(super) task: Task,
    pub(super) cancel: Cancel,
}

/// A job a worker does.
pub(super) struct Running {
    pub(super) path: PathBuf,
    pub(super) task: Task,
    pub(super) since: Instant,
    /// What was last heard of it.
    text: String,
    cancel: Cancel,
    revision: u64,
    /// It has not been asked to stop. (Its `cancel` also says when a write stopped it, or other work that it waited for.)
    pub(super) is_wanted: bool,
}

impl Running {
    /// What it does, for a status line.
    pub(super) fn words(&self) -> String {
        let file = || self.path.file_name().unwrap_or_default().to_string_lossy();
        match &self.task {
            Task::Load { .. } => format!("reading {}", file()),
            Task::Look { .. } => "looking at the folder's files".to_owned(),
            Task::Plan { .. } => format!("finding out where to begin in {}", file()),
            Task::Know => format!("finding out what holds in {}", file()),
            Task::Test { .. } => "writing a test".to_owned(),
            Task::Verify { entry, .. } if self.text.is_empty() => entry.clone(),
            Task::Verify { .. } => self.text.clone(),
        }
    }

    fn stop(&mut self) {
        self.is_wanted = false;
        self.cancel.cancel();
    }
}

/// The queue and the workers.
pub(super) struct Jobs {
    host: Host,
    workers: usize,
    idle: Vec<usize>,
    waiting: Vec<Waiting>,
    running: BTreeMap<u64, Running>,
    next: u64,
}

const LOAD: u8 = 0;
/// Little is read, and it makes programs others.
const LOOK_AGAIN: u8 = 1;
const QUICK: u8 = 2;
/// Before large budgets: what is found changes the program that they are spent on.
const LOOK: u8 = 3;
const KNOW: u8 = 4;
const BRIEF: u8 = 5;
const FULL: u8 = 6;
/// Somebody has asked for it, and it may take long.
const MOST: u8 = 7;

/// The functions that a file does not define, and the files that do.
pub(super) type Linked = Option<(BTreeSet<String>, Vec<PathBuf>)>;

impl Jobs {
    /// For so many workers, which the host gives their jobs.
    pub(super) fn new(host: Host, workers: usize) -> Jobs {
        let idle = (0..workers).rev().collect();
        Jobs { host, workers, idle, waiting: Vec::new(), running: BTreeMap::new(), next: 0 }
    }

    /// Adds a job.
    pub(super) fn push(&mut self, path: &Path, revision: u64, task: Task, place: usize) {
        let class = match &task {
            Task::Load { is_urgent: true, .. } | Task::Test { .. } => LOAD,
            // One buffer after the other, with the first answers about it.
            Task::Load { is_urgent: false, .. } | Task::Plan { .. } => QUICK,
            Task::Look { before: Some(_), .. } => LOOK_AGAIN,
            Task::Look { before: None, .. } => LOOK,
            Task::Know => KNOW,
            Task::Verify { effort, .. } => match effort.rounds {
                Rounds::Cheap => QUICK,
                Rounds::Brief => BRIEF,
                Rounds::All => FULL,
                Rounds::Portfolio => MOST,
            },
        };
        let priority = Priority { class, age: u64::MAX - revision, place };
        self.waiting.push(Waiting { path: path.to_path_buf(), revision, task, priority });
    }

    /// Forgets the jobs of a file and stops those that run.
    pub(super) fn cancel(&mut self, path: &Path) {
        self.waiting.retain(|waiting| waiting.path != path);
        self.running.values_mut().filter(|running| running.path == path).for_each(Running::stop);
    }

    /// Forgets and stops everything.
    pub(super) fn cancel_all(&mut self) {
        self.waiting.clear();
        self.running.values_mut().for_each(Running::stop);
    }

    /// Gives jobs to workers as long as both are there: of one class, those of the file that was `used` last come first. Returns what was begun.
    pub(super) fn dispatch(&mut self, used: impl Fn(&Path) -> u64) -> Vec<(PathBuf, Task)> {
        let mut begun = Vec::new();
        while let Some(&worker) = self.idle.last() {
            let large = self.running.values().filter(|running| is_large(&running.task)).count();
            let may = |waiting: &Waiting| !is_large(&waiting.task) || large + 1 < self.workers.max(2);
            let best = self.waiting.iter().enumerate().filter(|(_, waiting)| may(waiting));
            let order = |waiting: &Waiting| {
                let Priority { class, age, place } = waiting.priority;
                (class, Reverse(used(&waiting.path)), age, place)
            };
            let Some((at, _)) = best.min_by_key(|(_, waiting)| order(waiting)) else { break };
            let Waiting { path, revision, task, .. } = self.waiting.swap_remove(at);
            let (id, cancel) = (self.next, Cancel::default());
            self.next += 1;
            let running = Running {
                path: path.clone(),
                task: task.clone(),
                since: Instant::now(),
                text: String::new(),
                cancel: cancel.clone(),
                revision,
                is_wanted: true,
            };
            begun.push((path.clone(), task.clone()));
            self.host.give(worker, Job { id, path, revision, task, cancel });
            self.running.insert(id, running);
            self.idle.pop();
        }
        begun
    }

    /// A worker is done.
    pub(super) fn done(&mut self, worker: usize, id: u64) -> Option<Running> {
        self.idle.push(worker);
        self.running.remove(&id)
    }

    /// Does a job again from the start.
    pub(super) fn again(&mut self, running: Running) {
        self.push(&running.path, running.revision, running.task, 0);
    }

    /// Jobs that are being done.
    pub(super) fn running(&self) -> impl Iterator<Item = &Running> {
        self.running.values()
    }

    /// What a job is at.
    pub(super) fn set_text(&mut self, id: u64, text: String) {
        if let Some(running) = self.running.get_mut(&id) {
            running.text = text;
        }
    }

    /// The files that something waits or runs for.
    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        let waiting = self.waiting.iter().map(|waiting| waiting.path.clone());
        waiting.chain(self.running.values().map(|running| running.path.clone())).collect()
    }

    /// Whether a file's text waits to be read, or is being read.
    pub(super) fn is_reading(&self, path: &Path) -> bool {
        let reads = |of: &Path, task: &Task| of == path && matches!(task, Task::Load { .. });
        self.waiting.iter().any(|waiting| reads(&waiting.path, &waiting.task))
            || self.running.values().any(|running| reads(&running.path, &running.task))
    }

    /// Nothing waits and nothing runs.
    pub(super) fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }
}

fn is_large(task: &Task) -> bool {
    match task {
        Task::Know | Task::Plan { .. } => true,
        // The second time only what has changed is read.
        Task::Look { before, .. } => before.is_none(),
        Task::Verify { effort, .. } => effort.rounds != Rounds::Cheap,
        Task::Load { .. } | Task::Test { .. } => false,
    }
}
