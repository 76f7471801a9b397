//! Operators on explicit values: [`proofline_cfa::eval`] where operands are known, unknown otherwise, and a few laws that need one
//! operand only.

use proofline_cfa::{
    BinaryOp, CompareOp, Expr, Float, Function, IntType, LocalId, Name, Object, Role, Scalar, UnaryOp,
    eval::{self, Overflow, Semantics},
    texts,
};

use crate::{
    store::{Abstract, Addresses, Arithmetic, Eval, Impossible, Objects, Offsets, Operands, mentions},
    value::scalar::ExplicitValue,
};

/// The domain of explicit values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Explicit {
    /// Meaning of overflow, width of pointers.
    pub(super) semantics: Semantics,
}

fn constant(value: &ExplicitValue) -> Option<eval::Value> {
    match value {
        ExplicitValue::Int(value) => Some(eval::Value::Int(*value)),
        ExplicitValue::Float(bits) => Some(eval::Value::Float(*bits)),
        ExplicitValue::Address(..) | ExplicitValue::Function(_) => None,
    }
}

fn known(value: eval::Value) -> ExplicitValue {
    match value {
        eval::Value::Int(value) => ExplicitValue::Int(value),
        eval::Value::Float(bits) => ExplicitValue::Float(bits),
    }
}

fn int(value: Abstract<&ExplicitValue>) -> Option<i128> {
    if let Abstract::Of(ExplicitValue::Int(value)) = value { Some(*value) } else { None }
}

impl Explicit {
    /// The type in which an operation of integers cannot leave its range without being undefined.
    fn is_checked(&self, ty: IntType) -> bool {
        ty.signed && self.semantics.overflow == Overflow::Undefined
    }

    /// An integer found by calculating backwards: modulo 2^bits, or undefined outside the type.
    fn solved(&self, ty: IntType, value: Option<i128>) -> Eval<ExplicitValue> {
        let Some(value) = value else { return Ok(Abstract::Any) };
        if !ty.is_exact() || ty.bits >= 127 {
            return Ok(Abstract::Any);
        }
        if self.is_checked(ty) {
            return if ty.contains(value) {
                Ok(Abstract::Of(ExplicitValue::Int(value)))
            } else {
                Err(Impossible)
            };
        }
        Ok(Abstract::Of(ExplicitValue::Int(ty.wrap(value))))
    }
}

impl Arithmetic for Explicit {
    type Value = ExplicitValue;

    fn int(&self, ty: IntType, value: i128) -> Abstract<ExplicitValue> {
        Abstract::from(eval::int::representable(ty, value)).map(ExplicitValue::Int)
    }
    fn float(&self, value: Float) -> Abstract<ExplicitValue> {
        Abstract::Of(ExplicitValue::Float(value.canonical()))
    }
    fn null(&self) -> ExplicitValue {
        ExplicitValue::Int(0)
    }
    fn address(&self, object: Object, offsets: Offsets) -> Abstract<ExplicitValue> {
        match object {
            Object::External => Abstract::Any,
            // Which of them it is, is not known.
            _ if texts::is_text(object) => Abstract::Any,
            Object::Global(_) | Object::Local(..) | Object::Heap(..) => {
                Abstract::from(offsets.single()).map(|offset| ExplicitValue::Address(object, offset))
            }
        }
    }
    fn function(&self, name: Name) -> Abstract<ExplicitValue> {
        Abstract::Of(ExplicitValue::Function(name))
    }
    fn any_of(&self, _: IntType) -> Abstract<ExplicitValue> {
        Abstract::Any
    }
    fn older(&self) -> Abstract<ExplicitValue> {
        Abstract::Any
    }
    fn non_null(&self) -> Abstract<ExplicitValue> {
        Abstract::Any
    }
    fn between(&self, ty: IntType, lo: i128, hi: i128) -> Abstract<ExplicitValue> {
        if lo == hi { self.int(ty, lo) } else { Abstract::Any }
    }

