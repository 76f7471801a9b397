//! The ceiling of the server's memory: first what can be computed again is forgotten, then work is stopped.

use std::time::{Duration, Instant};

use crate::memory::resident_mb;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(300);

/// What has to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pressure {
    /// Nothing.
    Fine,
    /// Forget what can be computed again.
    Forget,
    /// That was not enough: stop the work.
    Stop,
}

/// When it was looked, and what was seen.
#[derive(Default)]
pub(super) struct Memory {
    last: Option<Instant>,
    /// Looks in a row that saw too much.
    above: u32,
}

impl Memory {
    /// When to look again, while there is work.
    pub(super) fn next(&self) -> Instant {
        self.last.map_or_else(Instant::now, |last| last + EVERY)
    }

    /// Looks, if it is time to.
    pub(super) fn look(&mut self, limit_mb: u64) -> Pressure {
        let now = Instant::now();
        if self.last.is_some_and(|last| now < last + EVERY) {
            return Pressure::Fine;
        }
        self.last = Some(now);
        if resident_mb().is_none_or(|used| used <= limit_mb) {
            self.above = 0;
            return Pressure::Fine;
        }
        self.above += 1;
        match self.above {
            1 => Pressure::Forget,
            2 => Pressure::Stop,
            // It was stopped and cannot be helped any more; the next work gets its chance.
            _ => {
                self.above = 0;
                Pressure::Fine
            }
        }
    }
}
