//! The interface of stores of stable block abstractions: whom a run asks, and where it puts its own. Knows no store.

use std::{rc::Rc, sync::Arc};

use crate::{
    Budget, Unknown,
    bam::{KeyOf, Stable, SummaryId},
    cpa::BlockCpa,
};

/// Who answers for blocks. A store is transparent: it may change how fast an answer comes, never which. For the drivers guarantee that what
/// they put under a key is a function of the program and the key alone: a recursive component is computed from its entry with nothing else
/// open, and nothing but that entry's abstraction is put.
pub trait SummaryStore<A: BlockCpa> {
    /// The abstraction for a key, with all that it rests on: known, or computed by the store. `None`: whoever asks has to compute it, for
    /// instance because a target is reached in it, and the path to that is wanted.
    ///
    /// # Errors
    /// If the budget does not reach for what computing it takes, or took.
    fn find(&self, key: &KeyOf<A>, _budget: &Budget) -> Result<Option<SummaryId>, Unknown> {
        Ok(self.known(key))
    }
    /// An abstraction that was found or put in this run, or that one of those rests on.
    fn known(&self, key: &KeyOf<A>) -> Option<SummaryId>;
    /// An abstraction that `find`, `known` or `put` named. Ids stay valid as long as the store.
    fn get(&self, id: SummaryId) -> Arc<Stable<A>>;
    /// Keeps an abstraction.
    fn put(&self, stable: Stable<A>) -> SummaryId;
    /// Whether nobody but one run reads it. What is put then need not be a function of its key alone.
    fn is_private(&self) -> bool {
        false
    }
}

/// A store that other code reads, too.
impl<A: BlockCpa, S: SummaryStore<A>> SummaryStore<A> for Rc<S> {
    fn find(&self, key: &KeyOf<A>, budget: &Budget) -> Result<Option<SummaryId>, Unknown> {
        S::find(self, key, budget)
    }
    fn known(&self, key: &KeyOf<A>) -> Option<SummaryId> {
        S::known(self, key)
    }
    fn get(&self, id: SummaryId) -> Arc<Stable<A>> {
        S::get(self, id)
    }
    fn put(&self, stable: Stable<A>) -> SummaryId {
        S::put(self, stable)
    }
    fn is_private(&self) -> bool {
        S::is_private(self)
    }
}
