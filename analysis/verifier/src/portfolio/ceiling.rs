//! How much memory one engine may take: an engine that makes the process grow by more is ended, and the next one is asked. What is known by then stays.
//!
//! Which engine it is hangs on the machine, as what is done until a deadline does: such an answer is `Unknown(OutOfMemory)` and is not remembered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use parking_lot::{Condvar, Mutex};
use proofline_cpa::{Cancel, OnCancel};

/// A ceiling for each engine.
#[derive(Clone, Copy, Debug)]
pub struct Ceiling {
    /// Megabytes that the process uses; unknown on systems that do not tell.
    pub used: fn() -> Option<u64>,
    /// Megabytes by which one engine may make it grow.
    pub growth: u64,
}

/// Between two looks.
const EVERY: Duration = Duration::from_millis(20);

/// An engine at work below its ceiling. It is watched until this is dropped.
pub(super) struct Watched {
    /// Ends the engine, and nothing else.
    pub(super) cancel: Cancel,
    entry: Arc<Entry>,
    _of_all: OnCancel,
}

/// What the watching thread knows of it.
struct Entry {
    used: fn() -> Option<u64>,
    /// Megabytes.
    most: u64,
    cancel: Cancel,
    is_reached: AtomicBool,
}

/// Those that are watched, and who watches.
#[derive(Default)]
struct Watch {
    entries: Vec<Arc<Entry>>,
    has_thread: bool,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch { entries: Vec::new(), has_thread: false });
static NEWS: Condvar = Condvar::new();

impl Watched {
    /// Begins with what the process uses now. `all` ends the engine, too. `None` where nobody can say what is used.
    pub(super) fn begin(ceiling: Ceiling, all: &Cancel) -> Option<Watched> {
        let most = (ceiling.used)()? + ceiling.growth;
        let cancel = Cancel::default();
        let of_engine = cancel.clone();
        let of_all = all.on_cancel(move || of_engine.cancel());
        let entry =
            Entry { used: ceiling.used, most, cancel: cancel.clone(), is_reached: AtomicBool::new(false) };
        let entry = Arc::new(entry);
        let mut watch = WATCH.lock();
        if !watch.has_thread {
            // Without a thread there is no ceiling.
            watch.has_thread = thread::Builder::new().name("ceiling".into()).spawn(look).is_ok();
        }
        watch.entries.push(entry.clone());
        NEWS.notify_one();
        Some(Watched { cancel, entry, _of_all: of_all })
    }

    /// Whether the engine was ended because of this.
    pub(super) fn is_reached(&self) -> bool {
        self.entry.is_reached.load(Ordering::SeqCst)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        WATCH.lock().entries.retain(|entry| !Arc::ptr_eq(entry, &self.entry));
    }
}

fn look() {
    let mut watch = WATCH.lock();
    loop {
        if watch.entries.is_empty() {
            NEWS.wait(&mut watch);
            continue;
        }
        let is_above = |entry: &&Arc<Entry>| (entry.used)().is_some_and(|used| used > entry.most);
        let above: Vec<Arc<Entry>> = watch.entries.iter().filter(is_above).cloned().collect();
        // What is to be stopped may take locks of its own.
        drop(watch);
        for entry in above {
            entry.is_reached.store(true, Ordering::SeqCst);
            entry.cancel.cancel();
        }
        thread::sleep(EVERY);
        watch = WATCH.lock();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicU64, time::Instant};

    use super::*;

    static USED: AtomicU64 = AtomicU64::new(100);

    #[test]
    fn who_makes_the_process_grow_is_ended_and_others_go_on() {
        let ceiling = Ceiling { used: || Some(USED.load(Ordering::SeqCst)), growth: 50 };
        let all = Cancel::default();
        let one = Watched::begin(ceiling, &all).expect("watched");
        assert!(!one.is_reached());
        USED.store(200, Ordering::SeqCst);
        // It begins where memory is full already, so it may take as much as the first one.
        let next = Watched::begin(ceiling, &all).expect("watched");
        let end = Instant::now() + Duration::from_secs(20);
        while !one.cancel.is_cancelled() && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(one.is_reached() && one.cancel.is_cancelled());
        assert!(!next.is_reached() && !next.cancel.is_cancelled() && !all.is_cancelled());
        all.cancel();
        assert!(next.cancel.is_cancelled() && !next.is_reached());
    }
}
