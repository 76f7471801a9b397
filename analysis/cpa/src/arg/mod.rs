//! The abstract reachability graph of one block: every abstract state with its precision, its parents and the edges taken,
//! what was merged into it, what covers it and what it covers. Knows no analysis; see [`crate::cpa_algorithm`] for the code that builds it.

mod dump;
mod prune;
mod written;

use proofline_cfa::{EdgeId, Loc, Name, ObligationId, index};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::hash::Hash;

pub use dump::Labels;
pub use prune::Pruned;
pub(crate) use written::WrittenArg;

index! {
    /// A node of one graph.
    pub NodeId "n",
    /// A stack of inlined calls within one graph; 0 is the block's own frame.
    pub ContextId "c",
    /// A precision, kept once per graph.
    pub PrecisionId "p",
    /// A block abstraction that is being computed in a run.
    pub OpenId "a",
    /// A stable block abstraction in a store.
    pub SummaryId "s",
}

/// Where a state is: the stack of inlined calls, and the location of the innermost function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProgramPoint {
    /// Inlined calls.
    pub context: ContextId,
    /// Location.
    pub loc: Loc,
}

impl ContextId {
    /// The block's own frame.
    pub const ROOT: ContextId = ContextId(0);
}

/// A frame of inlined calls.
#[derive(Clone, Debug)]
pub struct Context<S> {
    /// The function on top.
    pub function: Name,
    /// The call that opened it; `None` for the block's own frame.
    pub call: Option<InlinedCall<S>>,
    /// Number of open inlined calls.
    pub depth: u32,
}

/// A call whose callee is explored in the caller's graph.
#[derive(Clone, Debug)]
pub struct InlinedCall<S> {
    /// The frame below.
    pub caller: ContextId,
    /// The call edge.
    pub edge: EdgeId,
    /// The state `enter` was given, which `leave` needs again. Part of the frame's identity.
    pub at_call: S,
}

/// A block abstraction that was used at a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SummaryRef {
    /// Being computed (within one run).
    Open(OpenId),
    /// Of the same recursive component, which is stable.
    Member(u32),
    /// What a stable component asked for, by number; its exits by their numbers in the answer.
    Dependency(u32),
    /// A stable one in the store.
    Stable(SummaryId),
}

/// How a state was reached from its parent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ArgEdge {
    /// Along an edge of the function on top.
    Edge(EdgeId),
    /// Into an inlined callee.
    Enter(EdgeId),
    /// Out of an inlined callee, to the target of this call edge of the caller.
    Leave(EdgeId),
    /// Over a block whose abstraction was used.
    Block {
        /// The call edge; `None` for a loop.
        call: Option<EdgeId>,
        /// The abstraction.
        summary: SummaryRef,
        /// Its exit node; in a [`SummaryRef::Dependency`] the number of the exit.
        exit: NodeId,
    },
}

/// One way a node was reached. A node has several when states were merged into it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Parent {
    /// The parent.
    pub from: NodeId,
    /// The step.
    pub via: ArgEdge,
    /// When: a clock shared by all graphs of a run. What the node is at time t comes from the ways older than t, so that
    /// walking back along decreasing times always ends at the root.
    pub time: u64,
}

/// What is still to be done at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Open {
    /// Nothing.
    Closed,
    /// The successors that were not there before.
    Rest,
    /// Everything.
    Full,
}

/// An abstract state in the graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node<S> {
    /// Where.
    pub point: ProgramPoint,
    /// The state; weakened in place when another is merged into it.
    pub state: S,
    /// What it is (or was) explored with.
    pub precision: PrecisionId,
    /// What it was computed with.
    pub made_with: PrecisionId,
    /// Number of refinements before it was computed.
    pub epoch: u32,
    /// How it was reached; the first is the oldest.
    pub parents: Vec<Parent>,
    /// Nodes that have it as a parent.
    pub children: Vec<NodeId>,
    /// Nodes that, together, cover it. Not empty: it is not in the reached set.
    pub covered_by: Vec<NodeId>,
    /// Nodes that it helps to cover.
    pub covers: Vec<NodeId>,
    /// What is to be done.
    pub open: Open,
    /// The selected obligation that fails here.
    pub target: Option<ObligationId>,
    /// The analysis' partition key.
    pub partition: u64,
}

/// The graph. Ids of removed nodes are not used again.
#[derive(Clone, Debug)]
pub struct Arg<S, P> {
    nodes: Vec<Option<Box<Node<S>>>>,
    contexts: Vec<Context<S>>,
    context_index: FxHashMap<(ContextId, EdgeId, Name), Vec<ContextId>>,
    precisions: Vec<P>,
    precision_index: FxHashMap<P, PrecisionId>,
    /// The root's state before anything was merged into it.
    origin: S,
    /// Number of refinements so far.
    pub(crate) epoch: u32,
}

