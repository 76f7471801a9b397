//! Solvers and models.

use z3_sys::*;

use super::ast::{Ast, raws};
use super::inspect::vector;
use super::{Answer, Context, Params, Result, text};

/// A solver: a stack of assertions.
pub(crate) struct Solver {
    ctx: Context,
    raw: Z3_solver,
}

/// A model.
pub(crate) struct Model {
    ctx: Context,
    raw: Z3_model,
}

impl Solver {
    /// Z3's general solver.
    pub(crate) fn new(ctx: &Context) -> Result<Solver> {
        // SAFETY: a new object gets its reference at once.
        unsafe {
            let raw = ctx.got(Z3_mk_solver(ctx.raw()))?;
            Z3_solver_inc_ref(ctx.raw(), raw);
            Ok(Solver { ctx: ctx.clone(), raw })
        }
    }

    /// The incremental core without the tactics that the general solver tries first.
    pub(crate) fn simple(ctx: &Context) -> Result<Solver> {
        // SAFETY: a new object gets its reference at once.
        unsafe {
            let raw = ctx.got(Z3_mk_simple_solver(ctx.raw()))?;
            Z3_solver_inc_ref(ctx.raw(), raw);
            Ok(Solver { ctx: ctx.clone(), raw })
        }
    }

    pub(crate) fn configure(&self, params: &Params) -> Result<()> {
        self.ctx.owns(&params.ctx);
        // SAFETY: live objects of one context.
        unsafe { Z3_solver_set_params(self.ctx.raw(), self.raw, params.raw) };
        self.ctx.error().map_or(Ok(()), Err)
    }

    pub(crate) fn assert(&self, formula: &Ast) {
        self.ctx.owns(&formula.ctx);
        // SAFETY: live objects of one context.
        unsafe { Z3_solver_assert(self.ctx.raw(), self.raw, formula.raw) }
    }

    pub(crate) fn push(&self) {
        // SAFETY: a live solver.
        unsafe { Z3_solver_push(self.ctx.raw(), self.raw) }
    }

    pub(crate) fn pop(&self, levels: u32) {
        // SAFETY: a live solver; the caller counts its levels.
        unsafe { Z3_solver_pop(self.ctx.raw(), self.raw, levels) }
    }

    /// Decides the assertions together with `assumptions` (literals).
    pub(crate) fn check(&self, assumptions: &[Ast]) -> Result<Answer> {
        let raw = raws(&self.ctx, assumptions);
        let count = u32::try_from(raw.len()).expect("fewer than 2^32 assumptions");
        // SAFETY: live objects of one context.
        let answer = unsafe { Z3_solver_check_assumptions(self.ctx.raw(), self.raw, count, raw.as_ptr()) };
        match self.ctx.error() {
            Some(error) => Err(error),
            None => Ok(Answer::of(answer)),
        }
    }

    pub(crate) fn model(&self) -> Result<Model> {
        // SAFETY: a live solver; the model gets its reference at once.
        unsafe {
            let raw = self.ctx.got(Z3_solver_get_model(self.ctx.raw(), self.raw))?;
            Z3_model_inc_ref(self.ctx.raw(), raw);
            Ok(Model { ctx: self.ctx.clone(), raw })
        }
    }

    /// The assumptions used in the last refutation.
    pub(crate) fn core(&self) -> Result<Vec<Ast>> {
        // SAFETY: a live solver.
        vector(&self.ctx, unsafe { Z3_solver_get_unsat_core(self.ctx.raw(), self.raw) })
    }

    pub(crate) fn reason_unknown(&self) -> String {
        // SAFETY: a live solver; the text is copied at once.
        unsafe { text(Z3_solver_get_reason_unknown(self.ctx.raw(), self.raw)) }
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        // SAFETY: gives back the reference taken when it was made.
        unsafe { Z3_solver_dec_ref(self.ctx.raw(), self.raw) }
    }
}

impl Model {
    /// The value of an expression; symbols the model leaves open get some value if `complete`.
    pub(crate) fn eval(&self, expression: &Ast, complete: bool) -> Result<Ast> {
        self.ctx.owns(&expression.ctx);
        let mut out = expression.raw;
        // SAFETY: live objects of one context; the result is referenced at once.
        let done = unsafe { Z3_model_eval(self.ctx.raw(), self.raw, expression.raw, complete, &raw mut out) };
        let result = self.ctx.got(done.then_some(out))?;
        Ok(Ast::wrap(&self.ctx, result))
    }

    /// Model-based projection: a formula without `gone` that the model satisfies and that implies `∃ gone. body`.
    pub(crate) fn project(&self, gone: &[Ast], body: &Ast) -> Result<Ast> {
        let ctx = &self.ctx;
        ctx.owns(&body.ctx);
        // SAFETY: live expressions; null if one is no application.
        let apps: Option<Vec<Z3_app>> = gone.iter().map(|g| unsafe { Z3_to_app(ctx.raw(), g.raw) }).collect();
        let apps = ctx.got(apps)?;
        let count = u32::try_from(apps.len()).expect("fewer than 2^32 variables");
        // SAFETY: live objects of one context.
        let raw = unsafe { Z3_qe_model_project(ctx.raw(), self.raw, count, apps.as_ptr(), body.raw) };
        Ast::checked(ctx, raw)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: gives back the reference taken when it was made.
        unsafe { Z3_model_dec_ref(self.ctx.raw(), self.raw) }
    }
}
