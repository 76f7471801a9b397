//! Reading a path off the graphs: backwards from a target to the program's entry, descending into the graph of a block
//! abstraction where a step went over a block. Iterative, for paths may be deep.
//!
//! A node with several parents (by merging) has several paths. What a node was at time t comes from ways older than t, so
//! walking back along decreasing times always ends, loops and recursion included. The newest way comes first: it is the
//! one that made the node be explored again.

use proofline_cfa::{EdgeId, Name, ObligationId};

use crate::{
    Unknown,
    arg::{Arg, ArgEdge, NodeId},
    bam::{
        OpenId, SummaryStore,
        tabulation::{AbstractionLocation, ROOT, Tabulation},
    },
    cpa::{BlockCpa, BlockId},
    exploration::UnsupportedAt,
    path::{Path, PathStep},
};

/// A path with the part of it that lies in the outermost graph.
pub(crate) struct ErrorPath<A: BlockCpa> {
    pub(crate) path: Path,
    /// Nodes of the outermost graph in order, with the step to each; without the root.
    pub(crate) outermost: Vec<(NodeId, ArgEdge)>,
    /// Abstractions that the path ends inside of, without the outermost one.
    pub(crate) inside: Vec<AbstractionLocation<A>>,
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
struct Position<A: BlockCpa> {
    location: AbstractionLocation<A>,
    node: NodeId,
    time: u64,
}

/// The block application to go on with when a nested graph's root is reached.
struct Frame<A: BlockCpa> {
    back: Position<A>,
    call: Option<EdgeId>,
    block: BlockId,
}

impl<A: BlockCpa, S: SummaryStore<A>> Tabulation<'_, A, S> {
    /// A path to a target in an open abstraction.
    pub(crate) fn path_to_target(
        &self,
        open: OpenId,
        node: NodeId,
        choices: &mut Choices,
    ) -> Result<ErrorPath<A>, Unknown> {
        let location = AbstractionLocation::Open(open);
        let exploration = self.exploration_at(&location)?;
        let target = exploration.arg.node(node).target.map(|o| (exploration.arg.function(node), o));
        self.walk(Position { location, node, time: u64::MAX }, Vec::new(), target, choices)
    }

    /// A path to a location that is not supported, and what it is.
    pub(crate) fn path_to_unsupported(
        &self,
        choices: &mut Choices,
    ) -> Result<Option<(ErrorPath<A>, String)>, Unknown> {
        let mut location = AbstractionLocation::Open(ROOT);
        let mut frames = Vec::new();
        loop {
            let exploration = self.exploration_at(&location)?;
            match exploration.unsupported {
                None => return Ok(None),
                Some(UnsupportedAt::Here(node)) => {
                    let function = exploration.arg.function(node);
                    let info = self.task.info(function)?;
                    let loc = exploration.arg.node(node).point.loc;
                    let what = info.unsupported.get(&loc).map_or("", |what| what.as_str());
                    let text = format!("{what} in {function}");
                    let path =
                        self.walk(Position { location, node, time: u64::MAX }, frames, None, choices)?;
                    return Ok(Some((path, text)));
                }
                Some(UnsupportedAt::Inside(node, call, summary)) => {
                    let (inner, _) = self.resolve(&location, summary)?;
                    let block = self.exploration_at(&inner)?.block.id.clone();
                    frames.push(Frame { back: Position { location, node, time: u64::MAX }, call, block });
                    location = inner;
                }
            }
        }
    }

    fn walk(
        &self,
        mut at: Position<A>,
        mut frames: Vec<Frame<A>>,
        target: Option<(Name, ObligationId)>,
        choices: &mut Choices,
    ) -> Result<ErrorPath<A>, Unknown> {
        let mut steps = Vec::new();
        let (mut outermost, mut inside) = (Vec::new(), Vec::new());
        let mut decision = 0;
        let mut entered_at = frames.first().map(|frame| frame.back.node);
        for location in frames.iter().map(|frame| &frame.back.location).chain([&at.location]) {
            if !matches!(location, AbstractionLocation::Open(ROOT)) {
                inside.push(location.clone());
            }
        }
        loop {
            if steps.len() > self.config.max_path {
                return Err(Unknown::Unconfirmed(format!(
                    "a path of more than {} steps",
                    self.config.max_path
                )));
            }
            let exploration = self.exploration_at(&at.location)?;
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
                if frames.is_empty() && matches!(at.location, AbstractionLocation::Open(ROOT)) {
                    outermost.push((at.node, via));
                }
                let back = Position { location: at.location.clone(), node: parent.from, time: parent.time };
                at = match via {
                    ArgEdge::Edge(edge) => {
                        steps.push(PathStep::Edge(from, edge));
                        back
                    }
                    ArgEdge::Enter(edge) => {
                        steps.push(PathStep::Enter { caller: from, edge, callee: arg.function(at.node) });
                        back
                    }
                    ArgEdge::Leave(edge) => {
                        steps.push(PathStep::Leave { callee: from, caller: arg.function(at.node), edge });
                        back
                    }
                    ArgEdge::Block { call, summary, exit } => {
                        let (inner, complete) = self.resolve(&at.location, summary)?;
                        let block = self.exploration_at(&inner)?.block.clone();
                        if let Some(edge) = call {
                            steps.push(PathStep::Leave { callee: block.function, caller: from, edge });
                        }
                        // Clocks of different runs do not compare; what is complete was so before it was used.
                        let time = if complete { u64::MAX } else { parent.time };
                        let node = self.exit_node(&at.location, summary, exit)?;
                        frames.push(Frame { back, call, block: block.id.clone() });
                        Position { location: inner, node, time }
                    }
                };
                continue;
            }
            if !is_root {
                return Err(Unknown::InternalError(format!("node {} was reached by no way", at.node)));
            }
            if let Some(Frame { back, call, block }) = frames.pop() {
                if let (Some(edge), BlockId::Function(callee)) = (call, block) {
                    let caller = self.exploration_at(&back.location)?.arg.function(back.node);
                    steps.push(PathStep::Enter { caller, edge, callee });
                }
                at = back;
                continue;
            }
            let AbstractionLocation::Open(id) = at.location else {
                return Err(Unknown::InternalError("a path ends in a finished block".to_owned()));
            };
            let provisional = self.open(id);
            let Some(creator) = provisional.creator else { break };
            if let Some(edge) = creator.call {
                let caller =
                    self.exploration_at(&AbstractionLocation::Open(creator.open))?.arg.function(creator.node);
                steps.push(PathStep::Enter { caller, edge, callee: exploration.block.function });
            }
            if creator.open == ROOT {
                entered_at = Some(creator.node);
            } else {
                inside.push(AbstractionLocation::Open(creator.open));
            }
            // Strictly before: what the creator was when it asked.
            at = Position {
                location: AbstractionLocation::Open(creator.open),
                node: creator.node,
                time: creator.time + 1,
            };
        }
        steps.reverse();
        outermost.reverse();
        let entry = self.block_of(ROOT).function;
        Ok(ErrorPath { path: Path { entry, steps, target }, outermost, inside, entered_at })
    }
}
