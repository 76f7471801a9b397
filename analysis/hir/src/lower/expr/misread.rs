//! Expressions that the grammar takes for types: without a typedef table `(f()) * x` looks like a cast of `*x`, and
//! `!(a[i]) && b` like the negation of a cast of a label's address. Puts them right with the scopes' knowledge.

use tree_sitter::Node;

use super::{
    super::{Lowerer, children, field, scope::Entity},
    operator::Operator,
};
use crate::body::{BinaryOp, ExprId, ExprKind};

/// A cast that is none: the prefix operators around it, the expression taken for a type, what follows.
pub(super) struct MisreadCast<'u> {
    /// Prefix operators and casts, outermost first.
    pub(super) prefixes: Vec<Node<'u>>,
    /// A `type_descriptor`.
    pub(super) left: Node<'u>,
    pub(super) rest: Rest<'u>,
}

/// What follows the parentheses.
pub(super) enum Rest<'u> {
    /// A binary operator and its right operand.
    Operator(Operator, Node<'u>),
    /// Arguments of a call, perhaps inside further postfix operators.
    Call {
        /// The whole operand of the cast.
        whole: Node<'u>,
        /// The parentheses at its start.
        arguments: Node<'u>,
    },
}

impl<'u> Lowerer<'u> {
    /// The first misread cast in a chain of prefix operators.
    pub(super) fn misread_cast(&self, node: Node<'u>) -> Option<MisreadCast<'u>> {
        let mut prefixes = Vec::new();
        let mut at = node;
        loop {
            let next = match at.kind() {
                "unary_expression" | "pointer_expression" => field(at, "argument")?,
                "update_expression" => {
                    let argument = field(at, "argument")?;
                    let is_prefix = field(at, "operator")?.start_byte() < argument.start_byte();
                    if !is_prefix {
                        return None;
                    }
                    argument
                }
                "cast_expression" => {
                    let left = field(at, "type")?;
                    let value = field(at, "value")?;
                    if !self.is_misread_type(left) {
                        value
                    } else {
                        let rest = self.rest_of(value)?;
                        return Some(MisreadCast { prefixes, left, rest });
                    }
                }
                _ => return None,
            };
            prefixes.push(at);
            at = next;
        }
    }

    /// An expression with a misread cast in front.
    pub(super) fn misread(&mut self, node: Node<'u>) -> ExprId {
        match self.misread_cast(node) {
            Some(MisreadCast { prefixes, left, rest: Rest::Call { whole, arguments } }) => {
                self.misread_call(&prefixes, left, whole, arguments)
            }
            _ => self.binary_tree(node),
        }
    }

    /// Whether a `type_descriptor` is an expression: what it names is an object or a function.
    pub(super) fn is_misread_type(&self, descriptor: Node<'u>) -> bool {
        let Some(ty) = field(descriptor, "type") else { return false };
        let name = match ty.kind() {
            "type_identifier" => ty,
            "macro_type_specifier" => match field(ty, "name") {
                Some(name) => name,
                None => return false,
            },
            _ => return false,
        };
        let text = self.text(name);
        match self.lookup(text) {
            Some(Entity::Typedef(_)) => false,
            Some(_) => true,
            None => super::super::builtin::is_builtin_name(text) && text != "__builtin_va_list",
        }
    }

    fn rest_of(&self, value: Node<'u>) -> Option<Rest<'u>> {
        if matches!(value.kind(), "pointer_expression" | "unary_expression") {
            let argument = field(value, "argument")?;
            let operator = self.text(field(value, "operator")?);
            let both = operator == "&"
                && argument.kind() == "pointer_expression"
                && field(argument, "operator").is_some_and(|o| self.text(o) == "&");
            if both {
                return Some(Rest::Operator(Operator::And, field(argument, "argument")?));
            }
            return Some(Rest::Operator(Operator::of(operator)?, argument));
        }
        let mut arguments = value;
        loop {
            arguments = match arguments.kind() {
                "parenthesized_expression" => return Some(Rest::Call { whole: value, arguments }),
                "field_expression" | "subscript_expression" | "update_expression" => {
                    field(arguments, "argument")?
                }
                "call_expression" => field(arguments, "function")?,
                _ => return None,
            };
        }
    }

    /// A `type_descriptor` or `parameter_declaration` read as an expression.
    pub(super) fn type_as_expr(&mut self, node: Node<'u>) -> ExprId {
        let Some(ty) = field(node, "type") else { return self.not_understood(node) };
        let base = match ty.kind() {
            "type_identifier" => ty,
            "macro_type_specifier" => {
                let (Some(name), Some(argument)) = (field(ty, "name"), field(ty, "type")) else {
                    return self.not_understood(node);
                };
                let span = self.span(ty);
                let id = self.named_call(name, &[argument], ty, span);
                return self.declarator_as_expr(field(node, "declarator"), Some(id), node);
            }
            _ => return self.not_understood(node),
        };
        // A call by name is seen as a whole, for the builtins.
        let declarator = field(node, "declarator");
        if let Some(call) = declarator.filter(|d| d.kind() == "abstract_function_declarator")
            && field(call, "declarator").is_none()
            && let Some(list) = field(call, "parameters")
        {
            let span = self.span(base).to(self.span(call));
            return self.named_call(base, &children(list), node, span);
        }
        let id = self.expr(base);
        self.declarator_as_expr(declarator, Some(id), node)
    }

    /// Applies what looks like a declarator to an expression: `a` `[i]` is `a[i]`, `a` `*b` is `a * b`.
    fn declarator_as_expr(
        &mut self,
        declarator: Option<Node<'u>>,
        base: Option<ExprId>,
        at: Node<'u>,
    ) -> ExprId {
        let Some(node) = declarator else {
            return base.unwrap_or_else(|| self.not_understood(at));
        };
        let span = self.span(node);
        let inner = field(node, "declarator");
        match node.kind() {
            "identifier" | "field_identifier" => self.expr(node),
            "abstract_function_declarator" | "abstract_array_declarator" if base.is_none() => {
                self.operand_in_parentheses(node, at)
            }
            "abstract_array_declarator" | "array_declarator" => {
                let array = self.declarator_as_expr(inner, base, node);
                let Some(size) = field(node, "size") else { return self.not_understood(at) };
                let index = self.value(size);
                let span = self.span_of(array).to(span);
                self.indexed(array, index, span)
            }
            "abstract_function_declarator" | "function_declarator" => {
                let callee = self.declarator_as_expr(inner, base, node);
                let arguments = field(node, "parameters").map(children).unwrap_or_default();
                let span = self.span_of(callee).to(span);
                self.called(callee, &arguments, span)
            }
            "pointer_declarator" | "abstract_pointer_declarator" => {
                // The star is a product with what is on the left, or a dereference if nothing is.
                let right = self.declarator_as_expr(inner, None, node);
                let right = self.rvalue(right);
                match base {
                    Some(left) => {
                        let left = self.rvalue(left);
                        let span = self.span_of(left).to(span);
                        self.binary(Operator::Arithmetic(BinaryOp::Mul), left, right, span)
                    }
                    None => self.dereferenced(right, span),
                }
            }
            "parenthesized_declarator" => match self.only_child(node) {
                Some(inner) => self.declarator_as_expr(Some(inner), base, node),
                None => self.not_understood(at),
            },
            _ => self.not_understood(at),
        }
    }

    /// What stands behind the star in `x * (a)[i]` and `x * (T)(a)`: nothing in front of the first parentheses is called.
    fn operand_in_parentheses(&mut self, node: Node<'u>, at: Node<'u>) -> ExprId {
        // Innermost last.
        let mut parts = vec![node];
        while let Some(inner) = parts.last().and_then(|part| field(*part, "declarator")) {
            if !matches!(inner.kind(), "abstract_function_declarator" | "abstract_array_declarator") {
                return self.not_understood(at);
            }
            parts.push(inner);
        }
        let mut casts = Vec::new();
        let operands = loop {
            let Some(part) = parts.pop() else { return self.not_understood(at) };
            let Some(list) = field(part, "parameters") else { return self.not_understood(at) };
            match children(list).as_slice() {
                [only] if only.kind() == "parameter_declaration" && !self.is_misread_type(*only) => {
                    casts.push(*only);
                }
                _ => break children(list),
            }
        };
        let mut value = match operands.split_last() {
            Some((only, [])) => self.expr(*only),
            Some((last, parts)) => self.comma_of(parts, *last),
            None => return self.not_understood(at),
        };
        while let Some(part) = parts.pop() {
            let span = self.span_of(value).to(self.span(part));
            value = if let Some(size) = field(part, "size") {
                let index = self.value(size);
                self.indexed(value, index, span)
            } else {
                let arguments = field(part, "parameters").map(children).unwrap_or_default();
                self.called(value, &arguments, span)
            };
        }
        let span = self.span(node);
        for ty in casts.into_iter().rev() {
            let ty = self.type_name(ty);
            let operand = self.rvalue(value);
            value = self.cast_value(operand, ty, span);
        }
        value
    }

    /// The operand of a misread cast up to the operator: prefixes applied to the left expression.
    pub(super) fn misread_operand(&mut self, prefixes: &[Node<'u>], left: Node<'u>) -> ExprId {
        let id = self.expr(left);
        self.prefixed(prefixes, id)
    }

    /// `(f[i])(x)` and what postfix operators follow.
    pub(super) fn misread_call(
        &mut self,
        prefixes: &[Node<'u>],
        left: Node<'u>,
        whole: Node<'u>,
        arguments: Node<'u>,
    ) -> ExprId {
        let mut list = Vec::new();
        let mut rest = self.only_child(arguments);
        while let Some(node) = rest {
            if node.kind() != "comma_expression" {
                list.push(node);
                break;
            }
            list.extend(field(node, "left"));
            rest = field(node, "right");
        }
        let callee = self.expr(left);
        let span = self.span(left).to(self.span(arguments));
        let call = self.called(callee, &list, span);
        let saved = self.substitute.replace((arguments.id(), call));
        let id = self.expr(whole);
        self.substitute = saved;
        self.prefixed(prefixes, id)
    }

    /// The `(T)(x)` or `(T)(U)(x)` at the start of a chain of postfix operators, which the grammar takes for calls: C's
    /// casts apply to the whole chain. The call with the operand, and the types, outermost first. `None` if the chain
    /// is one such cast alone, or starts otherwise.
    pub(super) fn disguised_base(&self, node: Node<'u>) -> Option<(Node<'u>, Vec<Node<'u>>)> {
        let mut above = Vec::new();
        let mut at = node;
        let first = loop {
            let next = match at.kind() {
                "field_expression" | "subscript_expression" => field(at, "argument")?,
                "update_expression" => {
                    let argument = field(at, "argument")?;
                    if field(at, "operator")?.start_byte() < argument.start_byte() {
                        return None;
                    }
                    argument
                }
                "call_expression" => {
                    let function = field(at, "function")?;
                    if function.kind() == "parenthesized_expression" && self.is_type_expression(function) {
                        break function;
                    }
                    function
                }
                _ => return None,
            };
            above.push(at);
            at = next;
        };
        let mut types = vec![first];
        while let [only] = field(at, "arguments").map(children).unwrap_or_default()[..]
            && self.is_type_expression(only)
            && above.last().is_some_and(|call| call.kind() == "call_expression")
        {
            types.push(only);
            at = above.pop()?;
        }
        let is_replaced = self.substitute.is_some_and(|(id, _)| id == at.id());
        let is_chain = at != node || types.len() > 1;
        (is_chain && !is_replaced).then_some((at, types))
    }

    /// `(T)(x)->f` and the like.
    pub(super) fn disguised_postfix(&mut self, node: Node<'u>) -> ExprId {
        let parts = self.disguised_base(node).and_then(|(call, types)| {
            let arguments = field(call, "arguments")?;
            Some((call, types, children(arguments)))
        });
        let Some((call, types, arguments)) = parts else { return self.not_understood(node) };
        let Some((last, before)) = arguments.split_last() else { return self.not_understood(node) };
        let base = if before.is_empty() { self.expr(*last) } else { self.comma_of(before, *last) };
        let saved = self.substitute.replace((call.id(), base));
        let id = self.expr(node);
        self.substitute = saved;
        let mut value = self.rvalue(id);
        let span = self.span(node);
        for ty in types.into_iter().rev() {
            let ty = self.type_name(ty);
            value = self.cast_value(value, ty, span);
        }
        value
    }

    /// A type in parentheses behind prefix operators, which are given outermost first.
    pub(super) fn prefixed_type(&self, node: Node<'u>) -> Option<(Vec<Node<'u>>, Node<'u>)> {
        let mut prefixes = Vec::new();
        let mut at = node;
        loop {
            let next = match at.kind() {
                "parenthesized_expression" => return self.is_type_expression(at).then_some((prefixes, at)),
                "unary_expression" | "pointer_expression" => field(at, "argument")?,
                "cast_expression" => field(at, "value")?,
                _ => return None,
            };
            prefixes.push(at);
            at = next;
        }
    }

    /// `sizeof (a)` at the start of a chain of postfix operators, where `a` is no type: C's `sizeof` applies to the whole
    /// chain. `None` if the chain starts otherwise.
    pub(super) fn sizeof_base(&self, node: Node<'u>) -> Option<Node<'u>> {
        let mut at = node;
        while at.kind() != "sizeof_expression" {
            at = match at.kind() {
                "field_expression" | "subscript_expression" | "update_expression" => field(at, "argument")?,
                "call_expression" => field(at, "function")?,
                _ => return None,
            };
        }
        let is_replaced = self.substitute.is_some_and(|(id, _)| id == at.id());
        let is_misread = field(at, "type").is_some_and(|ty| self.is_misread_type(ty));
        (is_misread && !is_replaced).then_some(at)
    }

    /// `sizeof (a)[0]` and the like.
    pub(super) fn sizeof_postfix(&mut self, node: Node<'u>) -> ExprId {
        let parts = self.sizeof_base(node).and_then(|base| Some((base, field(base, "type")?)));
        let Some((base, operand)) = parts else { return self.not_understood(node) };
        let checkpoint = self.body.checkpoint();
        let inner = self.expr(operand);
        let saved = self.substitute.replace((base.id(), inner));
        let id = self.expr(node);
        let ty = self.type_of(id);
        self.substitute = saved;
        self.body.roll_back(checkpoint);
        let span = self.span(node);
        self.size_of_type(ty, None, node, span)
    }

    /// Prefix operators, outermost first, applied to an operand.
    pub(super) fn prefixed(&mut self, prefixes: &[Node<'u>], mut id: ExprId) -> ExprId {
        for node in prefixes.iter().rev() {
            id = self.prefix(*node, id);
        }
        id
    }

    /// A prefix operator's node applied to another operand than its own.
    fn prefix(&mut self, node: Node<'u>, operand: ExprId) -> ExprId {
        let span = self.span(node);
        let operator = field(node, "operator").map_or("", |o| self.text(o));
        match (node.kind(), operator) {
            ("pointer_expression", "*") => {
                let pointer = self.rvalue(operand);
                self.dereferenced(pointer, span)
            }
            ("pointer_expression", _) => self.address(operand, span),
            ("unary_expression", _) => {
                let value = self.rvalue(operand);
                self.unary_of(node, operator, value)
            }
            ("update_expression", _) => self.updated(operand, operator == "--", false, span),
            ("cast_expression", _) => match field(node, "type") {
                Some(ty) => {
                    let ty = self.type_name(ty);
                    let value = self.rvalue(operand);
                    self.cast_value(value, ty, span)
                }
                None => self.not_understood(node),
            },
            _ => self.body.expr(
                ExprKind::Unmodelled("an operator".into(), vec![operand]),
                self.type_of(operand),
                span,
            ),
        }
    }
}
