//! Linear combinations `Σ cᵢ·mᵢ + k` of opaque terms: the normal form of sums, over the integers and modulo `2^width`.

use std::collections::BTreeMap;

use num_bigint::{BigInt, Sign};

use crate::term::bitvec::power_of_two;
use crate::term::{BitVec, Op, Sort, Term, constants};

/// A linear combination. Without `width` over the integers, with `width` modulo `2^width`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Linear {
    width: Option<u32>,
    terms: BTreeMap<Term, BigInt>,
    constant: BigInt,
}

fn is_zero(i: &BigInt) -> bool {
    i.sign() == Sign::NoSign
}

impl Linear {
    pub(crate) fn zero(width: Option<u32>) -> Linear {
        Linear { width, terms: BTreeMap::new(), constant: BigInt::from(0) }
    }

    /// Reads a term of sort `Int` or `BitVec`.
    pub(crate) fn of(term: Term) -> Linear {
        let mut this = Linear::zero(term.sort().width());
        this.add(term, &BigInt::from(1));
        this
    }

    fn reduce(&self, i: BigInt) -> BigInt {
        match self.width {
            None => i,
            Some(width) => BitVec::new(width, &i).unsigned(),
        }
    }

    pub(crate) fn add_constant(&mut self, i: &BigInt) {
        self.constant = self.reduce(&self.constant + i);
    }

    /// Adds `factor * term`.
    pub(crate) fn add(&mut self, term: Term, factor: &BigInt) {
        if is_zero(factor) {
            return;
        }
        match term.op() {
            Op::Int(i) => self.add_constant(&(i * factor)),
            Op::BitVec(b) => self.add_constant(&(b.unsigned() * factor)),
            Op::Add | Op::BvAdd => {
                for t in term.args() {
                    self.add(*t, factor);
                }
            }
            Op::Mul | Op::BvMul => match constant(term.args()[0]) {
                Some(c) => {
                    let rest = match &term.args()[1..] {
                        [only] => *only,
                        several => Term::raw(term.op().clone(), several.to_vec()),
                    };
                    self.add(rest, &(c * factor));
                }
                None => self.add_monomial(term, factor),
            },
            _ => self.add_monomial(term, factor),
        }
    }

