//! Reading a path off the graphs: backwards from a target to the program's entry, descending into the graph of a block
//! abstraction where a step went over a block. Iterative, for paths may be deep.
//!
//! A node with several parents (by merging) has several paths. What a node was at time t comes from ways older than t, so
//! walking back along decreasing times always ends, loops and recursion included. The newest way comes first: it is the
//! one that made the node be explored again.

use std::sync::Arc;

use proofline_cfa::{EdgeId, Name, ObligationId};

use crate::{
    Unknown,
    arg::{Arg, NodeId, SummaryRef, Via},
    bam::{
        OpenId, Stable, SummaryStore,
        fixpoint::{Engine, Slot, WHOLE},
    },
    cpa::{BlockCpa, BlockId},
    exploration::{Exploration, UnsupportedAt},
    path::{Path, PathStep},
};

/// An abstraction, wherever it is.
pub(crate) enum Home<A: BlockCpa> {
    Open(OpenId),
    Closed(Arc<Stable<A>>, usize),
}

impl<A: BlockCpa> Clone for Home<A> {
    fn clone(&self) -> Home<A> {
        match self {
            Home::Open(id) => Home::Open(*id),
            Home::Closed(stable, member) => Home::Closed(stable.clone(), *member),
        }
    }
}

impl<A: BlockCpa> Home<A> {
    /// Tells homes apart within a run.
    pub(crate) fn identity(&self) -> (usize, usize) {
        match self {
            Home::Open(id) => (0, id.index()),
            Home::Closed(stable, member) => (Arc::as_ptr(stable) as usize, *member),
        }
    }
}

/// A path with the part of it that lies in the outermost graph.
pub(crate) struct Trace<A: BlockCpa> {
    pub(crate) path: Path,
    /// Nodes of the outermost graph in order, with the step to each; without the root.
    pub(crate) outermost: Vec<(NodeId, Via)>,
    /// Abstractions that the path ends inside of, without the outermost one.
    pub(crate) inside: Vec<Home<A>>,
    /// The node of the outermost graph where it enters the first of these.
    pub(crate) entered_at: Option<NodeId>,
}

/// Choices made on the way, so that the next path takes another: (chosen, number of options).
#[derive(Default)]
pub(crate) struct Choices(Vec<(usize, usize)>);

impl Choices {
    /// Goes on to the next combination; false if there is none.
    pub(crate) fn advance(&mut self) -> bool {
        while let Some((chosen, options)) = self.0.pop() {
            if chosen + 1 < options {
                self.0.push((chosen + 1, options));
                return true;
            }
        }
        false
    }
}

/// Where the walk stands: a node as it was at a time.
struct Point<A: BlockCpa> {
    home: Home<A>,
    node: NodeId,
    time: u64,
}

/// The block application to go on with when a nested graph's root is reached.
struct Frame<A: BlockCpa> {
    back: Point<A>,
    call: Option<EdgeId>,
    block: BlockId,
}

