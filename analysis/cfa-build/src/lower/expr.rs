//! Scalar values: from the body's expressions to expressions without side effects, whose effects have become edges.

use std::sync::Arc;

use proofline_hir::{
    Type, TypeKind,
    body::{ExprId, ExprKind, UnaryOp as BodyUnary},
};

use super::{
    assign::{Increment, IncrementResult},
    build::Lowering,
    fold,
    jump::label_difference,
    lvalue::row_of,
};
use proofline_cfa::{Base, Cause, CompareOp, Expr, Lvalue, Name, Op, Scalar, Site, UnaryOp};

/// So many operators of a chain stay in one expression.
const LONG_CHAIN: usize = 32;

impl Lowering<'_> {
    /// Evaluates to a scalar value; it holds until something is executed that [`Lowering::settle`] was not told of.
    pub(crate) fn value(&mut self, id: ExprId) -> Expr {
        let body = self.body;
        let expr = body.expr(id);
        let ty = expr.ty;
        let Some(scalar) = self.types.scalar(ty) else {
            return self.value_without_scalar(id, ty);
        };
        self.demand_order(id);
        let site = self.site(id);
        match &expr.kind {
            ExprKind::Int(value) => int_constant(*value, scalar, site),
            ExprKind::Float(value, true) => match scalar {
                Scalar::Float(_) => Expr::Float(*value),
                Scalar::Int(_) | Scalar::Pointer => self.unknown_scalar(ty, site),
            },
            ExprKind::Float(_, false) => Expr::Load(self.unmodelled(ty, "inexact floating constant", site)),
            ExprKind::StringLiteral(_)
            | ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Deref(_)
            | ExprKind::Field { .. }
            | ExprKind::Index { .. }
            | ExprKind::CompoundLiteral(..) => {
                let lvalue = self.lvalue(id);
                self.load(lvalue, id)
            }
            ExprKind::Function(name) => self.function(*name, expr.ty),
            ExprKind::AddressOf(place) | ExprKind::Decay(place) => self.address(*place),
            ExprKind::AddressOfLabel(label) => self.label_address(*label, site),
            ExprKind::Load(place) => {
                let lvalue = self.lvalue(*place);
                self.load(lvalue, *place)
            }
            ExprKind::Unary(BodyUnary::Negate, arg) => {
                let arg = self.value(*arg);
                fold::unary(UnaryOp::Negate, arg, site)
            }
            ExprKind::Unary(BodyUnary::BitNot, arg) => {
                let arg = self.value(*arg);
                fold::unary(UnaryOp::BitNot, arg, site)
            }
            ExprKind::Unary(BodyUnary::Not, arg) => {
                if self.types.scalar(body.expr(*arg).ty).is_none() {
                    self.effect(*arg);
                    return self.unknown_scalar(ty, site);
                }
                let arg = self.value(*arg);
                fold::not(arg)
            }
            ExprKind::Binary(_, _, _) => self.chain(id),
            ExprKind::Compare(op, lhs, rhs) => {
                if self.types.scalar(body.expr(*lhs).ty).is_none() {
                    self.effect(*lhs);
                    self.effect(*rhs);
                    return Expr::Load(self.unmodelled(ty, "comparison of complex values", site));
                }
                let (lhs, rhs) = self.operands(*lhs, *rhs);
                let rhs = fold::cast(lhs.scalar(), rhs, site);
                fold::compare(*op, lhs, rhs)
            }
            ExprKind::PointerAdd { pointer, index, subtract } => {
                let element = ty.pointee().unwrap_or(Type::void());
                if let Some(address) = self.register_address(id) {
                    return address;
                }
                let base = *pointer;
                let (pointer, index) = match self.register_number(base) {
                    Some(number) => (number, self.value(*index)),
                    None => self.operands(base, *index),
                };
                let index = if *subtract { self.negated_index(index, site) } else { index };
                if let Some(step) = self.row(base, &index, element, site) {
                    let rows = self.place(Base::Deref(Arc::new(pointer), site), element);
                    return Expr::Address(row_of(rows, step, element));
                }
                self.pointer_plus(pointer, element, index, site)
            }
            ExprKind::PointerDifference(lhs, rhs) => self.pointer_difference(id, *lhs, *rhs),
            ExprKind::And(..) | ExprKind::Or(..) => self.truth_value(id),
            ExprKind::Conditional { condition, then, otherwise } => {
                let result = self.temporary(ty);
                self.conditional(*condition, *then, *otherwise, Some(&result), site);
                Expr::Load(result)
            }
            ExprKind::Comma(first, second) => {
                self.effect(*first);
                self.value(*second)
            }
            ExprKind::Assign(target, value) => self.assign(*target, *value, true, site),
            ExprKind::CompoundAssign { op, target, value, compute } => {
                self.compound_assign(*op, *target, *value, *compute, true, site)
            }
            ExprKind::IncDec { target, decrement, postfix } => {
                let result = if *postfix { IncrementResult::Old } else { IncrementResult::New };
                self.inc_dec(*target, direction(*decrement), result, site)
            }
            ExprKind::Cast(arg) => match self.register_address(id) {
                Some(address) => address,
                None => self.cast(*arg, ty, site),
            },
            ExprKind::Call { callee, arguments } => {
                let value = self.call(id, *callee, arguments, None, true);
                value.unwrap_or_else(|| Expr::int(0))
            }
            ExprKind::StatementExpression(stmt) => {
                let result = self.temporary(ty);
                self.statement_expression(*stmt, Some(&result));
                Expr::Load(result)
            }
            ExprKind::VaArg(list) => {
                self.effect(*list);
                Expr::Load(self.next_argument(*list, ty, site))
            }
            ExprKind::SizeOfVariable(size) => self.value(*size),
            ExprKind::Unmodelled(what, operands) => {
                for operand in operands {
                    self.effect(*operand);
                }
                Expr::Load(self.unmodelled(ty, what, site))
            }
        }
    }

    /// `a + b - c …`, whose left operands are read in a loop. Of a long chain parts are put into temporaries, so that no expression is deep.
    fn chain(&mut self, id: ExprId) -> Expr {
        let body = self.body;
        let mut links = Vec::new();
        let mut first = id;
        while let ExprKind::Binary(op, lhs, rhs) = body.expr(first).kind
            && self.types.scalar(body.expr(first).ty).is_some()
        {
            links.push((first, self.site(first), op, lhs, rhs));
            first = lhs;
        }
        let begin = self.at;
        let mut value = self.value(first);
        for (at, (link, site, op, lhs, rhs)) in links.into_iter().rev().enumerate() {
            let effect = self.effects.of(rhs).cloned();
            let mut bounds = self.begin_operands(&[lhs, rhs]).from(begin);
            let left_site = self.site(lhs);
            let left = self.settle(value, effect.as_deref(), left_site);
            bounds.end_operand(self.at);
            let right = self.value(rhs);
            bounds.end_operand(self.at);
            self.end_operands(bounds);
            value = if let Some((from, to)) = label_difference(body, link)
                && from != to
            {
                Expr::Load(self.unmodelled(body.expr(link).ty, "the distance of two labels", site))
            } else {
                fold::binary(op, left, right, site)
            };
            if (at + 1).is_multiple_of(LONG_CHAIN) {
                value = self.save(value, site);
            }
        }
        value
    }

    /// For the effects only; C has no scalar here.
    fn value_without_scalar(&mut self, id: ExprId, ty: Type) -> Expr {
        let site = self.site(id);
        match ty.kind() {
            TypeKind::Function(_) => self.address(id),
            TypeKind::Error => {
                self.unsupported("value of unknown type", site);
                self.effect(id);
                Expr::Load(self.unmodelled(Type::int(), "value of unknown type", site))
            }
            _ => {
                self.effect(id);
                Expr::int(0)
            }
        }
    }

    /// Both operands, left to right.
    pub(crate) fn operands(&mut self, lhs: ExprId, rhs: ExprId) -> (Expr, Expr) {
        let site = self.site(lhs);
        let effect = self.effects.of(rhs).cloned();
        let mut bounds = self.begin_operands(&[lhs, rhs]);
        let left = self.value(lhs);
        let left = self.settle(left, effect.as_deref(), site);
        bounds.end_operand(self.at);
        let right = self.value(rhs);
        bounds.end_operand(self.at);
        self.end_operands(bounds);
        (left, right)
    }

    /// A function's address.
    fn function(&self, name: Name, ty: Type) -> Expr {
        self.perhaps_absent(name, ty).unwrap_or(Expr::Function(name))
    }

    /// `&place`, an array's or a function's decay.
    pub(crate) fn address(&mut self, place: ExprId) -> Expr {
        let body = self.body;
        let expr = body.expr(place);
        match &expr.kind {
            ExprKind::Function(name) => self.function(*name, expr.ty),
            ExprKind::Deref(pointer) => self.value(*pointer),
            ExprKind::Decay(inner) | ExprKind::AddressOf(inner) => self.address(*inner),
            _ => fold::address(self.lvalue(place)),
        }
    }

    fn pointer_difference(&mut self, id: ExprId, lhs: ExprId, rhs: ExprId) -> Expr {
        let body = self.body;
        let (site, ty) = (self.site(id), body.expr(id).ty);
        if label_difference(body, id).is_some_and(|(from, to)| from != to) {
            return Expr::Load(self.unmodelled(ty, "the distance of two labels", site));
        }
        let element = body.expr(lhs).ty.pointee().unwrap_or(Type::void());
        let (lhs, rhs) = self.operands(lhs, rhs);
        match (self.types.size(element), self.types.scalar(ty)) {
            (Some(size), Some(Scalar::Int(int))) if size > 0 => {
                Expr::PointerDifference(Arc::new(lhs), Arc::new(rhs), size, int)
            }
            _ => {
                self.discard(lhs, site);
                self.discard(rhs, site);
                Expr::Load(self.unmodelled(ty, "difference of pointers to rows of variable length", site))
            }
        }
    }

    pub(crate) fn cast(&mut self, arg: ExprId, to: Type, site: Site) -> Expr {
        if self.types.scalar(self.body.expr(arg).ty).is_none()
            && !matches!(self.body.expr(arg).ty.kind(), TypeKind::Function(_) | TypeKind::Error)
        {
            self.effect(arg);
            return Expr::Load(self.unmodelled(to, "conversion of a complex or vector value", site));
        }
        let value = self.value(arg);
        self.converted(value, to, site)
    }

    /// The scalar converted to the type.
    pub(crate) fn converted(&mut self, value: Expr, to: Type, site: Site) -> Expr {
        match (to.kind(), self.types.scalar(to)) {
            (TypeKind::Bool, _) => fold::to_bool(value, site),
            (_, Some(scalar)) => fold::cast(scalar, value, site),
            (_, None) => {
                self.discard(value, site);
                Expr::int(0)
            }
        }
    }

    /// `condition ? then : otherwise` into `result`, or for its effects.
    pub(crate) fn conditional(
        &mut self,
        condition: ExprId,
        then: Option<ExprId>,
        otherwise: ExprId,
        result: Option<&Lvalue>,
        site: Site,
    ) {
        let (yes, no, join) = (self.location(), self.location(), self.location());
        match then {
            Some(then) => {
                self.branch(condition, yes, no);
                self.at = yes;
                self.put(then, result);
            }
            None => {
                let at = self.site(condition);
                let value = self.value(condition);
                let value = if fold::is_partial(&value) { self.save(value, at) } else { value };
                self.branch_on(fold::truth(value.clone()), yes, no, at);
                self.at = yes;
                if let Some(result) = result {
                    let value = self.converted(value, result.ty, site);
                    self.emit(Op::Assign(result.clone(), value), site);
                }
            }
        }
        self.connect(Op::Skip, join, site);
        self.at = no;
        self.put(otherwise, result);
        self.enter(join, site);
    }

    /// Evaluates into an object that nothing else names meanwhile or that is a whole local: the write comes last. Without one, for the
    /// effects.
    pub(crate) fn put(&mut self, value: ExprId, result: Option<&Lvalue>) {
        let Some(result) = result else { return self.effect(value) };
        let body = self.body;
        let site = self.site(value);
        let plain = self.same_format(value);
        let (from, to) = (self.types.scalar(body.expr(plain).ty), result.scalar);
        match (&body.expr(plain).kind, to) {
            (ExprKind::Conditional { condition, then, otherwise }, _) if from == to => {
                self.conditional(*condition, *then, *otherwise, Some(result), site);
            }
            (ExprKind::And(..) | ExprKind::Or(..), Some(_)) if from == to => self.put_truth(plain, result),
            (ExprKind::Comma(first, second), _) if from == to => {
                self.effect(*first);
                self.put(*second, Some(result));
            }
            (ExprKind::StatementExpression(stmt), _) if from == to => {
                self.statement_expression(*stmt, Some(result));
            }
            (ExprKind::Call { callee, arguments }, Some(_)) if from == to => {
                let stored = Expr::Load(result.clone());
                if let Some(value) = self.call(plain, *callee, arguments, Some(result.clone()), true)
                    && value != stored
                {
                    self.emit(Op::Assign(result.clone(), value), site);
                }
            }
            (ExprKind::Call { callee, arguments }, None) if from.is_none() => {
                self.call_aggregate(plain, *callee, arguments, Some(result.clone()));
            }
            (_, Some(scalar)) => {
                if self.types.scalar(body.expr(value).ty).is_none() {
                    // `c ? f() : g()` of type void, or an error.
                    return self.effect(value);
                }
                let value = self.value(value);
                let value = fold::cast(scalar, value, site);
                self.emit(Op::Assign(result.clone(), value), site);
            }
            (_, None) => {
                let from = self.aggregate(value);
                self.copy(result.clone(), from, site);
            }
        }
    }

    /// Evaluates for the effects only.
    pub(crate) fn effect(&mut self, id: ExprId) {
        let body = self.body;
        let expr = body.expr(id);
        let site = self.site(id);
        match &expr.kind {
            ExprKind::Cast(arg) if matches!(expr.ty.kind(), TypeKind::Void) => self.effect(*arg),
            ExprKind::Conditional { condition, then, otherwise } => {
                self.conditional(*condition, *then, *otherwise, None, site);
            }
            ExprKind::And(lhs, rhs) | ExprKind::Or(lhs, rhs) => {
                let (more, join) = (self.location(), self.location());
                if matches!(expr.kind, ExprKind::And(..)) {
                    self.branch(*lhs, more, join);
                } else {
                    self.branch(*lhs, join, more);
                }
                self.at = more;
                self.effect(*rhs);
                self.enter(join, site);
            }
            ExprKind::Comma(first, second) => {
                self.effect(*first);
                self.effect(*second);
            }
            ExprKind::Assign(target, value) => {
                self.demand_order(id);
                self.assign(*target, *value, false, site);
            }
            ExprKind::CompoundAssign { op, target, value, compute } => {
                self.demand_order(id);
                self.compound_assign(*op, *target, *value, *compute, false, site);
            }
            ExprKind::IncDec { target, decrement, postfix: _ } => {
                self.demand_order(id);
                self.inc_dec(*target, direction(*decrement), IncrementResult::Unused, site);
            }
            ExprKind::Call { callee, arguments } => {
                self.call(id, *callee, arguments, None, false);
            }
            ExprKind::StatementExpression(stmt) => self.statement_expression(*stmt, None),
            ExprKind::Unmodelled(what, operands) => {
                for operand in operands {
                    self.effect(*operand);
                }
                self.approximate(what, site);
            }
            ExprKind::VaArg(list) => {
                self.effect(*list);
                self.demand_argument(*list, expr.ty, site);
            }
            _ if self.types.scalar(expr.ty).is_some() => {
                let value = self.value(id);
                self.discard(value, site);
            }
            _ => match expr.ty.kind() {
                TypeKind::Function(_) => {
                    let value = self.address(id);
                    self.discard(value, site);
                }
                TypeKind::Void | TypeKind::Error => self.effect_of_operand(id),
                _ => {
                    self.aggregate(id);
                }
            },
        }
    }

    /// A void or erroneous expression that is not one of the above: `*p` of a `void *`, for instance.
    fn effect_of_operand(&mut self, id: ExprId) {
        let body = self.body;
        match &body.expr(id).kind {
            ExprKind::Deref(e) | ExprKind::Load(e) | ExprKind::Cast(e) | ExprKind::Unary(_, e) => {
                self.effect(*e)
            }
            ExprKind::Field { base, .. } => self.effect(*base),
            ExprKind::Index { base, index } => {
                self.effect(*base);
                self.effect(*index);
            }
            ExprKind::Binary(_, lhs, rhs) | ExprKind::Compare(_, lhs, rhs) => {
                self.effect(*lhs);
                self.effect(*rhs);
            }
            _ => {}
        }
    }

    /// A havocked scalar of the type.
    pub(crate) fn any_value(&mut self, ty: Type, cause: Cause, site: Site) -> Expr {
        let temporary = self.temporary(ty);
        self.emit(Op::Havoc(temporary.clone(), cause), site);
        Expr::Load(temporary)
    }

    /// `(int)(value != 0)` of the left and right comparisons that lowering makes itself.
    pub(crate) fn equals(&mut self, lhs: Expr, rhs: Expr) -> Expr {
        fold::compare(CompareOp::Eq, lhs, rhs)
    }
}

/// An integer constant of any scalar type.
pub(crate) fn int_constant(value: i128, scalar: Scalar, site: Site) -> Expr {
    match scalar {
        Scalar::Int(ty) => Expr::Int(ty.wrap(value), ty),
        Scalar::Pointer if value == 0 => Expr::Null,
        Scalar::Pointer => {
            let ty = proofline_cfa::IntType { bits: 64, signed: true };
            Expr::Cast(Scalar::Pointer, Arc::new(Expr::Int(ty.wrap(value), ty)), site)
        }
        Scalar::Float(ty) => {
            let int = proofline_cfa::IntType { bits: 64, signed: true };
            fold::cast(Scalar::Float(ty), Expr::Int(int.wrap(value), int), site)
        }
    }
}

/// A name for havocs.
pub(crate) fn unmodelled(what: &str) -> Cause {
    Cause::Unmodelled(Name::new(what))
}

fn direction(decrement: bool) -> Increment {
    if decrement { Increment::Down } else { Increment::Up }
}
