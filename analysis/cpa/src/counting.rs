//! An analysis that counts how often its operators are called: statistics by wrapping, not by counters inside them.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use proofline_cfa::Function;

use crate::{
    Budget, Path, Refine, Refinement, Unknown,
    cpa::{
        Adjusted, BlockContext, BlockCpa, CallContext, Cpa, Domain, EdgeContext, Facts, LocationContext,
        Merge, Reduced,
    },
};

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the operators' names")]
pub enum Operator {
    Leq,
    Join,
    Transfer,
    Enter,
    Leave,
    Merge,
    Stop,
    Adjust,
    Strengthen,
    Facts,
    Reduce,
    Expand,
    ReducePrecision,
    WidenEntry,
    Refine,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Operator; 15] = [
        Operator::Leq,
        Operator::Join,
        Operator::Transfer,
        Operator::Enter,
        Operator::Leave,
        Operator::Merge,
        Operator::Stop,
        Operator::Adjust,
        Operator::Strengthen,
        Operator::Facts,
        Operator::Reduce,
        Operator::Expand,
        Operator::ReducePrecision,
        Operator::WidenEntry,
        Operator::Refine,
    ];
}

/// Behaves as the analysis inside.
#[derive(Debug)]
pub struct Counting<A> {
    inner: A,
    counts: [AtomicU64; Operator::ALL.len()],
}

impl<A> Counting<A> {
    /// Counts from zero.
    pub fn new(inner: A) -> Counting<A> {
        Counting { inner, counts: Default::default() }
    }

    /// The analysis.
    pub fn inner(&self) -> &A {
        &self.inner
    }

    /// How often an operator was called.
    pub fn count(&self, operator: Operator) -> u64 {
        self.counts[operator as usize].load(Ordering::Relaxed)
    }

    fn on(&self, operator: Operator) -> &A {
        self.counts[operator as usize].fetch_add(1, Ordering::Relaxed);
        &self.inner
    }
}

impl<A> fmt::Display for Counting<A> {
    /// One line per operator that was called.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for operator in Operator::ALL {
            let count = self.count(operator);
            if count > 0 {
                writeln!(f, "{:>18}: {count}", format!("{operator:?}"))?;
            }
        }
        Ok(())
    }
}

impl<A: Domain> Domain for Counting<A> {
    type State = A::State;
    fn leq(&self, lower: &A::State, upper: &A::State) -> bool {
        self.on(Operator::Leq).leq(lower, upper)
    }
    fn join(&self, a: &A::State, b: &A::State) -> A::State {
        self.on(Operator::Join).join(a, b)
    }
    fn exact_join(&self, a: &A::State, b: &A::State) -> Option<A::State> {
        self.on(Operator::Join).exact_join(a, b)
    }
    fn explain_not_leq(&self, lower: &A::State, upper: &A::State) -> String {
        self.inner.explain_not_leq(lower, upper)
    }
    fn show(&self, state: &A::State) -> String {
        self.inner.show(state)
    }
}

impl<A: Cpa> Cpa for Counting<A> {
    type Precision = A::Precision;
    fn name(&self) -> &'static str {
        self.inner.name()
    }
    fn entry(&self) -> (A::State, A::Precision) {
        self.inner.entry()
    }
    fn transfer(
        &self,
        from: &A::State,
        precision: &A::Precision,
        at: EdgeContext<'_>,
        facts: &dyn Facts,
    ) -> Vec<A::State> {
        self.on(Operator::Transfer).transfer(from, precision, at, facts)
    }
    fn enter(&self, from: &A::State, precision: &A::Precision, call: CallContext<'_>) -> Vec<A::State> {
        self.on(Operator::Enter).enter(from, precision, call)
    }
    fn leave(
        &self,
        at_call: &A::State,
        exit: &A::State,
        precision: &A::Precision,
        call: CallContext<'_>,
    ) -> Vec<A::State> {
        self.on(Operator::Leave).leave(at_call, exit, precision, call)
    }
    fn merge(&self, new: &A::State, reached: &A::State, precision: &A::Precision) -> Merge<A::State> {
        self.on(Operator::Merge).merge(new, reached, precision)
    }
    fn stop(&self, new: &A::State, reached: &[&A::State], precision: &A::Precision) -> Option<usize> {
        self.on(Operator::Stop).stop(new, reached, precision)
    }
    fn stop_together(&self, new: &A::State, reached: &[&A::State], precision: &A::Precision) -> Vec<usize> {
        self.on(Operator::Stop).stop_together(new, reached, precision)
    }
    fn partition(&self, state: &A::State) -> u64 {
        self.inner.partition(state)
    }
    fn same_precision_at(&self, a: &A::Precision, b: &A::Precision, at: LocationContext<'_>) -> bool {
        self.inner.same_precision_at(a, b, at)
    }
    fn adjust(
        &self,
        state: A::State,
        precision: A::Precision,
        here: &[&A::State],
        at: LocationContext<'_>,
    ) -> Adjusted<A::State, A::Precision> {
        self.on(Operator::Adjust).adjust(state, precision, here, at)
    }
    fn strengthen(&self, state: &A::State, others: &dyn Facts, at: EdgeContext<'_>) -> Option<A::State> {
        self.on(Operator::Strengthen).strengthen(state, others, at)
    }
    fn facts<'a>(&'a self, state: &'a A::State, function: &'a Function) -> Box<dyn Facts + 'a> {
        self.on(Operator::Facts).facts(state, function)
    }
    fn join_precision(&self, a: &A::Precision, b: &A::Precision) -> A::Precision {
        self.inner.join_precision(a, b)
    }
}

impl<A: BlockCpa> BlockCpa for Counting<A> {
    fn reduce(&self, entry: &A::State, block: BlockContext<'_>) -> Reduced<A::State> {
        self.on(Operator::Reduce).reduce(entry, block)
    }
    fn expand(
        &self,
        before: &A::State,
        block: BlockContext<'_>,
        exit: &Reduced<A::State>,
    ) -> Option<A::State> {
        self.on(Operator::Expand).expand(before, block, exit)
    }
    fn reduce_precision(&self, precision: &A::Precision, block: BlockContext<'_>) -> Reduced<A::Precision> {
        self.on(Operator::ReducePrecision).reduce_precision(precision, block)
    }
    fn widen_entry(
        &self,
        open: &Reduced<A::State>,
        new: &Reduced<A::State>,
        unrollings: u32,
    ) -> Reduced<A::State> {
        self.on(Operator::WidenEntry).widen_entry(open, new, unrollings)
    }
}

impl<A: Refine> Refine for Counting<A> {
    type Witness = A::Witness;
    fn refine(
        &self,
        path: &Path,
        precision: &A::Precision,
        budget: &Budget,
    ) -> Result<Refinement<A::Precision, A::Witness>, Unknown> {
        self.on(Operator::Refine).refine(path, precision, budget)
    }
}
