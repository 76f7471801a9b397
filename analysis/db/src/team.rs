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
use proofline_verifier::Cancel;

use crate::{
    store::{sealed, unsealed},
    stored,
};

/// Part of each object's name.
const FORMAT: &str = "answers-1";

/// Larger objects are not written: the answers that are new are left out.
const MOST_BYTES: usize = 1 << 20;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_millis(1500);

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
}

/// By [`stored::key`].
type Answers = BTreeMap<[u8; 32], Vec<u8>>;

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
}

#[derive(Default)]
struct Inner {
    slices: Mutex<BTreeMap<ContentHash, Slice>>,
    has_come: Condvar,
}

impl Team {
    pub(crate) fn new(place: Arc<dyn TeamPlace>) -> Team {
        Team { place, inner: Arc::default(), refused: AtomicU32::new(0) }
    }

    /// What is said of a question about a slice. For a question that is answered at once it is not waited.
    pub(crate) fn find(
        &self,
        slice: ContentHash,
        key: ContentHash,
        steps: u64,
        cancel: &Cancel,
    ) -> Option<Vec<u8>> {
        if self.refused.load(Ordering::Relaxed) >= MOST_REFUSED {
            return None;
        }
        self.expect(slice);
        if steps <= CHEAP_STEPS {
            return None;
        }
        let mut slices = self.inner.slices.lock();
        loop {
            let found = slices.get(&slice)?;
            match found.awaited {
                None => return found.known.get(&key.0).cloned(),
                Some(since) if since.elapsed() > PATIENCE || cancel.is_cancelled() => return None,
                Some(_) => drop(self.inner.has_come.wait_for(&mut slices, LOOK)),
            }
        }
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

    /// What was found out here, and took so long.
    pub(crate) fn put(&self, slice: ContentHash, key: ContentHash, bytes: &[u8], took: Duration) {
        if took >= WORTH {
            self.inner.slices.lock().entry(slice).or_default().new.insert(key.0, bytes.to_vec());
        }
    }

    /// A claim was not confirmed.
    pub(crate) fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
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
