//! Places: from the body's lvalues to lvalues of the automaton; loads, dereferences, pointer arithmetic.

use std::sync::Arc;

use proofline_hir::{
    Type, TypeKind,
    body::{Body, ExprId, ExprKind, LocalId as BodyLocal},
    types::BitField,
};

use super::{build::Lowering, effects::root, fold};
use proofline_cfa::{
    Base, BinaryOp, Cause, Expr, Lvalue, Op, Scalar, Site, Step, UnaryOp, is_read_only,
    types::{array, innermost, is_variable},
};

impl Lowering<'_> {
    /// What the lvalue expression designates; its parts are evaluated here.
    pub(crate) fn lvalue(&mut self, id: ExprId) -> Lvalue {
        let body = self.body;
        let expr = body.expr(id);
        match &expr.kind {
            ExprKind::Local(local) => {
                let site = self.site(id);
                self.local(*local, site)
            }
            ExprKind::Global(name) | ExprKind::StringLiteral(name) => {
                let base = match self.perhaps_absent(*name, expr.ty) {
                    Some(address) => Base::Deref(Arc::new(address), self.site(id)),
                    None => Base::Global(*name),
                };
                self.place(base, expr.ty)
            }
            ExprKind::Deref(pointer) => {
                if let Some(register) = self.register(*pointer) {
                    return register;
                }
                let site = self.site(id);
                let pointer = self.value(*pointer);
                self.deref(pointer, expr.ty, site)
            }
            ExprKind::Field { base, field, bits } => {
                let record = self.aggregate(*base);
                self.member(record, *field, *bits)
            }
            ExprKind::Index { base, index } => self.element(id, *base, *index),
            ExprKind::CompoundLiteral(local, init) => {
                self.compound_literal(*local, init, id);
                let site = self.site(id);
                self.local(*local, site)
            }
            // Not an lvalue in C; a value of a record type, or something odd that was reported.
            ExprKind::Int(_)
            | ExprKind::Float(..)
            | ExprKind::Function(_)
            | ExprKind::AddressOf(_)
            | ExprKind::AddressOfLabel(_)
            | ExprKind::Load(_)
            | ExprKind::Decay(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Compare(..)
            | ExprKind::PointerAdd { .. }
            | ExprKind::PointerDifference(..)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Conditional { .. }
            | ExprKind::Comma(..)
            | ExprKind::Assign(..)
            | ExprKind::CompoundAssign { .. }
            | ExprKind::IncDec { .. }
            | ExprKind::Cast(_)
            | ExprKind::Call { .. }
            | ExprKind::StatementExpression(_)
            | ExprKind::VaArg(_)
            | ExprKind::SizeOfVariable(_)
            | ExprKind::Unmodelled(..) => {
                if self.types.scalar(expr.ty).is_none() {
                    return self.aggregate_value(id);
                }
                let (value, site) = (self.value(id), self.site(id));
                let temporary = self.temporary(expr.ty);
                self.emit(Op::Assign(temporary.clone(), value), site);
                temporary
            }
        }
    }

    /// A whole local of the body.
    pub(crate) fn local(&mut self, local: BodyLocal, site: Site) -> Lvalue {
        let id = self.locals[local.index()];
        let ty = self.body.local(local).ty;
        if is_variable(ty) {
            let pointer = Expr::Load(self.whole(id));
            return self.place(Base::Deref(Arc::new(pointer), site), ty);
        }
        self.whole(id)
    }

    /// The start of an object as one of the type.
    pub(crate) fn place(&self, base: Base, ty: Type) -> Lvalue {
        let (scalar, size) = (self.types.scalar(ty), self.types.size(ty).unwrap_or(0));
        Lvalue { base, path: Vec::new(), ty, scalar, bits: None, size }
    }

    /// `*pointer` as an object of the type; `*&x` is `x`. (Not where a cast has taken `const` away: the check `read-only` looks at pointers.)
    pub(crate) fn deref(&mut self, pointer: Expr, ty: Type, site: Site) -> Lvalue {
        if let Expr::Address(target) = &pointer
            && target.bits.is_none()
            && (is_read_only(ty) || !is_read_only(target.ty))
        {
            if target.ty.unqualified() == ty.unqualified() {
                return target.clone();
            }
            if let Some((element, length)) = array(target.ty)
                && element.unqualified() == ty.unqualified()
            {
                let zero = Expr::Int(0, self.types.ptrdiff_t());
                return self.indexed(target.clone(), zero, element, length, site);
            }
        }
        self.place(Base::Deref(Arc::new(pointer), site), ty)
    }

    /// A member of a record.
    pub(crate) fn member(&mut self, mut record: Lvalue, field: u32, bits: Option<BitField>) -> Lvalue {
        let found = match record.ty.kind() {
            TypeKind::Record(tag) => self.types.record(*tag).and_then(|r| r.fields.get(field as usize)),
            _ => None,
        };
        let (Some(found), TypeKind::Record(tag)) = (found, record.ty.kind()) else {
            // Of an incomplete or unknown type; an error was reported.
            record.scalar = None;
            return record;
        };
        // The type of a bit-field may be one that was not understood.
        let is_integer = matches!(self.types.scalar(found.ty), Some(Scalar::Int(_)));
        let bits = bits.or(found.bits).filter(|_| is_integer);
        record.path.push(Step::Field { record: *tag, name: found.name, offset: found.offset });
        record.ty = found.ty.qualified(record.ty.qualifiers_of_members());
        record.scalar = self.types.scalar(found.ty);
        record.bits = bits;
        record.size = match bits {
            Some(bits) => (u64::from(bits.first) + u64::from(bits.width)).div_ceil(8),
            None => self.types.size(found.ty).unwrap_or(0),
        };
        record
    }

    fn element(&mut self, id: ExprId, base: ExprId, index: ExprId) -> Lvalue {
        let ty = self.body.expr(id).ty;
        let site = self.site(id);
        let effect = self.effects.of(index).cloned();
        if let Some((element, length)) = array(self.body.expr(base).ty) {
            let mut bounds = self.begin_operands(&[base, index]);
            let object = self.lvalue(base);
            let object = self.settle_place(object, effect.as_deref(), site);
            bounds.end_operand(self.at);
            let index = self.value(index);
            bounds.end_operand(self.at);
            self.end_operands(bounds);
            if let Some(step) = self.row(base, &index, element, site) {
                return row_of(object, step, element);
            }
            return self.indexed(object, index, element, length, site);
        }
        if let Some(register) = self.register_element(base, index) {
            return register;
        }
        let mut bounds = self.begin_operands(&[base, index]);
        let pointer = match self.register_number(base) {
            Some(number) => number,
            None => self.value(base),
        };
        let pointer = self.settle(pointer, effect.as_deref(), site);
        bounds.end_operand(self.at);
        let index = self.value(index);
        bounds.end_operand(self.at);
        self.end_operands(bounds);
        if let Some(step) = self.row(base, &index, ty, site) {
            return row_of(self.place(Base::Deref(Arc::new(pointer), site), ty), step, ty);
        }
        let Expr::Address(target) = self.pointer_plus(pointer, ty, index, site) else {
            return self.place(Base::Deref(Arc::new(Expr::Null), site), ty);
        };
        target
    }

    /// `array[index]`
    pub(crate) fn indexed(
        &mut self,
        mut object: Lvalue,
        index: Expr,
        element: Type,
        length: Option<u64>,
        site: Site,
    ) -> Lvalue {
        let (index, stride) = self.stride(index, element, site);
        let qualifiers = object.ty.qualifiers_of_members();
        // An array of length 0 or 1 at the end of a record in memory is a flexible one by old habit.
        let is_flexible = length.is_some_and(|length| length <= 1)
            && matches!(object.base, Base::Deref(..))
            && matches!(object.path.last(), Some(Step::Field { .. }));
        // An index in units of what is inside rows of variable length is not one of rows.
        let is_flat = self.types.size(element).is_none();
        let length = if is_flexible || is_flat { None } else { length };
        object.path.push(Step::Index { index: Arc::new(index), stride, length, site });
        object.ty = element.qualified(qualifiers);
        object.scalar = self.types.scalar(element);
        object.bits = None;
        object.size = self.types.size(element).unwrap_or(0);
        object
    }

    /// `pointer + index` in elements of the type, as an address; `&array[index]` where the pointer is an array's start. (As in [`Lowering::deref`], not
    /// where a cast has taken `const` away.)
    pub(crate) fn pointer_plus(&mut self, pointer: Expr, element: Type, index: Expr, site: Site) -> Expr {
        if let Expr::Address(target) = &pointer
            && target.bits.is_none()
            && let Some((of, length)) = array(target.ty)
            && of.unqualified() == element.unqualified()
            && (is_read_only(element) || !is_read_only(target.ty))
        {
            return Expr::Address(self.indexed(target.clone(), index, of, length, site));
        }
        let (index, stride) = self.stride(index, element, site);
        let mut target = self.place(Base::Deref(Arc::new(pointer), site), element);
        target.path.push(Step::Index { index: Arc::new(index), stride, length: None, site });
        Expr::Address(target)
    }

    /// The step to a row of variable length, in units of what is inside it. `base`: the array or pointer that is indexed, which says how long its rows
    /// are, if it comes from a variable; otherwise `None`, as for other types of elements.
    pub(crate) fn row(&mut self, base: ExprId, index: &Expr, element: Type, site: Site) -> Option<Step> {
        if self.types.size(element).is_some() {
            return None;
        }
        let rows = self.body.local(variable_of(self.body, base)?).rows.clone();
        let (mut inner, mut rows) = (element, rows.into_iter());
        let mut offset = fold::cast(Scalar::Int(self.types.ptrdiff_t()), index.clone(), site);
        // The innermost dimension stands first: as many as the element has.
        while let Some((of, _)) = array(inner) {
            let count = self.value(rows.next()?);
            let count = fold::cast(Scalar::Int(self.types.ptrdiff_t()), count, site);
            offset = fold::binary(BinaryOp::Mul, offset, count, site);
            inner = of;
        }
        let stride = self.types.size(inner)?;
        Some(Step::Index { index: Arc::new(offset), stride, length: None, site })
    }

    /// Bytes per element. Of rows of variable length they are not constant: then any index, in units of what is inside.
    fn stride(&mut self, index: Expr, element: Type, site: Site) -> (Expr, u64) {
        if let Some(size) = self.types.size(element) {
            return (index, size);
        }
        self.discard(index, site);
        let inner = self.types.size(innermost(element)).unwrap_or(1).max(1);
        let ty = self.types.of_scalar(Scalar::Int(self.types.ptrdiff_t()));
        let any = self.unmodelled(ty, "row of variable length", site);
        (Expr::Load(any), inner)
    }

    /// `-index` of the width of addresses, for `p - index`.
    pub(crate) fn negated_index(&mut self, index: Expr, site: Site) -> Expr {
        let wide = fold::cast(Scalar::Int(self.types.ptrdiff_t()), index, site);
        fold::unary(UnaryOp::Negate, wide, site)
    }

    /// Reads a scalar. `id` is the lvalue expression, for its qualifiers.
    pub(crate) fn load(&mut self, lvalue: Lvalue, id: ExprId) -> Expr {
        let site = self.site(id);
        if lvalue.scalar.is_none() {
            return self.unknown_scalar(self.body.expr(id).ty, site);
        }
        if !self.is_volatile(id) {
            return Expr::Load(lvalue);
        }
        let temporary = self.temporary(self.body.expr(id).ty);
        self.emit(Op::Assign(temporary.clone(), Expr::Load(lvalue)), site);
        self.may_have_changed(temporary.clone(), site);
        Expr::Load(temporary)
    }

    /// After a volatile read: the value may be any other. Where only the program changes the object, `written_values` of the analysis of
    /// programs takes this back.
    pub(crate) fn may_have_changed(&mut self, read: Lvalue, site: Site) {
        self.emit(Op::Havoc(read, Cause::Volatile), site);
    }

    /// Whether something else than the program may change what the lvalue designates. A local that is named is ordinary memory: what could
    /// change it behind the program's back (handlers, `longjmp`, threads) takes the verdict elsewhere.
    pub(crate) fn is_volatile(&self, id: ExprId) -> bool {
        let expr = self.body.expr(id);
        let own = expr.ty.qualifiers().is_volatile;
        match &expr.kind {
            ExprKind::Local(_) | ExprKind::CompoundLiteral(..) => false,
            ExprKind::Field { base, field, .. } => {
                let is_changed = own || self.is_volatile(*base) || self.is_between_registers(*base, *field);
                is_changed && root(self.body, *base).is_none()
            }
            ExprKind::Index { base, .. } if array(self.body.expr(*base).ty).is_some() => {
                (own || self.is_volatile(*base)) && root(self.body, *base).is_none()
            }
            _ => own,
        }
    }

    /// A value of a type that lowering knows nothing about; an error was reported.
    pub(crate) fn unknown_scalar(&mut self, ty: Type, site: Site) -> Expr {
        self.unsupported("value of unknown type", site);
        let ty = if self.types.scalar(ty).is_some() { ty } else { Type::int() };
        Expr::Load(self.unmodelled(ty, "value of unknown type", site))
    }
}

