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
type Bounds = BTreeMap<Var, (Option<i128>, Option<i128>)>;

/// Bounds that follow from the shape of a formula alone: of a conjunction the tighter ones, of a disjunction those that each part has.
fn bounds(formula: Term, depth: u32) -> Bounds {
    let number = |term: Term| match term.op() {
        Op::Int(value) => i128::try_from(value.clone()).ok(),
        _ => None,
    };
    let between = |term: Term, low: Option<i128>, high: Option<i128>| {
        term.as_var().map(|var| Bounds::from([(var, (low, high))])).unwrap_or_default()
    };
    match (formula.op(), formula.args()) {
        (Op::And, parts) if depth > 0 => {
            let mut all = Bounds::new();
            for (var, (low, high)) in parts.iter().flat_map(|part| bounds(*part, depth - 1)) {
                let known = all.entry(var).or_insert((None, None));
                *known = (known.0.max(low), least(known.1, high));
            }
            all
        }
        (Op::Or, parts) if depth > 0 => {
            let mut parts = parts.iter().map(|part| bounds(*part, depth - 1));
            let first = parts.next().unwrap_or_default();
            parts.fold(first, |all, part| {
                let either = |(var, (low, high)): (Var, (Option<i128>, Option<i128>))| {
                    let (l, h) = *part.get(&var)?;
                    let both = |a: Option<i128>, b: Option<i128>| a.zip(b);
                    Some((var, (both(low, l).map(|(a, b)| a.min(b)), both(high, h).map(|(a, b)| a.max(b)))))
                };
                all.into_iter().filter_map(either).collect()
            })
        }
        (Op::Le, [a, b]) => match (number(*a), number(*b)) {
            (Some(low), None) => between(*b, Some(low), None),
            (None, Some(high)) => between(*a, None, Some(high)),
            (Some(_), Some(_)) | (None, None) => Bounds::new(),
        },
        (Op::Eq, [a, b]) => match (number(*a), number(*b)) {
            (Some(value), None) => between(*b, Some(value), Some(value)),
            (None, Some(value)) => between(*a, Some(value), Some(value)),
            (Some(_), Some(_)) | (None, None) => Bounds::new(),
        },
        (Op::Not, [part]) => match (part.op(), part.args()) {
            (Op::Le, [a, b]) => match (number(*a), number(*b)) {
                (Some(low), None) => between(*b, None, low.checked_sub(1)),
                (None, Some(high)) => between(*a, high.checked_add(1), None),
                (Some(_), Some(_)) | (None, None) => Bounds::new(),
            },
            _ => Bounds::new(),
        },
        _ => Bounds::new(),
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
        for (var, (low, high)) in bounds(path.guard, DEPTH) {
            let old = known.entry(var).or_insert((None, None));
            *old = (old.0.max(low), least(old.1, high));
        }
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
