//! The ceiling of the memory of the server and its solver processes together: before it is reached, programs of files that wait for nothing
//! are forgotten; then all that can be computed again, and solver processes that wait for work end; then work is stopped.

use std::time::{Duration, Instant};

use crate::{memory::resident_mb, platform::children_mb};

/// Programs that wait for nothing are forgotten above this part of the ceiling, in percent,
const SHED_ABOVE: u64 = 60;

/// and not again before so long.
const SHED_EVERY: Duration = Duration::from_secs(5);

/// Looks that see too much after all was forgotten, before work is stopped: it takes a moment to be given back.
const LOOKS_BEFORE_STOP: u32 = 4;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(300);

/// What has to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pressure {
    /// Nothing.
    Fine,
    /// Forget programs of files that wait for nothing.
    Shed,
    /// Forget what can be computed again.
    Forget,
    /// That was not enough: stop the work.
    Stop,
}

/// When it was looked, and what was seen.
#[derive(Default)]
pub(super) struct Memory {
    last: Option<Instant>,
    /// When programs were forgotten last.
    shed: Option<Instant>,
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
        let used = resident_mb().unwrap_or_default() + children_mb();
        if used <= limit_mb {
            self.above = 0;
            let is_much = used > limit_mb / 100 * SHED_ABOVE;
            if is_much && self.shed.is_none_or(|shed| now >= shed + SHED_EVERY) {
                self.shed = Some(now);
                return Pressure::Shed;
            }
            return Pressure::Fine;
        }
        self.above += 1;
        match self.above {
            1 => Pressure::Forget,
            ..LOOKS_BEFORE_STOP => Pressure::Fine,
            LOOKS_BEFORE_STOP => Pressure::Stop,
            // It was stopped and cannot be helped any more; the next work gets its chance.
            _ => {
                self.above = 0;
                Pressure::Fine
            }
        }
    }
}

/// Megabytes that one solver process may use: half of all, so that one hard question ends before everything else has to.
pub(super) fn of_one_worker(limit_mb: u64) -> u64 {
    limit_mb / 2
}
