//! Conversions: lvalues to values, promotions, the usual arithmetic conversions, assignment conversion, and the types
//! that two operands have in common. Every conversion becomes a node. Knows no trees.
//!
//! A bit-field wider than `int` is computed with in its width, as by gcc: see `wide_bit_field`.

use proofline_syntax::{DataModel, Span};

use super::{Lowerer, error_type, objects::composite};
use crate::{
    Name,
    body::{ExprId, ExprKind, InitEntry, InitStep, Initializer, Local},
    consteval::{self, ConstValue},
    types::{ArrayLength, FloatKind, IntKind, Qualifiers, Signature, Type, TypeKind},
};

/// The type of integer promotion. `width` is that of a bit-field.
pub(crate) fn promoted(ty: Type, width: Option<u8>, model: DataModel) -> Type {
    if matches!(ty.kind(), TypeKind::Bool) {
        return Type::int();
    }
    let Some(kind) = ty.int_kind() else { return ty.unqualified() };
    let int_bits = IntKind::Int.bits(model);
    let bits = width.map_or(kind.bits(model), u32::from);
    if bits < int_bits || (bits == int_bits && kind.is_signed() && width.is_some()) {
        Type::int()
    } else if bits == int_bits && width.is_some() {
        Type::new(TypeKind::Int(IntKind::UInt))
    } else {
        Type::new(TypeKind::Int(kind))
    }
}

/// The type that two real arithmetic types are converted to after promotion; `None` if one is not such a type.
pub(crate) fn common_type(left: Type, right: Type, model: DataModel) -> Option<Type> {
    match (left.kind(), right.kind()) {
        (TypeKind::Float(a), TypeKind::Float(b)) => {
            Some(Type::new(TypeKind::Float(float_rank(*a).max(float_rank(*b)).1)))
        }
        (TypeKind::Float(_), _) if right.is_integer() => Some(left.unqualified()),
        (_, TypeKind::Float(_)) if left.is_integer() => Some(right.unqualified()),
        _ => {
            let (left, right) =
                (promoted(left, None, model).int_kind()?, promoted(right, None, model).int_kind()?);
            Some(Type::new(TypeKind::Int(common_int(left, right, model))))
        }
    }
}

/// Rank of a floating type in the usual arithmetic conversions, and the type.
pub(crate) fn float_rank(kind: FloatKind) -> (u8, FloatKind) {
    let rank = match kind {
        FloatKind::Float16 => 0,
        FloatKind::Float => 1,
        FloatKind::Double => 2,
        FloatKind::LongDouble => 3,
        FloatKind::Float128 => 4,
    };
    (rank, kind)
}

fn common_int(left: IntKind, right: IntKind, model: DataModel) -> IntKind {
    let (high, low) = if left.rank() >= right.rank() { (left, right) } else { (right, left) };
    if high.is_signed() == low.is_signed() || !high.is_signed() {
        return high;
    }
    if high.rank() == low.rank() {
        low
    } else if high.bits(model) > low.bits(model) {
        high
    } else {
        high.to_unsigned()
    }
}

/// Whether two types are compatible (C11 6.2.7), qualifiers of the outermost level included.
pub(crate) fn compatible(left: Type, right: Type) -> bool {
    if left == right {
        return true;
    }
    left.qualifiers() == right.qualifiers()
        && match (left.kind(), right.kind()) {
            (TypeKind::Error, _) | (_, TypeKind::Error) => true,
            (TypeKind::Pointer(a), TypeKind::Pointer(b)) => compatible(*a, *b),
            (TypeKind::Array(a, m), TypeKind::Array(b, n)) => {
                let fixed = |l| matches!(l, ArrayLength::Fixed(_));
                compatible(*a, *b) && (m == n || !fixed(*m) || !fixed(*n))
            }
            (TypeKind::Enum(_, a), TypeKind::Int(b)) | (TypeKind::Int(b), TypeKind::Enum(_, a)) => a == b,
            (TypeKind::Function(a), TypeKind::Function(b)) => compatible_signatures(a, b),
            _ => false,
        }
}

fn compatible_signatures(left: &Signature, right: &Signature) -> bool {
    compatible(left.result, right.result)
        && (left.unprototyped
            || right.unprototyped
            || (left.variadic == right.variadic
                && left.parameters.len() == right.parameters.len()
                && left
                    .parameters
                    .iter()
                    .zip(&right.parameters)
                    .all(|(a, b)| compatible(a.unqualified(), b.unqualified()))))
}

