//! Answers of a team: in a place that others write, too, one object for each slice with all that was answered about it. What is found there is
//! a claim, which the verifier confirms before it counts. The place may be slow, away, damaged or full of lies: then it is of no use.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use proofline_hir::ContentHash;
use proofline_verifier::{Cancel, Evidence, portfolio::Claim};
use serde::{Deserialize, Serialize};

use crate::{
    store::{sealed, unsealed},
    stored,
};

/// Part of each object's name.
const FORMAT: &str = "answers-2";

/// Larger objects are not written: the answers that are new are left out.
const MOST_BYTES: usize = 1 << 20;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_millis(1500);

/// All waiting together takes no longer than this, with a part of what verifying took, and with what answers have spared.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const PART: u32 = 10;

/// Between two looks whether waiting has an end.
const LOOK: Duration = Duration::from_millis(20);

/// An answer that took less is found faster here than there.
pub(crate) const WORTH: Duration = Duration::from_millis(20);

/// A question with fewer steps is answered faster than the place.
const CHEAP_STEPS: u64 = 20_000;

/// Claims that were not confirmed; after so many nobody asks the place any more.
const MOST_REFUSED: u32 = 3;

/// Hears what is kept under a name.
pub type Fetched = Box<dyn FnOnce(Option<Vec<u8>>) + Send>;

/// A place that others write, too.
pub trait TeamPlace: Send + Sync {
    /// Reads in the background; `None` if there is nothing, or if it did not come.
    fn fetch(&self, name: String, then: Fetched);
    /// Writes in the background.
    fn put(&self, name: String, bytes: Vec<u8>);
    /// Waits for what is being written, if that does not take long.
    fn finish(&self);
}

/// An answer with all that helps to check it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// A judgement, by `stored`.
    pub(crate) bytes: Vec<u8>,
    pub(crate) evidence: Evidence,
    /// Steps that each engine had.
    pub(crate) steps: u64,
    /// How long it took.
    pub(crate) millis: u64,
}

impl Answer {
    /// What it says, if it says anything.
    pub(crate) fn claim(&self) -> Option<Claim> {
        let has_invariants = self.evidence.keys().any(|what| what.starts_with("invariants"));
        Some(Claim { judgement: stored::judgement(&self.bytes)?, steps: self.steps, has_invariants })
    }
}

/// By [`stored::key`], and by [`stored::whole_key`].
type Answers = BTreeMap<[u8; 32], Answer>;

#[derive(Default)]
struct Slice {
    /// Since when it is asked for and has not come.
    awaited: Option<Instant>,
    /// What is there.
    known: Answers,
    /// What was found out here and is not there.
    new: Answers,
}

pub(crate) struct Team {
    place: Arc<dyn TeamPlace>,
    inner: Arc<Inner>,
    refused: AtomicU32,
    allowance: Mutex<Allowance>,
}

/// How long may be waited. With a place that is of no use, work takes little longer than without one.
#[derive(Default)]
struct Allowance {
    waited: Duration,
    verifying: Duration,
    spared: Duration,
}

impl Allowance {
    fn left(&self) -> Duration {
        let all = FIRST_WAIT + self.verifying / PART + self.spared;
        all.saturating_sub(self.waited).min(PATIENCE)
    }
}

#[derive(Default)]
struct Inner {
    slices: Mutex<BTreeMap<ContentHash, Slice>>,
    has_come: Condvar,
}

impl Team {
    pub(crate) fn new(place: Arc<dyn TeamPlace>) -> Team {
        let (inner, refused, allowance) = (Arc::default(), AtomicU32::new(0), Mutex::default());
        Team { place, inner, refused, allowance }
    }

    /// What is said of a question about a slice, by the first of its keys that something is known by. For a question that is answered at once it is
    /// not waited.
    pub(crate) fn find(
        &self,
        slice: ContentHash,
        keys: &[ContentHash],
        steps: u64,
        cancel: &Cancel,
    ) -> Option<Answer> {
        if self.refused.load(Ordering::Relaxed) >= MOST_REFUSED {
            return None;
        }
        self.expect(slice);
        if steps <= CHEAP_STEPS {
            return None;
        }
        let (begun, most) = (Instant::now(), self.allowance.lock().left());
        let mut slices = self.inner.slices.lock();
        let found = loop {
            let found = slices.get(&slice)?;
            match found.awaited {
                None => break keys.iter().find_map(|key| found.known.get(&key.0)).cloned(),
                Some(_) if begun.elapsed() > most || cancel.is_cancelled() => break None,
                Some(_) => drop(self.inner.has_come.wait_for(&mut slices, LOOK)),
            }
        };
        drop(slices);
        self.allowance.lock().waited += begun.elapsed();
        found
    }