    fn unary(&self, op: UnaryOp, ty: Scalar, arg: Abstract<&ExplicitValue>) -> Eval<ExplicitValue> {
        let Some(arg) = arg.known().and_then(constant) else { return Ok(Abstract::Any) };
        Ok(Abstract::from(eval::unary(op, ty, arg, self.semantics)).map(known))
    }

    fn binary(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&ExplicitValue>,
        _: Scalar,
        rhs: Abstract<&ExplicitValue>,
    ) -> Eval<ExplicitValue> {
        if let (Some(left), Some(right)) = (lhs.known().and_then(constant), rhs.known().and_then(constant)) {
            let result = Abstract::from(eval::binary(op, ty, left, right, self.semantics)).map(known);
            // Division by zero ends every execution.
            return match (op, ty, right) {
                (BinaryOp::Div | BinaryOp::Rem, Scalar::Int(_), eval::Value::Int(0)) => Err(Impossible),
                _ => Ok(result),
            };
        }
        if !matches!(ty, Scalar::Int(_)) {
            return Ok(Abstract::Any);
        }
        let (left, right) = (int(lhs), int(rhs));
        Ok(match (op, left, right) {
            (BinaryOp::Mul | BinaryOp::BitAnd, Some(0), _)
            | (BinaryOp::Mul | BinaryOp::BitAnd, _, Some(0)) => Abstract::Of(ExplicitValue::Int(0)),
            (BinaryOp::Rem, _, Some(1)) => Abstract::Of(ExplicitValue::Int(0)),
            (BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr, Some(0), _) => {
                Abstract::Of(ExplicitValue::Int(0))
            }
            _ => Abstract::Any,
        })
    }

    fn compare(
        &self,
        op: CompareOp,
        ty: Scalar,
        lhs: Abstract<&ExplicitValue>,
        rhs: Abstract<&ExplicitValue>,
        objects: &dyn Objects,
    ) -> Option<bool> {
        match (lhs, rhs) {
            (Abstract::Of(left), Abstract::Of(right)) => compare(op, left, right, objects),
            // A bound of the type.
            (Abstract::Any, Abstract::Of(ExplicitValue::Int(bound))) => match ty {
                Scalar::Int(ty) if ty.is_exact() => match op {
                    CompareOp::Lt if *bound <= ty.min() => Some(false),
                    CompareOp::Lt if *bound > ty.max() => Some(true),
                    CompareOp::Ge if *bound <= ty.min() => Some(true),
                    CompareOp::Ge if *bound > ty.max() => Some(false),
                    CompareOp::Gt if *bound >= ty.max() => Some(false),
                    CompareOp::Gt if *bound < ty.min() => Some(true),
                    CompareOp::Le if *bound >= ty.max() => Some(true),
                    CompareOp::Le if *bound < ty.min() => Some(false),
                    CompareOp::Eq if !ty.contains(*bound) => Some(false),
                    CompareOp::Ne if !ty.contains(*bound) => Some(true),
                    CompareOp::Lt
                    | CompareOp::Le
                    | CompareOp::Gt
                    | CompareOp::Ge
                    | CompareOp::Eq
                    | CompareOp::Ne => None,
                },
                Scalar::Int(_) | Scalar::Pointer | Scalar::Float(_) => None,
            },
            (Abstract::Of(ExplicitValue::Int(_)), Abstract::Any) => {
                self.compare(op.mirrored(), ty, Abstract::Any, lhs, objects)
            }
            (_, Abstract::Any) | (Abstract::Any, _) => None,
        }
    }

    fn cast(&self, from: Scalar, to: Scalar, arg: Abstract<&ExplicitValue>) -> Eval<ExplicitValue> {
        let Abstract::Of(arg) = arg else { return Ok(Abstract::Any) };
        Ok(match constant(arg) {
            Some(value) => Abstract::from(eval::cast(from, to, value, self.semantics)).map(known),
            // An address keeps its bits.
            None => match to {
                Scalar::Pointer => Abstract::Of(*arg),
                Scalar::Int(ty) if ty.bits == self.semantics.pointer_bits => Abstract::Of(*arg),
                Scalar::Int(_) | Scalar::Float(_) => Abstract::Any,
            },
        })
    }

