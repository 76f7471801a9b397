//! The interface of stores of stable block abstractions: where a run looks them up and puts its own. Knows no store.

use std::{rc::Rc, sync::Arc};

use crate::{
    bam::{KeyOf, Stable, SummaryId},
    cpa::{BlockCpa, Cpa},
};

/// Where stable abstractions are kept. A store is transparent: it may change how fast an answer comes, never which. For the
/// drivers guarantee that what they put under a key is a function of the program and the key alone: a recursive component
/// is computed from its entry with nothing else open, and nothing but that entry's abstraction is put.
pub trait SummaryStore<A: BlockCpa> {
    /// The abstraction for a key: looked up, or computed by the implementation.
    fn find(&self, key: &KeyOf<A>) -> Option<SummaryId>;
    /// An abstraction that `find` or `put` named. Ids stay valid as long as the store.
    fn get(&self, id: SummaryId) -> Arc<Stable<A>>;
    /// Keeps an abstraction.
    fn put(&self, stable: Stable<A>) -> SummaryId;
    /// The abstraction for a key, from an earlier run. Asked where `find` knows nothing.
    fn look_up(&self, _key: &KeyOf<A>) -> LookupResult<A> {
        LookupResult::Missing
    }
    /// What computing what was found since the last call took of the budget.
    fn debt(&self) -> u64 {
        0
    }
}

/// A store that other code reads, too.
impl<A: BlockCpa, S: SummaryStore<A>> SummaryStore<A> for Rc<S> {
    fn find(&self, key: &KeyOf<A>) -> Option<SummaryId> {
        S::find(self, key)
    }
    fn get(&self, id: SummaryId) -> Arc<Stable<A>> {
        S::get(self, id)
    }
    fn put(&self, stable: Stable<A>) -> SummaryId {
        S::put(self, stable)
    }
    fn look_up(&self, key: &KeyOf<A>) -> LookupResult<A> {
        S::look_up(self, key)
    }
    fn debt(&self) -> u64 {
        S::debt(self)
    }
}

/// What a lookup finds of earlier runs.
pub enum LookupResult<A: Cpa> {
    /// Nothing is known.
    Missing,
    /// Something is known, if the abstraction for this key, which is needed in any case, says the same as it did then.
    Needs(KeyOf<A>),
    /// The abstraction.
    Found(SummaryId),
}
