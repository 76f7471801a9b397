//! Inequalities of polynomials as candidates: what must not be positive on a path to an error is, with the path's assignments put into it, a candidate where
//! the path begins, and so on backwards; and what a path says of values that it hands on unchanged is one where it ends. Those that some path does not
//! keep are dropped. Whether a path keeps one is asked of `refutation.rs`.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use proofline_cfa::IntType;
use proofline_cpa::Unknown;

use super::{
    Search,
    candidates::polynomial_at,
    facts::floor,
    ideal::{Equation, Ring},
    paths::{Path, Target},
    polynomial::{Monomial, Polynomial, Symbol},
    values::Number,
};

/// Candidates of one cut point, at most; their terms and degree; rounds.
const MOST_CANDIDATES: usize = 12;
const MOST_TERMS: usize = 12;
const MOST_DEGREE: u32 = 4;
const MOST_ROUNDS: usize = 6;

/// Equations at the beginning of a path with which its end would have what is wanted there.
type Gap = (usize, Vec<Equation>);

impl Search<'_> {
    /// Adds candidates until nothing is missing, or too much. Whether there are new ones.
    pub(super) fn find_inequalities(&mut self) -> Result<bool, Unknown> {
        let mut is_new = false;
        for _ in 0..MOST_ROUNDS {
            let mut grew = false;
            let mut gaps = Vec::new();
            for (at, path) in self.paths.paths.iter().enumerate() {
                match &path.to {
                    Target::Error(..) | Target::Unmodelled => {
                        if !self.is_refuted(at)? {
                            grew |= self.want_one_of(at, &mut gaps)?;
                        }
                    }
                    // What does not hold at first never will.
                    Target::Cut(cut, values) if path.from.is_none() => {
                        self.drop_inequalities(at, *cut, values)?;
                        grew |= self.hand_on(at, *cut, values)?;
                    }
                    Target::Cut(cut, values) => {
                        grew |= self.hand_on(at, *cut, values)?;
                        for candidate in self.candidates[*cut].at_most.clone() {
                            if !self.keeps(at, &candidate, values)? {
                                grew |= match polynomial_at(&candidate, values) {
                                    Some(after) => self.want_at_most(at, &after, &mut gaps)?,
                                    None => false,
                                };
                            }
                        }
                    }
                }
            }
            // Behind all inequalities: these are not to be rewritten by equations that are only hoped for.
            for (at, wanted) in gaps {
                grew |= self.propose_equations(at, wanted);
            }
            if !grew {
                break;
            }
            is_new = true;
            // What the equations that would close gaps need.
            self.find()?;
            self.keep_equations()?;
        }
        Ok(is_new)
    }

    /// Drops inequalities that the path does not keep. Whether there were any.
    pub(super) fn drop_inequalities(
        &mut self,
        at: usize,
        cut: usize,
        values: &[(Number, IntType)],
    ) -> Result<bool, Unknown> {
        let mut dropped = false;
        for candidate in self.candidates[cut].at_most.clone() {
            if !self.keeps(at, &candidate, values)? {
                let candidates = &mut self.candidates[cut];
                candidates.at_most.retain(|other| *other != candidate);
                candidates.refuted_at_most.insert(candidate);
                candidates.version += 1;
                dropped = true;
            }
        }
        Ok(dropped)
    }

    /// Whether an inequality between cells holds where the path ends.
    fn keeps(
        &mut self,
        at: usize,
        candidate: &Polynomial,
        values: &[(Number, IntType)],
    ) -> Result<bool, Unknown> {
        let Some(after) = polynomial_at(candidate, values) else { return Ok(false) };
        Ok(self.may_refute(at)? && self.closed(at)?.is_at_most_zero(&after))
    }

    /// One of the things that are at most 0 on this path must not be, or what differs must be on one side.
    fn want_one_of(&mut self, at: usize, gaps: &mut Vec<Gap>) -> Result<bool, Unknown> {
        let facts = &self.paths.paths[at].facts;
        let one = Polynomial::constant(1);
        let mut wanted: Vec<Polynomial> = facts.at_most.iter().map(|fact| one.minus(fact)).collect();
        for different in facts.different.iter().filter(|different| different.ring == Ring::Integers) {
            wanted.extend([different.polynomial.clone(), different.polynomial.scaled(&BigInt::from(-1))]);
        }
        let mut grew = false;
        for wanted in wanted.iter().rev() {
            grew |= self.want_at_most(at, wanted, gaps)?;
        }
        Ok(grew)
    }

    /// Adds what must hold where the path begins so that something is at most 0 at its end. Whether that is new.
    fn want_at_most(&mut self, at: usize, after: &Polynomial, gaps: &mut Vec<Gap>) -> Result<bool, Unknown> {
        let Path { from: Some(cut), .. } = self.paths.paths[at] else { return Ok(false) };
        let count = self.paths.cuts[cut].cells.len() as u32;
        self.want_no_gap(at, after, gaps)?;
        let closed = self.closed(at)?;
        let mut wanted = closed.ideal(Ring::Integers).normal_form(after);
        // Of what is not known at the beginning, the worst.
        let unknown: Vec<Symbol> = wanted.symbols().filter(|symbol| symbol.0 >= count).collect();
        for symbol in unknown {
            let factor = wanted.coefficient(&Monomial::of(symbol));
            if wanted.symbols().filter(|other| *other == symbol).count() != 1 || factor == BigInt::ZERO {
                return Ok(false);
            }
            let (low, high) = &closed.facts.bounds[symbol.0 as usize];
            let worst = if factor > BigInt::ZERO { high } else { low };
            let worst = Polynomial::constant(worst.clone());
            wanted = wanted.substituted(&|other| (other == symbol).then(|| worst.clone()));
        }
        Ok(self.propose(cut, wanted))
    }

    /// What is wanted, and something that is at most 0 on the path, would be the same if their difference, which is not linear, were zero: `n < s` is
    /// known and `n < (a + 1) * (a + 1)` is wanted.
    fn want_no_gap(&mut self, at: usize, wanted: &Polynomial, gaps: &mut Vec<Gap>) -> Result<(), Unknown> {
        for fact in self.paths.paths[at].facts.at_most.clone() {
            let gap = wanted.minus(&fact);
            if gap.degree() > 1 && gap.len() < wanted.len() + fact.len() {
                let equation = Equation { polynomial: gap, ring: Ring::Integers };
                gaps.push((at, self.wanted(at, &equation)?));
            }
        }
        Ok(())
    }

    /// What is at most 0 on the path, and only speaks of what cells have at its end, may be so in every round.
    fn hand_on(&mut self, at: usize, cut: usize, values: &[(Number, IntType)]) -> Result<bool, Unknown> {
        let mut names: BTreeMap<Symbol, Symbol> = BTreeMap::new();
        for (cell, (number, _)) in (0..).map(Symbol).zip(values) {
            if let (true, Some((monomial, factor)), 1) =
                (number.exact, number.polynomial.leading(), number.polynomial.len())
                && let ([(symbol, 1)], true) = (monomial.powers(), *factor == BigInt::from(1))
            {
                names.entry(*symbol).or_insert(cell);
            }
        }
        let facts = &self.closed(at)?.facts;
        let mut known = facts.at_most.clone();
        for equation in facts.equations.iter().filter(|equation| equation.ring == Ring::Integers) {
            known.extend([equation.polynomial.clone(), equation.polynomial.scaled(&BigInt::from(-1))]);
        }
        let mut grew = false;
        for fact in &known {
            if fact.symbols().all(|symbol| names.contains_key(&symbol)) {
                let name = |symbol: Symbol| names.get(&symbol).map(|cell| Polynomial::symbol(*cell));
                grew |= self.propose(cut, fact.substituted(&name));
            }
        }
        Ok(grew)
    }

    /// A new candidate, if it is one.
    pub(super) fn propose(&mut self, cut: usize, wanted: Polynomial) -> bool {
        // Rounded: a multiple of what divides all but the constant.
        let constant = wanted.coefficient(&Monomial::default());
        let content = wanted.minus(&Polynomial::constant(constant)).content();
        let wanted = if content > BigInt::from(1) { wanted.map(|c| -floor(&-c, &content)) } else { wanted };
        let candidates = &mut self.candidates[cut];
        let fits = wanted.len() <= MOST_TERMS && wanted.degree() <= MOST_DEGREE && wanted.degree() > 0;
        let is_new = fits
            && candidates.at_most.len() < MOST_CANDIDATES
            && !candidates.at_most.contains(&wanted)
            && !candidates.refuted_at_most.contains(&wanted);
        if is_new {
            candidates.at_most.push(wanted);
            candidates.version += 1;
        }
        is_new
    }
}
