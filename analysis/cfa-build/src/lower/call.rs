//! Calls: arguments left to right, results into temporaries or straight into a local. Functions are known by name only; what
//! library functions do is said later, by their models.

use std::sync::Arc;

use proofline_hir::{
    Function, Name, Type, TypeKind,
    body::{Body, ExprId, ExprKind},
    types::Signature,
};

use super::build::Lowering;
use proofline_cfa::{Argument, Base, Call, Callee, Expr, Lvalue, Op, Site, asserted_argument};

/// The function that a callee expression names, if it is no computed pointer.
pub(crate) fn direct_name(body: &Body, callee: ExprId) -> Option<Name> {
    match &body.expr(callee).kind {
        ExprKind::Function(name) => Some(*name),
        ExprKind::Decay(inner) | ExprKind::AddressOf(inner) | ExprKind::Deref(inner) => {
            direct_name(body, *inner)
        }
        _ => None,
    }
}

impl Lowering<'_> {
    /// A call whose result is a scalar or nothing. With `into` the result may be put there directly: then the value is its load.
    pub(crate) fn call(
        &mut self,
        id: ExprId,
        callee: ExprId,
        arguments: &[ExprId],
        into: Option<Lvalue>,
        wanted: bool,
    ) -> Option<Expr> {
        let body = self.body;
        let (ty, site) = (body.expr(id).ty, self.site(id));
        if let Some(name) = direct_name(body, callee)
            && let Some(value) = self.builtin(name.as_str(), id, arguments)
        {
            return value;
        }
        let (callee, arguments, noreturn) = self.prepare(callee, arguments);
        let dst = match self.types.scalar(ty) {
            Some(_) if wanted => Some(into.unwrap_or_else(|| self.temporary(ty))),
            Some(_) => None,
            // Called for its effects though it returns an object.
            None if matches!(ty.kind(), TypeKind::Void) => None,
            None => Some(self.temporary(ty)),
        };
        self.emit(Op::Call(Call { dst: dst.clone(), callee, arguments }), site);
        if noreturn {
            self.halt();
        }
        dst.filter(|dst| dst.scalar.is_some()).map(Expr::Load)
    }

    /// A call that returns a record (or complex number, vector).
    pub(crate) fn call_aggregate(
        &mut self,
        id: ExprId,
        callee: ExprId,
        arguments: &[ExprId],
        into: Option<Lvalue>,
    ) -> Lvalue {
        let (ty, site) = (self.body.expr(id).ty, self.site(id));
        let (callee, arguments, noreturn) = self.prepare(callee, arguments);
        let dst = into.unwrap_or_else(|| self.temporary(ty));
        self.emit(Op::Call(Call { dst: Some(dst.clone()), callee, arguments }), site);
        if noreturn {
            self.halt();
        }
        dst
    }

    fn prepare(&mut self, callee: ExprId, arguments: &[ExprId]) -> (Callee, Vec<Argument>, bool) {
        let body = self.body;
        let named = direct_name(body, callee).filter(|name| !self.context.absent.contains(name));
        let (callee, noreturn) = match named {
            Some(name) => {
                let declared = self.context.functions.get(&name);
                (Callee::Direct(name), declared.is_some_and(|function| function.attributes.noreturn))
            }
            None => {
                let ty = function_type(body.expr(callee).ty);
                let site = self.site(callee);
                if !is_understood(ty) {
                    self.unsupported("call of a function of unknown type", site);
                }
                let effect = self.effects.of_all(arguments);
                let pointer = self.callee(callee);
                let ty = with_arguments(ty, arguments.iter().map(|argument| body.expr(*argument).ty));
                (Callee::Indirect(self.settle(pointer, effect.as_ref(), site), ty), false)
            }
        };
        let mut arguments = self.arguments(arguments);
        if let Callee::Direct(name) = callee {
            unplace(name, &mut arguments);
        }
        (callee, arguments, noreturn)
    }

    fn callee(&mut self, callee: ExprId) -> Expr {
        match self.body.expr(callee).ty.kind() {
            TypeKind::Function(_) => self.address(callee),
            _ => self.value(callee),
        }
    }

    fn arguments(&mut self, arguments: &[ExprId]) -> Vec<Argument> {
        let body = self.body;
        let mut out = Vec::with_capacity(arguments.len());
        let mut bounds = self.begin_operands(arguments);
        for (i, &argument) in arguments.iter().enumerate() {
            let effect = self.effects.of_all(&arguments[i + 1..]);
            let site = self.site(argument);
            let ty = body.expr(argument).ty;
            let is_scalar = self.types.scalar(ty).is_some()
                || matches!(ty.kind(), TypeKind::Function(_) | TypeKind::Void | TypeKind::Error);
            out.push(if is_scalar {
                let value = self.value(argument);
                Argument::Value(self.settle(value, effect.as_ref(), site))
            } else {
                let value = self.aggregate(argument);
                Argument::Aggregate(self.settle_aggregate(value, effect.as_ref(), site))
            });
            bounds.end_operand(self.at);
        }
        self.end_operands(bounds);
        out
    }

    /// Scalar values, left to right.
    pub(crate) fn values(&mut self, arguments: &[ExprId]) -> Vec<Expr> {
        self.arguments(arguments)
            .into_iter()
            .map(|argument| match argument {
                Argument::Value(value) => value,
                Argument::Aggregate(lvalue) => Expr::Address(lvalue),
            })
            .collect()
    }

    /// A call that lowering makes itself.
    pub(crate) fn call_by_name(&mut self, name: &str, site: Site) {
        let callee = Callee::Direct(Name::new(name));
        self.emit(Op::Call(Call { dst: None, callee, arguments: Vec::new() }), site);
    }
}

