//! What is asked of an entry, and what ends the work on the answer. Knows no engine.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use proofline_cfa::{Name, ObligationId};
use proofline_cpa::{Cancel, Unknown};

use super::Ceiling;
use crate::{contracts::Contracts, finding::Finding, property::Property};

/// What is asked of every entry. A verdict is a function of this and of the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Which obligations.
    pub property: Property,
    /// Engines by name; empty: the portfolio.
    pub engines: Vec<String>,
    /// Steps per engine and question.
    pub steps: u64,
    /// A yes/no question: stop at the first violation.
    pub first_only: bool,
    /// What was asked before, and of what.
    pub round: Round,
    /// Contracts that the entry's callers keep and that it must keep where it calls. Usually none.
    pub under: Arc<Contracts>,
}

/// Obligations about which is known what an entry need not be asked: which engine proved them of all executions, or why nothing is known.
pub type Settled = BTreeMap<(Name, ObligationId), Result<&'static str, Unknown>>;

/// A question among others about one program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Round {
    /// Only the entry's own obligations are asked about, not those of what it calls.
    pub is_own: bool,
    /// Only the entry's body is looked at: functions that it calls may do anything ([`Programs::stands_apart`](super::Programs::stands_apart)).
    pub is_apart: bool,
    /// What is not asked about.
    pub settled: Arc<Settled>,
    /// What was asked before: the work goes on from that answer.
    pub after: Option<Arc<Request>>,
    /// Who asks did not choose the engines: what others found out is as good.
    pub is_planned: bool,
}

impl Request {
    /// Whether an answer to another question about the same obligations, in which nothing is open, is an answer to this one.
    pub fn may_be_answered_by_others(&self) -> bool {
        (self.engines.is_empty() || self.round.is_planned) && !self.first_only && self.under.is_empty()
    }
}

/// What is going on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Doing {
    /// The function that executions start in.
    pub entry: Name,
    /// How many places of it are not decided yet.
    pub open: usize,
    /// Who looks at them: of interest to authors of engines only.
    pub engines: String,
}

/// Hears what is going on.
pub type Listener = dyn Fn(&Doing) + Send + Sync;

/// Hears of a violation that no caller can prevent, or of any where entries are given, as soon as it is known; of one obligation perhaps more than once.
pub type FindingListener = dyn Fn(&Finding) + Send + Sync;

/// Hears which engine was asked once, how long it took, and how often it had to unwind recursion for an answer. What is known from before is not
/// asked.
pub type AskedListener = dyn Fn(&'static str, Duration, Option<u32>) + Send + Sync;

/// What ends the work on an answer, and where progress is reported.
#[derive(Clone, Default)]
pub struct Control {
    /// Ends it from another thread.
    pub cancel: Cancel,
    /// Ends it at a time; what is known by then is the answer, and is not remembered.
    pub deadline: Option<Instant>,
    /// Hears what is going on.
    pub progress: Option<Arc<Listener>>,
    /// Hears of violations.
    pub found: Option<Arc<FindingListener>>,
    /// Hears what engines take.
    pub asked: Option<Arc<AskedListener>>,
    /// Cores that may be used, for several entries or for one; 0 is 1. Verdicts do not depend on it.
    pub threads: usize,
    /// What one engine may take of memory.
    pub ceiling: Option<Ceiling>,
}

impl Control {
    /// Tells who listens.
    pub(crate) fn say(&self, doing: impl FnOnce() -> Doing) {
        if let Some(progress) = &self.progress {
            progress(&doing());
        }
    }

    /// Tells of violations.
    pub(crate) fn tell<'f>(&self, findings: impl Iterator<Item = &'f Finding>) {
        if let Some(found) = &self.found {
            findings.for_each(|finding| found(finding));
        }
    }

    /// Whether the time is over.
    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// With a deadline that leaves time for the rest of `count` entries.
    pub(super) fn sharing(&self, count: usize) -> Control {
        let share = |deadline: Instant| {
            let now = Instant::now();
            let left = deadline.saturating_duration_since(now);
            now + left / u32::try_from(count.max(1)).unwrap_or(u32::MAX)
        };
        Control { deadline: self.deadline.map(share), ..self.clone() }
    }
}