    fn overflows(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&ExplicitValue>,
        rhs: Abstract<&ExplicitValue>,
    ) -> Option<bool> {
        if let (Some(left), Some(right)) = (lhs.known().and_then(constant), rhs.known().and_then(constant)) {
            return eval::overflows(op, ty, left, right);
        }
        let (left, right) = (int(lhs), int(rhs));
        match (op, left, right) {
            (BinaryOp::Add, Some(0), _) | (BinaryOp::Add | BinaryOp::Sub, _, Some(0)) => Some(false),
            (BinaryOp::Mul, Some(0 | 1), _) | (BinaryOp::Mul, _, Some(0 | 1)) => Some(false),
            (BinaryOp::Div | BinaryOp::Rem, _, Some(by)) if by != -1 && by != 0 => Some(false),
            _ => None,
        }
    }

    fn difference(
        &self,
        lhs: Abstract<&ExplicitValue>,
        rhs: Abstract<&ExplicitValue>,
        stride: u64,
        ty: IntType,
    ) -> Abstract<ExplicitValue> {
        let (Abstract::Of(lhs), Abstract::Of(rhs)) = (lhs, rhs) else { return Abstract::Any };
        match (lhs, rhs) {
            // Both point into one array, so into the same instance.
            (ExplicitValue::Address(left, from), ExplicitValue::Address(right, to)) if left == right => {
                let (bytes, stride) = (i128::from(*from) - i128::from(*to), i128::from(stride));
                if stride != 0 && bytes % stride == 0 { self.int(ty, bytes / stride) } else { Abstract::Any }
            }
            (ExplicitValue::Int(0), ExplicitValue::Int(0)) => Abstract::Of(ExplicitValue::Int(0)),
            _ => Abstract::Any,
        }
    }

    fn shift(&self, pointer: &ExplicitValue, by: Offsets) -> Abstract<ExplicitValue> {
        let Some(by) = by.single() else { return Abstract::Any };
        match pointer {
            ExplicitValue::Address(object, offset) => Abstract::from(offset.checked_add(by))
                .and_then(|offset| self.address(*object, Offsets::at(offset))),
            ExplicitValue::Int(address) => {
                let width = IntType { bits: self.semantics.pointer_bits, signed: false };
                Abstract::from(address.checked_add(i128::from(by)))
                    .map(|moved| ExplicitValue::Int(width.wrap(moved)))
            }
            ExplicitValue::Function(_) if by == 0 => Abstract::Of(*pointer),
            ExplicitValue::Function(_) | ExplicitValue::Float(_) => Abstract::Any,
        }
    }

    fn truncate(&self, field: IntType, value: &ExplicitValue) -> Abstract<ExplicitValue> {
        let value = int(Abstract::Of(value)).and_then(|value| eval::int::cast(field, value));
        Abstract::from(value).map(ExplicitValue::Int)
    }

    fn truth(&self, value: &ExplicitValue) -> Option<bool> {
        Some(match value {
            ExplicitValue::Int(value) => *value != 0,
            ExplicitValue::Float(bits) => eval::Value::Float(*bits).truth(),
            ExplicitValue::Address(..) | ExplicitValue::Function(_) => true,
        })
    }

    fn range(&self, value: &ExplicitValue) -> Option<(i128, i128)> {
        int(Abstract::Of(value)).map(|value| (value, value))
    }

    fn addresses(&self, value: &ExplicitValue) -> Option<Addresses> {
        match value {
            ExplicitValue::Address(object, offset) => Some(vec![(*object, Offsets::at(*offset))]),
            ExplicitValue::Int(0) | ExplicitValue::Function(_) => Some(Vec::new()),
            ExplicitValue::Int(_) | ExplicitValue::Float(_) => None,
        }
    }

    fn newer(&self, value: &ExplicitValue) -> Option<Addresses> {
        self.addresses(value)
    }

    fn functions(&self, value: &ExplicitValue) -> Option<Vec<Name>> {
        match value {
            ExplicitValue::Function(name) => Some(vec![*name]),
            ExplicitValue::Int(0) | ExplicitValue::Address(..) => Some(Vec::new()),
            ExplicitValue::Int(_) | ExplicitValue::Float(_) => None,
        }
    }

