//! Blocks of runs: whom a run asks for a block's abstraction, and how what is asked looks to a query graph that knows no analysis. Answers
//! are the same without one. Must not know where anything is kept.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    fmt,
    hash::{Hash, Hasher},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use parking_lot::Mutex;
use proofline_cfa::{Name, ObligationId};
use proofline_cpa::{
    BlockCpa, Budget, Cancel, Config, Question, Unknown,
    bam::{self, KeyOf, MemoryStore, Stable, SummaryId, SummaryStore},
};
use proofline_hir::{ContentHash, ContentHasher};
use proofline_program_analysis::Environment;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use serde::{Serialize, de::DeserializeOwned};

use crate::subject::Subject;

/// An analysis whose abstractions others may have, too: what is in them means the same in every run and process.
pub(crate) trait SharedAnalysis:
    BlockCpa<State: Serialize + DeserializeOwned, Precision: Serialize + DeserializeOwned> + 'static
{
}

impl<A> SharedAnalysis for A where
    A: BlockCpa<State: Serialize + DeserializeOwned, Precision: Serialize + DeserializeOwned> + 'static
{
}

/// A block's key, of whatever analysis.
trait AnyKey: Any + Send + Sync {
    fn feed(&self, hasher: &mut dyn Hasher);
    fn is(&self, other: &dyn Any) -> bool;
}

impl<K: Hash + Eq + Send + Sync + 'static> AnyKey for K {
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<K>().is_some_and(|other| self == other)
    }
}

/// What is asked of a block: all that its abstraction is a function of, the program apart.
#[derive(Clone)]
pub struct BlockKey {
    function: Name,
    /// Of the analysis, its configuration, and what stops a run inside of the block.
    salt: ContentHash,
    key: Arc<dyn AnyKey>,
    hash: u64,
}

impl BlockKey {
    fn new<K: Hash + Eq + Send + Sync + 'static>(function: Name, salt: ContentHash, key: K) -> BlockKey {
        let mut hasher = FxHasher::default();
        (salt, &key).hash(&mut hasher);
        BlockKey { function, salt, key: Arc::new(key), hash: hasher.finish() }
    }

    /// The function that the block lies in.
    pub fn function(&self) -> Name {
        self.function
    }

    /// Names it in every process.
    pub fn name(&self, hasher: &mut ContentHasher) {
        self.salt.hash(hasher);
        self.key.feed(hasher);
    }

    fn typed<A: SharedAnalysis>(&self) -> Option<&KeyOf<A>> {
        (&*self.key as &dyn Any).downcast_ref()
    }
}

impl PartialEq for BlockKey {
    fn eq(&self, other: &BlockKey) -> bool {
        Arc::ptr_eq(&self.key, &other.key) && self.salt == other.salt
            || self.hash == other.hash && self.salt == other.salt && self.key.is(&*other.key as &dyn Any)
    }
}

impl Eq for BlockKey {}

impl Hash for BlockKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl fmt::Debug for BlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a block of {}", self.function)
    }
}

/// The abstraction of a block, of whatever analysis.
pub struct BlockSummary {
    stable: Arc<dyn Any + Send + Sync>,
    answer: ContentHash,
    size: usize,
    asked: Vec<(BlockKey, ContentHash)>,
    bytes: fn(&BlockSummary) -> Option<Vec<u8>>,
}

impl BlockSummary {
    /// Names what whoever applies the block sees of it.
    pub fn answer(&self) -> ContentHash {
        self.answer
    }

    /// Nodes of its graphs.
    pub fn size(&self) -> usize {
        self.size
    }

    /// What it asked of other blocks, in this order, and what they answered. While every earlier answer is the same, so is the next question.
    pub fn asked(&self) -> &[(BlockKey, ContentHash)] {
        &self.asked
    }

    /// For other processes; `None` for what cannot be written.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        (self.bytes)(self)
    }

    fn typed<A: SharedAnalysis>(&self) -> Option<Arc<Stable<A>>> {
        self.stable.clone().downcast().ok()
    }
}

/// What became of the blocks of a function in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockWork {
    /// Abstractions that were computed.
    pub computed: u64,
    /// Abstractions that were known.
    pub recalled: u64,
}

