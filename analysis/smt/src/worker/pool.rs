//! The workers of this process: who is idle, and who watches the clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::bytes::{Input, Output};
use super::message::{Order, PROTOCOL, Reply};
use super::process::{Launch, Leash, Process};
use super::terms::{Known, Sent};
use crate::z3::Settings;

/// Idle workers kept; there are hardly ever more sessions at a time.
const IDLE: usize = 4;

/// How much longer than it may a question takes until its worker is ended.
const GRACE: Duration = Duration::from_millis(500);

/// Milliseconds until a worker is ready, on a busy machine.
const START_MILLIS: u32 = 10_000;

static POOL: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

/// Solver sessions that begin from now on are in workers that are started so. Those that have begun stay where they are.
pub fn employ(launch: Launch) {
    let mut current = POOL.lock();
    if current.as_ref().is_none_or(|pool| pool.launch != launch) {
        *current = Some(Arc::new(Pool { launch, idle: Mutex::default(), clock: Arc::default() }));
    }
}

/// Solver sessions that begin from now on are in this process, and the idle workers end.
pub fn dismiss() {
    let pool = POOL.lock().take();
    drop(pool);
}

/// The idle workers end, to save memory. New ones start when they are needed.
pub fn retire() {
    let idle = pool().map(|pool| std::mem::take(&mut *pool.idle.lock()));
    drop(idle);
}

pub(crate) fn pool() -> Option<Arc<Pool>> {
    POOL.lock().clone()
}

/// Workers of one kind.
#[derive(Debug)]
pub(crate) struct Pool {
    launch: Launch,
    idle: Mutex<Vec<Process>>,
    clock: Arc<Clock>,
}

impl Pool {
    /// A worker that is ready for a session: an idle one, or a new one.
    pub(super) fn lease(&self, settings: Settings) -> Result<Process, String> {
        loop {
            let idle = self.idle.lock().pop();
            let Some(process) = idle else { break };
            // It may have ended: after its last session, because it had grown, or by somebody's hand.
            if let Some(process) = self.ready(process, settings) {
                return Ok(process);
            }
        }
        let why = |why: &str| format!("the solver's process ({}) {why}", self.launch.program.display());
        // Somebody may kill a new one, too; but not three in a row.
        for _ in 0..3 {
            let process =
                Process::start(&self.launch).map_err(|error| why(&format!("does not start: {error}")))?;
            if let Some(process) = self.ready(process, settings) {
                return Ok(process);
            }
        }
        Err(why("does not answer"))
    }

    /// Opens a session; `None` if the worker cannot.
    fn ready(&self, mut process: Process, settings: Settings) -> Option<Process> {
        let mut out = Output::default();
        Order::Open(settings).write(&mut out, &mut Sent::default());
        let leash = process.leash().clone();
        let watch = self.watch(&leash, Some(START_MILLIS));
        let answer = process.exchange(&out.0).ok()?;
        drop(watch);
        let reply = Reply::read(&mut Input(&answer), &mut Known::default());
        (reply == Some(Reply::Ready(PROTOCOL))).then_some(process)
    }

    /// Takes a worker back at the end of a session.
    pub(super) fn give_back(&self, mut process: Process) {
        let mut out = Output::default();
        Order::Close.write(&mut out, &mut Sent::default());
        if process.send(&out.0).is_err() {
            return;
        }
        let mut idle = self.idle.lock();
        if idle.len() < IDLE {
            idle.push(process);
        }
    }

    /// Ends the worker if it has not answered in time; no longer when the result is dropped.
    pub(super) fn watch(&self, leash: &Arc<Leash>, millis: Option<u32>) -> Option<Watch> {
        let end = Instant::now() + Duration::from_millis(millis?.into()) + GRACE;
        Some(Clock::watch(&self.clock, end, leash.clone()))
    }
}

/// Ends workers whose time is over. Its thread lives while there is somebody to watch, and a while longer.
#[derive(Debug, Default)]
struct Clock {
    times: Mutex<Times>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Times {
    next: u64,
    watched: BTreeMap<(Instant, u64), Arc<Leash>>,
    is_running: bool,
}

/// A worker that is watched.
#[derive(Debug)]
pub(super) struct Watch {
    clock: Arc<Clock>,
    key: (Instant, u64),
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.clock.times.lock().watched.remove(&self.key);
    }
}

impl Clock {
    fn watch(this: &Arc<Clock>, end: Instant, leash: Arc<Leash>) -> Watch {
        let mut times = this.times.lock();
        let key = (end, times.next);
        times.next += 1;
        let is_first = times.watched.first_key_value().is_none_or(|((first, _), _)| end < *first);
        times.watched.insert(key, leash);
        if !times.is_running {
            let clock = this.clone();
            let thread = std::thread::Builder::new().name("solver clock".into()).spawn(move || clock.run());
            // Without a thread the solver's own limit must do.
            times.is_running = thread.is_ok();
        } else if is_first {
            this.changed.notify_one();
        }
        Watch { clock: this.clone(), key }
    }

    fn run(&self) {
        /// The thread waits so long for work before it ends.
        const PATIENCE: Duration = Duration::from_secs(5);
        let mut times = self.times.lock();
        loop {
            let now = Instant::now();
            while let Some(entry) = times.watched.first_entry()
                && entry.key().0 <= now
            {
                entry.remove().time_out();
            }
            let next = times.watched.first_key_value().map(|((end, _), _)| *end);
            let is_over = self.changed.wait_until(&mut times, next.unwrap_or(now + PATIENCE)).timed_out();
            if is_over && next.is_none() && times.watched.is_empty() {
                times.is_running = false;
                return;
            }
        }
    }
}
