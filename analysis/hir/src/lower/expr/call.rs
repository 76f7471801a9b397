//! Calls of functions, declared or not.

use proofline_syntax::{Span, marks};
use tree_sitter::Node;

use super::super::{Lowerer, builtin, children, convert::promoted, error_type, field};
use crate::{
    Name,
    body::{ExprId, ExprKind},
    types::{FloatKind, Signature, Type, TypeKind},
};

impl<'u> Lowerer<'u> {
    pub(super) fn call(&mut self, node: Node<'u>) -> ExprId {
        let (Some(function), Some(arguments)) = (field(node, "function"), field(node, "arguments")) else {
            return self.not_understood(node);
        };
        if function.kind() == "parenthesized_expression" && self.is_type_expression(function) {
            return self.cast_call(node, function, arguments);
        }
        let span = self.span(node);
        let mut callee = function;
        while callee.kind() == "parenthesized_expression"
            && let Some(inner) = self.only_child(callee)
        {
            callee = inner;
        }
        let arguments = children(arguments);
        if callee.kind() == "identifier" {
            return self.named_call(callee, &arguments, node, span);
        }
        let callee = self.expr(callee);
        self.called(callee, &arguments, span)
    }

    /// A call of what a name denotes; the arguments are nodes.
    pub(super) fn named_call(
        &mut self,
        at: Node<'u>,
        arguments: &[Node<'u>],
        node: Node<'u>,
        span: Span,
    ) -> ExprId {
        let name = self.text(at);
        if let Some(id) = self.special_call(name, arguments, node, span) {
            return id;
        }
        if self.lookup(name).is_some() {
            let callee = self.expr(at);
            return self.called(callee, arguments, span);
        }
        let (name, ty) = self.builtin_function(name).unwrap_or_else(|| self.implicit_function(name, at));
        let callee = self.new_expr(ExprKind::Function(name), ty, at);
        self.called(callee, arguments, span)
    }

    /// `int f()`, as C90 declares a function at its first call.
    fn implicit_function(&mut self, name: &str, at: Node<'u>) -> (Name, Type) {
        let signature =
            Signature { result: Type::int(), parameters: Vec::new(), variadic: false, unprototyped: true };
        let ty = Type::new(TypeKind::Function(signature.into()));
        let name = Name::new(name);
        let span = self.span(at);
        self.declare_implicitly(name, ty, span);
        (name, ty)
    }

    /// Names that look like functions but are operators.
    fn special_call(
        &mut self,
        name: &str,
        arguments: &[Node<'u>],
        node: Node<'u>,
        span: Span,
    ) -> Option<ExprId> {
        if name == marks::IMAGINARY {
            let ty = arguments.first().map(|a| self.type_of_unevaluated(*a));
            let kind = match ty.map(Type::kind) {
                Some(TypeKind::Float(kind)) => *kind,
                _ => FloatKind::Double,
            };
            return Some(self.imaginary(node, kind));
        }
        if !builtin::is_builtin_name(name)
            || matches!(self.lookup(name), Some(entity) if !self.is_function(entity))
        {
            return None;
        }
        self.builtin_call(name, arguments, node, span)
    }

    fn is_function(&self, entity: super::Entity) -> bool {
        matches!(entity, super::Entity::Function(_))
    }

    /// A call of a designator or pointer with these arguments.
    pub(crate) fn called(&mut self, callee: ExprId, arguments: &[Node<'u>], span: Span) -> ExprId {
        let values: Vec<ExprId> = arguments.iter().map(|a| self.value(*a)).collect();
        self.called_with(callee, values, span)
    }

    /// A call with these values, which are converted to the parameters' types.
    pub(crate) fn called_with(&mut self, callee: ExprId, values: Vec<ExprId>, span: Span) -> ExprId {
        let is_direct = matches!(self.kind_of(callee), ExprKind::Function(_));
        let callee = if is_direct { callee } else { self.rvalue(callee) };
        let callee_type = self.type_of(callee);
        let function = callee_type.pointee().unwrap_or(callee_type);
        let TypeKind::Function(signature) = function.kind() else {
            if !matches!(function.kind(), TypeKind::Error) {
                self.error_at(
                    callee,
                    format!("`{}` is not a function", crate::print::type_text(callee_type)),
                );
            }
            let mut operands = vec![callee];
            operands.extend(values);
            return self.unmodelled("a call of what is no function", operands, error_type(), span);
        };
        let arguments = self.arguments(callee, signature, values, span);
        let result = signature.result.unqualified();
        self.body.expr(ExprKind::Call { callee, arguments }, result, span)
    }

    /// Whether an old-style definition finds the promoted value where it looks for its parameter.
    fn arrives_promoted(&self, value: ExprId, parameter: Type) -> bool {
        let (given, wanted) = (self.type_of(value), promoted(parameter, None, self.model));
        let bits = |ty: Type| ty.int_kind().map(|kind| kind.bits(self.model));
        match wanted.kind() {
            _ if given.is_integer() && wanted.is_integer() => bits(given) == bits(wanted),
            TypeKind::Float(FloatKind::Float) => matches!(given.kind(), TypeKind::Float(FloatKind::Double)),
            TypeKind::Float(wanted) => matches!(given.kind(), TypeKind::Float(given) if given == wanted),
            TypeKind::Pointer(_) => given.pointee().is_some(),
            _ => true,
        }
    }

    fn arguments(
        &mut self,
        callee: ExprId,
        signature: &Signature,
        values: Vec<ExprId>,
        span: Span,
    ) -> Vec<ExprId> {
        let expected = signature.parameters.len();
        let fits = signature.unprototyped
            || values.len() == expected
            || (signature.variadic && values.len() >= expected);
        if !fits {
            let name = match self.kind_of(callee) {
                ExprKind::Function(name) => format!("`{name}`"),
                _ => "the function".to_owned(),
            };
            self.errors.push(super::super::HirError {
                message: format!("{name} takes {expected} arguments, this call has {}", values.len()),
                span,
                help: None,
                function: None,
            });
        }
        let convert = |(index, value): (usize, ExprId)| match signature.parameters.get(index) {
            Some(ty) if !signature.unprototyped => self.convert(value, *ty),
            // An old-style definition receives the promoted value and converts it to its parameter's type. A value of another kind or size
            // stays one: the call is undefined.
            Some(ty) => {
                let value = self.default_promote(value);
                if self.arrives_promoted(value, *ty) { self.convert(value, *ty) } else { value }
            }
            None => self.default_promote(value),
        };
        values.into_iter().enumerate().map(convert).collect()
    }
}