    fn meet(
        &self,
        value: Abstract<&ExplicitValue>,
        wanted: &ExplicitValue,
        ty: Scalar,
        objects: &dyn Objects,
    ) -> Eval<ExplicitValue> {
        let Abstract::Of(value) = value else { return Ok(Abstract::Of(*wanted)) };
        if !matches!(ty, Scalar::Float(_)) && compare(CompareOp::Eq, value, wanted, objects) == Some(false) {
            return Err(Impossible);
        }
        Ok(Abstract::Of(*value))
    }

    fn are_ordered(&self, ty: Scalar, lhs: Abstract<&ExplicitValue>, rhs: Abstract<&ExplicitValue>) -> bool {
        let is_number = |value: Abstract<&ExplicitValue>| match value {
            Abstract::Of(ExplicitValue::Float(value)) => !value.is_nan(),
            Abstract::Of(_) | Abstract::Any => false,
        };
        !matches!(ty, Scalar::Float(_)) || is_number(lhs) && is_number(rhs)
    }

    fn where_compares(
        &self,
        op: CompareOp,
        ty: Scalar,
        lhs: Abstract<&ExplicitValue>,
        rhs: Abstract<&ExplicitValue>,
        _: &dyn Objects,
    ) -> Operands<ExplicitValue> {
        let learnt = |op, bound: &ExplicitValue| self.only_value(op, ty, bound);
        Ok(match (lhs, rhs) {
            (Abstract::Any, Abstract::Of(bound)) => (learnt(op, bound)?, Abstract::Any),
            (Abstract::Of(bound), Abstract::Any) => (Abstract::Any, learnt(op.mirrored(), bound)?),
            (Abstract::Any, Abstract::Any) | (Abstract::Of(_), Abstract::Of(_)) => {
                (Abstract::Any, Abstract::Any)
            }
        })
    }

    fn where_true(&self, _: Scalar, _: Abstract<&ExplicitValue>) -> Eval<ExplicitValue> {
        Ok(Abstract::Any)
    }

    fn unary_backward(&self, op: UnaryOp, ty: Scalar, wanted: &ExplicitValue) -> Eval<ExplicitValue> {
        match (ty, wanted) {
            (Scalar::Int(ty), ExplicitValue::Int(wanted)) => match op {
                UnaryOp::Negate => self.solved(ty, wanted.checked_neg()),
                UnaryOp::BitNot => {
                    Ok(Abstract::from(eval::int::unary(op, ty, *wanted, self.semantics.overflow))
                        .map(ExplicitValue::Int))
                }
            },
            _ => Ok(Abstract::Any),
        }
    }

    fn cast_backward(
        &self,
        from: Scalar,
        to: Scalar,
        _: Abstract<&ExplicitValue>,
        wanted: &ExplicitValue,
    ) -> Eval<ExplicitValue> {
        match (from, to, wanted) {
            (Scalar::Int(from), Scalar::Int(to), ExplicitValue::Int(wanted))
                if from.bits <= to.bits && to.is_exact() =>
            {
                let value = from.wrap(*wanted);
                if !from.is_exact() {
                    return Ok(Abstract::Any);
                }
                if to.wrap(value) == *wanted {
                    Ok(Abstract::Of(ExplicitValue::Int(value)))
                } else {
                    Err(Impossible)
                }
            }
            (Scalar::Pointer, Scalar::Int(to), ExplicitValue::Int(wanted))
                if to.bits >= self.semantics.pointer_bits =>
            {
                let address = IntType { bits: self.semantics.pointer_bits, signed: false };
                Ok(Abstract::Of(ExplicitValue::Int(address.wrap(*wanted))))
            }
            (Scalar::Int(from), Scalar::Pointer, ExplicitValue::Int(wanted))
                if from.bits <= self.semantics.pointer_bits =>
            {
                let value = from.wrap(*wanted);
                let address = IntType { bits: self.semantics.pointer_bits, signed: false };
                if address.wrap(value) == *wanted {
                    Ok(Abstract::Of(ExplicitValue::Int(value)))
                } else {
                    Err(Impossible)
                }
            }
            (Scalar::Pointer, Scalar::Pointer, _) => Ok(Abstract::Of(*wanted)),
            _ => Ok(Abstract::Any),
        }
    }

