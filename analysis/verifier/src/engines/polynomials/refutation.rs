//! Polynomial inequalities that contradict each other: a sum of them, each taken a number of times that is not negative, and of products of two of them, that is a
//! positive number [Handelman88]. The numbers are found by linear programming over the monomials (the simplex method, in integers), and then multiplied
//! out: what is said rests on that alone. Must not know programs.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;

use super::polynomial::{Monomial, Polynomial};

/// Inequalities, at most, and monomials; products have no higher degree than this.
const MOST_COLUMNS: usize = 90;
const MOST_ROWS: usize = 50;
const MOST_DEGREE: u32 = 6;
/// Exchanges of two variables of a basis.
const MOST_PIVOTS: usize = 150;

/// Whether it was found that not all of these can be at most 0.
///
/// Law: where all are at most 0, the answer is no.
pub(super) fn is_refuted(at_most: &[Polynomial], goal: &Polynomial) -> bool {
    let mut all: Vec<Polynomial> = vec![goal.clone()];
    for one in at_most {
        if !one.is_zero() && !all.contains(one) {
            all.push(one.clone());
        }
    }
    let all = connected(all);
    if contradiction(&all) {
        return true;
    }
    let with_products = with_products(&all);
    with_products.len() > all.len() && contradiction(&with_products)
}

/// Those that have to do with the first one: by what they speak of, and what that is compared with.
fn connected(all: Vec<Polynomial>) -> Vec<Polynomial> {
    let mut known: BTreeSet<_> = all.first().map(|goal| goal.symbols().collect()).unwrap_or_default();
    loop {
        let before = known.len();
        for one in &all {
            if one.symbols().any(|symbol| known.contains(&symbol)) {
                known.extend(one.symbols());
            }
        }
        if known.len() == before {
            break;
        }
    }
    let mut left = all;
    left.retain(|one| one.as_constant().is_some() || one.symbols().any(|symbol| known.contains(&symbol)));
    left.truncate(MOST_COLUMNS);
    left
}

/// And products: of two that are at most 0 the product is at least 0.
fn with_products(all: &[Polynomial]) -> Vec<Polynomial> {
    let mut more = all.to_vec();
    for (at, one) in all.iter().enumerate() {
        for other in &all[..=at] {
            if one.degree() + other.degree() <= MOST_DEGREE && one.degree() > 0 && other.degree() > 0 {
                let product = one.times(other).scaled(&BigInt::from(-1));
                if more.len() < MOST_COLUMNS && !more.contains(&product) {
                    more.push(product);
                }
            }
        }
    }
    more
}

/// Whether factors were found with which the sum is a positive number.
fn contradiction(all: &[Polynomial]) -> bool {
    let monomials: BTreeSet<&Monomial> = all.iter().flat_map(|one| one.terms()).map(|(m, _)| m).collect();
    if monomials.len() > MOST_ROWS {
        return false;
    }
    let constant = Monomial::default();
    if !monomials.contains(&constant) {
        return false;
    }
    let mut rows: BTreeMap<&Monomial, Vec<BigInt>> = BTreeMap::new();
    for monomial in monomials {
        let mut row: Vec<BigInt> = all.iter().map(|one| one.coefficient(monomial)).collect();
        row.push(BigInt::from(u8::from(*monomial == constant)));
        rows.insert(monomial, row);
    }
    let Some(factors) = Tableau::new(rows.into_values().collect(), all.len()).solution() else {
        return false;
    };
    // Nothing above is trusted.
    let mut sum = Polynomial::default();
    for (factor, one) in factors.iter().zip(all) {
        if *factor < BigInt::ZERO {
            return false;
        }
        sum = sum.plus(&one.scaled(factor));
    }
    sum.as_constant().is_some_and(|value| value > BigInt::ZERO)
}

/// Equations with right-hand sides that are not negative, solved for variables that are not: the first phase of the simplex method, by the rule of
/// Bland. Entries are integers over one common denominator, so that nothing is rounded [Edmonds67].
struct Tableau {
    /// Coefficients, and the right-hand side.
    rows: Vec<Vec<BigInt>>,
    /// The variable that each row gives the value of; those from `variables` on are artificial.
    basis: Vec<usize>,
    /// What the sum of the artificial ones loses for each variable, negative where it does.
    costs: Vec<BigInt>,
    denominator: BigInt,
    variables: usize,
}

impl Tableau {
    fn new(rows: Vec<Vec<BigInt>>, variables: usize) -> Tableau {
        let costs = (0..=variables).map(|at| -rows.iter().map(|row| &row[at]).sum::<BigInt>()).collect();
        let basis = (variables..variables + rows.len()).collect();
        Tableau { rows, basis, costs, denominator: BigInt::from(1), variables }
    }

    /// Values, times the common denominator.
    fn solution(mut self) -> Option<Vec<BigInt>> {
        for _ in 0..MOST_PIVOTS {
            if self.costs[self.variables] == BigInt::ZERO {
                let mut values = vec![BigInt::ZERO; self.variables];
                for (row, variable) in self.rows.iter().zip(&self.basis) {
                    if let Some(value) = values.get_mut(*variable) {
                        *value = row[self.variables].clone();
                    }
                }
                return Some(values);
            }
            let entering = (0..self.variables).find(|at| self.costs[*at] < BigInt::ZERO)?;
            let leaving = self.leaving(entering)?;
            self.pivot(leaving, entering);
        }
        None
    }

    /// The row that limits the variable most.
    fn leaving(&self, entering: usize) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (at, row) in self.rows.iter().enumerate() {
            if row[entering] <= BigInt::ZERO {
                continue;
            }
            let is_less = best.is_none_or(|best| {
                let other = &self.rows[best];
                let (mine, theirs) =
                    (&row[self.variables] * &other[entering], &other[self.variables] * &row[entering]);
                mine < theirs || mine == theirs && self.basis[at] < self.basis[best]
            });
            if is_less {
                best = Some(at);
            }
        }
        best
    }

    fn pivot(&mut self, leaving: usize, entering: usize) {
        let row = self.rows[leaving].clone();
        let pivot = row[entering].clone();
        let denominator = self.denominator.clone();
        let exchange = |other: &mut Vec<BigInt>| {
            let factor = other[entering].clone();
            for (mine, theirs) in other.iter_mut().zip(&row) {
                // Most are 0.
                if *mine == BigInt::ZERO && (factor == BigInt::ZERO || *theirs == BigInt::ZERO) {
                    continue;
                }
                *mine = (&pivot * &*mine - &factor * theirs) / &denominator;
            }
        };
        for (at, other) in self.rows.iter_mut().enumerate() {
            if at != leaving {
                exchange(other);
            }
        }
        exchange(&mut self.costs);
        self.denominator = pivot;
        self.basis[leaving] = entering;
    }
}
