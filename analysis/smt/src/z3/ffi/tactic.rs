//! Tactics: formula in, formulas out. Used for quantifier elimination and for stronger simplification.

use z3_sys::*;

use super::ast::Ast;
use super::{Context, Params, Result, c_string};

/// A tactic.
pub(crate) struct Tactic {
    ctx: Context,
    raw: Z3_tactic,
}

impl Tactic {
    fn wrap(ctx: &Context, raw: Option<Z3_tactic>) -> Result<Tactic> {
        let raw = ctx.got(raw)?;
        // SAFETY: a new object gets its reference at once.
        unsafe { Z3_tactic_inc_ref(ctx.raw(), raw) };
        Ok(Tactic { ctx: ctx.clone(), raw })
    }

    pub(crate) fn new(ctx: &Context, name: &str) -> Result<Tactic> {
        let name = c_string(name);
        // SAFETY: a C string.
        Tactic::wrap(ctx, unsafe { Z3_mk_tactic(ctx.raw(), name.as_ptr()) })
    }

    pub(crate) fn with(&self, params: &Params) -> Result<Tactic> {
        self.ctx.owns(&params.ctx);
        // SAFETY: live objects of one context.
        Tactic::wrap(&self.ctx, unsafe { Z3_tactic_using_params(self.ctx.raw(), self.raw, params.raw) })
    }

    pub(crate) fn within(&self, millis: u32) -> Result<Tactic> {
        // SAFETY: a live tactic.
        Tactic::wrap(&self.ctx, unsafe { Z3_tactic_try_for(self.ctx.raw(), self.raw, millis) })
    }

    /// Applies it: the disjunction of the conjunctions returned is equivalent (or equisatisfiable, as the tactic says)
    /// to `formula`.
    pub(crate) fn apply(&self, formula: &Ast) -> Result<Vec<Vec<Ast>>> {
        let ctx = &self.ctx;
        let c = ctx.raw();
        ctx.owns(&formula.ctx);
        // SAFETY: goal and result are referenced while they are used; formulas are read by index below their number.
        unsafe {
            let goal = ctx.got(Z3_mk_goal(c, false, false, false))?;
            Z3_goal_inc_ref(c, goal);
            Z3_goal_assert(c, goal, formula.raw);
            let result = ctx.got(Z3_tactic_apply(c, self.raw, goal));
            Z3_goal_dec_ref(c, goal);
            let result = result?;
            Z3_apply_result_inc_ref(c, result);
            let read = || -> Result<Vec<Vec<Ast>>> {
                (0..Z3_apply_result_get_num_subgoals(c, result))
                    .map(|i| {
                        let sub = ctx.got(Z3_apply_result_get_subgoal(c, result, i))?;
                        Z3_goal_inc_ref(c, sub);
                        let all = (0..Z3_goal_size(c, sub))
                            .map(|j| Ast::checked(ctx, Z3_goal_formula(c, sub, j)))
                            .collect();
                        Z3_goal_dec_ref(c, sub);
                        all
                    })
                    .collect()
            };
            let all = read();
            Z3_apply_result_dec_ref(c, result);
            all
        }
    }
}

impl Drop for Tactic {
    fn drop(&mut self) {
        // SAFETY: gives back the reference taken in `wrap`.
        unsafe { Z3_tactic_dec_ref(self.ctx.raw(), self.raw) }
    }
}
