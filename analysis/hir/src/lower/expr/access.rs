//! Reaching objects: `*p`, `&x`, `a[i]`, `s.f`, `p->f`, and the parts of complex and vector values.

use proofline_syntax::{Span, marks};
use tree_sitter::Node;

use super::super::{Lowerer, error_type, field};
use crate::{
    Name,
    body::{ExprId, ExprKind},
    layout::Layout,
    types::{Qualifiers, Type, TypeKind},
};

/// What an [`ExprKind::Unmodelled`] says that stands for a part of a complex or vector object.
pub(super) const PART: &str = "a part of a complex or vector value";

impl<'u> Lowerer<'u> {
    /// `*e` and `&e`.
    pub(super) fn pointer(&mut self, node: Node<'u>) -> ExprId {
        let (Some(operator), Some(argument)) = (field(node, "operator"), field(node, "argument")) else {
            return self.not_understood(node);
        };
        let span = self.span(node);
        if self.text(operator) == "*" {
            if let Some(part) = self.complex_part(node, argument) {
                return part;
            }
            let pointer = self.value(argument);
            return self.dereferenced(pointer, span);
        }
        if argument.kind() == "pointer_expression"
            && field(argument, "operator").is_some_and(|o| self.text(o) == "&")
        {
            return match field(argument, "argument") {
                Some(name) if name.kind() == "identifier" => self.label_address(name, span),
                _ => self.not_understood(node),
            };
        }
        let place = self.expr(argument);
        self.address(place, span)
    }

    /// `*pointer`
    pub(crate) fn dereferenced(&mut self, pointer: ExprId, span: Span) -> ExprId {
        let ty = self.type_of(pointer);
        match ty.kind() {
            // `*&x` is x.
            TypeKind::Pointer(target) => match *self.kind_of(pointer) {
                ExprKind::AddressOf(place) if self.type_of(place) == *target => place,
                _ => self.body.expr(ExprKind::Deref(pointer), *target, span),
            },
            TypeKind::Error => {
                self.unmodelled("an object behind an unknown pointer", vec![pointer], ty, span)
            }
            _ => {
                self.error_at(
                    pointer,
                    format!("`*` needs a pointer, this is `{}`", crate::print::type_text(ty)),
                );
                self.unmodelled("an impossible operation", vec![pointer], error_type(), span)
            }
        }
    }

    /// `&place`
    pub(crate) fn address(&mut self, place: ExprId, span: Span) -> ExprId {
        let ty = self.type_of(place);
        match *self.kind_of(place) {
            ExprKind::Deref(pointer) => return pointer,
            ExprKind::Field { bits: Some(_), .. } => {
                self.error_at(place, "a bit-field has no address");
                return self.unmodelled("an impossible operation", vec![place], ty.pointer_to(), span);
            }
            ExprKind::Unmodelled(what, ref operands) if what.as_str() == PART || ty == error_type() => {
                let operands = operands.clone();
                return self.unmodelled("address of what is not modelled", operands, ty.pointer_to(), span);
            }
            _ => {}
        }
        let is_function = matches!(ty.kind(), TypeKind::Function(_));
        if is_function || self.is_lvalue(place) {
            return self.body.expr(ExprKind::AddressOf(place), ty.pointer_to(), span);
        }
        if matches!(ty.kind(), TypeKind::Array(..)) {
            let place = self.materialised(place);
            return self.body.expr(ExprKind::AddressOf(place), ty.pointer_to(), span);
        }
        self.error_at(place, "`&` needs an object or a function");
        self.unmodelled("an impossible operation", vec![place], ty.pointer_to(), span)
    }

    fn label_address(&mut self, name: Node<'u>, span: Span) -> ExprId {
        let ty = Type::void().pointer_to();
        match self.label(name) {
            Some(label) => self.body.expr(ExprKind::AddressOfLabel(label), ty, span),
            None => self.unmodelled("address of a label outside a function", Vec::new(), ty, span),
        }
    }

    /// `__real__ z`, `__imag__ z`, which arrive as `*(struct __proofline_real *)&z`.
    fn complex_part(&mut self, node: Node<'u>, argument: Node<'u>) -> Option<ExprId> {
        let cast = argument;
        if cast.kind() != "cast_expression" {
            return None;
        }
        let ty = field(cast, "type")?;
        let tag = field(field(ty, "type")?, "name").map(|n| self.text(n))?;
        if tag != marks::REAL && tag != marks::IMAG {
            return None;
        }
        let pointer = field(cast, "value")?;
        let of = field(pointer, "argument").unwrap_or(pointer);
        let base = self.expr(of);
        let span = self.span(node);
        let base_type = self.type_of(base);
        Some(match base_type.kind() {
            TypeKind::Complex(kind) => {
                let base = if self.is_lvalue(base) { base } else { self.rvalue(base) };
                self.unmodelled(PART, vec![base], Type::new(TypeKind::Float(*kind)), span)
            }
            TypeKind::Error => base,
            // `__real__` of a real number is the number, `__imag__` is 0 of its type.
            _ if tag == marks::REAL => base,
            _ => {
                let value = self.rvalue(base);
                let zero = self.int_expr(0, Type::int(), span);
                let zero = self.convert(zero, base_type);
                let ty = self.type_of(zero);
                self.body.expr(ExprKind::Comma(value, zero), ty, span)
            }
        })
    }

