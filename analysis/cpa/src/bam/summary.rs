//! Stable block abstractions: what is known of a block that is a fixpoint, what it is a function of, and what it was computed with. What is
//! still provisional has another type (see [`super::tabulation`]).

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::SummaryId;
use crate::{
    arg::NodeId,
    cpa::{BlockId, Cpa, Domain, Reduced},
    exploration::{Exit, Exploration},
};

/// What a block abstraction depends on, apart from the program: the cache key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Key<S, P> {
    /// The block.
    pub block: BlockId,
    /// The reduced entry state.
    pub entry: Reduced<S>,
    /// The reduced precision.
    pub precision: Reduced<P>,
}

/// The key of an analysis' abstractions.
pub type KeyOf<A> = Key<<A as Domain>::State, <A as Cpa>::Precision>;

impl<S: Hash, P: Hash> Hash for Key<S, P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.block.hash(state);
        self.entry.hash(state);
        self.precision.hash(state);
    }
}

/// Another abstraction that one was computed with, and what it said.
#[derive(Debug)]
pub(crate) struct Dependency<A: Cpa> {
    pub(crate) key: KeyOf<A>,
    pub(crate) summary: SummaryId,
    /// Its exit states, in order.
    pub(crate) exits: Vec<Exit<A::State>>,
    pub(crate) has_unsupported: bool,
}

/// A block abstraction that is a fixpoint: whatever its blocks can reach from the entry states is in it. The members are the
/// abstractions of the same recursive component that it was computed with; 0 is the one that was asked for.
#[derive(Debug)]
pub struct Stable<A: Cpa> {
    members: Vec<(KeyOf<A>, Exploration<A>)>,
    /// All that was asked for while it was computed, in this order: each is a consequence of the block and of the answers before it.
    dependencies: Vec<Dependency<A>>,
    /// What computing it took of the budget, what it asked for apart.
    cost: u64,
}

impl<A: Cpa> Stable<A> {
    pub(crate) fn new(
        members: Vec<(KeyOf<A>, Exploration<A>)>,
        dependencies: Vec<Dependency<A>>,
        cost: u64,
    ) -> Stable<A> {
        Stable { members, dependencies, cost }
    }

    pub(crate) fn dependencies(&self) -> &[Dependency<A>] {
        &self.dependencies
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    /// Nodes of its graphs.
    pub(crate) fn size(&self) -> usize {
        self.members.iter().map(|(_, exploration)| exploration.arg.nodes().count()).sum()
    }

    /// Whether a target error location is reached in it.
    pub(crate) fn has_targets(&self) -> bool {
        let nodes = self.members.iter().flat_map(|(_, exploration)| exploration.arg.nodes());
        nodes.into_iter().any(|(_, node)| node.target.is_some())
    }

    /// The same on top of other abstractions that say the same: `now` are those for its dependencies. `None`: it uses something that they lack.
    pub(crate) fn on_top_of(&self, now: &[(SummaryId, Arc<Stable<A>>)]) -> Option<Stable<A>> {
        let mut renamed: FxHashMap<(SummaryId, NodeId), NodeId> = FxHashMap::default();
        let mut ids: FxHashMap<SummaryId, SummaryId> = FxHashMap::default();
        let mut dependencies = Vec::new();
        for (old, (id, new)) in self.dependencies.iter().zip(now) {
            ids.insert(old.summary, *id);
            for (before, after) in old.exits.iter().zip(new.exits()) {
                renamed.insert((old.summary, before.node), after.node);
            }
            dependencies.push(Dependency {
                key: old.key.clone(),
                summary: *id,
                exits: new.exits().cloned().collect(),
                has_unsupported: old.has_unsupported,
            });
        }
        let mut members = Vec::new();
        for (key, exploration) in &self.members {
            let exploration = exploration
                .renamed(&|summary| ids.get(&summary).copied(), &|summary, exit| {
                    renamed.get(&(summary, exit)).copied()
                })?;
            members.push((key.clone(), exploration));
        }
        Some(Stable { members, dependencies, cost: self.cost })
    }

    /// What it answers.
    pub fn key(&self) -> &KeyOf<A> {
        &self.members[0].0
    }

    /// Number of abstractions it consists of.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Never: the first member is the abstraction itself.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A member.
    pub fn member(&self, index: usize) -> (&KeyOf<A>, &Exploration<A>) {
        let (key, exploration) = &self.members[index];
        (key, exploration)
    }

    /// Its exit states.
    pub fn exits(&self) -> impl Iterator<Item = &Exit<A::State>> {
        self.members[0].1.exits()
    }
}
