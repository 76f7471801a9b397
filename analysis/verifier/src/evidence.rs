//! What proofs from an entry ended with, as bytes: precisions, and formulas that solved Horn clauses. With an answer it says how to check the answer fast. Whoever
//! reads it does not believe it: an engine begins with it, and what comes of it is a proof or is not.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;
use proofline_cfa::Name;

/// By what it is, such as `precision of value-bam`.
pub type Evidence = BTreeMap<String, Vec<u8>>;

/// More bytes are not given away.
const MOST_BYTES: usize = 1 << 17;

/// Entries whose evidence is kept.
const MOST_ENTRIES: usize = 1 << 14;

/// Entries of which is kept what others say.
const MOST_OFFERED: usize = 1 << 10;

/// Own evidence, and that of others, by the function that executions start in.
#[derive(Default)]
pub(crate) struct EvidenceTable {
    /// Nobody asks for one's own unless it is given away.
    own: Option<Mutex<BTreeMap<Name, Evidence>>>,
    others: Mutex<Offered>,
}

/// What others say, about the entries that they spoke of last.
#[derive(Default)]
struct Offered {
    by_entry: BTreeMap<Name, Evidence>,
    /// The same entries.
    oldest_first: VecDeque<Name>,
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

    /// Takes over what others say, if it is no more than anybody gives away.
    pub(crate) fn offer(&self, entry: Name, evidence: Evidence) {
        if evidence.values().map(Vec::len).sum::<usize>() > MOST_BYTES {
            return;
        }
        let mut others = self.others.lock();
        if others.by_entry.insert(entry, evidence).is_none() {
            others.oldest_first.push_back(entry);
        }
        if others.oldest_first.len() > MOST_OFFERED
            && let Some(oldest) = others.oldest_first.pop_front()
        {
            others.by_entry.remove(&oldest);
        }
    }

    /// What others said.
    pub(crate) fn offered(&self, entry: Name, what: &str) -> Option<Vec<u8>> {
        self.others.lock().by_entry.get(&entry)?.get(what).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_others_say_only_so_much_is_kept() {
        let table = EvidenceTable::default();
        let entry = |number: usize| Name::new(&format!("entry{number}"));
        let said = |bytes: usize| Evidence::from([("invariants".to_owned(), vec![1; bytes])]);
        let is_known = |number: usize| table.offered(entry(number), "invariants").is_some();
        for number in 0..MOST_OFFERED {
            table.offer(entry(number), said(1));
            table.offer(entry(number), said(2));
        }
        assert!(is_known(0), "who speaks of an entry twice takes one place");
        table.offer(entry(MOST_OFFERED), said(1));
        assert!(!is_known(0) && is_known(1) && is_known(MOST_OFFERED));
        table.offer(entry(MOST_OFFERED + 1), said(MOST_BYTES + 1));
        assert!(!is_known(MOST_OFFERED + 1) && is_known(1), "nobody gives away so much");
    }
}
