//! Expressions: which construct a node is, names and literals. The constructs themselves are in the files below.
//! Must not know statements or declarations beyond calling them.

mod access;
mod assign;
mod call;
mod cast;
mod misread;
mod operator;
mod query;

pub(crate) use operator::Operator;

use proofline_syntax::Span;
use tree_sitter::Node;

use super::{
    Lowerer, children, error_type, field,
    literal::{self, Number},
    scope::Entity,
};
use crate::{
    Name,
    body::{ExprId, ExprKind},
    types::{FloatKind, Type, TypeKind},
};

impl<'u> Lowerer<'u> {
    /// An expression as it is written: an lvalue stays an lvalue.
    pub(crate) fn expr(&mut self, node: Node<'u>) -> ExprId {
        if let Some((_, id)) = self.substitute.filter(|(at, _)| *at == node.id()) {
            return id;
        }
        match self.deeper(node, |l| l.expr_inner(node)) {
            Some(id) => id,
            None => {
                let span = self.span(node);
                self.error_expr(span)
            }
        }
    }

    /// An expression's value: lvalue conversion, decay.
    pub(crate) fn value(&mut self, node: Node<'u>) -> ExprId {
        let id = self.expr(node);
        self.rvalue(id)
    }

    /// An expression that is compared with 0.
    pub(crate) fn condition(&mut self, node: Node<'u>) -> ExprId {
        let id = self.value(node);
        self.scalar(id)
    }

    /// An expression whose value is not used. What it reads is read only where that could matter: through a pointer or
    /// from a volatile object. (`(void)x;` is how programs say that `x` is unused.)
    pub(crate) fn discarded(&mut self, node: Node<'u>) -> ExprId {
        let id = self.expr(node);
        self.unused(id)
    }

    fn unused(&mut self, id: ExprId) -> ExprId {
        let ty = self.type_of(id);
        let is_object = !matches!(ty.kind(), TypeKind::Array(..) | TypeKind::Function(_) | TypeKind::Void);
        let reads =
            self.is_lvalue(id) && is_object && (ty.qualifiers().is_volatile || !self.is_named_object(id));
        if reads { self.rvalue(id) } else { id }
    }

    /// Whether an lvalue is a variable or a part of one.
    fn is_named_object(&self, id: ExprId) -> bool {
        match self.kind_of(id) {
            ExprKind::Local(_) | ExprKind::Global(_) | ExprKind::StringLiteral(_) => true,
            ExprKind::Field { base, .. } => self.is_named_object(*base),
            _ => false,
        }
    }

    fn expr_inner(&mut self, node: Node<'u>) -> ExprId {
        match node.kind() {
            "identifier"
            | "true"
            | "false"
            | "null"
            | "field_identifier"
            | "type_identifier"
            | "statement_identifier" => self.name_expr(node),
            "number_literal" => self.number(node),
            "char_literal" => self.character(node),
            "string_literal" | "concatenated_string" => self.string(node),
            "parenthesized_expression" => self.parenthesized(node),
            "compound_statement" => self.statement_expression(node),
            "extension_expression" => match children(node).first() {
                Some(&inner) => self.expr(inner),
                None => self.not_understood(node),
            },
            "comma_expression" => self.comma(node),
            "binary_expression" => self.binary_tree(node),
            "unary_expression" | "pointer_expression" | "cast_expression" | "update_expression"
                if self.misread_cast(node).is_some() =>
            {
                self.misread(node)
            }
            "field_expression" | "subscript_expression" | "call_expression" | "update_expression"
                if self.disguised_base(node).is_some() =>
            {
                self.disguised_postfix(node)
            }
            "field_expression" | "subscript_expression" | "call_expression" | "update_expression"
                if self.sizeof_base(node).is_some() =>
            {
                self.sizeof_postfix(node)
            }
            "type_descriptor" | "parameter_declaration" => self.type_as_expr(node),
            "unary_expression" => self.unary(node),
            "conditional_expression" => self.conditional(node),
            "assignment_expression" => self.assignment(node),
            "update_expression" => self.update(node),
            "pointer_expression" => self.pointer(node),
            "subscript_expression" => self.subscript(node),
            "field_expression" => self.member(node),
            "call_expression" => self.call(node),
            "cast_expression" => self.cast(node),
            "compound_literal_expression" => self.compound_literal(node),
            "sizeof_expression" => self.sizeof(node),
            "alignof_expression" => self.alignof(node),
            "offsetof_expression" => self.offsetof(node),
            "generic_expression" => self.generic(node),
            _ => self.not_understood(node),
        }
    }

