//! Assignments and increments.

use proofline_syntax::Span;
use tree_sitter::Node;

use super::{
    super::{Lowerer, error_type, field},
    access::PART,
    operator::Operator,
};
use crate::{
    body::{BinaryOp, ExprId, ExprKind},
    types::{Type, TypeKind},
};

impl<'u> Lowerer<'u> {
    pub(super) fn assignment(&mut self, node: Node<'u>) -> ExprId {
        let (Some(left), Some(operator), Some(right)) =
            (field(node, "left"), field(node, "operator"), field(node, "right"))
        else {
            return self.not_understood(node);
        };
        let operator = self.text(operator);
        let span = self.span(node);
        let target = self.expr(left);
        if operator == "=" {
            let value = self.value(right);
            return self.assigned(target, value, span);
        }
        let value = self.value(right);
        match operator.strip_suffix('=').and_then(Operator::of) {
            Some(Operator::Arithmetic(op)) => self.compound_assigned(op, target, value, span),
            _ => self.not_understood(node),
        }
    }

    /// `target = value`
    pub(crate) fn assigned(&mut self, target: ExprId, value: ExprId, span: Span) -> ExprId {
        let ty = self.type_of(target);
        if !self.is_assignable(target) {
            return self.stored_elsewhere(target, value, span);
        }
        let value = self.convert(value, ty);
        self.body.expr(ExprKind::Assign(target, value), ty.unqualified(), span)
    }

    fn is_assignable(&self, target: ExprId) -> bool {
        let ty = self.type_of(target);
        self.is_lvalue(target)
            && !matches!(
                ty.kind(),
                TypeKind::Array(..) | TypeKind::Function(_) | TypeKind::Void | TypeKind::Error
            )
    }

    /// An assignment to what is no lvalue of ours: a part of a complex or vector object changes the whole object to an
    /// unknown value; everything else is an error.
    fn stored_elsewhere(&mut self, target: ExprId, value: ExprId, span: Span) -> ExprId {
        let ty = self.type_of(target).unqualified();
        if let ExprKind::Unmodelled(what, ref operands) = *self.kind_of(target)
            && what.as_str() == PART
        {
            let (base, mut rest) = (operands[0], operands[1..].to_vec());
            rest.push(value);
            let base_type = self.type_of(base);
            if self.is_lvalue(base) {
                let whole = self.unmodelled("a store to a part", rest, base_type.unqualified(), span);
                let store = self.body.expr(ExprKind::Assign(base, whole), base_type.unqualified(), span);
                let result = self.unmodelled(PART, Vec::new(), ty, span);
                return self.body.expr(ExprKind::Comma(store, result), ty, span);
            }
        }
        if !matches!(ty.kind(), TypeKind::Error) {
            self.error_at(target, "this cannot be assigned to");
        }
        self.unmodelled("an impossible assignment", vec![target, value], ty, span)
    }

