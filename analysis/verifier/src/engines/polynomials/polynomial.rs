//! Polynomials with integer coefficients over numbered symbols, modulo a power of two or not. Pure algebra: must not know programs.

use std::{cmp::Ordering, collections::BTreeMap};

use num_bigint::BigInt;

/// What a polynomial speaks of: an integer that is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Symbol(pub(super) u32);

/// A product of powers of symbols: ascending, exponents positive. Ordered by degree, then lexicographically: an admissible order, so that
/// `a < b` implies `a * c < b * c`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Monomial(Vec<(Symbol, u32)>);

impl Monomial {
    /// A symbol.
    pub(super) fn of(symbol: Symbol) -> Monomial {
        Monomial(vec![(symbol, 1)])
    }

    /// Sum of the exponents.
    pub(super) fn degree(&self) -> u32 {
        self.0.iter().map(|(_, exponent)| exponent).sum()
    }

    /// The symbols with their exponents.
    pub(super) fn powers(&self) -> &[(Symbol, u32)] {
        &self.0
    }

    /// The product.
    pub(super) fn times(&self, other: &Monomial) -> Monomial {
        self.merged(other, |mine, theirs| mine + theirs)
    }

    /// The least common multiple.
    pub(super) fn lcm(&self, other: &Monomial) -> Monomial {
        self.merged(other, u32::max)
    }

    fn merged(&self, other: &Monomial, exponent: impl Fn(u32, u32) -> u32) -> Monomial {
        let mut all: BTreeMap<Symbol, (u32, u32)> = self.0.iter().map(|(s, e)| (*s, (*e, 0))).collect();
        for (symbol, theirs) in &other.0 {
            all.entry(*symbol).or_default().1 = *theirs;
        }
        Monomial(all.into_iter().map(|(symbol, (mine, theirs))| (symbol, exponent(mine, theirs))).collect())
    }

    /// `self / other`, where it divides.
    pub(super) fn quotient(&self, other: &Monomial) -> Option<Monomial> {
        let mut left = self.0.clone();
        for (symbol, exponent) in &other.0 {
            let at = left.binary_search_by_key(symbol, |power| power.0).ok()?;
            left[at].1 = left[at].1.checked_sub(*exponent)?;
        }
        left.retain(|power| power.1 > 0);
        Some(Monomial(left))
    }
}

impl Ord for Monomial {
    fn cmp(&self, other: &Monomial) -> Ordering {
        self.degree().cmp(&other.degree()).then_with(|| {
            for (mine, theirs) in self.0.iter().zip(&other.0) {
                // The one that has the smaller symbol has a power of it where the other has none.
                let order = theirs.0.cmp(&mine.0).then(mine.1.cmp(&theirs.1));
                if order.is_ne() {
                    return order;
                }
            }
            self.0.len().cmp(&other.0.len())
        })
    }
}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Monomial) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A polynomial. No coefficient is 0.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(super) struct Polynomial(BTreeMap<Monomial, BigInt>);

impl Polynomial {
    /// A number.
    pub(super) fn constant(value: impl Into<BigInt>) -> Polynomial {
        Polynomial::term(Monomial::default(), value.into())
    }

    /// A symbol.
    pub(super) fn symbol(symbol: Symbol) -> Polynomial {
        Polynomial::term(Monomial::of(symbol), BigInt::from(1))
    }

    /// A product of a number and a monomial.
    pub(super) fn term(monomial: Monomial, coefficient: BigInt) -> Polynomial {
        let mut terms = BTreeMap::new();
        if coefficient != BigInt::ZERO {
            terms.insert(monomial, coefficient);
        }
        Polynomial(terms)
    }

    /// Whether it is the number 0.
    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The number, if it is one.
    pub(super) fn as_constant(&self) -> Option<BigInt> {
        match self.0.first_key_value() {
            None => Some(BigInt::ZERO),
            Some((monomial, value)) if self.0.len() == 1 && monomial.degree() == 0 => Some(value.clone()),
            Some(_) => None,
        }
    }

    /// The symbol, if it is one.
    pub(super) fn as_symbol(&self) -> Option<Symbol> {
        match self.0.first_key_value() {
            Some((monomial, value)) if self.0.len() == 1 && *value == BigInt::from(1) => {
                match monomial.powers() {
                    [(symbol, 1)] => Some(*symbol),
                    _ => None,
                }
            }
            Some(_) | None => None,
        }
    }

