//! Block abstractions that outlive a question: what engines found out about functions, to be found again after an edit. Answers are the
//! same without them. A precision to begin with is a hint: a proof with it is a proof, and may be one that a fresh run's budget does
//! not reach. Must not know where they are kept.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    hash::Hash,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use proofline_cfa::Name;
use proofline_cpa::{
    BlockCpa, Question,
    bam::{self, BlockWork, CacheSession, PersistentCache},
};
use proofline_domains::{IntervalAnalysis, IntervalOptions, ValueAnalysis, ValueOptions};
use proofline_hir::{ContentHash, ContentHasher};
use proofline_program_analysis::Environment;
use serde::{Serialize, de::DeserializeOwned};

/// A precision with more bytes is not left to other processes.
const MOST_BYTES: usize = 1 << 16;

/// Of some analysis.
type Precision = Arc<dyn Any + Send + Sync>;

/// Abstractions by analysis.
pub struct Summaries {
    intervals: bam::SummaryCache<IntervalAnalysis>,
    values: bam::SummaryCache<ValueAnalysis>,
    /// With which precision an engine proved something last, by engine and entry.
    precisions: Mutex<BTreeMap<(&'static str, Name), Precision>>,
    /// Where other processes leave theirs.
    persistent_cache: OnceLock<Arc<dyn PersistentCache>>,
    work: Mutex<BTreeMap<Name, BlockWork>>,
    mistakes: Mutex<Vec<String>>,
}

impl fmt::Debug for Summaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of intervals, {:?} of values", self.intervals, self.values)
    }
}

impl Default for Summaries {
    fn default() -> Summaries {
        Summaries {
            intervals: bam::SummaryCache::default().persistent(),
            values: bam::SummaryCache::default().persistent(),
            precisions: Mutex::default(),
            persistent_cache: OnceLock::new(),
            work: Mutex::default(),
            mistakes: Mutex::default(),
        }
    }
}

impl Summaries {
    /// Where other processes leave abstractions and precisions. The first counts.
    pub fn set_persistent_cache(&self, cache: Arc<dyn PersistentCache>) {
        self.intervals.set_persistent_cache(cache.clone());
        self.values.set_persistent_cache(cache.clone());
        // Set once: a second one is not looked at.
        drop(self.persistent_cache.set(cache));
    }

    /// Leaves new abstractions to other processes.
    pub fn persist(&self) {
        self.intervals.persist();
        self.values.persist();
    }

    /// How many abstractions other processes had left.
    pub fn fetched(&self) -> u64 {
        self.intervals.fetched() + self.values.fetched()
    }

    /// What was done since the last call, by function.
    pub fn take_work(&self) -> BTreeMap<Name, BlockWork> {
        std::mem::take(&mut *self.work.lock())
    }

    /// For tests: from now on every block is computed and compared with what would have been found.
    pub fn audit(&self) {
        self.intervals.audit();
        self.values.audit();
    }

    /// Where finding it would have been wrong, since the last call.
    pub fn take_mistakes(&self) -> Vec<String> {
        let own = std::mem::take(&mut *self.mistakes.lock());
        [self.intervals.take_mistakes(), self.values.take_mistakes(), own].concat()
    }

    /// How many abstractions there are.
    pub fn len(&self) -> usize {
        self.intervals.len() + self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A precision to begin with: the one that the engine's last proof from this entry ended with, here or in another process.
    pub(crate) fn precision<P: Clone + DeserializeOwned + 'static>(
        &self,
        engine: &'static str,
        env: &Environment,
        entry: Name,
    ) -> Option<P> {
        let all = self.precisions.lock();
        if let Some(known) = all.get(&(engine, entry)) {
            return known.downcast_ref::<P>().cloned();
        }
        drop(all);
        let bytes = self.persistent_cache.get()?.find(precision_name(engine, env, entry))?;
        postcard::from_bytes(&bytes).ok()
    }

    /// Remembers a precision.
    pub(crate) fn set_precision<P: Clone + Serialize + Send + Sync + 'static>(
        &self,
        engine: &'static str,
        env: &Environment,
        entry: Name,
        precision: &P,
    ) {
        let mut all = self.precisions.lock();
        all.insert((engine, entry), Arc::new(precision.clone()));
        drop(all);
        let Some(cache) = self.persistent_cache.get() else { return };
        if let Some(bytes) = postcard::to_stdvec(precision).ok().filter(|bytes| bytes.len() <= MOST_BYTES) {
            cache.put(precision_name(engine, env, entry), bytes);
        }
    }

    /// Remembers what a run did.
    pub(crate) fn count<A: BlockCpa>(&self, session: &CacheSession<'_, A>, env: &Environment) {
        if self.intervals.is_audited() {
            let mut mistakes = self.mistakes.lock();
            for (function, pointer) in env.unnamed_pointers() {
                mistakes.push(format!("{function}: no footprint names {pointer:?}"));
            }
        }
        let mut all = self.work.lock();
        for (function, work) in session.work() {
            let known = all.entry(function).or_default();
            known.computed += work.computed;
            known.recalled += work.recalled;
        }
    }
}

/// What a precision is found by in another process: the entry, and the names of all functions there are, for `main` is in every program.
/// What the functions do is not in it: after an edit the precision is still a good one to begin with.
fn precision_name(engine: &str, env: &Environment, entry: Name) -> ContentHash {
    let names: Vec<&Name> = env.program().functions.keys().collect();
    let mut digest = ContentHasher::default();
    ("precision", engine, entry, names).hash(&mut digest);
    digest.content_hash()
}

/// An analysis whose abstractions are cached.
pub(crate) trait CachedAnalysis: BlockCpa<Precision: Serialize + DeserializeOwned> {
    /// Where.
    fn cache(summaries: &Summaries) -> &bam::SummaryCache<Self>
    where
        Self: Sized;
}

impl CachedAnalysis for IntervalAnalysis {
    fn cache(summaries: &Summaries) -> &bam::SummaryCache<IntervalAnalysis> {
        &summaries.intervals
    }
}

impl CachedAnalysis for ValueAnalysis {
    fn cache(summaries: &Summaries) -> &bam::SummaryCache<ValueAnalysis> {
        &summaries.values
    }
}

/// A run's store. `options` is what counts of the analysis' options inside of blocks.
pub(crate) fn session<'s, A: CachedAnalysis>(
    summaries: Option<&'s Summaries>,
    analysis: &A,
    options: ContentHash,
    question: &Question<'s>,
) -> CacheSession<'s, A> {
    CacheSession::new(summaries.map(A::cache), analysis, options, question)
}

/// What counts of the options inside of blocks. The entry and what is assumed there are in the entry state; inputs are those of the entry.
pub(crate) fn of_intervals(options: &IntervalOptions) -> ContentHash {
    let IntervalOptions { entry, wrapv, separate, unrollings, input_ranges } = options;
    let inputs = (!input_ranges.is_empty()).then_some((entry.name, input_ranges));
    content_hash(&(wrapv, separate, unrollings, inputs))
}

/// The same for values.
pub(crate) fn of_values(options: &ValueOptions) -> ContentHash {
    let ValueOptions { entry: _, wrapv, track_everything, threshold, unrollings } = options;
    content_hash(&(wrapv, track_everything, threshold, unrollings))
}

fn content_hash(content: &impl Hash) -> ContentHash {
    let mut hasher = ContentHasher::default();
    content.hash(&mut hasher);
    hasher.content_hash()
}
