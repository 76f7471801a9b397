//! Answers of a team: in a place that others write, too, one object for each slice with all that was answered about it. What is found there is
//! a claim, which the verifier confirms before it counts. The place may be slow, away, damaged or full of lies: then it is of no use.

use std::{
    collections::BTreeMap,
    io,
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

/// Bytes of answers in memory, and slices they are of. Then those that were asked about longest ago are forgotten; who asks about them has them
/// fetched again.
const MOST_KEPT: usize = 1 << 26;
const MOST_SLICES: usize = 1 << 14;

/// What did not come is not asked for again before.
const AGAIN: Duration = Duration::from_secs(30);

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

/// Hears what is kept under a name: `None` if nothing is, an error if that is not known.
pub type Fetched = Box<dyn FnOnce(io::Result<Option<Vec<u8>>>) + Send>;

/// A place that others write, too.
pub trait TeamPlace: Send + Sync {
    /// Reads in the background.
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

    /// Bytes that it takes in memory.
    fn size(&self) -> usize {
        let evidence = self.evidence.iter().map(|(what, bytes)| what.len() + bytes.len()).sum::<usize>();
        size_of::<([u8; 32], Answer)>() + self.bytes.len() + evidence
    }
}

/// By [`stored::key`], and by [`stored::whole_key`].
type Answers = BTreeMap<[u8; 32], Answer>;

#[derive(Default)]
struct Slice {
    fetch: Fetch,
    /// What is there.
    known: Answers,
    /// What was found out here and is not there.
    new: Answers,
    /// The last question about it, by number.
    asked: u64,
}

/// How far it is with what the place has.
#[derive(Clone, Copy, Default)]
enum Fetch {
    /// Nobody has asked for it.
    #[default]
    Never,
    /// It is asked for since then.
    Awaited(Instant),
    /// It was asked for then and did not come: whether there is anything is not known.
    Failed(Instant),
    /// It is known, perhaps that there is nothing.
    Done,
}

impl Slice {
    /// Bytes of its answers.
    fn size(&self) -> usize {
        self.known.values().chain(self.new.values()).map(Answer::size).sum()
    }

    /// Whether it is to be asked for.
    fn is_due(&self, now: Instant) -> bool {
        match self.fetch {
            Fetch::Never => true,
            Fetch::Awaited(since) | Fetch::Failed(since) => now.saturating_duration_since(since) >= AGAIN,
            Fetch::Done => false,
        }
    }
}

/// What is known of slices.
#[derive(Default)]
struct Slices {
    all: BTreeMap<ContentHash, Slice>,
    /// Counts questions.
    asked: u64,
    /// Bytes of all answers.
    bytes: usize,
}

impl Slices {
    /// Changes what is known of a slice.
    fn change(&mut self, slice: ContentHash, change: impl FnOnce(&mut Slice)) {
        let here = self.all.entry(slice).or_default();
        let before = here.size();
        change(here);
        self.bytes = self.bytes - before + here.size();
    }

    fn is_full(&self) -> bool {
        self.bytes > MOST_KEPT || self.all.len() > MOST_SLICES
    }

    /// Forgets what was asked about longest ago, apart from what the place does not have yet: half of it, so that this is done rarely.
    fn shrink(&mut self) {
        if !self.is_full() {
            return;
        }
        let is_written = |(_, here): &(&ContentHash, &Slice)| here.new.is_empty();
        let written = self.all.iter().filter(is_written);
        let mut oldest: Vec<(u64, ContentHash)> = written.map(|(slice, here)| (here.asked, *slice)).collect();
        oldest.sort_unstable();
        for (_, slice) in oldest {
            if self.bytes <= MOST_KEPT / 2 && self.all.len() <= MOST_SLICES / 2 {
                break;
            }
            self.bytes -= self.all.remove(&slice).map_or(0, |here| here.size());
        }
    }
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
    slices: Mutex<Slices>,
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
        self.expect(slice, Instant::now());
        if steps <= CHEAP_STEPS {
            return None;
        }
        let (begun, most) = (Instant::now(), self.allowance.lock().left());
        let mut slices = self.inner.slices.lock();
        let found = loop {
            let found = slices.all.get(&slice)?;
            match found.fetch {
                Fetch::Done => break keys.iter().find_map(|key| found.known.get(&key.0)).cloned(),
                Fetch::Never | Fetch::Failed(_) => break None,
                Fetch::Awaited(_) if begun.elapsed() > most || cancel.is_cancelled() => break None,
                Fetch::Awaited(_) => drop(self.inner.has_come.wait_for(&mut slices, LOOK)),
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

    /// Has a slice fetched, unless that was done. What is not there is not asked for again; what did not come is, after a while.
    fn expect(&self, slice: ContentHash, now: Instant) {
        let mut slices = self.inner.slices.lock();
        slices.asked += 1;
        let (asked, mut is_due) = (slices.asked, false);
        slices.change(slice, |here| {
            (here.asked, is_due) = (asked, here.is_due(now));
            if is_due {
                here.fetch = Fetch::Awaited(now);
            }
        });
        slices.shrink();
        drop(slices);
        if !is_due {
            return;
        }
        let inner = self.inner.clone();
        let came = move |bytes: io::Result<Option<Vec<u8>>>| {
            let said = bytes.map(|bytes| bytes.and_then(|bytes| answers(slice, &bytes)).unwrap_or_default());
            let mut slices = inner.slices.lock();
            // What is forgotten meanwhile is not asked about any more.
            if slices.all.contains_key(&slice) {
                slices.change(slice, |here| match said {
                    Ok(mut said) => {
                        // What was written meanwhile is newer.
                        said.append(&mut here.known);
                        here.known = said;
                        here.fetch = Fetch::Done;
                    }
                    Err(_) => here.fetch = Fetch::Failed(now),
                });
                slices.shrink();
            }
            drop(slices);
            inner.has_come.notify_all();
        };
        self.place.fetch(name_of(slice), Box::new(came));
    }

    /// What was found out here about a slice, in this time.
    pub(crate) fn put(&self, slice: ContentHash, key: ContentHash, answer: &Answer, took: Duration) {
        self.allowance.lock().verifying += took;
        if took < WORTH {
            return;
        }
        let mut slices = self.inner.slices.lock();
        slices.change(slice, |here| drop(here.new.insert(key.0, answer.clone())));
        if slices.is_full() {
            drop(slices);
            self.save();
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
        let mut slices = self.inner.slices.lock();
        let is_new = |(_, here): &(&ContentHash, &Slice)| {
            let may_come = matches!(here.fetch, Fetch::Awaited(since) if since.elapsed() <= PATIENCE);
            !here.new.is_empty() && !may_come
        };
        let new: Vec<ContentHash> = slices.all.iter().filter(is_new).map(|(slice, _)| *slice).collect();
        for slice in new {
            slices.change(slice, |here| {
                let mut all = here.known.clone();
                all.append(&mut here.new);
                let Ok(bytes) = postcard::to_stdvec(&all) else { return };
                if bytes.len() <= MOST_BYTES {
                    self.place.put(name_of(slice), sealed(&slice.0, &bytes));
                    here.known = all;
                }
            });
        }
        slices.shrink();
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
    use std::{collections::BTreeSet, path::PathBuf, sync::atomic::AtomicBool};

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
    struct Shelf {
        objects: Mutex<BTreeMap<String, Vec<u8>>>,
        is_away: AtomicBool,
        fetches: AtomicU32,
    }

    impl TeamPlace for Shelf {
        fn fetch(&self, name: String, then: Fetched) {
            self.fetches.fetch_add(1, Ordering::Relaxed);
            then(match self.is_away.load(Ordering::Relaxed) {
                true => Err(io::ErrorKind::TimedOut.into()),
                false => Ok(self.objects.lock().get(&name).cloned()),
            });
        }
        fn put(&self, name: String, bytes: Vec<u8>) {
            self.objects.lock().insert(name, bytes);
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
    assert(n != 50 || in());
    return 0;
}
";

    fn request() -> Request {
        Request {
            property: Property::Everything,
            engines: Vec::new(),
            steps: 300_000,
            first_only: false,
            round: Round::default(),
            under: Arc::default(),
        }
    }

    /// What a machine says that has verified nothing before; where its verdicts came from, and whom it asked.
    fn check(place: &Arc<Shelf>) -> (Report, Counts, BTreeSet<&'static str>, Arc<Memory>) {
        let memory = Arc::new(Memory::default());
        memory.set_team(place.clone());
        let file = PathBuf::from("/team/main.c");
        let mut db = Database::with_memory(vec![file.clone()], Options::default(), memory.clone());
        db.set_text(&file, TEXT);
        let asked: Arc<Mutex<BTreeSet<&'static str>>> = Arc::default();
        let heard = asked.clone();
        let listener = move |engine: &'static str, _: Duration, _: Option<u32>| {
            heard.lock().insert(engine);
        };
        let control = Control { asked: Some(Arc::new(listener)), ..Control::default() };
        let report = portfolio::check(&db, &request(), &[], &control).expect("nobody stops it");
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
        for slice in team.inner.slices.lock().all.keys() {
            let mut all = place.objects.lock();
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
        let before = place.objects.lock().clone();
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
            place.objects.lock().clone_from(&before);
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

    fn slice(number: usize) -> ContentHash {
        ContentHash(*blake3::hash(&number.to_le_bytes()).as_bytes())
    }

    /// Something of so many bytes was found out about a slice.
    fn put(team: &Team, number: usize, bytes: usize) {
        let answer = Answer { bytes: vec![0; bytes], evidence: Evidence::new(), steps: 1, millis: 1000 };
        team.put(slice(number), slice(number), &answer, WORTH);
    }

    /// Whether it is found again.
    fn has(team: &Team, number: usize) -> bool {
        team.find(slice(number), &[slice(number)], CHEAP_STEPS + 1, &Cancel::default()).is_some()
    }

    /// The first round's questions are answered without waiting: so everything is under way when the first of the others waits.
    #[test]
    fn all_of_a_library_is_asked_for_before_anybody_waits() {
        let place: Arc<Shelf> = Arc::default();
        let memory = Arc::new(Memory::default());
        memory.set_team(place.clone());
        let file = PathBuf::from("/team/library.c");
        let mut db = Database::with_memory(vec![file.clone()], Options::default(), memory);
        let functions =
            (0..5).map(|n| format!("int f{n}(int x, int y) {{ return x > y ? {n} + x / (x - y) : 0; }}\n"));
        db.set_text(&file, &functions.collect::<String>());
        let before = Arc::new(Mutex::new(None));
        let (first, asked) = (before.clone(), place.clone());
        let listener = move |engine: &'static str, _: Duration, _: Option<u32>| {
            if engine == "relations" {
                first.lock().get_or_insert(asked.fetches.load(Ordering::Relaxed));
            }
        };
        let control = Control { asked: Some(Arc::new(listener)), ..Control::default() };
        portfolio::check(&db, &request(), &[], &control).expect("nobody stops it");
        assert!(place.fetches.load(Ordering::Relaxed) >= 5);
        assert_eq!(*before.lock(), Some(place.fetches.load(Ordering::Relaxed)));
    }

    /// Never answers.
    struct Silent;

    impl TeamPlace for Silent {
        fn fetch(&self, _: String, _: Fetched) {}
        fn put(&self, _: String, _: Vec<u8>) {}
        fn finish(&self) {}
    }

    #[test]
    fn all_waiting_together_has_an_end() {
        let team = Team::new(Arc::new(Silent));
        assert_eq!(team.allowance.lock().left(), FIRST_WAIT);
        let begun = Instant::now();
        assert!((0..100).all(|number| !has(&team, number)));
        // One after the other with the patience for one: 150 s.
        assert!(begun.elapsed() < PATIENCE * 10);
        let mut allowance = team.allowance.lock();
        assert_eq!(allowance.left(), Duration::ZERO);
        allowance.waited = FIRST_WAIT;
        allowance.verifying = Duration::from_secs(5);
        assert_eq!(allowance.left(), Duration::from_secs(5) / PART);
        allowance.spared = Duration::from_secs(100);
        assert_eq!(allowance.left(), PATIENCE);
    }

    #[test]
    fn what_did_not_come_is_asked_for_again_after_a_while_and_what_is_not_there_is_not() {
        let (place, start) = (Arc::new(Shelf::default()), Instant::now());
        let team = Team::new(place.clone());
        let asked_at = |now: Instant| {
            team.expect(slice(0), now);
            place.fetches.load(Ordering::Relaxed)
        };
        place.is_away.store(true, Ordering::Relaxed);
        assert_eq!([asked_at(start), asked_at(start + AGAIN / 2)], [1, 1]);
        assert_eq!([asked_at(start + AGAIN), asked_at(start + AGAIN)], [2, 2]);
        place.is_away.store(false, Ordering::Relaxed);
        assert_eq!([asked_at(start + AGAIN * 2), asked_at(start + AGAIN * 9)], [3, 3]);
    }

    #[test]
    fn a_place_that_comes_back_is_of_use_again() {
        let place: Arc<Shelf> = Arc::default();
        let writer = Team::new(place.clone());
        put(&writer, 1, 100);
        writer.save();
        place.is_away.store(true, Ordering::Relaxed);
        let reader = Team::new(place.clone());
        assert!(!has(&reader, 1));
        place.is_away.store(false, Ordering::Relaxed);
        assert!(!has(&reader, 1), "not yet");
        let long_ago = Instant::now().checked_sub(AGAIN).expect("machines run for longer");
        for here in reader.inner.slices.lock().all.values_mut() {
            here.fetch = Fetch::Failed(long_ago);
        }
        assert!(has(&reader, 1));
    }

    #[test]
    fn what_was_asked_about_longest_ago_is_forgotten_but_not_what_is_not_written() {
        let place: Arc<Shelf> = Arc::default();
        let team = Team::new(place.clone());
        let (size, count) = (MOST_BYTES - 1000, MOST_KEPT / MOST_BYTES + 10);
        for number in 0..count {
            put(&team, number, size);
        }
        let kept = || team.inner.slices.lock().bytes;
        assert!(kept() <= MOST_KEPT);
        team.save();
        assert_eq!(place.objects.lock().len(), count, "everything was written");
        // All of them come again, a few at a time.
        for number in 0..count {
            assert!(has(&team, number));
            assert!(kept() <= MOST_KEPT);
        }
        let slices = team.inner.slices.lock();
        assert_eq!(slices.bytes, slices.all.values().map(Slice::size).sum::<usize>());
        drop(slices);
        let fetches = place.fetches.load(Ordering::Relaxed);
        assert!(has(&team, count - 1));
        assert_eq!(place.fetches.load(Ordering::Relaxed), fetches, "the last one is here");
    }

    #[test]
    fn slices_of_which_nothing_is_known_are_forgotten_too() {
        let team = Team::new(Arc::new(Shelf::default()));
        for number in 0..MOST_SLICES * 2 {
            team.expect(slice(number), Instant::now());
        }
        assert!(team.inner.slices.lock().all.len() <= MOST_SLICES);
    }
}
