//! The table of block abstractions of a run: those being computed, by recursive component and in a stack, and references to stable
//! ones in the store. What is done with it stands in [`super::fixpoint`] (exploring) and [`super::transfer`] (applying blocks).
//!
//! An abstraction that is still open is [`Provisional`], another type than [`Stable`], and never leaves its [`Component`].

use std::{
    collections::{BTreeSet, VecDeque},
    rc::Rc,
    sync::Arc,
};

use proofline_cfa::EdgeId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Block, KeyOf, OpenId, Stable, SummaryId, SummaryStore, seeds::Seeds};
use crate::{
    Config, Unknown,
    analysis_task::AnalysisTask,
    arg::{NodeId, SummaryRef},
    cpa::{BlockCpa, Reduced},
    exploration::Exploration,
    statistics::Progress,
};

/// The node that asked first for an abstraction.
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

pub(crate) enum AbstractionState<A: BlockCpa> {
    Open(Box<Provisional<A>>),
    /// Stable; a component's first abstraction.
    Closed(SummaryId),
    /// Went into a stable component, or was dropped.
    Gone,
}

/// A recursive component of the call graph (or a single block) while it is being computed.
pub(crate) struct Component<A: BlockCpa> {
    pub(crate) first: OpenId,
    /// It was entered with nothing known, and so is whatever is called in it.
    pub(crate) is_weakest: bool,
    pub(crate) members: Vec<OpenId>,
    pub(crate) index: FxHashMap<KeyOf<A>, OpenId>,
    /// Members that are not on the stack and have something to do.
    pub(crate) dirty: BTreeSet<OpenId>,
    /// What was asked for outside of the component, in order.
    pub(crate) dependencies: Vec<SummaryRef>,
    /// The same, to look up.
    pub(crate) is_dependency: FxHashSet<SummaryRef>,
}

impl<A: BlockCpa> Component<A> {
    /// Notes what was asked for outside of the component.
    pub(crate) fn depends_on(&mut self, summary: SummaryRef) {
        if self.is_dependency.insert(summary) {
            self.dependencies.push(summary);
        }
    }
}

/// What was being computed when it was named, and is stable by now, by its name in the store.
pub(crate) fn closed_meanwhile<A: BlockCpa>(
    abstractions: &[AbstractionState<A>],
    summary: SummaryRef,
) -> SummaryRef {
    match summary {
        SummaryRef::Open(id) => match abstractions.get(id.index()) {
            Some(AbstractionState::Closed(stable)) => SummaryRef::Stable(*stable),
            Some(AbstractionState::Open(_) | AbstractionState::Gone) | None => summary,
        },
        SummaryRef::Member(_) | SummaryRef::Dependency(_) | SummaryRef::Stable(_) => summary,
    }
}

/// Where an abstraction is.
pub(crate) enum AbstractionLocation<A: BlockCpa> {
    Open(OpenId),
    Closed(Arc<Stable<A>>, usize),
}

impl<A: BlockCpa> Clone for AbstractionLocation<A> {
    fn clone(&self) -> AbstractionLocation<A> {
        match self {
            AbstractionLocation::Open(id) => AbstractionLocation::Open(*id),
            AbstractionLocation::Closed(stable, member) => {
                AbstractionLocation::Closed(stable.clone(), *member)
            }
        }
    }
}

fn closed<A: BlockCpa>(stable: Arc<Stable<A>>) -> AbstractionLocation<A> {
    let first = stable.first();
    AbstractionLocation::Closed(stable, first)
}

impl<A: BlockCpa> AbstractionLocation<A> {
    /// Tells homes apart within a run.
    pub(crate) fn identity(&self) -> (usize, usize) {
        match self {
            AbstractionLocation::Open(id) => (0, id.index()),
            AbstractionLocation::Closed(stable, member) => (Arc::as_ptr(stable) as usize, *member),
        }
    }
}

