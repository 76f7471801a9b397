//! Block application as a transfer relation around that of edges ([BAM20] Alg. 3 with the corrections of ALGORITHMS.md §6): where a block
//! begins, its abstraction stands for it, and the successors are its exits, put back onto what the block could not see. Knows which
//! abstraction stands for a block; not in which order abstractions are explored.

use std::{sync::Arc, vec::IntoIter};

use proofline_cfa::{EdgeId, Name, Op};

use super::{
    Block, Key, KeyOf, OpenId, SummaryStore,
    tabulation::{AbstractionState, Creator, Tabulation},
};
use crate::{
    Unknown,
    arg::{ArgEdge, ContextId, NodeId, Open, ProgramPoint, SummaryRef},
    cpa::{Adjusted, BlockCpa},
    cpa_algorithm::{Successor, Successors, Transfer},
    edge_transfer::{EdgeTransfer, Source, call_context},
    exploration::{Exit, Exploration, Read, UnsupportedAt},
};

/// Open entries of a block that are looked at for coverage, nearest first: bounds the work on recursions that are
/// thousands of calls deep, which only happen when entries do not cover one another anyway.
const ENTRIES_LOOKED_AT: usize = 512;

/// The transfer relation of the abstraction `me`.
pub(super) struct BamTransfer<'e, 'p, A: BlockCpa, S> {
    pub(super) edges: EdgeTransfer<'e, 'p, A>,
    pub(super) tabulation: &'e mut Tabulation<'p, A, S>,
    pub(super) me: OpenId,
}

/// How far the successors of a node have been given.
pub(super) struct Cursor<S> {
    node: NodeId,
    stage: Stage<S>,
    /// How many exits the explored block had, and whether something in it was not supported, before the node was explored.
    before: (usize, bool),
}

enum Stage<S> {
    /// Successors along edges are next, and which blocks are applied.
    Edges,
    /// The exits of the applied blocks are next.
    Blocks,
    /// Those of the block applied as number `index`.
    Block { index: usize },
    /// In the middle of them.
    Exits { index: usize, read: Box<Read<S>>, exits: IntoIter<Exit<S>>, seen: usize },
}

impl<A: BlockCpa, S: SummaryStore<A>> Transfer<A> for BamTransfer<'_, '_, A, S> {
    type Cursor = Cursor<A::State>;

    fn begin(&mut self, ex: &Exploration<A>, node: NodeId, todo: Open) -> Self::Cursor {
        let stage = if todo == Open::Full { Stage::Edges } else { Stage::Blocks };
        Cursor { node, stage, before: (ex.exits.len(), ex.unsupported.is_some()) }
    }

    fn successors(
        &mut self,
        ex: &mut Exploration<A>,
        cursor: &mut Self::Cursor,
    ) -> Result<Successors<A::State>, Unknown> {
        let node = cursor.node;
        loop {
            match &mut cursor.stage {
                Stage::Edges => {
                    ex.reads.remove(&node);
                    // All or nothing: what an exhausted budget cut short is computed again from the start.
                    let Some((successors, reads)) = self.outgoing(ex, node)? else {
                        return Ok(Successors::Interrupted);
                    };
                    if !reads.is_empty() {
                        ex.reads.insert(node, reads);
                    }
                    cursor.stage = Stage::Blocks;
                    return Ok(Successors::These(successors));
                }
                // All that was asked for is there first, so that it makes no difference what the store knew.
                Stage::Blocks if !self.tabulation.open(self.me).pending.is_empty() => {
                    return Ok(Successors::Later);
                }
                Stage::Blocks => cursor.stage = Stage::Block { index: 0 },
                Stage::Block { index } => {
                    let index = *index;
                    let Some(read) = ex.reads.get(&node).and_then(|reads| reads.get(index)).cloned() else {
                        return Ok(Successors::NoMore);
                    };
                    if ex.unsupported.is_none() && self.has_unsupported(ex, read.summary) {
                        ex.unsupported = Some(UnsupportedAt::Inside(node, read.call, read.summary));
                    }
                    let (exits, seen) = self.exits(ex, read.summary, read.seen);
                    let (read, exits) = (Box::new(read), exits.into_iter());
                    cursor.stage = Stage::Exits { index, read, exits, seen };
                }
                Stage::Exits { index, read, exits, seen } => {
                    let Some(exit) = exits.next() else {
                        if let Some(read) = ex.reads.get_mut(&node).and_then(|reads| reads.get_mut(*index)) {
                            read.seen = *seen;
                        }
                        cursor.stage = Stage::Block { index: *index + 1 };
                        continue;
                    };
                    // Merging has changed the node meanwhile: it waits, and will read anew.
                    if ex.arg.node(node).open == Open::Full {
                        return Ok(Successors::NoMore);
                    }
                    return Ok(Successors::These(self.after(ex, node, read, &exit)?));
                }
            }
        }
    }

