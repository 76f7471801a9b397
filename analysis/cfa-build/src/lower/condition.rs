//! Conditions: `&&`, `||` and `!` become control flow; everything else a pair of edges.

use proofline_hir::{
    TypeKind,
    body::{CompareOp, ExprId, ExprKind, UnaryOp},
};

use super::{build::Lowering, call::direct_name, fold};
use proofline_cfa::{Expr, Loc, Lvalue, Op};

impl Lowering<'_> {
    /// Evaluates the condition and goes on at one of two locations. Afterwards here is neither.
    pub(crate) fn branch(&mut self, id: ExprId, on_true: Loc, on_false: Loc) {
        let body = self.body;
        let expr = body.expr(id);
        match &expr.kind {
            ExprKind::And(lhs, rhs) => {
                let more = self.location();
                self.branch(*lhs, more, on_false);
                self.at = more;
                self.branch(*rhs, on_true, on_false);
            }
            ExprKind::Or(lhs, rhs) => {
                let more = self.location();
                self.branch(*lhs, on_true, more);
                self.at = more;
                self.branch(*rhs, on_true, on_false);
            }
            ExprKind::Unary(UnaryOp::Not, arg) if self.types.scalar(body.expr(*arg).ty).is_some() => {
                self.branch(*arg, on_false, on_true);
            }
            ExprKind::Comma(first, second) => {
                self.effect(*first);
                self.branch(*second, on_true, on_false);
            }
            ExprKind::Conditional { condition, then: Some(then), otherwise } => {
                let (yes, no) = (self.location(), self.location());
                self.branch(*condition, yes, no);
                self.at = yes;
                self.branch(*then, on_true, on_false);
                self.at = no;
                self.branch(*otherwise, on_true, on_false);
            }
            ExprKind::Compare(CompareOp::Ne, arg, zero) if self.is_test(*arg) && self.is_zero(*zero) => {
                self.branch(*arg, on_true, on_false);
            }
            ExprKind::Compare(CompareOp::Eq, arg, zero) if self.is_test(*arg) && self.is_zero(*zero) => {
                self.branch(*arg, on_false, on_true);
            }
            ExprKind::Cast(arg) if self.keeps_truth(id, *arg) => self.branch(*arg, on_true, on_false),
            ExprKind::Call { callee, arguments } if is_expect(direct_name(body, *callee).as_deref()) => {
                let [condition, rest @ ..] = &arguments[..] else { return };
                for extra in rest {
                    self.effect(*extra);
                }
                self.branch(*condition, on_true, on_false);
            }
            _ => {
                let site = self.site(id);
                let value = self.value(id);
                let condition = match value {
                    // As written: `if (x)`, not `if (x != 0)`; constants are decided.
                    Expr::Int(..) | Expr::Null => fold::truth(value),
                    _ => value,
                };
                self.branch_on(condition, on_true, on_false, site);
            }
        }
    }

    /// Whether the expression is itself a condition, so that `!= 0` behind it says nothing.
    fn is_test(&self, id: ExprId) -> bool {
        let expr = self.body.expr(id);
        match &expr.kind {
            ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Compare(..)
            | ExprKind::Unary(UnaryOp::Not, _) => true,
            ExprKind::Cast(arg) => self.keeps_truth(id, *arg) && self.is_test(*arg),
            ExprKind::Call { callee, .. } => is_expect(direct_name(self.body, *callee).as_deref()),
            _ => false,
        }
    }

    fn is_zero(&self, id: ExprId) -> bool {
        match &self.body.expr(id).kind {
            ExprKind::Int(0) => true,
            ExprKind::Cast(arg) => self.is_zero(*arg),
            _ => false,
        }
    }

    /// Whether the cast changes no value between zero and not zero.
    fn keeps_truth(&self, cast: ExprId, arg: ExprId) -> bool {
        use proofline_cfa::Scalar::{Float, Int, Pointer};
        let (to, from) = (self.body.expr(cast).ty, self.body.expr(arg).ty);
        if matches!(to.kind(), TypeKind::Bool) {
            return self.types.scalar(from).is_some();
        }
        match (self.types.scalar(from), self.types.scalar(to)) {
            (Some(Int(_)), Some(Int(to))) if matches!(from.kind(), TypeKind::Bool) => to.bits >= 1,
            (Some(Int(from)), Some(Int(to))) => to.bits >= from.bits || self.is_test(arg),
            (Some(Int(_)), Some(Float(_))) => true,
            (Some(Pointer), Some(Pointer)) => true,
            _ => false,
        }
    }

    /// The value 0 or 1 of a condition.
    pub(crate) fn truth_value(&mut self, id: ExprId) -> Expr {
        let result = self.temporary(proofline_hir::Type::int());
        self.put_truth(id, &result);
        Expr::Load(result)
    }

    /// 0 or 1 into a scalar.
    pub(crate) fn put_truth(&mut self, id: ExprId, result: &Lvalue) {
        let site = self.site(id);
        let Some(scalar) = result.scalar else { return };
        let (yes, no, join) = (self.location(), self.location(), self.location());
        self.branch(id, yes, no);
        for (loc, value) in [(yes, 1), (no, 0)] {
            self.at = loc;
            let value = fold::cast(scalar, Expr::int(value), site);
            self.emit(Op::Assign(result.clone(), value), site);
            self.connect(Op::Skip, join, site);
        }
        self.at = join;
    }
}

pub(crate) fn is_expect(name: Option<&str>) -> bool {
    matches!(name, Some("__builtin_expect" | "__builtin_expect_with_probability"))
}
