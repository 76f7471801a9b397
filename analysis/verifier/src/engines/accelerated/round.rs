//! One round of a loop along one path, as linear forms: what variables are behind it, and what must hold for control to take it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Argument, BinaryOp, Callee, CompareOp, EdgeId, Expr, Function, IntType, Lvalue, Name, Op, Scalar,
    UnaryOp, visit,
};

use super::linear::{Linear, WIDE, wide};

/// What a round does.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// What each variable that it writes is behind it, over the values before it.
    pub(super) written: BTreeMap<Lvalue, Linear>,
    /// Forms that are not negative, over the same.
    pub(super) at_least_zero: Vec<Linear>,
    /// Forms that are 0.
    pub(super) zero: Vec<Linear>,
    /// Forms that are not 0.
    pub(super) not_zero: Vec<Linear>,
    /// Conditions on what it does not write.
    pub(super) kept: Vec<Expr>,
}

/// Functions that come back only where this parameter is not 0, and do nothing else.
pub(super) type Tests = BTreeMap<Name, usize>;

impl Round {
    /// Along a path from a loop's head back to it; `None` where it does something else than to compute sums.
    pub(super) fn along(function: &Function, path: &[EdgeId], tests: &Tests) -> Option<Round> {
        let mut round = Round::default();
        for edge in path {
            match &function.edge(*edge).op {
                Op::Skip | Op::Begin(_) | Op::End(_) => {}
                Op::Assume(condition) => round.assume(condition, true)?,
                Op::Assign(dst, value) => {
                    let value = round.value(value)?;
                    round.written.insert(register(function, dst)?.clone(), value);
                }
                Op::Call(call) => {
                    let Callee::Direct(name) = &call.callee else { return None };
                    let Argument::Value(condition) = call.arguments.get(*tests.get(name)?)? else {
                        return None;
                    };
                    if call.dst.is_some() {
                        return None;
                    }
                    round.assume(condition, true)?;
                }
                Op::Havoc(..)
                | Op::Copy(..)
                | Op::Clobber(..)
                | Op::Allocate(_)
                | Op::Free(_)
                | Op::CopyBytes(..)
                | Op::FillBytes(..)
                | Op::HavocBytes(..) => return None,
            }
        }
        for forms in [&mut round.at_least_zero, &mut round.zero, &mut round.not_zero] {
            forms.sort_unstable();
            forms.dedup();
        }
        // Whatever is in the variables, as long as it is of their types.
        round.at_least_zero.retain(|form| !form.is_never_negative());
        let written: BTreeSet<&Lvalue> = round.written.keys().collect();
        (!round.kept.iter().any(|condition| mentions(condition, &written))).then_some(round)
    }

    /// Conditions of which one is so wherever no such round comes next.
    pub(super) fn impossible(&self) -> Vec<Expr> {
        let is =
            |op, form: &Linear| Expr::Compare(op, Arc::new(form.expr(&wide)), Arc::new(Expr::Int(0, WIDE)));
        let negative = self.at_least_zero.iter().map(|form| is(CompareOp::Lt, form));
        let not_zero = self.zero.iter().map(|form| is(CompareOp::Ne, form));
        let zero = self.not_zero.iter().map(|form| is(CompareOp::Eq, form));
        negative.chain(not_zero).chain(zero).chain(self.kept.iter().map(Expr::negated)).collect()
    }

    /// The value of an expression over what was there before the round. That computing it does not leave its type is noted.
    fn value(&mut self, expr: &Expr) -> Option<Linear> {
        match expr {
            Expr::Int(value, ty) => ty.is_exact().then(|| Linear::constant(*value)),
            Expr::Load(lvalue) => {
                let Some(Scalar::Int(ty)) = lvalue.scalar else { return None };
                if !lvalue.path.is_empty() || lvalue.bits.is_some() || ty.bits > 64 {
                    return None;
                }
                match &lvalue.base {
                    proofline_cfa::Base::Deref(..) => None,
                    _ => Some(self.written.get(lvalue).cloned().unwrap_or_else(|| Linear::variable(lvalue))),
                }
            }
            Expr::Cast(Scalar::Int(to), arg, _) => {
                let (from, to) = (arg.int_type()?, *to);
                let value = self.value(arg)?;
                if from.min() < to.min() || from.max() > to.max() {
                    self.within(&value, to)?;
                }
                Some(value)
            }
            Expr::Unary(UnaryOp::Negate, arg, _) => {
                let value = self.value(arg)?.scaled(-1)?;
                self.fits(value, expr.int_type()?)
            }
            Expr::Binary(op, lhs, rhs, _) => {
                let (a, b) = (self.value(lhs)?, self.value(rhs)?);
                let value = match op {
                    BinaryOp::Add => a.plus(1, &b)?,
                    BinaryOp::Sub => a.plus(-1, &b)?,
                    BinaryOp::Mul if a.factors.is_empty() => b.scaled(a.constant)?,
                    BinaryOp::Mul if b.factors.is_empty() => a.scaled(b.constant)?,
                    BinaryOp::Shl if b.factors.is_empty() && (0..20).contains(&b.constant) => {
                        a.scaled(1 << b.constant)?
                    }
                    BinaryOp::Mul
                    | BinaryOp::Div
                    | BinaryOp::Rem
                    | BinaryOp::Shl
                    | BinaryOp::Shr
                    | BinaryOp::BitAnd
                    | BinaryOp::BitOr
                    | BinaryOp::BitXor => return None,
                };
                self.fits(value, expr.int_type()?)
            }
            Expr::Float(_)
            | Expr::Null
            | Expr::Address(_)
            | Expr::Function(_)
            | Expr::Unary(UnaryOp::BitNot, ..)
            | Expr::Compare(..)
            | Expr::Cast(Scalar::Float(_) | Scalar::Pointer, ..)
            | Expr::Overflows(..)
            | Expr::Memory(..)
            | Expr::PointerDifference(..) => None,
        }
    }