    /// Its terms, in ascending order.
    pub(super) fn terms(&self) -> impl DoubleEndedIterator<Item = (&Monomial, &BigInt)> {
        self.0.iter()
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The greatest term.
    pub(super) fn leading(&self) -> Option<(&Monomial, &BigInt)> {
        self.0.last_key_value()
    }

    /// Degree of the greatest term.
    pub(super) fn degree(&self) -> u32 {
        self.leading().map_or(0, |(monomial, _)| monomial.degree())
    }

    /// The coefficient of a monomial.
    pub(super) fn coefficient(&self, monomial: &Monomial) -> BigInt {
        self.0.get(monomial).cloned().unwrap_or_default()
    }

    /// The symbols in it.
    pub(super) fn symbols(&self) -> impl Iterator<Item = Symbol> {
        self.0.keys().flat_map(|monomial| monomial.0.iter().map(|power| power.0))
    }

    fn add_term(&mut self, monomial: Monomial, coefficient: BigInt) {
        let sum = self.0.entry(monomial).or_default();
        *sum += coefficient;
        if *sum == BigInt::ZERO {
            self.0.retain(|_, coefficient| *coefficient != BigInt::ZERO);
        }
    }

    /// `self + factor * monomial * other`
    pub(super) fn plus_multiple(
        &self,
        factor: &BigInt,
        monomial: &Monomial,
        other: &Polynomial,
    ) -> Polynomial {
        let mut sum = self.clone();
        for (theirs, coefficient) in &other.0 {
            let entry = sum.0.entry(theirs.times(monomial)).or_default();
            *entry += coefficient * factor;
        }
        sum.0.retain(|_, coefficient| *coefficient != BigInt::ZERO);
        sum
    }

    /// `self + other`
    pub(super) fn plus(&self, other: &Polynomial) -> Polynomial {
        self.plus_multiple(&BigInt::from(1), &Monomial::default(), other)
    }

    /// `self - other`
    pub(super) fn minus(&self, other: &Polynomial) -> Polynomial {
        self.plus_multiple(&BigInt::from(-1), &Monomial::default(), other)
    }

    /// `factor * self`
    pub(super) fn scaled(&self, factor: &BigInt) -> Polynomial {
        Polynomial::default().plus_multiple(factor, &Monomial::default(), self)
    }

    /// `self * other`
    pub(super) fn times(&self, other: &Polynomial) -> Polynomial {
        let mut product = Polynomial::default();
        for (monomial, coefficient) in &self.0 {
            product = product.plus_multiple(coefficient, monomial, other);
        }
        product
    }

    /// With other polynomials in the place of symbols, all at once.
    pub(super) fn substituted(&self, by: &dyn Fn(Symbol) -> Option<Polynomial>) -> Polynomial {
        let mut sum = Polynomial::default();
        for (monomial, coefficient) in &self.0 {
            let mut rest = Vec::new();
            let mut product: Option<Polynomial> = None;
            for (symbol, exponent) in &monomial.0 {
                match by(*symbol) {
                    None => rest.push((*symbol, *exponent)),
                    Some(replacement) => {
                        for _ in 0..*exponent {
                            product = Some(match product {
                                None => replacement.clone(),
                                Some(product) => product.times(&replacement),
                            });
                        }
                    }
                }
            }
            match product {
                None => sum.add_term(monomial.clone(), coefficient.clone()),
                Some(product) => sum = sum.plus_multiple(coefficient, &Monomial(rest), &product),
            }
        }
        sum
    }

    /// With every coefficient made another one.
    pub(super) fn map(&self, f: impl Fn(&BigInt) -> BigInt) -> Polynomial {
        let mut terms: BTreeMap<Monomial, BigInt> = self.0.iter().map(|(m, c)| (m.clone(), f(c))).collect();
        terms.retain(|_, coefficient| *coefficient != BigInt::ZERO);
        Polynomial(terms)
    }

    /// As polynomials in the symbols that `are_told`, by the product of all others: it is zero for all values of those others if each of them is.
    pub(super) fn split(&self, are_told: &dyn Fn(Symbol) -> bool) -> Vec<Polynomial> {
        let mut parts: BTreeMap<Monomial, Polynomial> = BTreeMap::new();
        for (monomial, coefficient) in &self.0 {
            let (inside, outside): (Vec<_>, Vec<_>) = monomial.0.iter().partition(|power| are_told(power.0));
            parts.entry(Monomial(outside)).or_default().add_term(Monomial(inside), coefficient.clone());
        }
        parts.into_values().collect()
    }

    /// The greatest common divisor of the coefficients; 0 of the number 0.
    pub(super) fn content(&self) -> BigInt {
        self.0.values().fold(BigInt::ZERO, |common, coefficient| gcd(common, coefficient.clone()))
    }
}

/// The greatest common divisor, not negative.
pub(super) fn gcd(mut a: BigInt, mut b: BigInt) -> BigInt {
    while b != BigInt::ZERO {
        (a, b) = (b.clone(), a % b);
    }
    if a < BigInt::ZERO { -a } else { a }
}
