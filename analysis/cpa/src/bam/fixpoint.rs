//! The fixpoint over block abstractions (CPAchecker: `BAMTransferRelationWithFixPointForRecursion`): a stack of explorations, and within a recursive component a worklist of abstractions with
//! "read by" edges. ALGORITHMS.md §6; the numbers below are its points.
//!
//! * (1) An abstraction that is still open is [`Provisional`](super::tabulation::Provisional), another type than [`Stable`]. Each reader is recorded in
//!   `readers` and goes back to its waitlist when the summary grows. Nothing restarts from `main`.
//! * (2) A [`Component`](super::tabulation::Component) lives from the call that enters it to its fixpoint. Then, and only then, its first abstraction is put
//!   in the store. What is inside is never looked up in the store: it may depend on the entries that are open around it.
//! * (3) Entries are widened after `max_unrollings` open entries of the same block; (4) mutual recursion needs nothing more;
//!   (5) reducing to the innermost frame is `reduce`'s part.
//!
//! Soundness is Hoare's rule: when all waitlists of a component are empty, every abstraction in it contains what its body
//! reaches from its entry if all calls behave as the abstractions they read say. A read abstraction may be one for a weaker
//! entry: what a call reaches from the stronger entry is among what the weaker one reaches. [`crate::certificate`] checks it again.

use rustc_hash::FxHashMap;

use super::{
    Dependency, KeyOf, OpenId, Stable, SummaryStore,
    tabulation::{AbstractionLocation, AbstractionState, ROOT, Tabulation},
    transfer::BamTransfer,
};
use crate::{
    Budget, Unknown,
    arg::{NodeId, Open, SummaryRef},
    cpa::BlockCpa,
    cpa_algorithm::{CpaAlgorithm, Halt},
    edge_transfer::EdgeTransfer,
    exploration::Exploration,
};

/// Why the run stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stopped {
    Finished,
    Target(OpenId, NodeId),
    Interrupted,
}

