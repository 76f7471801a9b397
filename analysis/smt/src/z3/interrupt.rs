//! Stopping Z3 from another thread. One `Z3_interrupt` is not enough: it is lost if it lands just before the search
//! starts (measured). The protocol:
//!
//! 1. the worker registers its context, *then* looks whether a stop was requested, then starts Z3 with a limit;
//! 2. a thread that wants to stop it sets the request, then interrupts every registered context again and again until none is left;
//! 3. whatever an interrupted worker computed is thrown away: it is no answer.
//!
//! A solver in a process of its own is stopped by ending the process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::ffi;
use crate::worker::Leash;
use parking_lot::{Condvar, Mutex, MutexGuard};

/// A handle that stops every solver it was given to. Make one per job: a request stays until [`Interrupter::reset`].
#[derive(Clone, Default)]
pub struct Interrupter(Arc<Shared>);

/// Something inside the solver.
pub(crate) enum Target {
    /// A context of this process.
    Here(ffi::Target),
    /// A process.
    Worker(Arc<Leash>),
}

impl Target {
    fn interrupt(&self) {
        match self {
            Target::Here(context) => context.interrupt(),
            Target::Worker(process) => process.kill(),
        }
    }
}

type Poll = Box<dyn Fn() -> bool + Send + Sync>;

#[derive(Default)]
struct Shared {
    requested: AtomicBool,
    poll: Option<Poll>,
    running: Mutex<Running>,
    left: Condvar,
}

#[derive(Default)]
struct Running {
    next: u64,
    targets: BTreeMap<u64, Target>,
}

impl fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupter").field("requested", &self.is_requested()).finish_non_exhaustive()
    }
}

impl Interrupter {
    /// A handle that has not been asked to stop.
    #[must_use]
    pub fn new() -> Interrupter {
        Interrupter::default()
    }

    /// A handle that also counts as asked to stop whenever `poll` says so. `poll` is called often and must be cheap.
    #[must_use]
    pub fn with_poll(poll: impl Fn() -> bool + Send + Sync + 'static) -> Interrupter {
        Interrupter(Arc::new(Shared { poll: Some(Box::new(poll)), ..Shared::default() }))
    }

    /// Whether work should stop. Long loops outside of Z3 ask this too.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::SeqCst) || self.0.poll.as_ref().is_some_and(|poll| poll())
    }

    /// Asks to stop, and returns when no registered solver is inside Z3 any more (usually some milliseconds).
    pub fn interrupt(&self) {
        self.0.requested.store(true, Ordering::SeqCst);
        let mut running = self.running();
        while !running.targets.is_empty() {
            for target in running.targets.values() {
                target.interrupt();
            }
            self.0.left.wait_for(&mut running, Duration::from_millis(1));
        }
    }

    /// Asks to stop and returns at once: for signal handlers and event loops. Work that is just entering Z3 may run
    /// to its limit, unless [`Interrupter::interrupt`] follows from some thread.
    pub fn request(&self) {
        self.0.requested.store(true, Ordering::SeqCst);
        for target in self.running().targets.values() {
            target.interrupt();
        }
    }

    /// Takes the request back. Only for tests and single-threaded use: a worker that has not looked yet goes on.
    pub fn reset(&self) {
        self.0.requested.store(false, Ordering::SeqCst);
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.running.lock()
    }

    /// Runs `work`, which asks the solver, so that it can be stopped: `target` says how, and `keep` lives as long as another thread
    /// may use it. `None` if a stop was requested, before or during.
    pub(crate) fn guard<K, T>(&self, target: Target, keep: K, work: impl FnOnce() -> T) -> Option<T> {
        let registration = Registration::new(self, target, keep);
        if self.is_requested() {
            return None;
        }
        let result = work();
        drop(registration);
        (!self.is_requested()).then_some(result)
    }
}

/// A target in the registry; it leaves when this is dropped, also by unwinding.
struct Registration<'a, K> {
    owner: &'a Interrupter,
    key: u64,
    /// Dropped after the target has left.
    _keep: K,
}

impl<'a, K> Registration<'a, K> {
    fn new(owner: &'a Interrupter, target: Target, keep: K) -> Registration<'a, K> {
        let mut running = owner.running();
        let key = running.next;
        running.next += 1;
        running.targets.insert(key, target);
        Registration { owner, key, _keep: keep }
    }
}

impl<K> Drop for Registration<'_, K> {
    fn drop(&mut self) {
        self.owner.running().targets.remove(&self.key);
        self.owner.0.left.notify_all();
    }
}
