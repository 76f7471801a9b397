//! The CPA algorithm, [CPA10] §3–4 with the order of ALGORITHMS.md §2: for every successor first `adjust`, then target
//! detection, then `merge` with every candidate, then `stop`. Resumable: the exploration comes in and goes out; a node is put
//! back before the run stops for any reason. Knows no domain, and of other blocks only what [`Calls`] says.

use std::sync::Arc;

use proofline_cfa::{Argument, Call, Callee, Cause, Edge, EdgeId, Expr, Function, Name, Op};

use crate::{
    Budget, Unknown,
    arg::{ContextId, Node, NodeId, Open, Parent, Spot, SummaryRef, Via},
    bam::{
        Block,
        block::{Scene, Shape},
    },
    cpa::{Adjusted, BlockCpa, CallContext, EdgeContext, Merge, NoFacts},
    exploration::{Exit, Exploration, Read, UnsupportedAt},
    statistics::Statistics,
};

/// Why a run stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Halt {
    /// Nothing waits.
    Finished,
    /// A selected error location was reached.
    Target(NodeId),
    /// The analysis asked to stop.
    Interrupted,
    /// A block abstraction that was asked for must be explored first.
    Descend,
}

/// What a run needs to know of other blocks.
pub(crate) trait Calls<A: BlockCpa> {
    /// The abstraction that stands for `block` entered with this state.
    fn apply(
        &mut self,
        at: (NodeId, Option<EdgeId>),
        block: &Arc<Block>,
        entered: &A::State,
        precision: &A::Precision,
    ) -> Result<SummaryRef, Unknown>;
    /// Its exits from number `seen` on, and how many there are.
    fn exits(&self, own: &Exploration<A>, summary: SummaryRef, seen: usize) -> (Vec<Exit<A::State>>, usize);
    /// Whether a location that is not supported is reached in it.
    fn has_unsupported(&self, own: &Exploration<A>, summary: SummaryRef) -> bool;
    /// The exits of the explored block (or its support) have changed; returns its own nodes that read them.
    fn changed(&mut self) -> Vec<NodeId>;
    /// Whether an abstraction that was asked for should be explored before this one goes on.
    fn must_descend(&self) -> bool;
    /// Time shared by all graphs of a run.
    fn tick(&mut self) -> u64;
    /// Where to count.
    fn statistics(&mut self) -> &mut Statistics;
}

/// An analysis on a program.
pub(crate) struct Algorithm<'r, 'p, A: BlockCpa> {
    pub(crate) analysis: &'r A,
    pub(crate) scene: &'r Scene<'p>,
    pub(crate) budget: &'r Budget,
}

/// A successor before it is added.
struct Successor<S> {
    via: Via,
    spot: Spot,
    state: S,
}

impl<A: BlockCpa> Algorithm<'_, '_, A> {
    /// Explores until nothing waits or something stops the run.
    pub(crate) fn run(&self, ex: &mut Exploration<A>, calls: &mut impl Calls<A>) -> Result<Halt, Unknown> {
        while let Some(node) = ex.waitlist.pop() {
            let before = (ex.exits.len(), ex.unsupported.is_some());
            let open = std::mem::replace(&mut ex.arg.node_mut(node).open, Open::Closed);
            let result = self.explore(ex, node, open, calls);
            let descends = calls.must_descend();
            match result {
                Ok(None) if descends => ex.put_back(node, Open::Deliveries),
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => ex.put_back(node, open),
            }
            if before != (ex.exits.len(), ex.unsupported.is_some()) {
                for reader in calls.changed() {
                    ex.reopen(self.scene, reader, Open::Deliveries)?;
                }
            }
            if let Some(halt) = result? {
                return Ok(halt);
            }
            if descends {
                return Ok(Halt::Descend);
            }
        }
        Ok(Halt::Finished)
    }

