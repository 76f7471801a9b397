//! What a job costs: time, and the memory that a machine needs for it.

use std::{
    fmt,
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{memory::resident_mb, platform::children_mb};

/// Between two looks at the memory.
const EVERY: Duration = Duration::from_millis(50);

/// Of one job, or of several.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Cost {
    /// From the beginning to the end.
    seconds: f64,
    /// In use at most, by this process and those of the solver; nothing where the system does not tell.
    megabytes: Option<u64>,
}

impl Cost {
    /// Of one job after the other: times add up, memory is used again.
    pub(super) fn and(self, next: Cost) -> Cost {
        Cost { seconds: self.seconds + next.seconds, megabytes: self.megabytes.max(next.megabytes) }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.seconds)?;
        self.megabytes.map_or(Ok(()), |megabytes| write!(f, ", {megabytes} MB"))
    }
}

/// Does some work. What it returns, and what it cost.
pub(super) fn measured<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (began, most) = (Instant::now(), AtomicU64::new(0));
    let look = || most.fetch_max(resident_mb().map_or(0, |own| own + children_mb()), Ordering::Relaxed);
    let (end, ended) = mpsc::channel::<()>();
    let result = thread::scope(|scope| {
        let watch = move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                look();
            }
        };
        // Without a thread, the last look is the only one.
        drop(thread::Builder::new().name("cost".into()).spawn_scoped(scope, watch));
        let result = work();
        look();
        drop(end);
        result
    });
    let megabytes = Some(most.into_inner()).filter(|most| *most > 0);
    (result, Cost { seconds: began.elapsed().as_secs_f64(), megabytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_given_back_meanwhile_counts() {
        let ((), small) = measured(|| ());
        let ((), large) = measured(|| {
            let held = vec![1_u8; 256 << 20];
            thread::sleep(4 * EVERY);
            drop(std::hint::black_box(held));
        });
        assert!(large.seconds >= 0.2);
        assert!(large.megabytes >= small.megabytes.map(|most| most + 100), "{small}, {large}");
        let both = small.and(large);
        assert_eq!(both.megabytes, large.megabytes.max(small.megabytes));
        assert!(both.seconds > large.seconds);
    }
}
