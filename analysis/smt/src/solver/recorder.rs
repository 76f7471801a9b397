//! A solver that writes down what it is asked, as SMT-LIB 2 that any solver can replay: for bug reports.

use std::path::PathBuf;

use super::{Limits, Outcome, Solver};
use crate::smtlib::Script;
use crate::term::{Term, Value};

/// Wraps a solver. Every check is kept as a self-contained script; with a directory, each is also written to a file.
#[derive(Debug)]
pub struct Recorder<S> {
    inner: S,
    stack: Vec<Vec<Term>>,
    last: String,
    checks: usize,
    directory: Option<PathBuf>,
}

impl<S: Solver> Recorder<S> {
    /// Keeps the script of the last check.
    pub fn new(inner: S) -> Recorder<S> {
        Recorder { inner, stack: vec![Vec::new()], last: String::new(), checks: 0, directory: None }
    }

    /// Also writes every check to `directory` as `000001.smt2`, `000002.smt2`, … Files that cannot be written are
    /// left out: recording must not change what is decided.
    pub fn to_directory(inner: S, directory: PathBuf) -> Recorder<S> {
        Recorder { directory: Some(directory), ..Recorder::new(inner) }
    }

    /// The script of the last check, with its outcome.
    #[must_use]
    pub fn last_query(&self) -> &str {
        &self.last
    }

    /// How many checks there were.
    #[must_use]
    pub fn checks(&self) -> usize {
        self.checks
    }

    /// The solver that was wrapped, with its stack.
    pub fn into_inner(self) -> S {
        self.inner
    }

    fn script(&self, assumptions: &[Term]) -> Script {
        let mut script = Script::new();
        script.line("(set-logic ALL)");
        for formula in self.stack.iter().flatten().chain(assumptions) {
            script.assert(*formula);
        }
        script
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
        let mut script = self.script(assumptions);
        let outcome = self.inner.check_assuming(assumptions);
        let status = match &outcome {
            Outcome::Sat => "sat".to_owned(),
            Outcome::Unsat => "unsat".to_owned(),
            Outcome::Unknown(reason) => format!("unknown ({reason})"),
        };
        script.line("(check-sat)");
        script.line(&format!("; {status}"));
        self.checks += 1;
        script.text().clone_into(&mut self.last);
        if let Some(directory) = &self.directory {
            let _ = std::fs::create_dir_all(directory);
            let _ = std::fs::write(directory.join(format!("{:06}.smt2", self.checks)), &self.last);
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
