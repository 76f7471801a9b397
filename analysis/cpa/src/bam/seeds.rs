//! Pruning inside of nested blocks ([EXP12 §III-F] for [BAM20]): a block whose precision was refined is not explored from nothing. What was found from
//! the same entry with the precision before is taken, and only what the new one changes is removed from it. So that an abstraction stays as precise as one
//! that is computed whole, that is everything whose precision differs, and not only what the error path went through.
//!
//! An abstraction that grew so depends on what was explored before, not on its key alone. Therefore it is made only where nobody but this run reads the
//! store ([`SummaryStore::is_private`]).

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{
    KeyOf, SummaryId, SummaryStore,
    tabulation::{AbstractionLocation, AbstractionState, ROOT, Tabulation, closed_meanwhile},
};
use crate::{
    Unknown,
    arg::{Arg, ArgEdge, NodeId, Open, Parent, SummaryRef},
    cpa::{BlockCpa, BlockId, Cpa, Domain, Reduced},
    exploration::Exploration,
};

/// A block with the state it is entered with.
type Entered<A> = (BlockId, Reduced<<A as Domain>::State>);

/// What was explored from an entry, with which reduced precision.
type Explored<A> = (Reduced<<A as Cpa>::Precision>, Exploration<A>);

/// Explorations to go on from.
pub(crate) struct Seeds<A: BlockCpa> {
    /// Those that a refinement interrupted.
    interrupted: FxHashMap<Entered<A>, Explored<A>>,
    /// The newest abstraction for each entry.
    latest: FxHashMap<Entered<A>, SummaryId>,
}

impl<A: BlockCpa> Default for Seeds<A> {
    fn default() -> Seeds<A> {
        Seeds { interrupted: FxHashMap::default(), latest: FxHashMap::default() }
    }
}

