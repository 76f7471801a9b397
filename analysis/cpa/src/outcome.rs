//! How long operations end: budgets, cancellation, and the reasons for not knowing.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt::{self, Debug},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use crate::path::Path;
use parking_lot::{Mutex, MutexGuard};

/// Why an analysis gave up. Never a panic, never a silent `Holds`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Unknown {
    /// The caller asked it to stop.
    Cancelled,
    /// The budget of steps (or the caller's time limit) is used up.
    OutOfBudget,
    /// A limit of memory was reached.
    OutOfMemory,
    /// The solver ended in the middle of a question, more than once.
    SolverStopped,
    /// The caller's time limit ended the work.
    OutOfTime,
    /// The method has nothing to look at in this program; the text says what it needs.
    NotApplicable(String),
    /// Something that is not modelled and cannot be over-approximated; the text says what and where.
    Unsupported(String),
    /// Refinement cannot exclude a spurious path; the text says which.
    NoProgress(String),
    /// The path exists in the abstraction, but no concrete run of it was found.
    Unconfirmed(String),
    /// It holds if callers keep the contract of the function; whether they do, nobody knows here.
    IfCallersKeep,
    /// It holds if these functions keep what they ensure, which is not proved.
    IfEnsured(String),
    /// A defect of ours; the text helps to reproduce it.
    InternalError(String),
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Cancelled => f.write_str("cancelled"),
            Unknown::OutOfBudget => f.write_str("out of budget"),
            Unknown::OutOfMemory => f.write_str("out of memory"),
            Unknown::SolverStopped => f.write_str("the solver stopped"),
            Unknown::OutOfTime => f.write_str("time limit"),
            Unknown::NotApplicable(what) => write!(f, "not applicable: {what}"),
            Unknown::Unsupported(what) => write!(f, "unsupported: {what}"),
            Unknown::NoProgress(what) => write!(f, "no progress: {what}"),
            Unknown::Unconfirmed(what) => f.write_str(what),
            Unknown::IfCallersKeep => f.write_str("it holds if callers keep the contract of the function"),
            Unknown::IfEnsured(functions) => {
                write!(f, "it rests on what {functions} ensures, which is not proved")
            }
            Unknown::InternalError(what) => write!(f, "internal error: {what}"),
        }
    }
}

/// A cancellation flag that can be shared, and what it has to stop besides.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Shared>);

#[derive(Default)]
struct Shared {
    flag: AtomicBool,
    stops: Mutex<Stops>,
}

#[derive(Default)]
struct Stops {
    next: u64,
    open: BTreeMap<u64, Stop>,
}

type Stop = Arc<dyn Fn() + Send + Sync>;

impl Cancel {
    /// Asks all work that holds this flag to stop, and stops work that does not poll it.
    pub fn cancel(&self) {
        self.0.flag.store(true, Ordering::SeqCst);
        let stops: Vec<Stop> = self.stops().open.values().cloned().collect();
        for stop in stops {
            stop();
        }
    }
    /// Whether stopping was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.flag.load(Ordering::Relaxed)
    }
    /// Runs `stop` when stopping is asked for, as long as the result lives; at once if it was before. It must end soon, may run more
    /// than once, and on any thread.
    #[must_use]
    pub fn on_cancel(&self, stop: impl Fn() + Send + Sync + 'static) -> OnCancel {
        let stop: Stop = Arc::new(stop);
        let mut stops = self.stops();
        let key = stops.next;
        stops.next += 1;
        stops.open.insert(key, stop.clone());
        drop(stops);
        if self.0.flag.load(Ordering::SeqCst) {
            stop();
        }
        OnCancel { cancel: self.clone(), key }
    }
    fn stops(&self) -> MutexGuard<'_, Stops> {
        self.0.stops.lock()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// Something that a cancellation stops; no longer when this is dropped.
pub struct OnCancel {
    cancel: Cancel,
    key: u64,
}

impl Drop for OnCancel {
    fn drop(&mut self) {
        self.cancel.stops().open.remove(&self.key);
    }
}

/// How much work may be done: a number of steps (so that a verdict is a function of the text), and optionally a deadline for
/// batch runs.
#[derive(Debug)]
pub struct Budget {
    left: Cell<u64>,
    cancel: Cancel,
    deadline: Option<Instant>,
}

impl Budget {
    /// So many steps.
    pub fn steps(steps: u64) -> Budget {
        Budget { left: Cell::new(steps), cancel: Cancel::default(), deadline: None }
    }
    /// No limit (tests, tiny inputs).
    pub fn unlimited() -> Budget {
        Budget::steps(u64::MAX)
    }
    /// The same, ended also by `cancel`.
    pub fn with_cancel(mut self, cancel: Cancel) -> Budget {
        self.cancel = cancel;
        self
    }
    /// The same, ended also at `deadline`.
    pub fn with_deadline(mut self, deadline: Option<Instant>) -> Budget {
        self.deadline = deadline;
        self
    }
    /// Steps left.
    pub fn left(&self) -> u64 {
        self.left.get()
    }
    /// The deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
    /// The flag that ends it.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }
    /// Whether stopping was asked for or the deadline has passed; for work that is accounted for afterwards.
    pub fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
    /// Accounts for one step of work.
    ///
    /// # Errors
    /// [`Unknown::OutOfBudget`] if no steps are left or the deadline has passed, [`Unknown::Cancelled`] if it was cancelled.
    pub fn step(&self) -> Result<(), Unknown> {
        self.spend(1)
    }
    /// Accounts for `n` steps of work.
    ///
    /// # Errors
    /// [`Unknown::OutOfBudget`] if fewer than `n` steps are left or the deadline has passed, [`Unknown::Cancelled`] if it was cancelled.
    pub fn spend(&self, n: u64) -> Result<(), Unknown> {
        if self.cancel.is_cancelled() {
            return Err(Unknown::Cancelled);
        }
        let left = self.left.get();
        if left < n {
            self.left.set(0);
            return Err(Unknown::OutOfBudget);
        }
        self.left.set(left - n);
        // A clock is read every 64 steps or so: cheap enough, and deadlines are a matter of seconds.
        if left % 64 < n
            && let Some(deadline) = self.deadline
            && Instant::now() >= deadline
        {
            return Err(Unknown::OutOfBudget);
        }
        Ok(())
    }
}

/// What refinement found out about an error path.
#[derive(Clone, Debug)]
pub enum Refinement<P, W = Path> {
    /// The path is infeasible; with this precision it (and paths like it) is not found again.
    Spurious(P),
    /// The path may be real, and this is known of it. The verifier's bit-precise replay decides.
    Feasible(W),
}

/// What an engine says about the selected obligations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome<W = Path> {
    /// No selected error location is reachable.
    Holds,
    /// A path reaches one (to be confirmed bit-precisely before anyone calls it a violation).
    Reaches(W),
    /// Not decided.
    Unknown(Unknown),
}

/// Analyses that learn from infeasible paths.
pub trait Refine: crate::cpa::Cpa {
    /// What is known of an error path that may be real: the path, and whatever the analysis found out about executions along it. Where
    /// nothing is refined it is made of the path alone.
    type Witness: From<Path> + Clone + PartialEq + Debug;

    /// Decides a path with this analysis' own means. `precision` is what the path was found with; the result must differ where
    /// it says `Spurious`, or the driver answers `NoProgress`.
    ///
    /// # Errors
    /// If the path is not decided.
    fn refine(
        &self,
        path: &Path,
        precision: &Self::Precision,
        budget: &Budget,
    ) -> Result<Refinement<Self::Precision, Self::Witness>, Unknown>;
}