    fn end(&mut self, ex: &mut Exploration<A>, cursor: Self::Cursor) -> Result<(), Unknown> {
        if cursor.before != (ex.exits.len(), ex.unsupported.is_some()) {
            for reader in self.changed() {
                ex.reopen(self.edges.task, reader, Open::Rest)?;
            }
        }
        Ok(())
    }
}

/// Successors along edges, and the blocks that are applied.
type Outgoing<S> = (Vec<Successor<S>>, Vec<Read<S>>);

impl<A: BlockCpa, S: SummaryStore<A>> BamTransfer<'_, '_, A, S> {
    /// Successors along edges, and applications of blocks. `None`: the analysis asked to stop.
    fn outgoing(
        &mut self,
        ex: &mut Exploration<A>,
        id: NodeId,
    ) -> Result<Option<Outgoing<A::State>>, Unknown> {
        let source = self.edges.source(ex, id)?;
        let (point, function) = (source.point, source.info.function);
        if let Some(block) = source.info.loops.get(&point.loc).cloned()
            && !(point.context == ContextId::ROOT && block.id == ex.block.id)
        {
            self.edges.pay(1)?;
            let Source { state, precision, .. } = source;
            let Some(summary) = self.apply((id, None), &block, &state, &precision)? else { return Ok(None) };
            let read = Read { call: None, block, entered: state, summary, seen: 0 };
            return Ok(Some((Vec::new(), vec![read])));
        }
        if let Some(successors) = self.edges.returning(ex, &source)? {
            return Ok(Some((successors, Vec::new())));
        }
        let (mut successors, mut reads) = (Vec::new(), Vec::new());
        for &edge in source.info.successors(point.loc) {
            let Op::Call(call) = &function.edge(edge).op else {
                successors.extend(self.edges.along(ex, &source, edge)?);
                continue;
            };
            if !self.edges.task.blocks.functions {
                successors.extend(self.edges.along(ex, &source, edge)?);
                continue;
            }
            let callees = self.edges.task.callees(function.name, edge);
            for callee in callees.functions {
                let Some(calls) = self.calls(id, &source, edge, callee)? else { return Ok(None) };
                reads.extend(calls);
            }
            if callees.may_be_external {
                successors.extend(self.edges.outside(&source, edge, call)?);
            }
        }
        Ok(Some((successors, reads)))
    }

    /// The applications of a callee's block. `None`: the analysis asked to stop.
    fn calls(
        &mut self,
        id: NodeId,
        source: &Source<'_, A>,
        edge: EdgeId,
        callee: Name,
    ) -> Result<Option<Vec<Read<A::State>>>, Unknown> {
        let callee = self.edges.task.info(callee)?;
        let mut reads = Vec::new();
        for entered in self.edges.entering(source, edge, &callee)? {
            // The entry is abstracted before it is reduced, so that equal abstractions share a summary.
            let location = callee.location(callee.function.entry);
            match self.edges.analysis.adjust(entered, source.precision.clone(), &[], location) {
                Adjusted::Interrupt => return Ok(None),
                Adjusted::Continue(entered, precision) => {
                    let block = callee.whole.clone();
                    let applied = self.apply((id, Some(edge)), &block, &entered, &precision)?;
                    let Some(summary) = applied else { return Ok(None) };
                    reads.push(Read { call: Some(edge), block, entered, summary, seen: 0 });
                }
            }
        }
        Ok(Some(reads))
    }

