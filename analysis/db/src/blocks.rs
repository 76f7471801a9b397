//! Queries of blocks: what a function does from one entry state. A block depends on what its function may see of the program, and on the
//! answers of the blocks that it uses; where an answer is what it was, those who used it are not computed again. Knows no analysis.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use parking_lot::Mutex;
use proofline_cfa::CheckId;
use proofline_hir::ContentHash;
use proofline_verifier::{
    Name, Unknown,
    blocks::{BlockKey, BlockQueries, BlockRun, BlockSummary, OpenBlocks},
};
use salsa::Cancelled;

use crate::{
    front::Project,
    linked::Symbol,
    program::ready_past,
    shared::Db,
    shelf::{Content, Named},
};

/// The slice of an entry, where executions go on behind the failure of these checks.
#[salsa::interned]
pub(crate) struct Slice<'db> {
    #[returns(copy)]
    pub(crate) entry: Symbol<'db>,
    pub(crate) passed_over: BTreeSet<CheckId>,
}

/// A question about a block of a slice. Those that were not asked for many edits make room for others.
#[salsa::interned(revisions = 500)]
struct Asked<'db> {
    #[returns(copy)]
    slice: Slice<'db>,
    key: BlockKey,
}

/// All that a function's blocks may see of the program, their entries and other blocks apart.
#[salsa::tracked(returns(copy))]
fn view<'db>(
    db: &'db dyn Db,
    project: Project,
    slice: Slice<'db>,
    function: Symbol<'db>,
) -> Option<ContentHash> {
    let ready = ready_past(db, project, slice.entry(db), slice.passed_over(db));
    ready.environment.component_footprint(function.name(db))
}

/// What a block says to those who use it, and where its graph is.
#[derive(Clone, Copy, Debug)]
struct Answer {
    answer: ContentHash,
    name: u64,
}

/// Whoever uses a block sees no more of it.
impl PartialEq for Answer {
    fn eq(&self, other: &Answer) -> bool {
        self.answer == other.answer
    }
}

/// Unwinds through the queries where the run that asks ends: nothing is remembered.
struct RunEnded(Unknown);

/// What a block says. `None`: a run stops inside of it.
#[salsa::tracked(returns(copy))]
fn block<'db>(db: &'db dyn Db, project: Project, asked: Asked<'db>) -> Option<Answer> {
    let (name, found) = known_or_computed(db, project, asked)?;
    Some(Answer { answer: found.answer(), name })
}

/// A block that holds as it was kept, or is computed.
fn known_or_computed<'db>(db: &'db dyn Db, project: Project, asked: Asked<'db>) -> Option<Named> {
    let (slice, key, run) = (asked.slice(db), asked.key(db), db.run());
    let view = view(db, project, slice, Symbol::new(db, key.function()))?;
    let content: Content = (view, key.clone());
    let answers = |(key, answer): &(BlockKey, ContentHash)| {
        block(db, project, Asked::new(db, slice, key.clone())).is_some_and(|now| now.answer == *answer)
    };
    let holds = |(_, summary): &Named| summary.asked().iter().all(answers);
    if let Some(known) = db.shared().memory.shelf.versions(&content, run).into_iter().find(holds) {
        return Some(known);
    }
    let ask = |key: &BlockKey| abstraction(db, project, slice, key);
    let computed = db.run().compute(key, &ask);
    let summary = computed.unwrap_or_else(|ended| resume_unwind(Box::new(RunEnded(ended))))?;
    Some((db.shared().memory.shelf.keep(content, summary.clone(), false), summary))
}

/// A block's abstraction.
fn abstraction<'db>(
    db: &'db dyn Db,
    project: Project,
    slice: Slice<'db>,
    key: &BlockKey,
) -> Option<Arc<BlockSummary>> {
    let asked = Asked::new(db, slice, key.clone());
    let answer = block(db, project, asked)?;
    let summary = match db.shared().memory.shelf.get(answer.name) {
        Some(summary) => summary,
        None => known_or_computed(db, project, asked)?.1,
    };
    if db.shared().summaries.is_audited()
        && let Some(fault) = db.run().audit(key, &summary, &|key| abstraction(db, project, slice, key))
    {
        db.shared().summaries.add_mistake(format!("{key:?}: {fault}"));
    }
    Some(summary)
}

/// The blocks of a slice, for runs on any thread.
pub(crate) struct SliceBlocks {
    db: Mutex<Box<dyn Db + Send>>,
    slice: SliceName,
}

impl SliceBlocks {
    pub(crate) fn new(db: &dyn Db, slice: SliceName) -> Arc<SliceBlocks> {
        Arc::new(SliceBlocks { db: Mutex::new(db.handle(None)), slice })
    }
}

/// A slice, whatever the state of the database.
type SliceName = (Project, Name, BTreeSet<CheckId>);

impl BlockQueries for SliceBlocks {
    fn open(&self, run: Arc<dyn BlockRun>) -> Box<dyn OpenBlocks> {
        // A handle of its own: a judgement depends on its whole slice, and would gain nothing by depending on the slice's blocks as well.
        Box::new(RunBlocks { db: self.db.lock().handle(Some(run)), slice: self.slice.clone() })
    }
}

struct RunBlocks {
    db: Box<dyn Db + Send>,
    slice: SliceName,
}

impl OpenBlocks for RunBlocks {
    fn ask(&self, key: &BlockKey) -> Result<Option<Arc<BlockSummary>>, Unknown> {
        let db: &dyn Db = &*self.db;
        let ask = || {
            let (project, entry, passed_over) = &self.slice;
            let slice = Slice::new(db, Symbol::new(db, *entry), passed_over.clone());
            abstraction(db, *project, slice, key)
        };
        loop {
            let asked = catch_unwind(AssertUnwindSafe(|| salsa::attach_allow_change(db, ask)));
            let payload = match asked {
                Ok(found) => return Ok(found),
                Err(payload) => payload,
            };
            match payload.downcast::<RunEnded>() {
                Ok(ended) => return Err(ended.0),
                Err(payload) => match payload.downcast::<Cancelled>() {
                    // Another run was computing it, and has ended: this one does it itself.
                    Ok(cancelled) if matches!(*cancelled, Cancelled::PropagatedPanic) => {
                        self.db.unwind_if_revision_cancelled();
                    }
                    Ok(cancelled) => resume_unwind(cancelled),
                    Err(payload) => resume_unwind(payload),
                },
            }
        }
    }
}
