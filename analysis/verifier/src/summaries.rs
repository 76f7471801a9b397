//! Block abstractions that outlive a question: what engines found out about functions, to be found again after an edit. Answers are the
//! same without them. A precision to begin with is a hint: a proof with it is a proof, and may be one that a fresh run's budget does
//! not reach. Must not know who keeps them, or where.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use proofline_cfa::{Check, Environment, Name, ObligationId};
use proofline_cpa::{
    BlockCpa, Config,
    bam::{self, BlockWork, Session, Shelf},
};
use proofline_domains::{IntervalAnalysis, IntervalOptions, ValueAnalysis, ValueOptions};

/// Of some analysis.
type Precision = Arc<dyn Any + Send + Sync>;

/// Abstractions by analysis.
#[derive(Debug)]
pub struct Summaries {
    intervals: bam::Summaries<IntervalAnalysis>,
    values: bam::Summaries<ValueAnalysis>,
    /// With which precision an engine proved something last, by engine and entry.
    precisions: Mutex<BTreeMap<(&'static str, Name), Precision>>,
    work: Mutex<BTreeMap<Name, BlockWork>>,
    mistakes: Mutex<Vec<String>>,
}

impl Default for Summaries {
    fn default() -> Summaries {
        Summaries {
            intervals: bam::Summaries::default().shelved(),
            values: bam::Summaries::default(),
            precisions: Mutex::default(),
            work: Mutex::default(),
            mistakes: Mutex::default(),
        }
    }
}

impl Summaries {
    /// Where other processes leave the abstractions of intervals. The first counts.
    pub fn set_shelf(&self, shelf: Arc<dyn Shelf>) {
        self.intervals.set_shelf(shelf);
    }

    /// Puts on the shelf what is new.
    pub fn put_on_shelf(&self) {
        self.intervals.put_on_shelf();
    }

    /// How many abstractions were found on the shelf.
    pub fn fetched(&self) -> u64 {
        self.intervals.fetched()
    }

    /// What was done since the last call, by function.
    pub fn take_work(&self) -> BTreeMap<Name, BlockWork> {
        std::mem::take(&mut *self.work.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// For tests: from now on every block is computed and compared with what would have been recalled.
    pub fn audit(&self) {
        self.intervals.audit();
        self.values.audit();
    }

    /// Where recalling would have been wrong, since the last call.
    pub fn take_mistakes(&self) -> Vec<String> {
        let own = std::mem::take(&mut *self.mistakes.lock().unwrap_or_else(PoisonError::into_inner));
        [self.intervals.take_mistakes(), self.values.take_mistakes(), own].concat()
    }

    /// How many abstractions there are.
    pub fn len(&self) -> usize {
        self.intervals.len() + self.values.len()
    }

    /// None?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A precision to begin with: the one that the engine's last proof from this entry ended with.
    pub(crate) fn precision<P: Clone + 'static>(&self, engine: &'static str, entry: Name) -> Option<P> {
        let all = self.precisions.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&(engine, entry))?.downcast_ref::<P>().cloned()
    }

    /// Remembers a precision.
    pub(crate) fn set_precision<P: Clone + Send + Sync + 'static>(
        &self,
        engine: &'static str,
        entry: Name,
        precision: &P,
    ) {
        let mut all = self.precisions.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((engine, entry), Arc::new(precision.clone()));
    }

    /// Remembers what a run did.
    pub(crate) fn count<A: BlockCpa>(&self, session: &Session<'_, A>, env: &Environment) {
        if self.intervals.is_audited() {
            let mut mistakes = self.mistakes.lock().unwrap_or_else(PoisonError::into_inner);
            for (function, pointer) in env.unnamed_pointers() {
                mistakes.push(format!("{function}: no footprint names {pointer:?}"));
            }
        }
        let mut all = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        for (function, work) in session.work() {
            let known = all.entry(function).or_default();
            known.computed += work.computed;
            known.recalled += work.recalled;
        }
    }
}

/// An analysis whose abstractions are kept.
pub(crate) trait Kept: BlockCpa {
    /// Where.
    fn kept(summaries: &Summaries) -> &bam::Summaries<Self>
    where
        Self: Sized;
}

impl Kept for IntervalAnalysis {
    fn kept(summaries: &Summaries) -> &bam::Summaries<IntervalAnalysis> {
        &summaries.intervals
    }
}

impl Kept for ValueAnalysis {
    fn kept(summaries: &Summaries) -> &bam::Summaries<ValueAnalysis> {
        &summaries.values
    }
}

/// A run's store.
pub(crate) fn session<'s, A: Kept>(
    summaries: Option<&'s Summaries>,
    env: &'s Environment,
    analysis: &A,
    options: &str,
    config: &Config,
    selected: &BTreeSet<Check>,
    only: Option<BTreeSet<(Name, ObligationId)>>,
) -> Session<'s, A> {
    Session::new(summaries.map(A::kept), env, analysis, options, config, selected, only)
}

/// What counts of the options inside of blocks. The entry and what is assumed there are in the entry state.
pub(crate) fn of_intervals(options: &IntervalOptions) -> String {
    let IntervalOptions { entry, mode: _, wrapv, separate, unrollings, inputs } = options;
    // Inputs are those of the entry.
    let inputs = (!inputs.is_empty()).then_some((entry, inputs));
    format!("{wrapv} {separate} {unrollings} {inputs:?}")
}

/// The same for values.
pub(crate) fn of_values(options: &ValueOptions) -> String {
    let ValueOptions { entry: _, mode: _, wrapv, track_everything, threshold, unrollings } = options;
    format!("{wrapv} {track_everything} {threshold:?} {unrollings:?}")
}