impl<A: BlockCpa, S: SummaryStore<A>> Tabulation<'_, A, S> {
    /// Works until everything is stable or something stops it. Can be called again after anything.
    pub(crate) fn run(&mut self, budget: &Budget) -> Result<Stopped, Unknown> {
        while let Some(&top) = self.stack.last() {
            if let Some(next) = self.open_mut(top).pending.pop() {
                self.start_pending(next, budget)?;
                continue;
            }
            if std::mem::take(&mut self.asks_for_root) {
                self.ask_for_root(budget)?;
            }
            let Some(mut exploration) = self.open_mut(top).exploration.take() else {
                return Err(Unknown::InternalError("a block is explored twice at once".to_owned()));
            };
            let task = self.task.clone();
            let progress = self.progress.clone();
            let edges = EdgeTransfer { analysis: self.analysis, task: &task, budget, progress: &progress };
            let algorithm = CpaAlgorithm { analysis: self.analysis, task: &task, progress: &progress };
            let mut transfer = BamTransfer { edges, tabulation: self, me: top };
            let result = algorithm.run(&mut exploration, &mut transfer);
            self.open_mut(top).exploration = Some(exploration);
            match result? {
                Halt::Suspended => {}
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
            self.progress.count(|statistics| statistics.resumed += 1);
            self.start(member);
            return Ok(());
        }
        self.stack.pop();
        self.open_mut(top).on_stack = false;
        if top != ROOT
            && let Some((first, stable)) = self.close()
        {
            let key = stable.key().clone();
            let id = self.store.put(stable);
            self.remember(&key, id);
            self.abstractions[first.index()] = AbstractionState::Closed(id);
        }
        Ok(())
    }

    /// Starts an abstraction that was asked for, unless it was started before or its answer is known by now.
    fn start_pending(&mut self, id: OpenId, budget: &Budget) -> Result<(), Unknown> {
        let provisional = self.open(id);
        if provisional.started {
            return Ok(());
        }
        if provisional.component.is_none() {
            self.start(id);
            return Ok(());
        }
        let known = match self.store.find(&provisional.key, budget) {
            Ok(known) => known,
            Err(ended) => {
                self.put_back(id);
                return Err(ended);
            }
        };
        let Some(stable) = known else {
            self.start(id);
            return Ok(());
        };
        self.progress.count(|statistics| statistics.hits += 1);
        let readers = std::mem::take(&mut self.open_mut(id).readers);
        self.abstractions[id.index()] = AbstractionState::Closed(stable);
        let task = self.task.clone();
        for (reader, node) in readers {
            if let Some(exploration) = &mut self.open_mut(reader).exploration {
                exploration.reopen(&task, node, Open::Rest)?;
            }
        }
        Ok(())
    }

    /// The whole program's abstraction stays open; if the store has it, it has nothing left to do.
    fn ask_for_root(&mut self, budget: &Budget) -> Result<(), Unknown> {
        let Some(id) = self.store.find(&self.open(ROOT).key, budget)? else { return Ok(()) };
        self.progress.count(|statistics| statistics.hits += 1);
        let stable = self.store.get(id);
        let mut names = Vec::new();
        for asked in stable.dependencies() {
            let id = self.store.known(&asked.key);
            names.push(id.ok_or_else(|| Unknown::InternalError("a block rests on nothing".to_owned()))?);
        }
        let mut members = Vec::new();
        for index in 0..stable.len() {
            members.push(match stable.member(index).0 {
                _ if index == stable.first() => ROOT,
                key => self.create(key.clone(), None, false)?,
            });
        }
        let location = AbstractionLocation::Closed(stable.clone(), stable.first());
        let rename = |summary| match summary {
            SummaryRef::Dependency(at) => SummaryRef::Stable(names[at as usize]),
            SummaryRef::Member(at) => SummaryRef::Open(members[at as usize]),
            SummaryRef::Open(_) | SummaryRef::Stable(_) => summary,
        };
        for (index, &id) in members.iter().enumerate() {
            let mut exploration = stable.member(index).1.copy();
            let exit = |summary, at| self.exit_node(&location, summary, at).unwrap_or(at);
            exploration.rename_summaries(&rename, &exit);
            self.open_mut(id).started = true;
            self.open_mut(id).exploration = Some(exploration);
        }
        Ok(())
    }

    /// The component is a fixpoint: it becomes one stable abstraction.
    pub(super) fn close(&mut self) -> Option<(OpenId, Stable<A>)> {
        let component = self.components.pop()?;
        let position: FxHashMap<OpenId, u32> =
            component.members.iter().enumerate().map(|(i, &id)| (id, i as u32)).collect();
        let mut members = Vec::new();
        for &id in &component.members {
            if let AbstractionState::Open(provisional) =
                std::mem::replace(&mut self.abstractions[id.index()], AbstractionState::Gone)
                && let Some(exploration) = provisional.exploration
            {
                members.push((provisional.key, exploration));
            }
        }
        Some((component.first, self.stable(members, &component.dependencies, &position)))
    }

    fn stable(
        &self,
        mut members: Vec<(KeyOf<A>, Exploration<A>)>,
        asked: &[SummaryRef],
        position: &FxHashMap<OpenId, u32>,
    ) -> Stable<A> {
        let closed = |summary| match summary {
            SummaryRef::Stable(id) => Some(id),
            SummaryRef::Open(id) => match self.abstractions.get(id.index()) {
                Some(AbstractionState::Closed(stable)) => Some(*stable),
                Some(AbstractionState::Open(_) | AbstractionState::Gone) | None => None,
            },
            SummaryRef::Member(_) | SummaryRef::Dependency(_) => None,
        };
        let (mut numbers, mut dependencies) = (FxHashMap::default(), Vec::new());
        for id in asked.iter().filter_map(|summary| closed(*summary)) {
            numbers.entry(id).or_insert_with(|| {
                let stable = self.store.get(id);
                dependencies.push(Dependency { key: stable.key().clone(), answer: stable.answer() });
                dependencies.len() as u32 - 1
            });
        }
        let rename = |summary| match summary {
            SummaryRef::Open(id) if position.contains_key(&id) => SummaryRef::Member(position[&id]),
            SummaryRef::Member(_) | SummaryRef::Dependency(_) => summary,
            SummaryRef::Open(_) | SummaryRef::Stable(_) => {
                let number = closed(summary).and_then(|id| numbers.get(&id));
                // It refers to itself and to stable ones only, all of which were asked for.
                SummaryRef::Dependency(
                    *number.unwrap_or_else(|| unreachable!("{summary:?} was not asked for")),
                )
            }
        };
        let exit = |summary, at| {
            let is_member = matches!(summary, SummaryRef::Open(id) if position.contains_key(&id));
            let Some(id) = closed(summary).filter(|_| !is_member) else { return at };
            let stable = self.store.get(id);
            let number = stable.exits().position(|exit| exit.node == at);
            NodeId(number.unwrap_or_else(|| unreachable!("what was read is an exit")) as u32)
        };
        for (_, exploration) in &mut members {
            exploration.rename_summaries(&rename, &exit);
            exploration.freeze();
        }
        Stable::new(members, dependencies)
    }
}
