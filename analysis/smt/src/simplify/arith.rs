//! Normalisation of integer arithmetic.

use num_bigint::{BigInt, Sign};

use super::linear::{constant, floor_div, product, symmetric};
use super::{Constructors, Linear, fold, negate, split_conditional};
use crate::term::bitvec::power_of_two;
use crate::term::constants::{bool, int};
use crate::term::{Op, Term};

pub(crate) fn sum(parts: impl IntoIterator<Item = Term>, width: Option<u32>) -> Term {
    let mut all = Linear::zero(width);
    let one = BigInt::from(1);
    for t in parts {
        all.add(t, &one);
    }
    all.to_term()
}

pub(crate) fn mul(parts: impl IntoIterator<Item = Term>) -> Term {
    product(None, parts)
}

/// The divisor, if it is a number other than 0.
fn divisor(t: Term) -> Option<BigInt> {
    constant(t).filter(|d| d.sign() != Sign::NoSign)
}

/// Euclidean quotient: multiples of the divisor are pulled out.
pub(crate) fn div(a: Term, b: Term) -> Term {
    let Some(d) = divisor(b) else {
        return Term::raw(Op::Div, vec![a, b]);
    };
    if let Some(t) = fold(&Op::Div, &[a, b]) {
        return t;
    }
    if d.sign() == Sign::Minus {
        return sum([mul([int(-1), div(a, int(-d))])], None);
    }
    if d == BigInt::from(1) {
        return a;
    }
    if within(a, &d) {
        return int(0);
    }
    let all = Linear::of(a);
    let multiples = all.filter(|c| (c % &d).sign() == Sign::NoSign).without_constant();
    let whole = floor_div(all.constant(), &d);
    if multiples.terms().is_empty() && whole.sign() == Sign::NoSign {
        return Term::raw(Op::Div, vec![a, b]);
    }
    let mut rest = all.filter(|c| (c % &d).sign() != Sign::NoSign);
    rest.add_constant(&(-(&whole * &d)));
    let rest = match rest.as_constant() {
        Some(_) => int(0),
        // Nothing can be pulled out of the rest any more.
        None => div(rest.to_term(), b),
    };
    sum([multiples.divide_terms(&d).to_term(), int(whole), rest], None)
}

/// Euclidean remainder: coefficients are reduced modulo the divisor, inner remainders of multiples are opened.
pub(crate) fn modulo(a: Term, b: Term) -> Term {
    let Some(d) = divisor(b) else {
        return Term::raw(Op::Mod, vec![a, b]);
    };
    if let Some(t) = fold(&Op::Mod, &[a, b]) {
        return t;
    }
    if d.sign() == Sign::Minus {
        return modulo(a, int(-d));
    }
    if d == BigInt::from(1) {
        return int(0);
    }
    if within(a, &d) {
        return a;
    }
    let mut all = Linear::of(a);
    // mod(c·mod(t, m) + r, d) = mod(c·t + r, d) if d divides m; opening one may show others.
    loop {
        let inner = |t: Term| match t.op() {
            Op::Mod => {
                let m = constant(t.args()[1])
                    .filter(|m| m.sign() == Sign::Plus && (m % &d).sign() == Sign::NoSign);
                m.map(|_| t.args()[0])
            }
            _ => None,
        };
        let Some((t, c)) = all.terms().iter().find(|(t, _)| inner(**t).is_some()) else { break };
        let (t, c) = (*t, c.clone());
        all.add(t, &-&c);
        all.add(t.args()[0], &c);
    }
    let reduced = all.map(|c| symmetric(c, &d)).to_term();
    if reduced.is_value() || within(reduced, &d) {
        return modulo_small(reduced, &d);
    }
    Term::raw(Op::Mod, vec![reduced, int(d)])
}

fn modulo_small(t: Term, d: &BigInt) -> Term {
    fold(&Op::Mod, &[t, int(d.clone())]).unwrap_or(t)
}

