//! Arithmetic of bit-fields that are wider than `int`. C leaves their type in arithmetic open: gcc computes in an integer type of exactly
//! their width, clang in the declared type. We do as gcc: operands of the declared type whose width is narrower are known here by
//! their expressions, and what leaves the width is brought back into it. Knows no trees.

use super::Lowerer;
use crate::{
    body::{BinaryOp, ExprId, ExprKind, UnaryOp},
    types::{IntKind, Type, TypeKind},
};

/// An integer type of a width between that of `int` and that of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Narrow {
    pub(crate) kind: IntKind,
    pub(crate) width: u8,
}

impl Lowerer<'_> {
    /// The type that a value has for gcc, if it has no type of C.
    pub(crate) fn narrow(&self, id: ExprId) -> Option<Narrow> {
        let kind = self.type_of(id).int_kind()?;
        let width = self.body.widths.get(&id).copied().or_else(|| self.bit_width(id))?;
        let bits = u32::from(width);
        (IntKind::Int.bits(self.model) < bits && bits < kind.bits(self.model))
            .then_some(Narrow { kind, width })
    }

    /// The common type of two integers, if it is that of a wide bit-field.
    pub(crate) fn common_narrow(&self, left: ExprId, right: ExprId) -> Option<Narrow> {
        let (a, b) = (self.narrow(left), self.narrow(right));
        match (a, b) {
            (Some(a), Some(b)) if a.width == b.width => Some(if a.kind.is_signed() { b } else { a }),
            (Some(a), Some(b)) => Some(if a.width > b.width { a } else { b }),
            (Some(a), None) => self.is_wider(a, right).then_some(a),
            (None, Some(b)) => self.is_wider(b, left).then_some(b),
            (None, None) => None,
        }
    }

    /// The type of the operand that is wider than a wide bit-field beside it.
    pub(crate) fn common_beside_narrow(&self, left: ExprId, right: ExprId) -> Option<Type> {
        let other = match (self.narrow(left), self.narrow(right)) {
            (Some(_), None) => right,
            (None, Some(_)) => left,
            _ => return None,
        };
        self.type_of(other).int_kind().map(|kind| Type::new(TypeKind::Int(kind)))
    }

    fn is_wider(&self, narrow: Narrow, other: ExprId) -> bool {
        self.type_of(other).int_kind().is_none_or(|kind| kind.bits(self.model) < u32::from(narrow.width))
    }

    /// A value of the declared type brought into the width.
    pub(crate) fn narrowed(&mut self, id: ExprId, to: Narrow) -> ExprId {
        if self.narrow(id) == Some(to) {
            return id;
        }
        let ty = Type::new(TypeKind::Int(to.kind));
        let value = self.convert(id, ty);
        if let ExprKind::Int(value) = *self.kind_of(value) {
            return self.expr_at(ExprKind::Int(wrap(value, to)), ty, id);
        }
        let spare = to.kind.bits(self.model) - u32::from(to.width);
        let narrowed = if to.kind.is_signed() {
            let unsigned = Type::new(TypeKind::Int(to.kind.to_unsigned()));
            let bits = self.expr_at(ExprKind::Cast(value), unsigned, id);
            let count = self.expr_at(ExprKind::Int(i128::from(spare)), Type::int(), id);
            let high = self.expr_at(ExprKind::Binary(BinaryOp::Shl, bits, count), unsigned, id);
            let high = self.expr_at(ExprKind::Cast(high), ty, id);
            let count = self.expr_at(ExprKind::Int(i128::from(spare)), Type::int(), id);
            self.expr_at(ExprKind::Binary(BinaryOp::Shr, high, count), ty, id)
        } else {
            let mask = self.expr_at(ExprKind::Int((1 << to.width) - 1), ty, id);
            self.expr_at(ExprKind::Binary(BinaryOp::BitAnd, value, mask), ty, id)
        };
        self.in_width(narrowed, to)
    }

    /// Says of a value of the declared type that it is one of the width.
    pub(crate) fn in_width(&mut self, id: ExprId, width: Narrow) -> ExprId {
        self.body.widths.insert(id, width.width);
        id
    }

    /// The result of an operation on operands of the width.
    pub(crate) fn result_in_width(&mut self, id: ExprId, width: Narrow) -> ExprId {
        let leaves = match self.kind_of(id) {
            ExprKind::Binary(op, ..) => match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl => true,
                BinaryOp::Div => width.kind.is_signed(),
                BinaryOp::Rem | BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                    false
                }
            },
            ExprKind::Unary(UnaryOp::Negate, _) => true,
            ExprKind::Unary(UnaryOp::BitNot, _) => !width.kind.is_signed(),
            _ => true,
        };
        if leaves { self.narrowed(id, width) } else { self.in_width(id, width) }
    }
}

/// The low bits of a number, with the sign of the type.
fn wrap(value: i128, to: Narrow) -> i128 {
    let free = 128 - u32::from(to.width);
    let bits = value << free;
    if to.kind.is_signed() { bits >> free } else { ((bits as u128) >> free) as i128 }
}