    /// An answer was confirmed, in this time.
    pub(crate) fn spared(&self, answer: &Answer, took: Duration) {
        self.allowance.lock().spared += Duration::from_millis(answer.millis).saturating_sub(took);
    }

    /// Has a slice fetched, once.
    fn expect(&self, slice: ContentHash) {
        let mut slices = self.inner.slices.lock();
        if slices.contains_key(&slice) {
            return;
        }
        slices.insert(slice, Slice { awaited: Some(Instant::now()), ..Slice::default() });
        drop(slices);
        let inner = self.inner.clone();
        let came = move |bytes: Option<Vec<u8>>| {
            let known = bytes.and_then(|bytes| answers(slice, &bytes)).unwrap_or_default();
            let mut slices = inner.slices.lock();
            let here = slices.entry(slice).or_default();
            (here.awaited, here.known) = (None, known);
            drop(slices);
            inner.has_come.notify_all();
        };
        self.place.fetch(name_of(slice), Box::new(came));
    }

    /// What was found out here about a slice, in this time.
    pub(crate) fn put(&self, slice: ContentHash, key: ContentHash, answer: &Answer, took: Duration) {
        self.allowance.lock().verifying += took;
        if took >= WORTH {
            self.inner.slices.lock().entry(slice).or_default().new.insert(key.0, answer.clone());
        }
    }

    /// A claim was not confirmed.
    pub(crate) fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits for that, for a while.
    pub(crate) fn finish(&self) {
        self.place.finish();
    }

    /// Has what is new written, beside what is there.
    pub(crate) fn save(&self) {
        for (slice, entry) in self.inner.slices.lock().iter_mut() {
            if entry.new.is_empty() || entry.awaited.is_some_and(|since| since.elapsed() <= PATIENCE) {
                continue;
            }
            let mut all = entry.known.clone();
            all.append(&mut entry.new);
            let Ok(bytes) = postcard::to_stdvec(&all) else { continue };
            if bytes.len() <= MOST_BYTES {
                self.place.put(name_of(*slice), sealed(&slice.0, &bytes));
                entry.known = all;
            }
        }
    }
}

/// The name says which engines answered: those of other versions are other objects.
fn name_of(slice: ContentHash) -> String {
    let key = stored::of_these_engines(slice);
    format!("{FORMAT}/{}", blake3::Hash::from_bytes(key.0).to_hex())
}

