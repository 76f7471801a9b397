//! One block from one entry state, by itself: what a query graph remembers. Knows no query graph.

use super::{
    Key, KeyOf, Stable, SummaryStore,
    fixpoint::Stopped,
    tabulation::{ROOT, Tabulation},
};
use crate::{
    Budget, Question, Unknown,
    analysis_task::AnalysisTask,
    cpa::{BlockCpa, BlockId, Reduced},
};

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

/// The key whose abstraction holds that of this one, too: where a function of a recursive component is entered with nothing known, the component is
/// explored once, from its first function. `None` if this is that key, or one like no other.
pub fn component_key<A: BlockCpa>(analysis: &A, question: &Question<'_>, key: &KeyOf<A>) -> Option<KeyOf<A>> {
    let BlockId::Function(name) = key.block else { return None };
    let graph = question.env.call_graph();
    let first = *graph.components()[graph.component_of(name)?].iter().min()?;
    if first == name {
        return None;
    }
    let task = AnalysisTask::new(question);
    let weakest = |id: &BlockId| -> Option<Reduced<A::State>> {
        let block = task.block(id).ok()?;
        analysis.weakest_entry(block.context(task.info(block.function).ok()?.function))
    };
    if weakest(&key.block)? != key.entry {
        return None;
    }
    let block = BlockId::Function(first);
    let entry = weakest(&block)?;
    Some(Key { block, entry, precision: key.precision.clone() })
}
