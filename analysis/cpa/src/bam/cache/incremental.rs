//! Block abstractions across edits: a run's [`CacheSession`] finds in the [`SummaryCache`] of earlier runs what still holds after the program
//! has changed.
//!
//! An abstraction is a function of its block (the footprint of the functions of its component, and which error locations stop a
//! run), its reduced entry, its reduced precision, the configuration, and of the exits of the abstractions that it asked for. The first four are
//! a key. The last, its dependencies, are validated in recorded order: while every earlier one is unchanged, control reaches
//! the next call, so recomputing it is not wasted. If all are unchanged, the abstraction holds, and nothing of its block is explored. So a function whose callee has changed is not looked at when the callee's
//! summaries have not.
//!
//! A cache hit charges the budget with the cost of the original computation, so verdicts do not depend on the cache.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    hash::Hash,
    sync::Arc,
};

use proofline_cfa::{ContentHash, ContentHasher, Name, ObligationId};
use proofline_program_analysis::Environment;
use rustc_hash::FxHashMap;

use super::{LookupResult, SummaryCache, SummaryStore, audit};
use crate::{
    Config, Question,
    bam::{Dependency, KeyOf, Stable, SummaryId},
    cpa::{BlockCpa, BlockId},
};

/// What became of the blocks of a function in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockWork {
    /// Abstractions that were computed.
    pub computed: u64,
    /// Abstractions that an earlier run had computed.
    pub recalled: u64,
}

/// The abstractions of one run, with those of earlier runs behind them.
pub struct CacheSession<'s, A: BlockCpa> {
    shared: Option<&'s SummaryCache<A>>,
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
    lookups: FxHashMap<KeyOf<A>, Lookup<A>>,
    next: u32,
    work: BTreeMap<Name, BlockWork>,
    /// What computing what was found took.
    debt: u64,
}

struct Found<A: BlockCpa> {
    stable: Arc<Stable<A>>,
    /// Others may have it.
    is_shared: bool,
}

/// How far a lookup has come.
struct Lookup<A: BlockCpa> {
    versions: Vec<(SummaryId, Arc<Stable<A>>)>,
    /// What the newest version depends on, as it is now.
    now: Vec<(SummaryId, Arc<Stable<A>>)>,
}

impl<'s, A: BlockCpa> CacheSession<'s, A> {
    /// For one run. `options` is the hash of all that the analysis was told; whatever else it asks about the program is in the
    /// footprints. Without `shared` nothing is found or kept.
    pub fn new(
        shared: Option<&'s SummaryCache<A>>,
        analysis: &A,
        options: ContentHash,
        question: &Question<'s>,
    ) -> CacheSession<'s, A> {
        let mut digest = ContentHasher::default();
        let Question { env, ref checks, ref only, ref config, .. } = *question;
        // What a run is for does not change what a block is.
        let Config { order, blocks, max_unrollings, .. } = config;
        (analysis.name(), options, order, blocks, max_unrollings, checks).hash(&mut digest);
        let own = Own {
            index: FxHashMap::default(),
            stable: FxHashMap::default(),
            footprints: FxHashMap::default(),
            lookups: FxHashMap::default(),
            next: 0,
            work: BTreeMap::new(),
            debt: 0,
        };
        // Without blocks for functions a block holds other functions' states, which its footprint does not name.
        let shared = shared.filter(|_| blocks.functions);
        CacheSession { shared, env, salt: digest.content_hash(), only: only.clone(), own: RefCell::new(own) }
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
    fn find_again(&self, own: &mut Own<A>, key: &KeyOf<A>, depth: u32) -> LookupResult<A> {
        let Some(shared) = self.shared.filter(|shared| !shared.is_audited()) else {
            return LookupResult::Missing;
        };
        let Some(footprint) = self.footprint(own, &key.block) else { return LookupResult::Missing };
        let mut lookup = own.lookups.remove(key).unwrap_or_else(|| Lookup {
            versions: {
                shared.fetch(footprint, key);
                let mut versions = shared.versions(footprint, key);
                versions.reverse();
                versions
            },
            now: Vec::new(),
        });
        while let Some((id, stable)) = lookup.versions.last().cloned() {
            let next = stable.dependencies().get(lookup.now.len());
            let Some(next) = next else {
                if let Some(id) = self.holds(own, shared, footprint, id, &stable, &lookup.now) {
                    return LookupResult::Found(id);
                }
                lookup.versions.pop();
                lookup.now.clear();
                continue;
            };
            let known = match own.index.get(&next.key).copied() {
                Some(id) => Some(id),
                // Where nothing may be computed for this, what is needed must be known, too.
                None if !self.may_look_ahead() && depth > 0 => {
                    match self.find_again(own, &next.key, depth - 1) {
                        LookupResult::Found(id) => Some(id),
                        LookupResult::Missing | LookupResult::Needs(_) => None,
                    }
                }
                None => None,
            };
            let Some(now) = known else {
                if !self.may_look_ahead() {
                    return LookupResult::Missing;
                }
                let needed = next.key.clone();
                own.lookups.insert(key.clone(), lookup);
                return LookupResult::Needs(needed);
            };
            let now = (now, own.stable[&now].stable.clone());
            if next.summary == now.0 || says_the_same(next, &now.1) {
                lookup.now.push(now);
            } else {
                lookup.versions.pop();
                lookup.now.clear();
            }
        }
        LookupResult::Missing
    }

