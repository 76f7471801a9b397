//! Evaluation of constant expressions exactly as C defines them: what C leaves undefined (overflow, division by zero,
//! shifts by too much) and what compilers may compute otherwise is an error with its reason, never a guess. Knows typed
//! expressions only, no trees.

use std::collections::BTreeMap;

use proofline_float::Float;
use proofline_syntax::DataModel;

use crate::{
    Name, Records,
    body::{BinaryOp, Body, CompareOp, ExprId, ExprKind, LocalId, UnaryOp},
    float,
    layout::Layout,
    types::{IntKind, Type, TypeKind},
};

/// The value of a constant expression.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ConstValue {
    /// Integer, or an address given as a number (a null pointer is 0). `unsigned __int128` modulo 2^128.
    Int(i128),
    /// Floating value.
    Float(Float),
    /// Address of an object with static storage plus bytes.
    Address {
        /// The object.
        object: Name,
        /// Bytes from its start.
        offset: i64,
    },
    /// Address of a function.
    Function(Name),
}

/// Why an expression has no constant value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotConstant {
    /// This part is not a constant.
    #[error("it is not constant")]
    Varies(ExprId),
    /// Signed overflow, or a floating value outside the integer type it is converted to.
    #[error("it overflows its type")]
    Overflow,
    /// Division or remainder by zero.
    #[error("it divides by zero")]
    DivisionByZero,
    /// Shift by a negative number or by the width or more.
    #[error("it shifts by a negative or too large number")]
    Shift,
    /// The floating value is not known exactly.
    #[error("its floating value is not known exactly")]
    Inexact,
    /// Nested too deeply.
    #[error("it is nested too deeply")]
    TooDeep,
}

/// Deepest nesting that is evaluated: bounds the stack.
const MAX_DEPTH: u32 = 4000;

/// The value of a constant expression, `None` if it has none.
pub fn eval(body: &Body, id: ExprId, records: &Records, model: DataModel) -> Option<ConstValue> {
    evaluate(body, id, records, model).ok()
}

/// The value of a constant expression, or why there is none.
///
/// # Errors
/// Why it is no constant.
pub fn evaluate(
    body: &Body,
    id: ExprId,
    records: &Records,
    model: DataModel,
) -> Result<ConstValue, NotConstant> {
    Evaluator { body, records, model, known: &BTreeMap::new(), depth: 0, is_initial: false }.value(id)
}

/// Like [`eval`], of the initial value of an object that lives as long as the program. Nothing runs that could raise an exception, so
/// `1.0 / 0.0` is infinity there (C11 F.8.4), while a run computes it elsewhere.
pub fn eval_initial(body: &Body, id: ExprId, records: &Records, model: DataModel) -> Option<ConstValue> {
    let known = &BTreeMap::new();
    Evaluator { body, records, model, known, depth: 0, is_initial: true }.value(id).ok()
}

/// Like [`eval`], where these locals are known to hold these values.
pub fn eval_knowing(
    body: &Body,
    id: ExprId,
    records: &Records,
    model: DataModel,
    known: &BTreeMap<LocalId, i128>,
) -> Option<ConstValue> {
    Evaluator { body, records, model, known, depth: 0, is_initial: false }.value(id).ok()
}

struct Evaluator<'a> {
    body: &'a Body,
    known: &'a BTreeMap<LocalId, i128>,
    records: &'a Records,
    model: DataModel,
    depth: u32,
    /// No run computes it.
    is_initial: bool,
}

type Outcome = Result<ConstValue, NotConstant>;

