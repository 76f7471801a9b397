//! Looking an abstraction up before it is computed: what an earlier run found holds if whatever it depends on is what it was, so that may
//! have to be computed first. Knows nothing of how the cache decides.

use super::{LookupResult, SummaryStore};
use crate::{
    Budget, Unknown,
    arg::{Arg, Open},
    bam::{
        KeyOf, OpenId, SummaryId,
        tabulation::{AbstractionState, Creator, ROOT, RootCache, Tabulation},
    },
    cpa::BlockCpa,
};

impl<A: BlockCpa, S: SummaryStore<A>> Tabulation<'_, A, S> {
    /// Starts an abstraction that was asked for, unless it was started before or its answer is known by now.
    pub(crate) fn start_pending(&mut self, id: OpenId, budget: &Budget) -> Result<(), Unknown> {
        let provisional = self.open(id);
        if provisional.started {
            return Ok(());
        }
        if provisional.component.is_none() {
            self.start(id);
            return Ok(());
        }
        let known = self.store.find(&provisional.key);
        self.progress.count(|statistics| statistics.hits += u64::from(known.is_some()));
        let stable = match known {
            Some(stable) => stable,
            None => match self.look_up(id, budget)? {
                Some(stable) => stable,
                None => return Ok(()),
            },
        };
        let readers = std::mem::take(&mut self.open_mut(id).readers);
        self.abstractions[id.index()] = AbstractionState::Closed(stable);
        let task = self.task.clone();
        for (reader, node) in readers {
            if let Some(exploration) = &mut self.open_mut(reader).exploration {
                exploration.reopen(&task, node, Open::Rest)?;
            }
        }
        Ok(())
    }

    /// What an earlier run knows; without anything the abstraction is started, or what it depends on.
    fn look_up(&mut self, id: OpenId, budget: &Budget) -> Result<Option<SummaryId>, Unknown> {
        let found = self.store.look_up(&self.open(id).key);
        if let Err(ended) = budget.spend(self.store.debt()) {
            self.put_back(id);
            return Err(ended);
        }
        match found {
            LookupResult::Found(stable) => {
                self.count_found();
                return Ok(Some(stable));
            }
            LookupResult::Needs(key) if self.ask_first(&key, id) => {}
            LookupResult::Needs(_) | LookupResult::Missing => self.start(id),
        }
        Ok(None)
    }

    /// An abstraction that was begun need not be computed.
    fn count_found(&self) {
        self.progress.count(|statistics| {
            statistics.recalled += 1;
            statistics.blocks -= 1;
        });
    }

    /// Has an abstraction computed that `then` is a consequence of. False if it is being computed: then the question was wrong.
    fn ask_first(&mut self, key: &KeyOf<A>, then: OpenId) -> bool {
        let Some(&top) = self.stack.last() else { return false };
        if self.components.iter().any(|component| component.index.contains_key(key)) {
            return false;
        }
        let creator = self.open(then).creator.unwrap_or(Creator {
            open: top,
            node: Arg::<A::State, A::Precision>::ROOT,
            call: None,
            time: self.progress.now(),
        });
        if then != top {
            self.put_back(then);
        }
        let asked = |id: &OpenId| matches!(&self.abstractions[id.index()], AbstractionState::Open(open) if open.key == *key);
        let first = match self.open(top).pending.iter().position(asked) {
            Some(at) => self.open_mut(top).pending.remove(at),
            None => match self.create(key.clone(), Some(creator), true) {
                Ok(id) => id,
                Err(_) => return false,
            },
        };
        self.put_back(first);
        true
    }

    /// The abstraction of the whole program, from an earlier run. True if something must be computed first.
    pub(crate) fn look_up_root(&mut self, budget: &Budget) -> Result<bool, Unknown> {
        let found = self.store.look_up(&self.open(ROOT).key);
        self.root_cache = match found {
            LookupResult::Needs(key) if self.ask_first(&key, ROOT) => RootCache::ToLookUp,
            LookupResult::Needs(_) | LookupResult::Missing => RootCache::ToStore,
            LookupResult::Found(stable) => {
                self.count_found();
                let exploration = self.store.get(stable).member(0).1.copy();
                self.open_mut(ROOT).exploration = Some(exploration);
                RootCache::Settled
            }
        };
        budget.spend(self.store.debt())?;
        Ok(self.root_cache == RootCache::ToLookUp)
    }
}
