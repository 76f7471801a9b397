//! Values in automata: sentence 4.

use super::{Flaw, Verifier};
use crate::{
    MemoryPredicate,
    expr::{Base, BinaryOp, Expr, UnaryOp},
    scalar::{IntType, Scalar},
};

impl Verifier<'_> {
    pub(super) fn value(&mut self, expr: &Expr) {
        match expr {
            Expr::Int(value, ty) => {
                self.int_type(*ty);
                let fits = ty.contains(*value) || !ty.is_exact();
                self.expect(fits, Flaw::Constant, || format!("{value} as {ty}"));
            }
            Expr::Float(_) | Expr::Null | Expr::Function(_) => {}
            Expr::Load(lvalue) => {
                self.lvalue(lvalue);
                self.expect(lvalue.scalar.is_some(), Flaw::Aggregate, || "an aggregate is loaded".to_owned());
            }
            Expr::Address(lvalue) => {
                self.lvalue(lvalue);
                self.expect(lvalue.bits.is_none(), Flaw::Address, || "of a bit-field".to_owned());
                if let Base::Local(id) = lvalue.base {
                    let taken = self.only_reads
                        || self.function.locals.get(id.index()).is_none_or(|local| local.address_taken);
                    self.expect(taken, Flaw::Address, || format!("of {id}, which says that it is not taken"));
                }
            }
            Expr::Unary(op, arg, site) => {
                self.site(*site);
                self.value(arg);
                let fits = match (op, arg.scalar()) {
                    (UnaryOp::Negate, Scalar::Int(_) | Scalar::Float(_))
                    | (UnaryOp::BitNot, Scalar::Int(_)) => true,
                    (UnaryOp::BitNot, Scalar::Float(_)) | (_, Scalar::Pointer) => false,
                };
                self.expect(fits, Flaw::Operands, || format!("{op:?} of a {}", arg.scalar()));
            }
            Expr::Binary(op, lhs, rhs, site) => {
                self.site(*site);
                self.operands(*op, lhs, rhs);
            }
            Expr::Overflows(op, lhs, rhs) => {
                self.operands(*op, lhs, rhs);
                self.expect(lhs.int_type().is_some(), Flaw::Operands, || "overflow of no integer".to_owned());
            }
            Expr::Memory(predicate, pointer, size) => {
                match &**pointer {
                    // Bytes begin somewhere, also those of a bit-field and of an array whose address nobody takes: that
                    // they are asked about gives no pointer to anyone.
                    Expr::Address(place) => self.lvalue(place),
                    pointer => self.value(pointer),
                }
                self.value(size);
                self.expect(pointer.scalar() == Scalar::Pointer, Flaw::NotAPointer, || {
                    "asked of memory".to_owned()
                });
                let fits = match predicate {
                    MemoryPredicate::SameObject => size.scalar() == Scalar::Pointer,
                    _ => size.int_type().is_some(),
                };
                self.expect(fits, Flaw::Operands, || "a size that is no integer".to_owned());
            }
            Expr::Compare(_, lhs, rhs) => {
                self.value(lhs);
                self.value(rhs);
                self.same(lhs, rhs);
            }
            Expr::Cast(to, arg, site) => {
                self.site(*site);
                self.value(arg);
                if let Scalar::Int(ty) = to {
                    self.int_type(*ty);
                }
                let across = matches!(
                    (to, arg.scalar()),
                    (Scalar::Pointer, Scalar::Float(_)) | (Scalar::Float(_), Scalar::Pointer)
                );
                self.expect(!across, Flaw::Operands, || format!("a {} made from a {}", to, arg.scalar()));
            }
            Expr::PointerDifference(lhs, rhs, stride, ty) => {
                self.int_type(*ty);
                for side in [lhs, rhs] {
                    self.value(side);
                    self.expect(side.scalar() == Scalar::Pointer, Flaw::NotAPointer, || {
                        "in a distance".to_owned()
                    });
                }
                self.expect(*stride > 0, Flaw::Size, || "a distance in units of 0 bytes".to_owned());
            }
        }
    }

    fn int_type(&mut self, ty: IntType) {
        self.expect((1..=128).contains(&ty.bits), Flaw::Format, || format!("{ty}"));
    }

    fn same(&mut self, lhs: &Expr, rhs: &Expr) {
        let (l, r) = (lhs.scalar(), rhs.scalar());
        self.expect(l == r, Flaw::Operands, || format!("{l} and {r}"));
    }

    fn operands(&mut self, op: BinaryOp, lhs: &Expr, rhs: &Expr) {
        self.value(lhs);
        self.value(rhs);
        let fits = match (op, lhs.scalar()) {
            (_, Scalar::Int(_)) => true,
            (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, Scalar::Float(_)) => true,
            (
                BinaryOp::Rem
                | BinaryOp::Shl
                | BinaryOp::Shr
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor,
                Scalar::Float(_),
            )
            | (_, Scalar::Pointer) => false,
        };
        self.expect(fits, Flaw::Operands, || format!("{op:?} of a {}", lhs.scalar()));
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            self.expect(rhs.int_type().is_some(), Flaw::Operands, || "a shift by no integer".to_owned());
        } else {
            self.same(lhs, rhs);
        }
    }
}
