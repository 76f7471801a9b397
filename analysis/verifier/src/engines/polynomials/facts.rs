//! What is known on one path of the symbols' values, and what follows from it: equations by ideals, ranges by interval arithmetic,
//! quotients by what divides. Must not know programs.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use num_bigint::BigInt;

use super::{
    divisibility::{Divides, Remainder},
    exponentials::Exponential,
    ideal::{Equation, Ideal, Ring},
    polynomial::{Monomial, Polynomial, Symbol},
    refutation,
};

/// Terms of what is found to be equal not only modulo 2^n, at most.
const MOST_LIFTED: usize = 4;

/// Rounds in which one kind of fact sharpens the others.
const MOST_ROUNDS: usize = 6;

/// A division of integers, toward zero: `dividend = divisor * quotient + remainder`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Division {
    pub(super) dividend: Polynomial,
    /// More than 1.
    pub(super) divisor: BigInt,
    pub(super) quotient: Symbol,
    pub(super) remainder: Symbol,
}

/// Smallest and largest value.
pub(super) type Bounds = (BigInt, BigInt);

/// A conjunction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Facts {
    /// Of each symbol.
    pub(super) bounds: Vec<Bounds>,
    /// What is zero.
    pub(super) equations: Vec<Equation>,
    /// What is not.
    pub(super) different: Vec<Equation>,
    /// Integers that are at most 0.
    pub(super) at_most: Vec<Polynomial>,
    pub(super) divisions: Vec<Division>,
    /// Symbols that are powers of a number (with an exponent that is not negative).
    pub(super) powers: Vec<(Symbol, BigInt)>,
    /// Symbols that are powers whose exponent is known.
    pub(super) exponentials: Vec<Exponential>,
    pub(super) divides: Vec<Divides>,
    pub(super) remainders: Vec<Remainder>,
}

impl Facts {
    /// A new symbol, of which only bounds are known.
    pub(super) fn fresh(&mut self, bounds: Bounds) -> Symbol {
        self.bounds.push(bounds);
        Symbol(u32::try_from(self.bounds.len() - 1).unwrap_or(u32::MAX))
    }

    /// Bounds of a polynomial, by interval arithmetic.
    pub(super) fn range(&self, polynomial: &Polynomial) -> Bounds {
        let mut sum = (BigInt::ZERO, BigInt::ZERO);
        for (monomial, coefficient) in polynomial.terms() {
            let mut product = (coefficient.clone(), coefficient.clone());
            for (symbol, exponent) in monomial.powers() {
                let (low, high) = &self.bounds[symbol.0 as usize];
                let (mut low, mut high) = (low.pow(*exponent), high.pow(*exponent));
                if exponent % 2 == 0 {
                    let crosses = self.bounds[symbol.0 as usize].0 < BigInt::ZERO
                        && self.bounds[symbol.0 as usize].1 > BigInt::ZERO;
                    (low, high) = (low.clone().min(high.clone()), low.max(high));
                    if crosses {
                        low = BigInt::ZERO;
                    }
                }
                let corners = [&product.0 * &low, &product.0 * &high, &product.1 * &low, &product.1 * &high];
                let least = corners.iter().min().cloned().unwrap_or_default();
                product = (least, corners.into_iter().max().unwrap_or_default());
            }
            sum = (sum.0 + product.0, sum.1 + product.1);
        }
        sum
    }

    /// Bounds that follow from ranges and one of the inequalities: `i + 1` is at most `n` where `i < n`.
    pub(super) fn range_of_sum(&self, polynomial: &Polynomial) -> Bounds {
        let (mut low, mut high) = self.range(polynomial);
        // Of `f <= 0`: `p + f <= p <= p - f`.
        for at_most in &self.at_most {
            low = low.max(self.range(&polynomial.plus(at_most)).0);
            high = high.min(self.range(&polynomial.minus(at_most)).1);
        }
        (low, high)
    }

    /// All that follows.
    pub(super) fn closed(self) -> Closed {
        let mut facts = self;
        let mut is_impossible = false;
        for _ in 0..MOST_ROUNDS {
            let before = (facts.bounds.clone(), facts.equations.len());
            is_impossible = is_impossible || facts.sharpen();
            if is_impossible || before == (facts.bounds.clone(), facts.equations.len()) {
                break;
            }
        }
        let mut closed = Closed { facts, is_impossible, ideals: Vec::new() };
        if closed.zero_remainders() {
            closed.ideals.clear();
        }
        closed
    }