impl Evaluator<'_> {
    fn value(&mut self, id: ExprId) -> Outcome {
        if self.depth >= MAX_DEPTH {
            return Err(NotConstant::TooDeep);
        }
        self.depth += 1;
        let result = self.value_inner(id);
        self.depth -= 1;
        result
    }

    fn value_inner(&mut self, id: ExprId) -> Outcome {
        let expr = self.body.expr(id);
        let ty = expr.ty;
        match &expr.kind {
            ExprKind::Int(value) => Ok(ConstValue::Int(*value)),
            ExprKind::Float(value, true) => Ok(ConstValue::Float(*value)),
            ExprKind::Float(_, false) => Err(NotConstant::Inexact),
            ExprKind::AddressOf(place) | ExprKind::Decay(place) => self.place(*place),
            ExprKind::Load(place) if let ExprKind::Local(local) = self.body.expr(*place).kind => {
                self.known.get(&local).map(|n| ConstValue::Int(*n)).ok_or(NotConstant::Varies(id))
            }
            ExprKind::Unary(op, operand) => self.unary(*op, *operand, ty, id),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.value(*left)?, self.value(*right)?);
                self.binary(*op, left, right, ty, id)
            }
            ExprKind::Compare(op, left, right) => {
                let operands = self.body.expr(*left).ty;
                let (left, right) = (self.value(*left)?, self.value(*right)?);
                compare(*op, left, right, operands, id)
            }
            ExprKind::PointerAdd { pointer, index, subtract } => {
                let pointee = ty.pointee().ok_or(NotConstant::Varies(id))?;
                let (base, index) = (self.value(*pointer)?, self.int(*index)?);
                let index = if *subtract { index.checked_neg().ok_or(NotConstant::Overflow)? } else { index };
                self.offset(base, index, pointee, id)
            }
            ExprKind::PointerDifference(left, right) => {
                let pointee = self.body.expr(*left).ty.pointee().ok_or(NotConstant::Varies(id))?;
                let size = i128::from(self.size(pointee, id)?.max(1));
                let bytes = match (self.value(*left)?, self.value(*right)?) {
                    (ConstValue::Int(a), ConstValue::Int(b)) => a - b,
                    (
                        ConstValue::Address { object: a, offset: i },
                        ConstValue::Address { object: b, offset: j },
                    ) if a == b => i128::from(i) - i128::from(j),
                    _ => return Err(NotConstant::Varies(id)),
                };
                Ok(ConstValue::Int(bytes / size))
            }
            ExprKind::And(left, right) => {
                let both = self.truth(*left)? && self.truth(*right)?;
                Ok(ConstValue::Int(i128::from(both)))
            }
            ExprKind::Or(left, right) => {
                let either = self.truth(*left)? || self.truth(*right)?;
                Ok(ConstValue::Int(i128::from(either)))
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                let chosen = match (self.truth(*condition)?, then) {
                    (true, Some(then)) => *then,
                    (true, None) => {
                        let value = self.value(*condition)?;
                        return self.converted(value, self.body.expr(*condition).ty, ty, id);
                    }
                    (false, _) => *otherwise,
                };
                self.value(chosen)
            }
            ExprKind::Comma(left, right) => {
                self.value(*left)?;
                self.value(*right)
            }
            ExprKind::Cast(operand) => {
                let value = self.value(*operand)?;
                self.converted(value, self.body.expr(*operand).ty, ty, id)
            }
            ExprKind::Call { callee, arguments } => {
                let ExprKind::Function(name) = self.body.expr(*callee).kind else {
                    return Err(NotConstant::Varies(id));
                };
                let [argument] = arguments[..] else { return Err(NotConstant::Varies(id)) };
                let bits = self.body.expr(argument).ty.int_kind().map_or(0, |k| k.bits(self.model));
                let value = self.int(argument)?;
                fold_builtin(name.as_str(), value, bits).map(ConstValue::Int).ok_or(NotConstant::Varies(id))
            }
            ExprKind::StringLiteral(_)
            | ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Function(_)
            | ExprKind::Deref(_)
            | ExprKind::Field { .. }
            | ExprKind::Index { .. }
            | ExprKind::AddressOfLabel(_)
            | ExprKind::Load(_)
            | ExprKind::Assign(..)
            | ExprKind::CompoundAssign { .. }
            | ExprKind::IncDec { .. }
            | ExprKind::CompoundLiteral(..)
            | ExprKind::StatementExpression(_)
            | ExprKind::VaArg(_)
            | ExprKind::SizeOfVariable(_)
            | ExprKind::Unmodelled(..) => Err(NotConstant::Varies(id)),
        }
    }

    /// Address of an lvalue or function designator.
    fn place(&mut self, id: ExprId) -> Outcome {
        let expr = self.body.expr(id);
        match &expr.kind {
            ExprKind::Global(object) | ExprKind::StringLiteral(object) => {
                Ok(ConstValue::Address { object: *object, offset: 0 })
            }
            ExprKind::Function(name) => Ok(ConstValue::Function(*name)),
            ExprKind::Deref(pointer) => self.value(*pointer),
            ExprKind::Field { base, field, bits: None } => {
                let TypeKind::Record(tag) = self.body.expr(*base).ty.kind() else {
                    return Err(NotConstant::Varies(id));
                };
                let offset =
                    self.records.get(tag).and_then(|r| r.fields.get(*field as usize)).map(|f| f.offset);
                let offset = offset.ok_or(NotConstant::Varies(id))?;
                if self.depth >= MAX_DEPTH {
                    return Err(NotConstant::TooDeep);
                }
                self.depth += 1;
                let base = self.place(*base);
                self.depth -= 1;
                self.moved(base?, i128::from(offset), id)
            }
            ExprKind::Index { base, index } => {
                let is_array = matches!(self.body.expr(*base).ty.kind(), TypeKind::Array(..));
                if self.depth >= MAX_DEPTH {
                    return Err(NotConstant::TooDeep);
                }
                self.depth += 1;
                let start = if is_array { self.place(*base) } else { self.value(*base) };
                self.depth -= 1;
                let index = self.int(*index)?;
                self.offset(start?, index, expr.ty, id)
            }
            _ => Err(NotConstant::Varies(id)),
        }
    }

    fn size(&self, ty: Type, id: ExprId) -> Result<u64, NotConstant> {
        match ty.kind() {
            TypeKind::Void | TypeKind::Function(_) => Ok(1),
            _ => Layout::new(self.model, self.records).size_of(ty).ok_or(NotConstant::Varies(id)),
        }
    }

    fn offset(&self, base: ConstValue, index: i128, element: Type, id: ExprId) -> Outcome {
        let bytes = index.checked_mul(i128::from(self.size(element, id)?)).ok_or(NotConstant::Overflow)?;
        self.moved(base, bytes, id)
    }

    fn moved(&self, base: ConstValue, bytes: i128, id: ExprId) -> Outcome {
        match base {
            ConstValue::Int(value) => {
                let sum = value.checked_add(bytes).ok_or(NotConstant::Overflow)?;
                Ok(ConstValue::Int(IntKind::ULong.wrap(sum, self.model)))
            }
            ConstValue::Address { object, offset } => {
                let sum = i128::from(offset).checked_add(bytes).and_then(|sum| i64::try_from(sum).ok());
                Ok(ConstValue::Address { object, offset: sum.ok_or(NotConstant::Overflow)? })
            }
            ConstValue::Function(_) if bytes == 0 => Ok(base),
            ConstValue::Function(_) | ConstValue::Float(_) => Err(NotConstant::Varies(id)),
        }
    }

    fn int(&mut self, id: ExprId) -> Result<i128, NotConstant> {
        match self.value(id)? {
            ConstValue::Int(value) => Ok(value),
            _ => Err(NotConstant::Varies(id)),
        }
    }

    fn truth(&mut self, id: ExprId) -> Result<bool, NotConstant> {
        truth(self.value(id)?, id)
    }

    fn unary(&mut self, op: UnaryOp, operand: ExprId, ty: Type, id: ExprId) -> Outcome {
        let value = self.value(operand)?;
        match (op, value) {
            (UnaryOp::Not, value) => Ok(ConstValue::Int(i128::from(!truth(value, id)?))),
            (UnaryOp::Negate, ConstValue::Float(value)) => Ok(ConstValue::Float(value.negated())),
            (UnaryOp::Negate, ConstValue::Int(_)) => {
                self.binary(BinaryOp::Sub, ConstValue::Int(0), value, ty, id)
            }
            (UnaryOp::BitNot, ConstValue::Int(value)) => {
                let kind = ty.int_kind().ok_or(NotConstant::Varies(id))?;
                Ok(ConstValue::Int(kind.wrap(!value, self.model)))
            }
            (UnaryOp::Negate | UnaryOp::BitNot, _) => Err(NotConstant::Varies(id)),
        }
    }

    fn binary(&self, op: BinaryOp, left: ConstValue, right: ConstValue, ty: Type, id: ExprId) -> Outcome {
        match (ty.kind(), left, right) {
            (TypeKind::Float(_), ConstValue::Float(left), ConstValue::Float(right)) => {
                let result = float::arithmetic(op, left, right).ok_or(NotConstant::Inexact)?;
                // As in gcc.
                if float::traps(left, right, result) && !self.is_initial {
                    return Err(NotConstant::Inexact);
                }
                Ok(ConstValue::Float(result))
            }
            (_, ConstValue::Int(left), ConstValue::Int(right)) => {
                let kind = ty.int_kind().ok_or(NotConstant::Varies(id))?;
                int_binary(op, left, right, kind, self.model).map(ConstValue::Int)
            }
            // An address in an integer as wide as a pointer, moved by a constant.
            (_, ConstValue::Address { .. }, ConstValue::Int(bytes)) if op == BinaryOp::Add => {
                self.moved(left, bytes, id)
            }
            (_, ConstValue::Int(bytes), ConstValue::Address { .. }) if op == BinaryOp::Add => {
                self.moved(right, bytes, id)
            }
            (_, ConstValue::Address { .. }, ConstValue::Int(bytes)) if op == BinaryOp::Sub => {
                self.moved(left, -bytes, id)
            }
            (
                _,
                ConstValue::Address { object: a, offset: i },
                ConstValue::Address { object: b, offset: j },
            ) if op == BinaryOp::Sub && a == b => {
                let difference = i128::from(i) - i128::from(j);
                Ok(ConstValue::Int(ty.wrap_int(difference, self.model).ok_or(NotConstant::Varies(id))?))
            }
            _ => Err(NotConstant::Varies(id)),
        }
    }

    /// Conversion between scalar types.
    fn converted(&self, value: ConstValue, from: Type, to: Type, id: ExprId) -> Outcome {
        let varies = NotConstant::Varies(id);
        let from_unsigned128 = from.int_kind() == Some(IntKind::UInt128);
        match (to.kind(), value) {
            (TypeKind::Bool, value) => Ok(ConstValue::Int(i128::from(truth(value, id)?))),
            (TypeKind::Int(_) | TypeKind::Enum(..) | TypeKind::Pointer(_), ConstValue::Int(value)) => {
                Ok(ConstValue::Int(to.wrap_int(value, self.model).ok_or(varies)?))
            }
            (TypeKind::Int(kind) | TypeKind::Enum(_, kind), ConstValue::Float(value)) => {
                float::to_int(value, *kind, self.model).map(ConstValue::Int).ok_or(NotConstant::Overflow)
            }
            (TypeKind::Float(kind), ConstValue::Int(value)) => {
                let result = float::from_int(value, from_unsigned128, *kind);
                result.map(ConstValue::Float).ok_or(NotConstant::Inexact)
            }
            (TypeKind::Float(kind), ConstValue::Float(value)) => {
                Ok(ConstValue::Float(float::round_to(value, *kind)))
            }
            (TypeKind::Pointer(_), ConstValue::Address { .. } | ConstValue::Function(_)) => Ok(value),
            (TypeKind::Int(kind), ConstValue::Address { .. } | ConstValue::Function(_))
                if kind.bits(self.model) == IntKind::ULong.bits(self.model) =>
            {
                Ok(value)
            }
            _ => Err(varies),
        }
    }
}

