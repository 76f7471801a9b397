//! Applying a block: which abstraction stands for it. [BAM20] Alg. 3 with the corrections of ALGORITHMS.md §6.

use std::sync::Arc;

use proofline_cfa::EdgeId;

use super::{
    Block, Key, KeyOf, OpenId, SummaryStore,
    fixpoint::{Creator, Engine, Slot},
};
use crate::{
    Unknown,
    arg::{NodeId, Open, SummaryRef},
    cpa::BlockCpa,
    cpa_algorithm::Calls,
    exploration::{Exit, Exploration},
    statistics::Statistics,
};

/// Open entries of a block that are looked at for coverage, nearest first: bounds the work on recursions that are
/// thousands of calls deep, which only happen when entries do not cover one another anyway.
const ENTRIES_LOOKED_AT: usize = 512;

/// The engine, while `me` is being explored.
pub(super) struct EngineCalls<'e, 'p, A: BlockCpa, S> {
    pub(super) engine: &'e mut Engine<'p, A, S>,
    pub(super) me: OpenId,
}

impl<A: BlockCpa, S: SummaryStore<A>> Calls<A> for EngineCalls<'_, '_, A, S> {
    fn apply(
        &mut self,
        at: (NodeId, Option<EdgeId>),
        block: &Arc<Block>,
        entered: &A::State,
        precision: &A::Precision,
    ) -> Result<SummaryRef, Unknown> {
        let engine = &mut *self.engine;
        let shape = engine.scene.shape(block.function)?;
        let context = block.context(shape.function);
        let key = Key {
            block: block.id.clone(),
            entry: engine.analysis.reduce(entered, context),
            precision: engine.analysis.reduce_precision(precision, context),
        };
        let creator = Creator { open: self.me, node: at.0, call: at.1, time: engine.clock };
        let from = engine.block_of(self.me).function;
        if !engine.scene.same_component(from, block.function) {
            let summary = self.outside(key, creator, at.0)?;
            if let Some(component) = self.engine.components.last_mut() {
                component.asks(summary);
            }
            return Ok(summary);
        }
        let id = match self.in_component(&key) {
            Some(id) => id,
            None => {
                let key = self.widened(key);
                match self.in_component(&key) {
                    Some(id) => id,
                    None => {
                        let id = self.engine.create(key, Some(creator), false)?;
                        return Ok(self.read(id, at.0));
                    }
                }
            }
        };
        self.engine.statistics.provisional_reads += 1;
        Ok(self.read(id, at.0))
    }

    fn exits(&self, own: &Exploration<A>, summary: SummaryRef, seen: usize) -> (Vec<Exit<A::State>>, usize) {
        self.with(own, summary, |ex| {
            let new = ex.exits[seen.min(ex.exits.len())..].iter();
            (new.filter(|exit| ex.is_current(exit)).cloned().collect(), ex.exits.len())
        })
    }

    fn has_unsupported(&self, own: &Exploration<A>, summary: SummaryRef) -> bool {
        self.with(own, summary, |ex| ex.unsupported.is_some())
    }

    fn changed(&mut self) -> Vec<NodeId> {
        let engine = &mut *self.engine;
        let readers: Vec<(OpenId, NodeId)> = engine.open(self.me).readers.iter().copied().collect();
        let scene = engine.scene.clone();
        let mut own = Vec::new();
        for (reader, node) in readers {
            if reader == self.me {
                own.push(node);
                continue;
            }
            let Slot::Open(provisional) = &mut engine.slots[reader.index()] else { continue };
            let Some(exploration) = &mut provisional.exploration else { continue };
            // Shapes of functions that are being explored exist.
            let known = exploration.reopen(&scene, node, Open::Deliveries);
            debug_assert!(known.is_ok());
            if !provisional.on_stack
                && let Some(component) = engine.components.last_mut()
            {
                component.dirty.insert(reader);
            }
        }
        own
    }

    fn must_descend(&self) -> bool {
        !self.engine.open(self.me).pending.is_empty()
    }

    fn tick(&mut self) -> u64 {
        self.engine.clock += 1;
        self.engine.clock
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.engine.statistics
    }
}

