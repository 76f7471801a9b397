//! Conditions: the states in which one holds. Works backwards through expressions to the scalars they read, and from there through what
//! temporaries stand for. Learns only about places that are exactly known.

use std::sync::Arc;

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, LocalId, Lvalue, MemoryPredicate, Scalar};
use proofline_cpa::Facts;

use crate::store::{
    arithmetic::{Arithmetic, Impossible},
    heap::Guard,
    mentions,
    model::Model,
    offsets::Offsets,
    region::Access,
    state::State,
    update::{Update, extent},
    value::{Abstract, AbstractValue},
    view::{Place, Places, StateView, Target, compared_type},
};

/// So many steps backwards are made for one condition.
const FUEL: u32 = 48;

/// The states of `state` in which the condition counts as true (or false).
///
/// # Errors
/// [`Impossible`] if there are none.
pub fn assume<A: Arithmetic>(
    model: &Model<A>,
    function: &Function,
    state: &State<A::Value>,
    condition: &Expr,
    truth: bool,
    facts: &dyn Facts,
) -> Result<State<A::Value>, Impossible> {
    let mut refiner = Refiner { update: Update::new(model, function, state), facts, fuel: FUEL };
    refiner.assume(condition, truth)?;
    if model.env.keeps_texts() {
        refiner.go_on_in_texts(condition, truth)?;
    }
    Ok(refiner.update.state)
}

pub(super) struct Refiner<'m, A: Arithmetic> {
    pub(super) update: Update<'m, A>,
    facts: &'m dyn Facts,
    fuel: u32,
}