    fn add_monomial(&mut self, term: Term, factor: &BigInt) {
        let old = self.terms.remove(&term).unwrap_or_default();
        let new = self.reduce(old + factor);
        if !is_zero(&new) {
            self.terms.insert(term, new);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Linear, factor: &BigInt) {
        for (t, c) in &other.terms {
            self.add_monomial(*t, &(c * factor));
        }
        self.add_constant(&(&other.constant * factor));
    }

    pub(crate) fn scale(&self, factor: &BigInt) -> Linear {
        let mut out = Linear::zero(self.width);
        out.add_all(self, factor);
        out
    }

    pub(crate) fn constant(&self) -> &BigInt {
        &self.constant
    }

    pub(crate) fn as_constant(&self) -> Option<&BigInt> {
        self.terms.is_empty().then_some(&self.constant)
    }

    pub(crate) fn terms(&self) -> &BTreeMap<Term, BigInt> {
        &self.terms
    }

    pub(crate) fn without_constant(&self) -> Linear {
        Linear { constant: BigInt::from(0), ..self.clone() }
    }

    /// Greatest common divisor of the coefficients (not of the constant); 0 if there is none.
    pub(crate) fn content(&self) -> BigInt {
        self.terms.values().fold(BigInt::from(0), |g, c| gcd(g, c.clone()))
    }

    /// Divides the coefficients, which must be divisible, and drops the constant.
    pub(crate) fn divide_terms(&self, by: &BigInt) -> Linear {
        let terms = self.terms.iter().map(|(t, c)| (*t, c / by)).collect();
        Linear { width: self.width, terms, constant: BigInt::from(0) }
    }

    /// Whether the first coefficient is negative.
    pub(crate) fn leads_negative(&self) -> bool {
        self.terms.values().next().is_some_and(|c| c.sign() == Sign::Minus)
    }

    /// Keeps the terms whose coefficient passes.
    pub(crate) fn filter(&self, keep: impl Fn(&BigInt) -> bool) -> Linear {
        let terms = self.terms.iter().filter(|(_, c)| keep(c)).map(|(t, c)| (*t, c.clone())).collect();
        Linear { width: self.width, terms, constant: self.constant.clone() }
    }

    /// Maps coefficients and constant; coefficients that become 0 disappear.
    pub(crate) fn map(&self, f: impl Fn(&BigInt) -> BigInt) -> Linear {
        let mut out = Linear::zero(self.width);
        for (t, c) in &self.terms {
            out.add_monomial(*t, &f(c));
        }
        out.add_constant(&f(&self.constant));
        out
    }

    /// For display: coefficients of least size, no modulus.
    pub(crate) fn signed_view(&self) -> Linear {
        let Some(width) = self.width else { return self.clone() };
        let m = power_of_two(width);
        let terms = self.terms.iter().map(|(t, c)| (*t, symmetric(c, &m))).collect();
        Linear { width: None, terms, constant: symmetric(&self.constant, &m) }
    }

    pub(crate) fn to_term(&self) -> Term {
        let sort = self.width.map_or(Sort::Int, Sort::BitVec);
        let mut parts: Vec<Term> = self.terms.iter().map(|(t, c)| monomial(*t, c)).collect();
        if !is_zero(&self.constant) || parts.is_empty() {
            parts.push(number(sort, &self.constant));
        }
        match parts.as_slice() {
            [only] => *only,
            _ => Term::raw(if self.width.is_some() { Op::BvAdd } else { Op::Add }, parts),
        }
    }
}

pub(crate) fn constant(t: Term) -> Option<BigInt> {
    match t.op() {
        Op::Int(i) => Some(i.clone()),
        Op::BitVec(b) => Some(b.unsigned()),
        _ => None,
    }
}

fn number(sort: Sort, i: &BigInt) -> Term {
    match sort.width() {
        Some(width) => constants::bv(i.clone(), width),
        None => constants::int(i.clone()),
    }
}

fn monomial(t: Term, c: &BigInt) -> Term {
    if *c == BigInt::from(1) {
        return t;
    }
    let op = if t.sort().width().is_some() { Op::BvMul } else { Op::Mul };
    let mut factors = vec![number(t.sort(), c)];
    if *t.op() == op {
        factors.extend(t.args());
    } else {
        factors.push(t);
    }
    Term::raw(op, factors)
}

/// Greatest common divisor, not negative.
pub(crate) fn gcd(mut a: BigInt, mut b: BigInt) -> BigInt {
    while !is_zero(&b) {
        let r = &a % &b;
        a = std::mem::replace(&mut b, r);
    }
    BigInt::from_biguint(Sign::Plus, a.magnitude().clone())
}

/// Quotient rounded toward negative infinity, for a positive divisor.
pub(crate) fn floor_div(a: &BigInt, b: &BigInt) -> BigInt {
    let q = a / b;
    if (a % b).sign() == Sign::Minus { q - 1 } else { q }
}

/// The coefficient that is congruent modulo `m` and smallest in size (`-m/2 < c <= m/2`).
pub(crate) fn symmetric(i: &BigInt, m: &BigInt) -> BigInt {
    let r = ((i % m) + m) % m;
    if &r * 2 > *m { r - m } else { r }
}

/// Product of sums and numbers: numbers are multiplied out, other factors sorted.
pub(crate) fn product(width: Option<u32>, factors: impl IntoIterator<Item = Term>) -> Term {
    let mut coefficient = BigInt::from(1);
    let mut opaque: Vec<Term> = Vec::new();
    for t in factors {
        let flat: &[Term] = if matches!(t.op(), Op::Mul | Op::BvMul) { t.args() } else { &[t] };
        for t in flat {
            match constant(*t) {
                Some(c) => coefficient *= c,
                None => opaque.push(*t),
            }
        }
    }
    let sort = width.map_or(Sort::Int, Sort::BitVec);
    opaque.sort_unstable();
    let mut sum = Linear::zero(width);
    match opaque.as_slice() {
        [] => sum.add_constant(&coefficient),
        [only] => sum.add(*only, &coefficient),
        [..] => {
            let op = if sort == Sort::Int { Op::Mul } else { Op::BvMul };
            sum.add(Term::raw(op, opaque), &coefficient);
        }
    }
    sum.to_term()
}