    /// `a[i]`
    pub(super) fn subscript(&mut self, node: Node<'u>) -> ExprId {
        let (Some(argument), Some(index)) = (field(node, "argument"), field(node, "index")) else {
            return self.not_understood(node);
        };
        let span = self.span(node);
        let base = self.expr(argument);
        let base_type = self.type_of(base);
        if let TypeKind::Vector(element, _) = base_type.kind() {
            let index = self.value(index);
            return self.unmodelled(PART, vec![base, index], element.unqualified(), span);
        }
        let index = self.value(index);
        self.indexed(base, index, span)
    }

    /// `base[index]` of an lvalue or value and a value.
    pub(crate) fn indexed(&mut self, base: ExprId, index: ExprId, span: Span) -> ExprId {
        let base_type = self.type_of(base);
        if let TypeKind::Array(element, _) = base_type.kind() {
            let ty = element.qualified(base_type.qualifiers());
            let base = if self.is_lvalue(base) { base } else { self.materialised(base) };
            let index = self.index_value(index);
            return self.body.expr(ExprKind::Index { base, index }, ty, span);
        }
        let base = self.rvalue(base);
        let (base, index) = match (self.type_of(base).pointee(), self.type_of(index).pointee()) {
            (None, Some(_)) => (index, base),
            _ => (base, index),
        };
        let ty = self.type_of(base);
        match ty.pointee() {
            Some(element) => {
                let index = self.index_value(index);
                self.body.expr(ExprKind::Index { base, index }, element, span)
            }
            None => {
                if !matches!(ty.kind(), TypeKind::Error) {
                    self.error_at(base, "neither operand of `[]` is an array or a pointer");
                }
                self.unmodelled("an impossible operation", vec![base, index], error_type(), span)
            }
        }
    }

    fn index_value(&mut self, index: ExprId) -> ExprId {
        let ty = self.type_of(index);
        if ty.is_integer() {
            return self.promote(index);
        }
        if !matches!(ty.kind(), TypeKind::Error) {
            self.error_at(index, "an index must be an integer");
        }
        let span = self.span_of(index);
        let ptrdiff = self.ptrdiff_type();
        self.unmodelled("an index that is no integer", vec![index], ptrdiff, span)
    }

    /// `s.f` and `p->f`.
    pub(super) fn member(&mut self, node: Node<'u>) -> ExprId {
        let (Some(argument), Some(name)) = (field(node, "argument"), field(node, "field")) else {
            return self.not_understood(node);
        };
        let arrow = field(node, "operator").is_some_and(|o| self.text(o) == "->");
        let span = self.span(node);
        let base = self.expr(argument);
        let base = if arrow {
            let pointer = self.rvalue(base);
            self.dereferenced(pointer, self.span_of(pointer))
        } else {
            base
        };
        self.field_of(base, self.text(name), name, span)
    }

    /// `base.name`, through anonymous members.
    pub(crate) fn field_of(&mut self, base: ExprId, name: &str, at: Node<'u>, span: Span) -> ExprId {
        let ty = self.type_of(base);
        let tag = match ty.kind() {
            TypeKind::Record(tag) => *tag,
            TypeKind::Error => return self.unmodelled("a member of an unknown object", vec![base], ty, span),
            _ => {
                self.error(at, format!("`{}` has no members", crate::print::type_text(ty)));
                return self.unmodelled("an impossible operation", vec![base], error_type(), span);
            }
        };
        let Some(path) = Layout::new(self.model, &self.records).field_path(tag, Name::new(name)) else {
            let why = if self.records.contains_key(&tag) {
                "has no member"
            } else {
                "is incomplete here; no member"
            };
            self.error(at, format!("`{}` {why} `{name}`", crate::print::type_text(ty)));
            return self.unmodelled("an impossible operation", vec![base], error_type(), span);
        };
        path.into_iter().fold(base, |base, index| self.field_at(base, index, span))
    }

    /// The member with this index.
    pub(crate) fn field_at(&mut self, base: ExprId, index: u32, span: Span) -> ExprId {
        let ty = self.type_of(base);
        let field = match ty.kind() {
            TypeKind::Record(tag) => self.records.get(tag).and_then(|r| r.fields.get(index as usize)),
            _ => None,
        };
        let Some(field) = field else { return self.error_expr(span) };
        let outer = Qualifiers { is_restrict: false, is_atomic: false, ..ty.qualifiers() };
        let (field_type, bits) = (field.ty.qualified(outer), field.bits);
        self.body.expr(ExprKind::Field { base, field: index, bits }, field_type, span)
    }
}
