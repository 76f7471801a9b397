//! What runs leave to later ones besides blocks: precisions to begin with, inputs that led to failures, and what was done. These are hints.
//! A proof with a precision of before is a proof, a run that fails with inputs of before fails, and either may be what a fresh run's budget does
//! not reach: with hints more may be known than without, never less, and nothing else. Must not know where they are kept.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    hash::Hash,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use proofline_cfa::Name;
use proofline_domains::{IntervalOptions, ShapeOptions, ThreeValuedOptions, ValueOptions};
use proofline_hir::{ContentHash, ContentHasher};
use proofline_program_analysis::Environment;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    blocks::{BlockWork, Session, SharedAnalysis},
    counterexample::{Counterexample, Failure},
    engines::old_invariants::{Invariants, Of},
    evidence::{Evidence, EvidenceTable},
};

/// A precision with more bytes is not left to other processes.
const MOST_BYTES: usize = 1 << 16;

/// Runs that are remembered of an entry.
const MOST_FAILURES: usize = 32;

/// Questions whose invariants are remembered.
const MOST_INVARIANTS: usize = 4096;

/// Of some analysis.
type Precision = Arc<dyn Any + Send + Sync>;

/// Keeps things as bytes where other processes find them.
pub trait PersistentCache: Send + Sync {
    /// The bytes under a name that stands for everything that they are a function of.
    fn find(&self, name: ContentHash) -> Option<Vec<u8>>;
    /// Keeps bytes.
    fn put(&self, name: ContentHash, bytes: Vec<u8>);
}

/// What runs leave to later ones besides blocks.
#[derive(Default)]
pub struct Summaries {
    /// With which precision an engine proved something last, by engine and entry.
    precisions: Mutex<BTreeMap<(&'static str, Name), Precision>>,
    /// Where other processes leave theirs.
    persistent_cache: OnceLock<Arc<dyn PersistentCache>>,
    /// Inputs of runs that failed, by where they start; newest last.
    failures: Mutex<BTreeMap<Name, Vec<Failure>>>,
    /// What helps others to check an answer.
    evidence: EvidenceTable,
    /// What solved the Horn clauses of a question last.
    invariants: Mutex<BTreeMap<Of, Arc<Invariants>>>,
    work: Mutex<BTreeMap<Name, BlockWork>>,
    is_audited: AtomicBool,
    mistakes: Mutex<Vec<String>>,
}

impl fmt::Debug for Summaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} precisions", self.precisions.lock().len())
    }
}

impl Summaries {
    /// That also keep what helps others to check answers.
    pub fn with_evidence() -> Summaries {
        Summaries { evidence: EvidenceTable::collecting(), ..Summaries::default() }
    }

    /// What proofs from an entry ended with.
    pub fn evidence(&self, entry: Name) -> Evidence {
        self.evidence.of(entry)
    }

    /// With what others say that proofs from an entry end.
    pub fn offer_evidence(&self, entry: Name, evidence: Evidence) {
        self.evidence.offer(entry, evidence);
    }

    /// Where other processes leave precisions. The first counts.
    pub fn set_persistent_cache(&self, cache: Arc<dyn PersistentCache>) {
        // Set once: a second one is not looked at.
        drop(self.persistent_cache.set(cache));
    }

    /// What was done since the last call, by function.
    pub fn take_work(&self) -> BTreeMap<Name, BlockWork> {
        std::mem::take(&mut *self.work.lock())
    }

    /// For tests: from now on every block that is remembered is computed, too, and compared.
    pub fn audit(&self) {
        self.is_audited.store(true, Ordering::Relaxed);
    }

    /// Whether that is done.
    pub fn is_audited(&self) -> bool {
        self.is_audited.load(Ordering::Relaxed)
    }

    /// Notes where remembering was wrong.
    pub fn add_mistake(&self, mistake: String) {
        self.mistakes.lock().push(mistake);
    }

    /// Where it was, since the last call.
    pub fn take_mistakes(&self) -> Vec<String> {
        std::mem::take(&mut *self.mistakes.lock())
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
        let kept = || self.persistent_cache.get()?.find(precision_name(engine, env, entry));
        let bytes = kept().or_else(|| self.evidence.offered(entry, &precision_of(engine)))?;
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
        self.evidence.add(entry, || (precision_of(engine), postcard::to_stdvec(precision).ok()));
        let Some(cache) = self.persistent_cache.get() else { return };
        if let Some(bytes) = postcard::to_stdvec(precision).ok().filter(|bytes| bytes.len() <= MOST_BYTES) {
            cache.put(precision_name(engine, env, entry), bytes);
        }
    }