/// The pointer type of two pointers in a conditional or a comparison.
fn common_pointer(left: Type, right: Type, left_is_null: bool, right_is_null: bool) -> Type {
    let (Some(a), Some(b)) = (left.pointee(), right.pointee()) else { return left };
    let qualified = |ty: Type| {
        let extra = |q: Qualifiers| Qualifiers { is_atomic: false, ..q };
        ty.qualified(extra(a.qualifiers())).qualified(extra(b.qualifiers())).pointer_to()
    };
    let is_void = |ty: Type| matches!(ty.kind(), TypeKind::Void);
    if right_is_null {
        left.unqualified()
    } else if left_is_null {
        right.unqualified()
    } else if is_void(a) || is_void(b) {
        qualified(Type::void())
    } else if compatible(a.unqualified(), b.unqualified()) {
        qualified(composite(a.unqualified(), b.unqualified()))
    } else {
        // C forbids it; gcc warns and takes this.
        Type::void().pointer_to()
    }
}

impl<'u> Lowerer<'u> {
    /// New expression where an existing one stands.
    pub(crate) fn expr_at(&mut self, kind: ExprKind, ty: Type, at: ExprId) -> ExprId {
        let span = self.span_of(at);
        self.body.expr(kind, ty, span)
    }

    /// Position of an expression of the current body.
    pub(crate) fn span_of(&self, id: ExprId) -> Span {
        self.body.map.exprs[id.index()]
    }

    /// What an expression of the current body is.
    pub(crate) fn kind_of(&self, id: ExprId) -> &ExprKind {
        &self.body.body.expr(id).kind
    }

    /// Reports an error at an expression.
    pub(crate) fn error_at(&mut self, id: ExprId, message: impl Into<String>) {
        let span = self.span_of(id);
        self.errors.push(super::HirError { message: message.into(), span, help: None, function: None });
    }

    /// Any value of a type, the operands evaluated before.
    pub(crate) fn unmodelled(&mut self, what: &str, operands: Vec<ExprId>, ty: Type, span: Span) -> ExprId {
        let is_value = !matches!(ty.kind(), TypeKind::Array(..) | TypeKind::Function(_));
        let ty = if is_value { ty } else { error_type() };
        // A store or a call may have been meant: only a value is replaced soundly by an unknown one.
        self.poisoned |= matches!(ty.kind(), TypeKind::Error);
        self.body.expr(ExprKind::Unmodelled(Name::new(what), operands), ty, span)
    }

    /// Whether the expression designates an object.
    pub(crate) fn is_lvalue(&self, id: ExprId) -> bool {
        match self.kind_of(id) {
            ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Deref(_)
            | ExprKind::Index { .. }
            | ExprKind::CompoundLiteral(..)
            | ExprKind::StringLiteral(_) => true,
            ExprKind::Field { base, .. } => self.is_lvalue(*base),
            _ => false,
        }
    }

    /// Lvalue conversion, array and function decay.
    pub(crate) fn rvalue(&mut self, id: ExprId) -> ExprId {
        let ty = self.type_of(id);
        match ty.kind() {
            TypeKind::Array(element, _) => {
                let pointer = element.qualified(ty.qualifiers()).pointer_to();
                let lvalue = if self.is_lvalue(id) { id } else { self.materialised(id) };
                self.expr_at(ExprKind::Decay(lvalue), pointer, id)
            }
            TypeKind::Function(_) => match *self.kind_of(id) {
                // `*f` of a pointer to a function is the pointer again.
                ExprKind::Deref(pointer) => pointer,
                _ => self.expr_at(ExprKind::Decay(id), ty.pointer_to(), id),
            },
            // `*p` of a `void *`: only its evaluation is left.
            TypeKind::Void if self.is_lvalue(id) => self.expr_at(ExprKind::Cast(id), Type::void(), id),
            _ if self.is_lvalue(id) => self.expr_at(ExprKind::Load(id), ty.unqualified(), id),
            _ => id,
        }
    }

    /// The lvalue of an unnamed local that holds a value (of a record with an array inside, C11 6.2.4p8).
    pub(crate) fn materialised(&mut self, id: ExprId) -> ExprId {
        if let ExprKind::Field { base, field, bits } = *self.kind_of(id) {
            let ty = self.type_of(id);
            let base = self.materialised(base);
            return self.expr_at(ExprKind::Field { base, field, bits }, ty, id);
        }
        let ty = self.type_of(id);
        let entry = InitEntry { path: Vec::new(), value: id };
        self.literal_local(ty, Initializer { entries: vec![entry] }, id)
    }

    fn literal_local(&mut self, ty: Type, init: Initializer, at: ExprId) -> ExprId {
        let span = self.span_of(at);
        let name = Name::new(&format!("#{}", self.body.body.locals.len()));
        let local = Local { name, ty, length: None, rows: Vec::new(), is_parameter: false, cleanup: None };
        let local = self.body.local(local, span);
        self.body.expr(ExprKind::CompoundLiteral(local, init), ty, span)
    }

