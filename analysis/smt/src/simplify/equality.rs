//! Normalisation of equality.

use num_bigint::BigInt;

use super::{Constructors, Linear, arith, fold, negate, split_conditional};
use crate::term::constants::{bits, bool, bv};
use crate::term::{BitVec, Op, Sort, Term};

pub(crate) fn equal(make: impl Constructors, a: Term, b: Term) -> Term {
    if a == b {
        return bool(true);
    }
    if let Some(t) = fold(&Op::Eq, &[a, b]) {
        return t;
    }
    if let Some(t) = split_conditional(make, a, b, &|a, b| equal(make, a, b)) {
        return t;
    }
    match a.sort() {
        Sort::Bool => booleans(a, b),
        Sort::Int => arith::equal(make, a, b),
        Sort::BitVec(_) => vectors(make, a, b),
        Sort::Float(_) | Sort::Array(_) => ordered(a, b),
    }
}

fn ordered(a: Term, b: Term) -> Term {
    let (a, b) = if a <= b { (a, b) } else { (b, a) };
    Term::raw(Op::Eq, vec![a, b])
}

fn booleans(a: Term, b: Term) -> Term {
    if let Some(value) = a.as_bool() {
        return if value { b } else { negate(b) };
    }
    if let Some(value) = b.as_bool() {
        return if value { a } else { negate(a) };
    }
    match (a.op(), b.op()) {
        (Op::Not, Op::Not) => booleans(a.args()[0], b.args()[0]),
        (Op::Not, _) => negate(booleans(a.args()[0], b)),
        (_, Op::Not) => negate(booleans(a, b.args()[0])),
        _ if a == b => bool(true),
        _ => ordered(a, b),
    }
}

fn vectors(make: impl Constructors, a: Term, b: Term) -> Term {
    let (c, t) = match (a.as_bitvec(), b.as_bitvec()) {
        (Some(c), _) => (Some(c), b),
        (_, Some(c)) => (Some(c), a),
        (None, None) => (None, a),
    };
    if let Some(c) = c
        && let Some(t) = against_constant(make, t, c)
    {
        return t;
    }
    if matches!((a.op(), b.op()), (Op::ZeroExtend(m), Op::ZeroExtend(n)) if m == n)
        || matches!((a.op(), b.op()), (Op::SignExtend(m), Op::SignExtend(n)) if m == n)
    {
        return equal(make, a.args()[0], b.args()[0]);
    }
    // Cancel what both sides have; keep the sides as they are unless that leaves one simple term on each side.
    let mut all = Linear::of(a);
    all.add_all(&Linear::of(b), &BigInt::from(-1));
    if let Some(c) = all.as_constant() {
        return bool(*c == BigInt::from(0));
    }
    let width = a.sort().width().unwrap_or(1);
    let minus_one = BitVec::new(width, &BigInt::from(-1)).unsigned();
    let (one, terms) = (BigInt::from(1), all.terms().iter().collect::<Vec<_>>());
    let reduced = match terms.as_slice() {
        [(x, c)] if **c == one => Some((**x, all.constant().clone(), true)),
        [(x, c)] if **c == minus_one => Some((**x, all.constant().clone(), false)),
        [(x, c), (y, d)] if *all.constant() == BigInt::from(0) => match (**c == one, **d == minus_one) {
            (true, true) => return ordered(**x, **y),
            _ if **c == minus_one && **d == one => return ordered(**x, **y),
            _ => None,
        },
        _ => None,
    };
    if let Some((x, k, positive)) = reduced {
        // x + k = 0 or -x + k = 0
        let value = bv(if positive { -k } else { k }, width);
        if (x, value) != (a, b) && (x, value) != (b, a) {
            return equal(make, x, value);
        }
    }
    ordered(a, b)
}

/// `t = c` for a constant: through extensions, complements, concatenations.
fn against_constant(make: impl Constructors, t: Term, c: &BitVec) -> Option<Term> {
    match t.op() {
        Op::ZeroExtend(by) => {
            let width = c.width() - by;
            let high = c.extract(c.width() - 1, width);
            Some(if high.is_zero() {
                equal(make, t.args()[0], bits(c.extract(width - 1, 0)))
            } else {
                bool(false)
            })
        }
        Op::SignExtend(by) => {
            let low = c.extract(c.width() - by - 1, 0);
            Some(if low.sign_extend(*by) == *c { equal(make, t.args()[0], bits(low)) } else { bool(false) })
        }
        Op::BvNot => Some(equal(make, t.args()[0], bits(c.not()))),
        Op::Concat => {
            let low = t.args()[1].sort().width()?;
            let high = equal(make, t.args()[0], bits(c.extract(c.width() - 1, low)));
            Some(make.and([high, equal(make, t.args()[1], bits(c.extract(low - 1, 0)))]))
        }
        _ => None,
    }
}
