//! Polynomials that are zero at given points [BM82]: monomials are taken in ascending order, and one whose values are a combination of those of smaller
//! ones gives a polynomial; its multiples are passed over. Numbers are looked at modulo a prime, and what is found is checked at the points. Must not know programs.

use num_bigint::BigInt;

use super::polynomial::{Monomial, Polynomial, Symbol};

/// Points are known modulo this prime, 2^61 - 1.
const PRIME: u128 = (1 << 61) - 1;
/// Monomials that are looked at, at most.
const MOST_MONOMIALS: usize = 90;
/// So many points more than monomials must agree on a polynomial.
const MARGIN: usize = 3;
/// No numerator or denominator of a coefficient is larger.
const LARGEST: i128 = 1 << 20;
const MOST_TERMS: usize = 6;

/// Polynomials in so many symbols, up to a degree, that are zero at all points: each has a leading monomial that no other one divides.
///
/// Law: each is zero at each point.
pub(super) fn vanishing(points: &[Vec<BigInt>], symbols: u32, degree: u32) -> Vec<Polynomial> {
    let residues: Vec<Vec<u128>> = points.iter().map(|point| point.iter().map(residue).collect()).collect();
    let mut found: Vec<Polynomial> = Vec::new();
    let mut leading: Vec<Monomial> = Vec::new();
    // Independent columns of values, each with the combination of monomials that it is, and its pivot.
    let mut basis: Vec<Column> = Vec::new();
    for monomial in monomials(symbols, degree) {
        if leading.iter().any(|known| monomial.quotient(known).is_some()) {
            continue;
        }
        if basis.len() + MARGIN > points.len() {
            break;
        }
        let values = residues.iter().map(|point| value(&monomial, point)).collect();
        let mut column = Column { values, combination: vec![(monomial.clone(), 1)], pivot: 0 };
        for known in &basis {
            column.cancel(known);
        }
        match column.values.iter().position(|value| *value != 0) {
            Some(pivot) => {
                column.pivot = pivot;
                basis.push(column);
            }
            None => {
                leading.push(monomial);
                let polynomial = integral(&column.combination);
                found.extend(polynomial.filter(|p| points.iter().all(|point| is_zero_at(p, point))));
            }
        }
    }
    found
}

struct Column {
    values: Vec<u128>,
    combination: Vec<(Monomial, u128)>,
    pivot: usize,
}

impl Column {
    /// Subtracts the multiple of another column that makes the value at its pivot 0.
    fn cancel(&mut self, other: &Column) {
        let at = self.values[other.pivot];
        if at == 0 {
            return;
        }
        let factor = PRIME - times(at, inverse(other.values[other.pivot]));
        for (mine, theirs) in self.values.iter_mut().zip(&other.values) {
            *mine = (*mine + times(factor, *theirs)) % PRIME;
        }
        for (monomial, coefficient) in &other.combination {
            let more = times(factor, *coefficient);
            match self.combination.iter_mut().find(|(known, _)| known == monomial) {
                Some((_, mine)) => *mine = (*mine + more) % PRIME,
                None => self.combination.push((monomial.clone(), more)),
            }
        }
    }
}

/// In ascending order.
fn monomials(symbols: u32, degree: u32) -> Vec<Monomial> {
    let mut all = vec![Monomial::default()];
    let mut last = all.clone();
    for _ in 0..degree {
        let mut next: Vec<Monomial> = last
            .iter()
            .flat_map(|monomial| (0..symbols).map(|symbol| monomial.times(&Monomial::of(Symbol(symbol)))))
            .collect();
        next.sort();
        next.dedup();
        if all.len() + next.len() > MOST_MONOMIALS {
            break;
        }
        all.extend(next.iter().cloned());
        last = next;
    }
    all
}

fn residue(value: &BigInt) -> u128 {
    let prime = BigInt::from(PRIME);
    u128::try_from(((value % &prime) + &prime) % &prime).unwrap_or(0)
}

fn times(a: u128, b: u128) -> u128 {
    a * b % PRIME
}

/// By Fermat's little theorem.
fn inverse(value: u128) -> u128 {
    let (mut result, mut base, mut left) = (1, value, PRIME - 2);
    while left > 0 {
        if left & 1 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        left >>= 1;
    }
    result
}

fn value(monomial: &Monomial, point: &[u128]) -> u128 {
    monomial.powers().iter().fold(1, |product, (symbol, exponent)| {
        (0..*exponent).fold(product, |product, _| times(product, point[symbol.0 as usize]))
    })
}

fn is_zero_at(polynomial: &Polynomial, point: &[BigInt]) -> bool {
    let at = |symbol: Symbol| point.get(symbol.0 as usize).map(|value| Polynomial::constant(value.clone()));
    polynomial.substituted(&at).is_zero()
}

/// With integer coefficients; `None`: they are not small.
fn integral(combination: &[(Monomial, u128)]) -> Option<Polynomial> {
    let terms: Vec<(&Monomial, (i128, i128))> = combination
        .iter()
        .filter(|(_, coefficient)| *coefficient != 0)
        .map(|(monomial, coefficient)| Some((monomial, fraction(*coefficient)?)))
        .collect::<Option<_>>()?;
    if terms.len() > MOST_TERMS {
        return None;
    }
    let gcd = |a, b| super::polynomial::gcd(BigInt::from(a), b);
    let common = terms.iter().fold(BigInt::from(1), |lcm: BigInt, (_, (_, denominator))| {
        let shared = gcd(*denominator, lcm.clone());
        lcm * BigInt::from(*denominator) / shared
    });
    let sum = terms.iter().fold(Polynomial::default(), |sum, (monomial, (numerator, denominator))| {
        let coefficient = &common / BigInt::from(*denominator) * BigInt::from(*numerator);
        sum.plus(&Polynomial::term((*monomial).clone(), coefficient))
    });
    let content = sum.content();
    Some(if content > BigInt::from(1) { sum.map(|coefficient| coefficient / &content) } else { sum })
}

/// The fraction of small numbers that is this residue, by the extended Euclidean algorithm.
fn fraction(residue: u128) -> Option<(i128, i128)> {
    let (mut r, mut next_r) = (PRIME as i128, residue as i128);
    let (mut t, mut next_t) = (0i128, 1i128);
    while next_r > LARGEST {
        let quotient = r / next_r;
        (r, next_r) = (next_r, r - quotient * next_r);
        (t, next_t) = (next_t, t - quotient * next_t);
    }
    let (numerator, denominator) = if next_t < 0 { (-next_r, -next_t) } else { (next_r, next_t) };
    (denominator > 0 && denominator <= LARGEST).then_some((numerator, denominator))
}
