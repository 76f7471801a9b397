//! Block abstractions that outlive a run, by everything they depend on: in memory, the least recently used go first. Knows nothing of
//! programs; [`super::incremental`] asks what still holds.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use proofline_cfa::ContentHash;
use rustc_hash::FxHashMap;
use serde::{Serialize, de::DeserializeOwned};

use super::persistent::{Persistent, PersistentCache};
use crate::{
    bam::{KeyOf, Stable, SummaryId},
    cpa::BlockCpa,
};

/// Abstractions of one key that are kept: the program as it is, and as it was before the last edits.
const VERSIONS: usize = 3;

/// Default limit: nodes of all graphs that are kept.
const MOST_NODES: usize = 1 << 19;

/// Stable abstractions of one analysis, for any number of runs at a time.
pub struct SummaryCache<A: BlockCpa> {
    inner: Mutex<Inner<A>>,
    most_nodes: usize,
    persistent: Option<Persistent<A>>,
    /// For tests: nothing is found, and what would have been is compared with what is computed.
    is_audited: AtomicBool,
    mistakes: Mutex<Vec<String>>,
}

struct Inner<A: BlockCpa> {
    index: FxHashMap<(ContentHash, KeyOf<A>), Vec<SummaryId>>,
    entries: BTreeMap<SummaryId, CacheEntry<A>>,
    /// Which were used longest ago.
    by_use: BTreeMap<u64, SummaryId>,
    nodes: usize,
    uses: u64,
    next: u32,
}

struct CacheEntry<A: BlockCpa> {
    stable: Arc<Stable<A>>,
    footprint: ContentHash,
    used: u64,
    nodes: usize,
    /// Other processes have it, or what it is made of.
    is_persistent: bool,
}

impl<A: BlockCpa> SummaryCache<A>
where
    A::State: Serialize + DeserializeOwned,
    A::Precision: Serialize + DeserializeOwned,
{
    /// These can be left to other processes.
    pub fn persistent(mut self) -> SummaryCache<A> {
        self.persistent = Some(Persistent::new());
        self
    }
}

impl<A: BlockCpa> Default for SummaryCache<A> {
    fn default() -> SummaryCache<A> {
        SummaryCache::new(MOST_NODES)
    }
}

impl<A: BlockCpa> fmt::Debug for SummaryCache<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} summaries", self.len())
    }
}

impl<A: BlockCpa> SummaryCache<A> {
    /// Keeps abstractions with at most so many nodes together; those that were not used for longest go.
    pub fn new(most_nodes: usize) -> SummaryCache<A> {
        let inner = Inner {
            index: FxHashMap::default(),
            entries: BTreeMap::new(),
            by_use: BTreeMap::new(),
            nodes: 0,
            uses: 0,
            next: 0,
        };
        SummaryCache {
            inner: Mutex::new(inner),
            most_nodes,
            persistent: None,
            is_audited: AtomicBool::new(false),
            mistakes: Mutex::default(),
        }
    }

    /// From now on nothing is found: everything is computed, and compared with what would have been found.
    pub fn audit(&self) {
        self.is_audited.store(true, Ordering::Relaxed);
    }

    /// Whether everything is computed.
    pub fn is_audited(&self) -> bool {
        self.is_audited.load(Ordering::Relaxed)
    }

    /// What audits found since the last call: where finding it would have been wrong.
    pub fn take_mistakes(&self) -> Vec<String> {
        std::mem::take(&mut *self.mistakes.lock())
    }

    /// Notes what an audit found.
    pub(super) fn add_mistake(&self, mistake: String) {
        self.mistakes.lock().push(mistake);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    // What panics while it holds the lock leaves a summary too few, never a wrong one.
    fn lock(&self) -> MutexGuard<'_, Inner<A>> {
        self.inner.lock()
    }

