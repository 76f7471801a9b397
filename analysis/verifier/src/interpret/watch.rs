//! Moments of a run at which somebody looks at its memory. A run is repeated for that, so that runs nobody looks at pay nothing.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::Edge;

use super::{machine::Machine, oracle::Oracle};
use crate::scene::Scene;

/// A moment of a run, counted by what its trace says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Moment {
    /// So many events have happened.
    pub(crate) events: u64,
    /// So many objects of the callers have come into being while it ran.
    pub(crate) made_up: usize,
}

/// Who looks, and what was seen.
#[derive(Debug, Default)]
pub(super) struct Watch {
    wanted: BTreeSet<Moment>,
    pub(super) seen: BTreeMap<Moment, Scene>,
}

impl Watch {
    pub(super) fn at(wanted: BTreeSet<Moment>) -> Watch {
        Watch { wanted, seen: BTreeMap::new() }
    }
}

impl<O: Oracle> Machine<'_, O> {
    /// Looks, if this is one of the moments. `edge`: what has just happened.
    pub(super) fn watch(&mut self, edge: Option<&Edge>) {
        let (Some(watch), Some(trace)) = (&self.watch, &self.trace) else { return };
        let moment =
            Moment { events: trace.dropped + trace.events.len() as u64, made_up: trace.made_up.len() };
        if !watch.wanted.contains(&moment) {
            return;
        }
        let scene = self.look(edge);
        if let Some(watch) = &mut self.watch {
            watch.seen.insert(moment, scene);
        }
    }
}