impl<A: BlockCpa, S: SummaryStore<A>> Engine<'_, A, S> {
    /// The exploration of an abstraction, and its block.
    pub(crate) fn at_home<'a>(&'a self, home: &'a Home<A>) -> Result<&'a Exploration<A>, Unknown> {
        match home {
            Home::Open(id) => {
                self.open(*id).exploration.as_ref().ok_or_else(|| {
                    Unknown::InternalError("a graph is read while it is being built".to_owned())
                })
            }
            Home::Closed(stable, member) => Ok(stable.member(*member).1),
        }
    }

    /// What a reference means, and whether the abstraction was complete before it was used.
    pub(crate) fn resolve(&self, home: &Home<A>, summary: SummaryRef) -> Result<(Home<A>, bool), Unknown> {
        match (summary, home) {
            (SummaryRef::Stable(id), _) => Ok((Home::Closed(self.store.get(id), 0), true)),
            (SummaryRef::Member(i), Home::Closed(stable, _)) => {
                Ok((Home::Closed(stable.clone(), i as usize), false))
            }
            (SummaryRef::Open(id), _) => match &self.slots[id.index()] {
                Slot::Open(_) => Ok((Home::Open(id), false)),
                Slot::Closed(stable) => Ok((Home::Closed(self.store.get(*stable), 0), true)),
                Slot::Gone => Err(Unknown::InternalError(format!("abstraction {id} is gone"))),
            },
            (SummaryRef::Member(i), Home::Open(_)) => {
                Err(Unknown::InternalError(format!("member {i} of a component that is not stable")))
            }
        }
    }

    /// A path to a target in an open abstraction.
    pub(crate) fn trace_target(
        &self,
        open: OpenId,
        node: NodeId,
        choices: &mut Choices,
    ) -> Result<Trace<A>, Unknown> {
        let home = Home::Open(open);
        let exploration = self.at_home(&home)?;
        let target = exploration.arg.node(node).target.map(|o| (exploration.arg.function(node), o));
        self.trace(Point { home, node, time: u64::MAX }, Vec::new(), target, choices)
    }

    /// A path to a location that is not supported, and what it is.
    pub(crate) fn trace_unsupported(
        &self,
        choices: &mut Choices,
    ) -> Result<Option<(Trace<A>, String)>, Unknown> {
        let mut home = Home::Open(WHOLE);
        let mut frames = Vec::new();
        loop {
            let exploration = self.at_home(&home)?;
            match exploration.unsupported {
                None => return Ok(None),
                Some(UnsupportedAt::Here(node)) => {
                    let function = exploration.arg.function(node);
                    let shape = self.scene.shape(function)?;
                    let loc = exploration.arg.node(node).spot.loc;
                    let what = shape.unsupported.get(&loc).map_or("", |what| what.as_str());
                    let text = format!("{what} in {function}");
                    let trace = self.trace(Point { home, node, time: u64::MAX }, frames, None, choices)?;
                    return Ok(Some((trace, text)));
                }
                Some(UnsupportedAt::Inside(node, call, summary)) => {
                    let (inner, _) = self.resolve(&home, summary)?;
                    let block = self.at_home(&inner)?.block.id.clone();
                    frames.push(Frame { back: Point { home, node, time: u64::MAX }, call, block });
                    home = inner;
                }
            }
        }
    }

    fn trace(
        &self,
        mut at: Point<A>,
        mut frames: Vec<Frame<A>>,
        target: Option<(Name, ObligationId)>,
        choices: &mut Choices,
    ) -> Result<Trace<A>, Unknown> {
        let mut steps = Vec::new();
        let (mut outermost, mut inside) = (Vec::new(), Vec::new());
        let mut decision = 0;
        let mut entered_at = frames.first().map(|frame| frame.back.node);
        for home in frames.iter().map(|frame| &frame.back.home).chain([&at.home]) {
            if !matches!(home, Home::Open(WHOLE)) {
                inside.push(home.clone());
            }
        }
        loop {
            if steps.len() > self.config.max_path {
                return Err(Unknown::Unconfirmed(format!(
                    "a path of more than {} steps",
                    self.config.max_path
                )));
            }
            let exploration = self.at_home(&at.home)?;
            let arg = &exploration.arg;
            let node = arg.node(at.node);
            let is_root = at.node == Arg::<A::State, A::Precision>::ROOT;
            // The newest way first; the root's own beginning is its oldest.
            let ways: Vec<_> = node.parents.iter().rev().filter(|p| p.time < at.time).collect();
            let options = ways.len() + usize::from(is_root);
            let mut chosen = 0;
            if options > 1 {
                if decision == choices.0.len() {
                    choices.0.push((0, options));
                }
                chosen = choices.0[decision].0;
                decision += 1;
            }
            if let Some(parent) = ways.get(chosen) {
                let (from, via) = (arg.function(parent.from), parent.via);
                if frames.is_empty() && matches!(at.home, Home::Open(WHOLE)) {
                    outermost.push((at.node, via));
                }
                let back = Point { home: at.home.clone(), node: parent.from, time: parent.time };
                at = match via {
                    Via::Edge(edge) => {
                        steps.push(PathStep::Edge(from, edge));
                        back
                    }
                    Via::Enter(edge) => {
                        steps.push(PathStep::Enter { caller: from, edge, callee: arg.function(at.node) });
                        back
                    }
                    Via::Leave(edge) => {
                        steps.push(PathStep::Leave { callee: from, caller: arg.function(at.node), edge });
                        back
                    }
                    Via::Block { call, summary, exit } => {
                        let (inner, complete) = self.resolve(&at.home, summary)?;
                        let block = self.at_home(&inner)?.block.clone();
                        if let Some(edge) = call {
                            steps.push(PathStep::Leave { callee: block.function, caller: from, edge });
                        }
                        // Clocks of different runs do not compare; what is complete was so before it was used.
                        let time = if complete { u64::MAX } else { parent.time };
                        frames.push(Frame { back, call, block: block.id.clone() });
                        Point { home: inner, node: exit, time }
                    }
                };
                continue;
            }
            if !is_root {
                return Err(Unknown::InternalError(format!("node {} was reached by no way", at.node)));
            }
            if let Some(Frame { back, call, block }) = frames.pop() {
                if let (Some(edge), BlockId::Function(callee)) = (call, block) {
                    let caller = self.at_home(&back.home)?.arg.function(back.node);
                    steps.push(PathStep::Enter { caller, edge, callee });
                }
                at = back;
                continue;
            }
            let Home::Open(id) = at.home else {
                return Err(Unknown::InternalError("a path ends in a finished block".to_owned()));
            };
            let provisional = self.open(id);
            let Some(creator) = provisional.creator else { break };
            if let Some(edge) = creator.call {
                let caller = self.at_home(&Home::Open(creator.open))?.arg.function(creator.node);
                steps.push(PathStep::Enter { caller, edge, callee: exploration.block.function });
            }
            if creator.open == WHOLE {
                entered_at = Some(creator.node);
            } else {
                inside.push(Home::Open(creator.open));
            }
            // Strictly before: what the creator was when it asked.
            at = Point { home: Home::Open(creator.open), node: creator.node, time: creator.time + 1 };
        }
        steps.reverse();
        outermost.reverse();
        let entry = self.block_of(WHOLE).function;
        Ok(Trace { path: Path { entry, steps, target }, outermost, inside, entered_at })
    }
}
