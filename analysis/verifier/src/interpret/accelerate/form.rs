//! Values that a loop computes, as functions of the number k of iterations that are over: polynomials of degree two, modulo 2^bits. Knows
//! nothing of automata.
//!
//! A polynomial is written in the binomial basis, `a + b·k + c·k(k-1)/2`: then the coefficients are integers, two polynomials are the same
//! function modulo 2^bits exactly if their coefficients are equal modulo 2^bits, and a sum of `f(0) … f(k-1)` is a shift of them.

use proofline_cfa::IntType;

/// Beyond this iteration nothing is said.
pub(super) const FARTHEST: u128 = 1 << 60;

/// An integer, or an address, as a function of k. What it is modulo 2^bits holds for every k.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Polynomial {
    coefficients: [i128; 3],
    pub(super) ty: IntType,
}

/// A polynomial over the integers whose values are those of the program, as long as nothing wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Exact(pub(super) [i128; 3]);

impl Polynomial {
    /// `None` for formats that are wider than 64 bits.
    pub(super) fn new(coefficients: [i128; 3], ty: IntType) -> Option<Polynomial> {
        let signed = IntType { bits: ty.bits, signed: true };
        let [a, b, c] = coefficients;
        (ty.bits <= 64).then(|| Polynomial { coefficients: [ty.wrap(a), signed.wrap(b), signed.wrap(c)], ty })
    }

    pub(super) fn constant(value: i128, ty: IntType) -> Option<Polynomial> {
        Polynomial::new([value, 0, 0], ty)
    }

    /// Its value, if that is the same in all iterations.
    pub(super) fn as_constant(&self) -> Option<i128> {
        matches!(self.coefficients, [_, 0, 0]).then_some(self.coefficients[0])
    }

    /// The same residues in a format that is not wider.
    pub(super) fn narrowed(&self, ty: IntType) -> Option<Polynomial> {
        (ty.bits <= self.ty.bits).then(|| Polynomial::new(self.coefficients, ty)).flatten()
    }

    pub(super) fn plus(&self, other: &Polynomial) -> Option<Polynomial> {
        let ([a, b, c], [d, e, f]) = (self.coefficients, other.coefficients);
        Polynomial::new([a + d, b + e, c + f], self.ty)
    }

    pub(super) fn minus(&self, other: &Polynomial) -> Option<Polynomial> {
        let ([a, b, c], [d, e, f]) = (self.coefficients, other.coefficients);
        Polynomial::new([a - d, b - e, c - f], self.ty)
    }

    /// `None` if the degree of the product is too high.
    pub(super) fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        Polynomial::new(product(self.coefficients, other.coefficients)?, self.ty)
    }

    /// `k ↦ start + f(0) + … + f(k - 1)`; `None` if its degree is too high.
    pub(super) fn summed(&self, start: i128) -> Option<Polynomial> {
        let [a, b, c] = self.coefficients;
        (c == 0).then(|| Polynomial::new([start, a, b], self.ty)).flatten()
    }

    /// The value in iteration k.
    pub(super) fn at(&self, k: u128) -> i128 {
        let [a, b, c] = self.coefficients;
        // k is at most 2^60, so both factors are exact; the sum may wrap modulo 2^128, which 2^bits divides.
        let (linear, quadratic) = (k as i128, (k * k.saturating_sub(1) / 2) as i128);
        self.ty.wrap(a.wrapping_add(b.wrapping_mul(linear)).wrapping_add(c.wrapping_mul(quadratic)))
    }

    /// The function over the integers that starts with the same value, and the first iteration in which it leaves the format.
    pub(super) fn exact(&self) -> (Exact, Option<u128>) {
        let exact = Exact(self.coefficients);
        (exact, exact.leaves(self.ty.min(), self.ty.max()))
    }
}

/// Modulo 2^128; `None` if its degree is too high.
fn product([a, b, c]: [i128; 3], [d, e, f]: [i128; 3]) -> Option<[i128; 3]> {
    if (c, f) == (0, 0) {
        // k² = k + 2·k(k-1)/2
        let square = b.wrapping_mul(e);
        let linear = a.wrapping_mul(e).wrapping_add(b.wrapping_mul(d)).wrapping_add(square);
        return Some([a.wrapping_mul(d), linear, square.wrapping_mul(2)]);
    }
    match ((b, c), (e, f)) {
        ((0, 0), _) => Some([d, e, f].map(|x| x.wrapping_mul(a))),
        (_, (0, 0)) => Some([a, b, c].map(|x| x.wrapping_mul(d))),
        _ => None,
    }
}

impl Exact {
    /// Operands of at most 65 bits give no overflow.
    pub(super) fn minus(&self, other: &Exact) -> Exact {
        let ([a, b, c], [d, e, f]) = (self.0, other.0);
        Exact([a - d, b - e, c - f])
    }

    pub(super) fn plus(&self, other: &Exact) -> Exact {
        let ([a, b, c], [d, e, f]) = (self.0, other.0);
        Exact([a + d, b + e, c + f])
    }

    /// `None` if its degree is too high, or if coefficients are too large to be sure of.
    pub(super) fn times(&self, other: &Exact) -> Option<Exact> {
        let is_small = |exact: &Exact| exact.0.iter().all(|x| x.unsigned_abs() <= 1 << 62);
        (is_small(self) && is_small(other)).then(|| product(self.0, other.0)).flatten().map(Exact)
    }

    /// `None` beyond 128 bits.
    fn at(&self, k: u128) -> Option<i128> {
        let [a, b, c] = self.0;
        let (linear, quadratic) = (k as i128, (k * k.saturating_sub(1) / 2) as i128);
        a.checked_add(b.checked_mul(linear)?)?.checked_add(c.checked_mul(quadratic)?)
    }

    /// The first iteration in which the value is outside of the range; `None`: it never is. Law: in every iteration before, it is inside;
    /// the answer itself may be too early where the value turns around far away.
    pub(super) fn leaves(&self, low: i128, high: i128) -> Option<u128> {
        let [a, b, c] = self.0;
        let is_outside = |k: u128| !self.at(k).is_some_and(|value| (low..=high).contains(&value));
        if is_outside(0) {
            return Some(0);
        }
        match (b, c) {
            (0, 0) => None,
            (1.., 0) => Some(((high - a) / b + 1) as u128),
            (_, 0) => Some(((a - low) / -b + 1) as u128),
            _ => {
                // From k to k + 1 it grows by b + c·k: it turns around at most once, and is monotone on both sides.
                let is_turning = b != 0 && (b < 0) != (c < 0);
                let turn = if is_turning { b.unsigned_abs().div_ceil(c.unsigned_abs()) } else { 0 };
                let turn = turn.min(FARTHEST);
                let last = if is_outside(turn) { turn } else { FARTHEST };
                let first = if is_outside(turn) { 0 } else { turn };
                Some(first_true(first, last, is_outside))
            }
        }
    }
}

/// The first k in the range for which it is true, which it then stays; the end if it is never.
fn first_true(mut low: u128, mut high: u128, is_true: impl Fn(u128) -> bool) -> u128 {
    while low < high {
        let middle = low + (high - low) / 2;
        if is_true(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
