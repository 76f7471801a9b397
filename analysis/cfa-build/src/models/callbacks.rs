//! Functions that library functions are given and call any number of times.

use std::sync::Arc;

use proofline_cfa::{Argument, Base, BinaryOp, Cause, CompareOp, Expr, IntType, Lvalue, Op, Scalar, Step};
use proofline_hir::{Type, TypeKind, types::IntKind};

use super::{
    apply::Pass,
    arguments::{pointer, value},
    effect::{Element, Passed},
    emit::Emitter,
    external,
};
use crate::lower::fold;

impl Emitter<'_> {
    /// The address of some element of an array. Executions go on only where there is one.
    pub(super) fn element_of(
        &mut self,
        element: Element,
        arguments: &[Argument],
        cause: Cause,
    ) -> Option<Expr> {
        let array = pointer(arguments, element.array)?;
        let (count, bytes) = (value(arguments, element.count)?, value(arguments, element.size)?);
        let (site, size_t) = (self.site, Scalar::Int(self.types.size_t()));
        let [count, bytes] = [count, bytes].map(|number| fold::cast(size_t, number, site));
        let number = self.any_size(cause);
        self.emit(Op::Assume(fold::compare(CompareOp::Lt, number.clone(), count)));
        let (index, stride) = match &bytes {
            Expr::Int(bytes, _) => (number, u64::try_from(*bytes).ok()?),
            bytes => (fold::binary(BinaryOp::Mul, number, bytes.clone(), site), 1),
        };
        let step = Step::Index { index: Arc::new(index), stride, length: None, site };
        let scalar = Some(Scalar::Int(IntType { bits: 8, signed: true }));
        let ty = Type::new(TypeKind::Int(IntKind::Char));
        let base = Base::Deref(Arc::new(array), site);
        Some(Expr::Address(Lvalue { base, path: vec![step], ty, scalar, bits: None, size: 1 }))
    }
}

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
                    Passed::Element(element) => {
                        let address = emitter.element_of(*element, arguments, cause);
                        address.map(|address| Argument::Value(emitter.save(address)))
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
