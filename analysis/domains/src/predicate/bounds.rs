//! What a state says of single registers, for analyses beside this one: bounds that stand in its formulas. Asks no solver.

use std::collections::BTreeMap;

use proofline_cfa::{Base, Expr, LocalId, Lvalue, Scalar};
use proofline_cpa::Facts;
use proofline_encoding::Key;
use proofline_smt::{Op, Term, Var};

use super::{PredicateAnalysis, state::PredicateState};

/// Formulas nested deeper than this are not looked into.
const DEPTH: u32 = 12;

/// The least and the largest value, where there is one.
type Range = (Option<i128>, Option<i128>);

/// Of each variable that has one.
type Bounds = BTreeMap<Var, Range>;

/// Bounds that follow from the shape of a formula alone: of a conjunction the tighter ones, of a disjunction those that each part has.
fn bounds(formula: Term, depth: u32) -> Bounds {
    if depth == 0 {
        return Bounds::new();
    }
    let mut parts = formula.args().iter().map(|part| bounds(*part, depth - 1));
    if *formula.op() == Op::And {
        return parts.fold(Bounds::new(), |mut all, part| {
            tighten(&mut all, part);
            all
        });
    }
    if *formula.op() == Op::Or {
        let first = parts.next().unwrap_or_default();
        return parts.fold(first, |all, part| {
            let either = |(var, (low, high)): (Var, Range)| {
                let (other_low, other_high) = *part.get(&var)?;
                let low = low.zip(other_low).map(|(a, b)| a.min(b));
                Some((var, (low, high.zip(other_high).map(|(a, b)| a.max(b)))))
            };
            all.into_iter().filter_map(either).collect()
        });
    }
    comparison(formula).into_iter().collect()
}

/// A variable that a formula compares with a number, and the bounds that this gives it.
fn comparison(formula: Term) -> Option<(Var, Range)> {
    let number =
        |term: Term| if let Op::Int(value) = term.op() { i128::try_from(value.clone()).ok() } else { None };
    let is_negated = *formula.op() == Op::Not;
    let atom = if is_negated { *formula.args().first()? } else { formula };
    let [a, b] = atom.args() else { return None };
    let (low, var, high) = match (number(*a), number(*b)) {
        (Some(low), None) => (Some(low), b.as_var()?, None),
        (None, Some(high)) => (None, a.as_var()?, Some(high)),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let bounds = if *atom.op() == Op::Le {
        // What is not at least `low` is below it.
        if is_negated {
            (high.and_then(|n| n.checked_add(1)), low.and_then(|n| n.checked_sub(1)))
        } else {
            (low, high)
        }
    } else if *atom.op() == Op::Eq && !is_negated {
        (low.or(high), low.or(high))
    } else {
        return None;
    };
    Some((var, bounds))
}

/// The tighter of both bounds of each variable.
fn tighten(all: &mut Bounds, more: Bounds) {
    for (var, (low, high)) in more {
        let known = all.entry(var).or_insert((None, None));
        *known = (known.0.max(low), least(known.1, high));
    }
}

/// The smaller bound; `None` is none.
fn least(a: Option<i128>, b: Option<i128>) -> Option<i128> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

/// A state that can be asked.
pub(super) struct StateFacts<'a> {
    pub(super) analysis: &'a PredicateAnalysis,
    pub(super) state: &'a PredicateState,
}

impl Facts for StateFacts<'_> {
    fn int_range(&self, expr: &Expr) -> Option<(i128, i128)> {
        let Expr::Load(Lvalue { base: Base::Local(id), path, bits: None, .. }) = expr else { return None };
        if !path.is_empty() {
            return None;
        }
        let id = *id;
        self.registers().into_iter().find_map(|(local, range)| (local == id).then_some(range))
    }

    /// Registers that still have a value that the formulas bound.
    fn registers(&self) -> Vec<(LocalId, (i128, i128))> {
        let PredicateState { abstraction, path, .. } = self.state;
        let mut known = bounds(*abstraction, DEPTH);
        tighten(&mut known, bounds(path.guard, DEPTH));
        let of = |(key, term): (&Key, &Term)| {
            let (Key::Local(0, id), Some(var)) = (key, term.as_var()) else { return None };
            let (Some(Scalar::Int(ty)), (low, high)) = (self.analysis.format(var), *known.get(&var)?) else {
                return None;
            };
            Some((*id, (low.unwrap_or(ty.min()), high.unwrap_or(ty.max()))))
        };
        path.values.iter().filter_map(of).collect()
    }
}
