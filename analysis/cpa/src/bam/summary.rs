//! Stable block abstractions: what is known of a block that is a fixpoint, what it is a function of, and what it was computed with. What is
//! still provisional has another type (see [`super::tabulation`]).

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use proofline_cfa::{ContentHash, ContentHasher};
use serde::{Deserialize, Serialize};

use crate::{
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
#[derive(Clone, Debug)]
pub struct Dependency<K> {
    /// What was asked.
    pub key: K,
    /// [`Stable::answer`] as it was.
    pub answer: ContentHash,
}

/// A block abstraction that is a fixpoint: whatever its blocks can reach from the entry states is in it. The members are the
/// abstractions of the same recursive component that it was computed with; [`Stable::first`] is the one that was asked for. It names others by
/// what it asked for and their exits by number, so it holds as it is wherever they give the same answers.
#[derive(Debug)]
pub struct Stable<A: Cpa> {
    members: Arc<Vec<(KeyOf<A>, Exploration<A>)>>,
    first: usize,
    /// All that was asked for while it was computed, in this order: each is a consequence of the block and of the answers before it.
    dependencies: Vec<Dependency<KeyOf<A>>>,
    /// What computing it took of the budget, what it asked for apart.
    cost: u64,
    answer: ContentHash,
}

impl<A: Cpa> Stable<A> {
    pub(crate) fn new(
        members: Vec<(KeyOf<A>, Exploration<A>)>,
        dependencies: Vec<Dependency<KeyOf<A>>>,
    ) -> Stable<A> {
        let answer = answer(&members[0].1);
        Stable { members: Arc::new(members), first: 0, dependencies, cost: 0, answer }
    }

    /// The abstraction for another key of the component: each member is a fixpoint together with those that it uses. `None` if no member has
    /// this key.
    pub fn rooted_at(&self, key: &KeyOf<A>) -> Option<Stable<A>> {
        let first = self.members.iter().position(|(known, _)| known == key)?;
        let dependencies = self.dependencies.clone();
        let answer = answer(&self.members[first].1);
        Some(Stable { members: self.members.clone(), first, dependencies, cost: self.cost, answer })
    }

    /// The same with what computing it took.
    pub(crate) fn costing(self, cost: u64) -> Stable<A> {
        Stable { cost, ..self }
    }

    /// All that it asked for.
    pub fn dependencies(&self) -> &[Dependency<KeyOf<A>>] {
        &self.dependencies
    }

    /// What computing it took of the budget, what it asked for apart.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Names all that whoever applies the block can see of it: its exit states in order, and whether something is reached that is not
    /// supported.
    pub fn answer(&self) -> ContentHash {
        self.answer
    }

    /// Nodes of its graphs, unless these are another abstraction's.
    pub fn size(&self) -> usize {
        if self.is_shared() {
            return self.members.len();
        }
        self.members.iter().map(|(_, exploration)| exploration.arg.nodes().count()).sum()
    }

    /// Whether its graphs are those of another abstraction of its component.
    pub fn is_shared(&self) -> bool {
        self.first != 0
    }

    /// What it answers.
    pub fn key(&self) -> &KeyOf<A> {
        &self.members[self.first].0
    }

    /// Number of abstractions it consists of.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The member that it is for.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Never: a member is the abstraction itself.
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
        self.members[self.first].1.exits()
    }
}

fn answer<A: Cpa>(exploration: &Exploration<A>) -> ContentHash {
    let mut digest = ContentHasher::default();
    exploration.unsupported.is_some().hash(&mut digest);
    exploration.exits().for_each(|exit| (exit.loc, &exit.state).hash(&mut digest));
    digest.content_hash()
}
