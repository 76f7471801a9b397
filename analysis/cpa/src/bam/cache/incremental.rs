//! Block abstractions that outlive a run: [`Summaries`] keeps what stable abstractions said, by everything they depend on, and a run's
//! [`Session`] finds in it what still holds after the program has changed.
//!
//! An abstraction is a function of its block (the footprint of the functions of its component, and which error locations stop a
//! run), its reduced entry, its reduced precision, the configuration, and of the exits of the abstractions that it asked for. The first four are
//! a key. The last are compared one by one, in the order in which they were asked for: as long as all so far are what they were, the
//! next one is asked for in any case, so it may be computed to see whether it still says the same. If all do, so does the
//! abstraction, and nothing of its block is explored. So a function whose callee has changed is not looked at when the callee's
//! summaries have not.
//!
//! Whoever recalls an abstraction pays what computing it took: a budget ends where it would have ended.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt,
    hash::Hash,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use proofline_cfa::{CheckId, ContentHash, ContentHasher, Name, ObligationId};
use proofline_program_analysis::Environment;
use rustc_hash::FxHashMap;
use serde::{Serialize, de::DeserializeOwned};

use super::{Asked, KeyOf, Recalled, Stable, SummaryStore, audit, codec::Codec};
use crate::{
    Config,
    bam::SummaryId,
    cpa::{BlockCpa, BlockId},
};

/// Abstractions of one key that are kept: the program as it is, and as it was before the last edits.
const VERSIONS: usize = 3;

/// Nodes of all graphs that are kept, unless somebody says otherwise.
const MOST_NODES: usize = 1 << 19;

/// An abstraction with more bytes is not put on a shelf.
const MOST_BYTES: usize = 1 << 20;

/// Stable abstractions of one analysis, for any number of runs at a time.
pub struct Summaries<A: BlockCpa> {
    inner: Mutex<Inner<A>>,
    most_nodes: usize,
    codec: Option<Codec<A>>,
    shelf: OnceLock<Arc<dyn Shelf>>,
    fetched: AtomicU64,
    /// For tests: nothing is recalled, and what would have been is compared with what is computed.
    is_audited: AtomicBool,
    mistakes: Mutex<Vec<String>>,
}

struct Inner<A: BlockCpa> {
    index: FxHashMap<(ContentHash, KeyOf<A>), Vec<SummaryId>>,
    kept: BTreeMap<SummaryId, Kept<A>>,
    /// Which were used longest ago.
    by_use: BTreeMap<u64, SummaryId>,
    nodes: usize,
    uses: u64,
    next: u32,
}

struct Kept<A: BlockCpa> {
    stable: Arc<Stable<A>>,
    footprint: ContentHash,
    used: u64,
    nodes: usize,
    /// On the shelf, or made of what is.
    is_shelved: bool,
}

/// Keeps abstractions as bytes where other processes find them. A hint: what is missing is computed.
pub trait Shelf: Send + Sync {
    /// The bytes under a name that stands for everything that they are a function of.
    fn find(&self, name: ContentHash) -> Option<Vec<u8>>;
    /// Keeps bytes.
    fn put(&self, name: ContentHash, bytes: Vec<u8>);
}

impl<A: BlockCpa> Summaries<A>
where
    A::State: Serialize + DeserializeOwned,
    A::Precision: Serialize + DeserializeOwned,
{
    /// These can be put on a shelf.
    pub fn shelved(mut self) -> Summaries<A> {
        self.codec = Some(Codec::new());
        self
    }
}

impl<A: BlockCpa> Default for Summaries<A> {
    fn default() -> Summaries<A> {
        Summaries::new(MOST_NODES)
    }
}

impl<A: BlockCpa> fmt::Debug for Summaries<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} summaries", self.len())
    }
}

