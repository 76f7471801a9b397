//! Conditions: whether executions go on, and what is known of numbers then.

use proofline_cfa::{BinaryOp, CompareOp, Expr, Lvalue, MemoryPredicate, Scalar, eval::Overflow};

use super::{
    eval::{Result, Step, Stop, Target},
    value::Value,
};
use crate::{
    interval::{Arith, Ranges, where_ranges_compare},
    store::Abstract,
};

impl Step<'_> {
    /// Goes on where the condition is `wanted`.
    pub(super) fn assume(&mut self, condition: &Expr, wanted: bool) -> Result<()> {
        if let Expr::Compare(op @ (CompareOp::Eq | CompareOp::Ne), lhs, rhs) = condition
            && matches!(**rhs, Expr::Int(0, _))
            && matches!(**lhs, Expr::Compare(..) | Expr::Memory(..) | Expr::Overflows(..))
        {
            return self.assume(lhs, wanted == (*op == CompareOp::Ne));
        }
        if let Some(truth) = self.truth(condition)? {
            return if truth == wanted { Ok(()) } else { Err(Stop::Impossible) };
        }
        match condition {
            Expr::Compare(op, lhs, rhs) => {
                let op = if wanted { *op } else { op.negated() };
                self.compared(op, lhs, rhs, lhs.scalar(), wanted)
            }
            Expr::Memory(MemoryPredicate::Terminated, string, most) if wanted => {
                if self.eval(most)?.is_zero()
                    && let Value::Pointer(at) = self.eval(string)?
                    && !self.heap.is_segment(&at)
                    && let Some(region) = self.heap.node_mut(at.to)
                {
                    region.end_from(u64::try_from(at.low).unwrap_or(0));
                }
                Ok(())
            }
            Expr::Memory(..) | Expr::Overflows(..) => Ok(()),
            Expr::Int(..)
            | Expr::Float(_)
            | Expr::Null
            | Expr::Load(_)
            | Expr::Address(_)
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Cast(..)
            | Expr::PointerDifference(..) => {
                let op = if wanted { CompareOp::Ne } else { CompareOp::Eq };
                let zero = condition.zero();
                self.compared(op, condition, &zero, condition.scalar(), true)
            }
        }
    }

    fn compared(&mut self, op: CompareOp, lhs: &Expr, rhs: &Expr, scalar: Scalar, _: bool) -> Result<()> {
        let (a, b) = (self.eval(lhs)?, self.eval(rhs)?);
        match scalar {
            Scalar::Float(_) => Ok(()),
            Scalar::Pointer => {
                if op == CompareOp::Eq {
                    match (self.heap.ranges(&a), self.heap.ranges(&b)) {
                        (None, Some(number)) => self.refine(lhs, &a, &number)?,
                        (Some(number), None) => self.refine(rhs, &b, &number)?,
                        _ => {}
                    }
                }
                Ok(())
            }
            Scalar::Int(ty) => {
                let (x, y) = (self.ranges(&a, ty), self.ranges(&b, ty));
                let (x, y) = where_ranges_compare(op, &x, &y).ok_or(Stop::Impossible)?;
                self.refine(lhs, &a, &x)?;
                self.refine(rhs, &b, &y)
            }
        }
    }

    /// The expression, whose value this is, has a number in the ranges.
    fn refine(&mut self, expr: &Expr, value: &Value, to: &Ranges) -> Result<()> {
        match value {
            Value::Symbol(name) => {
                if let Some(known) = self.heap.numbers.get_mut(name) {
                    *known = known.meet(to).ok_or(Stop::Impossible)?;
                }
            }
            Value::Number(known) => {
                let both = known.meet(to).ok_or(Stop::Impossible)?;
                self.bind(expr, Value::Number(both))?;
            }
            Value::Any | Value::Uninit if to.as_single().is_some() => {
                self.bind(expr, Value::Number(to.clone()))?;
            }
            Value::Any
            | Value::Uninit
            | Value::Pointer(_)
            | Value::Function(_)
            | Value::Freed
            | Value::Ended
            | Value::Choice(_) => {}
        }
        match expr {
            Expr::Cast(Scalar::Int(_), inner, _) => {
                // The number that was converted is the same if it fits.
                let Some(ty) = inner.int_type() else { return Ok(()) };
                let before = self.eval(inner)?;
                let Some(known) = self.heap.ranges(&before) else { return Ok(()) };
                let Some(after) = self.heap.ranges(value) else { return Ok(()) };
                let is_same = known.leq(&Ranges::of(ty)) && (known == after || *value == before);
                if is_same && matches!(before, Value::Number(_)) && known.meet(to).is_some() {
                    self.refine(inner, &before, to)?;
                }
                Ok(())
            }
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), lhs, rhs, _) => {
                let Some(ty) = lhs.int_type() else { return Ok(()) };
                let (a, b) = (self.eval(lhs)?, self.eval(rhs)?);
                if self.heap.ranges(&a).is_none() || self.heap.ranges(&b).is_none() {
                    return Ok(());
                }
                let overflow = if self.program.wrapv { Overflow::Wraps } else { Overflow::Undefined };
                let (x, y) = (self.ranges(&a, ty), self.ranges(&b, ty));
                let found = Arith { overflow }.backward(*op, ty, &x, &y, to);
                let (x, y) = found.map_err(|_| Stop::Impossible)?;
                if let Abstract::Of(x) = x {
                    self.refine(lhs, &a, &x)?;
                }
                if let Abstract::Of(y) = y {
                    self.refine(rhs, &b, &y)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What a register holds.
    fn bind(&mut self, expr: &Expr, value: Value) -> Result<()> {
        if let Expr::Load(lvalue) = expr
            && let Target::Register(id) = self.resolve(lvalue)?
            && is_whole(lvalue)
            && let Some(frame) = self.heap.frame_mut()
        {
            frame.registers.insert(id, value);
        }
        Ok(())
    }
}

fn is_whole(lvalue: &Lvalue) -> bool {
    lvalue.path.is_empty() && lvalue.bits.is_none()
}