impl<'m, A: Arithmetic> Refiner<'m, A> {
    pub(super) fn view(&self) -> StateView<'_, A> {
        StateView::new(self.update.model, self.update.function, &self.update.state, self.facts)
    }

    pub(super) fn domain(&self) -> &'m A {
        &self.update.model.arithmetic
    }

    fn assume(&mut self, condition: &Expr, truth: bool) -> Result<(), Impossible> {
        // Where nothing is cut off, it is as true as its operand, whose value is computed once.
        if let Expr::Cast(Scalar::Int(to), arg, _) = condition
            && matches!(arg.scalar(), Scalar::Int(from) if to.bits >= from.bits)
        {
            return self.assume(arg, truth);
        }
        let value = self.view().eval(condition)?;
        match value.as_ref().known().and_then(|value| self.domain().truth(value)) {
            Some(known) if known == truth => return Ok(()),
            Some(_) => return Err(Impossible),
            None => {}
        }
        if self.fuel == 0 {
            return Ok(());
        }
        self.fuel -= 1;
        match condition {
            Expr::Compare(op, lhs, rhs) => self.assume_compare(*op, lhs, rhs, truth),
            Expr::Overflows(op, lhs, rhs) => {
                let (left, right) = (self.view().eval(lhs)?, self.view().eval(rhs)?);
                let ty = lhs.scalar();
                let (left, right) =
                    self.domain().where_overflows(*op, ty, left.as_ref(), right.as_ref(), truth)?;
                self.refine_both(lhs, left, rhs, right)
            }
            Expr::Binary(BinaryOp::BitAnd, lhs, rhs, _) if truth && is_boolean(lhs) && is_boolean(rhs) => {
                self.assume(lhs, true)?;
                self.assume(rhs, true)
            }
            Expr::Binary(BinaryOp::BitOr, lhs, rhs, _) if !truth => {
                self.assume(lhs, false)?;
                self.assume(rhs, false)
            }
            Expr::Cast(to, arg, _) if keeps_truth(arg.scalar(), *to, truth) => self.assume(arg, truth),
            Expr::Memory(MemoryPredicate::Initialised, pointer, size) if truth => {
                self.learn_values(pointer, size)
            }
            Expr::Memory(MemoryPredicate::Terminated, pointer, size)
                if truth && matches!(**size, Expr::Int(0, _)) =>
            {
                self.learn_end(pointer, 8)
            }
            Expr::Memory(MemoryPredicate::WideTerminated, pointer, size)
                if truth && matches!(**size, Expr::Int(0, _)) =>
            {
                self.learn_end(pointer, 32)
            }
            // States do not say more of objects than they say already.
            Expr::Memory(..) => Ok(()),
            Expr::Int(..)
            | Expr::Float(..)
            | Expr::Null
            | Expr::Function(_)
            | Expr::Address(_)
            | Expr::Load(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Cast(..)
            | Expr::PointerDifference(..) => {
                let ty = condition.scalar();
                let wanted =
                    if truth { self.domain().where_true(ty, value.as_ref())? } else { self.zero(ty) };
                self.refine_wanted(condition, wanted)?;
                self.assume_definition(condition, truth)
            }
        }
    }

    /// The bytes have values.
    fn learn_values(&mut self, pointer: &Expr, size: &Expr) -> Result<(), Impossible> {
        let (places, strong) = {
            let view = self.view();
            let places = match pointer {
                Expr::Address(lvalue) if lvalue.bits.is_some() => return Ok(()),
                Expr::Address(lvalue) => view.resolve_among(lvalue, 1)?,
                _ => view.pointees_among(pointer, Offsets::at(0), 0, 1)?,
            };
            let strong = view.is_strong(&places);
            (places, strong)
        };
        if let (Expr::Int(size, _), [place], true) = (size, &places.list[..], strong) {
            let (from, to) = extent(place, u64::try_from(*size).ok());
            self.update.modify(place.target, |region| region.give(from, to));
        }
        Ok(())
    }

    /// Behind the pointer a string of characters of so many bits ends inside its object.
    fn learn_end(&mut self, pointer: &Expr, item: i64) -> Result<(), Impossible> {
        if item == 8 && self.update.model.env.keeps_texts() {
            self.is_in_text(pointer)?;
        }
        let (places, limit) = {
            let view = self.view();
            let places = view.pointees_among(pointer, Offsets::at(0), 0, 1)?;
            let limit = match &places.list[..] {
                [Place { target: Target::Object(object), .. }] if !places.elsewhere => view.sizes(*object),
                _ => None,
            };
            let is_known = view.string_length(pointer, item / 8)?.is_some_and(|length| length.most.is_some());
            if is_known {
                return Ok(());
            }
            (places, limit)
        };
        let ([place], Some((_, most))) = (&places.list[..], limit) else { return Ok(()) };
        let last = i64::try_from(most).ok().and_then(|most| most.checked_sub(item / 8));
        let (Some(last), Some(first)) = (last.filter(|last| *last < 1 << 30), place.offsets.single()) else {
            return Ok(());
        };
        let last = first + (last - first).div_euclid(item / 8) * (item / 8);
        if first >= 0 && first <= last {
            let between = Offsets { lo: first, hi: last, step: (item / 8) as u64 };
            let whole =
                Places { list: [Place { offsets: between, ..*place }].into_iter().collect(), ..places };
            self.update.end_strings(&whole, item);
        }
        Ok(())
    }

    /// A condition that is a temporary: what it stands for is as true as it is.
    fn assume_definition(&mut self, condition: &Expr, truth: bool) -> Result<(), Impossible> {
        let definition = self.view().resolved(condition).clone();
        if definition == *condition { Ok(()) } else { self.assume(&definition, truth) }
    }

    fn zero(&self, ty: Scalar) -> Abstract<A::Value> {
        match ty {
            Scalar::Int(ty) => self.domain().int(ty, 0),
            Scalar::Pointer => Abstract::Of(self.domain().null()),
            // There are two zeros.
            Scalar::Float(_) => Abstract::Any,
        }
    }

    fn assume_compare(
        &mut self,
        op: CompareOp,
        lhs: &Expr,
        rhs: &Expr,
        truth: bool,
    ) -> Result<(), Impossible> {
        let ty = lhs.scalar();
        // `(a < b) == 0` and the like.
        for (inner, constant) in [(lhs, rhs), (rhs, lhs)] {
            if matches!(constant, Expr::Int(0, _) | Expr::Null) {
                match op {
                    CompareOp::Eq => return self.assume_scalar(inner, !truth, lhs, rhs, op, truth),
                    CompareOp::Ne => return self.assume_scalar(inner, truth, lhs, rhs, op, truth),
                    CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {}
                }
            }
        }
        self.refine_compare(op, ty, lhs, rhs, truth)
    }

    /// `inner` is compared with zero: it counts as `truth`.
    fn assume_scalar(
        &mut self,
        inner: &Expr,
        truth: bool,
        lhs: &Expr,
        rhs: &Expr,
        op: CompareOp,
        compared: bool,
    ) -> Result<(), Impossible> {
        let resolved = self.view().resolved(inner).clone();
        if matches!(resolved, Expr::Load(_)) {
            return self.refine_compare(op, lhs.scalar(), lhs, rhs, compared);
        }
        self.assume(inner, truth)
    }

    fn refine_compare(
        &mut self,
        op: CompareOp,
        ty: Scalar,
        lhs: &Expr,
        rhs: &Expr,
        truth: bool,
    ) -> Result<(), Impossible> {
        let op = if truth { op } else { op.negated() };
        let (left, right) = {
            let view = self.view();
            let (left, right) = (view.eval(lhs)?, view.eval(rhs)?);
            // What is not a comparison of floats also holds of NaN.
            if !truth
                && !matches!(op, CompareOp::Eq | CompareOp::Ne)
                && !self.domain().are_ordered(ty, left.as_ref(), right.as_ref())
            {
                return Ok(());
            }
            let ty = compared_type(lhs, left.is_any(), rhs, right.is_any());
            self.domain().where_compares(op, ty, left.as_ref(), right.as_ref(), &view)?
        };
        self.refine_both(lhs, left, rhs, right)
    }

    fn refine_both(
        &mut self,
        lhs: &Expr,
        left: Abstract<A::Value>,
        rhs: &Expr,
        right: Abstract<A::Value>,
    ) -> Result<(), Impossible> {
        self.refine_wanted(lhs, left)?;
        self.refine_wanted(rhs, right)
    }

    fn refine_wanted(&mut self, expr: &Expr, wanted: Abstract<A::Value>) -> Result<(), Impossible> {
        match wanted {
            Abstract::Of(wanted) => self.refine(expr, &wanted),
            Abstract::Any => Ok(()),
        }
    }

    /// Keeps the states in which the expression's value is among the wanted ones.
    fn refine(&mut self, expr: &Expr, wanted: &A::Value) -> Result<(), Impossible> {
        let ty = expr.scalar();
        let (now, met) = {
            let view = self.view();
            let now = view.eval(expr)?;
            let met = self.domain().meet(now.as_ref(), wanted, ty, &view)?;
            (now, met)
        };
        let Abstract::Of(met) = met else { return Ok(()) };
        if now.as_ref() == Abstract::Of(&met) || self.fuel == 0 {
            return Ok(());
        }
        self.fuel -= 1;
        match expr {
            Expr::Load(lvalue) => self.learn(lvalue, &met),
            Expr::Unary(op, arg, _) => {
                let wanted = self.domain().unary_backward(*op, ty, &met)?;
                self.refine_wanted(arg, wanted)
            }
            Expr::Binary(op, lhs, rhs, _) => {
                let (left, right) = (self.view().eval(lhs)?, self.view().eval(rhs)?);
                let (left, right) = self.domain().binary_backward(
                    *op,
                    ty,
                    left.as_ref(),
                    rhs.scalar(),
                    right.as_ref(),
                    &met,
                )?;
                self.refine_both(lhs, left, rhs, right)
            }
            Expr::Cast(to, arg, _) => {
                let now = self.view().eval(arg)?;
                let wanted = self.domain().cast_backward(arg.scalar(), *to, now.as_ref(), &met)?;
                self.refine_wanted(arg, wanted)
            }
            Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) => match self.domain().truth(&met) {
                Some(truth) => self.assume(expr, truth),
                None => Ok(()),
            },
            Expr::Int(..)
            | Expr::Float(..)
            | Expr::Null
            | Expr::Address(_)
            | Expr::Function(_)
            | Expr::PointerDifference(..) => Ok(()),
        }
    }

    /// The scalar at the lvalue is in `value`.
    pub(super) fn learn(&mut self, lvalue: &Lvalue, value: &A::Value) -> Result<(), Impossible> {
        let place = {
            let view = self.view();
            let Some(access) = view.access(lvalue) else { return Ok(()) };
            let Some(place) = view.resolve_exactly(lvalue)? else { return Ok(()) };
            place.offsets.single().and_then(|offset| {
                let at = access.at(offset * 8 + access.start);
                let can_learn = view.region(place.target).is_none_or(|region| region.can_learn(at));
                can_learn.then_some((place.target, at))
            })
        };
        let Some((target, at)) = place else { return Ok(()) };
        let at = Access { room: at.len, ..at };
        self.update.modify(target, |region| {
            // Nothing was written.
            let ends = region.ends();
            region.write(at, Abstract::Of(value.clone()));
            region.set_ends(ends);
        });
        if at.scalar == Scalar::Pointer && value.is_zero() {
            self.update.state.heap.learn_null(Guard { of: target, at: at.start });
        }
        if let Target::Local(id) = target
            && let Some(definition) = self.update.state.frame.definition(id).cloned()
        {
            self.refine(&definition, value)?;
        }
        self.propagate(lvalue, target)
    }

    /// Sharpens locals that equal an expression in which the lvalue is read.
    fn propagate(&mut self, lvalue: &Lvalue, target: Target) -> Result<(), Impossible> {
        let depends = |expr: &Expr| match target {
            Target::Local(id) => mentions::reads_local(expr, id),
            Target::Object(_) => mentions::reads(expr, lvalue),
        };
        let frame = self.update.state.frame.clone();
        let dependent: Vec<(LocalId, Arc<Expr>)> =
            frame.definitions.iter().filter(|(_, expr)| depends(expr)).cloned().collect();
        for (id, expr) in dependent {
            if self.fuel == 0 {
                break;
            }
            let local = self.update.function.local(id);
            if let Abstract::Of(value) = self.view().eval(&expr)? {
                let whole = Lvalue::local(id, local.ty, expr.scalar(), local.size);
                self.refine(&Expr::Load(whole), &value)?;
            }
        }
        Ok(())
    }
}

/// Whether the value is 0 or 1.
fn is_boolean(expr: &Expr) -> bool {
    match expr {
        Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) => true,
        Expr::Cast(Scalar::Int(_), arg, _) => is_boolean(arg),
        Expr::Int(value, _) => matches!(value, 0 | 1),
        Expr::Binary(BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor, lhs, rhs, _) => {
            is_boolean(lhs) && is_boolean(rhs)
        }
        Expr::Float(..)
        | Expr::Null
        | Expr::Load(_)
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::Cast(..)
        | Expr::PointerDifference(..) => false,
    }
}

/// Whether `(to)arg` counting as `truth` means that `arg` does.
fn keeps_truth(from: Scalar, to: Scalar, truth: bool) -> bool {
    match (from, to) {
        // What is cut off may be the part that is not zero.
        (Scalar::Int(from), Scalar::Int(to)) => truth || to.bits >= from.bits,
        (Scalar::Pointer, Scalar::Int(_)) => truth,
        (Scalar::Int(_) | Scalar::Pointer, Scalar::Pointer) => truth,
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) => false,
    }
}