impl<S: Clone + Eq, P: Clone + Eq + Hash> Arg<S, P> {
    /// A graph with its root: node 0, at `loc` of `function`.
    pub fn new(function: Name, loc: Loc, state: S, precision: &P, partition: u64) -> Arg<S, P> {
        let mut arg = Arg {
            nodes: Vec::new(),
            contexts: vec![Context { function, call: None, depth: 0 }],
            context_index: FxHashMap::default(),
            precisions: Vec::new(),
            precision_index: FxHashMap::default(),
            origin: state.clone(),
            epoch: 0,
        };
        let precision = arg.intern_precision(precision);
        arg.push(Node {
            point: ProgramPoint { context: ContextId::ROOT, loc },
            state,
            precision,
            made_with: precision,
            epoch: 0,
            parents: Vec::new(),
            children: Vec::new(),
            covered_by: Vec::new(),
            covers: Vec::new(),
            open: Open::Closed,
            target: None,
            partition,
        });
        arg
    }

    /// The root.
    pub const ROOT: NodeId = NodeId(0);

    /// A node that has not been removed.
    pub fn node(&self, id: NodeId) -> &Node<S> {
        self.get(id).expect("ids of removed nodes are dropped with them")
    }

    /// A node, unless it was removed.
    pub fn get(&self, id: NodeId) -> Option<&Node<S>> {
        self.nodes.get(id.index())?.as_deref()
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node<S> {
        self.nodes[id.index()].as_deref_mut().expect("ids of removed nodes are dropped with them")
    }

    /// All nodes, in order of creation.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node<S>)> {
        self.nodes.iter().enumerate().filter_map(|(i, n)| Some((NodeId(i as u32), n.as_deref()?)))
    }

    /// The state the root started with.
    pub fn origin(&self) -> &S {
        &self.origin
    }

    pub(crate) fn push(&mut self, node: Node<S>) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Some(Box::new(node)));
        id
    }

    /// Adds a way to reach `node`.
    pub(crate) fn link(&mut self, parent: Parent, node: NodeId) {
        self.node_mut(node).parents.push(parent);
        let children = &mut self.node_mut(parent.from).children;
        if !children.contains(&node) {
            children.push(node);
        }
    }

    /// Records that `by` together cover `node`.
    pub(crate) fn cover(&mut self, node: NodeId, by: &[NodeId]) {
        self.node_mut(node).covered_by = by.to_vec();
        for &b in by {
            self.node_mut(b).covers.push(node);
        }
    }

    /// The frame.
    pub fn context(&self, id: ContextId) -> &Context<S> {
        &self.contexts[id.index()]
    }

    /// All frames.
    pub fn contexts(&self) -> impl Iterator<Item = (ContextId, &Context<S>)> {
        self.contexts.iter().enumerate().map(|(i, c)| (ContextId(i as u32), c))
    }

    /// The function a node's location belongs to.
    pub fn function(&self, node: NodeId) -> Name {
        self.context(self.node(node).point.context).function
    }

    /// The frame that a call opens. Calls from different states have different frames.
    pub(crate) fn enter_context(
        &mut self,
        caller: ContextId,
        edge: EdgeId,
        callee: Name,
        at_call: &S,
    ) -> ContextId {
        let known = self.context_index.entry((caller, edge, callee)).or_default();
        let contexts = &self.contexts;
        let same =
            |c: &ContextId| contexts[c.index()].call.as_ref().is_some_and(|call| call.at_call == *at_call);
        if let Some(&id) = known.iter().find(|c| same(c)) {
            return id;
        }
        let id = ContextId(self.contexts.len() as u32);
        known.push(id);
        let depth = self.contexts[caller.index()].depth + 1;
        let call = Some(InlinedCall { caller, edge, at_call: at_call.clone() });
        self.contexts.push(Context { function: callee, call, depth });
        id
    }

    /// The precision.
    pub fn precision(&self, id: PrecisionId) -> &P {
        &self.precisions[id.index()]
    }

    pub(crate) fn intern_precision(&mut self, precision: &P) -> PrecisionId {
        if let Some(&id) = self.precision_index.get(precision) {
            return id;
        }
        let id = PrecisionId(self.precisions.len() as u32);
        self.precisions.push(precision.clone());
        self.precision_index.insert(precision.clone(), id);
        id
    }

    /// Shows all steps over blocks: the abstraction that was used, and its exit.
    pub(crate) fn rename_blocks(&mut self, see: &mut dyn FnMut(&mut SummaryRef, &mut NodeId)) {
        for node in self.nodes.iter_mut().flatten() {
            for parent in &mut node.parents {
                if let ArgEdge::Block { summary, exit, .. } = &mut parent.via {
                    see(summary, exit);
                }
            }
        }
    }
}
