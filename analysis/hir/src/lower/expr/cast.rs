//! Casts and compound literals.

use proofline_syntax::Span;
use tree_sitter::Node;

use super::super::{Lowerer, children, field};
use crate::{
    Name,
    body::{ExprId, ExprKind, Local},
    types::{Type, TypeKind},
};

impl<'u> Lowerer<'u> {
    pub(super) fn cast(&mut self, node: Node<'u>) -> ExprId {
        let (Some(ty), Some(value)) = (field(node, "type"), field(node, "value")) else {
            return self.not_understood(node);
        };
        let ty = self.type_name(ty);
        let span = self.span(node);
        self.cast_node(ty, value, span)
    }

    fn cast_node(&mut self, ty: Type, value: Node<'u>, span: Span) -> ExprId {
        let value =
            if matches!(ty.kind(), TypeKind::Void) { self.discarded(value) } else { self.value(value) };
        self.cast_value(value, ty, span)
    }

    /// `(T)value`
    pub(crate) fn cast_value(&mut self, value: ExprId, ty: Type, span: Span) -> ExprId {
        let ty = ty.unqualified();
        let from = self.type_of(value);
        if from == ty && ty.is_integer() && self.has_bit_width(value) {
            // No longer a bit-field: it must not promote like one.
            return self.body.expr(ExprKind::Cast(value), ty, span);
        }
        if let (TypeKind::Vector(..), _) | (_, TypeKind::Vector(..)) = (from.kind(), ty.kind())
            && from != ty
        {
            return self.unmodelled("a vector conversion", vec![value], ty, span);
        }
        let converted = self.convert(value, ty);
        if converted != value || matches!(self.kind_of(converted), ExprKind::Int(_)) {
            self.body.map.exprs[converted.index()] = span;
        }
        converted
    }

    /// `(T)(x)` where the grammar saw a call.
    pub(super) fn cast_call(&mut self, node: Node<'u>, function: Node<'u>, arguments: Node<'u>) -> ExprId {
        let ty = self.type_name(function);
        let span = self.span(node);
        match &children(arguments)[..] {
            [] => self.not_understood(node),
            [only] => self.cast_node(ty, *only, span),
            [parts @ .., last] => {
                let value = self.comma_of(parts, *last);
                self.cast_value(value, ty, span)
            }
        }
    }

    pub(super) fn compound_literal(&mut self, node: Node<'u>) -> ExprId {
        let (Some(type_node), Some(list)) = (field(node, "type"), field(node, "value")) else {
            return self.not_understood(node);
        };
        let declared = self.type_name(type_node);
        let span = self.span(node);
        if self.function.is_none() || self.static_owner.is_some() {
            return self.static_literal(node, declared, list);
        }
        let (init, ty) = self.initializer(list, declared);
        let name = Name::new(&format!("#{}", self.body.body.locals.len()));
        let local = Local { name, ty, length: None, rows: Vec::new(), is_parameter: false, cleanup: None };
        let local = self.body.local(local, span);
        self.body.expr(ExprKind::CompoundLiteral(local, init), ty, span)
    }
}
