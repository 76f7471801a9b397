//! Bounds of one integer term inside a conjunction or disjunction: the tightest remain, two that meet become an
//! equation, two that exclude each other decide the whole.

use std::collections::BTreeMap;

use num_bigint::BigInt;

use super::{Constructors, negate};
use crate::term::constants::{bool, int};
use crate::term::{Op, Sort, Term};

#[derive(Default)]
struct Bounds {
    upper: Option<BigInt>,
    lower: Option<BigInt>,
    value: Option<BigInt>,
    excluded: Vec<BigInt>,
    members: usize,
}

enum Fact {
    AtMost(BigInt),
    AtLeast(BigInt),
    Is(BigInt),
    IsNot(BigInt),
}

fn fact(t: Term) -> Option<(Term, Fact)> {
    let (atom, positive) = match t.op() {
        Op::Not => (t.args()[0], false),
        _ => (t, true),
    };
    let args = atom.args();
    match atom.op() {
        Op::Le => {
            let k = args[1].as_int()?.clone();
            Some((args[0], if positive { Fact::AtMost(k) } else { Fact::AtLeast(k + 1) }))
        }
        Op::Eq if args[0].sort() == Sort::Int => {
            let k = args[1].as_int()?.clone();
            Some((args[0], if positive { Fact::Is(k) } else { Fact::IsNot(k) }))
        }
        _ => None,
    }
}

/// The members of a junction with bounds joined; `None` if there is nothing to join. A result with the absorbing
/// constant in it decides the junction.
pub(super) fn join(make: impl Constructors, members: &[Term], conjunction: bool) -> Option<Vec<Term>> {
    // A disjunction is the negation of the conjunction of the negations.
    let turn = |t: Term| if conjunction { t } else { negate(t) };
    let mut bounds: BTreeMap<Term, Bounds> = BTreeMap::new();
    let mut rest = Vec::new();
    for t in members {
        let Some((side, fact)) = fact(turn(*t)) else {
            rest.push(*t);
            continue;
        };
        let b = bounds.entry(side).or_default();
        b.members += 1;
        match fact {
            Fact::AtMost(k) => b.upper = Some(b.upper.take().map_or(k.clone(), |u| u.min(k))),
            Fact::AtLeast(k) => b.lower = Some(b.lower.take().map_or(k.clone(), |l| l.max(k))),
            Fact::Is(k) => match &b.value {
                Some(v) if *v != k => return Some(vec![turn(bool(false))]),
                _ => b.value = Some(k),
            },
            Fact::IsNot(k) => b.excluded.push(k),
        }
    }
    if bounds.values().all(|b| b.members < 2) {
        return None;
    }
    let mut changed = false;
    for (side, b) in bounds {
        let before = b.members;
        let Some(facts) = tighten(make, side, b) else {
            return Some(vec![turn(bool(false))]);
        };
        changed |= facts.len() != before;
        rest.extend(facts.into_iter().map(turn));
    }
    changed.then_some(rest)
}

/// The facts about one term, tightest form; `None` if they exclude each other.
fn tighten(make: impl Constructors, side: Term, mut b: Bounds) -> Option<Vec<Term>> {
    if let Some(v) = b.value {
        let inside =
            b.upper.is_none_or(|u| v <= u) && b.lower.is_none_or(|l| l <= v) && !b.excluded.contains(&v);
        return inside.then(|| vec![make.eq(side, int(v))]);
    }
    loop {
        if let (Some(u), Some(l)) = (&b.upper, &b.lower)
            && u < l
        {
            return None;
        }
        let at_upper = b.upper.as_ref().filter(|u| b.excluded.contains(u)).map(|u| u - 1);
        let at_lower = b.lower.as_ref().filter(|l| b.excluded.contains(l)).map(|l| l + 1);
        match (at_upper, at_lower) {
            (Some(u), _) => b.upper = Some(u),
            (None, Some(l)) => b.lower = Some(l),
            (None, None) => break,
        }
    }
    if b.upper.is_some() && b.upper == b.lower {
        return b.upper.map(|v| vec![make.eq(side, int(v))]);
    }
    b.excluded.retain(|k| b.upper.as_ref().is_none_or(|u| k <= u) && b.lower.as_ref().is_none_or(|l| l <= k));
    let mut facts: Vec<Term> = b.excluded.iter().map(|k| negate(make.eq(side, int(k.clone())))).collect();
    facts.extend(b.upper.map(|u| make.le(side, int(u))));
    facts.extend(b.lower.map(|l| negate(make.le(side, int(l - 1)))));
    Some(facts)
}