impl<A: BlockCpa, S: SummaryStore<A>> EngineCalls<'_, '_, A, S> {
    /// The abstraction for a key of another component.
    fn outside(&mut self, key: KeyOf<A>, creator: Creator, node: NodeId) -> Result<SummaryRef, Unknown> {
        let engine = &mut *self.engine;
        if let Some(stable) = engine.store.find(&key) {
            engine.statistics.hits += 1;
            return Ok(SummaryRef::Stable(stable));
        }
        let asked = |id: &&OpenId| matches!(&engine.slots[id.index()], Slot::Open(p) if p.key == key);
        if let Some(&id) = engine.open(self.me).pending.iter().find(asked) {
            return Ok(self.read(id, node));
        }
        if engine.components.iter().any(|c| c.index.contains_key(&key)) {
            // The call graph says that this cannot be.
            return Err(Unknown::InternalError(format!("{:?} is entered within itself", key.block)));
        }
        let id = engine.create(key, Some(creator), true)?;
        Ok(self.read(id, node))
    }

    fn with<T>(&self, own: &Exploration<A>, summary: SummaryRef, f: impl Fn(&Exploration<A>) -> T) -> T {
        let stable = match summary {
            SummaryRef::Open(id) if id == self.me => return f(own),
            SummaryRef::Open(id) => match &self.engine.slots[id.index()] {
                Slot::Open(provisional) => match &provisional.exploration {
                    Some(exploration) => return f(exploration),
                    None => return f(own),
                },
                Slot::Closed(stable) => *stable,
                Slot::Gone => unreachable!("members of a component are read within it only"),
            },
            SummaryRef::Stable(stable) => stable,
            SummaryRef::Member(_) => {
                unreachable!("what is being explored refers to open or stable abstractions")
            }
        };
        f(self.engine.store.get(stable).member(0).1)
    }

    /// Records the dependency, and has the abstraction explored first if nobody has begun.
    fn read(&mut self, id: OpenId, node: NodeId) -> SummaryRef {
        let me = self.me;
        let provisional = self.engine.open_mut(id);
        provisional.readers.insert((me, node));
        if !provisional.started && !self.engine.open(me).pending.contains(&id) {
            // The first that was asked for is explored first.
            self.engine.open_mut(me).pending.insert(0, id);
        }
        SummaryRef::Open(id)
    }

    /// An abstraction of this component for exactly this entry, or the nearest open entry around this one that covers it.
    fn in_component(&self, key: &KeyOf<A>) -> Option<OpenId> {
        let component = self.engine.components.last()?;
        if let Some(&id) = component.index.get(key) {
            return Some(id);
        }
        let analysis = self.engine.analysis;
        let partition = analysis.partition(&key.entry.0);
        self.open_entries(key).take(ENTRIES_LOOKED_AT).find(|&id| {
            let open = &self.engine.open(id).key;
            open.precision == key.precision
                && analysis.partition(&open.entry.0) == partition
                && analysis.leq(&key.entry.0, &open.entry.0)
        })
    }

    /// Open entries of the block, nearest first: this one or those around it.
    fn open_entries(&self, key: &KeyOf<A>) -> impl Iterator<Item = OpenId> {
        let engine = &*self.engine;
        let first = engine.components.last().map(|c| c.first);
        let mut next = Some(self.me);
        while let Some(id) = next
            && engine.open(id).key.block != key.block
        {
            next = if Some(id) == first { None } else { engine.open(id).creator.map(|c| c.open) };
        }
        std::iter::successors(next, |&id| engine.open(id).same_block_above)
    }

    /// The entry, widened if enough entries of the block are open.
    fn widened(&mut self, key: KeyOf<A>) -> KeyOf<A> {
        let Some(nearest) = self.open_entries(&key).next() else { return key };
        let nearest = self.engine.open(nearest);
        if nearest.nesting < self.engine.config.max_unrollings {
            return key;
        }
        let analysis = self.engine.analysis;
        let entry = analysis.widen_entry(&nearest.key.entry, &key.entry, nearest.nesting);
        // An entry that does not cover the call would be unsound; such a widening is not used.
        if entry == key.entry || !analysis.leq(&key.entry.0, &entry.0) {
            return key;
        }
        self.engine.statistics.widened += 1;
        Key { entry, ..key }
    }
}
