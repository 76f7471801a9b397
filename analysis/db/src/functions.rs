//! Automata that slices have in common, each once: many slices hold one function, and most functions outlive an edit. What is asked of an
//! automaton by itself, its obligations and its hash, is found out once. Nothing depends on what is remembered here but time and memory.

use std::{collections::BTreeMap, mem, sync::Arc};

use parking_lot::Mutex;
use proofline_cfa::Function;
use proofline_hir::{ContentHash, ContentHasher};
use proofline_verifier::checks::{Conventions, insert_into};
use rustc_hash::FxHashMap;

/// So many are kept at least; those that were not asked for since as many others were make room.
const KEPT: usize = 8192;

/// A table in two halves: what is asked for moves to the new one, and when that is full the old one is forgotten.
struct Halves<K, V> {
    new: FxHashMap<K, V>,
    old: FxHashMap<K, V>,
}

impl<K, V> Default for Halves<K, V> {
    fn default() -> Halves<K, V> {
        Halves { new: FxHashMap::default(), old: FxHashMap::default() }
    }
}

impl<K: std::hash::Hash + Eq, V: Clone> Halves<K, V> {
    fn find(&mut self, key: &K) -> Option<V> {
        if let Some(known) = self.new.get(key) {
            return Some(known.clone());
        }
        let (key, value) = self.old.remove_entry(key)?;
        self.put(key, value.clone());
        Some(value)
    }

    fn put(&mut self, key: K, value: V) {
        if self.new.len() >= KEPT {
            self.old = mem::take(&mut self.new);
        }
        self.new.insert(key, value);
    }
}

/// Automata that stand for equal ones.
type Alike = Halves<Arc<Function>, Arc<Function>>;

/// Automata, by content.
#[derive(Default)]
pub(crate) struct Functions {
    same: Mutex<Alike>,
    inserted: Mutex<BTreeMap<Conventions, Alike>>,
    /// By address: who has an address has the automaton, so it is nobody else's.
    hashes: Mutex<Halves<usize, (Arc<Function>, ContentHash)>>,
}

impl Functions {
    /// An equal one, the same for all that are equal.
    pub(crate) fn same(&self, function: Arc<Function>) -> Arc<Function> {
        let mut same = self.same.lock();
        if let Some(known) = same.find(&function) {
            return known;
        }
        same.put(function.clone(), function.clone());
        function
    }

    /// With obligations.
    pub(crate) fn inserted(&self, function: &Arc<Function>, conventions: Conventions) -> Arc<Function> {
        if let Some(known) = self.inserted.lock().entry(conventions).or_default().find(function) {
            return known;
        }
        let inserted = Arc::new(insert_into(function, conventions));
        self.inserted.lock().entry(conventions).or_default().put(function.clone(), inserted.clone());
        inserted
    }

    /// Names its content.
    pub(crate) fn hash(&self, function: &Arc<Function>) -> ContentHash {
        let address = Arc::as_ptr(function) as usize;
        if let Some((_, known)) = self.hashes.lock().find(&address) {
            return known;
        }
        let mut hasher = ContentHasher::default();
        std::hash::Hash::hash(&**function, &mut hasher);
        let hash = hasher.content_hash();
        self.hashes.lock().put(address, (function.clone(), hash));
        hash
    }
}
