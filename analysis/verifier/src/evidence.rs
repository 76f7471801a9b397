//! What proofs from an entry ended with, as bytes: precisions, and formulas that solved Horn clauses. With an answer it says how to check the answer fast. Whoever
//! reads it does not believe it: an engine begins with it, and what comes of it is a proof or is not.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use proofline_cfa::Name;

/// By what it is, such as `precision of value-bam`.
pub type Evidence = BTreeMap<String, Vec<u8>>;

/// More bytes are not given away.
const MOST_BYTES: usize = 1 << 17;

/// Entries whose evidence is kept.
const MOST_ENTRIES: usize = 1 << 14;

/// Own evidence, and that of others, by the function that executions start in.
#[derive(Default)]
pub(crate) struct EvidenceTable {
    /// Nobody asks for one's own unless it is given away.
    own: Option<Mutex<BTreeMap<Name, Evidence>>>,
    others: Mutex<BTreeMap<Name, Evidence>>,
}

impl EvidenceTable {
    /// That also keeps one's own, for others.
    pub(crate) fn collecting() -> EvidenceTable {
        EvidenceTable { own: Some(Mutex::default()), ..EvidenceTable::default() }
    }

    /// Keeps one's own.
    pub(crate) fn add(&self, entry: Name, what: impl FnOnce() -> (String, Option<Vec<u8>>)) {
        let Some(own) = &self.own else { return };
        let (what, bytes) = what();
        let Some(bytes) = bytes else { return };
        let mut own = own.lock();
        if own.len() >= MOST_ENTRIES && !own.contains_key(&entry) {
            return;
        }
        let all = own.entry(entry).or_default();
        let others: usize =
            all.iter().filter(|(known, _)| **known != what).map(|(_, bytes)| bytes.len()).sum();
        if others + bytes.len() <= MOST_BYTES {
            all.insert(what, bytes);
        }
    }

    /// One's own.
    pub(crate) fn of(&self, entry: Name) -> Evidence {
        self.own.as_ref().and_then(|own| own.lock().get(&entry).cloned()).unwrap_or_default()
    }

    /// Takes over what others say.
    pub(crate) fn offer(&self, entry: Name, evidence: Evidence) {
        self.others.lock().insert(entry, evidence);
    }

    /// What others said.
    pub(crate) fn offered(&self, entry: Name, what: &str) -> Option<Vec<u8>> {
        self.others.lock().get(&entry)?.get(what).cloned()
    }
}