fn truth(value: ConstValue, id: ExprId) -> Result<bool, NotConstant> {
    match value {
        ConstValue::Int(value) => Ok(value != 0),
        ConstValue::Float(value) => Ok(!value.is_zero()),
        ConstValue::Address { offset: 0, .. } => Ok(true),
        // A weak function may be absent, and an address moved out of its object proves nothing.
        ConstValue::Address { .. } | ConstValue::Function(_) => Err(NotConstant::Varies(id)),
    }
}

fn compare(op: CompareOp, left: ConstValue, right: ConstValue, ty: Type, id: ExprId) -> Outcome {
    use std::cmp::Ordering;
    let ordering = match (left, right) {
        (ConstValue::Int(a), ConstValue::Int(b)) if ty.int_kind() == Some(IntKind::UInt128) => {
            Some((a as u128).cmp(&(b as u128)))
        }
        (ConstValue::Int(a), ConstValue::Int(b)) => Some(a.cmp(&b)),
        (ConstValue::Float(a), ConstValue::Float(b)) if a.format() == b.format() => a.compare(b),
        (ConstValue::Address { object: a, offset: i }, ConstValue::Address { object: b, offset: j })
            if a == b =>
        {
            Some(i.cmp(&j))
        }
        (ConstValue::Address { offset: 0, .. }, ConstValue::Int(0))
        | (ConstValue::Int(0), ConstValue::Address { offset: 0, .. })
            if matches!(op, CompareOp::Eq | CompareOp::Ne) =>
        {
            Some(Ordering::Less)
        }
        _ => return Err(NotConstant::Varies(id)),
    };
    let holds = match op {
        CompareOp::Lt => ordering == Some(Ordering::Less),
        CompareOp::Le => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        CompareOp::Gt => ordering == Some(Ordering::Greater),
        CompareOp::Ge => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        CompareOp::Eq => ordering == Some(Ordering::Equal),
        CompareOp::Ne => ordering != Some(Ordering::Equal),
    };
    Ok(ConstValue::Int(i128::from(holds)))
}

