//! Answers of a value domain to other analyses' questions about one of its states.

use proofline_cfa::{Expr, Function, Object};
use proofline_cpa::{Facts, NoFacts};

use crate::store::{Abstract, Arithmetic, Model, State, view::StateView};

/// A state that can be asked.
pub(crate) struct StateFacts<'a, A: Arithmetic> {
    view: StateView<'a, A>,
}

impl<'a, A: Arithmetic> StateFacts<'a, A> {
    pub(crate) fn new(
        model: &'a Model<A>,
        state: &'a State<A::Value>,
        function: &'a Function,
    ) -> StateFacts<'a, A> {
        StateFacts { view: StateView::new(model, function, state, &NoFacts) }
    }

    /// The value.
    pub(crate) fn value(&self, expr: &Expr) -> Abstract<A::Value> {
        // A state of another function says nothing about this one's locals.
        if self.view.state.frame.function != self.view.function.name {
            return Abstract::Any;
        }
        self.view.eval(expr).unwrap_or(Abstract::Any)
    }
}

impl<A: Arithmetic> Facts for StateFacts<'_, A> {
    fn int_range(&self, expr: &Expr) -> Option<(i128, i128)> {
        expr.int_type()?;
        self.value(expr).known().and_then(|value| self.view.model.arithmetic.range(&value))
    }

    fn points_to(&self, pointer: &Expr) -> Option<Vec<(Object, Option<i64>)>> {
        let addresses = self.view.model.arithmetic.addresses(&self.value(pointer).known()?)?;
        Some(addresses.into_iter().map(|(object, offsets)| (object, offsets.single())).collect())
    }

    fn truth(&self, condition: &Expr) -> Option<bool> {
        self.value(condition).known().and_then(|value| self.view.model.arithmetic.truth(&value))
    }
}