    /// One round. Whether the facts contradict each other.
    fn sharpen(&mut self) -> bool {
        let ideal = Ideal::new(Ring::Integers, &self.equations);
        if ideal.is_contradictory() {
            return true;
        }
        let exact: Vec<Polynomial> = self
            .equations
            .iter()
            .filter(|equation| equation.ring == Ring::Integers)
            .flat_map(|equation| [equation.polynomial.clone(), equation.polynomial.scaled(&BigInt::from(-1))])
            .collect();
        for at_most in self.at_most.clone().iter().chain(&exact) {
            if self.bound(at_most) || self.bound(&ideal.normal_form(at_most)) {
                return true;
            }
        }
        self.lift();
        self.exclude_ends();
        for different in self.different.clone() {
            if different.ring == Ring::Integers {
                self.exclude(&different.polynomial);
                self.exclude(&ideal.normal_form(&different.polynomial));
            }
        }
        self.split_powers();
        self.relate_exponentials(&|polynomial| ideal.normal_form(polynomial));
        for division in self.divisions.clone() {
            self.divide(&ideal, &division);
        }
        for at in 0..self.bounds.len() {
            let (low, high) = &self.bounds[at];
            if low > high {
                return true;
            }
            if low == high {
                let symbol = Symbol(u32::try_from(at).unwrap_or(u32::MAX));
                let polynomial = Polynomial::symbol(symbol).minus(&Polynomial::constant(low.clone()));
                self.equate(polynomial);
            }
        }
        false
    }

    /// A value at the end of a range that is excluded: where this is not 0.
    pub(super) fn exclude(&mut self, polynomial: &Polynomial) {
        let Some((symbol, value)) = single(polynomial) else { return };
        let (low, high) = &mut self.bounds[symbol.0 as usize];
        if *low == value {
            *low += 1;
        }
        if *high == value {
            *high -= 1;
        }
    }

    /// What is at most 0, and not 0, is at most -1.
    fn exclude_ends(&mut self) {
        for different in self.different.clone() {
            let one = Polynomial::constant(1);
            for side in [different.polynomial.clone(), different.polynomial.scaled(&BigInt::from(-1))] {
                let less = side.plus(&one);
                if different.ring == Ring::Integers
                    && self.at_most.contains(&side)
                    && !self.at_most.contains(&less)
                {
                    // What was asserted stays the last one.
                    self.at_most.insert(0, less);
                }
            }
        }
    }

    pub(super) fn equate(&mut self, polynomial: Polynomial) {
        let equation = Equation { polynomial, ring: Ring::Integers };
        if !self.equations.contains(&equation) {
            self.equations.push(equation);
        }
    }

    /// What is equal modulo 2^n is equal if both lie between numbers that are less than 2^n apart.
    fn lift(&mut self) {
        let moduli: BTreeSet<u8> = self
            .equations
            .iter()
            .filter_map(|equation| match equation.ring {
                Ring::Modulo(bits) => Some(bits),
                Ring::Integers | Ring::Quotient => None,
            })
            .collect();
        for bits in moduli {
            let modulus = BigInt::from(1) << bits;
            let ideal = Ideal::new(Ring::Modulo(bits), &self.equations);
            let mut by_form: BTreeMap<Polynomial, Symbol> = BTreeMap::new();
            for at in 0..self.bounds.len() {
                let symbol = Symbol(u32::try_from(at).unwrap_or(u32::MAX));
                let (itself, own) = (Polynomial::symbol(symbol), self.bounds[at].clone());
                let form = ideal.normal_form(&itself);
                let is_near = |other: &Bounds| {
                    let (low, high) = ((&own.0).min(&other.0), (&own.1).max(&other.1));
                    high - low < modulus
                };
                if form != itself && form.len() <= MOST_LIFTED && is_near(&self.range(&form)) {
                    self.equate(itself.minus(&form));
                }
                match by_form.entry(form) {
                    Entry::Occupied(known) => {
                        let other = *known.get();
                        if is_near(&self.bounds[other.0 as usize]) {
                            self.equate(itself.minus(&Polynomial::symbol(other)));
                        }
                    }
                    Entry::Vacant(free) => {
                        free.insert(symbol);
                    }
                }
            }
        }
    }

