//! The fixed-point engine: Horn clauses by Spacer.

use z3_sys::*;

use super::ast::{Ast, Decl};
use super::{Answer, Context, Params, Result, text};

/// A set of Horn clauses.
pub(crate) struct Fixedpoint {
    ctx: Context,
    raw: Z3_fixedpoint,
}

impl Fixedpoint {
    pub(crate) fn new(ctx: &Context) -> Result<Fixedpoint> {
        // SAFETY: a new object gets its reference at once.
        unsafe {
            let raw = ctx.got(Z3_mk_fixedpoint(ctx.raw()))?;
            Z3_fixedpoint_inc_ref(ctx.raw(), raw);
            Ok(Fixedpoint { ctx: ctx.clone(), raw })
        }
    }

    pub(crate) fn configure(&self, params: &Params) -> Result<()> {
        self.ctx.owns(&params.ctx);
        // SAFETY: live objects of one context.
        unsafe { Z3_fixedpoint_set_params(self.ctx.raw(), self.raw, params.raw) };
        self.ctx.error().map_or(Ok(()), Err)
    }

    pub(crate) fn relation(&self, predicate: &Decl) {
        self.ctx.owns(&predicate.ctx);
        // SAFETY: live objects of one context.
        unsafe { Z3_fixedpoint_register_relation(self.ctx.raw(), self.raw, predicate.raw) }
    }

    pub(crate) fn rule(&self, rule: &Ast, name: &str) -> Result<()> {
        self.ctx.owns(&rule.ctx);
        // SAFETY: live objects of one context.
        unsafe { Z3_fixedpoint_add_rule(self.ctx.raw(), self.raw, rule.raw, Some(self.ctx.symbol(name))) };
        self.ctx.error().map_or(Ok(()), Err)
    }

    /// Whether `formula` (over relations) can be derived, within `resource` units (0: no limit). The engine knows no
    /// such parameter (setting it would make Z3 drop all the others) and takes it from the context; `query_relations`
    /// would ignore it.
    pub(crate) fn query(&self, formula: &Ast, resource: u32) -> Result<Answer> {
        self.ctx.owns(&formula.ctx);
        self.ctx.limit_resources(resource);
        // SAFETY: live objects of one context.
        let answer = unsafe { Z3_fixedpoint_query(self.ctx.raw(), self.raw, formula.raw) };
        let error = self.ctx.error();
        self.ctx.limit_resources(0);
        match error {
            Some(error) => Err(error),
            None => Ok(Answer::of(answer)),
        }
    }

    /// What is known to hold of `predicate`, over de Bruijn variables (`i` stands for argument `i`).
    pub(crate) fn cover(&self, predicate: &Decl) -> Result<Ast> {
        self.ctx.owns(&predicate.ctx);
        // SAFETY: live objects of one context; -1 is the fixed point.
        let raw = unsafe { Z3_fixedpoint_get_cover_delta(self.ctx.raw(), self.raw, -1, predicate.raw) };
        Ast::checked(&self.ctx, raw)
    }

    /// After a derivation: its proof by hyper-resolution, for which Z3 asks its solver again, within `resource` units (0: no limit).
    pub(crate) fn answer(&self, resource: u32) -> Result<Ast> {
        self.ctx.limit_resources(resource);
        // SAFETY: a live engine.
        let answer = Ast::checked(&self.ctx, unsafe { Z3_fixedpoint_get_answer(self.ctx.raw(), self.raw) });
        self.ctx.limit_resources(0);
        answer
    }

    pub(crate) fn reason_unknown(&self) -> String {
        // SAFETY: a live engine; the text is copied at once.
        unsafe { text(Z3_fixedpoint_get_reason_unknown(self.ctx.raw(), self.raw)) }
    }
}

impl Drop for Fixedpoint {
    fn drop(&mut self) {
        // SAFETY: gives back the reference taken in `new`.
        unsafe { Z3_fixedpoint_dec_ref(self.ctx.raw(), self.raw) }
    }
}
