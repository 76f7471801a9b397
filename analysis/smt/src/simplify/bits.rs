//! Normalisation of bit-vector operators, other than comparisons (`super::bit_order`).

use super::linear::product;
use super::{SMALL, arith, fold};
use crate::term::bitvec::power_of_two;
use crate::term::constants::{bits, bv, int};
use crate::term::{BitVec, Op, Term};

pub(super) fn width(t: Term) -> u32 {
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
        Op::BvUrem if args[1].as_bitvec().is_some_and(BitVec::is_one) => bv(0, width(args[0])),
        Op::BvShl | Op::BvLshr | Op::BvAshr if args[1].as_bitvec().is_some_and(BitVec::is_zero) => args[0],
        Op::BvShl | Op::BvLshr | Op::BvAshr if args[0].as_bitvec().is_some_and(BitVec::is_zero) => args[0],
        Op::Concat => concat(args[0], args[1]),
        Op::Extract { high, low } => extract(args[0], *high, *low),
        Op::ZeroExtend(by) => zero_extend(args[0], *by),
        Op::SignExtend(by) => sign_extend(args[0], *by),
        Op::BvToInt => match args[0].op() {
            Op::ZeroExtend(_) => apply(&Op::BvToInt, args[0].args()),
            Op::IntToBv(w) => arith::modulo(args[0].args()[0], int(power_of_two(*w))),
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
        return bits(absorbing);
    }
    if number != neutral || members.is_empty() {
        members.push(bits(number));
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
        kept.push(bits(number));
    }
    match kept.as_slice() {
        [only] => *only,
        [t, c] if c.as_bitvec().is_some_and(BitVec::is_ones) => apply(&Op::BvNot, &[*t]),
        _ => Term::raw(Op::BvXor, kept),
    }
}

fn concat(high: Term, low: Term) -> Term {
    if let (Some(high), Some(low)) = (high.as_bitvec(), low.as_bitvec()) {
        return bits(high.concat(low));
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
        Op::BitVec(b) => bits(b.extract(high, low)),
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
                bv(0, high - low + 1)
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
        Op::BitVec(b) => bits(b.zero_extend(by)),
        Op::ZeroExtend(more) => zero_extend(t.args()[0], by + more),
        _ => Term::raw(Op::ZeroExtend(by), vec![t]),
    }
}

fn sign_extend(t: Term, by: u32) -> Term {
    match t.op() {
        _ if by == 0 => t,
        Op::BitVec(b) => bits(b.sign_extend(by)),
        Op::SignExtend(more) => sign_extend(t.args()[0], by + more),
        Op::ZeroExtend(more) => zero_extend(t.args()[0], by + more),
        _ => Term::raw(Op::SignExtend(by), vec![t]),
    }
}
