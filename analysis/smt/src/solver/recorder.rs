//! A solver that remembers what is on its stack, so that each question without a model can be shown to another solver as one formula.

use super::{Limits, Outcome, Solver};
use crate::{
    second_eye,
    term::{Term, Value},
};

/// Wraps a solver. Every question that it answers with "unsatisfiable" is one that a proof may rest on ([`second_eye::rests_on`]).
#[derive(Debug)]
pub struct Recorder<S> {
    inner: S,
    stack: Vec<Vec<Term>>,
}

impl<S: Solver> Recorder<S> {
    /// Nothing was asserted yet.
    pub fn new(inner: S) -> Recorder<S> {
        Recorder { inner, stack: vec![Vec::new()] }
    }

    /// What is asked with these assumptions.
    #[must_use]
    pub fn question(&self, assumptions: &[Term]) -> Term {
        crate::build::and(self.stack.iter().flatten().chain(assumptions).copied())
    }
}

impl<S: Solver> Solver for Recorder<S> {
    fn push(&mut self) {
        self.stack.push(Vec::new());
        self.inner.push();
    }

    fn pop(&mut self) {
        self.stack.pop();
        self.inner.pop();
    }

    fn assert(&mut self, formula: Term) {
        if let Some(scope) = self.stack.last_mut() {
            scope.push(formula);
        }
        self.inner.assert(formula);
    }

    fn name(&mut self, formula: Term) -> Term {
        let literal = self.inner.name(formula);
        if let Some(scope) = self.stack.last_mut() {
            scope.push(crate::build::implies(literal, formula));
        }
        literal
    }

    fn check_assuming(&mut self, assumptions: &[Term]) -> Outcome {
        let outcome = self.inner.check_assuming(assumptions);
        if outcome == Outcome::Unsat && second_eye::is_kept() {
            second_eye::rests_on(self.question(assumptions));
        }
        outcome
    }

    fn values(&mut self, terms: &[Term]) -> Vec<Option<Value>> {
        self.inner.values(terms)
    }

    fn core(&mut self) -> Vec<usize> {
        self.inner.core()
    }

    fn set_limits(&mut self, limits: Limits) {
        self.inner.set_limits(limits);
    }
}