/// Integer arithmetic of C in one kind: unsigned wraps, signed overflow is an error; a left shift of a signed number
/// gives the bits that gcc defines for it.
///
/// # Errors
/// If the result is not defined in C (overflow of a signed type, division by zero, an impossible shift).
pub fn int_binary(
    op: BinaryOp,
    left: i128,
    right: i128,
    kind: IntKind,
    model: DataModel,
) -> Result<i128, NotConstant> {
    let signed = kind.is_signed();
    let checked = |exact: Option<i128>, wrapped: i128| {
        if signed {
            exact.filter(|v| kind.holds(*v, model)).ok_or(NotConstant::Overflow)
        } else {
            Ok(kind.wrap(wrapped, model))
        }
    };
    match op {
        BinaryOp::Add => checked(left.checked_add(right), left.wrapping_add(right)),
        BinaryOp::Sub => checked(left.checked_sub(right), left.wrapping_sub(right)),
        BinaryOp::Mul => checked(left.checked_mul(right), left.wrapping_mul(right)),
        BinaryOp::Div | BinaryOp::Rem if right == 0 => Err(NotConstant::DivisionByZero),
        BinaryOp::Div if signed => checked(left.checked_div(right), 0),
        BinaryOp::Div => Ok((left as u128 / right as u128) as i128),
        // The quotient must be representable too (C11 6.5.5p6).
        BinaryOp::Rem if signed => {
            checked(left.checked_div(right), 0)?;
            Ok(left % right)
        }
        BinaryOp::Rem => Ok((left as u128 % right as u128) as i128),
        BinaryOp::Shl | BinaryOp::Shr => {
            let Some(count) = u32::try_from(right).ok().filter(|n| *n < kind.bits(model)) else {
                return Err(NotConstant::Shift);
            };
            Ok(match op {
                BinaryOp::Shl => kind.wrap(left << count, model),
                _ if signed => left >> count,
                _ => (left as u128 >> count) as i128,
            })
        }
        BinaryOp::BitAnd => Ok(left & right),
        BinaryOp::BitOr => Ok(left | right),
        BinaryOp::BitXor => Ok(left ^ right),
    }
}

/// Pure integer builtins with one argument of a type with so many bits.
fn fold_builtin(name: &str, value: i128, bits: u32) -> Option<i128> {
    let unsigned = crate::integer::wrap_bits(value, bits, false) as u128;
    let result = match name.strip_prefix("__builtin_")?.trim_end_matches('l') {
        "bswap16" => u32::from((unsigned as u16).swap_bytes()).into(),
        "bswap32" => (unsigned as u32).swap_bytes().into(),
        "bswap64" => i128::from((unsigned as u64).swap_bytes()),
        "clz" if unsigned != 0 => i128::from(unsigned.leading_zeros()) - (128 - i128::from(bits)),
        "ctz" if unsigned != 0 => i128::from(unsigned.trailing_zeros()),
        "ffs" if unsigned == 0 => 0,
        "ffs" => i128::from(unsigned.trailing_zeros()) + 1,
        "popcount" => i128::from(unsigned.count_ones()),
        "parity" => i128::from(unsigned.count_ones() % 2),
        _ => return None,
    };
    Some(result)
}