/// Whether `t` is known to lie in `0 .. bound` by its shape.
fn within(t: Term, bound: &BigInt) -> bool {
    match t.op() {
        Op::Int(i) => i.sign() != Sign::Minus && i < bound,
        Op::Mod => constant(t.args()[1]).is_some_and(|m| m.sign() == Sign::Plus && m <= *bound),
        Op::BvToInt => t.args()[0].sort().width().is_some_and(|w| power_of_two(w) <= *bound),
        Op::Ite => within(t.args()[1], bound) && within(t.args()[2], bound),
        _ => false,
    }
}

/// `a <= b` as `Σ cᵢ·mᵢ <= k` or its negation, coefficients coprime and the first positive.
pub(crate) fn at_most(make: impl Constructors, a: Term, b: Term) -> Term {
    if let Some(t) = fold(&Op::Le, &[a, b]) {
        return t;
    }
    if let Some(t) = split_conditional(make, a, b, &|a, b| at_most(make, a, b)) {
        return t;
    }
    let mut all = Linear::of(a);
    all.add_all(&Linear::of(b), &BigInt::from(-1));
    if let Some(c) = all.as_constant() {
        return bool(c.sign() != Sign::Plus);
    }
    // Σ <= -constant, divided by the content and rounded down: tight over the integers.
    let content = all.content();
    let bound = floor_div(&-all.constant(), &content);
    let side = all.divide_terms(&content);
    if side.leads_negative() {
        // -s <= bound  iff  s >= -bound  iff  not (s <= -bound - 1)
        let positive = side.scale(&BigInt::from(-1));
        negate(bounded(make, &positive, &(-bound - 1)))
    } else {
        bounded(make, &side, &bound)
    }
}

fn bounded(make: impl Constructors, side: &Linear, bound: &BigInt) -> Term {
    let t = side.to_term();
    let range = |t: Term| match t.op() {
        Op::Mod => constant(t.args()[1]).filter(|m| m.sign() == Sign::Plus),
        Op::BvToInt => t.args()[0].sort().width().map(power_of_two),
        _ => None,
    };
    if let Some(limit) = range(t) {
        if bound.sign() == Sign::Minus {
            return bool(false);
        }
        if *bound >= limit - 1 {
            return bool(true);
        }
    }
    if let Some(t) = split_conditional(make, t, int(bound.clone()), &|a, b| at_most(make, a, b)) {
        return t;
    }
    Term::raw(Op::Le, vec![t, int(bound.clone())])
}

/// `a = b` over the integers.
pub(crate) fn equal(make: impl Constructors, a: Term, b: Term) -> Term {
    let mut all = Linear::of(a);
    all.add_all(&Linear::of(b), &BigInt::from(-1));
    if let Some(c) = all.as_constant() {
        return bool(c.sign() == Sign::NoSign);
    }
    let content = all.content();
    let negated = -all.constant();
    if (&negated % &content).sign() != Sign::NoSign {
        return bool(false);
    }
    let (mut value, mut side) = (negated / &content, all.divide_terms(&content));
    if side.leads_negative() {
        side = side.scale(&BigInt::from(-1));
        value = -value;
    }
    let coefficients: Vec<(&Term, &BigInt)> = side.terms().iter().collect();
    if let [(x, p), (y, q)] = coefficients.as_slice()
        && value.sign() == Sign::NoSign
        && **p == BigInt::from(1)
        && **q == BigInt::from(-1)
    {
        return Term::raw(Op::Eq, vec![**x, **y]);
    }
    let (t, value) = (side.to_term(), int(value));
    if let Some(t) = split_conditional(make, t, value, &|a, b| equal(make, a, b)) {
        return t;
    }
    let outside = match t.op() {
        Op::Mod => divisor(t.args()[1]).is_some_and(|d| {
            let size = BigInt::from_biguint(Sign::Plus, d.magnitude().clone());
            value.as_int().is_some_and(|v| v.sign() == Sign::Minus || *v >= size)
        }),
        _ => false,
    };
    if outside { bool(false) } else { Term::raw(Op::Eq, vec![t, value]) }
}