impl<A: BlockCpa> Summaries<A> {
    /// Keeps abstractions with at most so many nodes together; those that were not used for longest go.
    pub fn new(most_nodes: usize) -> Summaries<A> {
        let inner = Inner {
            index: FxHashMap::default(),
            kept: BTreeMap::new(),
            by_use: BTreeMap::new(),
            nodes: 0,
            uses: 0,
            next: 0,
        };
        Summaries {
            inner: Mutex::new(inner),
            most_nodes,
            codec: None,
            shelf: OnceLock::new(),
            fetched: AtomicU64::new(0),
            is_audited: AtomicBool::new(false),
            mistakes: Mutex::default(),
        }
    }

    /// From now on nothing is recalled: everything is computed, and compared with what would have been recalled.
    pub fn audit(&self) {
        self.is_audited.store(true, Ordering::Relaxed);
    }

    /// Whether everything is computed.
    pub fn is_audited(&self) -> bool {
        self.is_audited.load(Ordering::Relaxed)
    }

    /// What audits found since the last call: where recalling would have been wrong.
    pub fn take_mistakes(&self) -> Vec<String> {
        std::mem::take(&mut *self.mistakes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lock().kept.len()
    }

    /// None?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    // What panics while it holds the lock leaves a summary too few, never a wrong one.
    fn lock(&self) -> MutexGuard<'_, Inner<A>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self) -> SummaryId {
        let mut inner = self.lock();
        inner.next = inner.next.checked_add(1).expect("a process computes fewer blocks");
        SummaryId(inner.next)
    }

    /// Newest first.
    fn versions(&self, footprint: ContentHash, key: &KeyOf<A>) -> Vec<(SummaryId, Arc<Stable<A>>)> {
        let inner = self.lock();
        let ids = inner.index.get(&(footprint, key.clone())).into_iter().flatten().rev();
        ids.filter_map(|id| Some((*id, inner.kept.get(id)?.stable.clone()))).collect()
    }

    /// Where other processes leave theirs. The first counts.
    pub fn set_shelf(&self, shelf: Arc<dyn Shelf>) {
        let _ = self.shelf.set(shelf);
    }

    /// Puts on the shelf what is new.
    pub fn put_on_shelf(&self) {
        let (Some(codec), Some(shelf)) = (&self.codec, self.shelf.get()) else { return };
        let new: Vec<(ContentHash, Arc<Stable<A>>)> = {
            let mut inner = self.lock();
            let new = inner.kept.values_mut().filter(|kept| !kept.is_shelved);
            new.map(|kept| {
                kept.is_shelved = true;
                (shelf_name(kept.footprint, kept.stable.key()), kept.stable.clone())
            })
            .collect()
        };
        for (name, stable) in new {
            if let Some(bytes) = (codec.write)(&stable).filter(|bytes| bytes.len() <= MOST_BYTES) {
                shelf.put(name, bytes);
            }
        }
    }

    /// Takes from the shelf what is not here.
    fn fetch(&self, footprint: ContentHash, key: &KeyOf<A>) {
        let (Some(codec), Some(shelf)) = (&self.codec, self.shelf.get()) else { return };
        if self.lock().index.contains_key(&(footprint, key.clone())) {
            return;
        }
        let Some(bytes) = shelf.find(shelf_name(footprint, key)) else { return };
        let stable = (codec.read)(&bytes, &mut || self.name());
        if let Some(stable) = stable.filter(|stable| stable.key() == key) {
            self.fetched.fetch_add(1, Ordering::Relaxed);
            self.keep(self.name(), footprint, Arc::new(stable), true);
        }
    }

    /// How many were taken from the shelf.
    pub fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    fn keep(&self, id: SummaryId, footprint: ContentHash, stable: Arc<Stable<A>>, is_shelved: bool) {
        let mut inner = self.lock();
        let nodes = stable.size();
        let key = (footprint, stable.key().clone());
        inner.uses += 1;
        let used = inner.uses;
        let ids = inner.index.entry(key).or_default();
        ids.push(id);
        let old = (ids.len() > VERSIONS).then(|| ids[0]);
        inner.kept.insert(id, Kept { stable, footprint, used, nodes, is_shelved });
        inner.by_use.insert(used, id);
        inner.nodes += nodes;
        if let Some(old) = old {
            inner.forget(old);
        }
        while inner.nodes > self.most_nodes
            && let Some((_, oldest)) = inner.by_use.first_key_value()
        {
            let oldest = *oldest;
            inner.forget(oldest);
        }
    }

