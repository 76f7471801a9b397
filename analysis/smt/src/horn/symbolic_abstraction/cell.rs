//! One cell: the polynomial equations (up to a degree), the congruences and the bounds of differences that all points seen so far
//! satisfy. Knows vectors of integers; must not know rules or solvers.

use num_bigint::BigInt;

use crate::build as t;
use crate::term::Term;

/// What a cell speaks of: products of columns (as lists of positions; the empty one is 1), and rows whose values are bounded from above.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Template {
    /// Monomials; the first is 1.
    pub(super) monomials: Vec<Vec<usize>>,
    /// Linear rows: pairs of position and sign.
    pub(super) rows: Vec<Vec<(usize, bool)>>,
    /// Bounds that rows may have, ascending.
    pub(super) thresholds: Vec<BigInt>,
    /// Columns of which one is in everything that is told; none: everything is told.
    told: Vec<usize>,
}

impl Template {
    /// For this many columns; `related` says of which two the differences are bounded (of one and itself: whether it is).
    pub(super) fn new(
        columns: usize,
        degree: u8,
        related: impl Fn(usize, usize) -> bool,
        thresholds: Vec<BigInt>,
    ) -> Template {
        let mut monomials: Vec<Vec<usize>> = vec![Vec::new()];
        monomials.extend((0..columns).map(|i| vec![i]));
        if degree >= 2 && columns <= 7 {
            monomials.extend((0..columns).flat_map(|i| (i..columns).map(move |j| vec![i, j])));
        }
        let bounded = (0..columns).filter(|i| related(*i, *i));
        let mut rows: Vec<Vec<(usize, bool)>> =
            bounded.flat_map(|i| [vec![(i, true)], vec![(i, false)]]).collect();
        for i in 0..columns {
            let others = (0..columns).filter(|j| *j != i && related(i, *j));
            rows.extend(others.map(|j| vec![(i, true), (j, false)]));
        }
        Template { monomials, rows, thresholds, told: Vec::new() }
    }

    /// Tells only what is said of one of these columns.
    pub(super) fn about(mut self, columns: Vec<usize>) -> Template {
        self.rows.retain(|row| row.iter().any(|(i, _)| columns.contains(i)));
        self.told = columns;
        self
    }

    fn tells(&self, columns: &[usize]) -> bool {
        self.told.is_empty() || columns.iter().any(|i| self.told.contains(i))
    }

    fn monomial(&self, k: usize, point: &[BigInt]) -> BigInt {
        self.monomials[k].iter().fold(BigInt::from(1), |product, i| product * &point[*i])
    }

    fn row(&self, k: usize, point: &[BigInt]) -> BigInt {
        let signed = |(i, plus): &(usize, bool)| if *plus { point[*i].clone() } else { -&point[*i] };
        self.rows[k].iter().map(signed).sum()
    }
}

/// Everything that is known about the points of one case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    /// Coefficients per monomial; each sums to 0.
    equations: Vec<Vec<BigInt>>,
    /// Per column the greatest `m` with its remainder such that all points agree modulo `m`; 0: all are the same.
    strides: Vec<(BigInt, BigInt)>,
    /// Bound per row, by position in the thresholds; `None`: unbounded.
    bounds: Vec<Option<usize>>,
}

impl Cell {
    /// One point.
    pub(super) fn point(template: &Template, point: &[BigInt]) -> Cell {
        let count = template.monomials.len();
        let equations = (1..count)
            .map(|k| {
                let mut equation = vec![BigInt::ZERO; count];
                equation[k] = BigInt::from(1);
                equation[0] = -template.monomial(k, point);
                equation
            })
            .collect();
        let bounds = (0..template.rows.len()).map(|k| lift(template, &template.row(k, point))).collect();
        let strides = point.iter().map(|value| (BigInt::ZERO, value.clone())).collect();
        Cell { equations, strides, bounds }
    }

    /// Nothing known.
    pub(super) fn top(template: &Template) -> Cell {
        Cell { equations: Vec::new(), strides: Vec::new(), bounds: vec![None; template.rows.len()] }
    }

