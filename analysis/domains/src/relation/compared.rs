//! Numbers in memory that conditions have compared: that `a[i]` is still less than `n` in `if (a[i] < n) … b[a[i]]`, whatever `i` is. Known until memory
//! changes that may be there, or a local changes that the place names.
//!
//! **Law.** The number that lies at a listed place is in its bounds.

use std::sync::Arc;

use proofline_cfa::{
    Base, CompareOp, Expr, Function, IntType, LocalId, Lvalue, Object, Op, Program, Scalar, Site,
    Step as PathStep, visit,
};
use serde::{Deserialize, Serialize};

use super::{
    form::{Form, View},
    numbers::whole,
    state::Relations,
    transfer::Step,
};

/// A place in memory, and the bounds of the number there.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Compared {
    /// Without positions in the text. What it names are constants and locals whose address is not taken.
    pub place: Lvalue,
    /// The smallest number.
    pub low: i128,
    /// The largest.
    pub high: i128,
}

/// So many are kept.
const MOST: usize = 4;

impl Compared {
    fn is_narrower(&self, other: &Compared) -> bool {
        self.place == other.place && self.low >= other.low && self.high <= other.high
    }

    /// Whether an index or a pointer in it is made from the local.
    fn names(&self, is_it: &dyn Fn(LocalId) -> bool) -> bool {
        let mut found = false;
        visit::parts_of_place(&self.place, &mut |part| {
            visit::reads_of_expr(part, &mut |read| {
                found |= matches!(read.base, Base::Local(id) if is_it(id));
            });
        });
        found
    }
}

/// The place without positions in the text, if nothing but locals decides where it is.
fn place_of(program: &Program, function: &Function, lvalue: &Lvalue) -> Option<Lvalue> {
    let value = |expr: &Expr| value_of(program, function, expr).map(Arc::new);
    let base = match &lvalue.base {
        Base::Deref(pointer, _) => Base::Deref(value(pointer)?, Site::NOWHERE),
        base @ (Base::Local(_) | Base::Global(_)) => base.clone(),
    };
    let step = |step: &PathStep| {
        Some(match step {
            PathStep::Index { index, stride, length, .. } => {
                let index = value(index)?;
                PathStep::Index { index, stride: *stride, length: *length, site: Site::NOWHERE }
            }
            PathStep::Field { .. } => step.clone(),
        })
    };
    let path = lvalue.path.iter().map(step).collect::<Option<Vec<_>>>()?;
    Some(Lvalue { base, path, ..lvalue.clone() })
}

fn value_of(program: &Program, function: &Function, expr: &Expr) -> Option<Expr> {
    let value = |expr: &Expr| value_of(program, function, expr).map(Arc::new);
    match expr {
        Expr::Int(..) => Some(expr.clone()),
        Expr::Load(lvalue) => whole(program, function, lvalue).map(|_| expr.clone()),
        Expr::Cast(to, arg, _) => Some(Expr::Cast(*to, value(arg)?, Site::NOWHERE)),
        Expr::Unary(op, arg, _) => Some(Expr::Unary(*op, value(arg)?, Site::NOWHERE)),
        Expr::Binary(op, lhs, rhs, _) => Some(Expr::Binary(*op, value(lhs)?, value(rhs)?, Site::NOWHERE)),
        Expr::Float(_)
        | Expr::Null
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Compare(..)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => None,
    }
}

impl View<'_> {
    /// The bounds that conditions have given a number in memory.
    pub(super) fn compared(&self, lvalue: &Lvalue) -> Option<(i128, i128)> {
        if self.state.compared.is_empty() {
            return None;
        }
        let place = place_of(self.program, self.function, lvalue)?;
        let known = self.state.compared.iter().find(|known| known.place == place)?;
        Some((known.low, known.high))
    }
}