/// Where an assertion stands is no matter of the program's: with it, a line more above would make it another program, and so would another folder.
/// A call without the text of an assertion stays as it is: it is none of the library's function.
fn unplace(function: Name, arguments: &mut [Argument]) {
    let Some(text) = asserted_argument(function.as_str()) else { return };
    let is_literal = |argument: &Argument| {
        let Argument::Value(Expr::Address(lvalue)) = argument else { return false };
        matches!(lvalue.base, Base::Global(name) if name.starts_with('"'))
    };
    if !arguments.get(text).is_some_and(is_literal) {
        return;
    }
    for (_, argument) in arguments.iter_mut().enumerate().filter(|(at, _)| *at != text) {
        if let Argument::Value(value @ (Expr::Int(..) | Expr::Address(_))) = argument {
            *value = value.zero();
        }
    }
}

/// Whether calls of a function that the program defines are not told all that its text passes: see [`unplace`].
pub(super) fn is_not_told_all(function: &Function, body: &Body) -> bool {
    let Some(text) = asserted_argument(function.name.as_str()) else { return false };
    let is_variadic = matches!(function.ty.kind(), TypeKind::Function(signature) if signature.variadic);
    let parameters: Vec<Type> =
        body.locals.iter().filter(|local| local.is_parameter).map(|local| local.ty).collect();
    let is_pointer = |ty: &Type| matches!(ty.kind(), TypeKind::Pointer(_));
    is_variadic || parameters.len() > 1 && parameters.get(text).is_some_and(is_pointer)
}

/// Whether every part of the function type was.
fn is_understood(function: Type) -> bool {
    let is_error = |ty: &Type| matches!(ty.kind(), TypeKind::Error);
    match function.kind() {
        TypeKind::Function(signature) => {
            !is_error(&signature.result) && !signature.parameters.iter().any(is_error)
        }
        _ => false,
    }
}

/// Of a function type without a prototype, the one that lists what is passed: promoted arguments.
fn with_arguments(ty: Type, arguments: impl Iterator<Item = Type>) -> Type {
    match ty.kind() {
        TypeKind::Function(signature) if signature.unprototyped => {
            let parameters = arguments.map(Type::unqualified).collect();
            Type::new(TypeKind::Function(Arc::new(Signature { parameters, ..Signature::clone(signature) })))
        }
        _ => ty,
    }
}

/// The function type behind a callee's type.
fn function_type(ty: Type) -> Type {
    match ty.kind() {
        TypeKind::Pointer(inner) => function_type(*inner),
        _ => ty,
    }
}
