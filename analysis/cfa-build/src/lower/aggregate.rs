//! Values that are not scalars: records, arrays as initialisers, complex numbers and vectors. They live in objects; a value is the
//! lvalue where it is found.

use proofline_hir::{
    TypeKind,
    body::{ExprId, ExprKind},
};

use super::build::Lowering;
use proofline_cfa::{Lvalue, Op, Site};

impl Lowering<'_> {
    /// Where the aggregate is: itself, when the expression is an lvalue or the load of one.
    pub(crate) fn aggregate(&mut self, id: ExprId) -> Lvalue {
        self.lvalue(id)
    }

    /// Where the value of an expression that is no lvalue is.
    pub(crate) fn aggregate_value(&mut self, id: ExprId) -> Lvalue {
        let body = self.body;
        let expr = body.expr(id);
        let site = self.site(id);
        match &expr.kind {
            ExprKind::Load(place) => {
                let lvalue = self.lvalue(*place);
                if self.is_volatile(*place) {
                    let temporary = self.temporary(expr.ty);
                    self.copy(temporary.clone(), lvalue, site);
                    self.may_have_changed(temporary.clone(), site);
                    return temporary;
                }
                lvalue
            }
            ExprKind::Conditional { condition, then: Some(then), otherwise } => {
                let result = self.temporary(expr.ty);
                self.conditional(*condition, Some(*then), *otherwise, Some(&result), site);
                result
            }
            ExprKind::Comma(first, second) => {
                self.effect(*first);
                self.aggregate(*second)
            }
            ExprKind::Assign(target, value) => self.assign_aggregate(*target, *value, site),
            ExprKind::Call { callee, arguments } => self.call_aggregate(id, *callee, arguments, None),
            ExprKind::StatementExpression(stmt) => {
                let result = self.temporary(expr.ty);
                self.statement_expression(*stmt, Some(&result));
                result
            }
            ExprKind::VaArg(list) => {
                self.effect(*list);
                self.demand_argument(*list, expr.ty, site);
                self.unmodelled(expr.ty, "variable argument", site)
            }
            // A cast to the same record type is GNU C; to a union it is a write of one member.
            ExprKind::Cast(arg) if self.body.expr(*arg).ty.unqualified() == expr.ty.unqualified() => {
                self.aggregate(*arg)
            }
            ExprKind::Unmodelled(what, operands) => {
                for operand in operands {
                    self.effect(*operand);
                }
                self.unmodelled(expr.ty, what, site)
            }
            ExprKind::CompoundAssign { target, value, .. } => {
                self.effect(*value);
                self.changed_aggregate(*target, site)
            }
            ExprKind::IncDec { target, .. } => self.changed_aggregate(*target, site),
            ExprKind::Unary(_, arg) | ExprKind::Cast(arg) => {
                self.effect(*arg);
                self.unmodelled(expr.ty, arithmetic_of(expr.ty.kind()), site)
            }
            ExprKind::Binary(_, lhs, rhs) | ExprKind::Compare(_, lhs, rhs) => {
                self.effect(*lhs);
                self.effect(*rhs);
                self.unmodelled(expr.ty, arithmetic_of(expr.ty.kind()), site)
            }
            _ => self.unmodelled(expr.ty, arithmetic_of(expr.ty.kind()), site),
        }
    }

    /// A complex or vector object after an operation on it.
    pub(crate) fn changed_aggregate(&mut self, target: ExprId, site: Site) -> Lvalue {
        let lvalue = self.lvalue(target);
        let what = arithmetic_of(self.body.expr(target).ty.kind());
        self.havoc_unmodelled(lvalue.clone(), what, site);
        lvalue
    }

    /// `to = from` of aggregates. A scalar is among them only where a type was not understood; an error was reported.
    pub(crate) fn copy(&mut self, to: Lvalue, from: Lvalue, site: Site) {
        if to.scalar.is_some() || from.scalar.is_some() {
            return self.havoc_unmodelled(to, "value of unknown type", site);
        }
        let from = retyped(from, &to);
        self.emit(Op::Copy(to, from), site);
    }

    /// `target = value`; the result is where the value can be found.
    pub(crate) fn assign_aggregate(&mut self, target: ExprId, value: ExprId, site: Site) -> Lvalue {
        let body = self.body;
        let effect = self.effects.of(value).cloned();
        let mut bounds = self.begin_operands(&[target, value]);
        let lvalue = self.lvalue(target);
        let lvalue = self.settle_place(lvalue, effect.as_deref(), site);
        bounds.end_operand(self.at);
        if matches!(lvalue.base, proofline_cfa::Base::Local(_))
            && lvalue.path.is_empty()
            && is_computed(&body.expr(value).kind)
        {
            self.put(value, Some(&lvalue));
            return lvalue;
        }
        let from = self.aggregate(value);
        bounds.end_operand(self.at);
        self.end_operands(bounds);
        if from != lvalue {
            self.copy(lvalue.clone(), from, site);
        }
        // The user of the value names the place again: pin it down if the copy may have moved it.
        let own = self.write_effect(&lvalue);
        self.settle_place(lvalue, Some(&own), site)
    }
}

/// The source of a copy, with the target's type (they differ in qualifiers at most).
fn retyped(mut from: Lvalue, to: &Lvalue) -> Lvalue {
    if from.ty.unqualified() == to.ty.unqualified() {
        from.ty = to.ty;
    }
    from
}

/// Whether the value would be in a temporary.
fn is_computed(kind: &ExprKind) -> bool {
    matches!(kind, ExprKind::Call { .. } | ExprKind::Conditional { .. } | ExprKind::StatementExpression(_))
}

fn arithmetic_of(kind: &TypeKind) -> &'static str {
    match kind {
        TypeKind::Complex(_) => "complex arithmetic",
        TypeKind::Vector(..) => "vector arithmetic",
        _ => "value of unknown type",
    }
}
