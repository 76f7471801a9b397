//! A session: one Z3 context with its translation caches. It belongs to one thread; make one per job or per worker.
//! Answers can depend (in choice of models and cores, never in truth) on what ran before in the same session, so a
//! job whose result must be a function of its input gets a session of its own.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::ffi::{self, Ast, Context, Decl, SortRef};
use super::{Interrupter, LibraryMismatch, check_library};
use crate::solver::{Limits, Outcome, Reason, Solver};
use crate::term::{Sort, Term, Var};

/// A Z3 session. Cloning shares it.
#[derive(Clone)]
pub struct Z3(pub(super) Rc<Session>);

pub(super) struct Session {
    pub(super) ctx: Context,
    pub(super) interrupter: Interrupter,
    pub(super) terms: RefCell<FxHashMap<Term, Ast>>,
    pub(super) sorts: RefCell<FxHashMap<Sort, SortRef>>,
    /// Which variable a constant of Z3 stands for.
    pub(super) vars: RefCell<FxHashMap<Decl, Var>>,
    pub(super) functions: RefCell<FxHashMap<Decl, crate::term::Func>>,
    pub(super) fresh: Cell<u32>,
}

/// Translations kept between calls; beyond this the cache is emptied when nothing runs.
const CACHE: usize = 400_000;

/// Limits the memory of all sessions of this process together. A check that reaches it is unknown for
/// [`Reason::Limit`]; the program goes on.
pub fn limit_memory(megabytes: u32) {
    ffi::global("memory_max_size", &megabytes.to_string());
}

impl std::fmt::Debug for Z3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Z3").field("cached", &self.0.terms.borrow().len()).finish_non_exhaustive()
    }
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
        Ok(Z3(Rc::new(Session {
            ctx: Context::new(),
            interrupter,
            terms: RefCell::default(),
            sorts: RefCell::default(),
            vars: RefCell::default(),
            functions: RefCell::default(),
            fresh: Cell::new(0),
        })))
    }

    /// The handle that stops this session.
    #[must_use]
    pub fn interrupter(&self) -> &Interrupter {
        &self.0.interrupter
    }

    /// Satisfiability of one formula, with a solver of its own.
    #[must_use]
    pub fn check(&self, formula: Term, limits: Limits) -> Outcome {
        let mut solver = self.solver();
        solver.set_limits(limits);
        solver.assert(formula);
        solver.check()
    }

    /// `term` as it comes back from Z3: equal in meaning. For tests of the translation.
    ///
    /// # Errors
    /// If Z3 wrote it with an operator we have no term for.
    #[doc(hidden)]
    pub fn round_trip(&self, term: Term) -> Result<Term, Reason> {
        let there = self.write(term).and_then(|ast| self.read(&ast));
        there.map_err(|error| Reason::of(&error.0))
    }

    pub(crate) fn ctx(&self) -> &Context {
        &self.0.ctx
    }

    /// A number no other call of this session got: for names of auxiliary symbols.
    pub(crate) fn fresh(&self) -> u32 {
        let n = self.0.fresh.get() + 1;
        self.0.fresh.set(n);
        n
    }

    /// Runs `work`, a call that may take long, under the interrupter.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> ffi::Result<T>) -> Result<T, Reason> {
        let result = self.0.interrupter.guard(self.ctx(), work).ok_or(Reason::Interrupted)?;
        self.shrink();
        result.map_err(|error| Reason::of(&error.0))
    }

    fn shrink(&self) {
        if let Ok(mut terms) = self.0.terms.try_borrow_mut()
            && terms.len() > CACHE
        {
            terms.clear();
        }
    }
}
