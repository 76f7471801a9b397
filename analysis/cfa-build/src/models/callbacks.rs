//! Functions that library functions are given and call any number of times.

use std::sync::Arc;

use proofline_cfa::{Argument, Cause, Expr};
use proofline_hir::{Type, TypeKind};

use super::{apply::Pass, arguments::pointer, effect::Passed, external};

impl Pass<'_, '_> {
    /// Calls the function pointer any number of times.
    pub(super) fn calls(&mut self, function: usize, passed: &[Passed], arguments: &[Argument], cause: Cause) {
        let Some(function) = pointer(arguments, function) else { return };
        let void_pointer = Type::void().pointer_to();
        let ty = self.callback_type(&function, passed.len());
        self.emitter.repeatedly(cause, |emitter| {
            let arguments = passed
                .iter()
                .map(|passed| match passed {
                    Passed::Argument(at) => arguments.get(*at).cloned(),
                    Passed::Into(at) => {
                        let inside = pointer(arguments, *at).map(|object| emitter.inside_of(object, cause));
                        inside.map(|inside| Argument::Value(emitter.save(inside)))
                    }
                    Passed::Any => None,
                })
                .collect::<Vec<_>>();
            let arguments = arguments
                .into_iter()
                .map(|known| known.unwrap_or_else(|| external::any_argument(emitter, void_pointer, cause)))
                .collect();
            external::emit_call(emitter, function, ty, arguments);
        });
    }

    /// The type of a comparison function: that of the function, or pointers to `int`.
    fn callback_type(&self, function: &Expr, parameters: usize) -> Type {
        if let Expr::Function(name) = function
            && let Some(function) = self.program.externals.get(name)
        {
            return *function;
        }
        let pointer = Type::void().pointer_to();
        Type::new(TypeKind::Function(Arc::new(proofline_hir::types::Signature {
            result: Type::int(),
            parameters: vec![pointer; parameters],
            variadic: false,
            unprototyped: false,
        })))
    }
}
