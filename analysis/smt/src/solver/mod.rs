//! What a solver is: a stack of formulas that can be decided. Everything above this crate that asks satisfiability
//! questions asks this trait; Z3 is one implementation, [`Recorder`] a wrapper for a second pair of eyes.

mod recorder;

use std::collections::BTreeSet;

pub use recorder::Recorder;

use crate::term::{Assignment, Term, Value, Var};

/// What a check found about the formulas on the stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The formulas have a model.
    Sat,
    /// They have none.
    Unsat,
    /// Neither was shown, for this reason.
    Unknown(Reason),
}

/// Why something was not decided.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum Reason {
    /// The caller asked to stop. Never a property of the question: nothing may be remembered from it.
    #[error("interrupted")]
    Interrupted,
    /// A limit of [`Limits`], or of memory, was reached.
    #[error("a limit was reached")]
    Limit,
    /// The limit of memory was reached.
    #[error("out of memory")]
    Memory,
    /// The solver's process died, more than once, and with other settings, too.
    #[error("the solver stopped")]
    Stopped,
    /// The procedure does not decide such formulas.
    #[error("incomplete: {0}")]
    Incomplete(String),
    /// Z3 reported an error, or answered something we have no term for.
    #[error("{0}")]
    Failed(String),
}

impl Reason {
    /// From Z3's words. A procedure that runs into a limit may say "interrupted", too; whether the caller asked to stop, the
    /// interrupter knows (see `Z3::run`).
    pub(crate) fn of(text: &str) -> Reason {
        let has = |word: &str| text.contains(word);
        if ["out of memory", "bad_alloc"].into_iter().any(has) {
            Reason::Memory
        } else if ["resource limit", "timeout", "canceled", "interrupted"].into_iter().any(has) {
            Reason::Limit
        } else if has("incomplete") || has("unknown") {
            Reason::Incomplete(text.to_owned())
        } else {
            Reason::Failed(text.to_owned())
        }
    }
}

impl Reason {
    /// From what a procedure says when it answers "unknown": whatever the words, it did not fail.
    pub(crate) fn of_unknown(text: &str) -> Reason {
        match Reason::of(text) {
            Reason::Failed(text) => Reason::Incomplete(text),
            reason => reason,
        }
    }
}

/// How much work one call may do. `resource` is Z3's own count: the same on every machine and in every run (roughly
/// a million per second on an easy formula); `millis` is wall-clock time and makes answers depend on the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Most of the solver's own units; `None`: no limit.
    pub resource: Option<u32>,
    /// Most milliseconds of wall-clock time; `None`: no limit.
    pub millis: Option<u32>,
}

impl Limits {
    /// No limit: only for questions known to be easy.
    pub const NONE: Limits = Limits { resource: None, millis: None };

    /// At most this many of the solver's own units per call, and as much time as that takes.
    #[must_use]
    pub fn resource(units: u32) -> Limits {
        Limits { resource: Some(units), millis: None }
    }

    /// Milliseconds after which nobody waits for an answer any longer. Some of what a solver does its units hardly count (rewriting one large
    /// formula may take it minutes), so this follows from them, too: ten times as long as they mostly take.
    pub(crate) fn patience(self) -> Option<u32> {
        const LEAST: u32 = 10_000;
        const UNITS_PER_MILLI: u32 = 100;
        let of_units = self.resource.map(|units| LEAST.saturating_add(units / UNITS_PER_MILLI));
        self.millis.into_iter().chain(of_units).min()
    }
}

/// A stack of scopes with formulas, decided as one conjunction. Answers are those of the whole stack.
pub trait Solver {
    /// Opens a scope.
    fn push(&mut self);

    /// Closes the innermost scope and forgets what was asserted in it.
    ///
    /// # Panics
    /// If only the outermost scope is open.
    fn pop(&mut self);

    /// Adds a formula to the innermost scope.
    ///
    /// # Panics
    /// If the term is not of sort `Bool`.
    fn assert(&mut self, formula: Term);

    /// A literal that stands for `formula` in the innermost scope: assuming it is assuming the formula. For questions
    /// about many subsets of the same formulas.
    fn name(&mut self, formula: Term) -> Term;

    /// Decides the formulas on the stack.
    fn check(&mut self) -> Outcome {
        self.check_assuming(&[])
    }

    /// Decides the formulas on the stack together with `assumptions` (any formulas; literals are cheapest).
    fn check_assuming(&mut self, assumptions: &[Term]) -> Outcome;

    /// After `Sat`, until the stack changes: values of `terms` in one model. `None` for a term without a value we
    /// can write down.
    fn values(&mut self, terms: &[Term]) -> Vec<Option<Value>>;

    /// After `Sat`, until the stack changes: one model's values of `vars`; those we cannot write down are left out.
    fn assignment(&mut self, vars: &BTreeSet<Var>) -> Assignment {
        let terms: Vec<Term> = vars.iter().map(|v| crate::build::var(*v)).collect();
        let values = vars.iter().zip(self.values(&terms));
        Assignment {
            vars: values.filter_map(|(v, value)| Some((*v, value?))).collect(),
            ..Assignment::default()
        }
    }

    /// After `Unsat`, until the stack changes: which assumptions (by position) sufficed. Not minimal.
    fn core(&mut self) -> Vec<usize>;

    /// Sets the limits of every later check.
    fn set_limits(&mut self, limits: Limits);

    /// Whether `formula` follows from what is on the stack; `None` if not decided.
    ///
    /// # Errors
    /// If the solver stops without an answer.
    fn implies(&mut self, formula: Term) -> Result<bool, Reason> {
        match self.check_assuming(&[crate::build::not(formula)]) {
            Outcome::Sat => Ok(false),
            Outcome::Unsat => Ok(true),
            Outcome::Unknown(reason) => Err(reason),
        }
    }
}
