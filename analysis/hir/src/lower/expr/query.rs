//! Questions about types that become numbers: `sizeof`, `_Alignof`, `offsetof`; and `_Generic`, which becomes the
//! chosen expression.

use proofline_syntax::Span;
use tree_sitter::Node;

use super::{
    super::{Lowerer, children, convert::compatible, field},
    operator::Operator,
};
use crate::{
    body::{BinaryOp, ExprId, ExprKind},
    types::{ArrayLength, Type, TypeKind},
};

impl<'u> Lowerer<'u> {
    /// Type of an expression that is not evaluated; nothing of it stays in the body.
    pub(crate) fn type_of_unevaluated(&mut self, node: Node<'u>) -> Type {
        let checkpoint = self.body.checkpoint();
        let id = self.expr(node);
        let ty = self.type_of(id);
        self.body.roll_back(checkpoint);
        ty
    }

    pub(super) fn sizeof(&mut self, node: Node<'u>) -> ExprId {
        let span = self.span(node);
        let type_node = field(node, "type");
        if let Some(ty) = type_node.filter(|ty| !self.is_misread_type(*ty)) {
            let (ty, length) = self.type_name_with_length(ty);
            return self.size_of_type(ty, length, node, span);
        }
        let Some(value) = type_node.or_else(|| field(node, "value")) else {
            return self.not_understood(node);
        };
        if type_node.is_none() && self.is_type_expression(value) {
            let (ty, length) = self.type_name_with_length(value);
            return self.size_of_type(ty, length, node, span);
        }
        let checkpoint = self.body.checkpoint();
        let id = self.expr(value);
        let ty = self.type_of(id);
        if matches!(self.kind_of(id), ExprKind::Field { bits: Some(_), .. }) {
            self.error(node, "`sizeof` does not apply to a bit-field");
        }
        if is_variable(ty) {
            self.refuse_lost_effects(ty, value);
        }
        let of = match *self.kind_of(id) {
            ExprKind::Local(local) => self.body.body.local(local).length,
            _ => None,
        };
        self.body.roll_back(checkpoint);
        // The number of elements is kept in a local that nothing assigns to, or is a constant.
        let length = of.and_then(|length| self.copy_of_length(length, span));
        self.size_of_type(ty, length, node, span)
    }

