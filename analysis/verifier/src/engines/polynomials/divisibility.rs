//! That one number divides another: the second one is a multiple of the first, by an integer. It is in the ideal of the first one and of all else that is known
//! to be a multiple of it, modulo which nothing can be cancelled.

use num_bigint::BigInt;

use super::{
    facts::Closed,
    ideal::{Equation, Ideal, Ring},
    polynomial::{Polynomial, Symbol},
};

/// That `dividend` is a multiple of `divisor`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Divides {
    pub(super) divisor: Polynomial,
    pub(super) dividend: Polynomial,
}

/// A remainder of C's division by what is no constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Remainder {
    pub(super) of: Divides,
    pub(super) remainder: Symbol,
}

impl Closed {
    /// Whether it was found that one divides the other.
    ///
    /// Law: where the facts hold, and the answer is yes, it does.
    pub(super) fn divides(&mut self, one: &Divides) -> bool {
        let ideal = self.ideal(Ring::Integers);
        let (divisor, dividend) = (ideal.normal_form(&one.divisor), ideal.normal_form(&one.dividend));
        if dividend.is_zero() || divisor.as_constant().is_some_and(|by| by.magnitude() == &1u32.into()) {
            return true;
        }
        let known = self.facts.divides.clone();
        let ideal = self.ideal(Ring::Integers);
        let of_divisor = known.into_iter().filter(|known| ideal.normal_form(&known.divisor) == divisor);
        let multiples: Vec<Polynomial> =
            [divisor.clone()].into_iter().chain(of_divisor.map(|known| known.dividend)).collect();
        let is_multiple = |polynomial| Equation { polynomial, ring: Ring::Quotient };
        let equations: Vec<Equation> =
            self.facts.equations.iter().cloned().chain(multiples.into_iter().map(is_multiple)).collect();
        Ideal::new(Ring::Quotient, &equations).contains(&dividend)
    }

    /// Remainders that are 0 because one number divides the other. Whether there are new ones.
    pub(super) fn zero_remainders(&mut self) -> bool {
        let mut found = false;
        for Remainder { of, remainder } in self.facts.remainders.clone() {
            let zero = Polynomial::symbol(remainder);
            let equation = Equation { polynomial: zero, ring: Ring::Integers };
            if !self.facts.equations.contains(&equation) && self.divides(&of) {
                self.facts.equations.push(equation);
                found = true;
            }
        }
        found
    }

    /// Whether something divides a number that is positive, and smaller.
    pub(super) fn divides_smaller(&mut self) -> bool {
        let one = Polynomial::constant(BigInt::from(1));
        self.facts.divides.clone().iter().any(|known| {
            self.is_at_most_zero(&one.minus(&known.dividend))
                && self.is_at_most_zero(&known.dividend.minus(&known.divisor).plus(&one))
        })
    }
}
