//! Tabulation of block abstractions: a stack of explorations, and within a recursive component a worklist of abstractions with
//! "read by" edges. ALGORITHMS.md §6; the numbers below are its points.
//!
//! * (1) An abstraction that is still open is [`Provisional`], another type than [`Stable`]. Whoever reads it is recorded in
//!   `readers` and goes back to its waitlist when the summary grows. Nothing restarts from `main`.
//! * (2) A [`Component`] lives from the call that enters it to its fixpoint. Then, and only then, its first abstraction is put
//!   in the store. What is inside is never looked up in the store: it may depend on the entries that are open around it.
//! * (3) Entries are widened after `max_unrollings` open entries of the same block; (4) mutual recursion needs nothing more;
//!   (5) reducing to the innermost frame is `reduce`'s part.
//!
//! Soundness is Hoare's rule: when all waitlists of a component are empty, every abstraction in it contains what its body
//! reaches from its entry if all calls behave as the abstractions they read say. A read abstraction may be one for a weaker
//! entry: what a call reaches from the stronger entry is among what the weaker one reaches. [`crate::certificate`] checks it again.

use std::{collections::BTreeSet, rc::Rc, sync::Arc};

use proofline_cfa::EdgeId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Block, KeyOf, OpenId, Recalled, Stable, SummaryId, SummaryStore, block::Scene, cache::Asked,
    transfer::EngineCalls,
};
use crate::{
    Budget, Config, Unknown,
    arg::{Arg, NodeId, Open, SummaryRef},
    cpa::{BlockCpa, Reduced},
    cpa_algorithm::{Algorithm, Halt},
    exploration::Exploration,
    statistics::Statistics,
};

/// Who asked first for an abstraction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Creator {
    pub(crate) open: OpenId,
    pub(crate) node: NodeId,
    pub(crate) call: Option<EdgeId>,
    pub(crate) time: u64,
}

/// A block abstraction that is being computed. Its exits may still grow.
pub(crate) struct Provisional<A: BlockCpa> {
    pub(crate) key: KeyOf<A>,
    /// Out while it is being explored.
    pub(crate) exploration: Option<Exploration<A>>,
    pub(crate) creator: Option<Creator>,
    /// The next open entry of the same block around this one.
    pub(crate) same_block_above: Option<OpenId>,
    /// How many of those there are, this one included.
    pub(crate) nesting: u32,
    /// Nodes that used its exits so far.
    pub(crate) readers: BTreeSet<(OpenId, NodeId)>,
    /// Abstractions asked for that have not been started; last first.
    pub(crate) pending: Vec<OpenId>,
    /// Its component, until it is started; `None` for members of another's.
    pub(crate) component: Option<Component<A>>,
    pub(crate) started: bool,
    pub(crate) on_stack: bool,
}

pub(crate) enum Slot<A: BlockCpa> {
    Open(Box<Provisional<A>>),
    /// Stable; a component's first abstraction.
    Closed(SummaryId),
    /// Went into a stable component, or was dropped.
    Gone,
}

/// A recursive component of the call graph (or a single block) while it is being computed.
pub(crate) struct Component<A: BlockCpa> {
    pub(crate) first: OpenId,
    pub(crate) members: Vec<OpenId>,
    pub(crate) index: FxHashMap<KeyOf<A>, OpenId>,
    /// Members that are not on the stack and have something to do.
    pub(crate) dirty: BTreeSet<OpenId>,
    /// What was asked for outside of the component, in order.
    pub(crate) asked: Vec<SummaryRef>,
    /// The same, to look up.
    pub(crate) was_asked: FxHashSet<SummaryRef>,
    /// What was spent on it so far.
    pub(crate) cost: u64,
}

impl<A: BlockCpa> Component<A> {
    pub(crate) fn asks(&mut self, summary: SummaryRef) {
        if self.was_asked.insert(summary) {
            self.asked.push(summary);
        }
    }
}

/// Whether an earlier run knows the abstraction of the whole program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whole {
    /// Not asked yet.
    ToAsk,
    /// It does, or nobody wants to know.
    Settled,
    /// It does not: this run's is kept for later ones.
    Kept,
}

/// Why the engine stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stopped {
    Finished,
    Target(OpenId, NodeId),
    Interrupted,
}