    /// Reports a node that is no expression we know.
    pub(crate) fn not_understood(&mut self, node: Node<'u>) -> ExprId {
        if !node.has_error() {
            self.error(node, format!("this expression is not supported ({})", node.kind()));
        } else {
            self.error(node, "this is not a C expression");
        }
        let span = self.span(node);
        self.error_expr(span)
    }

    fn parenthesized(&mut self, node: Node<'u>) -> ExprId {
        match children(node)[..] {
            [inner] => self.expr(inner),
            _ => self.not_understood(node),
        }
    }

    fn statement_expression(&mut self, node: Node<'u>) -> ExprId {
        let (block, ty) = self.value_block(node);
        self.new_expr(ExprKind::StatementExpression(block), ty, node)
    }

    fn comma(&mut self, node: Node<'u>) -> ExprId {
        // A long chain nests to the right; it is read in a loop.
        let mut parts = Vec::new();
        let mut rest = node;
        while rest.kind() == "comma_expression" {
            let (Some(left), Some(right)) = (field(rest, "left"), field(rest, "right")) else {
                return self.not_understood(rest);
            };
            parts.push(left);
            rest = right;
        }
        self.comma_of(&parts, rest)
    }

    /// `parts…, last` with the value of the last.
    pub(crate) fn comma_of(&mut self, parts: &[Node<'u>], last: Node<'u>) -> ExprId {
        let effects: Vec<ExprId> = parts.iter().map(|part| self.discarded(*part)).collect();
        let mut sum = self.value(last);
        for left in effects.into_iter().rev() {
            let span = self.span_of(left).to(self.span_of(sum));
            let ty = self.type_of(sum);
            sum = self.body.expr(ExprKind::Comma(left, sum), ty, span);
        }
        sum
    }

    fn name_expr(&mut self, node: Node<'u>) -> ExprId {
        let text = self.text(node);
        let span = self.span(node);
        match self.lookup(text) {
            Some(Entity::Local(id)) => {
                let ty = self.body.body.local(id).ty;
                self.body.expr(ExprKind::Local(id), ty, span)
            }
            Some(entity @ Entity::Global(name)) => {
                let ty = self.entity_type(entity).unwrap_or_else(error_type);
                self.body.expr(ExprKind::Global(name), ty, span)
            }
            Some(entity @ Entity::Function(name)) => {
                let ty = self.entity_type(entity).unwrap_or_else(error_type);
                self.body.expr(ExprKind::Function(name), ty, span)
            }
            Some(Entity::EnumConstant(value, ty)) => self.body.expr(ExprKind::Int(value), ty, span),
            Some(Entity::Captured(name, ty)) => {
                if let Some(function) = &mut self.function
                    && !function.captured.contains(&name)
                {
                    function.captured.push(name);
                }
                let address =
                    self.unmodelled("a local of the enclosing function", Vec::new(), ty.pointer_to(), span);
                self.body.expr(ExprKind::Deref(address), ty, span)
            }
            Some(Entity::Typedef(_)) => {
                self.error(node, format!("`{text}` is a type, not a value"));
                self.error_expr(span)
            }
            None => self.predefined(node, text, span),
        }
    }

    /// Names that exist without a declaration.
    fn predefined(&mut self, node: Node<'u>, text: &str, span: Span) -> ExprId {
        match text {
            "__func__" | "__FUNCTION__" | "__PRETTY_FUNCTION__" => {
                let name = self.function.as_ref().map_or("top level", |f| f.name.as_str());
                let name = name.rsplit('.').next().unwrap_or(name);
                let quoted = format!("\"{name}\"");
                match literal::string(&[&quoted], self.model) {
                    Ok(value) => self.string_lvalue(value, true, span),
                    Err(message) => self.failed(node, message),
                }
            }
            "true" | "false" => {
                let bool_type = Type::new(TypeKind::Bool);
                self.body.expr(ExprKind::Int(i128::from(text == "true")), bool_type, span)
            }
            "nullptr" | "NULL" | "__null" => {
                let zero = self.int_expr(0, Type::int(), span);
                self.body.expr(ExprKind::Cast(zero), Type::void().pointer_to(), span)
            }
            _ => match self.builtin_function(text) {
                Some((name, ty)) => self.body.expr(ExprKind::Function(name), ty, span),
                None if text.is_empty() => self.failed(node, "an operand is missing here"),
                None => self.failed(node, format!("`{text}` is not declared")),
            },
        }
    }

    /// Reports an error and gives a value of unknown type.
    pub(crate) fn failed(&mut self, node: Node<'u>, message: impl Into<String>) -> ExprId {
        self.error(node, message);
        let span = self.span(node);
        self.error_expr(span)
    }

    fn number(&mut self, node: Node<'u>) -> ExprId {
        let text = self.text(node);
        // The grammar may take a sign into the number.
        let (sign, digits) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (text.chars().next(), rest),
            None => (None, text),
        };
        let id = match literal::number(digits, self.model) {
            Ok(number) => self.number_expr(node, number),
            Err(message) => self.failed(node, message),
        };
        if sign == Some('-') { self.negated(id) } else { id }
    }