    /// A name for an abstraction that no other has.
    pub(super) fn name(&self) -> SummaryId {
        let mut inner = self.lock();
        inner.next = inner.next.checked_add(1).expect("a process computes fewer blocks");
        SummaryId(inner.next)
    }

    /// Newest first.
    pub(super) fn versions(
        &self,
        footprint: ContentHash,
        key: &KeyOf<A>,
    ) -> Vec<(SummaryId, Arc<Stable<A>>)> {
        let inner = self.lock();
        let ids = inner.index.get(&(footprint, key.clone())).into_iter().flatten().rev();
        ids.filter_map(|id| Some((*id, inner.entries.get(id)?.stable.clone()))).collect()
    }

    /// Where other processes leave theirs. The first counts.
    pub fn set_persistent_cache(&self, cache: Arc<dyn PersistentCache>) {
        if let Some(persistent) = &self.persistent {
            persistent.set(cache);
        }
    }

    /// Leaves what is new to other processes.
    pub fn persist(&self) {
        let Some(persistent) = self.persistent.as_ref().filter(|persistent| persistent.is_set()) else {
            return;
        };
        let new: Vec<(ContentHash, Arc<Stable<A>>)> = {
            let mut inner = self.lock();
            let new = inner.entries.values_mut().filter(|entry| !entry.is_persistent);
            new.map(|entry| {
                entry.is_persistent = true;
                (entry.footprint, entry.stable.clone())
            })
            .collect()
        };
        for (footprint, stable) in new {
            persistent.put(footprint, &stable);
        }
    }

    /// Takes over what another process has left, if there is nothing here.
    pub(super) fn fetch(&self, footprint: ContentHash, key: &KeyOf<A>) {
        let Some(persistent) = &self.persistent else { return };
        if self.lock().index.contains_key(&(footprint, key.clone())) {
            return;
        }
        if let Some(stable) = persistent.find(footprint, key, &mut || self.name()) {
            self.keep(self.name(), footprint, Arc::new(stable), true);
        }
    }

    /// How many abstractions other processes had left.
    pub fn fetched(&self) -> u64 {
        self.persistent.as_ref().map_or(0, Persistent::fetched)
    }

    /// Keeps an abstraction under a name.
    pub(super) fn keep(
        &self,
        id: SummaryId,
        footprint: ContentHash,
        stable: Arc<Stable<A>>,
        is_persistent: bool,
    ) {
        let mut inner = self.lock();
        let nodes = stable.size();
        let key = (footprint, stable.key().clone());
        inner.uses += 1;
        let used = inner.uses;
        let ids = inner.index.entry(key).or_default();
        ids.push(id);
        let old = (ids.len() > VERSIONS).then(|| ids[0]);
        inner.entries.insert(id, CacheEntry { stable, footprint, used, nodes, is_persistent });
        inner.by_use.insert(used, id);
        inner.nodes += nodes;
        if let Some(old) = old {
            inner.forget(old);
        }
        while inner.nodes > self.most_nodes
            && let Some((_, oldest)) = inner.by_use.first_key_value()
        {
            let oldest = *oldest;
            inner.forget(oldest);
        }
    }

    /// Notes that an abstraction was used.
    pub(super) fn touch(&self, id: SummaryId) {
        let mut inner = self.lock();
        inner.uses += 1;
        let now = inner.uses;
        let Some(entry) = inner.entries.get_mut(&id) else { return };
        let before = std::mem::replace(&mut entry.used, now);
        inner.by_use.remove(&before);
        inner.by_use.insert(now, id);
    }
}

impl<A: BlockCpa> Inner<A> {
    fn forget(&mut self, id: SummaryId) {
        let Some(entry) = self.entries.remove(&id) else { return };
        self.by_use.remove(&entry.used);
        self.nodes -= entry.nodes;
        let key = (entry.footprint, entry.stable.key().clone());
        if let Some(ids) = self.index.get_mut(&key) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.index.remove(&key);
            }
        }
    }
}