    /// A copy of a variable length array's number of elements, if evaluating it again gives the same.
    fn copy_of_length(&mut self, length: ExprId, span: Span) -> Option<ExprId> {
        let ty = self.type_of(length);
        match *self.kind_of(length) {
            ExprKind::Int(value) => Some(self.body.expr(ExprKind::Int(value), ty, span)),
            ExprKind::Load(inner) => match *self.kind_of(inner) {
                ExprKind::Local(local) if self.body.body.local(local).name.starts_with('#') => {
                    let local_type = self.type_of(inner);
                    let place = self.body.expr(ExprKind::Local(local), local_type, span);
                    Some(self.body.expr(ExprKind::Load(place), ty, span))
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn size_of_type(
        &mut self,
        ty: Type,
        length: Option<ExprId>,
        node: Node<'u>,
        span: Span,
    ) -> ExprId {
        let size_type = self.size_type();
        if let Some(size) = self.layout().size_of(ty) {
            return self.int_expr(i128::from(size), size_type, span);
        }
        if !is_variable(ty) {
            if !matches!(ty.kind(), TypeKind::Error) {
                self.error(
                    node,
                    format!("`{}` is incomplete, its size is not known", crate::print::type_text(ty)),
                );
            }
            return self.unmodelled("size of an unknown type", Vec::new(), size_type, span);
        }
        let mut element = ty;
        while let TypeKind::Array(inner, _) = element.kind() {
            element = *inner;
        }
        match (length, self.layout().size_of(element)) {
            (Some(length), Some(size)) => {
                let length = self.convert(length, size_type);
                let size = self.int_expr(i128::from(size), size_type, span);
                let bytes = self.binary(Operator::Arithmetic(BinaryOp::Mul), length, size, span);
                self.body.expr(ExprKind::SizeOfVariable(bytes), size_type, span)
            }
            _ => self.unmodelled("size of a variable length array", Vec::new(), size_type, span),
        }
    }

    pub(super) fn alignof(&mut self, node: Node<'u>) -> ExprId {
        let span = self.span(node);
        let size_type = self.size_type();
        let Some(operand) = field(node, "type").or_else(|| self.only_child(node)) else {
            return self.not_understood(node);
        };
        let ty = if self.is_type_expression(operand) || operand.kind() == "type_descriptor" {
            self.type_name(operand)
        } else {
            self.type_of_unevaluated(operand)
        };
        let gnu = self.text(node).starts_with("__alignof");
        if matches!(ty.kind(), TypeKind::Function(_)) {
            self.error(node, "the alignment of a function is not supported");
            return self.unmodelled("the alignment of a function", Vec::new(), size_type, span);
        }
        let align = if gnu { self.layout().preferred_align_of(ty) } else { self.layout().align_of(ty) };
        match align {
            Some(align) => self.int_expr(i128::from(align), size_type, span),
            None => {
                if !matches!(ty.kind(), TypeKind::Error) {
                    self.error(
                        node,
                        format!(
                            "`{}` is incomplete, its alignment is not known",
                            crate::print::type_text(ty)
                        ),
                    );
                }
                self.unmodelled("alignment of an unknown type", Vec::new(), size_type, span)
            }
        }
    }

    pub(super) fn offsetof(&mut self, node: Node<'u>) -> ExprId {
        match (field(node, "type"), field(node, "member")) {
            (Some(ty), Some(member)) => {
                let ty = self.type_name(ty);
                self.offset_of(ty, member, node)
            }
            _ => self.not_understood(node),
        }
    }

    /// `offsetof(ty, member)`: the address of the member of an object at address 0, as a number.
    pub(crate) fn offset_of(&mut self, ty: Type, member: Node<'u>, node: Node<'u>) -> ExprId {
        let span = self.span(node);
        let checkpoint = self.body.checkpoint();
        let zero = self.int_expr(0, Type::int(), span);
        let null = self.body.expr(ExprKind::Cast(zero), ty.pointer_to(), span);
        let object = self.body.expr(ExprKind::Deref(null), ty, span);
        let Some(place) = self.designated(object, member) else {
            self.body.roll_back(checkpoint);
            let size_type = self.size_type();
            return self.unmodelled("an unknown offset", Vec::new(), size_type, span);
        };
        let address = self.body.expr(ExprKind::AddressOf(place), self.type_of(place).pointer_to(), span);
        let size_type = self.size_type();
        let constant = crate::consteval::eval(&self.body.body, address, &self.records, self.model);
        match constant {
            Some(crate::consteval::ConstValue::Int(value)) => {
                self.body.roll_back(checkpoint);
                self.int_expr(value, size_type, span)
            }
            // An index that varies: the address arithmetic stays as it is.
            _ => self.body.expr(ExprKind::Cast(address), size_type, span),
        }
    }

    /// `a.b[2]` applied to an object.
    fn designated(&mut self, object: ExprId, node: Node<'u>) -> Option<ExprId> {
        let span = self.span(node);
        let result = match node.kind() {
            "field_expression" => {
                let base = self.designated(object, field(node, "argument")?)?;
                let name = field(node, "field")?;
                self.field_of(base, self.text(name), name, span)
            }
            "subscript_expression" => {
                let base = self.designated(object, field(node, "argument")?)?;
                let index = self.value(field(node, "index")?);
                self.indexed(base, index, span)
            }
            "identifier" | "field_identifier" | "true" | "false" | "null" => {
                self.field_of(object, self.text(node), node, span)
            }
            "parenthesized_expression" => self.designated(object, self.only_child(node)?)?,
            _ => {
                self.error(node, "this is not a member");
                return None;
            }
        };
        (!matches!(self.type_of(result).kind(), TypeKind::Error)).then_some(result)
    }

    pub(super) fn generic(&mut self, node: Node<'u>) -> ExprId {
        let parts = children(node);
        let Some((&control, pairs)) = parts.split_first() else { return self.not_understood(node) };
        let checkpoint = self.body.checkpoint();
        let value = self.value(control);
        let ty = self.type_of(value).unqualified();
        self.body.roll_back(checkpoint);
        let mut default = None;
        for pair in pairs.chunks(2) {
            let [name, value] = *pair else { return self.not_understood(node) };
            if self.text(name) == "default" {
                default = Some(value);
                continue;
            }
            let named = self.type_name(name);
            if compatible(ty, named) {
                return self.expr(value);
            }
        }
        match default {
            Some(value) => self.expr(value),
            None => {
                self.failed(node, format!("no association for the type `{}`", crate::print::type_text(ty)))
            }
        }
    }
}

/// Whether the size is found at run time.
fn is_variable(ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Array(_, ArrayLength::Variable) => true,
        TypeKind::Array(element, _) => is_variable(*element),
        _ => false,
    }
}
