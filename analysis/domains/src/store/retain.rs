//! Forgetting the locals of a frame that a caller has no use for. Knows which locals expressions mention, not why they are forgotten.

use std::sync::Arc;

use proofline_cfa::{Base, Expr, Function, LocalId, Role};

use crate::store::{
    mentions,
    state::{Frame, State},
    value::AbstractValue,
    view::Target,
};

impl<V: AbstractValue> State<V> {
    /// Forgets the locals of the innermost frame for which `keep` does not hold, and equalities with them. The result covers `self`.
    pub fn retain_locals(&mut self, function: &Function, keep: impl Fn(LocalId) -> bool) {
        let frame: &Frame<V> = &self.frame;
        let dead = frame.locals.iter().any(|(id, _)| !keep(*id)) || !frame.definitions.is_empty();
        if !dead {
            return;
        }
        let temporary = |id: LocalId| matches!(function.local(id).role, Role::Temporary);
        let mentions_dead = |expr: &Expr| {
            mentions::any_read(expr, &mut |lvalue| match lvalue.base {
                Base::Local(id) => temporary(id) && !keep(id),
                Base::Global(_) | Base::Deref(..) => false,
            })
        };
        let needless = |id: LocalId, expr: &Expr| !keep(id) || mentions_dead(expr);
        if frame.locals.iter().all(|(id, _)| keep(*id))
            && !frame.definitions.iter().any(|(id, expr)| needless(*id, expr))
        {
            return;
        }
        self.heap.forget_guards(|guard| matches!(guard.of, Target::Local(id) if !keep(id)));
        self.conclude(&|fact| !keep(fact.by));
        self.unfill(&|fact| matches!(fact.target, Target::Local(id) if !keep(id)));
        self.conclude_guarded(&|known| !keep(known.by));
        self.unguard(&|known| matches!(known.target, Target::Local(id) if !keep(id)));
        let frame = Arc::make_mut(&mut self.frame);
        frame.locals.retain(|(id, _)| keep(*id));
        frame.definitions.retain(|(id, expr)| !needless(*id, expr));
    }
}