    fn number_expr(&mut self, node: Node<'u>, number: Number) -> ExprId {
        match number {
            Number::Int(value, kind) => {
                self.new_expr(ExprKind::Int(value), Type::new(TypeKind::Int(kind)), node)
            }
            Number::Float { value, exact, kind } => {
                self.new_expr(ExprKind::Float(value, exact), Type::new(TypeKind::Float(kind)), node)
            }
            Number::Imaginary(kind) => self.imaginary(node, kind),
        }
    }

    /// An imaginary constant of this kind.
    pub(crate) fn imaginary(&mut self, node: Node<'u>, kind: FloatKind) -> ExprId {
        let span = self.span(node);
        self.unmodelled("an imaginary constant", Vec::new(), Type::new(TypeKind::Complex(kind)), span)
    }

    fn character(&mut self, node: Node<'u>) -> ExprId {
        match literal::character(self.text(node), self.model) {
            Ok((value, kind)) => self.new_expr(ExprKind::Int(value), Type::new(TypeKind::Int(kind)), node),
            Err(message) => self.failed(node, message),
        }
    }

    fn string(&mut self, node: Node<'u>) -> ExprId {
        match self.string_value(node) {
            Ok(value) => {
                let span = self.span(node);
                self.string_lvalue(value, false, span)
            }
            Err(message) => self.failed(node, message),
        }
    }

    /// The content of a string literal node.
    pub(crate) fn string_value(&self, node: Node<'u>) -> Result<literal::StringValue, String> {
        let mut parts = Vec::new();
        if node.kind() == "concatenated_string" {
            for part in children(node) {
                if part.kind() != "string_literal" {
                    return Err(format!("`{}` is not a string literal", self.text(part)));
                }
                parts.push(self.text(part));
            }
        } else {
            parts.push(self.text(node));
        }
        literal::string(&parts, self.model)
    }

    /// The lvalue of a string literal's object.
    fn string_lvalue(&mut self, value: literal::StringValue, is_const: bool, span: Span) -> ExprId {
        let mut element = Type::new(TypeKind::Int(value.kind));
        if is_const {
            element = element.qualified(crate::types::Qualifiers { is_const: true, ..Default::default() });
        }
        let length = crate::types::ArrayLength::Fixed(value.elements.len() as u64);
        let name = Name::new(&value.name);
        let object_type = Type::new(TypeKind::Array(Type::new(TypeKind::Int(value.kind)), length));
        self.string_object(name, object_type, value.elements);
        let ty = Type::new(TypeKind::Array(element, length));
        self.body.expr(ExprKind::StringLiteral(name), ty, span)
    }
}
