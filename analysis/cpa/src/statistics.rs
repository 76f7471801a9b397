//! What a run did, in numbers that do not depend on the machine.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

/// Counts of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// Successor states computed (each is one step of the budget).
    pub successors: u64,
    /// Nodes added to graphs, covered ones included.
    pub nodes: u64,
    /// Reached states that were weakened by merging.
    pub merges: u64,
    /// States that were covered when they arrived.
    pub covered: u64,
    /// Block abstractions begun.
    pub blocks: u64,
    /// Block applications answered by a stable abstraction.
    pub hits: u64,
    /// Block abstractions that an earlier run had computed.
    pub recalled: u64,
    /// Calls within a recursive component answered by an abstraction that is still being computed.
    pub provisional_reads: u64,
    /// Entry states of recursive blocks that were widened.
    pub widened: u64,
    /// Block abstractions that were explored again because a summary they had read grew.
    pub resumed: u64,
    /// Error paths that refinement excluded.
    pub refinements: u64,
    /// Nodes removed by lazy abstraction.
    pub pruned: u64,
    /// Block abstractions that went on from one for another precision.
    pub seeded: u64,
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("successors", self.successors),
            ("nodes", self.nodes),
            ("merges", self.merges),
            ("covered", self.covered),
            ("blocks", self.blocks),
            ("summary hits", self.hits),
            ("recalled blocks", self.recalled),
            ("provisional reads", self.provisional_reads),
            ("widened entries", self.widened),
            ("resumed blocks", self.resumed),
            ("refinements", self.refinements),
            ("pruned nodes", self.pruned),
            ("pruned blocks", self.seeded),
        ];
        rows.iter().try_for_each(|(name, count)| writeln!(f, "{name:>18}: {count}"))
    }
}

/// The clock and the counts of a run, shared by all graphs of it.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    clock: Cell<u64>,
    statistics: RefCell<Statistics>,
}

impl Progress {
    /// The time of the last event.
    pub(crate) fn now(&self) -> u64 {
        self.clock.get()
    }

    /// The time of a new event, later than all before.
    pub(crate) fn tick(&self) -> u64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }

    /// Changes the counts.
    pub(crate) fn count(&self, change: impl FnOnce(&mut Statistics)) {
        change(&mut self.statistics.borrow_mut());
    }

    /// The counts so far.
    pub(crate) fn statistics(&self) -> Statistics {
        *self.statistics.borrow()
    }
}