/// The run of an analysis, as those see it who remember blocks: what can be computed now, with the steps that the run has left.
pub trait BlockRun: Send + Sync {
    /// Computes an abstraction with its recursive component. `None`: it has none, for the run stops in it; that is an answer, too.
    ///
    /// # Errors
    /// If the run's steps or time end first: then nothing is known.
    fn compute(
        &self,
        key: &BlockKey,
        ask: &dyn Fn(&BlockKey) -> Option<Arc<BlockSummary>>,
    ) -> Result<Option<Arc<BlockSummary>>, Unknown>;
    /// What another process has written; `None` if it is nothing, or of another key.
    fn read(&self, key: &BlockKey, bytes: &[u8]) -> Option<Arc<BlockSummary>>;
    /// For tests: computes once more, at nobody's cost, what was not computed in this run; the first thing in which that differs.
    fn audit(
        &self,
        key: &BlockKey,
        known: &BlockSummary,
        ask: &dyn Fn(&BlockKey) -> Option<Arc<BlockSummary>>,
    ) -> Option<String>;
}

/// Who remembers the blocks of a program.
pub trait BlockQueries: Send + Sync {
    /// For one run, on its thread.
    fn open(&self, run: Arc<dyn BlockRun>) -> Box<dyn OpenBlocks>;
}

/// The blocks of a program, for one run.
pub trait OpenBlocks {
    /// The abstraction for a key, remembered or computed; `None`: it has none.
    ///
    /// # Errors
    /// If the run's steps or time end first.
    fn ask(&self, key: &BlockKey) -> Result<Option<Arc<BlockSummary>>, Unknown>;
}

/// A run of an analysis.
struct Run<A: SharedAnalysis> {
    analysis: Arc<A>,
    env: Arc<Environment>,
    entry: Name,
    checks: BTreeSet<proofline_cfa::CheckId>,
    only: Option<BTreeSet<(Name, ObligationId)>>,
    config: Config,
    salt: ContentHash,
    salts: Mutex<FxHashMap<Name, ContentHash>>,
    cancel: Cancel,
    deadline: Option<Instant>,
    /// Steps that what is computed next may take.
    left: AtomicU64,
    computed: Mutex<FxHashSet<usize>>,
    work: Mutex<BTreeMap<Name, BlockWork>>,
}

impl<A: SharedAnalysis> Run<A> {
    /// The key as others know it.
    fn key(&self, key: &KeyOf<A>) -> BlockKey {
        let function = key.block.function();
        BlockKey::new(function, self.salt(function), key.clone())
    }

    /// With the targets that can be reached in the block.
    fn salt(&self, function: Name) -> ContentHash {
        let Some(only) = self.only.as_ref().filter(|only| !only.is_empty()) else { return self.salt };
        *self.salts.lock().entry(function).or_insert_with(|| {
            let reached = self.env.call_graph().reachable([function]);
            let mut digest = ContentHasher::default();
            self.salt.hash(&mut digest);
            only.iter()
                .filter(|(name, _)| reached.contains(name))
                .for_each(|target| target.hash(&mut digest));
            digest.content_hash()
        })
    }

    fn summary(&self, stable: Stable<A>) -> Arc<BlockSummary> {
        let asked = stable.dependencies().iter().map(|asked| (self.key(&asked.key), asked.answer)).collect();
        let (answer, size) = (stable.answer(), stable.size());
        let bytes = |summary: &BlockSummary| bam::bytes(&*summary.typed::<A>()?);
        Arc::new(BlockSummary { stable: Arc::new(stable), answer, size, asked, bytes })
    }

    fn count(&self, function: Name, count: impl Fn(&mut BlockWork)) {
        count(self.work.lock().entry(function).or_default());
    }
}