    fn touch(&self, id: SummaryId) {
        let mut inner = self.lock();
        inner.uses += 1;
        let now = inner.uses;
        let Some(kept) = inner.kept.get_mut(&id) else { return };
        let before = std::mem::replace(&mut kept.used, now);
        inner.by_use.remove(&before);
        inner.by_use.insert(now, id);
    }
}

/// What an abstraction is found by in another process.
fn shelf_name<K: Hash>(footprint: ContentHash, key: &K) -> ContentHash {
    let mut digest = ContentHasher::default();
    (footprint, key).hash(&mut digest);
    digest.content_hash()
}

impl<A: BlockCpa> Inner<A> {
    fn forget(&mut self, id: SummaryId) {
        let Some(kept) = self.kept.remove(&id) else { return };
        self.by_use.remove(&kept.used);
        self.nodes -= kept.nodes;
        let key = (kept.footprint, kept.stable.key().clone());
        if let Some(ids) = self.index.get_mut(&key) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.index.remove(&key);
            }
        }
    }
}

/// What became of the blocks of a function in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockWork {
    /// Abstractions that were computed.
    pub computed: u64,
    /// Abstractions that an earlier run had computed.
    pub recalled: u64,
}

/// The abstractions of one run, with those of earlier runs behind them.
pub struct Session<'s, A: BlockCpa> {
    shared: Option<&'s Summaries<A>>,
    env: &'s Environment,
    /// Of the analysis and the configuration.
    salt: ContentHash,
    only: Option<BTreeSet<(Name, ObligationId)>>,
    own: RefCell<Own<A>>,
}

struct Own<A: BlockCpa> {
    index: FxHashMap<KeyOf<A>, SummaryId>,
    stable: FxHashMap<SummaryId, Found<A>>,
    footprints: FxHashMap<Name, Option<ContentHash>>,
    asking: FxHashMap<KeyOf<A>, Asking<A>>,
    next: u32,
    work: BTreeMap<Name, BlockWork>,
    /// What computing what was recalled took.
    debt: u64,
}

struct Found<A: BlockCpa> {
    stable: Arc<Stable<A>>,
    /// Others may have it.
    is_shared: bool,
}

/// How far a question has come.
struct Asking<A: BlockCpa> {
    versions: Vec<(SummaryId, Arc<Stable<A>>)>,
    /// What the newest version asked for, as it is now.
    now: Vec<(SummaryId, Arc<Stable<A>>)>,
}

