//! Lazy abstraction: after a refinement, what is kept of a run. The outermost graph is cut at the first state of the error
//! path that was computed with another precision; stable abstractions stay in the store, where they are found again if their
//! reduced precision did not change; what was provisional is dropped. Blocks inside are gone on from what their old abstractions
//! have in common with the new one (`bam::seeds`).
//!
//! A state's precision is compared with the one it was *computed* with, for it may have survived earlier refinements.

use std::collections::BTreeSet;

use super::error_path::ErrorPath;
use crate::{
    Unknown,
    arg::{Arg, ArgEdge, NodeId, Open, SummaryRef},
    bam::{
        KeyOf, SummaryStore,
        tabulation::{AbstractionLocation, ROOT, Tabulation, closed_meanwhile},
    },
    cpa::{BlockCpa, Reduced},
    exploration::Exploration,
};

/// Where a graph is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// At its root.
    Everything,
    /// Above this node.
    Below(NodeId),
    /// Nowhere; but the blocks at this node are entered anew.
    BlocksAt(NodeId),
}

impl<A: BlockCpa, S: SummaryStore<A>> Tabulation<'_, A, S> {
    /// The first thing on the path that would be computed differently with this precision; `None`: nothing.
    pub(crate) fn pivot(
        &self,
        path: &ErrorPath<A>,
        old: &A::Precision,
        new: &A::Precision,
    ) -> Result<Option<Cut>, Unknown> {
        let location = AbstractionLocation::Open(ROOT);
        let exploration = self.exploration_at(&location)?;
        let root = Arg::<A::State, A::Precision>::ROOT;
        // What was computed since the precision last changed is as good as it gets, even if the analysis itself has
        // adjusted the precision meanwhile. So refinement without a new precision removes what is left of older ones, and ends.
        let outdated = |node| new != old || exploration.arg.node(node).epoch < exploration.arg.epoch;
        if outdated(root) && self.stale(exploration, root, new)? {
            return Ok(Some(Cut::Everything));
        }
        for &(node, via) in &path.outermost {
            if !outdated(node) {
                continue;
            }
            let over_stale_block = match via {
                ArgEdge::Block { summary, .. } => {
                    let (inner, _) = self.resolve(&location, summary)?;
                    self.stale_key(self.key_of(&inner), new)?
                }
                ArgEdge::Edge(_) | ArgEdge::Enter(_) | ArgEdge::Leave(_) => false,
            };
            if over_stale_block || self.stale(exploration, node, new)? {
                return Ok(Some(Cut::Below(node)));
            }
        }
        for location in &path.inside {
            if self.stale_key(self.key_of(location), new)? {
                return Ok(path.entered_at.map(Cut::BlocksAt));
            }
        }
        Ok(None)
    }

    pub(crate) fn stale(
        &self,
        ex: &Exploration<A>,
        node: NodeId,
        precision: &A::Precision,
    ) -> Result<bool, Unknown> {
        let info = self.task.info(ex.arg.function(node))?;
        let node = ex.arg.node(node);
        let made_with = ex.arg.precision(node.made_with);
        Ok(!self.analysis.same_precision_at(made_with, precision, info.location(node.point.loc)))
    }

    pub(crate) fn stale_key(&self, key: &KeyOf<A>, precision: &A::Precision) -> Result<bool, Unknown> {
        let block = self.task.block(&key.block)?;
        let info = self.task.info(block.function)?;
        Ok(self.analysis.reduce_precision(precision, block.context(info.function)) != key.precision)
    }

    /// Goes on with another precision. Wherever provisional abstractions were used the outermost graph is cut, too.
    pub(crate) fn refined(
        &mut self,
        old: &A::Precision,
        new: &A::Precision,
        cut: Cut,
    ) -> Result<(), Unknown> {
        let task = self.task.clone();
        let Some(mut ex) = self.open_mut(ROOT).exploration.take() else {
            return Err(Unknown::InternalError("the outermost graph is missing".to_owned()));
        };
        ex.arg.epoch += u32::from(old != new);
        let mut key = self.open(ROOT).key.clone();
        key.precision = Reduced(new.clone());
        if cut == Cut::Everything {
            self.progress.count(|statistics| statistics.pruned += ex.arg.nodes().count() as u64 - 1);
            let entry = ex.arg.origin().clone();
            let order = self.config.order;
            ex = Exploration::new(self.analysis, &task, &ex.block, &entry, new, order)?;
        } else {
            let stable = |summary| closed_meanwhile(&self.abstractions, summary);
            ex.rename_summaries(&stable, &|_, exit| exit);
            let is_open = |summary: SummaryRef| matches!(summary, SummaryRef::Open(_));
            let after_open: Vec<NodeId> = ex
                .arg
                .nodes()
                .filter(|(_, node)| {
                    node.parents
                        .iter()
                        .any(|p| matches!(p.via, ArgEdge::Block { summary, .. } if is_open(summary)))
                })
                .map(|(id, _)| id)
                .collect();
            let mut readers: BTreeSet<NodeId> =
                ex.reads().filter(|(_, read)| is_open(read.summary)).map(|(id, _)| id).collect();
            let below = match cut {
                Cut::Below(node) => Some(node),
                Cut::BlocksAt(node) => {
                    readers.insert(node);
                    None
                }
                Cut::Everything => None,
            };
            for node in below.into_iter().chain(after_open) {
                if ex.arg.get(node).is_some() {
                    let removed = ex.prune(&task, node)?;
                    self.progress.count(|statistics| statistics.pruned += removed as u64);
                }
            }
            for node in readers {
                ex.reads.remove(&node);
                ex.reopen(&task, node, Open::Full)?;
            }
            // What is still to be explored is explored with the new precision, block applications included: a node that
            // waits for the exits of a block enters it anew.
            for node in ex.waitlist.iter().collect::<Vec<_>>() {
                let had = ex.arg.precision(ex.arg.node(node).precision).clone();
                let gets = if had == *old { new.clone() } else { self.analysis.join_precision(&had, new) };
                let gets = ex.arg.intern_precision(&gets);
                let node = ex.arg.node_mut(node);
                node.precision = gets;
                node.open = Open::Full;
            }
            let store = &self.store;
            ex.find_unsupported(&task, &|summary| match summary {
                SummaryRef::Stable(id) => {
                    let stable = store.get(id);
                    stable.member(stable.first()).1.unsupported.is_some()
                }
                SummaryRef::Open(_) | SummaryRef::Member(_) | SummaryRef::Dependency(_) => false,
            })?;
        }
        self.keep_interrupted();
        self.abstractions.clear();
        self.components.clear();
        self.stack.clear();
        let root = self.create(key, None, true)?;
        debug_assert_eq!(root, ROOT);
        self.open_mut(root).exploration = Some(ex);
        self.start(ROOT);
        Ok(())
    }
}
