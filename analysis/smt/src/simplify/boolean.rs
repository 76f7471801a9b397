//! Normalisation of connectives.

use rustc_hash::FxHashSet;

use super::{Constructors, bounds, negate};
use crate::term::constants::bool;
use crate::term::{Op, Sort, Term};

/// Nested conjunctions up to this many members are merged into their parent. Larger ones stay shared: a path formula
/// that grows edge by edge would otherwise be copied with every edge.
const FLAT: usize = 32;

/// Conjunction of any number.
pub(crate) fn conjunction(make: impl Constructors, parts: impl IntoIterator<Item = Term>) -> Term {
    junction(make, parts, true)
}

/// Disjunction of any number.
pub(crate) fn disjunction(make: impl Constructors, parts: impl IntoIterator<Item = Term>) -> Term {
    junction(make, parts, false)
}

/// Conjunction (`conjunction`) or disjunction: flat, sorted, no duplicates, no complements, members absorbed.
fn junction(make: impl Constructors, parts: impl IntoIterator<Item = Term>, conjunction: bool) -> Term {
    let mine = |t: Term| matches!((t.op(), conjunction), (Op::And, true) | (Op::Or, false));
    let mut members: Vec<Term> = Vec::new();
    for t in parts {
        if t.as_bool() == Some(conjunction) {
            continue;
        }
        if t.as_bool() == Some(!conjunction) {
            return t;
        }
        // A negated junction of the other kind is one of ours: not (a or b) = (not a) and (not b). It is kept closed:
        // opening it would hide the negation of a known formula.
        if mine(t) && t.args().len() <= FLAT {
            members.extend(t.args());
        } else {
            members.push(t);
        }
    }
    members.sort_unstable();
    members.dedup();
    loop {
        let known = Known::of(&members);
        if known.positive.iter().any(|t| known.negative.contains(t)) {
            return bool(!conjunction);
        }
        let better =
            absorb(make, &members, &known, conjunction).or_else(|| bounds::join(make, &members, conjunction));
        let Some(new) = better else { break };
        if let Some(t) = new.iter().find(|t| t.as_bool() == Some(!conjunction)) {
            return *t;
        }
        members = new.into_iter().filter(|t| t.as_bool().is_none()).collect();
        members.sort_unstable();
        members.dedup();
    }
    match members.as_slice() {
        [] => bool(conjunction),
        [only] => *only,
        _ => Term::raw(if conjunction { Op::And } else { Op::Or }, members),
    }
}

/// The members of a junction as literals. Looking a literal up makes no term.
struct Known {
    positive: FxHashSet<Term>,
    negative: FxHashSet<Term>,
}

/// A term without its negation, and whether it had none.
fn literal(t: Term) -> (Term, bool) {
    match t.op() {
        Op::Not => (t.args()[0], false),
        _ => (t, true),
    }
}

impl Known {
    fn of(members: &[Term]) -> Known {
        let mut this = Known { positive: FxHashSet::default(), negative: FxHashSet::default() };
        for t in members {
            let (t, positive) = literal(*t);
            if positive { &mut this.positive } else { &mut this.negative }.insert(t);
        }
        this
    }

    fn has(&self, (t, positive): (Term, bool)) -> bool {
        if positive { self.positive.contains(&t) } else { self.negative.contains(&t) }
    }
}

/// Absorption and unit propagation into members of the other kind: in a conjunction, `a` removes `a or b` and turns
/// `not a or b` into `b`. `not (a and b)` is such a member too.
fn absorb(make: impl Constructors, members: &[Term], known: &Known, conjunction: bool) -> Option<Vec<Term>> {
    let mut changed = false;
    let mut out: Vec<Term> = Vec::with_capacity(members.len());
    for t in members {
        // The choices, and whether each is meant negated.
        let (choices, turned) = match (t.op(), conjunction) {
            (Op::Or, true) | (Op::And, false) => (t.args(), false),
            (Op::Not, _) => match (t.args()[0].op(), conjunction) {
                (Op::And, true) | (Op::Or, false) if t.args()[0].args().len() <= FLAT => {
                    (t.args()[0].args(), true)
                }
                _ => (&[][..], false),
            },
            _ => (&[][..], false),
        };
        let choice = |a: &Term| {
            let (a, positive) = literal(*a);
            (a, positive != turned)
        };
        let refuted = |a: &Term| {
            let (a, positive) = choice(a);
            known.has((a, !positive))
        };
        if choices.iter().any(|a| known.has(choice(a))) {
            changed = true;
        } else if choices.iter().any(refuted) {
            changed = true;
            let rest = choices.iter().filter(|a| !refuted(a)).map(|a| if turned { negate(*a) } else { *a });
            let reduced = junction(make, rest, !conjunction);
            if matches!((reduced.op(), conjunction), (Op::And, true) | (Op::Or, false)) {
                out.extend(reduced.args());
            } else {
                out.push(reduced);
            }
        } else {
            out.push(*t);
        }
    }
    changed.then_some(out)
}

/// `if c then a else b`.
pub(crate) fn conditional(make: impl Constructors, c: Term, a: Term, b: Term) -> Term {
    if let Some(c) = c.as_bool() {
        return if c { a } else { b };
    }
    if a == b {
        return a;
    }
    if matches!(c.op(), Op::Not) {
        return conditional(make, c.args()[0], b, a);
    }
    if a.sort() == Sort::Bool {
        match (a.as_bool(), b.as_bool()) {
            (Some(true), _) => return make.or([c, b]),
            (Some(false), _) => return make.and([negate(c), b]),
            (_, Some(true)) => return make.or([negate(c), a]),
            (_, Some(false)) => return make.and([c, a]),
            (None, None) => {}
        }
        if a == negate(b) {
            return make.eq(c, a);
        }
        if a == c {
            return make.or([c, b]);
        }
        if b == c {
            return make.and([c, a]);
        }
        if a == negate(c) {
            return make.and([negate(c), b]);
        }
        if b == negate(c) {
            return make.or([negate(c), a]);
        }
    }
    let inner = |t: Term, which: usize| match t.op() {
        Op::Ite if t.args()[0] == c => t.args()[which],
        _ => t,
    };
    let (x, y) = (inner(a, 1), inner(b, 2));
    if (x, y) != (a, b) {
        return conditional(make, c, x, y);
    }
    Term::raw(Op::Ite, vec![c, a, b])
}
