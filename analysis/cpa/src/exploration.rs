//! The exploration of one block: its graph, the reached set and the waitlist, the block abstractions it read, its exit
//! states. All there is to resume it. Knows no strategy.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{EdgeId, Loc};
use serde::{Deserialize, Serialize};

use crate::{
    Unknown,
    analysis_task::AnalysisTask,
    arg::{Arg, ArgEdge, NodeId, Open, SummaryRef},
    bam::Block,
    cpa::{Cpa, Reduced},
    reached::Reached,
    waitlist::{Order, Waitlist},
};

/// An exit state of a block, as the block sees it. A node that was weakened is listed again; the last one counts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Exit<S> {
    /// The node in the block's graph.
    pub node: NodeId,
    /// The function's exit, or a location outside the loop.
    pub loc: Loc,
    /// The state.
    pub state: Reduced<S>,
}

/// A block application at a node.
#[derive(Clone, Debug)]
pub struct Read<S> {
    /// The call edge; `None` for a loop.
    pub call: Option<EdgeId>,
    /// The block.
    pub block: Arc<Block>,
    /// The state at the block's entry, not reduced.
    pub entered: S,
    /// The abstraction that stands for it: for this entry or a weaker one.
    pub summary: SummaryRef,
    /// How many of its exits have been used.
    pub(crate) seen: usize,
}

/// Where a location is reached that cannot be over-approximated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum UnsupportedAt {
    /// In this block.
    Here(NodeId),
    /// In a block applied at the node.
    Inside(NodeId, Option<EdgeId>, SummaryRef),
}

/// One block from one entry state, explored or being explored.
#[derive(Debug)]
pub struct Exploration<A: Cpa> {
    /// Which block.
    pub block: Arc<Block>,
    /// The graph.
    pub arg: Arg<A::State, A::Precision>,
    pub(crate) reached: Reached,
    pub(crate) waitlist: Waitlist,
    pub(crate) reads: BTreeMap<NodeId, Vec<Read<A::State>>>,
    pub(crate) exits: Vec<Exit<A::State>>,
    pub(crate) unsupported: Option<UnsupportedAt>,
}

impl<A: Cpa> Exploration<A> {
    /// Nothing but the entry, waiting.
    pub(crate) fn new(
        analysis: &A,
        task: &AnalysisTask<'_>,
        block: &Arc<Block>,
        entry: &A::State,
        precision: &A::Precision,
        order: Order,
    ) -> Result<Exploration<A>, Unknown> {
        let partition = analysis.partition(entry);
        let mut new = Exploration {
            arg: Arg::new(block.function, block.entry, entry.clone(), precision, partition),
            block: block.clone(),
            reached: Reached::default(),
            waitlist: Waitlist::new(order),
            reads: BTreeMap::new(),
            exits: Vec::new(),
            unsupported: None,
        };
        let root = Arg::<A::State, A::Precision>::ROOT;
        new.reached.insert(new.arg.node(root).point, partition, root);
        new.activate(task, root)?;
        Ok(new)
    }

    /// A node is new, weaker than before, or no longer covered: it waits to be explored, or it is an exit state.
    pub(crate) fn activate(&mut self, task: &AnalysisTask<'_>, id: NodeId) -> Result<(), Unknown> {
        let info = task.info(self.arg.function(id))?;
        let node = self.arg.node(id);
        let point = node.point;
        if node.target.is_some() {
            return Ok(());
        }
        // Reaching such a location makes the verdict unknown (`Checker` decides that at the end, after targets); what
        // happens beyond it is not known, so nothing is explored there.
        if info.unsupported.contains_key(&point.loc) {
            self.unsupported.get_or_insert(UnsupportedAt::Here(id));
            return Ok(());
        }
        if self.block.is_exit(info.function, point) {
            let state = Reduced(node.state.clone());
            self.exits.push(Exit { node: id, loc: point.loc, state });
            return Ok(());
        }
        self.reopen(task, id, Open::Full)
    }

    /// Puts a node on the waitlist.
    pub(crate) fn reopen(&mut self, task: &AnalysisTask<'_>, id: NodeId, open: Open) -> Result<(), Unknown> {
        let Some(node) = self.arg.get(id) else { return Ok(()) };
        if !node.covered_by.is_empty() {
            return Ok(());
        }
        let point = node.point;
        let context = self.arg.context(point.context);
        let (depth, position) = (context.depth, task.info(context.function)?.position(point.loc));
        let node = self.arg.node_mut(id);
        node.open = node.open.max(open);
        self.waitlist.push(id, depth, position);
        Ok(())
    }

