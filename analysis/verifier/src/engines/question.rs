//! What an engine is asked: can executions of a subject from an entry violate one of some obligations?

use std::collections::BTreeSet;

use proofline_cfa::{Entry, Expr, Function, Name, ObligationId, visit};
use proofline_cpa::Budget;
use proofline_program_analysis::Environment;

use super::shared::Shared;
use crate::subject::Subject;

/// The obligations of a question. Others block the executions that would violate them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Targets(BTreeSet<(Name, ObligationId)>);

impl Targets {
    /// These obligations.
    pub fn new(obligations: impl IntoIterator<Item = (Name, ObligationId)>) -> Targets {
        Targets(obligations.into_iter().collect())
    }
    /// Whether it is asked about.
    pub fn contains(&self, function: Name, obligation: ObligationId) -> bool {
        self.0.contains(&(function, obligation))
    }
    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = (Name, ObligationId)> {
        self.0.iter().copied()
    }
    /// Those that do not speak of the lives and sizes of objects.
    pub(crate) fn without_memory(&self, subject: &Subject) -> Targets {
        let env = subject.env();
        let speaks = |(name, id): &(Name, ObligationId)| {
            env.function(*name).is_some_and(|function| speaks_of_memory(env, function, *id))
        };
        Targets(self.0.iter().filter(|target| !speaks(target)).copied().collect())
    }
    /// None?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Asks no longer about this one.
    pub fn remove(&mut self, function: Name, obligation: ObligationId) {
        self.0.remove(&(function, obligation));
    }
    /// The set.
    pub fn set(&self) -> &BTreeSet<(Name, ObligationId)> {
        &self.0
    }
}

fn speaks_of_memory(env: &Environment, function: &Function, id: ObligationId) -> bool {
    let Some(obligation) = function.obligations.get(id.index()) else { return false };
    env.structure(function.name).failures(obligation).iter().any(|edge| {
        let mut found = false;
        visit::exprs(&function.edge(*edge).op, &mut |expr| found |= matches!(expr, Expr::Memory(..)));
        found
    })
}

/// A question to an engine.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    /// The program.
    pub subject: &'q Subject,
    /// Where executions start.
    pub entry: Entry,
    /// What they must not violate.
    pub targets: &'q Targets,
    /// One violation answers it.
    pub first_only: bool,
    /// What the answer may cost.
    pub budget: &'q Budget,
    /// What engines that were asked before have left for the next ones.
    pub shared: &'q Shared,
}

impl Question<'_> {
    /// A budget of its own for a part of the work: so many steps, the same ends otherwise. It is not taken from the question's.
    pub(crate) fn own_budget(&self, steps: u64) -> Budget {
        Budget::steps(steps).with_cancel(self.budget.cancel().clone()).with_deadline(self.budget.deadline())
    }
}
