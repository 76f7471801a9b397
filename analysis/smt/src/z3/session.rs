//! A session: one Z3 context with its translation caches. It belongs to one thread; make one per job or per worker.
//! Answers can depend (in choice of models and cores, never in truth) on what ran before in the same session, so a
//! job whose result must be a function of its input gets a session of its own.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Once;

use rustc_hash::FxHashMap;

use super::ffi::{self, Ast, Context, Decl, SortRef};
use super::interrupt::Target;
use super::{Interrupter, LibraryMismatch, check_library};
use crate::solver::Reason;
use crate::term::{Sort, Term, Var};
use crate::worker::incident;

/// A Z3 session in this process. Cloning shares it.
#[derive(Clone)]
pub(crate) struct Local(pub(super) Rc<Session>);

pub(super) struct Session {
    pub(super) ctx: Context,
    pub(super) interrupter: Interrupter,
    settings: Settings,
    pub(super) terms: RefCell<FxHashMap<Term, Ast>>,
    pub(super) sorts: RefCell<FxHashMap<Sort, SortRef>>,
    /// Which variable a constant of Z3 stands for.
    pub(super) vars: RefCell<FxHashMap<Decl, Var>>,
    pub(super) functions: RefCell<FxHashMap<Decl, crate::term::Func>>,
    pub(super) fresh: Cell<u32>,
}

/// How Z3 searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settings {
    /// As always.
    Usual,
    /// In another order: for a question at which Z3 has died.
    Other,
}

/// Translations kept between calls; beyond this the cache is emptied when nothing runs.
const CACHE: usize = 400_000;

/// Limits the memory of all sessions of this process together. A check that reaches it is unknown for
/// [`Reason::Limit`]; the program goes on.
pub fn limit_memory(megabytes: u32) {
    ffi::global("memory_max_size", &megabytes.to_string());
}

/// Z3 4.15 writes into memory that it has freed when it looks for Diophantine equations (`lp::dioph_eq`, `static_matrix`; valgrind shows it), and
/// such a process can answer anything. It does without them.
fn avoid_known_faults() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| ffi::global("lp.dio", "false"));
}

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local").field("cached", &self.0.terms.borrow().len()).finish_non_exhaustive()
    }
}

impl Local {
    /// A session that `interrupter` stops.
    pub(crate) fn new(interrupter: Interrupter, settings: Settings) -> Result<Local, LibraryMismatch> {
        check_library()?;
        avoid_known_faults();
        Ok(Local(Rc::new(Session {
            ctx: Context::new(),
            interrupter,
            settings,
            terms: RefCell::default(),
            sorts: RefCell::default(),
            vars: RefCell::default(),
            functions: RefCell::default(),
            fresh: Cell::new(0),
        })))
    }

    pub(crate) fn settings(&self) -> Settings {
        self.0.settings
    }

    /// The handle that stops this session.
    pub(crate) fn interrupter(&self) -> &Interrupter {
        &self.0.interrupter
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
        let result = self
            .0
            .interrupter
            .guard(Target::Here(self.ctx().target()), self.ctx().clone(), work)
            .ok_or(Reason::Interrupted)?;
        self.shrink();
        result.map_err(|error| {
            let reason = Reason::of(&error.0);
            incident::note(&reason);
            reason
        })
    }

    fn shrink(&self) {
        if let Ok(mut terms) = self.0.terms.try_borrow_mut()
            && terms.len() > CACHE
        {
            terms.clear();
        }
    }
}
