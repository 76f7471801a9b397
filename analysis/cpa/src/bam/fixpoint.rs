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

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{
    Dependency, KeyOf, OpenId, Stable, SummaryStore,
    tabulation::{AbstractionState, ROOT, RootCache, Tabulation},
    transfer::BamTransfer,
};
use crate::{
    Budget, Unknown,
    arg::{NodeId, SummaryRef},
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
            if top == ROOT && self.root_cache == RootCache::ToLookUp && self.look_up_root(budget)? {
                continue;
            }
            let Some(mut exploration) = self.open_mut(top).exploration.take() else {
                return Err(Unknown::InternalError("a block is explored twice at once".to_owned()));
            };
            let task = self.task.clone();
            let progress = self.progress.clone();
            let edges = EdgeTransfer { analysis: self.analysis, task: &task, budget, progress: &progress };
            let algorithm = CpaAlgorithm { analysis: self.analysis, task: &task, progress: &progress };
            let before = budget.left();
            let mut transfer = BamTransfer { edges, tabulation: self, me: top };
            let result = algorithm.run(&mut exploration, &mut transfer);
            if let Some(component) = self.components.last_mut() {
                component.cost += before - budget.left();
            }
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
        if top != ROOT {
            self.close();
        } else if self.root_cache == RootCache::ToStore {
            self.root_cache = RootCache::Settled;
            self.store_root();
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
            if let AbstractionState::Open(provisional) =
                std::mem::replace(&mut self.abstractions[id.index()], AbstractionState::Gone)
                && let Some(exploration) = provisional.exploration
            {
                members.push((provisional.key, exploration));
            }
        }
        let first = component.first;
        let stable = self.stable(members, &component.dependencies, component.cost, &position);
        let id = self.store.put(stable);
        self.abstractions[first.index()] = AbstractionState::Closed(id);
    }

    /// The whole program's abstraction stays open; later runs get a copy.
    fn store_root(&mut self) {
        let Some(component) = self.components.last() else { return };
        if component.members.len() > 1 {
            return;
        }
        let whole = self.open(ROOT);
        // A copy that calls itself would call what a later run explores.
        if !whole.readers.is_empty() {
            return;
        }
        let Some(exploration) = &whole.exploration else { return };
        let members = vec![(whole.key.clone(), exploration.copy())];
        let stable = self.stable(members, &component.dependencies, component.cost, &FxHashMap::default());
        self.store.put(stable);
    }

    fn stable(
        &self,
        mut members: Vec<(KeyOf<A>, Exploration<A>)>,
        dependencies: &[SummaryRef],
        cost: u64,
        position: &FxHashMap<OpenId, u32>,
    ) -> Stable<A> {
        let rename = |summary| match summary {
            SummaryRef::Open(id) => match (position.get(&id), self.abstractions.get(id.index())) {
                (Some(&member), _) => SummaryRef::Member(member),
                (None, Some(AbstractionState::Closed(stable))) => SummaryRef::Stable(*stable),
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
        for summary in dependencies {
            if let SummaryRef::Stable(summary) = rename(*summary)
                && seen.insert(summary)
            {
                let stable = self.store.get(summary);
                let (key, exploration) = stable.member(0);
                then.push(Dependency {
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
