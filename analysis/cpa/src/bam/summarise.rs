//! One block from one entry state, by itself: what a query graph remembers. Knows no query graph.

use super::{
    KeyOf, Stable, SummaryStore,
    fixpoint::Stopped,
    tabulation::{ROOT, Tabulation},
};
use crate::{Budget, Question, Unknown, analysis_task::AnalysisTask, cpa::BlockCpa};

/// Computes the abstraction for a key, with its recursive component; the store answers for every other block. `None` if it has none: a target
/// is reached in it, the analysis asked to stop, or the store has no answer. Its cost is what it took of the budget, less `elsewhere`: what
/// the store spent of it.
///
/// # Errors
/// If the budget ends first, or the block cannot be explored.
pub fn summarise<A: BlockCpa, S: SummaryStore<A>>(
    analysis: &A,
    question: &Question<'_>,
    key: KeyOf<A>,
    store: S,
    budget: &Budget,
    elsewhere: &dyn Fn() -> u64,
) -> Result<Option<Stable<A>>, Unknown> {
    let before = budget.left();
    let task = AnalysisTask::new(question);
    let mut tabulation = Tabulation::new(analysis, task, store, question.config, key, true)?;
    match tabulation.run(budget)? {
        Stopped::Target(..) | Stopped::Interrupted => return Ok(None),
        Stopped::Finished => {}
    }
    debug_assert!(tabulation.components.last().is_some_and(|component| component.first == ROOT));
    let cost = (before - budget.left()).saturating_sub(elsewhere());
    Ok(tabulation.close().map(|(_, stable)| stable.costing(cost)))
}
