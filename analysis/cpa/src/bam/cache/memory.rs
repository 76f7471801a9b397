//! Stable block abstractions and where they are kept. What is still provisional has another type (see
//! [`crate::bam::fixpoint`]) and cannot be put here.

use std::{
    hash::{Hash, Hasher},
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{
    arg::NodeId,
    bam::SummaryId,
    cpa::{BlockCpa, BlockId, Cpa, Domain, Reduced},
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
pub(crate) struct Asked<A: Cpa> {
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
    asked: Vec<Asked<A>>,
    /// What computing it took of the budget, what it asked for apart.
    cost: u64,
}

impl<A: Cpa> Stable<A> {
    pub(crate) fn new(
        members: Vec<(KeyOf<A>, Exploration<A>)>,
        asked: Vec<Asked<A>>,
        cost: u64,
    ) -> Stable<A> {
        Stable { members, asked, cost }
    }

    pub(super) fn asked(&self) -> &[Asked<A>] {
        &self.asked
    }

    pub(super) fn cost(&self) -> u64 {
        self.cost
    }

    /// Nodes of its graphs.
    pub(super) fn size(&self) -> usize {
        self.members.iter().map(|(_, exploration)| exploration.arg.nodes().count()).sum()
    }

    /// Whether an error location that somebody asks about is reached in it.
    pub(super) fn has_targets(&self) -> bool {
        let nodes = self.members.iter().flat_map(|(_, exploration)| exploration.arg.nodes());
        nodes.into_iter().any(|(_, node)| node.target.is_some())
    }

    /// The same on top of other abstractions that say the same: `now` are those for `asked`. `None`: it uses something that they lack.
    pub(super) fn on_top_of(&self, now: &[(SummaryId, Arc<Stable<A>>)]) -> Option<Stable<A>> {
        let mut renamed: FxHashMap<(SummaryId, NodeId), NodeId> = FxHashMap::default();
        let mut ids: FxHashMap<SummaryId, SummaryId> = FxHashMap::default();
        let mut asked = Vec::new();
        for (old, (id, new)) in self.asked.iter().zip(now) {
            ids.insert(old.summary, *id);
            for (before, after) in old.exits.iter().zip(new.exits()) {
                renamed.insert((old.summary, before.node), after.node);
            }
            asked.push(Asked {
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
        Some(Stable { members, asked, cost: self.cost })
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

/// Where stable abstractions are kept. A store is transparent: it may change how fast an answer comes, never which. For the
/// drivers guarantee that what they put under a key is a function of the program and the key alone: a recursive component
/// is computed from its entry with nothing else open, and nothing but that entry's abstraction is put.
pub trait SummaryStore<A: BlockCpa> {
    /// The abstraction for a key: looked up, or computed by whoever implements this.
    fn find(&self, key: &KeyOf<A>) -> Option<SummaryId>;
    /// An abstraction that `find` or `put` named. Ids stay valid as long as the store.
    fn get(&self, id: SummaryId) -> Arc<Stable<A>>;
    /// Keeps an abstraction.
    fn put(&self, stable: Stable<A>) -> SummaryId;
    /// The abstraction for a key, from an earlier run. Asked where `find` knows nothing.
    fn recall(&self, _key: &KeyOf<A>) -> Recalled<A> {
        Recalled::Nothing
    }
    /// What computing what was recalled since the last call took of the budget.
    fn debt(&self) -> u64 {
        0
    }
}

/// A store that somebody else looks at, too.
impl<A: BlockCpa, S: SummaryStore<A>> SummaryStore<A> for Rc<S> {
    fn find(&self, key: &KeyOf<A>) -> Option<SummaryId> {
        S::find(self, key)
    }
    fn get(&self, id: SummaryId) -> Arc<Stable<A>> {
        S::get(self, id)
    }
    fn put(&self, stable: Stable<A>) -> SummaryId {
        S::put(self, stable)
    }
    fn recall(&self, key: &KeyOf<A>) -> Recalled<A> {
        S::recall(self, key)
    }
    fn debt(&self) -> u64 {
        S::debt(self)
    }
}

/// What is known from earlier runs.
pub enum Recalled<A: Cpa> {
    /// Nothing.
    Nothing,
    /// Something, if the abstraction for this key, which is needed in any case, says the same as it did then.
    Needs(KeyOf<A>),
    /// The abstraction.
    Known(SummaryId),
}

/// Keeps everything in memory.
pub struct MemoryStore<A: BlockCpa> {
    inner: Mutex<Inner<A>>,
}

struct Inner<A: BlockCpa> {
    index: FxHashMap<KeyOf<A>, SummaryId>,
    stable: Vec<Arc<Stable<A>>>,
}

impl<A: BlockCpa> Default for MemoryStore<A> {
    fn default() -> MemoryStore<A> {
        MemoryStore { inner: Mutex::new(Inner { index: FxHashMap::default(), stable: Vec::new() }) }
    }
}

impl<A: BlockCpa> SummaryStore<A> for MemoryStore<A> {
    fn find(&self, key: &KeyOf<A>) -> Option<SummaryId> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).index.get(key).copied()
    }
    fn get(&self, id: SummaryId) -> Arc<Stable<A>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).stable[id.index()].clone()
    }
    fn put(&self, stable: Stable<A>) -> SummaryId {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let id = SummaryId(inner.stable.len() as u32);
        inner.index.insert(stable.key().clone(), id);
        inner.stable.push(Arc::new(stable));
        id
    }
}

/// Remembers nothing for the next call: every application is computed anew. For tests of transparency.
pub struct ForgetfulStore<A: BlockCpa>(MemoryStore<A>);

impl<A: BlockCpa> Default for ForgetfulStore<A> {
    fn default() -> ForgetfulStore<A> {
        ForgetfulStore(MemoryStore::default())
    }
}

impl<A: BlockCpa> SummaryStore<A> for ForgetfulStore<A> {
    fn find(&self, _key: &KeyOf<A>) -> Option<SummaryId> {
        None
    }
    fn get(&self, id: SummaryId) -> Arc<Stable<A>> {
        self.0.get(id)
    }
    fn put(&self, stable: Stable<A>) -> SummaryId {
        self.0.put(stable)
    }
}