impl Step<'_> {
    /// A condition compares numbers, of which each may lie in memory.
    pub(super) fn compares(
        &self,
        state: &mut Relations,
        op: CompareOp,
        (lhs, left): (&Expr, &Form),
        (rhs, right): (&Expr, &Form),
    ) {
        self.learns(state, op, lhs, left, right);
        self.learns(state, op.mirrored(), rhs, right, left);
    }

    fn learns(&self, state: &mut Relations, op: CompareOp, number: &Expr, own: &Form, other: &Form) {
        let Some((lvalue, ty)) = in_memory(number) else { return };
        let view = self.view();
        // What only a name leads to has a number of its own.
        let is_found = |step: &PathStep| matches!(step, PathStep::Index { .. });
        if !matches!(lvalue.base, Base::Deref(..)) && !lvalue.path.iter().any(is_found) {
            return;
        }
        let (mut low, mut high) = (own.low, own.high);
        match op {
            CompareOp::Lt => high = high.min(other.high.saturating_sub(1)),
            CompareOp::Le => high = high.min(other.high),
            CompareOp::Gt => low = low.max(other.low.saturating_add(1)),
            CompareOp::Ge => low = low.max(other.low),
            CompareOp::Eq => (low, high) = (low.max(other.low), high.min(other.high)),
            CompareOp::Ne if other.is_constant() => {
                low += i128::from(low == other.low);
                high -= i128::from(high == other.low);
            }
            CompareOp::Ne => {}
        }
        if low <= ty.min() && high >= ty.max() || low > high {
            return;
        }
        let Some(place) = place_of(view.program, view.function, lvalue) else { return };
        let known = Arc::make_mut(&mut state.compared);
        known.retain(|old| old.place != place);
        known.push(Compared { place, low, high });
        if known.len() > MOST {
            known.remove(0);
        }
    }

    /// The edge may change what lies at places, and what they are.
    pub(super) fn loses_compared(&self, state: &mut Relations) {
        if state.compared.is_empty() {
            return;
        }
        match &self.at.edge.op {
            Op::Skip | Op::Assume(_) => {}
            Op::Assign(dst, _) | Op::Havoc(dst, _) => match self.view().whole(dst) {
                Some((changed, _)) => state.retain_compared(|known| !known.names(&|id| id == changed)),
                None => {
                    let name = self.at.function.name;
                    let there = self.env.targets(name, &Expr::Address(dst.clone()));
                    state.retain_compared(|known| {
                        let targets = self.env.targets(name, &Expr::Address(known.place.clone()));
                        targets.objects.is_disjoint(&there.objects)
                    });
                }
            },
            Op::Begin(changed) | Op::End(changed) => {
                let name = self.at.function.name;
                let object = Object::Local(name, *changed);
                state.retain_compared(|known| {
                    let targets = self.env.targets(name, &Expr::Address(known.place.clone()));
                    !targets.objects.contains(&object) && !known.names(&|id| id == *changed)
                });
            }
            Op::Copy(..)
            | Op::CopyBytes(..)
            | Op::HavocBytes(..)
            | Op::FillBytes(..)
            | Op::Clobber(..)
            | Op::Call(_)
            | Op::Allocate(_)
            | Op::Free(_) => state.retain_compared(|_| false),
        }
    }
}

impl Relations {
    /// Forgets places for which `keep` does not hold.
    pub(super) fn retain_compared(&mut self, keep: impl Fn(&Compared) -> bool) {
        if self.compared.iter().any(|known| !keep(known)) {
            Arc::make_mut(&mut self.compared).retain(|known| keep(known));
        }
    }

    /// Forgets places that are made from other locals than these.
    pub(super) fn retain_compared_by(&mut self, keep: &dyn Fn(LocalId) -> bool) {
        self.retain_compared(|known| !known.names(&|id| !keep(id)));
    }

    /// Whether all that the other knows of places is known.
    pub(super) fn has_compared(&self, other: &Relations) -> bool {
        other.compared.iter().all(|known| self.compared.iter().any(|own| own.is_narrower(known)))
    }

    /// What both know of places.
    pub(super) fn both_compared(&self, other: &Relations) -> Arc<Vec<Compared>> {
        if self.compared == other.compared {
            return self.compared.clone();
        }
        let both = self.compared.iter().filter_map(|own| {
            let known = other.compared.iter().find(|known| known.place == own.place)?;
            let (low, high) = (own.low.min(known.low), own.high.max(known.high));
            Some(Compared { place: own.place.clone(), low, high })
        });
        Arc::new(both.collect())
    }
}

/// The place of a number that is read, whatever it is converted to, if that does not change it.
fn in_memory(number: &Expr) -> Option<(&Lvalue, IntType)> {
    match number {
        Expr::Load(lvalue) => match lvalue.scalar? {
            Scalar::Int(ty) if ty.bits <= 64 && lvalue.bits.is_none() => Some((lvalue, ty)),
            Scalar::Int(_) | Scalar::Float(_) | Scalar::Pointer => None,
        },
        Expr::Cast(Scalar::Int(to), arg, _) => {
            let (lvalue, ty) = in_memory(arg)?;
            let to = *to;
            (to.min() <= ty.min() && ty.max() <= to.max()).then_some((lvalue, ty))
        }
        _ => None,
    }
}