    fn explore(
        &self,
        ex: &mut Exploration<A>,
        node: NodeId,
        open: Open,
        calls: &mut impl Calls<A>,
    ) -> Result<Option<Halt>, Unknown> {
        if open == Open::Full {
            ex.reads.remove(&node);
            // All or nothing: what an exhausted budget cut short is computed again from the start.
            let Some((successors, reads)) = self.successors(ex, node, calls)? else {
                return Ok(Some(Halt::Interrupted));
            };
            if !reads.is_empty() {
                ex.reads.insert(node, reads);
            }
            for successor in successors {
                if let Some(halt) = self.add(ex, node, successor, calls)? {
                    return Ok(Some(halt));
                }
            }
        }
        // All that was asked for is there first, so that it makes no difference what the store knew.
        if calls.must_descend() { Ok(None) } else { self.deliver(ex, node, calls) }
    }

    /// Successors along edges, and applications of blocks. `None`: the analysis asked to stop.
    #[expect(clippy::type_complexity, reason = "used once")]
    fn successors(
        &self,
        ex: &mut Exploration<A>,
        id: NodeId,
        calls: &mut impl Calls<A>,
    ) -> Result<Option<(Vec<Successor<A::State>>, Vec<Read<A::State>>)>, Unknown> {
        let (mut successors, mut reads) = (Vec::new(), Vec::new());
        let Node { spot, ref state, precision, .. } = *ex.arg.node(id);
        let (state, precision) = (state.clone(), ex.arg.precision(precision).clone());
        let shape = self.scene.shape(ex.arg.function(id))?;
        let function = shape.function;

        if let Some(block) = shape.loops.get(&spot.loc)
            && !(spot.context == ContextId::ROOT && block.id == ex.block.id)
        {
            self.count(1, calls)?;
            let summary = calls.apply((id, None), block, &state, &precision)?;
            reads.push(Read { call: None, block: block.clone(), entered: state, summary, seen: 0 });
            return Ok(Some((successors, reads)));
        }
        if let Some(inlined) = &ex.arg.context(spot.context).call
            && spot.loc == function.exit
        {
            let caller = self.scene.shape(ex.arg.context(inlined.caller).function)?;
            let call = call_context(&caller, inlined.edge, function)?;
            let left = self.analysis.leave(&inlined.at_call, &state, &precision, call);
            self.count(left.len(), calls)?;
            let spot = Spot { context: inlined.caller, loc: call.at.edge.to };
            let via = Via::Leave(inlined.edge);
            successors.extend(left.into_iter().map(|state| Successor { via, spot, state }));
            return Ok(Some((successors, reads)));
        }
        for &edge_id in shape.successors(spot.loc) {
            let edge = function.edge(edge_id);
            let target = Spot { context: spot.context, loc: edge.to };
            let via = Via::Edge(edge_id);
            let Op::Call(call) = &edge.op else {
                let at = EdgeContext { function, id: edge_id, edge };
                let next = self.analysis.transfer(&state, &precision, at, &NoFacts);
                self.count(next.len(), calls)?;
                successors.extend(next.into_iter().map(|state| Successor { via, spot: target, state }));
                continue;
            };
            let callees = self.scene.callees(function.name, edge_id);
            for name in callees.functions {
                let callee = self.scene.shape(name)?;
                let context = call_context(&shape, edge_id, callee.function)?;
                let entered = self.analysis.enter(&state, &precision, context);
                self.count(entered.len(), calls)?;
                for entered in entered {
                    if !self.scene.blocks.functions {
                        let context = ex.arg.enter_context(spot.context, edge_id, name, &state);
                        let spot = Spot { context, loc: callee.function.entry };
                        successors.push(Successor { via: Via::Enter(edge_id), spot, state: entered });
                        continue;
                    }
                    // The entry is abstracted before it is reduced, so that equal abstractions share a summary.
                    let place = callee.place(callee.function.entry);
                    match self.analysis.adjust(entered, precision.clone(), &[], place) {
                        Adjusted::Interrupt => return Ok(None),
                        Adjusted::Continue(entered, precision) => {
                            let block = callee.whole.clone();
                            let summary = calls.apply((id, Some(edge_id)), &block, &entered, &precision)?;
                            reads.push(Read { call: Some(edge_id), block, entered, summary, seen: 0 });
                        }
                    }
                }
            }
            if callees.may_be_external {
                let next = external_call(self.analysis, &state, &precision, function, (edge_id, edge), call);
                self.count(next.len(), calls)?;
                successors.extend(next.into_iter().map(|state| Successor { via, spot: target, state }));
            }
        }
        Ok(Some((successors, reads)))
    }

