//! Promises about expressions.

use super::{Checker, MAX_DEPTH, is_unknown, same};
use crate::{
    body::{BinaryOp, ExprId, ExprKind, UnaryOp},
    types::{ArrayLength, IntKind, Type, TypeKind},
};

impl Checker<'_> {
    /// Checks an operand and returns its type.
    fn operand(&mut self, id: ExprId) -> Type {
        let Some(expr) = self.body.exprs.get(id.index()) else {
            self.report(format!("no expression {}", id.0));
            return Type::new(TypeKind::Error);
        };
        if std::mem::replace(&mut self.used[id.index()], true) {
            self.wrong(id, "an expression with two users");
            return expr.ty;
        }
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            self.check(id);
            self.depth -= 1;
        }
        expr.ty
    }

    /// Checks an operand that is a value; a string literal's object is one in an initialiser.
    pub(super) fn used_value(&mut self, id: ExprId, or_string: bool) -> Type {
        let ty = self.operand(id);
        if id.index() < self.body.exprs.len() {
            let is_string = or_string && matches!(self.body.expr(id).kind, ExprKind::StringLiteral(_));
            let decays = matches!(ty.kind(), TypeKind::Array(..) | TypeKind::Function(_));
            let is_value = is_string || (!self.is_lvalue(id) && !decays);
            self.require(is_value, id, "a value is needed");
        }
        ty
    }

    /// Checks an operand of which only the evaluation matters.
    pub(super) fn discarded(&mut self, id: ExprId) -> Type {
        self.operand(id)
    }

    fn lvalue(&mut self, id: ExprId) -> Type {
        let ty = self.operand(id);
        if id.index() < self.body.exprs.len() {
            self.require(self.is_lvalue(id), id, "an lvalue is needed");
        }
        ty
    }

    pub(super) fn scalar(&mut self, id: ExprId) -> Type {
        let ty = self.used_value(id, false);
        self.require(ty.is_scalar() || is_unknown(ty), id, "a scalar is needed");
        ty
    }

    fn integer(&mut self, id: ExprId) -> Type {
        let ty = self.used_value(id, false);
        self.require(ty.is_integer() || is_unknown(ty), id, "an integer is needed");
        ty
    }

    fn is_promoted(&self, ty: Type) -> bool {
        match ty.kind() {
            TypeKind::Int(kind) => kind.rank() >= IntKind::Int.rank(),
            TypeKind::Bool | TypeKind::Enum(..) => false,
            _ => true,
        }
    }

    fn check(&mut self, id: ExprId) {
        let body = self.body;
        let expr = body.expr(id);
        let ty = expr.ty;
        let int = Type::int();
        for operand in expr.kind.operands() {
            self.require(operand < id, id, "an operand comes after its user");
        }
        match &expr.kind {
            ExprKind::Int(value) => {
                let fits = ty.is_integer() && ty.wrap_int(*value, self.module.data_model) == Some(*value);
                self.require(fits, id, "a constant outside its type");
            }
            ExprKind::Float(..) => {
                self.require(matches!(ty.kind(), TypeKind::Float(_)), id, "a floating constant")
            }
            ExprKind::StringLiteral(name) => {
                let known = self.module.strings.iter().any(|s| s.name == *name);
                self.require(
                    known && matches!(ty.kind(), TypeKind::Array(..)),
                    id,
                    "a string literal's object",
                );
            }
            ExprKind::Local(local) => {
                // In its own initialiser an array may still have no length.
                let is_open = |of: Type| match (of.kind(), ty.kind()) {
                    (TypeKind::Array(a, _), TypeKind::Array(b, ArrayLength::Unknown)) => same(*a, *b),
                    _ => false,
                };
                let known = body.locals.get(local.index()).is_some_and(|l| same(l.ty, ty) || is_open(l.ty));
                self.require(known, id, "a local of another type");
            }
            ExprKind::Global(name) => {
                let known = self.module.globals.iter().any(|g| g.name == *name);
                self.require(known, id, "an object that the module lacks");
            }
            ExprKind::Function(name) => {
                let known = self.module.functions.iter().any(|f| f.name == *name);
                let is_function = matches!(ty.kind(), TypeKind::Function(_));
                self.require(known && is_function, id, "a function that the module lacks");
            }
            ExprKind::Deref(pointer) => {
                let pointer = self.used_value(*pointer, false);
                self.require(pointer.pointee() == Some(ty), id, "a dereference of another type");
            }
            ExprKind::Field { base, field, bits } => {
                let base = self.operand(*base);
                let TypeKind::Record(tag) = base.kind() else {
                    return self.wrong(id, "a member of what is no record");
                };
                let known = self.records.get(tag).and_then(|r| r.fields.get(*field as usize));
                let fits = known.is_some_and(|f| same(f.ty, ty) && f.bits == *bits);
                self.require(fits, id, "a member of another type");
            }
            ExprKind::Index { base, index } => {
                let base_type = self.operand(*base);
                let element = match base_type.kind() {
                    TypeKind::Array(element, _) => {
                        self.require(self.is_lvalue(*base), id, "an element of an array that is no lvalue");
                        Some(*element)
                    }
                    _ => {
                        self.require(!self.is_lvalue(*base), id, "an element behind an lvalue");
                        base_type.pointee()
                    }
                };
                self.integer(*index);
                self.require(element.is_some_and(|e| same(e, ty)), id, "an element of another type");
            }
            ExprKind::AddressOf(place) => {
                let target = self.operand(*place);
                let is_function = matches!(target.kind(), TypeKind::Function(_));
                let has_bits = matches!(body.expr(*place).kind, ExprKind::Field { bits: Some(_), .. });
                let fits =
                    ty.pointee() == Some(target) && (is_function || self.is_lvalue(*place)) && !has_bits;
                self.require(fits, id, "an address of what has none");
            }
            ExprKind::AddressOfLabel(label) => {
                let known = self.in_initializer || label.index() < body.labels.len();
                self.require(known, id, "a label that the body lacks");
            }
            ExprKind::Load(place) => {
                let object = self.lvalue(*place);
                let loads =
                    !matches!(object.kind(), TypeKind::Array(..) | TypeKind::Function(_) | TypeKind::Void);
                self.require(loads && object.unqualified() == ty, id, "a load of another type");
            }
            ExprKind::Decay(place) => {
                let of = self.operand(*place);
                let fits = match of.kind() {
                    TypeKind::Array(element, _) => {
                        self.is_lvalue(*place) && ty.pointee().is_some_and(|t| same(t, *element))
                    }
                    TypeKind::Function(_) => ty.pointee() == Some(of),
                    _ => false,
                };
                self.require(fits, id, "a decay of what does not");
            }
            ExprKind::Unary(UnaryOp::Not, operand) => {
                self.scalar(*operand);
                self.require(ty == int, id, "a negation that is no int");
            }
            ExprKind::Unary(UnaryOp::Negate | UnaryOp::BitNot, operand) => {
                let operand = self.used_value(*operand, false);
                let fits = operand == ty && ty.is_arithmetic() && self.is_promoted(ty);
                self.require(fits, id, "an operand that is not promoted");
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.used_value(*left, false), self.used_value(*right, false));
                let is_shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
                let right_fits =
                    if is_shift { right.is_integer() && self.is_promoted(right) } else { right == ty };
                let fits = left == ty && right_fits && ty.is_arithmetic() && self.is_promoted(ty);
                self.require(fits, id, "operands that are not converted");
            }
            ExprKind::Compare(_, left, right) => {
                let (left_type, right) = (self.scalar(*left), self.scalar(*right));
                self.require(left_type == right && ty == int, id, "operands that are not converted");
            }
            ExprKind::PointerAdd { pointer, index, .. } => {
                let pointer = self.used_value(*pointer, false);
                self.integer(*index);
                self.require(pointer == ty && ty.pointee().is_some(), id, "a moved pointer of another type");
            }
            ExprKind::PointerDifference(left, right) => {
                let (left, right) = (self.used_value(*left, false), self.used_value(*right, false));
                let fits = left == right && left.pointee().is_some() && ty.is_integer();
                self.require(fits, id, "a difference of different pointers");
            }
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                self.scalar(*left);
                self.scalar(*right);
                self.require(ty == int, id, "a truth value that is no int");
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                self.scalar(*condition);
                for branch in then.iter().chain([otherwise]) {
                    let branch = self.used_value(*branch, false);
                    self.require(same(branch, ty), id, "a branch of another type");
                }
            }
            ExprKind::Comma(left, right) => {
                self.discarded(*left);
                let right = self.used_value(*right, false);
                self.require(right == ty, id, "a comma of another type");
            }
            ExprKind::Assign(target, value) => {
                let target = self.lvalue(*target);
                let value = self.used_value(*value, false);
                let fits = same(target, value) && target.unqualified() == ty;
                self.require(fits, id, "a value that is not converted");
            }
            ExprKind::CompoundAssign { op, target, value, compute } => {
                let target = self.lvalue(*target);
                let value = self.used_value(*value, false);
                let by_integer = matches!(op, BinaryOp::Shl | BinaryOp::Shr) || target.pointee().is_some();
                let fits = if by_integer {
                    value.is_integer() && self.is_promoted(value)
                } else {
                    value == *compute
                };
                let is_computed = target.pointee().is_some() || self.is_promoted(*compute);
                self.require(
                    fits && is_computed && target.unqualified() == ty,
                    id,
                    "a value that is not converted",
                );
            }
            ExprKind::IncDec { target, .. } => {
                let target = self.lvalue(*target);
                self.require(
                    target.is_scalar() && target.unqualified() == ty,
                    id,
                    "an increment of what is no scalar",
                );
            }
            ExprKind::Cast(operand) => {
                if matches!(ty.kind(), TypeKind::Void) {
                    self.discarded(*operand);
                    return;
                }
                let from = self.used_value(*operand, false);
                self.require(from.is_scalar() && ty.is_scalar(), id, "a conversion of what is no scalar");
            }
            ExprKind::Call { callee, arguments } => self.call(id, *callee, arguments),
            ExprKind::CompoundLiteral(local, init) => {
                let known = body.locals.get(local.index()).is_some_and(|l| l.ty == ty);
                self.require(known, id, "a literal of another type");
                self.initializer(init, ty);
            }
            ExprKind::StatementExpression(block) => {
                self.stmt(*block);
                let value = self.value_of_block(*block);
                let fits = matches!(ty.kind(), TypeKind::Void) || value == Some(ty);
                self.require(fits, id, "a statement expression of another type");
            }
            ExprKind::VaArg(list) => {
                self.operand(*list);
            }
            ExprKind::SizeOfVariable(bytes) => {
                let bytes = self.integer(*bytes);
                self.require(bytes == ty, id, "a size of another type");
            }
            ExprKind::Unmodelled(_, operands) => {
                for operand in operands {
                    self.operand(*operand);
                }
            }
        }
    }

    fn call(&mut self, id: ExprId, callee: ExprId, arguments: &[ExprId]) {
        let callee_type = self.operand(callee);
        let is_designator = matches!(self.body.expr(callee).kind, ExprKind::Function(_));
        self.require(is_designator || !self.is_lvalue(callee), id, "a call of an lvalue");
        let function = callee_type.pointee().unwrap_or(callee_type);
        let TypeKind::Function(signature) = function.kind() else {
            return self.wrong(id, "a call of what is no function");
        };
        let result = signature.result.unqualified();
        self.require(result == self.body.expr(id).ty, id, "a call of another type");
        let mut fits = true;
        for (index, argument) in arguments.iter().enumerate() {
            let ty = self.used_value(*argument, false);
            if !signature.unprototyped
                && let Some(parameter) = signature.parameters.get(index)
            {
                fits &= same(*parameter, ty);
            }
        }
        self.require(fits, id, "an argument that is not converted");
    }
}