    /// Whether the value promotes like a bit-field.
    pub(crate) fn has_bit_width(&self, id: ExprId) -> bool {
        self.bit_width(id).is_some() || self.narrow(id).is_some()
    }

    /// Width of the bit-field that a value was read from or written to.
    pub(super) fn bit_width(&self, id: ExprId) -> Option<u8> {
        match self.kind_of(id) {
            ExprKind::Field { bits, .. } => bits.map(|b| b.width),
            ExprKind::Load(inner)
            | ExprKind::Assign(inner, _)
            | ExprKind::CompoundAssign { target: inner, .. }
            | ExprKind::IncDec { target: inner, .. }
            | ExprKind::Comma(_, inner) => self.bit_width(*inner),
            _ => None,
        }
    }

    /// Integer promotion of a value; other types stay.
    pub(crate) fn promote(&mut self, id: ExprId) -> ExprId {
        let ty = self.type_of(id);
        if !ty.is_integer() {
            return id;
        }
        let to = promoted(ty, self.bit_width(id), self.model);
        self.convert(id, to)
    }

    /// Default argument promotions of a value.
    pub(crate) fn default_promote(&mut self, id: ExprId) -> ExprId {
        match self.type_of(id).kind() {
            TypeKind::Float(FloatKind::Float) => {
                self.convert(id, Type::new(TypeKind::Float(FloatKind::Double)))
            }
            _ => self.promote(id),
        }
    }

    /// The usual arithmetic conversions of two values; `None` unless both are of real arithmetic types.
    pub(crate) fn usual(&mut self, left: ExprId, right: ExprId) -> Option<(ExprId, ExprId, Type)> {
        let (left_type, right_type) = (self.type_of(left), self.type_of(right));
        if !left_type.is_arithmetic() || !right_type.is_arithmetic() {
            return None;
        }
        if left_type.is_integer() && right_type.is_integer() {
            if let Some(narrow) = self.common_narrow(left, right) {
                let (left, right) = (self.narrowed(left, narrow), self.narrowed(right, narrow));
                return Some((left, right, Type::new(TypeKind::Int(narrow.kind))));
            }
            if let Some(common) = self.common_beside_narrow(left, right) {
                return Some((self.convert(left, common), self.convert(right, common), common));
            }
        }
        let of = |s: &Self, id, ty: Type| {
            if ty.is_integer() { promoted(ty, s.bit_width(id), s.model) } else { ty }
        };
        let common = common_type(of(self, left, left_type), of(self, right, right_type), self.model)?;
        Some((self.convert(left, common), self.convert(right, common), common))
    }

    /// Conversion as if by assignment or cast. Constants are converted on the spot.
    pub(crate) fn convert(&mut self, id: ExprId, to: Type) -> ExprId {
        let to = to.unqualified();
        let from = self.type_of(id);
        if from == to || matches!(to.kind(), TypeKind::Error) {
            return id;
        }
        if to.is_integer()
            && let ExprKind::Int(value) = *self.kind_of(id)
            && from.is_integer()
            && let Some(value) = to.wrap_int(value, self.model)
        {
            let expr = &mut self.body.body.exprs[id.index()];
            (expr.kind, expr.ty) = (ExprKind::Int(value), to);
            return id;
        }
        let span = self.span_of(id);
        let is_value =
            |ty: Type| matches!(ty.kind(), TypeKind::Complex(_) | TypeKind::Vector(..) | TypeKind::VaList);
        match (from.kind(), to.kind()) {
            (_, TypeKind::Array(..) | TypeKind::Function(_)) => {
                self.error_at(id, "nothing converts to an array or a function");
                self.unmodelled("impossible conversion", vec![id], error_type(), span)
            }
            (TypeKind::Error, _) => self.unmodelled("a value of unknown type", vec![id], to, span),
            (_, TypeKind::Void) => self.body.expr(ExprKind::Cast(id), to, span),
            (TypeKind::Pointer(_), TypeKind::Float(_)) | (TypeKind::Float(_), TypeKind::Pointer(_)) => {
                self.error_at(id, "a pointer and a floating value do not convert to each other");
                self.unmodelled("impossible conversion", vec![id], to, span)
            }
            _ if from.is_scalar() && to.is_scalar() => self.body.expr(ExprKind::Cast(id), to, span),
            (TypeKind::Record(_), TypeKind::Record(_)) if from.unqualified() == to => id,
            (_, TypeKind::Record(tag)) if self.records.get(tag).is_some_and(|r| r.is_union) => {
                self.union_of(id, to, *tag)
            }
            _ if is_value(from) || is_value(to) => {
                self.unmodelled("conversion of a complex, vector or va_list value", vec![id], to, span)
            }
            _ => {
                let (from, to_text) = (crate::print::type_text(from), crate::print::type_text(to));
                self.error_at(id, format!("`{from}` does not convert to `{to_text}`"));
                self.unmodelled("impossible conversion", vec![id], to, span)
            }
        }
    }