    /// The successors of a node over a block that was left with this exit.
    fn after(
        &self,
        ex: &Exploration<A>,
        id: NodeId,
        read: &Read<A::State>,
        exit: &Exit<A::State>,
    ) -> Result<Vec<Successor<A::State>>, Unknown> {
        let &Read { call, ref block, ref entered, summary, .. } = read;
        let (task, analysis) = (self.edges.task, self.edges.analysis);
        let callee = task.info(block.function)?;
        let context = block.context(callee.function);
        let Some(back) = analysis.expand(entered, context, &exit.state) else { return Ok(Vec::new()) };
        let node = ex.arg.node(id);
        let (states, loc) = match call {
            None => (vec![back], exit.loc),
            Some(edge) => {
                let caller = task.info(ex.arg.function(id))?;
                let context = call_context(&caller, edge, callee.function)?;
                let precision = ex.arg.precision(node.precision);
                (analysis.leave(&node.state, &back, precision, context), context.at.edge.to)
            }
        };
        self.edges.pay(states.len())?;
        let point = ProgramPoint { context: node.point.context, loc };
        let edge = ArgEdge::Block { call, summary, exit: exit.node };
        Ok(states.into_iter().map(|state| Successor { edge, point, state }).collect())
    }

    /// The abstraction that stands for `block` entered with this state. `None`: there is none, and it is not computed here.
    fn apply(
        &mut self,
        at: (NodeId, Option<EdgeId>),
        block: &Arc<Block>,
        entered: &A::State,
        precision: &A::Precision,
    ) -> Result<Option<SummaryRef>, Unknown> {
        let tabulation = &mut *self.tabulation;
        let info = tabulation.task.info(block.function)?;
        let context = block.context(info.function);
        let key = Key {
            block: block.id.clone(),
            entry: tabulation.analysis.reduce(entered, context),
            precision: tabulation.analysis.reduce_precision(precision, context),
        };
        let creator = Creator { open: self.me, node: at.0, call: at.1, time: tabulation.progress.now() };
        let from = tabulation.block_of(self.me).function;
        if !tabulation.task.same_component(from, block.function) {
            let Some(summary) = self.outside(key, creator, at.0)? else { return Ok(None) };
            if let Some(component) = self.tabulation.components.last_mut() {
                component.depends_on(summary);
            }
            return Ok(Some(summary));
        }
        let is_weakest = tabulation.components.last().is_some_and(|component| component.is_weakest);
        let weakest = is_weakest.then(|| tabulation.analysis.weakest_entry(context)).flatten();
        let key = match weakest.filter(|weakest| tabulation.analysis.leq(&key.entry.0, &weakest.0)) {
            Some(entry) => Key { entry, ..key },
            None => key,
        };
        let id = match self.in_component(&key) {
            Some(id) => id,
            None => {
                let key = self.widened(key);
                match self.in_component(&key) {
                    Some(id) => id,
                    None => {
                        let id = self.tabulation.create(key, Some(creator), false)?;
                        return Ok(Some(self.read(id, at.0)));
                    }
                }
            }
        };
        self.tabulation.progress.count(|statistics| statistics.provisional_reads += 1);
        Ok(Some(self.read(id, at.0)))
    }

    /// The exits of an abstraction from number `seen` on, and how many there are.
    fn exits(&self, own: &Exploration<A>, summary: SummaryRef, seen: usize) -> (Vec<Exit<A::State>>, usize) {
        self.with(own, summary, |ex| {
            let new = ex.exits[seen.min(ex.exits.len())..].iter();
            (new.filter(|exit| ex.is_current(exit)).cloned().collect(), ex.exits.len())
        })
    }

    /// Whether a location that is not supported is reached in it.
    fn has_unsupported(&self, own: &Exploration<A>, summary: SummaryRef) -> bool {
        self.with(own, summary, |ex| ex.unsupported.is_some())
    }

    /// The exits of the explored block (or its support) have changed; returns its own nodes that read them.
    fn changed(&mut self) -> Vec<NodeId> {
        let tabulation = &mut *self.tabulation;
        let readers: Vec<(OpenId, NodeId)> = tabulation.open(self.me).readers.iter().copied().collect();
        let task = tabulation.task.clone();
        let mut own = Vec::new();
        for (reader, node) in readers {
            if reader == self.me {
                own.push(node);
                continue;
            }
            let AbstractionState::Open(provisional) = &mut tabulation.abstractions[reader.index()] else {
                continue;
            };
            let Some(exploration) = &mut provisional.exploration else { continue };
            // Shapes of functions that are being explored exist.
            let known = exploration.reopen(&task, node, Open::Rest);
            debug_assert!(known.is_ok());
            if !provisional.on_stack
                && let Some(component) = tabulation.components.last_mut()
            {
                component.dirty.insert(reader);
            }
        }
        own
    }

