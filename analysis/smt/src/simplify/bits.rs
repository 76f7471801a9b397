//! Normalisation of bit-vector operators.

use super::linear::product;
use super::{SMALL, arith, fold, split_conditional};
use crate::build::{self, eq};
use crate::term::{BitVec, Op, Term};

fn constant(b: BitVec) -> Term {
    Term::raw(Op::BitVec(b), Vec::new())
}

fn width(t: Term) -> u32 {
    t.sort().width().unwrap_or_else(|| panic!("a bit vector was expected: {t}"))
}

/// Normalises an application of a bit-vector operator.
pub(crate) fn apply(op: &Op, args: &[Term]) -> Term {
    if let Some(t) = fold(op, args) {
        return t;
    }
    match op {
        Op::BvAdd => arith::sum(args.iter().copied(), args[0].sort().width()),
        Op::BvMul => product(args[0].sort().width(), args.iter().copied()),
        Op::BvAnd | Op::BvOr => lattice(op, args),
        Op::BvXor => exclusive(args),
        Op::BvNot => match args[0].op() {
            Op::BvNot => args[0].args()[0],
            _ => raw(op, args),
        },
        Op::BvUdiv | Op::BvSdiv if args[1].as_bitvec().is_some_and(BitVec::is_one) && width(args[0]) > 1 => {
            args[0]
        }
        Op::BvUrem if args[1].as_bitvec().is_some_and(BitVec::is_one) => build::bv(0, width(args[0])),
        Op::BvShl | Op::BvLshr | Op::BvAshr if args[1].as_bitvec().is_some_and(BitVec::is_zero) => args[0],
        Op::BvShl | Op::BvLshr | Op::BvAshr if args[0].as_bitvec().is_some_and(BitVec::is_zero) => args[0],
        Op::BvUle | Op::BvSle => at_most(op, args[0], args[1]),
        Op::Concat => concat(args[0], args[1]),
        Op::Extract { high, low } => extract(args[0], *high, *low),
        Op::ZeroExtend(by) => zero_extend(args[0], *by),
        Op::SignExtend(by) => sign_extend(args[0], *by),
        Op::BvToInt => match args[0].op() {
            Op::ZeroExtend(_) => build::bv_to_int(args[0].args()[0]),
            Op::IntToBv(w) => {
                arith::modulo(args[0].args()[0], build::int(crate::term::bitvec::power_of_two(*w)))
            }
            _ => raw(op, args),
        },
        Op::IntToBv(w) => match args[0].op() {
            Op::BvToInt => resize(args[0].args()[0], *w),
            _ => raw(op, args),
        },
        _ => raw(op, args),
    }
}

fn raw(op: &Op, args: &[Term]) -> Term {
    Term::raw(op.clone(), args.to_vec())
}

/// To another width, by zeros in front or by cutting.
fn resize(t: Term, to: u32) -> Term {
    let from = width(t);
    if to >= from { zero_extend(t, to - from) } else { extract(t, to - 1, 0) }
}

/// `bvand`, `bvor`.
fn lattice(op: &Op, args: &[Term]) -> Term {
    let conjunction = *op == Op::BvAnd;
    let w = width(args[0]);
    let ones = BitVec::new(w, &num_bigint::BigInt::from(-1));
    let zero = BitVec::new(w, &num_bigint::BigInt::from(0));
    let (neutral, absorbing) = if conjunction { (ones, zero) } else { (zero, ones) };
    let mut number = neutral.clone();
    let mut members: Vec<Term> = Vec::new();
    for t in
        args.iter().flat_map(|t| if t.op() == op { t.args().iter() } else { std::slice::from_ref(t).iter() })
    {
        match t.as_bitvec() {
            Some(b) => number = if conjunction { number.and(b) } else { number.or(b) },
            None => members.push(*t),
        }
    }
    members.sort_unstable();
    members.dedup();
    let complement = |t: &Term| matches!(t.op(), Op::BvNot) && members.contains(&t.args()[0]);
    if number == absorbing || members.iter().any(complement) {
        return constant(absorbing);
    }
    if number != neutral || members.is_empty() {
        members.push(constant(number));
    }
    match members.as_slice() {
        [only] => *only,
        _ => Term::raw(op.clone(), members),
    }
}

fn exclusive(args: &[Term]) -> Term {
    let w = width(args[0]);
    let mut number = BitVec::new(w, &num_bigint::BigInt::from(0));
    let mut members: Vec<Term> = Vec::new();
    let flat = |t: &Term| if *t.op() == Op::BvXor { t.args().to_vec() } else { vec![*t] };
    for t in args.iter().flat_map(flat) {
        match t.as_bitvec() {
            Some(b) => number = number.xor(b),
            None => members.push(t),
        }
    }
    members.sort_unstable();
    // Pairs cancel.
    let mut kept: Vec<Term> = Vec::new();
    for t in members {
        if kept.last() == Some(&t) {
            kept.pop();
        } else {
            kept.push(t);
        }
    }
    if !number.is_zero() || kept.is_empty() {
        kept.push(constant(number));
    }
    match kept.as_slice() {
        [only] => *only,
        [t, c] if c.as_bitvec().is_some_and(BitVec::is_ones) => apply(&Op::BvNot, &[*t]),
        _ => Term::raw(Op::BvXor, kept),
    }
}

