//! Stores that last as long as a run.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::SummaryStore;
use crate::{
    Budget, Unknown,
    bam::{KeyOf, Stable, SummaryId},
    cpa::BlockCpa,
};

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

impl<A: BlockCpa> MemoryStore<A> {
    /// Keeps an abstraction that others may have, too.
    pub fn share(&self, stable: Arc<Stable<A>>) -> SummaryId {
        let mut inner = self.inner.lock();
        let id = SummaryId(inner.stable.len() as u32);
        inner.index.insert(stable.key().clone(), id);
        inner.stable.push(stable);
        id
    }
}

impl<A: BlockCpa> SummaryStore<A> for MemoryStore<A> {
    fn known(&self, key: &KeyOf<A>) -> Option<SummaryId> {
        self.inner.lock().index.get(key).copied()
    }
    fn get(&self, id: SummaryId) -> Arc<Stable<A>> {
        self.inner.lock().stable[id.index()].clone()
    }
    fn put(&self, stable: Stable<A>) -> SummaryId {
        self.share(Arc::new(stable))
    }
    fn is_private(&self) -> bool {
        true
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
    fn find(&self, _key: &KeyOf<A>, _budget: &Budget) -> Result<Option<SummaryId>, Unknown> {
        Ok(None)
    }
    fn known(&self, key: &KeyOf<A>) -> Option<SummaryId> {
        self.0.known(key)
    }
    fn get(&self, id: SummaryId) -> Arc<Stable<A>> {
        self.0.get(id)
    }
    fn put(&self, stable: Stable<A>) -> SummaryId {
        self.0.put(stable)
    }
}