    /// The abstraction for a key of another component. `None`: there is none, and it is not computed here.
    fn outside(
        &mut self,
        key: KeyOf<A>,
        creator: Creator,
        node: NodeId,
    ) -> Result<Option<SummaryRef>, Unknown> {
        let tabulation = &mut *self.tabulation;
        if let Some(stable) = tabulation.store.find(&key, self.edges.budget)? {
            tabulation.progress.count(|statistics| statistics.hits += 1);
            return Ok(Some(SummaryRef::Stable(stable)));
        }
        if tabulation.is_query {
            return Ok(None);
        }
        let asked = |id: &&OpenId| matches!(&tabulation.abstractions[id.index()], AbstractionState::Open(p) if p.key == key);
        if let Some(&id) = tabulation.open(self.me).pending.iter().find(asked) {
            return Ok(Some(self.read(id, node)));
        }
        if tabulation.components.iter().any(|c| c.index.contains_key(&key)) {
            // The call graph says that this cannot be.
            return Err(Unknown::InternalError(format!("{:?} is entered within itself", key.block)));
        }
        let id = tabulation.create(key, Some(creator), true)?;
        Ok(Some(self.read(id, node)))
    }

    fn with<T>(&self, own: &Exploration<A>, summary: SummaryRef, f: impl Fn(&Exploration<A>) -> T) -> T {
        let stable = match summary {
            SummaryRef::Open(id) if id == self.me => return f(own),
            SummaryRef::Open(id) => match &self.tabulation.abstractions[id.index()] {
                AbstractionState::Open(provisional) => match &provisional.exploration {
                    Some(exploration) => return f(exploration),
                    None => return f(own),
                },
                AbstractionState::Closed(stable) => *stable,
                AbstractionState::Gone => unreachable!("members of a component are read within it only"),
            },
            SummaryRef::Stable(stable) => stable,
            SummaryRef::Member(_) | SummaryRef::Dependency(_) => {
                unreachable!("what is being explored refers to open or stable abstractions")
            }
        };
        let stable = self.tabulation.store.get(stable);
        f(stable.member(stable.first()).1)
    }

    /// Records the dependency, and has the abstraction explored first if its exploration has not begun.
    fn read(&mut self, id: OpenId, node: NodeId) -> SummaryRef {
        let me = self.me;
        let provisional = self.tabulation.open_mut(id);
        provisional.readers.insert((me, node));
        if !provisional.started && !self.tabulation.open(me).pending.contains(&id) {
            // The first that was asked for is explored first.
            self.tabulation.open_mut(me).pending.insert(0, id);
        }
        SummaryRef::Open(id)
    }

    /// An abstraction of this component for exactly this entry, or the nearest open entry around this one that covers it.
    fn in_component(&self, key: &KeyOf<A>) -> Option<OpenId> {
        let component = self.tabulation.components.last()?;
        if let Some(&id) = component.index.get(key) {
            return Some(id);
        }
        let analysis = self.tabulation.analysis;
        let partition = analysis.partition(&key.entry.0);
        self.open_entries(key).take(ENTRIES_LOOKED_AT).find(|&id| {
            let open = &self.tabulation.open(id).key;
            open.precision == key.precision
                && analysis.partition(&open.entry.0) == partition
                && analysis.leq(&key.entry.0, &open.entry.0)
        })
    }

    /// Open entries of the block, nearest first: this one or those around it.
    fn open_entries(&self, key: &KeyOf<A>) -> impl Iterator<Item = OpenId> {
        let tabulation = &*self.tabulation;
        let first = tabulation.components.last().map(|c| c.first);
        let mut next = Some(self.me);
        while let Some(id) = next
            && tabulation.open(id).key.block != key.block
        {
            next = if Some(id) == first { None } else { tabulation.open(id).creator.map(|c| c.open) };
        }
        std::iter::successors(next, |&id| tabulation.open(id).same_block_above)
    }

    /// The entry, widened if enough entries of the block are open.
    fn widened(&mut self, key: KeyOf<A>) -> KeyOf<A> {
        let Some(nearest) = self.open_entries(&key).next() else { return key };
        let nearest = self.tabulation.open(nearest);
        if nearest.nesting < self.tabulation.config.max_unrollings {
            return key;
        }
        let analysis = self.tabulation.analysis;
        let entry = analysis.widen_entry(&nearest.key.entry, &key.entry, nearest.nesting);
        // An entry that does not cover the call would be unsound; such a widening is not used.
        if entry == key.entry || !analysis.leq(&key.entry.0, &entry.0) {
            return key;
        }
        self.tabulation.progress.count(|statistics| statistics.widened += 1);
        Key { entry, ..key }
    }
}