    /// Covers one more point. Whether that changed anything.
    pub(super) fn join(&mut self, template: &Template, point: &[BigInt]) -> bool {
        let values: Vec<BigInt> =
            (0..template.monomials.len()).map(|k| template.monomial(k, point)).collect();
        let residual =
            |equation: &Vec<BigInt>| -> BigInt { equation.iter().zip(&values).map(|(c, v)| c * v).sum() };
        let residuals: Vec<BigInt> = self.equations.iter().map(residual).collect();
        let mut changed = false;
        // One violated equation is given up; the others are corrected with it (Karr). The largest goes first: simple ones last longer.
        let weight = |equation: &Vec<BigInt>| -> (usize, u64) {
            (equation.iter().filter(|c| **c != BigInt::ZERO).count(), equation.iter().map(BigInt::bits).sum())
        };
        let violated = (0..residuals.len()).filter(|k| residuals[*k] != BigInt::ZERO);
        if let Some(pivot) = violated.min_by_key(|k| weight(&self.equations[*k])) {
            changed = true;
            let base = self.equations[pivot].clone();
            for k in 0..self.equations.len() {
                if k != pivot && residuals[k] != BigInt::ZERO {
                    let combined: Vec<BigInt> = self.equations[k]
                        .iter()
                        .zip(&base)
                        .map(|(c, b)| c * &residuals[pivot] - b * &residuals[k])
                        .collect();
                    self.equations[k] = primitive(combined);
                }
            }
            self.equations.remove(pivot);
        }
        for ((modulus, remainder), value) in self.strides.iter_mut().zip(point) {
            let common = gcd(modulus.clone(), value - &*remainder);
            if common != *modulus {
                changed |= is_small(modulus);
                *remainder = remainder_of(remainder, &common);
                *modulus = common;
            }
        }
        for k in 0..template.rows.len() {
            let Some(bound) = self.bounds[k] else { continue };
            let value = template.row(k, point);
            if value > template.thresholds[bound] {
                self.bounds[k] = lift(template, &value);
                changed = true;
            }
        }
        changed
    }

    /// As a formula over the columns.
    pub(super) fn formula(&self, template: &Template, columns: &[Term]) -> Term {
        let monomial =
            |k: usize| t::mul(template.monomials[k].iter().map(|i| columns[*i]).chain([t::int(1)]));
        let is_told = |equation: &&Vec<BigInt>| {
            let monomials = equation.iter().zip(&template.monomials);
            monomials.filter(|(c, _)| **c != BigInt::ZERO).any(|(_, monomial)| template.tells(monomial))
        };
        let equations = self.equations.iter().filter(is_told).map(|equation| {
            let sum = equation
                .iter()
                .enumerate()
                .filter(|(_, c)| **c != BigInt::ZERO)
                .map(|(k, c)| t::mul([t::int(c.clone()), monomial(k)]));
            t::eq(t::add(sum.chain([t::int(0)])), t::int(0))
        });
        let bounds = self.bounds.iter().enumerate().filter_map(|(k, bound)| {
            let signed = |(i, plus): &(usize, bool)| if *plus { columns[*i] } else { t::neg(columns[*i]) };
            let row = t::add(template.rows[k].iter().map(signed).chain([t::int(0)]));
            Some(t::le(row, t::int(template.thresholds[(*bound)?].clone())))
        });
        let strides = self.strides.iter().zip(columns).enumerate();
        let strides = strides
            .filter(|(i, ((modulus, _), _))| is_small(modulus) && template.tells(&[*i]))
            .map(|(_, ((modulus, remainder), column))| {
                t::eq(t::modulo(*column, t::int(modulus.clone())), t::int(remainder.clone()))
            });
        t::and(equations.chain(bounds).chain(strides))
    }
}

/// Larger strides are accidents of the first points.
fn is_small(modulus: &BigInt) -> bool {
    *modulus > BigInt::from(1) && *modulus <= BigInt::from(64)
}

/// The remainder that is not negative.
fn remainder_of(value: &BigInt, modulus: &BigInt) -> BigInt {
    if *modulus == BigInt::ZERO { value.clone() } else { ((value % modulus) + modulus) % modulus }
}

/// The smallest threshold that is at least the value.
fn lift(template: &Template, value: &BigInt) -> Option<usize> {
    let at = template.thresholds.partition_point(|t| t < value);
    (at < template.thresholds.len()).then_some(at)
}

/// Divided by what all coefficients have in common.
fn primitive(mut equation: Vec<BigInt>) -> Vec<BigInt> {
    let mut common = BigInt::ZERO;
    for c in &equation {
        common = gcd(common, c.clone());
    }
    if common > BigInt::from(1) {
        equation.iter_mut().for_each(|c| *c = &*c / &common);
    }
    equation
}

fn gcd(mut a: BigInt, mut b: BigInt) -> BigInt {
    while b != BigInt::ZERO {
        (a, b) = (b.clone(), a % b);
    }
    if a < BigInt::ZERO { -a } else { a }
}