    /// Remembers what solved the Horn clauses of a question.
    pub(crate) fn set_invariants(&self, of: Of, found: Invariants) {
        self.evidence.add(of.entry, || (of.to_string(), found.bytes()));
        let mut all = self.invariants.lock();
        if all.len() < MOST_INVARIANTS || all.contains_key(&of) {
            all.insert(of, Arc::new(found));
        }
    }

    /// What solved them in an older text.
    pub(crate) fn invariants(&self, of: Of) -> Option<Arc<Invariants>> {
        let known = self.invariants.lock().get(&of).cloned();
        known
            .or_else(|| Some(Arc::new(Invariants::read(&self.evidence.offered(of.entry, &of.to_string())?)?)))
    }

    /// Remembers the runs that failed.
    pub fn add_failures(&self, found: &[Counterexample]) {
        let mut all = self.failures.lock();
        for counterexample in found {
            let known = all.entry(counterexample.entry.name).or_default();
            let new = Failure { inputs: counterexample.inputs.clone(), steps: counterexample.steps };
            known.retain(|failure| failure.inputs != new.inputs);
            known.push(new);
            if known.len() > MOST_FAILURES {
                known.remove(0);
            }
        }
    }

    /// Inputs of runs from an entry that failed.
    pub fn failures(&self, entry: Name) -> Vec<Failure> {
        self.failures.lock().get(&entry).cloned().unwrap_or_default()
    }

    /// Remembers what a run did.
    pub(crate) fn count<A: SharedAnalysis>(&self, session: &Session<A>, env: &Environment) {
        if self.is_audited() {
            for (function, pointer) in env.unnamed_pointers() {
                self.add_mistake(format!("{function}: no footprint names {pointer:?}"));
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

fn precision_of(engine: &str) -> String {
    format!("precision of {engine}")
}

/// What a precision is found by in another process: the entry, and the names of all functions there are, for `main` is in every program.
/// What the functions do is not in it: after an edit the precision is still a good one to begin with.
fn precision_name(engine: &str, env: &Environment, entry: Name) -> ContentHash {
    let names: Vec<&Name> = env.program().functions.keys().collect();
    let mut digest = ContentHasher::default();
    ("precision", engine, entry, names).hash(&mut digest);
    digest.content_hash()
}

/// What counts of the options inside of blocks. The entry and what is assumed there are in the entry state; inputs are those of the entry.
pub(crate) fn of_intervals(options: &IntervalOptions) -> ContentHash {
    let IntervalOptions {
        entry,
        wrapv,
        separate,
        outcomes,
        rounds,
        unrollings,
        input_ranges,
        weakest_recursion,
    } = options;
    let inputs = (!input_ranges.is_empty()).then_some((entry.name, input_ranges));
    content_hash(&(wrapv, separate, outcomes, rounds, unrollings, inputs, weakest_recursion))
}

/// The same for intervals with relations.
pub(crate) fn of_relations(options: &IntervalOptions) -> ContentHash {
    content_hash(&("relations", of_intervals(options)))
}

/// The same for both beside values.
pub(crate) fn of_relations_by_values(values: &ValueOptions, intervals: &IntervalOptions) -> ContentHash {
    content_hash(&("relations by values", of_values(values), of_intervals(intervals)))
}

/// The same for shapes.
pub(crate) fn of_shapes(options: &ShapeOptions) -> ContentHash {
    let ShapeOptions { entry: _, wrapv, fold } = options;
    content_hash(&("shapes", wrapv, fold))
}

/// The same for three-valued structures.
pub(crate) fn of_three_valued(options: &ThreeValuedOptions) -> ContentHash {
    let ThreeValuedOptions { entry: _, wrapv, annotations } = options;
    content_hash(&("three-valued", wrapv, annotations))
}

/// The same for values.
pub(crate) fn of_values(options: &ValueOptions) -> ContentHash {
    // How precision is refined does not change what a block is under one.
    let ValueOptions { entry: _, wrapv, track_everything, joins, threshold, refinement: _, unrollings } =
        options;
    content_hash(&(wrapv, track_everything, joins, threshold, unrollings))
}

fn content_hash(content: &impl Hash) -> ContentHash {
    let mut hasher = ContentHasher::default();
    content.hash(&mut hasher);
    hasher.content_hash()
}
