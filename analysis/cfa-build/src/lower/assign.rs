//! Assignments to scalars: `=`, `op=`, `++`, `--`. The value is the one stored.

use proofline_hir::{
    Type, TypeKind,
    body::{BinaryOp, ExprId, ExprKind},
};

use super::{build::Lowering, expr::int_constant, fold};
use proofline_cfa::{Base, Expr, Float, IntType, Lvalue, Op, Rounding, Scalar, Site};

/// Which way `++` and `--` go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Increment {
    /// `++`
    Up,
    /// `--`
    Down,
}

/// Which value of an increment is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum IncrementResult {
    /// The one before: `x++`.
    Old,
    /// The one stored: `++x`.
    New,
    /// None.
    Unused,
}

impl Lowering<'_> {
    /// `target = value`
    pub(crate) fn assign(&mut self, target: ExprId, value: ExprId, wanted: bool, site: Site) -> Expr {
        let body = self.body;
        if self.types.scalar(body.expr(target).ty).is_none() {
            self.assign_aggregate(target, value, site);
            return Expr::int(0);
        }
        let effect = self.effects.of(value).cloned();
        let mut bounds = self.begin_operands(&[target, value]);
        let lvalue = self.lvalue(target);
        let lvalue = self.settle_place(lvalue, effect.as_deref(), site);
        bounds.end_operand(self.at);
        if matches!(lvalue.base, Base::Local(_))
            && lvalue.path.is_empty()
            && !self.is_volatile(target)
            && !wanted
        {
            self.put(value, Some(&lvalue));
            return Expr::int(0);
        }
        let value = self.value(value);
        bounds.end_operand(self.at);
        self.end_operands(bounds);
        self.store(target, lvalue, value, wanted, site)
    }

    /// Below conversions that change no value.
    pub(crate) fn same_format(&self, id: ExprId) -> ExprId {
        let expr = self.body.expr(id);
        if let ExprKind::Cast(inner) = expr.kind {
            let from = self.body.expr(inner).ty;
            let is_same =
                self.types.scalar(from) == self.types.scalar(expr.ty) && self.types.scalar(from).is_some();
            let is_bool = |ty: Type| matches!(ty.kind(), TypeKind::Bool);
            if is_same && is_bool(from) == is_bool(expr.ty) {
                return self.same_format(inner);
            }
        }
        id
    }

    /// Stores the value (converted to the lvalue's format); the result is the value of the assignment.
    fn store(&mut self, target: ExprId, lvalue: Lvalue, value: Expr, wanted: bool, site: Site) -> Expr {
        let Some(scalar) = lvalue.scalar else { return self.unknown_scalar(Type::int(), site) };
        let value = if value.scalar() == scalar { value } else { fold::cast(scalar, value, site) };
        if !wanted {
            self.emit(Op::Assign(lvalue, value), site);
            return Expr::int(0);
        }
        let is_constant = matches!(value, Expr::Int(..) | Expr::Null) && lvalue.bits.is_none();
        if is_constant {
            self.emit(Op::Assign(lvalue, value.clone()), site);
            return value;
        }
        if self.is_volatile(target) && lvalue.bits.is_none() {
            let value = self.save(value, site);
            self.emit(Op::Assign(lvalue, value.clone()), site);
            return value;
        }
        // Read back what was stored, through a place that the store cannot move.
        let own = self.write_effect(&lvalue);
        let lvalue = self.settle_place(lvalue, Some(&own), site);
        self.emit(Op::Assign(lvalue.clone(), value), site);
        Expr::Load(lvalue)
    }

    /// `target op= value`, computed in the type `compute`.
    pub(crate) fn compound_assign(
        &mut self,
        op: BinaryOp,
        target: ExprId,
        value: ExprId,
        compute: Type,
        wanted: bool,
        site: Site,
    ) -> Expr {
        let ty = self.body.expr(target).ty;
        if self.types.scalar(ty).is_none() || self.types.scalar(compute).is_none() {
            self.effect(value);
            self.changed_aggregate(target, site);
            return match self.types.scalar(ty) {
                Some(_) => Expr::Load(self.unmodelled(ty, "complex arithmetic", site)),
                None => Expr::int(0),
            };
        }
        let effect = self.effects.of(value).cloned();
        // It reads its target, too.
        let mut bounds = self.begin_changed(target, value);
        let lvalue = self.lvalue(target);
        let lvalue = self.settle_place(lvalue, effect.as_deref(), site);
        let old = self.load(lvalue.clone(), target);
        let old = self.settle(old, effect.as_deref(), site);
        bounds.end_operand(self.at);
        let value = self.value(value);
        bounds.end_operand(self.at);
        self.end_operands(bounds);
        let new = if let TypeKind::Pointer(element) = ty.kind() {
            let index = if op == BinaryOp::Sub { self.negated_index(value, site) } else { value };
            self.pointer_plus(old, *element, index, site)
        } else {
            let old = self.converted(old, compute, site);
            let new = fold::binary(op, old, value, site);
            self.converted(new, ty, site)
        };
        self.store(target, lvalue, new, wanted, site)
    }

    /// `++target`, `target++`, `--target`, `target--`
    pub(crate) fn inc_dec(
        &mut self,
        target: ExprId,
        step: Increment,
        result: IncrementResult,
        site: Site,
    ) -> Expr {
        let ty = self.body.expr(target).ty;
        if self.types.scalar(ty).is_none() {
            self.changed_aggregate(target, site);
            return Expr::int(0);
        }
        let lvalue = self.lvalue(target);
        let mut old = self.load(lvalue.clone(), target);
        if result == IncrementResult::Old {
            let kept = self.temporary(ty);
            self.emit(Op::Assign(kept.clone(), old), site);
            old = Expr::Load(kept);
        }
        let new = match (ty.kind(), old.scalar()) {
            (TypeKind::Pointer(element), _) => {
                let by = Expr::Int(
                    match step {
                        Increment::Up => 1,
                        Increment::Down => -1,
                    },
                    self.types.ptrdiff_t(),
                );
                self.pointer_plus(old.clone(), *element, by, site)
            }
            (_, scalar) => {
                let compute = match scalar {
                    Scalar::Int(int) => {
                        let width = lvalue.bits.map(|bits| bits.width);
                        Scalar::Int(promoted(int, width))
                    }
                    Scalar::Float(_) | Scalar::Pointer => scalar,
                };
                let op = match step {
                    Increment::Up => BinaryOp::Add,
                    Increment::Down => BinaryOp::Sub,
                };
                let one = match compute {
                    Scalar::Float(float) => {
                        Expr::Float(Float::from_i128(float, 1, Rounding::NearestEven).value)
                    }
                    Scalar::Int(_) | Scalar::Pointer => int_constant(1, compute, site),
                };
                let wide = fold::cast(compute, old.clone(), site);
                let new = fold::binary(op, wide, one, site);
                self.converted(new, ty, site)
            }
        };
        let stored = self.store(target, lvalue, new, result == IncrementResult::New, site);
        if result == IncrementResult::Old { old } else { stored }
    }
}

/// The type of arithmetic on a value of the type (C11 6.3.1.1), or on a bit-field of the width.
pub(crate) fn promoted(ty: IntType, width: Option<u8>) -> IntType {
    let width = width.unwrap_or(ty.bits);
    let fits = width < 32 || (width == 32 && ty.signed);
    if fits && ty.bits <= 32 { IntType::INT } else { ty }
}
