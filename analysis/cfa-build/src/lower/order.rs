//! Operands that C evaluates in any order. Lowering takes them from left to right, and notes where each begins: whether another order would do
//! something else is asked later, when it is known what the called functions do. Must not know any of them.

use proofline_cfa::{Loc, Operands};
use proofline_hir::body::ExprId;

use super::build::Lowering;

/// Where the operands of one expression begin; nothing where their order does not matter.
pub(crate) struct Bounds(Option<Vec<Loc>>);

impl Bounds {
    /// The same, where the first operand has begun there.
    pub(crate) fn from(mut self, begin: Loc) -> Bounds {
        if let Bounds(Some(bounds)) = &mut self {
            bounds[0] = begin;
        }
        self
    }

    /// An operand ends here, and the next one begins.
    pub(crate) fn end_operand(&mut self, here: Loc) {
        if let Bounds(Some(bounds)) = self {
            bounds.push(here);
        }
    }
}

impl Lowering<'_> {
    /// The first operand begins here.
    pub(crate) fn begin_operands(&self, operands: &[ExprId]) -> Bounds {
        Bounds(self.effects.is_order_open(operands).then(|| vec![self.at]))
    }

    /// Of `target op= value`, which reads its target, too.
    pub(crate) fn begin_changed(&self, target: ExprId, value: ExprId) -> Bounds {
        let is_open = self.effects.is_order_open(&[target, value])
            || self.effects.is_in_memory(self.body, target)
                && self.effects.of(value).is_some_and(|effect| effect.memory);
        Bounds(is_open.then(|| vec![self.at]))
    }

    /// All operands have ended.
    pub(crate) fn end_operands(&mut self, bounds: Bounds) {
        if let Bounds(Some(bounds)) = bounds {
            self.function.operands.push(Operands { bounds });
        }
    }
}