    fn fits(&mut self, value: Linear, ty: IntType) -> Option<Linear> {
        if !value.factors.is_empty() || !ty.contains(value.constant) {
            self.within(&value, ty)?;
        }
        Some(value)
    }

    fn within(&mut self, value: &Linear, ty: IntType) -> Option<()> {
        let above = value.plus(-1, &Linear::constant(ty.min()))?;
        let below = Linear::constant(ty.max()).plus(-1, value)?;
        self.at_least_zero.extend([above, below]);
        Some(())
    }

    /// That a condition is so.
    fn assume(&mut self, condition: &Expr, is: bool) -> Option<()> {
        match condition {
            Expr::Compare(op @ (CompareOp::Eq | CompareOp::Ne), inner, zero)
                if matches!(**zero, Expr::Int(0, _))
                    && matches!(**inner, Expr::Compare(..) | Expr::Overflows(..)) =>
            {
                self.assume(inner, is == (*op == CompareOp::Ne))
            }
            Expr::Compare(op, lhs, rhs) if lhs.int_type().is_some() => {
                let before = self.clone();
                let (Some(a), Some(b)) = (self.value(lhs), self.value(rhs)) else {
                    *self = before;
                    return self.keep(condition, is);
                };
                let difference = a.plus(-1, &b)?;
                self.compare(if is { *op } else { op.negated() }, difference)
            }
            Expr::Overflows(op, lhs, rhs) if !is => {
                let value = Expr::Binary(*op, lhs.clone(), rhs.clone(), proofline_cfa::Site::NOWHERE);
                self.value(&value).map(|_| ())
            }
            Expr::Load(_) | Expr::Cast(..) | Expr::Binary(..) if condition.int_type().is_some() => {
                let before = self.clone();
                match self.value(condition) {
                    Some(value) => self.compare(if is { CompareOp::Ne } else { CompareOp::Eq }, value),
                    None => {
                        *self = before;
                        self.keep(condition, is)
                    }
                }
            }
            Expr::Int(value, _) => ((*value != 0) == is).then_some(()),
            _ => self.keep(condition, is),
        }
    }

    /// A condition that is as it was: in the end nothing that it mentions may have been written.
    fn keep(&mut self, condition: &Expr, is: bool) -> Option<()> {
        self.kept.push(if is { condition.clone() } else { condition.negated() });
        Some(())
    }

    /// `form op 0`
    fn compare(&mut self, op: CompareOp, form: Linear) -> Option<()> {
        let one = Linear::constant(1);
        match op {
            CompareOp::Eq => self.zero.push(form),
            CompareOp::Ne => self.not_zero.push(form),
            CompareOp::Ge => self.at_least_zero.push(form),
            CompareOp::Gt => self.at_least_zero.push(form.plus(-1, &one)?),
            CompareOp::Le => self.at_least_zero.push(form.scaled(-1)?),
            CompareOp::Lt => self.at_least_zero.push(form.scaled(-1)?.plus(-1, &one)?),
        }
        Some(())
    }
}

/// A whole integer that only edges which name it change.
fn register<'l>(function: &Function, lvalue: &'l Lvalue) -> Option<&'l Lvalue> {
    let is_named = match lvalue.base {
        proofline_cfa::Base::Local(id) => !function.local(id).address_taken,
        proofline_cfa::Base::Global(_) => true,
        proofline_cfa::Base::Deref(..) => false,
    };
    let is_int = matches!(lvalue.scalar, Some(Scalar::Int(ty)) if ty.bits <= 64);
    let is_plain = lvalue.path.is_empty() && lvalue.bits.is_none() && !lvalue.ty.qualifiers().is_volatile;
    (is_named && is_int && is_plain).then_some(lvalue)
}

/// Whether an expression reads one of these, or memory that may be one of them.
fn mentions(expr: &Expr, written: &BTreeSet<&Lvalue>) -> bool {
    let has_global = written.iter().any(|lvalue| matches!(lvalue.base, proofline_cfa::Base::Global(_)));
    let mut found = false;
    visit::walk(expr, &mut |part| {
        if let Expr::Load(lvalue) = part {
            let is_one = written.iter().any(|other| other.base == lvalue.base);
            found |= is_one || has_global && matches!(lvalue.base, proofline_cfa::Base::Deref(..));
        }
    });
    found
}