pub(crate) struct Engine<'p, A: BlockCpa, S> {
    pub(crate) analysis: &'p A,
    pub(crate) scene: Rc<Scene<'p>>,
    pub(crate) store: S,
    pub(crate) config: Config,
    pub(crate) slots: Vec<Slot<A>>,
    pub(crate) components: Vec<Component<A>>,
    pub(crate) stack: Vec<OpenId>,
    pub(crate) clock: u64,
    pub(crate) statistics: Statistics,
    whole: Whole,
}

/// The abstraction of the whole program.
pub(crate) const WHOLE: OpenId = OpenId(0);

impl<'p, A: BlockCpa, S: SummaryStore<A>> Engine<'p, A, S> {
    pub(crate) fn new(
        analysis: &'p A,
        scene: Scene<'p>,
        store: S,
        config: Config,
        key: KeyOf<A>,
    ) -> Result<Engine<'p, A, S>, Unknown> {
        // Where a target stops the run, or refinement changes it, it is not a function of its key.
        let is_pass = !config.cegar && scene.only.as_ref().is_some_and(BTreeSet::is_empty);
        let whole = if is_pass { Whole::ToAsk } else { Whole::Settled };
        let scene = Rc::new(scene);
        let mut engine = Engine {
            analysis,
            scene,
            store,
            config,
            slots: Vec::new(),
            components: Vec::new(),
            stack: Vec::new(),
            clock: 0,
            statistics: Statistics::default(),
            whole,
        };
        let first = engine.create(key, None, true)?;
        engine.start(first);
        Ok(engine)
    }

    pub(crate) fn open(&self, id: OpenId) -> &Provisional<A> {
        match &self.slots[id.index()] {
            Slot::Open(provisional) => provisional,
            Slot::Closed(_) | Slot::Gone => {
                unreachable!("only open abstractions are on the stack or in an index")
            }
        }
    }

    pub(crate) fn open_mut(&mut self, id: OpenId) -> &mut Provisional<A> {
        match &mut self.slots[id.index()] {
            Slot::Open(provisional) => provisional,
            Slot::Closed(_) | Slot::Gone => {
                unreachable!("only open abstractions are on the stack or in an index")
            }
        }
    }

    pub(crate) fn block_of(&self, id: OpenId) -> Arc<Block> {
        match self.scene.block(&self.open(id).key.block) {
            Ok(block) => block,
            Err(_) => unreachable!("the abstraction was created with this block"),
        }
    }

    /// Makes an abstraction with nothing explored; in a component of its own, or in the current one.
    pub(crate) fn create(
        &mut self,
        key: KeyOf<A>,
        creator: Option<Creator>,
        own_component: bool,
    ) -> Result<OpenId, Unknown> {
        let id = OpenId(self.slots.len() as u32);
        let block = self.scene.block(&key.block)?;
        let (Reduced(entry), Reduced(precision)) = (&key.entry, &key.precision);
        let order = self.config.order;
        let exploration = Exploration::new(self.analysis, &self.scene, &block, entry, precision, order)?;
        let mut same_block_above = None;
        if !own_component {
            let mut above = creator.map(|c| c.open);
            while let Some(open) = above {
                if self.open(open).key.block == key.block {
                    same_block_above = Some(open);
                    break;
                }
                above = if self.components.last().is_some_and(|c| c.first == open) {
                    None
                } else {
                    self.open(open).creator.map(|c| c.open)
                };
            }
        }
        let nesting = same_block_above.map_or(0, |above| self.open(above).nesting) + 1;
        let mut component = None;
        if own_component {
            let (members, index) = (vec![id], FxHashMap::from_iter([(key.clone(), id)]));
            let dirty = BTreeSet::new();
            let (asked, was_asked) = (Vec::new(), FxHashSet::default());
            component = Some(Component { first: id, members, index, dirty, asked, was_asked, cost: 0 });
        } else if let Some(around) = self.components.last_mut() {
            around.members.push(id);
            around.index.insert(key.clone(), id);
        }
        self.slots.push(Slot::Open(Box::new(Provisional {
            key,
            exploration: Some(exploration),
            creator,
            same_block_above,
            nesting,
            readers: BTreeSet::new(),
            pending: Vec::new(),
            component,
            started: false,
            on_stack: false,
        })));
        self.statistics.blocks += 1;
        Ok(id)
    }

    pub(crate) fn start(&mut self, id: OpenId) {
        let provisional = self.open_mut(id);
        provisional.started = true;
        provisional.on_stack = true;
        let component = provisional.component.take();
        self.components.extend(component);
        self.stack.push(id);
    }

    /// Starts an abstraction that was asked for, unless somebody has or its answer is known by now.
    fn start_pending(&mut self, id: OpenId, budget: &Budget) -> Result<(), Unknown> {
        let provisional = self.open(id);
        if provisional.started {
            return Ok(());
        }
        if provisional.component.is_none() {
            self.start(id);
            return Ok(());
        }
        let known = self.store.find(&provisional.key);
        self.statistics.hits += u64::from(known.is_some());
        let stable = match known {
            Some(stable) => stable,
            None => match self.recall(id, budget)? {
                Some(stable) => stable,
                None => return Ok(()),
            },
        };
        let readers = std::mem::take(&mut self.open_mut(id).readers);
        self.slots[id.index()] = Slot::Closed(stable);
        let scene = self.scene.clone();
        for (reader, node) in readers {
            if let Some(exploration) = &mut self.open_mut(reader).exploration {
                exploration.reopen(&scene, node, Open::Deliveries)?;
            }
        }
        Ok(())
    }

    /// What an earlier run knows; without anything the abstraction is started, or what it depends on.
    fn recall(&mut self, id: OpenId, budget: &Budget) -> Result<Option<SummaryId>, Unknown> {
        let recalled = self.store.recall(&self.open(id).key);
        if let Err(ended) = budget.spend(self.store.debt()) {
            self.put_back(id);
            return Err(ended);
        }
        match recalled {
            Recalled::Known(stable) => {
                self.statistics.recalled += 1;
                self.statistics.blocks -= 1;
                return Ok(Some(stable));
            }
            Recalled::Needs(key) if self.ask_first(&key, id) => {}
            Recalled::Needs(_) | Recalled::Nothing => self.start(id),
        }
        Ok(None)
    }

    /// What is on top of the stack asks for it next.
    fn put_back(&mut self, id: OpenId) {
        if let Some(&top) = self.stack.last() {
            self.open_mut(top).pending.push(id);
        }
    }

    /// Has an abstraction computed that `then` is a consequence of. False if it is being computed: then the question was wrong.
    fn ask_first(&mut self, key: &KeyOf<A>, then: OpenId) -> bool {
        let Some(&top) = self.stack.last() else { return false };
        if self.components.iter().any(|component| component.index.contains_key(key)) {
            return false;
        }
        let creator = self.open(then).creator.unwrap_or(Creator {
            open: top,
            node: Arg::<A::State, A::Precision>::ROOT,
            call: None,
            time: self.clock,
        });
        if then != top {
            self.put_back(then);
        }
        let asked = |id: &OpenId| matches!(&self.slots[id.index()], Slot::Open(open) if open.key == *key);
        let first = match self.open(top).pending.iter().position(asked) {
            Some(at) => self.open_mut(top).pending.remove(at),
            None => match self.create(key.clone(), Some(creator), true) {
                Ok(id) => id,
                Err(_) => return false,
            },
        };
        self.put_back(first);
        true
    }

    /// The abstraction of the whole program, from an earlier run. True if something must be computed first.
    fn recall_whole(&mut self, budget: &Budget) -> Result<bool, Unknown> {
        let recalled = self.store.recall(&self.open(WHOLE).key);
        self.whole = match recalled {
            Recalled::Needs(key) if self.ask_first(&key, WHOLE) => Whole::ToAsk,
            Recalled::Needs(_) | Recalled::Nothing => Whole::Kept,
            Recalled::Known(stable) => {
                self.statistics.recalled += 1;
                self.statistics.blocks -= 1;
                let exploration = self.store.get(stable).member(0).1.copy();
                self.open_mut(WHOLE).exploration = Some(exploration);
                Whole::Settled
            }
        };
        budget.spend(self.store.debt())?;
        Ok(self.whole == Whole::ToAsk)
    }

    /// Works until everything is stable or something stops it. Can be called again after anything.
    pub(crate) fn run(&mut self, budget: &Budget) -> Result<Stopped, Unknown> {
        while let Some(&top) = self.stack.last() {
            if let Some(next) = self.open_mut(top).pending.pop() {
                self.start_pending(next, budget)?;
                continue;
            }
            if top == WHOLE && self.whole == Whole::ToAsk && self.recall_whole(budget)? {
                continue;
            }
            let Some(mut exploration) = self.open_mut(top).exploration.take() else {
                return Err(Unknown::InternalError("a block is explored twice at once".to_owned()));
            };
            let scene = self.scene.clone();
            let algorithm = Algorithm { analysis: self.analysis, scene: &scene, budget };
            let before = budget.left();
            let result = algorithm.run(&mut exploration, &mut EngineCalls { engine: self, me: top });
            if let Some(component) = self.components.last_mut() {
                component.cost += before - budget.left();
            }
            self.open_mut(top).exploration = Some(exploration);
            match result? {
                Halt::Descend => {}
                Halt::Target(node) => return Ok(Stopped::Target(top, node)),
                Halt::Interrupted => return Ok(Stopped::Interrupted),
                Halt::Finished => self.finished(top)?,
            }
        }
        Ok(Stopped::Finished)
    }

    /// The waitlist of `top` is empty. The component's first abstraction stays on the stack until all members are done.
    fn finished(&mut self, top: OpenId) -> Result<(), Unknown> {
        let Some(component) = self.components.last_mut() else {
            return Err(Unknown::InternalError("no component is open".to_owned()));
        };
        if component.first != top {
            self.stack.pop();
            self.open_mut(top).on_stack = false;
            return Ok(());
        }
        // The innermost first: what it finds goes up to its readers.
        if let Some(member) = component.dirty.pop_last() {
            self.statistics.resumed += 1;
            self.start(member);
            return Ok(());
        }
        self.stack.pop();
        self.open_mut(top).on_stack = false;
        if top != WHOLE {
            self.close();
        } else if self.whole == Whole::Kept {
            self.whole = Whole::Settled;
            self.keep_whole();
        }
        Ok(())
    }

    /// The component is a fixpoint: it becomes one stable abstraction.
    fn close(&mut self) {
        let Some(component) = self.components.pop() else { return };
        let position: FxHashMap<OpenId, u32> =
            component.members.iter().enumerate().map(|(i, &id)| (id, i as u32)).collect();
        let mut members = Vec::new();
        for &id in &component.members {
            if let Slot::Open(provisional) = std::mem::replace(&mut self.slots[id.index()], Slot::Gone)
                && let Some(exploration) = provisional.exploration
            {
                members.push((provisional.key, exploration));
            }
        }
        let first = component.first;
        let stable = self.stable(members, &component.asked, component.cost, &position);
        let id = self.store.put(stable);
        self.slots[first.index()] = Slot::Closed(id);
    }

    /// The whole program's abstraction stays open; later runs get a copy.
    fn keep_whole(&mut self) {
        let Some(component) = self.components.last() else { return };
        if component.members.len() > 1 {
            return;
        }
        let whole = self.open(WHOLE);
        // A copy that calls itself would call what a later run explores.
        if !whole.readers.is_empty() {
            return;
        }
        let Some(exploration) = &whole.exploration else { return };
        let members = vec![(whole.key.clone(), exploration.copy())];
        let stable = self.stable(members, &component.asked, component.cost, &FxHashMap::default());
        self.store.put(stable);
    }

    fn stable(
        &self,
        mut members: Vec<(KeyOf<A>, Exploration<A>)>,
        asked: &[SummaryRef],
        cost: u64,
        position: &FxHashMap<OpenId, u32>,
    ) -> Stable<A> {
        let rename = |summary| match summary {
            SummaryRef::Open(id) => match (position.get(&id), self.slots.get(id.index())) {
                (Some(&member), _) => SummaryRef::Member(member),
                (None, Some(Slot::Closed(stable))) => SummaryRef::Stable(*stable),
                (None, _) => unreachable!("a stable component refers to itself and to stable ones only"),
            },
            SummaryRef::Member(_) | SummaryRef::Stable(_) => summary,
        };
        for (_, exploration) in &mut members {
            exploration.rename_summaries(&rename);
            exploration.freeze();
        }
        let mut seen = BTreeSet::new();
        let mut then = Vec::new();
        for summary in asked {
            if let SummaryRef::Stable(summary) = rename(*summary)
                && seen.insert(summary)
            {
                let stable = self.store.get(summary);
                let (key, exploration) = stable.member(0);
                then.push(Asked {
                    key: key.clone(),
                    summary,
                    exits: exploration.exits().cloned().collect(),
                    has_unsupported: exploration.unsupported.is_some(),
                });
            }
        }
        Stable::new(members, then, cost)
    }
}
