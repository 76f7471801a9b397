//! Linear forms over the variables of a function, as whole numbers.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{BinaryOp, Expr, IntType, Lvalue, Scalar, Site};

/// Wide enough for products of numbers of rounds, factors and values.
pub(super) const WIDE: IntType = IntType { bits: 128, signed: true };
/// Larger factors and constants are not followed: with them and the most rounds, everything fits into [`WIDE`].
const MOST_FACTOR: i128 = 1 << 10;
const MOST_CONSTANT: i128 = 1 << 65;

/// `constant + Σ factor · variable`; no factor is 0.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Linear {
    pub(super) constant: i128,
    pub(super) factors: BTreeMap<Lvalue, i128>,
}

impl Linear {
    pub(super) fn constant(constant: i128) -> Linear {
        Linear { constant, factors: BTreeMap::new() }
    }

    pub(super) fn variable(variable: &Lvalue) -> Linear {
        Linear { constant: 0, factors: BTreeMap::from([(variable.clone(), 1)]) }
    }

    /// The sum with so many times the other; `None` if numbers become too large.
    pub(super) fn plus(&self, times: i128, other: &Linear) -> Option<Linear> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(times)?)?;
        for (variable, factor) in &other.factors {
            let entry = sum.factors.entry(variable.clone()).or_insert(0);
            *entry = entry.checked_add(factor.checked_mul(times)?)?;
        }
        sum.factors.retain(|_, factor| *factor != 0);
        let is_small = |factor: &i128| factor.abs() <= MOST_FACTOR;
        (sum.constant.abs() <= MOST_CONSTANT && sum.factors.values().all(is_small)).then_some(sum)
    }

    pub(super) fn scaled(&self, times: i128) -> Option<Linear> {
        Linear::default().plus(times, self)
    }

    /// Without the variable.
    pub(super) fn without(&self, variable: &Lvalue) -> Linear {
        let mut rest = self.clone();
        rest.factors.remove(variable);
        rest
    }

    /// Whether it is not negative whatever of their types the variables are.
    pub(super) fn is_never_negative(&self) -> bool {
        let least = self.factors.iter().try_fold(self.constant, |sum, (variable, factor)| {
            let Some(Scalar::Int(ty)) = variable.scalar else { return None };
            let end = if *factor > 0 { ty.min() } else { ty.max() };
            sum.checked_add(factor.checked_mul(end)?)
        });
        least.is_some_and(|least| least >= 0)
    }

    /// As an expression of [`WIDE`], in which each variable stands for what `read` gives.
    pub(super) fn expr(&self, read: &dyn Fn(&Lvalue) -> Expr) -> Expr {
        let mut sum = Expr::Int(self.constant, WIDE);
        for (variable, factor) in &self.factors {
            sum = add(sum, times(*factor, read(variable)));
        }
        sum
    }
}

/// The value of a variable in [`WIDE`].
pub(super) fn wide(variable: &Lvalue) -> Expr {
    Expr::Cast(Scalar::Int(WIDE), Arc::new(Expr::Load(variable.clone())), Site::NOWHERE)
}

pub(super) fn add(a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Int(0, _), _) => b,
        (_, Expr::Int(0, _)) => a,
        _ => Expr::Binary(BinaryOp::Add, Arc::new(a), Arc::new(b), Site::NOWHERE),
    }
}

/// A number of times a value of [`WIDE`].
pub(super) fn times(factor: i128, value: Expr) -> Expr {
    match factor {
        0 => Expr::Int(0, WIDE),
        1 => value,
        _ => product(Expr::Int(factor, WIDE), value),
    }
}

pub(super) fn product(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Mul, Arc::new(a), Arc::new(b), Site::NOWHERE)
}