    fn binary_backward(
        &self,
        op: BinaryOp,
        ty: Scalar,
        lhs: Abstract<&ExplicitValue>,
        _: Scalar,
        rhs: Abstract<&ExplicitValue>,
        wanted: &ExplicitValue,
    ) -> Operands<ExplicitValue> {
        let (Scalar::Int(ty), ExplicitValue::Int(wanted)) = (ty, wanted) else {
            return Ok((Abstract::Any, Abstract::Any));
        };
        let (left, right) = (int(lhs), int(rhs));
        let first = |value: Eval<ExplicitValue>| value.map(|value| (value, Abstract::Any));
        let second = |value: Eval<ExplicitValue>| value.map(|value| (Abstract::Any, value));
        match (op, left, right) {
            (BinaryOp::Add, None, Some(right)) => first(self.solved(ty, wanted.checked_sub(right))),
            (BinaryOp::Add, Some(left), None) => second(self.solved(ty, wanted.checked_sub(left))),
            (BinaryOp::Sub, None, Some(right)) => first(self.solved(ty, wanted.checked_add(right))),
            (BinaryOp::Sub, Some(left), None) => second(self.solved(ty, left.checked_sub(*wanted))),
            (BinaryOp::BitXor, None, Some(right)) => Ok((self.int(ty, wanted ^ right), Abstract::Any)),
            (BinaryOp::BitXor, Some(left), None) => Ok((Abstract::Any, self.int(ty, wanted ^ left))),
            (BinaryOp::Mul, None, Some(by)) | (BinaryOp::Mul, Some(by), None)
                if by != 0 && self.is_checked(ty) =>
            {
                let factor = match wanted.checked_rem(by) {
                    Some(0) => self.solved(ty, wanted.checked_div(by))?,
                    Some(_) => return Err(Impossible),
                    None => Abstract::Any,
                };
                Ok(if left.is_none() { (factor, Abstract::Any) } else { (Abstract::Any, factor) })
            }
            (BinaryOp::BitOr, _, _) if *wanted == 0 => {
                Ok((Abstract::Of(ExplicitValue::Int(0)), Abstract::Of(ExplicitValue::Int(0))))
            }
            _ => Ok((Abstract::Any, Abstract::Any)),
        }
    }

    fn where_overflows(
        &self,
        _: BinaryOp,
        _: Scalar,
        _: Abstract<&ExplicitValue>,
        _: Abstract<&ExplicitValue>,
        _: bool,
    ) -> Operands<ExplicitValue> {
        Ok((Abstract::Any, Abstract::Any))
    }

    /// Only for temporaries and what is defined by them, so that equalities die soon and states meet again; and only where
    /// the value is not known anyway.
    fn keeps_definition(
        &self,
        function: &Function,
        local: LocalId,
        expr: &Expr,
        value: Abstract<&ExplicitValue>,
    ) -> bool {
        if !value.is_any() {
            return false;
        }
        let is_temporary = |id: LocalId| matches!(function.local(id).role, Role::Temporary);
        let by_temporary = || {
            mentions::any_read(expr, &mut |lvalue| {
                mentions::whole_local(function, lvalue).is_some_and(is_temporary)
            })
        };
        is_temporary(local) || by_temporary()
    }

    fn show(&self, value: &ExplicitValue, _: Scalar) -> Option<String> {
        Some(match value {
            ExplicitValue::Int(value) => format!("= {value}"),
            ExplicitValue::Float(value) => format!("= {value}"),
            ExplicitValue::Address(object, offset) => return self.show_address(*object, *offset),
            ExplicitValue::Function(name) => format!("= {name}"),
        })
    }
}

impl Explicit {
    fn show_address(&self, object: Object, offset: i64) -> Option<String> {
        let name = match object {
            Object::Global(name) => name,
            Object::Local(..) | Object::Heap(..) | Object::External => return None,
        };
        Some(if offset == 0 { format!("= &{name}") } else { format!("= &{name} + {offset} bytes") })
    }