    /// A power of `b` that is not 1 is `b` times a power of `b`.
    fn split_powers(&mut self) {
        for (symbol, base) in self.powers.clone() {
            let (low, _) = &mut self.bounds[symbol.0 as usize];
            *low = low.clone().max(BigInt::from(1));
            if *low <= BigInt::from(1) {
                continue;
            }
            let bounds = (BigInt::from(1), self.bounds[symbol.0 as usize].1.clone());
            self.powers.retain(|(other, _)| *other != symbol);
            let root = self.fresh(bounds);
            self.powers.push((root, base.clone()));
            self.equate(Polynomial::symbol(symbol).minus(&Polynomial::symbol(root).scaled(&base)));
        }
    }

    /// What divides is known of remainder and quotient.
    fn divide(&mut self, ideal: &Ideal, division: &Division) {
        let Division { dividend, divisor, quotient, remainder } = division;
        let normal = ideal.normal_form(dividend);
        let is_multiple =
            |p: &Polynomial| p.terms().all(|(_, coefficient)| coefficient % divisor == BigInt::ZERO);
        if is_multiple(&normal) {
            self.equate(Polynomial::symbol(*remainder));
            self.equate(Polynomial::symbol(*quotient).minus(&normal.map(|c| c / divisor)));
        }
        // The remainder has the dividend's sign, the quotient the sign of both.
        let (low, high) = self.range(&normal);
        let most: BigInt = divisor - 1;
        let of_remainder = (
            if low >= BigInt::ZERO { BigInt::ZERO } else { -most.clone() },
            if high <= BigInt::ZERO { BigInt::ZERO } else { most },
        );
        self.meet(*remainder, of_remainder);
        self.meet(*quotient, (low / divisor, high / divisor));
    }

    pub(super) fn meet(&mut self, symbol: Symbol, (low, high): Bounds) {
        let bounds = &mut self.bounds[symbol.0 as usize];
        *bounds = (bounds.0.clone().max(low), bounds.1.clone().min(high));
    }

    /// Bounds of a symbol in a sum that is at most 0. Whether there are no such values.
    fn bound(&mut self, sum: &Polynomial) -> bool {
        if self.range(sum).0 > BigInt::ZERO {
            return true;
        }
        for (monomial, coefficient) in sum.terms() {
            let [(symbol, 1)] = monomial.powers() else { continue };
            if sum.symbols().filter(|other| other == symbol).count() != 1 {
                continue;
            }
            // coefficient * symbol <= -rest
            let rest = sum.minus(&Polynomial::term(monomial.clone(), coefficient.clone()));
            let most: BigInt = -self.range(&rest).0;
            let bounds = &mut self.bounds[symbol.0 as usize];
            if *coefficient > BigInt::ZERO {
                bounds.1 = bounds.1.clone().min(floor(&most, coefficient));
            } else {
                // symbol >= most / coefficient, rounded up.
                let least: BigInt = -floor(&most, &-coefficient);
                bounds.0 = bounds.0.clone().max(least);
            }
        }
        false
    }
}

/// `value / by` rounded down, of a positive `by`.
pub(super) fn floor(value: &BigInt, by: &BigInt) -> BigInt {
    let quotient: BigInt = value / by;
    if value % by < BigInt::ZERO { quotient - 1 } else { quotient }
}

/// `symbol - value`, or its negative: zero where the symbol has that value.
fn single(polynomial: &Polynomial) -> Option<(Symbol, BigInt)> {
    let mut symbols = polynomial.symbols();
    let (Some(symbol), None) = (symbols.next(), symbols.next()) else { return None };
    let factor = polynomial.coefficient(&Monomial::of(symbol));
    let constant = polynomial.coefficient(&Monomial::default());
    if polynomial.degree() != 1 {
        return None;
    }
    if factor == BigInt::from(1) {
        Some((symbol, -constant))
    } else {
        (factor == BigInt::from(-1)).then_some((symbol, constant))
    }
}

/// Facts with what follows from them.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    pub(super) facts: Facts,
    is_impossible: bool,
    ideals: Vec<(Ring, Ideal)>,
}

