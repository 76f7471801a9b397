//! Block abstractions between processes: as bytes, under a name that stands for everything they are a function of. A hint only: what is
//! missing, damaged or another version's is computed. Knows no file.

use std::{
    hash::Hash,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use proofline_cfa::{ContentHash, ContentHasher};
use serde::{Serialize, de::DeserializeOwned};

use super::codec::Codec;
use crate::{
    bam::{KeyOf, Stable, SummaryId},
    cpa::BlockCpa,
};

/// An abstraction with more bytes is not kept.
const MOST_BYTES: usize = 1 << 20;

/// Keeps abstractions as bytes where other processes find them.
pub trait PersistentCache: Send + Sync {
    /// The bytes under a name that stands for everything that they are a function of.
    fn find(&self, name: ContentHash) -> Option<Vec<u8>>;
    /// Keeps bytes.
    fn put(&self, name: ContentHash, bytes: Vec<u8>);
}

/// The abstractions of one analysis in a persistent cache, once there is one.
pub(super) struct Persistent<A: BlockCpa> {
    codec: Codec<A>,
    cache: OnceLock<Arc<dyn PersistentCache>>,
    fetched: AtomicU64,
}

impl<A: BlockCpa> Persistent<A>
where
    A::State: Serialize + DeserializeOwned,
    A::Precision: Serialize + DeserializeOwned,
{
    /// Without a cache.
    pub(super) fn new() -> Persistent<A> {
        Persistent { codec: Codec::new(), cache: OnceLock::new(), fetched: AtomicU64::new(0) }
    }
}

impl<A: BlockCpa> Persistent<A> {
    /// The cache. The first counts.
    pub(super) fn set(&self, cache: Arc<dyn PersistentCache>) {
        // A second one would be another program's mistake, and keeps nothing.
        drop(self.cache.set(cache));
    }

    /// Whether there is a cache.
    pub(super) fn is_set(&self) -> bool {
        self.cache.get().is_some()
    }

    /// How many abstractions were found.
    pub(super) fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    /// Keeps an abstraction, unless it is too large.
    pub(super) fn put(&self, footprint: ContentHash, stable: &Stable<A>) {
        let Some(cache) = self.cache.get() else { return };
        if let Some(bytes) = (self.codec.write)(stable).filter(|bytes| bytes.len() <= MOST_BYTES) {
            cache.put(name(footprint, stable.key()), bytes);
        }
    }

    /// An abstraction; what it depends on gets names from `names`.
    pub(super) fn find(
        &self,
        footprint: ContentHash,
        key: &KeyOf<A>,
        names: &mut dyn FnMut() -> SummaryId,
    ) -> Option<Stable<A>> {
        let bytes = self.cache.get()?.find(name(footprint, key))?;
        let stable = (self.codec.read)(&bytes, names).filter(|stable| stable.key() == key)?;
        self.fetched.fetch_add(1, Ordering::Relaxed);
        Some(stable)
    }
}

/// What an abstraction is found by in another process.
fn name<K: Hash>(footprint: ContentHash, key: &K) -> ContentHash {
    let mut digest = ContentHasher::default();
    (footprint, key).hash(&mut digest);
    digest.content_hash()
}