/// The block abstractions of a run.
pub(crate) struct Tabulation<'p, A: BlockCpa, S> {
    pub(crate) analysis: &'p A,
    pub(crate) task: Rc<AnalysisTask<'p>>,
    pub(crate) store: S,
    pub(crate) config: Config,
    pub(crate) abstractions: Vec<AbstractionState<A>>,
    pub(crate) components: Vec<Component<A>>,
    pub(crate) stack: Vec<OpenId>,
    pub(crate) progress: Rc<Progress>,
    /// What blocks are explored from, if not from nothing.
    pub(crate) seeds: Seeds<A>,
    /// The store is to be asked for the abstraction of the whole program before it is explored.
    pub(crate) asks_for_root: bool,
    /// Nothing is computed here that the store does not answer for: the run stops where it would have to be.
    pub(crate) is_query: bool,
}

/// The abstraction of the whole program.
pub(crate) const ROOT: OpenId = OpenId(0);

impl<'p, A: BlockCpa, S: SummaryStore<A>> Tabulation<'p, A, S> {
    pub(crate) fn new(
        analysis: &'p A,
        task: AnalysisTask<'p>,
        store: S,
        config: Config,
        key: KeyOf<A>,
        is_query: bool,
    ) -> Result<Tabulation<'p, A, S>, Unknown> {
        // Where a target stops the run, or refinement changes it, it is not a function of its key.
        let is_pass = !config.cegar && task.only.as_ref().is_some_and(BTreeSet::is_empty);
        let task = Rc::new(task);
        let mut tabulation = Tabulation {
            analysis,
            task,
            store,
            config,
            abstractions: Vec::new(),
            components: Vec::new(),
            stack: Vec::new(),
            progress: Rc::default(),
            seeds: Seeds::default(),
            asks_for_root: is_pass && !is_query,
            is_query,
        };
        let first = tabulation.create(key, None, true)?;
        tabulation.start(first);
        Ok(tabulation)
    }

    pub(crate) fn open(&self, id: OpenId) -> &Provisional<A> {
        match &self.abstractions[id.index()] {
            AbstractionState::Open(provisional) => provisional,
            AbstractionState::Closed(_) | AbstractionState::Gone => {
                unreachable!("only open abstractions are on the stack or in an index")
            }
        }
    }

    pub(crate) fn open_mut(&mut self, id: OpenId) -> &mut Provisional<A> {
        match &mut self.abstractions[id.index()] {
            AbstractionState::Open(provisional) => provisional,
            AbstractionState::Closed(_) | AbstractionState::Gone => {
                unreachable!("only open abstractions are on the stack or in an index")
            }
        }
    }

    pub(crate) fn block_of(&self, id: OpenId) -> Arc<Block> {
        match self.task.block(&self.open(id).key.block) {
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
        let id = OpenId(self.abstractions.len() as u32);
        let block = self.task.block(&key.block)?;
        let seed = if own_component { self.seed(&key)? } else { None };
        let exploration = match seed {
            Some(seed) => seed,
            None => {
                let (Reduced(entry), Reduced(precision)) = (&key.entry, &key.precision);
                Exploration::new(self.analysis, &self.task, &block, entry, precision, self.config.order)?
            }
        };
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
            let (mut dependencies, mut is_dependency) = (Vec::new(), FxHashSet::default());
            for (_, summary) in exploration.rests_on() {
                if is_dependency.insert(summary) {
                    dependencies.push(summary);
                }
            }
            let function = self.task.info(block.function)?.function;
            let weakest = self.analysis.weakest_entry(block.context(function));
            let is_weakest = weakest.is_some_and(|weakest| weakest == key.entry);
            component =
                Some(Component { first: id, is_weakest, members, index, dirty, dependencies, is_dependency });
        } else if let Some(around) = self.components.last_mut() {
            around.members.push(id);
            around.index.insert(key.clone(), id);
        }
        self.abstractions.push(AbstractionState::Open(Box::new(Provisional {
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
        self.progress.count(|statistics| statistics.blocks += 1);
        Ok(id)
    }

    /// Puts an abstraction on the stack, to be explored next.
    pub(crate) fn start(&mut self, id: OpenId) {
        let provisional = self.open_mut(id);
        provisional.started = true;
        provisional.on_stack = true;
        let component = provisional.component.take();
        self.components.extend(component);
        self.stack.push(id);
    }

    /// Has an abstraction started before what is on top of the stack goes on.
    pub(crate) fn put_back(&mut self, id: OpenId) {
        if let Some(&top) = self.stack.last() {
            self.open_mut(top).pending.push(id);
        }
    }

    /// The exploration of an abstraction, and its block.
    pub(crate) fn exploration_at<'a>(
        &'a self,
        location: &'a AbstractionLocation<A>,
    ) -> Result<&'a Exploration<A>, Unknown> {
        match location {
            AbstractionLocation::Open(id) => {
                self.open(*id).exploration.as_ref().ok_or_else(|| {
                    Unknown::InternalError("a graph is read while it is being built".to_owned())
                })
            }
            AbstractionLocation::Closed(stable, member) => Ok(stable.member(*member).1),
        }
    }

    /// What a reference means, and whether the abstraction was complete before it was used.
    pub(crate) fn resolve(
        &self,
        location: &AbstractionLocation<A>,
        summary: SummaryRef,
    ) -> Result<(AbstractionLocation<A>, bool), Unknown> {
        match (summary, location) {
            (SummaryRef::Stable(id), _) => Ok((closed(self.store.get(id)), true)),
            (SummaryRef::Member(i), AbstractionLocation::Closed(stable, _)) => {
                Ok((AbstractionLocation::Closed(stable.clone(), i as usize), false))
            }
            (SummaryRef::Open(id), _) => match &self.abstractions[id.index()] {
                AbstractionState::Open(_) => Ok((AbstractionLocation::Open(id), false)),
                AbstractionState::Closed(stable) => Ok((closed(self.store.get(*stable)), true)),
                AbstractionState::Gone => Err(Unknown::InternalError(format!("abstraction {id} is gone"))),
            },
            (SummaryRef::Dependency(i), AbstractionLocation::Closed(stable, _)) => {
                let asked = stable.dependencies().get(i as usize);
                let known = asked.and_then(|asked| self.store.known(&asked.key));
                let id =
                    known.ok_or_else(|| Unknown::InternalError("a block rests on nothing".to_owned()))?;
                Ok((closed(self.store.get(id)), true))
            }
            (SummaryRef::Member(_) | SummaryRef::Dependency(_), AbstractionLocation::Open(_)) => {
                Err(Unknown::InternalError("a part of a component that is not stable".to_owned()))
            }
        }
    }

    /// The node behind the name of an exit, of the abstraction that the reference means.
    pub(crate) fn exit_node(
        &self,
        location: &AbstractionLocation<A>,
        summary: SummaryRef,
        exit: NodeId,
    ) -> Result<NodeId, Unknown> {
        let SummaryRef::Dependency(_) = summary else { return Ok(exit) };
        let (inner, _) = self.resolve(location, summary)?;
        let found = self.exploration_at(&inner)?.exits().nth(exit.index()).map(|exit| exit.node);
        found.ok_or_else(|| Unknown::InternalError("a block has lost an exit".to_owned()))
    }

    pub(crate) fn key_of<'a>(&'a self, location: &'a AbstractionLocation<A>) -> &'a KeyOf<A> {
        match location {
            AbstractionLocation::Open(id) => &self.open(*id).key,
            AbstractionLocation::Closed(stable, member) => stable.member(*member).0,
        }
    }

    /// The whole program's abstraction and all it rests on, in the order of discovery.
    pub(crate) fn in_use(&self) -> Result<Vec<AbstractionLocation<A>>, Unknown> {
        let (mut found, mut known) = (Vec::new(), BTreeSet::new());
        let mut work = VecDeque::from([AbstractionLocation::Open(ROOT)]);
        while let Some(location) = work.pop_front() {
            if !known.insert(location.identity()) {
                continue;
            }
            for (_, read) in self.exploration_at(&location)?.reads() {
                work.push_back(self.resolve(&location, read.summary)?.0);
            }
            found.push(location);
        }
        Ok(found)
    }

    /// Whether an abstraction is a fixpoint.
    pub(crate) fn is_stable(&self, location: &AbstractionLocation<A>) -> bool {
        match location {
            AbstractionLocation::Closed(..) => true,
            // Open abstractions are stable together, when the engine has nothing left to do.
            AbstractionLocation::Open(_) => self.stack.is_empty(),
        }
    }
}
