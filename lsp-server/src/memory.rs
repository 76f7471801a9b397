//! How much memory this process uses, and the ceiling of the command line.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use proofline_ide::Cancel;

/// Megabytes in use; unknown on systems that do not tell.
pub(crate) fn resident_mb() -> Option<u64> {
    let used = memory_stats::memory_stats()?.physical_mem;
    Some(used as u64 >> 20)
}

/// Between two looks. What reads a large text takes some gigabytes in a second.
const EVERY: Duration = Duration::from_millis(20);

/// How long work may take to stop before the process ends,
const GRACE: Duration = Duration::from_secs(10);

/// and how much more it may take meanwhile, in megabytes: a part of the limit, and this.
const MORE: u64 = 64;

/// A ceiling: whether it was reached.
#[derive(Clone, Default)]
pub(crate) struct Ceiling(Arc<AtomicBool>);

impl Ceiling {
    /// Stops the work when this process uses more. If that does not help, `give_up` is called, which shall end the process.
    pub(crate) fn watch(limit_mb: u64, cancel: Cancel, give_up: impl FnOnce() + Send + 'static) -> Ceiling {
        let ceiling = Ceiling::default();
        let reached = ceiling.clone();
        let is_above = move |limit: u64| resident_mb().is_some_and(|used| used > limit);
        let look = move || {
            while !is_above(limit_mb) {
                std::thread::sleep(EVERY);
            }
            reached.0.store(true, Ordering::SeqCst);
            let end = Instant::now() + GRACE;
            cancel.cancel();
            while Instant::now() < end && !is_above(limit_mb.saturating_add(limit_mb / 4 + MORE)) {
                std::thread::sleep(EVERY);
            }
            give_up();
        };
        // Without a thread there is no ceiling.
        let _ = std::thread::Builder::new().name("memory".into()).spawn(look);
        ceiling
    }

    /// Whether it was reached.
    pub(crate) fn is_reached(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
