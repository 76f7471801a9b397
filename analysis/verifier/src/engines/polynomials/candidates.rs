//! What is thought to hold at a cut point, until a path shows that it does not.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use proofline_cfa::IntType;

use super::{
    divisibility::Divides,
    facts::Facts,
    ideal::{Equation, Ring},
    polynomial::{Polynomial, Symbol},
    values::Number,
};

/// Candidates of a cut point, about its cells.
#[derive(Clone, Default)]
pub(super) struct Candidates {
    pub(super) equations: Vec<Equation>,
    /// Cells that are powers of a number.
    pub(super) powers: Vec<(Symbol, BigInt)>,
    /// Cells that divide others.
    pub(super) divides: Vec<Divides>,
    /// What does not hold.
    pub(super) refuted: BTreeSet<Equation>,
    /// What is at most 0, and what was thought to be.
    pub(super) at_most: Vec<Polynomial>,
    pub(super) refuted_at_most: BTreeSet<Polynomial>,
    /// Grows with each change.
    pub(super) version: u64,
}

impl Candidates {
    /// What they say where cells have these values.
    pub(super) fn at(&self, values: &[(Number, IntType)]) -> Candidates {
        let power = |(symbol, base): &(Symbol, BigInt)| {
            let (number, _) = values.get(symbol.0 as usize).filter(|(number, _)| number.exact)?;
            Some((number.polynomial.as_symbol()?, base.clone()))
        };
        Candidates {
            equations: self.equations.iter().filter_map(|one| equation_at(one, values)).collect(),
            powers: self.powers.iter().filter_map(power).collect(),
            divides: self.divides.iter().filter_map(|one| divides_at(one, values)).collect(),
            at_most: self.at_most.iter().filter_map(|one| polynomial_at(one, values)).collect(),
            ..Candidates::default()
        }
    }
}

impl Facts {
    /// Takes candidates for true.
    pub(super) fn suppose(&mut self, candidates: &Candidates) {
        self.equations.extend(candidates.equations.iter().cloned());
        // Before the path's own conditions, of which the last one is what was asserted.
        self.at_most.splice(0..0, candidates.at_most.iter().cloned());
        self.powers.extend(candidates.powers.iter().cloned());
        self.divides.extend(candidates.divides.iter().cloned());
    }
}

/// A candidate of a cut point, of the values that its cells have at the end of a path; `None`: it does not speak of what these are known
/// modulo.
pub(super) fn equation_at(equation: &Equation, values: &[(Number, IntType)]) -> Option<Equation> {
    for symbol in equation.polynomial.symbols() {
        let (number, ty) = values.get(symbol.0 as usize)?;
        if !number.exact && !Ring::Modulo(ty.bits).implies(equation.ring) {
            return None;
        }
    }
    let value = |symbol: Symbol| values.get(symbol.0 as usize).map(|(number, _)| number.polynomial.clone());
    let polynomial: Polynomial = equation.ring.polynomial(&equation.polynomial.substituted(&value));
    Some(Equation { polynomial, ring: equation.ring })
}

/// A polynomial of cells, of the values that these have at the end of a path; `None`: not all of them are known as integers.
pub(super) fn polynomial_at(candidate: &Polynomial, values: &[(Number, IntType)]) -> Option<Polynomial> {
    let is_known = |symbol: Symbol| values.get(symbol.0 as usize).is_some_and(|(number, _)| number.exact);
    if !candidate.symbols().all(is_known) {
        return None;
    }
    let value = |symbol: Symbol| values.get(symbol.0 as usize).map(|(number, _)| number.polynomial.clone());
    Some(candidate.substituted(&value))
}

/// The same of what divides.
pub(super) fn divides_at(one: &Divides, values: &[(Number, IntType)]) -> Option<Divides> {
    let at = |polynomial| polynomial_at(polynomial, values);
    Some(Divides { divisor: at(&one.divisor)?, dividend: at(&one.dividend)? })
}