impl<A: SharedAnalysis> BlockRun for Run<A> {
    fn compute(
        &self,
        key: &BlockKey,
        ask: &dyn Fn(&BlockKey) -> Option<Arc<BlockSummary>>,
    ) -> Result<Option<Arc<BlockSummary>>, Unknown> {
        let Some(typed) = key.typed::<A>() else { return Ok(None) };
        let (checks, only) = (self.checks.clone(), self.only.clone());
        let question = Question { env: &self.env, entry: self.entry, checks, only, config: self.config };
        if let Some(component) = bam::component_key(&*self.analysis, &question, typed)
            && let Some(whole) = ask(&self.key(&component))
            && let Some(stable) = whole.typed::<A>().and_then(|stable| stable.rooted_at(typed))
        {
            let summary = self.summary(stable);
            self.count(key.function, |work| work.recalled += 1);
            self.computed.lock().insert(Arc::as_ptr(&summary) as usize);
            return Ok(Some(summary));
        }
        let budget = Budget::steps(self.left.load(Ordering::Relaxed))
            .with_cancel(self.cancel.clone())
            .with_deadline(self.deadline);
        let callees =
            Rc::new(Callees { run: self, ask, known: MemoryStore::default(), elsewhere: Cell::new(0) });
        let elsewhere = || callees.elsewhere.get();
        let found =
            bam::summarise(&*self.analysis, &question, typed.clone(), callees.clone(), &budget, &elsewhere);
        self.left.store(budget.left(), Ordering::Relaxed);
        match found {
            Ok(None) => Ok(None),
            Ok(Some(stable)) => {
                let summary = self.summary(stable);
                self.count(key.function, |work| work.computed += 1);
                self.computed.lock().insert(Arc::as_ptr(&summary) as usize);
                Ok(Some(summary))
            }
            Err(ended @ (Unknown::OutOfBudget | Unknown::OutOfTime | Unknown::Cancelled)) => Err(ended),
            // The run itself will find out.
            Err(_) => Ok(None),
        }
    }

    fn read(&self, key: &BlockKey, bytes: &[u8]) -> Option<Arc<BlockSummary>> {
        let stable: Stable<A> = bam::from_bytes(bytes)?;
        (Some(stable.key()) == key.typed::<A>()).then(|| self.summary(stable))
    }

    fn audit(
        &self,
        key: &BlockKey,
        known: &BlockSummary,
        ask: &dyn Fn(&BlockKey) -> Option<Arc<BlockSummary>>,
    ) -> Option<String> {
        if !self.computed.lock().insert(std::ptr::from_ref(known) as usize) {
            return None;
        }
        let left = self.left.swap(u64::MAX, Ordering::Relaxed);
        let new = self.compute(key, ask);
        self.left.store(left, Ordering::Relaxed);
        match new {
            Ok(Some(new)) => bam::difference(&*known.typed::<A>()?, &*new.typed::<A>()?),
            Ok(None) => Some("a run stops in it".to_owned()),
            Err(_) => None,
        }
    }
}

/// The blocks that a block asks for while it is computed.
struct Callees<'r, A: SharedAnalysis> {
    run: &'r Run<A>,
    ask: &'r dyn Fn(&BlockKey) -> Option<Arc<BlockSummary>>,
    known: MemoryStore<A>,
    /// What they took of the steps.
    elsewhere: Cell<u64>,
}

impl<A: SharedAnalysis> SummaryStore<A> for Callees<'_, A> {
    fn find(&self, key: &KeyOf<A>, budget: &Budget) -> Result<Option<SummaryId>, Unknown> {
        if let Some(known) = self.known.known(key) {
            return Ok(Some(known));
        }
        self.run.left.store(budget.left(), Ordering::Relaxed);
        let answer = (self.ask)(&self.run.key(key));
        let spent = budget.left().saturating_sub(self.run.left.load(Ordering::Relaxed));
        self.elsewhere.set(self.elsewhere.get() + spent);
        budget.spend(spent)?;
        Ok(answer.and_then(|summary| summary.typed()).map(|stable| self.known.share(stable)))
    }
    fn known(&self, key: &KeyOf<A>) -> Option<SummaryId> {
        self.known.known(key)
    }
    fn get(&self, id: SummaryId) -> Arc<Stable<A>> {
        self.known.get(id)
    }
    fn put(&self, stable: Stable<A>) -> SummaryId {
        self.known.put(stable)
    }
}

/// A run with what is remembered for it.
type Remembered<A> = (Arc<Run<A>>, Box<dyn OpenBlocks>);

/// What answers for the blocks of a run: its own table, and behind it whoever remembers the program's blocks.
pub(crate) struct Session<A: SharedAnalysis> {
    own: MemoryStore<A>,
    remembered: Option<Remembered<A>>,
    /// No such run is ever remembered, whoever asks: so that answers are the same without a query graph.
    is_private: bool,
    /// Those that have no abstraction.
    refused: RefCell<FxHashSet<KeyOf<A>>>,
}

