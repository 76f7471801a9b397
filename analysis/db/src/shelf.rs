//! The abstractions behind the remembered answers of blocks: in memory, the least recently used go first, and on the disk. What is gone is
//! computed again. Found by content: entries that reach the same code have them together, and so has the next process. Knows no query.

use std::{
    collections::BTreeMap,
    hash::Hash,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use proofline_hir::{ContentHash, ContentHasher};
use proofline_verifier::{
    PersistentCache,
    blocks::{BlockKey, BlockRun, BlockSummary},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::stored::Blocks;

/// Abstractions of one key that are kept: those above other answers, or as it was before the last edits.
const VERSIONS: usize = 3;

/// An abstraction with more bytes is not left to other processes.
const MOST_BYTES: usize = 1 << 20;

/// Nor are more bytes left to them at a time: there is no room for many more on the disk.
const MOST_AT_ONCE: usize = 1 << 22;

/// No node has fewer, as far as the look at the room that is left goes: who is larger for certain is not written in vain.
const LEAST_BYTES: usize = 64;

/// What a block of a function is found by: all that it is a function of, the answers of other blocks apart.
pub(crate) type Content = (ContentHash, BlockKey);

/// An abstraction with the name that no other has.
pub(crate) type Named = (u64, Arc<BlockSummary>);

pub(crate) struct Shelf {
    inner: Mutex<Inner>,
    /// Nodes of all graphs that are kept.
    most_nodes: usize,
    disk: OnceLock<Arc<Blocks>>,
    fetched: AtomicU64,
}

#[derive(Default)]
struct Inner {
    index: FxHashMap<Content, Vec<u64>>,
    entries: FxHashMap<u64, Entry>,
    /// Which were used longest ago.
    by_use: BTreeMap<u64, u64>,
    nodes: usize,
    clock: u64,
}

struct Entry {
    summary: Arc<BlockSummary>,
    content: Content,
    used: u64,
    is_on_disk: bool,
}

impl Shelf {
    /// With room for so many nodes.
    pub(crate) fn new(most_nodes: usize) -> Shelf {
        Shelf { inner: Mutex::default(), most_nodes, disk: OnceLock::new(), fetched: AtomicU64::new(0) }
    }

    /// Where other processes leave theirs. The first counts.
    pub(crate) fn set_disk(&self, disk: Arc<Blocks>) {
        drop(self.disk.set(disk));
    }

    /// How many abstractions other processes had left.
    pub(crate) fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    /// The one of this name.
    pub(crate) fn get(&self, name: u64) -> Option<Arc<BlockSummary>> {
        let mut inner = self.inner.lock();
        inner.clock += 1;
        let now = inner.clock;
        let entry = inner.entries.get_mut(&name)?;
        let before = std::mem::replace(&mut entry.used, now);
        let summary = entry.summary.clone();
        inner.by_use.remove(&before);
        inner.by_use.insert(now, name);
        Some(summary)
    }

    /// Those for this content, newest first, or what another process has left.
    pub(crate) fn versions(&self, content: &Content, run: &dyn BlockRun) -> Vec<Named> {
        let inner = self.inner.lock();
        if let Some(names) = inner.index.get(content) {
            let newest = names.iter().rev();
            return newest
                .filter_map(|name| Some((*name, inner.entries.get(name)?.summary.clone())))
                .collect();
        }
        drop(inner);
        let Some(disk) = self.disk.get() else { return Vec::new() };
        let found = disk.find(on_disk(content)).and_then(|bytes| run.read(&content.1, &bytes));
        let Some(summary) = found else { return Vec::new() };
        self.fetched.fetch_add(1, Ordering::Relaxed);
        vec![(self.keep(content.clone(), summary.clone(), true), summary)]
    }

    /// Keeps an abstraction.
    pub(crate) fn keep(&self, content: Content, summary: Arc<BlockSummary>, is_on_disk: bool) -> u64 {
        let mut inner = self.inner.lock();
        inner.clock += 1;
        // Both the name and the time of the first use.
        let name = inner.clock;
        inner.nodes += summary.size();
        let names = inner.index.entry(content.clone()).or_default();
        names.push(name);
        let old = (names.len() > VERSIONS).then(|| names[0]);
        inner.entries.insert(name, Entry { summary, content, used: name, is_on_disk });
        inner.by_use.insert(name, name);
        if let Some(old) = old {
            inner.forget(old);
        }
        while inner.nodes > self.most_nodes
            && let Some((_, &oldest)) = inner.by_use.first_key_value()
        {
            inner.forget(oldest);
        }
        name
    }

    /// Keeps none of them.
    pub(crate) fn forget_all(&self) {
        self.persist();
        let mut inner = self.inner.lock();
        // Names are not used again.
        *inner = Inner { clock: inner.clock, ..Inner::default() };
    }

    /// Leaves what is new to other processes.
    pub(crate) fn persist(&self) {
        let Some(disk) = self.disk.get() else { return };
        let mut new = Vec::new();
        for entry in self.inner.lock().entries.values_mut().filter(|entry| !entry.is_on_disk) {
            entry.is_on_disk = true;
            new.push((entry.used, entry.content.clone(), entry.summary.clone()));
        }
        // Those used last; of several versions of one, that is the one that counts.
        new.sort_by_key(|(used, _, _)| std::cmp::Reverse(*used));
        let (mut left, mut done) = (MOST_AT_ONCE, FxHashSet::default());
        for (_, content, summary) in new {
            if summary.size() > left / LEAST_BYTES || !done.insert(content.clone()) {
                continue;
            }
            if let Some(bytes) = summary.bytes().filter(|bytes| bytes.len() <= MOST_BYTES.min(left)) {
                left -= bytes.len();
                disk.put(on_disk(&content), bytes);
            }
        }
    }
}

impl Inner {
    fn forget(&mut self, name: u64) {
        let Some(entry) = self.entries.remove(&name) else { return };
        self.by_use.remove(&entry.used);
        self.nodes -= entry.summary.size();
        if let Some(names) = self.index.get_mut(&entry.content) {
            names.retain(|other| *other != name);
            if names.is_empty() {
                self.index.remove(&entry.content);
            }
        }
    }
}

/// What an abstraction is found by in another process.
fn on_disk((view, key): &Content) -> ContentHash {
    let mut digest = ContentHasher::default();
    view.hash(&mut digest);
    key.name(&mut digest);
    digest.content_hash()
}
