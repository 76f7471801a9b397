//! What the query graphs of one process may share: answers on the disk, those of a team, and blocks in memory. All of it is found by content, so it does
//! not matter whose graph has found it out.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::{
    shelf::Shelf,
    store::Store,
    stored::Blocks,
    team::{Team, TeamPlace},
    work::Counts,
};

/// Nodes of the graphs of all blocks that are kept, unless somebody says otherwise: about 100 MB.
const MOST_NODES: usize = 1 << 16;

/// What is remembered beside the graphs of queries.
pub struct Memory {
    pub(crate) store: OnceLock<Store>,
    pub(crate) blocks: OnceLock<Arc<Blocks>>,
    pub(crate) team: OnceLock<Team>,
    pub(crate) shelf: Shelf,
    pub(crate) counts: Mutex<Counts>,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::of_nodes(MOST_NODES)
    }
}

impl Memory {
    /// Keeps so many nodes of the graphs of blocks; each takes one or two KB. What is not kept is computed again when it is asked for.
    pub fn of_nodes(most: usize) -> Memory {
        Memory {
            store: OnceLock::new(),
            blocks: OnceLock::new(),
            team: OnceLock::new(),
            shelf: Shelf::new(most),
            counts: Mutex::default(),
        }
    }

    /// Keeps answers on the disk, too, from now on; once.
    pub fn set_store(&self, store: Store) {
        let blocks = Arc::new(Blocks(store.blocks()));
        if self.store.set(store).is_ok() && self.blocks.set(blocks.clone()).is_ok() {
            self.shelf.set_disk(blocks);
        }
    }

    /// Shares answers with a team from now on; once.
    pub fn set_team(&self, place: Arc<dyn TeamPlace>) {
        drop(self.team.set(Team::new(place)));
    }

    /// Where verdicts came from so far.
    pub fn counts(&self) -> Counts {
        *self.counts.lock()
    }

    /// What other processes have written meanwhile is known, too.
    pub fn look_again(&self) {
        if let Some(store) = self.store.get() {
            store.look_again();
        }
    }

    /// Forgets blocks. Answers stay the same; they take longer.
    pub fn forget(&self) {
        self.shelf.forget_all();
    }

    /// Waits until what was written for the team is there, if that does not take long.
    pub fn finish(&self) {
        if let Some(team) = self.team.get() {
            team.finish();
        }
    }

    /// Writes new answers to the disk, and has them written to the team's place.
    pub fn save(&self) {
        if let Some(team) = self.team.get() {
            team.save();
        }
        if let Some(store) = self.store.get() {
            store.save();
        }
        if let Some(blocks) = self.blocks.get() {
            self.shelf.persist();
            blocks.0.save();
        }
    }
}