impl<'s, A: BlockCpa> Session<'s, A> {
    /// For one run. `options` says, as text, all that the analysis was told; whatever else it asks about the program is in the
    /// footprints. Without `shared` nothing is recalled or kept.
    pub fn new(
        shared: Option<&'s Summaries<A>>,
        env: &'s Environment,
        analysis: &A,
        options: &str,
        config: &Config,
        selected: &BTreeSet<CheckId>,
        only: Option<BTreeSet<(Name, ObligationId)>>,
    ) -> Session<'s, A> {
        let mut digest = ContentHasher::default();
        // What a run is for does not change what a block is.
        let Config { order, blocks, max_unrollings, .. } = config;
        (analysis.name(), options, order, blocks, max_unrollings, selected).hash(&mut digest);
        let own = Own {
            index: FxHashMap::default(),
            stable: FxHashMap::default(),
            footprints: FxHashMap::default(),
            asking: FxHashMap::default(),
            next: 0,
            work: BTreeMap::new(),
            debt: 0,
        };
        // Without blocks for functions a block holds other functions' states, which its footprint does not name.
        let shared = shared.filter(|_| blocks.functions);
        Session { shared, env, salt: digest.content_hash(), only, own: RefCell::new(own) }
    }

    /// What was done, by function.
    pub fn work(&self) -> BTreeMap<Name, BlockWork> {
        self.own.borrow().work.clone()
    }

    /// Whether other abstractions may be computed only to see whether an earlier one still holds. Not where error locations stop
    /// the run: the way to them would lead through what was not explored.
    fn may_look_ahead(&self) -> bool {
        self.only.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// Of the component that the block belongs to.
    fn footprint(&self, own: &mut Own<A>, block: &BlockId) -> Option<ContentHash> {
        let (BlockId::Function(function) | BlockId::Loop(function, _)) = block;
        if let Some(known) = own.footprints.get(function) {
            return *known;
        }
        let graph = self.env.call_graph();
        let component = graph.component_of(*function)?;
        let members = &graph.components()[component];
        let mut digest = ContentHasher::default();
        (self.salt, members.len()).hash(&mut digest);
        let mut is_whole = true;
        for member in members {
            is_whole &= self.env.footprint(*member).is_some();
            self.env.footprint(*member).hash(&mut digest);
            let targets = self.only.as_ref().map(|only| {
                let of_member = |(function, id): &(Name, ObligationId)| (function == member).then_some(*id);
                only.iter().filter_map(of_member).collect::<Vec<ObligationId>>()
            });
            targets.hash(&mut digest);
        }
        let footprint = is_whole.then(|| digest.content_hash());
        own.footprints.insert(*function, footprint);
        footprint
    }

    fn count(own: &mut Own<A>, block: &BlockId, count: impl Fn(&mut BlockWork)) {
        let (BlockId::Function(function) | BlockId::Loop(function, _)) = block;
        count(own.work.entry(*function).or_default());
    }

    /// The abstraction, if it is known as it is.
    fn look_up(&self, own: &mut Own<A>, key: &KeyOf<A>, depth: u32) -> Recalled<A> {
        let Some(shared) = self.shared.filter(|shared| !shared.is_audited()) else {
            return Recalled::Nothing;
        };
        let Some(footprint) = self.footprint(own, &key.block) else { return Recalled::Nothing };
        let mut asking = own.asking.remove(key).unwrap_or_else(|| Asking {
            versions: {
                shared.fetch(footprint, key);
                let mut versions = shared.versions(footprint, key);
                versions.reverse();
                versions
            },
            now: Vec::new(),
        });
        while let Some((id, stable)) = asking.versions.last().cloned() {
            let next = stable.asked().get(asking.now.len());
            let Some(next) = next else {
                if let Some(id) = self.holds(own, shared, footprint, id, &stable, &asking.now) {
                    return Recalled::Known(id);
                }
                asking.versions.pop();
                asking.now.clear();
                continue;
            };
            let known = match own.index.get(&next.key).copied() {
                Some(id) => Some(id),
                // Where nothing may be computed for this, what is needed must be known, too.
                None if !self.may_look_ahead() && depth > 0 => {
                    match self.look_up(own, &next.key, depth - 1) {
                        Recalled::Known(id) => Some(id),
                        Recalled::Nothing | Recalled::Needs(_) => None,
                    }
                }
                None => None,
            };
            let Some(now) = known else {
                if !self.may_look_ahead() {
                    return Recalled::Nothing;
                }
                let needed = next.key.clone();
                own.asking.insert(key.clone(), asking);
                return Recalled::Needs(needed);
            };
            let now = (now, own.stable[&now].stable.clone());
            if next.summary == now.0 || says_the_same(next, &now.1) {
                asking.now.push(now);
            } else {
                asking.versions.pop();
                asking.now.clear();
            }
        }
        Recalled::Nothing
    }

    /// Takes over an abstraction whose callees say what they said. `None` if it cannot be put on top of them.
    fn holds(
        &self,
        own: &mut Own<A>,
        shared: &Summaries<A>,
        footprint: ContentHash,
        id: SummaryId,
        stable: &Arc<Stable<A>>,
        now: &[(SummaryId, Arc<Stable<A>>)],
    ) -> Option<SummaryId> {
        let is_same = stable.asked().iter().zip(now).all(|(old, (id, _))| old.summary == *id);
        let (id, stable) = if is_same {
            shared.touch(id);
            (id, stable.clone())
        } else {
            let stable = Arc::new(stable.on_top_of(now)?);
            let id = shared.name();
            if now.iter().all(|(id, _)| own.stable.get(id).is_some_and(|found| found.is_shared)) {
                shared.keep(id, footprint, stable.clone(), true);
            }
            (id, stable)
        };
        Session::count(own, &stable.key().block, |work| work.recalled += 1);
        own.index.insert(stable.key().clone(), id);
        own.debt += stable.cost();
        own.stable.insert(id, Found { stable, is_shared: true });
        Some(id)
    }
}