    /// Continues after the blocks applied at a node, with the exits that have not been used yet.
    fn deliver(
        &self,
        ex: &mut Exploration<A>,
        id: NodeId,
        calls: &mut impl Calls<A>,
    ) -> Result<Option<Halt>, Unknown> {
        let count = ex.reads.get(&id).map_or(0, Vec::len);
        for index in 0..count {
            let Read { call, block, entered, summary, seen } = ex.reads[&id][index].clone();
            if ex.unsupported.is_none() && calls.has_unsupported(ex, summary) {
                ex.unsupported = Some(UnsupportedAt::Inside(id, call, summary));
            }
            let (exits, now) = calls.exits(ex, summary, seen);
            let callee = self.scene.shape(block.function)?;
            let caller = self.scene.shape(ex.arg.function(id))?;
            for exit in exits {
                // Merging has changed the node meanwhile: it waits, and will read anew.
                if ex.arg.node(id).open == Open::Full {
                    return Ok(None);
                }
                let context = block.context(callee.function);
                let Some(back) = self.analysis.expand(&entered, context, &exit.state) else { continue };
                let node = ex.arg.node(id);
                let (frame, via) = (node.spot.context, Via::Block { call, summary, exit: exit.node });
                let (states, loc) = match call {
                    None => (vec![back], exit.loc),
                    Some(edge) => {
                        let context = call_context(&caller, edge, callee.function)?;
                        let precision = ex.arg.precision(node.precision);
                        (self.analysis.leave(&node.state, &back, precision, context), context.at.edge.to)
                    }
                };
                self.count(states.len(), calls)?;
                let spot = Spot { context: frame, loc };
                for state in states {
                    if let Some(halt) = self.add(ex, id, Successor { via, spot, state }, calls)? {
                        return Ok(Some(halt));
                    }
                }
            }
            if let Some(read) = ex.reads.get_mut(&id).and_then(|reads| reads.get_mut(index)) {
                read.seen = now;
            }
        }
        Ok(None)
    }

    /// Adds a successor: adjust, target, merge, stop.
    fn add(
        &self,
        ex: &mut Exploration<A>,
        from: NodeId,
        successor: Successor<A::State>,
        calls: &mut impl Calls<A>,
    ) -> Result<Option<Halt>, Unknown> {
        let Successor { via, spot, state } = successor;
        let shape = self.scene.shape(ex.arg.context(spot.context).function)?;
        let precision = ex.arg.precision(ex.arg.node(from).precision).clone();
        let adjusted = {
            let here: Vec<&A::State> = ex.reached.at(spot).map(|n| &ex.arg.node(n).state).collect();
            self.analysis.adjust(state, precision, &here, shape.place(spot.loc))
        };
        let Adjusted::Continue(state, precision) = adjusted else { return Ok(Some(Halt::Interrupted)) };

        // A parent that is explored again finds the children it kept.
        let known = |&child: &NodeId| {
            let child = ex.arg.node(child);
            child.spot == spot
                && child.state == state
                && child.parents.iter().any(|p| p.from == from && p.via == via)
        };
        if ex.arg.node(from).children.iter().any(known) {
            return Ok(None);
        }
        let parent = Parent { from, via, time: calls.tick() };
        let partition = self.analysis.partition(&state);
        let target = shape.targets.get(&spot.loc).copied();
        if target.is_none() {
            self.merge(ex, parent, spot, partition, (&state, &precision), calls)?;
        }
        let candidates = ex.reached.candidates(spot, partition);
        // A target is reported even if another one covers it: it has a path of its own.
        let covering: Vec<NodeId> = if target.is_some() {
            Vec::new()
        } else {
            let states: Vec<&A::State> = candidates.iter().map(|&n| &ex.arg.node(n).state).collect();
            let covering = self.analysis.stop_together(&state, &states, &precision);
            covering.into_iter().map(|i| candidates[i]).collect()
        };
        // What was merged into the state that covers it needs no node of its own.
        if let [only] = covering[..]
            && ex.arg.node(only).parents.contains(&parent)
        {
            return Ok(None);
        }
        let precision = ex.arg.intern_precision(&precision);
        let node = ex.arg.push(Node {
            spot,
            state,
            precision,
            made_with: precision,
            epoch: ex.arg.epoch,
            parents: Vec::new(),
            children: Vec::new(),
            covered_by: Vec::new(),
            covers: Vec::new(),
            open: Open::Closed,
            target,
            partition,
        });
        ex.arg.link(parent, node);
        calls.statistics().nodes += 1;
        if !covering.is_empty() {
            calls.statistics().covered += 1;
            ex.arg.cover(node, &covering);
            return Ok(None);
        }
        ex.reached.insert(spot, partition, node);
        if target.is_some() {
            return Ok(Some(Halt::Target(node)));
        }
        ex.activate(self.scene, node)?;
        Ok(None)
    }