    /// GNU cast to a union type, and an argument for a `transparent_union` parameter.
    fn union_of(&mut self, id: ExprId, to: Type, tag: Name) -> ExprId {
        let from = self.type_of(id);
        let types: Vec<Type> =
            self.records.get(&tag).map(|r| r.fields.iter().map(|f| f.ty).collect()).unwrap_or_default();
        let target = |ty: Type| ty.pointee().map(Type::unqualified);
        let index = types
            .iter()
            .position(|ty| ty.unqualified() == from)
            .or_else(|| types.iter().position(|ty| target(*ty).is_some() && target(*ty) == target(from)))
            .or_else(|| types.iter().position(|ty| ty.is_scalar() && from.is_scalar()));
        let Some(index) = index else {
            self.error_at(id, format!("no member of the union has type `{}`", crate::print::type_text(from)));
            let span = self.span_of(id);
            return self.unmodelled("impossible conversion", vec![id], to, span);
        };
        let value = self.convert(id, types[index]);
        let entry = InitEntry { path: vec![InitStep::Field(index as u32)], value };
        let literal = self.literal_local(to, Initializer { entries: vec![entry] }, id);
        self.rvalue(literal)
    }

    /// Whether the value is a null pointer constant: an integer constant 0, or that cast to `void *`.
    pub(crate) fn is_null_constant(&self, id: ExprId) -> bool {
        let ty = self.type_of(id);
        if ty.is_integer() {
            return consteval::eval(&self.body.body, id, &self.records, self.model)
                == Some(ConstValue::Int(0));
        }
        match *self.kind_of(id) {
            ExprKind::Cast(inner) if ty == Type::void().pointer_to() => {
                self.type_of(inner).is_integer() && self.is_null_constant(inner)
            }
            _ => false,
        }
    }

    /// Converts two values, of which at least one is a pointer and the other a pointer or an integer, to one type.
    pub(crate) fn common_pointers(&mut self, left: ExprId, right: ExprId) -> Option<(ExprId, ExprId, Type)> {
        let (left_type, right_type) = (self.type_of(left), self.type_of(right));
        let common = match (left_type.pointee(), right_type.pointee()) {
            (Some(_), Some(_)) => {
                let nulls = (self.is_null_constant(left), self.is_null_constant(right));
                common_pointer(left_type, right_type, nulls.0, nulls.1)
            }
            (Some(_), None) if right_type.is_integer() => left_type.unqualified(),
            (None, Some(_)) if left_type.is_integer() => right_type.unqualified(),
            _ => return None,
        };
        Some((self.convert(left, common), self.convert(right, common), common))
    }

    /// A value as something that is compared with 0.
    pub(crate) fn scalar(&mut self, id: ExprId) -> ExprId {
        let ty = self.type_of(id);
        if ty.is_scalar() {
            return id;
        }
        let span = self.span_of(id);
        match ty.kind() {
            TypeKind::Error => {}
            TypeKind::Complex(_) | TypeKind::Vector(..) => {}
            _ => self
                .error_at(id, format!("a scalar is needed here, this is `{}`", crate::print::type_text(ty))),
        }
        self.unmodelled("truth of a value that is no scalar", vec![id], Type::int(), span)
    }

    /// `ptrdiff_t`
    pub(crate) fn ptrdiff_type(&self) -> Type {
        Type::new(TypeKind::Int(match self.model {
            DataModel::Lp64 => IntKind::Long,
            DataModel::Ilp32 => IntKind::Int,
        }))
    }

    /// `size_t`
    pub(crate) fn size_type(&self) -> Type {
        Type::new(TypeKind::Int(match self.model {
            DataModel::Lp64 => IntKind::ULong,
            DataModel::Ilp32 => IntKind::UInt,
        }))
    }

    /// An integer constant (wrapped to its type) as an expression.
    pub(crate) fn int_expr(&mut self, value: i128, ty: Type, span: Span) -> ExprId {
        let value = ty.wrap_int(value, self.model).unwrap_or(value);
        self.body.expr(ExprKind::Int(value), ty, span)
    }

    /// An expression that could not be understood; an error was reported.
    pub(crate) fn error_expr(&mut self, span: Span) -> ExprId {
        self.unmodelled("an expression that was not understood", Vec::new(), error_type(), span)
    }
}