    /// Puts a node that is being explored back, before all others: when the run goes on it does so as if it had not stopped.
    pub(crate) fn put_back(&mut self, id: NodeId, open: Open) {
        let node = self.arg.node_mut(id);
        node.open = node.open.max(open);
        self.waitlist.push_front(id);
    }

    /// Removes a node and what is below it; parents and what was covered wait again. Returns how many were removed.
    pub(crate) fn prune(&mut self, task: &AnalysisTask<'_>, node: NodeId) -> Result<usize, Unknown> {
        let pruned = self.arg.prune(node);
        let gone: BTreeSet<NodeId> = pruned.removed.iter().map(|(id, _)| *id).collect();
        for (id, node) in &pruned.removed {
            self.reached.remove(node.point, node.partition, *id);
            self.waitlist.remove(*id);
            self.reads.remove(id);
        }
        self.exits.retain(|exit| !gone.contains(&exit.node) && !pruned.reopened.contains(&exit.node));
        for &id in pruned.reopened.iter().chain(&pruned.uncovered) {
            let node = self.arg.node(id);
            self.reached.insert(node.point, node.partition, id);
            self.activate(task, id)?;
        }
        self.unsupported = None;
        self.find_unsupported(task, &|_| false)?;
        Ok(pruned.removed.len())
    }

    /// Looks for a reached location that is not supported.
    pub(crate) fn find_unsupported(
        &mut self,
        task: &AnalysisTask<'_>,
        inside: &dyn Fn(SummaryRef) -> bool,
    ) -> Result<(), Unknown> {
        for (id, node) in self.arg.nodes() {
            let info = task.info(self.arg.function(id))?;
            if info.unsupported.contains_key(&node.point.loc) {
                self.unsupported.get_or_insert(UnsupportedAt::Here(id));
            }
        }
        for (&id, reads) in &self.reads {
            if let Some(read) = reads.iter().find(|read| inside(read.summary)) {
                self.unsupported.get_or_insert(UnsupportedAt::Inside(id, read.call, read.summary));
            }
        }
        Ok(())
    }

    /// Exit states that have not been weakened since they were listed.
    pub fn exits(&self) -> impl Iterator<Item = &Exit<A::State>> {
        self.exits.iter().filter(|exit| self.is_current(exit))
    }

    pub(crate) fn is_current(&self, exit: &Exit<A::State>) -> bool {
        self.arg.get(exit.node).is_some_and(|node| node.state == exit.state.0)
    }

    /// The block abstractions read at each node.
    pub fn reads(&self) -> impl Iterator<Item = (NodeId, &Read<A::State>)> {
        self.reads.iter().flat_map(|(&id, reads)| reads.iter().map(move |read| (id, read)))
    }

    /// The block abstractions that it rests on, and the nodes that have read them: what they read now, and what they have read before, if what came of
    /// it is still there.
    pub(crate) fn rests_on(&self) -> impl Iterator<Item = (NodeId, SummaryRef)> {
        let parents = self.arg.nodes().flat_map(|(_, node)| &node.parents);
        let passed = parents.filter_map(|parent| match &parent.via {
            ArgEdge::Block { summary, .. } => Some((parent.from, *summary)),
            ArgEdge::Edge(_) | ArgEdge::Enter(_) | ArgEdge::Leave(_) => None,
        });
        self.reads().map(|(id, read)| (id, read.summary)).chain(passed)
    }

    /// It is complete: what only exploring needs is given up.
    pub(crate) fn freeze(&mut self) {
        self.reached = Reached::default();
        self.exits.shrink_to_fit();
    }

    /// The same, if nothing waits.
    pub(crate) fn copy(&self) -> Exploration<A> {
        Exploration {
            block: self.block.clone(),
            arg: self.arg.clone(),
            reached: Reached::default(),
            waitlist: self.waitlist.clone(),
            reads: self.reads.clone(),
            exits: self.exits.clone(),
            unsupported: self.unsupported,
        }
    }

    /// Replaces references to block abstractions, and with them the names of exits.
    pub(crate) fn rename_summaries(
        &mut self,
        rename: &impl Fn(SummaryRef) -> SummaryRef,
        exit: &impl Fn(SummaryRef, NodeId) -> NodeId,
    ) {
        self.arg.rename_blocks(&mut |summary, at| (*summary, *at) = (rename(*summary), exit(*summary, *at)));
        for read in self.reads.values_mut().flatten() {
            read.summary = rename(read.summary);
        }
        if let Some(UnsupportedAt::Inside(_, _, summary)) = &mut self.unsupported {
            *summary = rename(*summary);
        }
    }
}