impl Closed {
    /// The ideal of what is zero in a ring.
    pub(super) fn ideal(&mut self, ring: Ring) -> &Ideal {
        let at = match self.ideals.iter().position(|(known, _)| *known == ring) {
            Some(at) => at,
            None => {
                self.ideals.push((ring, Ideal::new(ring, &self.facts.equations)));
                self.ideals.len() - 1
            }
        };
        &self.ideals[at].1
    }

    /// Whether something is zero.
    pub(super) fn entails(&mut self, equation: &Equation) -> bool {
        self.is_impossible || self.ideal(equation.ring).contains(&equation.polynomial)
    }

    /// Whether a value is a power of a number.
    pub(super) fn is_power(&mut self, polynomial: &Polynomial, base: &BigInt) -> bool {
        let normal = self.ideal(Ring::Integers).normal_form(polynomial);
        let (Some((monomial, factor)), 1) = (normal.leading(), normal.len()) else { return false };
        let mut left = factor.clone();
        while left > BigInt::from(1) && &left % base == BigInt::ZERO {
            left /= base;
        }
        let is_one = |(symbol, _): &(Symbol, u32)| self.facts.powers.contains(&(*symbol, base.clone()));
        left == BigInt::from(1) && monomial.powers().iter().all(is_one)
    }

    /// Whether no values satisfy the facts.
    pub(super) fn is_impossible(&mut self) -> bool {
        if self.is_impossible {
            return true;
        }
        let different = self.facts.different.clone();
        self.is_impossible = different.iter().any(|equation| self.entails(equation))
            || self
                .facts
                .equations
                .iter()
                .map(|equation| equation.ring)
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .any(|ring| self.ideal(ring).is_contradictory())
            || self.is_inequality_violated()
            || self.divides_smaller();
        self.is_impossible
    }

    /// Inequalities of which one, or two added up, cannot hold.
    fn is_inequality_violated(&mut self) -> bool {
        let at_most = self.facts.at_most.clone();
        let ideal = self.ideal(Ring::Integers);
        let normal: Vec<Polynomial> = at_most.iter().map(|p| ideal.normal_form(p)).collect();
        let cannot = |p: &Polynomial| self.facts.range(p).0 > BigInt::ZERO;
        normal.iter().any(cannot)
            || normal.iter().enumerate().any(|(i, a)| normal[..i].iter().any(|b| cannot(&a.plus(b))))
    }

    /// Whether something is found to be at most 0.
    pub(super) fn is_at_most_zero(&mut self, polynomial: &Polynomial) -> bool {
        // An integer that is not is at least 1.
        let least = Polynomial::constant(1).minus(polynomial);
        self.is_impossible || self.excludes(&least)
    }

    /// Whether a sum of inequalities was found that cannot hold together with what was asserted last.
    pub(super) fn is_refuted(&mut self) -> bool {
        if self.is_impossible() {
            return true;
        }
        let last = self.facts.at_most.last().cloned();
        self.is_impossible = last.is_some_and(|last| self.excludes(&last));
        let one = Polynomial::constant(1);
        for different in self.facts.different.clone() {
            if !self.is_impossible && different.ring == Ring::Integers {
                let less = one.plus(&different.polynomial);
                let more = one.minus(&different.polynomial);
                self.is_impossible = self.excludes(&less) && self.excludes(&more);
            }
        }
        self.is_impossible
    }

    /// Whether something is never at most 0.
    fn excludes(&mut self, goal: &Polynomial) -> bool {
        let (facts, ideal) = (self.facts.clone(), self.ideal(Ring::Integers));
        let goal = ideal.normal_form(goal);
        if facts.range(&goal).0 > BigInt::ZERO {
            return true;
        }
        let mut known: Vec<Polynomial> = facts.at_most.iter().map(|one| ideal.normal_form(one)).collect();
        for generator in ideal.generators() {
            known.extend([generator.clone(), generator.scaled(&BigInt::from(-1))]);
        }
        // Bounds of types say little, and cost as much as others.
        let far = BigInt::from(i32::MAX);
        for (symbol, (low, high)) in (0..).map(Symbol).zip(&facts.bounds) {
            let value = ideal.normal_form(&Polynomial::symbol(symbol));
            if low.magnitude() < far.magnitude() {
                known.push(Polynomial::constant(low.clone()).minus(&value));
            }
            if high.magnitude() < far.magnitude() {
                known.push(value.minus(&Polynomial::constant(high.clone())));
            }
        }
        refutation::is_refuted(&known, &goal)
    }
}
