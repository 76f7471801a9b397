//! The solver of an analysis, and what was asked of it before. Analyses are shared between threads, solver sessions are not: each
//! thread that works on an analysis has a session for it. Knows formulas only.

use std::{
    cell::RefCell,
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use parking_lot::{Mutex, MutexGuard};
use proofline_cpa::Cancel;
use proofline_smt::{
    Interrupter, Limits, Outcome, Reason, Solver, Term, Z3,
    abstraction::{AllSat, Cartesian, Cube, all_sat, cartesian},
    build as t, second_eye,
};

thread_local! {
    /// The session of the analysis that worked on this thread last.
    static CURRENT: RefCell<Option<(u64, Z3)>> = const { RefCell::new(None) };
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// How abstractions are computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum AbstractionKind {
    /// The strongest Boolean combination.
    Boolean,
    /// The strongest conjunction of literals.
    Cartesian,
}

/// More cubes than this, and the conjunction of literals is taken instead.
const CUBES: usize = 96;

/// The solver as an analysis uses it.
#[derive(Debug)]
pub(super) struct CachedSolver {
    id: u64,
    cancel: Cancel,
    deadline: Option<Instant>,
    resource: u32,
    memo: Mutex<Memo>,
}

#[derive(Debug, Default)]
struct Memo {
    satisfiable: HashMap<Term, bool>,
    abstractions: HashMap<(Term, Vec<Term>, AbstractionKind), Option<Vec<Cube>>>,
}

/// Answers kept; beyond this they are forgotten.
const REMEMBERED: usize = 200_000;

impl CachedSolver {
    pub(super) fn new(resource: u32, cancel: Cancel, deadline: Option<Instant>) -> CachedSolver {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        CachedSolver { id, cancel, deadline, resource, memo: Mutex::default() }
    }

    /// Limits of one question: the solver's own units, so that the answer is the same everywhere; and the caller's deadline.
    pub(super) fn limits(&self) -> Limits {
        let millis = self.deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            u32::try_from(left.as_millis()).unwrap_or(u32::MAX).max(1)
        });
        Limits { resource: Some(self.resource), millis }
    }

    /// Whether there is no time left.
    pub(super) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Works with this thread's session. `None`: the solver cannot be used.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Z3) -> T) -> Option<T> {
        let mut z3 = CURRENT.with_borrow(|current| match current {
            Some((id, z3)) if *id == self.id => Some(z3.clone()),
            _ => None,
        });
        if z3.is_none() {
            let (cancel, deadline) = (self.cancel.clone(), self.deadline);
            let over = move || cancel.is_cancelled() || deadline.is_some_and(|end| Instant::now() >= end);
            let new = Z3::with_interrupter(Interrupter::with_poll(over)).ok()?;
            CURRENT.with_borrow_mut(|current| *current = Some((self.id, new.clone())));
            z3 = Some(new);
        }
        let z3 = z3?;
        let interrupter = z3.interrupter().clone();
        let _stop = self.cancel.on_cancel(move || interrupter.interrupt());
        Some(work(&z3))
    }

    fn memo(&self) -> MutexGuard<'_, Memo> {
        let mut memo = self.memo.lock();
        if memo.satisfiable.len() + memo.abstractions.len() > REMEMBERED {
            *memo = Memo::default();
        }
        memo
    }

    /// Whether the formula has a model; "not decided" is an error that says why.
    pub(super) fn satisfiable(&self, formula: Term) -> Result<bool, Reason> {
        let answer = self.has_model(formula);
        if second_eye::is_kept() && answer == Ok(false) {
            second_eye::rests_on(formula);
        }
        answer
    }

    fn has_model(&self, formula: Term) -> Result<bool, Reason> {
        if let Some(known) = formula.as_bool() {
            return Ok(known);
        }
        if let Some(known) = self.memo().satisfiable.get(&formula) {
            return Ok(*known);
        }
        if self.is_over() {
            return Err(Reason::Interrupted);
        }
        let outcome = self.with(|z3| z3.check(formula, self.limits()));
        let answer = match outcome {
            Some(Outcome::Sat) => true,
            Some(Outcome::Unsat) => false,
            Some(Outcome::Unknown(reason)) => return Err(reason),
            None => return Err(Reason::Failed("there is no solver".into())),
        };
        self.memo().satisfiable.insert(formula, answer);
        Ok(answer)
    }

    /// Whether `lower` implies `upper`; what is not decided does not count as implied.
    pub(super) fn implies(&self, lower: Term, upper: Term) -> bool {
        lower == upper || matches!(self.satisfiable(t::and([lower, t::not(upper)])), Ok(false))
    }

    /// What the formula says of the predicates, as cubes; `None`: it has no model. What cannot be computed is the empty cube: anything.
    pub(super) fn cubes(
        &self,
        formula: Term,
        predicates: &[Term],
        shape: AbstractionKind,
    ) -> Option<Vec<Cube>> {
        let cubes = self.cubes_of(formula, predicates, shape);
        if second_eye::is_kept() {
            let cube = |cube: &Cube| {
                let literals = predicates.iter().zip(cube).filter_map(|(predicate, sign)| {
                    sign.map(|is_true| if is_true { *predicate } else { t::not(*predicate) })
                });
                t::and(literals)
            };
            let all = t::or(cubes.iter().flatten().map(cube));
            second_eye::rests_on(t::and([formula, t::not(all)]));
        }
        cubes
    }

    fn cubes_of(&self, formula: Term, predicates: &[Term], shape: AbstractionKind) -> Option<Vec<Cube>> {
        let anything = || Some(vec![vec![None; predicates.len()]]);
        if formula.is_false() {
            return None;
        }
        if predicates.is_empty() {
            return match self.satisfiable(formula) {
                Ok(false) => None,
                Ok(true) | Err(_) => anything(),
            };
        }
        let question = (formula, predicates.to_vec(), shape);
        if let Some(known) = self.memo().abstractions.get(&question) {
            return known.clone();
        }
        if self.is_over() {
            return anything();
        }
        let answer = self.with(|z3| {
            let mut solver = z3.solver();
            solver.set_limits(self.limits());
            if shape == AbstractionKind::Boolean {
                match all_sat(&mut solver, formula, predicates, CUBES) {
                    AllSat::Infeasible => return Some(None),
                    AllSat::Cubes(cubes) => return Some(Some(cubes)),
                    AllSat::Unknown(_) => {}
                }
            }
            match cartesian(&mut solver, formula, predicates) {
                Cartesian::Infeasible => Some(None),
                Cartesian::Cube(cube) => Some(Some(vec![cube])),
                Cartesian::Unknown(_) => None,
            }
        });
        // An answer that the clock cut short is not remembered.
        let Some(Some(answer)) = answer else { return anything() };
        if !self.is_over() {
            self.memo().abstractions.insert(question, answer.clone());
        }
        answer
    }
}