    /// The one value that satisfies `x op bound`.
    fn only_value(&self, op: CompareOp, ty: Scalar, bound: &ExplicitValue) -> Eval<ExplicitValue> {
        match (ty, bound) {
            (Scalar::Int(ty), ExplicitValue::Int(bound)) if ty.is_exact() => Ok(match op {
                CompareOp::Eq if !ty.contains(*bound) => return Err(Impossible),
                CompareOp::Eq => Abstract::Of(*bound),
                CompareOp::Le if *bound == ty.min() => Abstract::Of(*bound),
                CompareOp::Ge if *bound == ty.max() => Abstract::Of(*bound),
                CompareOp::Lt if *bound == ty.min() + 1 => Abstract::Of(ty.min()),
                CompareOp::Gt if *bound == ty.max() - 1 => Abstract::Of(ty.max()),
                CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge | CompareOp::Ne => {
                    Abstract::Any
                }
            }
            .map(ExplicitValue::Int)),
            // Of the two zeros, and of what is not a number, nothing can be learnt.
            (Scalar::Float(_), ExplicitValue::Float(bits)) => {
                Ok((op == CompareOp::Eq && !bits.is_zero() && !bits.is_nan()).then_some(*bound).into())
            }
            (Scalar::Pointer, ExplicitValue::Int(_) | ExplicitValue::Function(_)) => {
                Ok((op == CompareOp::Eq).then_some(*bound).into())
            }
            // An equal address may be one past the end of another object, and then leads elsewhere.
            (Scalar::Pointer | Scalar::Int(_) | Scalar::Float(_), _) => Ok(Abstract::Any),
        }
    }
}

fn compare(op: CompareOp, lhs: &ExplicitValue, rhs: &ExplicitValue, objects: &dyn Objects) -> Option<bool> {
    if let (Some(left), Some(right)) = (constant(lhs), constant(rhs)) {
        return eval::compare(op, left, right);
    }
    let equal = match (lhs, rhs) {
        (ExplicitValue::Address(left, from), ExplicitValue::Address(right, to))
            if left == right && objects.is_single(*left) =>
        {
            return Some(eval::int::compare(op, i128::from(*from), i128::from(*to)));
        }
        (ExplicitValue::Address(left, from), ExplicitValue::Address(right, to)) => {
            (left != right && are_apart((*left, *from), (*right, *to), objects)).then_some(false)
        }
        (ExplicitValue::Function(left), ExplicitValue::Function(right)) => Some(left == right),
        (ExplicitValue::Address(object, offset), ExplicitValue::Function(_))
        | (ExplicitValue::Function(_), ExplicitValue::Address(object, offset)) => {
            is_inside(*object, *offset, objects).then_some(false)
        }
        (ExplicitValue::Int(0), ExplicitValue::Function(_))
        | (ExplicitValue::Function(_), ExplicitValue::Int(0)) => Some(false),
        (ExplicitValue::Int(0), ExplicitValue::Address(..))
        | (ExplicitValue::Address(..), ExplicitValue::Int(0)) => Some(false),
        _ => None,
    };
    match op {
        CompareOp::Eq => equal,
        CompareOp::Ne => equal.map(|equal| !equal),
        CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => None,
    }
}

/// Whether an address is that of a byte of the object, which no other object has.
pub(crate) fn is_inside(object: Object, offset: i64, objects: &dyn Objects) -> bool {
    // Literals may share their bytes.
    let is_literal = matches!(object, Object::Global(name) if name.contains('"'));
    !is_literal
        && offset >= 0
        && (offset == 0 && matches!(object, Object::Heap(..))
            || objects.size(object).is_some_and(|size| (offset as u64) < size))
}

/// Whether two addresses in different objects are certainly different.
pub(crate) fn are_apart(left: (Object, i64), right: (Object, i64), objects: &dyn Objects) -> bool {
    is_inside(left.0, left.1, objects) && is_inside(right.0, right.1, objects)
}
