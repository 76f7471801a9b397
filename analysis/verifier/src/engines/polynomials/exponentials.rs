//! Powers of a constant whose exponent is a value of the program: `b^e` where `e` is from 0 to a limit, and 0 elsewhere. So it is a function of
//! `e`, bounded, and an integer. What is known of two of them is how far their exponents are apart.

use num_bigint::BigInt;

use super::{
    facts::{Bounds, Facts},
    polynomial::{Polynomial, Symbol},
};

/// Exponents, at most.
const MOST: u32 = 200;

/// That a symbol is a power.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Exponential {
    pub(super) symbol: Symbol,
    /// More than 1.
    pub(super) base: u8,
    pub(super) exponent: Polynomial,
}

/// The exponent, where there is a power.
fn exponent((low, high): &Bounds) -> Option<(u32, u32)> {
    let (low, high) = (u32::try_from(low).ok()?, u32::try_from(high).ok()?);
    (high <= MOST).then_some((low, high))
}

fn power(base: u8, exponent: u32) -> BigInt {
    BigInt::from(base).pow(exponent)
}

/// Bounds of any power of a base.
pub(super) fn bounds_of_power(base: u8) -> Bounds {
    (BigInt::ZERO, power(base, MOST))
}

/// The power, of an exponent that is known.
pub(super) fn value(base: u8, at: &BigInt) -> BigInt {
    exponent(&(at.clone(), at.clone())).map_or(BigInt::ZERO, |(at, _)| power(base, at))
}

impl Facts {
    /// A name for a power.
    pub(super) fn exponential(&mut self, base: u8, exponent: &Polynomial) -> Polynomial {
        if let Some(known) = self.exponentials.iter().find(|e| e.base == base && e.exponent == *exponent) {
            return Polynomial::symbol(known.symbol);
        }
        let symbol = self.fresh(bounds_of_power(base));
        self.exponentials.push(Exponential { symbol, base, exponent: exponent.clone() });
        Polynomial::symbol(symbol)
    }

    /// What follows of powers from ranges of their exponents. `normal`: what equals a polynomial, and is the same for all that are found to be equal.
    pub(super) fn relate_exponentials(&mut self, normal: &dyn Fn(&Polynomial) -> Polynomial) {
        let all = self.exponentials.clone();
        for (at, one) in all.iter().enumerate() {
            let Some((low, high)) = exponent(&self.range(&normal(&one.exponent))) else { continue };
            self.meet(one.symbol, (power(one.base, low), power(one.base, high)));
            for other in all[..at].iter().filter(|other| other.base == one.base) {
                let apart = normal(&one.exponent.minus(&other.exponent)).as_constant();
                let is_power = exponent(&self.range(&normal(&other.exponent))).is_some();
                let Some(apart) = apart.filter(|_| is_power) else { continue };
                let Ok(by) = u32::try_from(apart.magnitude()) else { continue };
                let (large, small) = if apart > BigInt::ZERO {
                    (one.symbol, other.symbol)
                } else {
                    (other.symbol, one.symbol)
                };
                let multiple = Polynomial::symbol(small).scaled(&power(one.base, by));
                self.equate(Polynomial::symbol(large).minus(&multiple));
            }
        }
    }
}
