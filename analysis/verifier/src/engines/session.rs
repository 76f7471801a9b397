//! A solver session that ends with its budget: a cancellation stops it also while the solver works, a deadline between questions
//! (each question has what is left of the time as its own limit).

use std::time::Instant;

use proofline_cpa::{Budget, OnCancel, Unknown};
use proofline_encoding::Encoding;
use proofline_smt::{Interrupter, Limits, Recorder, Solver, Z3, second_eye};

/// How long a solver may work for each step that a question has left. (Its units are short: this is the time of some steps.)
const UNITS_OF_A_STEP: u64 = 200;

/// A session and what stops it. Keep it as long as the solver is used.
pub(crate) struct Session {
    /// The solver.
    pub(crate) z3: Z3,
    _stop: OnCancel,
}

impl Session {
    /// A session of its own, so that its answers are a function of what it is asked.
    pub(crate) fn new(budget: &Budget) -> Result<Session, Unknown> {
        let (cancel, asked) = (budget.cancel(), budget.cancel().clone());
        let deadline = budget.deadline();
        let interrupter = Interrupter::with_poll(move || {
            asked.is_cancelled() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
        });
        let z3 = Z3::with_interrupter(interrupter.clone())
            .map_err(|error| Unknown::InternalError(error.to_string()))?;
        Ok(Session { z3, _stop: cancel.on_cancel(move || interrupter.interrupt()) })
    }

    /// A solver for formulas of an encoding.
    pub(crate) fn solver(&self, encoding: Encoding) -> Box<dyn Solver> {
        match encoding {
            Encoding::Integers => seen(self.z3.solver()),
            Encoding::BitVectors => seen(self.z3.patient_solver()),
        }
    }

    /// Why a session of this budget was interrupted.
    pub(crate) fn interrupted(budget: &Budget) -> Unknown {
        if budget.cancel().is_cancelled() { Unknown::Cancelled } else { Unknown::OutOfBudget }
    }

    /// Limits of a question: so many units of the solver, but no more than the steps that are left are worth.
    pub(crate) fn limits(resource: u32, budget: &Budget) -> Limits {
        Limits { resource: Some(resource.min(Session::units(budget))), millis: Session::millis_left(budget) }
    }

    /// How many of the solver's units the steps that are left are worth.
    pub(crate) fn units(budget: &Budget) -> u32 {
        u32::try_from(budget.left().saturating_mul(UNITS_OF_A_STEP)).unwrap_or(u32::MAX)
    }

    /// Milliseconds until the caller's deadline: limits of a question that shall not outlive it.
    pub(crate) fn millis_left(budget: &Budget) -> Option<u32> {
        budget.deadline().map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            u32::try_from(left.as_millis()).unwrap_or(u32::MAX).max(1)
        })
    }
}

/// A solver whose questions another one is shown, where somebody wants that.
fn seen<S: Solver + 'static>(solver: S) -> Box<dyn Solver> {
    if second_eye::is_kept() { Box::new(Recorder::new(solver)) } else { Box::new(solver) }
}