/// The row that the step leads to.
pub(super) fn row_of(mut of: Lvalue, step: Step, element: Type) -> Lvalue {
    let qualifiers = of.ty.qualifiers_of_members();
    of.path.push(step);
    of.ty = element.qualified(qualifiers);
    (of.scalar, of.bits, of.size) = (None, None, 0);
    of
}

/// The variable that an array lvalue or a pointer comes from by indexing, and by adding numbers.
fn variable_of(body: &Body, id: ExprId) -> Option<BodyLocal> {
    match body.expr(id).kind {
        ExprKind::Local(local) => Some(local),
        ExprKind::Load(inner)
        | ExprKind::Decay(inner)
        | ExprKind::Deref(inner)
        | ExprKind::AddressOf(inner)
        | ExprKind::Index { base: inner, .. }
        | ExprKind::PointerAdd { pointer: inner, .. } => variable_of(body, inner),
        _ => None,
    }
}

/// Qualifiers that go over from an aggregate to its parts.
trait MemberQualifiers {
    fn qualifiers_of_members(self) -> proofline_hir::types::Qualifiers;
}

impl MemberQualifiers for Type {
    fn qualifiers_of_members(self) -> proofline_hir::types::Qualifiers {
        let q = self.qualifiers();
        proofline_hir::types::Qualifiers {
            is_const: q.is_const,
            is_volatile: q.is_volatile,
            ..Default::default()
        }
    }
}