    fn compound_assigned(&mut self, op: BinaryOp, target: ExprId, value: ExprId, span: Span) -> ExprId {
        let ty = self.type_of(target).unqualified();
        if !self.is_assignable(target) {
            return self.stored_elsewhere(target, value, span);
        }
        let value_type = self.type_of(value);
        let additive = matches!(op, BinaryOp::Add | BinaryOp::Sub);
        let (value, compute) = match ty.kind() {
            TypeKind::Pointer(_) if additive && value_type.is_integer() => (self.promote(value), ty),
            _ if ty.is_integer()
                && value_type.is_integer()
                && matches!(op, BinaryOp::Shl | BinaryOp::Shr) =>
            {
                (self.promote(value), self.compute_type(target, None))
            }
            _ if matches!(op, BinaryOp::Div | BinaryOp::Rem) && self.computes_in_width(target, value) => {
                return self.havocked(target, value, span);
            }
            _ if ty.is_arithmetic() && value_type.is_arithmetic() => {
                let compute = self.compute_type(target, Some(value));
                let integers = compute.is_integer();
                let needs_integers =
                    !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div);
                if needs_integers && !integers {
                    self.error_at(value, "the operator needs integers");
                    return self.unmodelled("an impossible assignment", vec![target, value], ty, span);
                }
                (self.convert(value, compute), compute)
            }
            TypeKind::Complex(_) | TypeKind::Vector(..) => return self.havocked(target, value, span),
            _ if matches!(
                value_type.kind(),
                TypeKind::Complex(_) | TypeKind::Vector(..) | TypeKind::Error
            ) =>
            {
                return self.havocked(target, value, span);
            }
            _ => {
                let (a, b) = (crate::print::type_text(ty), crate::print::type_text(value_type));
                self.error_at(target, format!("the operator does not apply to `{a}` and `{b}`"));
                return self.havocked(target, value, span);
            }
        };
        self.body.expr(ExprKind::CompoundAssign { op, target, value, compute }, ty, span)
    }

    /// Whether `target op= value` computes in the width of a bit-field: the low bits of sums and products are the same in any width, those
    /// of quotients are not.
    fn computes_in_width(&mut self, target: ExprId, value: ExprId) -> bool {
        let checkpoint = self.body.checkpoint();
        let load = self.rvalue(target);
        let is_narrow = self.common_narrow(load, value).is_some();
        self.body.roll_back(checkpoint);
        is_narrow
    }

    /// The target gets an unknown value after `value` was evaluated.
    fn havocked(&mut self, target: ExprId, value: ExprId, span: Span) -> ExprId {
        let ty = self.type_of(target).unqualified();
        let value = self.unmodelled("complex, vector or wide bit-field arithmetic", vec![value], ty, span);
        self.body.expr(ExprKind::Assign(target, value), ty, span)
    }

    /// The type in which `target op= value` computes; for a shift (no value) the promoted type of the target.
    fn compute_type(&mut self, target: ExprId, value: Option<ExprId>) -> Type {
        // Found on nodes that are thrown away; a constant operand may be converted in place and is restored.
        let checkpoint = self.body.checkpoint();
        let saved = value.map(|id| (id, self.body.body.expr(id).clone()));
        let load = self.rvalue(target);
        let promoted = self.promote(load);
        let ty = match value {
            None => self.type_of(promoted),
            Some(value) => self.usual(load, value).map_or_else(error_type, |(_, _, ty)| ty),
        };
        self.body.roll_back(checkpoint);
        if let Some((id, expr)) = saved {
            self.body.body.exprs[id.index()] = expr;
        }
        ty
    }

    /// `++x`, `x--`, ….
    pub(super) fn update(&mut self, node: Node<'u>) -> ExprId {
        let (Some(operator), Some(argument)) = (field(node, "operator"), field(node, "argument")) else {
            return self.not_understood(node);
        };
        let decrement = self.text(operator) == "--";
        let postfix = operator.start_byte() > argument.start_byte();
        let span = self.span(node);
        // The grammar reads `!x++` as `(!x)++`.
        let mut prefixes = Vec::new();
        let mut inner = argument;
        while postfix
            && inner.kind() == "unary_expression"
            && let Some(next) = field(inner, "argument")
        {
            prefixes.push(inner);
            inner = next;
        }
        let target = self.expr(inner);
        let updated = self.updated(target, decrement, postfix, span);
        self.prefixed(&prefixes, updated)
    }

    /// `++target` and its kin.
    pub(super) fn updated(&mut self, target: ExprId, decrement: bool, postfix: bool, span: Span) -> ExprId {
        let ty = self.type_of(target).unqualified();
        if !self.is_assignable(target) {
            let one = self.int_expr(1, Type::int(), span);
            return self.stored_elsewhere(target, one, span);
        }
        if ty.is_scalar() {
            return self.body.expr(ExprKind::IncDec { target, decrement, postfix }, ty, span);
        }
        if !matches!(ty.kind(), TypeKind::Complex(_) | TypeKind::Vector(..)) {
            self.error_at(target, format!("`{}` cannot be incremented", crate::print::type_text(ty)));
        }
        let one = self.int_expr(1, Type::int(), span);
        self.havocked(target, one, span)
    }
}