fn at_most(op: &Op, a: Term, b: Term) -> Term {
    if a == b {
        return build::bool(true);
    }
    let w = width(a);
    let signed = *op == Op::BvSle;
    let ones = BitVec::new(w, &num_bigint::BigInt::from(-1));
    let top = BitVec::new(w, &crate::term::bitvec::power_of_two(w - 1));
    // Least and greatest value in this order.
    let (least, greatest) = if signed { (top.clone(), top.not()) } else { (ones.not(), ones.clone()) };
    let (x, y) = (a.as_bitvec(), b.as_bitvec());
    if x == Some(&least) || y == Some(&greatest) {
        return build::bool(true);
    }
    if y == Some(&least) || x == Some(&greatest) {
        return eq(a, b);
    }
    let again = |a: Term, b: Term| apply(op, &[a, b]);
    if let Some(t) = split_conditional(a, b, &again) {
        return t;
    }
    match (a.op(), b.op()) {
        (Op::ZeroExtend(m), Op::ZeroExtend(n)) if m == n => {
            return apply(&Op::BvUle, &[a.args()[0], b.args()[0]]);
        }
        (Op::SignExtend(m), Op::SignExtend(n)) if m == n && signed => {
            return apply(&Op::BvSle, &[a.args()[0], b.args()[0]]);
        }
        (Op::ZeroExtend(by), Op::BitVec(c)) => return extended(a.args()[0], *by, c, signed, true),
        (Op::BitVec(c), Op::ZeroExtend(by)) => return extended(b.args()[0], *by, c, signed, false),
        _ => {}
    }
    Term::raw(op.clone(), vec![a, b])
}

/// `zero_extend(t) <= c` (`below`) or `c <= zero_extend(t)`.
fn extended(t: Term, by: u32, c: &BitVec, signed: bool, below: bool) -> Term {
    let w = c.width() - by;
    let limit = crate::term::bitvec::power_of_two(w);
    // The extended value is in 0..limit in either order.
    let value = if signed { c.signed() } else { c.unsigned() };
    if value < num_bigint::BigInt::from(0) {
        return build::bool(!below);
    }
    if value >= limit {
        return build::bool(below);
    }
    let c = constant(BitVec::new(w, &value));
    if below { apply(&Op::BvUle, &[t, c]) } else { apply(&Op::BvUle, &[c, t]) }
}

fn concat(high: Term, low: Term) -> Term {
    if let (Some(high), Some(low)) = (high.as_bitvec(), low.as_bitvec()) {
        return constant(high.concat(low));
    }
    if high.as_bitvec().is_some_and(BitVec::is_zero) {
        return zero_extend(low, width(high));
    }
    if let (Op::Extract { high: h, low: m }, Op::Extract { high: n, low: l }) = (high.op(), low.op())
        && high.args()[0] == low.args()[0]
        && *m == n + 1
    {
        return extract(high.args()[0], *h, *l);
    }
    Term::raw(Op::Concat, vec![high, low])
}

fn extract(t: Term, high: u32, low: u32) -> Term {
    let w = width(t);
    if low == 0 && high + 1 == w {
        return t;
    }
    match t.op() {
        Op::BitVec(b) => constant(b.extract(high, low)),
        Op::Extract { low: inner, .. } => extract(t.args()[0], high + inner, low + inner),
        Op::Concat => {
            let cut = width(t.args()[1]);
            if low >= cut {
                extract(t.args()[0], high - cut, low - cut)
            } else if high < cut {
                extract(t.args()[1], high, low)
            } else {
                concat(extract(t.args()[0], high - cut, 0), extract(t.args()[1], cut - 1, low))
            }
        }
        Op::ZeroExtend(_) | Op::SignExtend(_) => {
            let inner = width(t.args()[0]);
            let zero = matches!(t.op(), Op::ZeroExtend(_));
            if high < inner {
                extract(t.args()[0], high, low)
            } else if low >= inner && zero {
                build::bv(0, high - low + 1)
            } else if low < inner {
                let part = extract(t.args()[0], inner - 1, low);
                if zero { zero_extend(part, high + 1 - inner) } else { sign_extend(part, high + 1 - inner) }
            } else {
                Term::raw(Op::Extract { high, low }, vec![t])
            }
        }
        Op::BvNot | Op::BvAnd | Op::BvOr | Op::BvXor if t.size() <= SMALL => {
            let parts: Vec<Term> = t.args().iter().map(|a| extract(*a, high, low)).collect();
            apply(t.op(), &parts)
        }
        _ => Term::raw(Op::Extract { high, low }, vec![t]),
    }
}

fn zero_extend(t: Term, by: u32) -> Term {
    match t.op() {
        _ if by == 0 => t,
        Op::BitVec(b) => constant(b.zero_extend(by)),
        Op::ZeroExtend(more) => zero_extend(t.args()[0], by + more),
        _ => Term::raw(Op::ZeroExtend(by), vec![t]),
    }
}

fn sign_extend(t: Term, by: u32) -> Term {
    match t.op() {
        _ if by == 0 => t,
        Op::BitVec(b) => constant(b.sign_extend(by)),
        Op::SignExtend(more) => sign_extend(t.args()[0], by + more),
        Op::ZeroExtend(more) => zero_extend(t.args()[0], by + more),
        _ => Term::raw(Op::SignExtend(by), vec![t]),
    }
}