    /// Takes over an abstraction whose callees say what they said. `None` if it cannot be put on top of them.
    fn holds(
        &self,
        own: &mut Own<A>,
        shared: &SummaryCache<A>,
        footprint: ContentHash,
        id: SummaryId,
        stable: &Arc<Stable<A>>,
        now: &[(SummaryId, Arc<Stable<A>>)],
    ) -> Option<SummaryId> {
        let is_same = stable.dependencies().iter().zip(now).all(|(old, (id, _))| old.summary == *id);
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
        CacheSession::count(own, &stable.key().block, |work| work.recalled += 1);
        own.index.insert(stable.key().clone(), id);
        own.debt += stable.cost();
        own.stable.insert(id, Found { stable, is_shared: true });
        Some(id)
    }
}

impl<A: BlockCpa> CacheSession<'_, A> {
    /// Compares what was computed with what would have been found.
    fn audit(&self, own: &Own<A>, shared: &SummaryCache<A>, footprint: ContentHash, new: &Stable<A>) {
        shared.fetch(footprint, new.key());
        for (_, old) in shared.versions(footprint, new.key()) {
            let mut fault = None;
            let mut holds = true;
            for asked in old.dependencies() {
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
                shared.add_mistake(format!("{:?}: {fault}", new.key().block));
            }
        }
    }
}

/// Whether an abstraction says what another one for the same key said.
fn says_the_same<A: BlockCpa>(old: &Dependency<A>, new: &Stable<A>) -> bool {
    let exploration = new.member(0).1;
    let mut before = old.exits.iter();
    old.has_unsupported == exploration.unsupported.is_some()
        && new
            .exits()
            .all(|exit| before.next().is_some_and(|old| old.loc == exit.loc && old.state == exit.state))
        && before.next().is_none()
}

impl<A: BlockCpa> SummaryStore<A> for CacheSession<'_, A> {
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
        CacheSession::count(own, &stable.key().block, |work| work.computed += 1);
        let footprint = self.footprint(own, &stable.key().block);
        // What stopped at an error location is not all there is.
        let may_share = |own: &Own<A>| {
            !stable.has_targets()
                && stable
                    .dependencies()
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
        own.lookups.remove(stable.key());
        own.stable.insert(id, Found { stable, is_shared });
        id
    }

    fn look_up(&self, key: &KeyOf<A>) -> LookupResult<A> {
        self.find_again(&mut self.own.borrow_mut(), key, DEPTH)
    }

    fn debt(&self) -> u64 {
        std::mem::take(&mut self.own.borrow_mut().debt)
    }
}

/// How deep calls are followed where nothing may be computed.
const DEPTH: u32 = 200;