impl<A: BlockCpa> Session<'_, A> {
    /// Compares what was computed with what would have been recalled.
    fn audit(&self, own: &Own<A>, shared: &Summaries<A>, footprint: ContentHash, new: &Stable<A>) {
        shared.fetch(footprint, new.key());
        for (_, old) in shared.versions(footprint, new.key()) {
            let mut fault = None;
            let mut holds = true;
            for asked in old.asked() {
                match own.index.get(&asked.key).map(|id| &own.stable[id].stable) {
                    None => fault = Some(format!("{:?} is not asked for", asked.key.block)),
                    Some(now) => holds = says_the_same(asked, now),
                }
                if fault.is_some() || !holds {
                    break;
                }
            }
            if holds && fault.is_none() {
                fault = audit::difference(&old, new);
            }
            if let Some(fault) = fault {
                let mut mistakes = shared.mistakes.lock().unwrap_or_else(PoisonError::into_inner);
                mistakes.push(format!("{:?}: {fault}", new.key().block));
            }
        }
    }
}

/// Whether an abstraction says what another one for the same key said.
fn says_the_same<A: BlockCpa>(old: &Asked<A>, new: &Stable<A>) -> bool {
    let exploration = new.member(0).1;
    let mut before = old.exits.iter();
    old.has_unsupported == exploration.unsupported.is_some()
        && new
            .exits()
            .all(|exit| before.next().is_some_and(|old| old.loc == exit.loc && old.state == exit.state))
        && before.next().is_none()
}

impl<A: BlockCpa> SummaryStore<A> for Session<'_, A> {
    fn find(&self, key: &KeyOf<A>) -> Option<SummaryId> {
        self.own.borrow().index.get(key).copied()
    }

    fn get(&self, id: SummaryId) -> Arc<Stable<A>> {
        self.own.borrow().stable[&id].stable.clone()
    }

    fn put(&self, stable: Stable<A>) -> SummaryId {
        let mut own = self.own.borrow_mut();
        let own = &mut *own;
        let stable = Arc::new(stable);
        Session::count(own, &stable.key().block, |work| work.computed += 1);
        let footprint = self.footprint(own, &stable.key().block);
        // What stopped at an error location is not all there is.
        let may_share = |own: &Own<A>| {
            !stable.has_targets()
                && stable
                    .asked()
                    .iter()
                    .all(|asked| own.stable.get(&asked.summary).is_some_and(|found| found.is_shared))
        };
        let id = match self.shared {
            Some(shared) => shared.name(),
            None => {
                own.next += 1;
                SummaryId(own.next)
            }
        };
        let mut is_shared = false;
        if let (Some(shared), Some(footprint)) = (self.shared, footprint)
            && may_share(own)
        {
            if shared.is_audited() {
                self.audit(own, shared, footprint, &stable);
            }
            shared.keep(id, footprint, stable.clone(), false);
            is_shared = true;
        }
        own.index.insert(stable.key().clone(), id);
        own.asking.remove(stable.key());
        own.stable.insert(id, Found { stable, is_shared });
        id
    }

    fn recall(&self, key: &KeyOf<A>) -> Recalled<A> {
        self.look_up(&mut self.own.borrow_mut(), key, DEPTH)
    }

    fn debt(&self) -> u64 {
        std::mem::take(&mut self.own.borrow_mut().debt)
    }
}

/// How deep calls are followed where nothing may be computed.
const DEPTH: u32 = 200;
