//! Functions that library functions are given and call any number of times.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Argument, Base, BinaryOp, Callee, Cause, CompareOp, Edge, Expr, Function, IntType, Lvalue, Op, Program,
    Scalar, Step,
    visit::{self, Symbol},
};
use proofline_hir::{Name, Type, TypeKind, types::IntKind};

use super::{
    Library,
    apply::Pass,
    arguments::{pointer, value},
    effect::{Effect, Element, Passed, Size},
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
    /// Calls the function pointer any number of times. Where it can see more than its arguments lead to, it sees what changes between the calls, too. (What they
    /// lead to is what it was: whoever sorts moves elements, and does not change them.)
    pub(super) fn calls(
        &mut self,
        function: usize,
        passed: &[Passed],
        changed: Option<&(usize, Size)>,
        arguments: &[Argument],
        cause: Cause,
    ) {
        let Some(function) = pointer(arguments, function) else { return };
        let changed = changed
            .filter(|_| !is_given_elements(passed) || !self.sees_arguments_only(&function))
            .and_then(|(to, size)| {
                let size = self.size(size, arguments, cause);
                pointer(arguments, *to).map(|to| (to, size))
            });
        let void_pointer = Type::void().pointer_to();
        let ty = self.callback_type(&function, passed.len());
        self.emitter.repeatedly(cause, |emitter| {
            if let Some((to, size)) = changed {
                emitter.may_write(&to, size, cause.within(), cause);
            }
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

    /// Whether the function, with all that it calls, names no object that changes, and calls nothing through pointers.
    fn sees_arguments_only(&self, function: &Expr) -> bool {
        matches!(function, Expr::Function(name) if !self.seeing.contains(name))
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

/// The functions that see more than what their arguments lead to: they name objects that change, or call such functions, or any through pointers. (What is not
/// here gives any value anyway.) None where no call asks.
pub(super) fn seeing(
    program: &Program,
    functions: &BTreeMap<Name, Arc<Function>>,
    library: &Library,
) -> BTreeSet<Name> {
    let changes = |edge: &Edge| {
        let name = match edge.op.call().map(|call| &call.callee) {
            Some(Callee::Direct(name)) if !functions.contains_key(name) => name,
            Some(Callee::Direct(_) | Callee::Indirect(..)) | None => return false,
        };
        let is_change = |effect: &Effect| matches!(effect, Effect::Calls(_, _, Some(_)));
        library.model(name).is_some_and(|model| model.effects.iter().any(is_change))
    };
    if !functions.values().any(|function| function.edges.iter().any(changes)) {
        return BTreeSet::new();
    }
    let mut callers: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
    let mut open = Vec::new();
    for (name, function) in functions {
        let mut sees = false;
        visit::symbols(function, &mut |symbol| {
            let Symbol::Global(object) = symbol else { return };
            sees |= program.globals.get(&object).is_some_and(|global| !global.constant);
        });
        for call in function.edges.iter().filter_map(|edge| edge.op.call()) {
            match call.callee {
                Callee::Direct(callee) => callers.entry(callee).or_default().push(*name),
                Callee::Indirect(..) => sees = true,
            }
        }
        open.extend(sees.then_some(*name));
    }
    let mut all = BTreeSet::new();
    while let Some(name) = open.pop() {
        if all.insert(name) {
            open.extend(callers.get(&name).into_iter().flatten());
        }
    }
    all
}

/// Whether nothing else is passed, which might lead to the array.
fn is_given_elements(passed: &[Passed]) -> bool {
    passed.iter().all(|passed| matches!(passed, Passed::Element(_)))
}