    /// Merges a new state into every reached one that the analysis wants to.
    fn merge(
        &self,
        ex: &mut Exploration<A>,
        parent: Parent,
        spot: Spot,
        partition: u64,
        (state, precision): (&A::State, &A::Precision),
        calls: &mut impl Calls<A>,
    ) -> Result<(), Unknown> {
        for candidate in ex.reached.candidates(spot, partition).to_vec() {
            let old = &ex.arg.node(candidate).state;
            let Merge::Into(merged) = self.analysis.merge(state, old, precision) else { continue };
            if merged == *old {
                continue;
            }
            let key = self.analysis.partition(&merged);
            let precision = ex.arg.intern_precision(precision);
            let node = ex.arg.node_mut(candidate);
            node.state = merged;
            node.precision = precision;
            node.partition = key;
            ex.arg.link(parent, candidate);
            if key != partition {
                ex.reached.remove(spot, partition, candidate);
                ex.reached.insert(spot, key, candidate);
            }
            calls.statistics().merges += 1;
            ex.activate(self.scene, candidate)?;
        }
        Ok(())
    }

    fn count(&self, successors: usize, calls: &mut impl Calls<A>) -> Result<(), Unknown> {
        calls.statistics().successors += successors as u64;
        // Even an edge without successors is work.
        self.budget.spend(successors.max(1) as u64)
    }
}

/// The call on an edge, with one callee.
pub(crate) fn call_context<'p>(
    caller: &Shape<'p>,
    edge: EdgeId,
    callee: &'p Function,
) -> Result<CallContext<'p>, Unknown> {
    let function = caller.function;
    let at = EdgeContext { function, id: edge, edge: function.edge(edge) };
    match &at.edge.op {
        Op::Call(call) => Ok(CallContext { at, call, callee }),
        _ => Err(Unknown::InternalError(format!("{}:{edge} is not a call", function.name))),
    }
}

/// A call of a function without a body: whatever is reachable may have changed, the result is any value. (Library models
/// have replaced direct calls before; what is left are calls through pointers that may lead outside.)
pub(crate) fn external_call<A: BlockCpa>(
    analysis: &A,
    state: &A::State,
    precision: &A::Precision,
    function: &Function,
    (id, edge): (EdgeId, &Edge),
    call: &Call,
) -> Vec<A::State> {
    let values = call.arguments.iter().map(|argument| match argument {
        Argument::Value(value) => value.clone(),
        Argument::Aggregate(lvalue) => Expr::Address(lvalue.clone()),
    });
    let cause = Cause::External(match &call.callee {
        Callee::Direct(name) => *name,
        Callee::Indirect(..) => Name::new("*"),
    });
    let mut states = vec![state.clone()];
    let clobber = Op::Clobber(values.collect(), cause);
    let havoc = call.dst.clone().map(|dst| Op::Havoc(dst, cause));
    for op in [Some(clobber), havoc].into_iter().flatten() {
        let synthetic = Edge { op, ..edge.clone() };
        let at = EdgeContext { function, id, edge: &synthetic };
        states = states.iter().flat_map(|s| analysis.transfer(s, precision, at, &NoFacts)).collect();
    }
    states
}
