//! A circuit breaker: after some failures in a row nobody tries for a while, then one may try again.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Failures in a row.
const MOST_FAILURES: u32 = 3;

/// Nobody tries for so long at first; twice as long after each further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(30);

/// And never longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

#[derive(Default)]
pub(crate) struct Breaker(Mutex<State>);

#[derive(Default)]
struct State {
    failures: u32,
    pause: Duration,
    /// Nobody tries before.
    until: Option<Instant>,
    why: String,
}

impl Breaker {
    /// Whether it may be tried.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed_at(Instant::now())
    }

    fn is_closed_at(&self, now: Instant) -> bool {
        self.0.lock().until.is_none_or(|until| now >= until)
    }

    pub(crate) fn succeeded(&self) {
        *self.0.lock() = State::default();
    }

    pub(crate) fn failed(&self, why: &str) {
        self.failed_at(why, Instant::now());
    }

    /// There is nobody: one failure is enough.
    pub(crate) fn is_away(&self, why: &str) {
        self.0.lock().failures = MOST_FAILURES;
        self.failed(why);
    }

    fn failed_at(&self, why: &str, now: Instant) {
        let mut state = self.0.lock();
        state.failures += 1;
        why.clone_into(&mut state.why);
        // What was under way when the pause began is no further failure.
        if state.failures < MOST_FAILURES || state.until.is_some_and(|until| now < until) {
            return;
        }
        state.pause = (state.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        state.until = Some(now + state.pause);
    }

    /// What failed last, if nothing has succeeded since.
    pub(crate) fn trouble(&self) -> Option<String> {
        let state = self.0.lock();
        (state.failures > 0).then(|| state.why.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_failures_in_a_row_and_tries_again_later() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        breaker.failed_at("away", start);
        breaker.failed_at("away", start);
        assert_eq!(breaker.trouble().as_deref(), Some("away"));
        breaker.succeeded();
        assert_eq!(breaker.trouble(), None);
        breaker.failed_at("away", start);
        breaker.failed_at("away", start);
        assert!(breaker.is_closed_at(start));
        breaker.failed_at("away", start);
        assert!(!breaker.is_closed_at(at(29)));
        assert_eq!(breaker.trouble().as_deref(), Some("away"));
        // Whoever had begun before fails, too.
        breaker.failed_at("away", at(2));
        assert!(breaker.is_closed_at(at(30)));
        breaker.failed_at("still away", at(30));
        assert!(!breaker.is_closed_at(at(89)));
        assert!(breaker.is_closed_at(at(90)));
        breaker.succeeded();
        assert_eq!(breaker.trouble(), None);
    }
}