/// What an object says, if it is whole.
fn answers(slice: ContentHash, bytes: &[u8]) -> Option<Answers> {
    postcard::from_bytes(&unsealed(&slice.0, bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::PathBuf};

    use proofline_verifier::{
        load::Options,
        portfolio::{self, Control, Request, Round},
        property::Property,
        report::Report,
        verdict::Verdict,
    };

    use super::*;
    use crate::{Counts, Database, Memory};

    /// In memory, at once.
    #[derive(Default)]
    struct Shelf(Mutex<BTreeMap<String, Vec<u8>>>);

    impl TeamPlace for Shelf {
        fn fetch(&self, name: String, then: Fetched) {
            then(self.0.lock().get(&name).cloned());
        }
        fn put(&self, name: String, bytes: Vec<u8>) {
            self.0.lock().insert(name, bytes);
        }
        fn finish(&self) {}
    }

    /// Needs `p + q == n`, which neither intervals nor differences say.
    const TEXT: &str = "#include <assert.h>
extern int in(void);
int main(void) {
    int n = in(), p = 0, q = 0;
    if (n < 0 || n > 1000) return 0;
    for (int i = 0; i < n; i++) { if (in()) p++; else q++; }
    assert(p + q == n);
    assert(n != 500 || in());
    return 0;
}
";

    /// What a machine says that has verified nothing before; where its verdicts came from, and whom it asked.
    fn check(place: &Arc<Shelf>) -> (Report, Counts, BTreeSet<&'static str>, Arc<Memory>) {
        let memory = Arc::new(Memory::default());
        memory.set_team(place.clone());
        let file = PathBuf::from("/team/main.c");
        let mut db = Database::with_memory(vec![file.clone()], Options::default(), memory.clone());
        db.set_text(&file, TEXT);
        let request = Request {
            property: Property::Everything,
            engines: Vec::new(),
            steps: 300_000,
            first_only: false,
            round: Round::default(),
            under: Arc::default(),
        };
        let asked: Arc<Mutex<BTreeSet<&'static str>>> = Arc::default();
        let heard = asked.clone();
        let listener = move |engine: &'static str, _: Duration, _: Option<u32>| {
            heard.lock().insert(engine);
        };
        let control = Control { asked: Some(Arc::new(listener)), ..Control::default() };
        let report = portfolio::check(&db, &request, &[], &control).expect("nobody stops it");
        db.save();
        let asked = asked.lock().clone();
        (report, memory.counts(), asked, memory)
    }

    /// What is proved, and what fails.
    fn decided(report: &Report) -> Vec<(bool, bool)> {
        let all = report.verdicts.values();
        all.map(|verdict| (verdict.is_proved(), matches!(verdict, Verdict::Violated(_)))).collect()
    }

    /// Says something else in all answers.
    fn lie(place: &Shelf, honest: &Memory, lie: impl Fn(&mut Answer)) {
        let team = honest.team.get().expect("it has one");
        for slice in team.inner.slices.lock().keys() {
            let mut all = place.0.lock();
            let Some(bytes) = all.get_mut(&name_of(*slice)) else { continue };
            let mut said = answers(*slice, bytes).expect("it was whole");
            said.values_mut().for_each(&lie);
            *bytes = sealed(&slice.0, &postcard::to_stdvec(&said).expect("it can be written"));
        }
    }

    #[test]
    fn an_answer_brings_what_helps_to_check_it() {
        let place: Arc<Shelf> = Arc::default();
        let (first, counts, asked, _) = check(&place);
        assert_eq!((counts.confirmed, counts.refused), (0, 0));
        assert!(first.verdicts.values().any(Verdict::is_proved) && first.failures().count() == 1);
        let is_solver = |name: &&str| name.contains("horn");
        assert!(asked.iter().any(is_solver), "somebody looks for invariants: {asked:?}");
        let (second, counts, asked, _) = check(&place);
        assert_eq!((counts.verified, counts.refused), (0, 0));
        assert!(counts.confirmed > 0);
        assert!(asked.contains("old-invariants"), "the invariants are there: {asked:?}");
        assert!(!asked.iter().any(is_solver), "nobody looks for others: {asked:?}");
        // Perhaps not by the same engines.
        assert_eq!(decided(&second), decided(&first));
    }

    #[test]
    fn evidence_that_is_wrong_damaged_or_somebody_else_s_proves_nothing() {
        let place: Arc<Shelf> = Arc::default();
        let (truth, _, _, honest) = check(&place);
        let before = place.0.lock().clone();
        type Change = fn(&mut Vec<u8>);
        let lies: [Change; 4] = [
            Vec::clear,
            |bytes| bytes.truncate(bytes.len() / 2),
            |bytes| bytes.iter_mut().for_each(|byte| *byte = byte.rotate_left(3)),
            |bytes| {
                let at = bytes.len() / 3 * 2;
                bytes[at] ^= 1;
            },
        ];
        for (number, change) in lies.iter().enumerate() {
            lie(&place, &honest, |answer| answer.evidence.values_mut().for_each(change));
            let (report, counts, ..) = check(&place);
            assert_eq!(decided(&report), decided(&truth), "lie {number}");
            assert!(counts.confirmed > 0, "whoever had decided decides again: lie {number}");
            place.0.lock().clone_from(&before);
        }
        // The answer says that all is proved, with these invariants.
        lie(&place, &honest, |answer| {
            let mut judgement = stored::judgement(&answer.bytes).expect("it was one");
            judgement.counterexamples.clear();
            judgement.verdicts.values_mut().for_each(|verdict| *verdict = Verdict::Proved("horn"));
            answer.bytes = stored::bytes(&judgement).expect("it can be kept");
        });
        let (report, counts, ..) = check(&place);
        assert_eq!(decided(&report), decided(&truth));
        assert!(counts.refused > 0);
    }
}
