//! Sessions and solvers as everything above sees them: the same questions, wherever Z3 runs.

use std::rc::Rc;

use super::backend::LocalSolver;
use super::session::{Local, Settings};
use super::{Interrupter, LibraryMismatch, check_library};
use crate::solver::{Limits, Outcome, Reason, Solver};
use crate::term::{Term, Value, Var};
use crate::worker::{self, RemoteSolver};

/// A Z3 session: in a worker if this process employs workers ([`worker::employ`]), else in this process. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Z3(Place);

/// Where a session is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In this process.
    Here(Local),
    /// In a worker.
    Worker(Rc<worker::Session>),
}

/// An incremental solver of a session.
#[derive(Debug)]
pub struct Z3Solver(Kind);

#[derive(Debug)]
enum Kind {
    Here(Box<LocalSolver>),
    Worker(Box<RemoteSolver>),
}

impl Z3 {
    /// A session that cannot be interrupted.
    ///
    /// # Errors
    /// If the library is not one we may use (see [`check_library`]).
    pub fn new() -> Result<Z3, LibraryMismatch> {
        Z3::with_interrupter(Interrupter::new())
    }

    /// A session that `interrupter` stops.
    ///
    /// # Errors
    /// If the library is not one we may use (see [`check_library`]).
    pub fn with_interrupter(interrupter: Interrupter) -> Result<Z3, LibraryMismatch> {
        check_library()?;
        Ok(Z3(match worker::pool() {
            Some(pool) => Place::Worker(Rc::new(worker::Session::new(interrupter, pool))),
            None => Place::Here(Local::new(interrupter, Settings::Usual)?),
        }))
    }

    pub(crate) fn place(&self) -> &Place {
        &self.0
    }

    /// The handle that stops this session.
    #[must_use]
    pub fn interrupter(&self) -> &Interrupter {
        match &self.0 {
            Place::Here(local) => local.interrupter(),
            Place::Worker(session) => session.interrupter(),
        }
    }

    /// A new incremental solver of this session, without limits: for many small questions with `push` and `pop`.
    ///
    /// # Panics
    /// If Z3 cannot allocate.
    #[must_use]
    pub fn solver(&self) -> Z3Solver {
        Z3Solver(match &self.0 {
            Place::Here(local) => Kind::Here(Box::new(local.solver())),
            Place::Worker(session) => Kind::Worker(Box::new(RemoteSolver::new(session, false))),
        })
    }

    /// A solver for one large question without `push`: it tries Z3's tactics (bit-blasting to a SAT solver for
    /// bit-vector formulas) before the incremental core. Set limits.
    ///
    /// # Panics
    /// If Z3 cannot allocate.
    #[must_use]
    pub fn one_shot_solver(&self) -> Z3Solver {
        Z3Solver(match &self.0 {
            Place::Here(local) => Kind::Here(Box::new(local.one_shot_solver())),
            Place::Worker(session) => Kind::Worker(Box::new(RemoteSolver::new(session, true))),
        })
    }

    /// Satisfiability of one formula, with a solver of its own.
    #[must_use]
    pub fn check(&self, formula: Term, limits: Limits) -> Outcome {
        let mut solver = self.solver();
        solver.set_limits(limits);
        solver.assert(formula);
        solver.check()
    }

    /// `term` as it comes back from Z3: equal in meaning. For tests of the translation, in this process.
    ///
    /// # Errors
    /// If Z3 wrote it with an operator we have no term for.
    #[doc(hidden)]
    pub fn round_trip(&self, term: Term) -> Result<Term, Reason> {
        let Place::Here(local) = &self.0 else {
            return Err(Reason::Failed("the session is elsewhere".into()));
        };
        let there = local.write(term).and_then(|ast| local.read(&ast));
        there.map_err(|error| Reason::of(&error.0))
    }
}

impl Z3Solver {
    /// After `Sat`: what Z3's model-based projection of `formula` without `gone` gives.
    pub(crate) fn project(&mut self, formula: Term, gone: &[Var]) -> Result<Term, Reason> {
        match &mut self.0 {
            Kind::Here(solver) => solver.project(formula, gone),
            Kind::Worker(solver) => solver.project(formula, gone),
        }
    }

    fn inner(&mut self) -> &mut dyn Solver {
        match &mut self.0 {
            Kind::Here(solver) => &mut **solver,
            Kind::Worker(solver) => &mut **solver,
        }
    }
}

impl Solver for Z3Solver {
    fn push(&mut self) {
        self.inner().push();
    }

    fn pop(&mut self) {
        self.inner().pop();
    }

    fn assert(&mut self, formula: Term) {
        self.inner().assert(formula);
    }

    fn name(&mut self, formula: Term) -> Term {
        self.inner().name(formula)
    }

    fn check_assuming(&mut self, assumptions: &[Term]) -> Outcome {
        self.inner().check_assuming(assumptions)
    }

    fn values(&mut self, terms: &[Term]) -> Vec<Option<Value>> {
        self.inner().values(terms)
    }

    fn core(&mut self) -> Vec<usize> {
        self.inner().core()
    }

    fn set_limits(&mut self, limits: Limits) {
        self.inner().set_limits(limits);
    }
}