impl<A: SharedAnalysis> Session<A> {
    /// For one run. `options` is the hash of all that the analysis was told and that counts inside of blocks; what else it asks about the
    /// program is in the footprints.
    pub(crate) fn new(
        subject: &Subject,
        analysis: &Arc<A>,
        options: ContentHash,
        question: &Question<'_>,
        budget: &Budget,
    ) -> Session<A> {
        let Question { entry, ref checks, ref only, config, .. } = *question;
        // Without blocks for functions a block holds other functions' states, which its footprint does not name.
        let queries = subject.blocks().filter(|_| config.blocks.functions);
        let remembered = queries.map(|queries| {
            let mut digest = ContentHasher::default();
            // What a run is for does not change what a block is.
            let Config { order, blocks, max_unrollings, .. } = config;
            (analysis.name(), options, order, blocks, max_unrollings, checks, only.is_some())
                .hash(&mut digest);
            let run = Arc::new(Run {
                analysis: analysis.clone(),
                env: subject.env().clone(),
                entry,
                checks: checks.clone(),
                only: only.clone(),
                config,
                salt: digest.content_hash(),
                salts: Mutex::default(),
                cancel: budget.cancel().clone(),
                deadline: budget.deadline(),
                left: AtomicU64::new(0),
                computed: Mutex::default(),
                work: Mutex::default(),
            });
            (run.clone(), queries.open(run))
        });
        let is_private = !config.blocks.functions;
        Session { own: MemoryStore::default(), remembered, is_private, refused: RefCell::default() }
    }

    /// What was done, by function.
    pub(crate) fn work(&self) -> BTreeMap<Name, BlockWork> {
        self.remembered.as_ref().map(|(run, _)| run.work.lock().clone()).unwrap_or_default()
    }

    /// Takes over an abstraction and all that it rests on; what computing that took.
    fn take(&self, run: &Run<A>, blocks: &dyn OpenBlocks, first: Arc<BlockSummary>) -> Result<u64, Unknown> {
        let (mut cost, mut waiting) = (0, vec![first]);
        while let Some(summary) = waiting.pop() {
            let Some(stable) = summary.typed::<A>() else { return Err(lost()) };
            if self.own.known(stable.key()).is_some() {
                continue;
            }
            if !run.computed.lock().contains(&(Arc::as_ptr(&summary) as usize)) {
                run.count(stable.key().block.function(), |work| work.recalled += 1);
            }
            cost += stable.cost();
            for ((key, _), asked) in summary.asked.iter().zip(stable.dependencies()) {
                if self.own.known(&asked.key).is_none() {
                    waiting.push(blocks.ask(key)?.ok_or_else(lost)?);
                }
            }
            self.own.share(stable);
        }
        Ok(cost)
    }
}

fn lost() -> Unknown {
    Unknown::InternalError("a block rests on one that is not known".into())
}

impl<A: SharedAnalysis> SummaryStore<A> for Session<A> {
    fn find(&self, key: &KeyOf<A>, budget: &Budget) -> Result<Option<SummaryId>, Unknown> {
        if let Some(known) = self.own.known(key) {
            return Ok(Some(known));
        }
        let Some((run, blocks)) = &self.remembered else { return Ok(None) };
        if self.refused.borrow().contains(key) {
            return Ok(None);
        }
        run.left.store(budget.left(), Ordering::Relaxed);
        let Some(summary) = blocks.ask(&run.key(key))? else {
            self.refused.borrow_mut().insert(key.clone());
            return Ok(None);
        };
        run.left.store(u64::MAX, Ordering::Relaxed);
        // Paid once in a run, whoever computed it: verdicts are a function of the text.
        budget.spend(self.take(run, &**blocks, summary)?)?;
        Ok(self.own.known(key))
    }
    fn known(&self, key: &KeyOf<A>) -> Option<SummaryId> {
        self.own.known(key)
    }
    fn get(&self, id: SummaryId) -> Arc<Stable<A>> {
        self.own.get(id)
    }
    fn put(&self, stable: Stable<A>) -> SummaryId {
        if let Some((run, _)) = &self.remembered {
            run.count(stable.key().block.function(), |work| work.computed += 1);
        }
        self.own.put(stable)
    }
    fn is_private(&self) -> bool {
        self.is_private
    }
}