impl<A: BlockCpa, S: SummaryStore<A>> Tabulation<'_, A, S> {
    fn prunes_inside(&self) -> bool {
        self.config.cegar && !self.config.restart && self.store.is_private()
    }

    /// Notes a stable abstraction.
    pub(crate) fn remember(&mut self, key: &KeyOf<A>, id: SummaryId) {
        if self.prunes_inside() {
            self.seeds.latest.insert((key.block.clone(), key.entry.clone()), id);
        }
    }

    /// A refinement is about to drop all that is open: keeps what can be gone on from. Components of several abstractions are not kept, for what is in
    /// them was computed together.
    pub(crate) fn keep_interrupted(&mut self) {
        self.seeds.interrupted.clear();
        if !self.prunes_inside() {
            return;
        }
        let alone: Vec<_> =
            self.components.iter().filter(|c| c.members.len() == 1).map(|c| c.first).collect();
        for id in alone.into_iter().filter(|id| *id != ROOT) {
            let AbstractionState::Open(provisional) = &mut self.abstractions[id.index()] else { continue };
            let Some(mut exploration) = provisional.exploration.take() else { continue };
            let key = provisional.key.clone();
            let abstractions = &self.abstractions;
            let closed = |summary| closed_meanwhile(abstractions, summary);
            exploration.rename_summaries(&closed, &|_, exit| exit);
            self.seeds.interrupted.insert((key.block, key.entry), (key.precision, exploration));
        }
    }

    /// What can be gone on from to compute the abstraction for a key, with what the key's precision changes removed.
    pub(crate) fn seed(&mut self, key: &KeyOf<A>) -> Result<Option<Exploration<A>>, Unknown> {
        if !self.prunes_inside() {
            return Ok(None);
        }
        let name = (key.block.clone(), key.entry.clone());
        let found = match self.seeds.interrupted.remove(&name) {
            Some(found) => Some(found),
            None => match self.seeds.latest.get(&name) {
                Some(id) => self.reopened(*id)?,
                None => None,
            },
        };
        let Some((old, exploration)) = found else { return Ok(None) };
        self.with_precision(exploration, &old.0, &key.precision.0)
    }

    /// A copy of a stable abstraction that can be explored further.
    fn reopened(&self, id: SummaryId) -> Result<Option<Explored<A>>, Unknown> {
        let stable = self.store.get(id);
        if stable.len() != 1 {
            return Ok(None);
        }
        let (key, exploration) = stable.member(0);
        let mut exploration = exploration.copy();
        let location = AbstractionLocation::Closed(stable.clone(), 0);
        let mut names = Vec::new();
        for asked in stable.dependencies() {
            let Some(id) = self.store.known(&asked.key) else { return Ok(None) };
            names.push(id);
        }
        let rename = |summary| match summary {
            SummaryRef::Dependency(at) => SummaryRef::Stable(names[at as usize]),
            SummaryRef::Member(_) | SummaryRef::Open(_) | SummaryRef::Stable(_) => summary,
        };
        let exit = |summary, at| self.exit_node(&location, summary, at).unwrap_or(at);
        exploration.rename_summaries(&rename, &exit);
        let reached: Vec<_> = exploration
            .arg
            .nodes()
            .filter(|(_, node)| node.covered_by.is_empty())
            .map(|(id, node)| (node.point, node.partition, id))
            .collect();
        for (point, partition, id) in reached {
            exploration.reached.insert(point, partition, id);
        }
        Ok(Some((key.precision.clone(), exploration)))
    }

    /// Without what would be computed otherwise with another precision; `None`: nothing is left.
    fn with_precision(
        &self,
        mut ex: Exploration<A>,
        old: &A::Precision,
        new: &A::Precision,
    ) -> Result<Option<Exploration<A>>, Unknown> {
        let root = Arg::<A::State, A::Precision>::ROOT;
        if self.stale(&ex, root, new)? {
            return Ok(None);
        }
        // What read an abstraction that is open no more, or that is one for another precision, reads anew.
        let mut readers = BTreeSet::new();
        for (node, summary) in ex.rests_on() {
            let holds = match summary {
                SummaryRef::Stable(id) => !self.stale_key(self.store.get(id).key(), new)?,
                SummaryRef::Open(_) | SummaryRef::Member(_) | SummaryRef::Dependency(_) => false,
            };
            if !holds {
                readers.insert(node);
            }
        }
        let mut gone = Vec::new();
        for (id, node) in ex.arg.nodes() {
            let is_behind = |parent: &Parent| {
                matches!(parent.via, ArgEdge::Block { .. }) && readers.contains(&parent.from)
            };
            // A target that is entered in another way has to be found once more.
            let is_target = node.target.is_some();
            if is_target || node.parents.iter().any(is_behind) || self.stale(&ex, id, new)? {
                gone.push(id);
            }
        }
        for node in gone {
            if ex.arg.get(node).is_some() {
                let removed = ex.prune(&self.task, node)?;
                self.progress.count(|statistics| statistics.pruned += removed as u64);
            }
        }
        for node in readers {
            ex.reads.remove(&node);
            ex.reopen(&self.task, node, Open::Full)?;
        }
        let ids: Vec<NodeId> = ex.arg.nodes().map(|(id, _)| id).collect();
        for id in ids {
            let had = ex.arg.precision(ex.arg.node(id).precision).clone();
            let gets = if had == *old { new.clone() } else { self.analysis.join_precision(&had, new) };
            ex.arg.node_mut(id).precision = ex.arg.intern_precision(&gets);
        }
        let store = &self.store;
        ex.unsupported = None;
        ex.find_unsupported(&self.task, &|summary| match summary {
            SummaryRef::Stable(id) => {
                let stable = store.get(id);
                stable.member(stable.first()).1.unsupported.is_some()
            }
            SummaryRef::Open(_) | SummaryRef::Member(_) | SummaryRef::Dependency(_) => false,
        })?;
        self.progress.count(|statistics| statistics.seeded += 1);
        Ok(Some(ex))
    }
}
