//! A solver for questions of which some are hard: the incremental one answers first, with few resources; what it does not
//! decide goes, with everything on the stack, to a solver of its own that tries Z3's tactics (propagation of values, bit-blasting to a
//! SAT solver). Made for bit vectors and floats.

use super::door::{Z3, Z3Solver};
use crate::build;
use crate::solver::{Limits, Outcome, Reason, Solver};
use crate::term::{Term, Value};

/// Units that the first attempt has at least.
const LEAST: u32 = 200_000;

/// Asks twice before it gives up.
#[derive(Debug)]
pub struct PatientSolver {
    z3: Z3,
    quick: Z3Solver,
    /// What was asserted, by scope.
    stack: Vec<Vec<Term>>,
    limits: Limits,
    /// The solver that gave the last answer, if it was not the quick one, and how many assumptions it was asked with.
    thorough: Option<(Z3Solver, usize)>,
}

impl Z3 {
    /// A new solver that asks hard questions twice.
    #[must_use]
    pub fn patient_solver(&self) -> PatientSolver {
        PatientSolver {
            z3: self.clone(),
            quick: self.solver(),
            stack: vec![Vec::new()],
            limits: Limits::NONE,
            thorough: None,
        }
    }
}

impl PatientSolver {
    fn remember(&mut self, formula: Term) {
        self.thorough = None;
        if let Some(scope) = self.stack.last_mut() {
            scope.push(formula);
        }
    }
}

impl Solver for PatientSolver {
    fn push(&mut self) {
        self.thorough = None;
        self.quick.push();
        self.stack.push(Vec::new());
    }

    fn pop(&mut self) {
        self.thorough = None;
        self.quick.pop();
        self.stack.pop();
    }

    fn assert(&mut self, formula: Term) {
        self.quick.assert(formula);
        self.remember(formula);
    }

    fn name(&mut self, formula: Term) -> Term {
        let literal = self.quick.name(formula);
        self.remember(build::implies(literal, formula));
        literal
    }

    fn check_assuming(&mut self, assumptions: &[Term]) -> Outcome {
        self.thorough = None;
        let outcome = self.quick.check_assuming(assumptions);
        let Outcome::Unknown(Reason::Limit | Reason::Incomplete(_)) = outcome else { return outcome };
        let mut thorough = self.z3.one_shot_solver();
        thorough.set_limits(self.limits);
        for formula in self.stack.iter().flatten().chain(assumptions) {
            thorough.assert(*formula);
        }
        let outcome = thorough.check();
        self.thorough = Some((thorough, assumptions.len()));
        outcome
    }

    fn values(&mut self, terms: &[Term]) -> Vec<Option<Value>> {
        match &mut self.thorough {
            Some((thorough, _)) => thorough.values(terms),
            None => self.quick.values(terms),
        }
    }

    /// All assumptions, where the second answer counted.
    fn core(&mut self) -> Vec<usize> {
        match &self.thorough {
            Some((_, count)) => (0..*count).collect(),
            None => self.quick.core(),
        }
    }

    fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        let resource = limits.resource.map(|units| (units / 64).max(LEAST).min(units));
        self.quick.set_limits(Limits { resource, ..limits });
    }
}
