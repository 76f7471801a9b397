//! Polynomial equations as loop invariants, in the integers and modulo 2^n, without a solver. Candidates come from what is asserted, backwards
//! along the paths between loop heads [MS04]: what must be zero after a path is, with the path's assignments put into it, what must be
//! zero before it. Of functions that call themselves runs suggest them (`samples.rs`). Those that some path does not keep are dropped until all of the others are
//! inductive; then obligations are looked at.
//!
//! `Holds` rests on the last round: every equation is in the ideal of what holds before each path to its cut point (`ideal.rs`), and
//! on every path to an error location the facts contradict each other (`facts.rs`). Another solver can be asked about both (`questions.rs`). Never finds violations.

mod candidates;
mod divisibility;
mod exponentials;
mod facts;
mod ideal;
mod inequalities;
mod paths;
mod polynomial;
mod procedures;
mod questions;
mod refutation;
mod samples;
#[cfg(test)]
mod tests;
mod values;
mod vanishing;

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use proofline_cfa::{IntType, Name, ObligationId};
use proofline_cpa::{Budget, Unknown};

use self::{
    candidates::{Candidates, divides_at, equation_at},
    facts::{Closed, Facts},
    ideal::{Equation, Ring},
    paths::{Path, Paths, Place, Point, Target, Wrapped, explore},
    polynomial::Symbol,
    values::Number,
};
use super::{
    Answer, Decision, Engine, Question,
    abstraction::{Invariants, interval_invariants},
    assumptions::assuming,
};

/// The engine.
#[derive(Clone, Copy, Debug)]
pub struct Polynomials;

/// Candidates of one cut point, at most; and what is too large for one.
const MOST_CANDIDATES: usize = 14;
const MOST_TERMS: usize = 50;
const MOST_DEGREE: u32 = 8;
/// Rounds of looking for candidates.
const MOST_ROUNDS: usize = 24;
/// Times that inequalities are looked for.
const MOST_HOPES: usize = 4;
/// Values that may have wrapped and are followed at a cut point; their terms; and how often more of them are added.
const MOST_WRAPPED: usize = 3;
const MOST_TERMS_WRAPPED: usize = 6;
const MOST_WRAPPINGS: usize = 3;
/// Steps for ranges of locals. Where that is not enough, calls are entered again and again.
const STEPS_OF_RANGES: u64 = 20_000;
/// Steps of the budget for one question about an ideal.
const STEPS_OF_QUESTION: u64 = 100;
/// Sums of inequalities are looked for so many times, and not in programs with more paths than this.
const MOST_REFUTATIONS: u32 = 1_000;
const MOST_PATHS: usize = 300;

impl Engine for Polynomials {
    fn name(&self) -> &'static str {
        "polynomials"
    }

    fn decides_each(&self) -> bool {
        true
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        let mut proved = BTreeSet::new();
        let answer = prove(question, &mut proved).unwrap_or_else(Answer::Unknown);
        Decision { proved, ..Decision::new(answer) }
    }
}

fn prove(question: &Question<'_>, proved: &mut BTreeSet<(Name, ObligationId)>) -> Result<Answer, Unknown> {
    // What is not known is not assumed.
    let known = ranges(question).unwrap_or_default();
    let mut wrapped = BTreeMap::new();
    for _ in 0..MOST_WRAPPINGS {
        let paths = explore(question, &known, &wrapped)?;
        let answer = prove_on(&paths, question, proved);
        if !matches!(answer, Err(Unknown::Unconfirmed(_))) || !note_wrapped(&paths, &mut wrapped) {
            return answer;
        }
    }
    Err(nothing_found())
}

/// Adds what is compared on paths from heads of loops and may have wrapped: `a * a` of unsigned numbers. Whether there is more than before.
fn note_wrapped(paths: &Paths, wrapped: &mut BTreeMap<Place, Vec<Wrapped>>) -> bool {
    let mut is_more = false;
    for path in &paths.paths {
        let Some(cut) = path.from.map(|cut| &paths.cuts[cut]) else { continue };
        let Point::Head(place) = &cut.point else { continue };
        let is_plain = |symbol: Symbol| (symbol.0 as usize) < cut.plain_cells();
        for (polynomial, ty, _) in &path.names {
            let known = wrapped.entry(place.clone()).or_default();
            let is_wanted = polynomial.degree() > 1
                && polynomial.len() <= MOST_TERMS_WRAPPED
                && polynomial.symbols().all(is_plain);
            if is_wanted
                && known.len() < MOST_WRAPPED
                && !known.iter().any(|one| *one == (polynomial.clone(), *ty))
            {
                known.push((polynomial.clone(), *ty));
                is_more = true;
            }
        }
    }
    is_more
}

fn nothing_found() -> Unknown {
    Unknown::Unconfirmed("no polynomial equations were found that exclude the error".into())
}

fn prove_on(
    paths: &Paths,
    question: &Question<'_>,
    proved: &mut BTreeSet<(Name, ObligationId)>,
) -> Result<Answer, Unknown> {
    let mut search = Search::new(paths, question.budget);
    search.guess_from_runs(question)?;
    // Powers that do not last give no wrong hope.
    search.keep_inductive()?;
    search.find()?;
    search.keep_inductive()?;
    let mut open = search.open()?;
    let are_proved = |open: &BTreeSet<(Name, ObligationId)>| -> Vec<(Name, ObligationId)> {
        question.targets.iter().filter(|target| !open.contains(target)).collect()
    };
    if !open.is_empty() && search.refutations > 0 {
        // Stays, if the budget does not suffice for what comes now.
        if !search.reaches_unmodelled()? {
            proved.extend(are_proved(&open));
        }
        // What another hope that was given up had made look needless is looked for once more.
        for _ in 0..MOST_HOPES {
            let grew = search.find_inequalities()?;
            search.keep_inductive()?;
            open = search.open()?;
            if open.is_empty() || !grew {
                break;
            }
        }
    }
    if search.reaches_unmodelled()? {
        return Err(Unknown::Unsupported("a construct that may be reached".into()));
    }
    if open.is_empty() {
        search.show_questions();
        return Ok(Answer::Holds("polynomial equations were found that are invariants".into()));
    }
    proved.extend(are_proved(&open));
    Err(nothing_found())
}

/// Ranges of locals at loop heads. Rewriting skips other locations, but no loop head.
fn ranges(question: &Question<'_>) -> Result<Invariants, Unknown> {
    let budget = question.own_budget(STEPS_OF_RANGES);
    let question = &Question { budget: &budget, ..*question };
    match assuming(question.subject) {
        Some(subject) => interval_invariants(&Question { subject: &subject, ..*question }),
        None => interval_invariants(question),
    }
}

struct Search<'p> {
    paths: &'p Paths,
    budget: &'p Budget,
    candidates: Vec<Candidates>,
    /// What follows on each path, with the version of the candidates that it rests on.
    closed: BTreeMap<usize, (u64, Closed)>,
    /// Questions about sums of inequalities that may still be asked.
    refutations: u32,
}

impl<'p> Search<'p> {
    fn new(paths: &'p Paths, budget: &'p Budget) -> Search<'p> {
        let candidates = vec![Candidates::default(); paths.cuts.len()];
        let refutations = if paths.paths.len() <= MOST_PATHS { MOST_REFUTATIONS } else { 0 };
        let mut search = Search { paths, budget, candidates, closed: BTreeMap::new(), refutations };
        search.guess_powers();
        search
    }

    /// What follows on a path from its facts and the candidates where it begins.
    fn closed(&mut self, at: usize) -> Result<&mut Closed, Unknown> {
        self.budget.spend(STEPS_OF_QUESTION)?;
        let path = &self.paths.paths[at];
        let version = path.rests_on().map(|cut| self.candidates[cut].version).sum();
        if self.closed.get(&at).is_none_or(|(known, _)| *known != version) {
            self.closed.insert(at, (version, self.facts(at).closed()));
        }
        match self.closed.get_mut(&at) {
            Some((_, closed)) => Ok(closed),
            None => Err(Unknown::InternalError("a path without facts".into())),
        }
    }

    /// The path's own facts, and the candidates where it begins and of what is called.
    fn facts(&self, at: usize) -> Facts {
        let path = &self.paths.paths[at];
        let mut facts = path.facts.clone();
        for used in &path.uses {
            facts.suppose(&self.candidates[used.exit].at(&used.values));
        }
        if let Some(cut) = path.from {
            facts.suppose(&self.candidates[cut]);
        }
        facts
    }

    fn is_impossible(&mut self, at: usize) -> Result<bool, Unknown> {
        Ok(self.closed(at)?.is_impossible())
    }

    /// Whether a path is impossible, and inequalities say so.
    fn is_refuted(&mut self, at: usize) -> Result<bool, Unknown> {
        Ok(self.is_impossible(at)? || self.may_refute(at)? && self.closed(at)?.is_refuted())
    }

    /// Whether another question about sums of inequalities may be asked of a path.
    fn may_refute(&mut self, at: usize) -> Result<bool, Unknown> {
        let path = &self.paths.paths[at];
        let known = path.from.map_or(0, |cut| self.candidates[cut].at_most.len());
        let facts = (path.facts.at_most.len() + known) as u64;
        self.budget.spend(STEPS_OF_QUESTION + facts * facts)?;
        self.refutations = self.refutations.saturating_sub(1);
        Ok(self.refutations > 0)
    }

    /// What is not proved.
    fn open(&mut self) -> Result<BTreeSet<(Name, ObligationId)>, Unknown> {
        let mut open = BTreeSet::new();
        for (at, path) in self.paths.paths.iter().enumerate() {
            if let Target::Error(function, id) = path.to
                && !self.is_refuted(at)?
            {
                open.insert((function, id));
            }
        }
        Ok(open)
    }

    fn reaches_unmodelled(&mut self) -> Result<bool, Unknown> {
        for (at, path) in self.paths.paths.iter().enumerate() {
            if matches!(path.to, Target::Unmodelled) && !self.is_refuted(at)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds candidates until nothing is missing, or too much.
    fn find(&mut self) -> Result<(), Unknown> {
        for _ in 0..MOST_ROUNDS {
            let mut grew = false;
            for (at, path) in self.paths.paths.iter().enumerate() {
                match &path.to {
                    Target::Error(..) | Target::Unmodelled => {
                        if !self.is_impossible(at)? {
                            // One of the things that differ here must not.
                            for equation in path.facts.different.clone() {
                                grew |= self.want(at, &equation)?;
                            }
                        }
                    }
                    Target::Cut(cut, values) => {
                        for equation in self.candidates[*cut].equations.clone() {
                            grew |= self.keep(at, *cut, values, &equation)?;
                        }
                    }
                }
            }
            if !grew {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether a candidate of the cut where the path ends has led to new ones where it begins, or was refuted.
    fn keep(
        &mut self,
        at: usize,
        cut: usize,
        values: &[(Number, IntType)],
        equation: &Equation,
    ) -> Result<bool, Unknown> {
        let after = equation_at(equation, values);
        let closed = self.closed(at)?;
        if after.as_ref().is_some_and(|after| closed.entails(after)) || closed.is_impossible() {
            return Ok(false);
        }
        match (after, self.paths.paths[at].from) {
            (Some(after), Some(_)) => self.want(at, &after),
            (None, _) | (_, None) => {
                self.refute(cut, equation);
                Ok(true)
            }
        }
    }

    fn refute(&mut self, cut: usize, equation: &Equation) {
        let candidates = &mut self.candidates[cut];
        candidates.equations.retain(|other| other != equation);
        candidates.refuted.insert(equation.clone());
        candidates.version += 1;
    }

    /// Adds what must hold where the path begins so that something is zero at its end. Whether that is new.
    fn want(&mut self, at: usize, equation: &Equation) -> Result<bool, Unknown> {
        let wanted = self.wanted(at, equation)?;
        Ok(self.propose_equations(at, wanted))
    }

    /// What must hold where the path begins so that something is zero at its end.
    fn wanted(&mut self, at: usize, equation: &Equation) -> Result<Vec<Equation>, Unknown> {
        let Path { from: Some(cut), .. } = self.paths.paths[at] else { return Ok(Vec::new()) };
        let count = self.paths.cuts[cut].cells.len() as u32;
        let normal = self.closed(at)?.ideal(equation.ring).normal_form(&equation.polynomial);
        let mut wanted = Vec::new();
        for part in normal.split(&|symbol| symbol.0 < count) {
            let part = match equation.ring {
                Ring::Integers if part.content() > BigInt::from(1) => part.map(|c| c / part.content()),
                Ring::Integers | Ring::Modulo(_) | Ring::Quotient => part,
            };
            if part.len() <= MOST_TERMS && part.degree() <= MOST_DEGREE && part.degree() > 0 {
                wanted.push(Equation { polynomial: part, ring: equation.ring });
            }
        }
        Ok(wanted)
    }

    /// Adds candidates where the path begins. Whether one is new.
    fn propose_equations(&mut self, at: usize, wanted: Vec<Equation>) -> bool {
        let Path { from: Some(cut), .. } = self.paths.paths[at] else { return false };
        let candidates = &mut self.candidates[cut];
        let before = candidates.version;
        for wanted in wanted {
            if candidates.equations.len() < MOST_CANDIDATES
                && !candidates.equations.contains(&wanted)
                && !candidates.refuted.contains(&wanted)
            {
                candidates.equations.push(wanted);
                candidates.version += 1;
            }
        }
        candidates.version != before
    }

    /// Drops candidates until every path keeps the others.
    fn keep_inductive(&mut self) -> Result<(), Unknown> {
        loop {
            let mut stable = true;
            for (at, path) in self.paths.paths.iter().enumerate() {
                let Target::Cut(cut, values) = &path.to else { continue };
                stable &= !self.drop_equations(at, *cut, values)?;
                stable &= !self.drop_inequalities(at, *cut, values)?;
                stable &= !self.drop_powers(at, *cut, values)?;
                stable &= !self.drop_divides(at, *cut, values)?;
            }
            if stable {
                return Ok(());
            }
        }
    }

    /// Drops equations until every path keeps the others, if the inequalities hold.
    fn keep_equations(&mut self) -> Result<(), Unknown> {
        loop {
            let mut stable = true;
            for (at, path) in self.paths.paths.iter().enumerate() {
                let Target::Cut(cut, values) = &path.to else { continue };
                stable &= !self.drop_equations(at, *cut, values)?;
            }
            if stable {
                return Ok(());
            }
        }
    }

    /// Drops equations that the path does not keep. Whether there were any.
    fn drop_equations(
        &mut self,
        at: usize,
        cut: usize,
        values: &[(Number, IntType)],
    ) -> Result<bool, Unknown> {
        let mut dropped = false;
        for equation in self.candidates[cut].equations.clone() {
            let after = equation_at(&equation, values);
            let closed = self.closed(at)?;
            if !(after.is_some_and(|after| closed.entails(&after)) || closed.is_impossible()) {
                self.refute(cut, &equation);
                dropped = true;
            }
        }
        Ok(dropped)
    }

    /// Every cell may be a power of 2, until a path shows that it is not.
    fn guess_powers(&mut self) {
        for (cut, candidates) in self.paths.cuts.iter().zip(&mut self.candidates) {
            let cells = (0..).map(Symbol).take(cut.cells.len());
            candidates.powers.extend(cells.map(|symbol| (symbol, BigInt::from(2))));
        }
    }

    /// Drops powers that the path does not keep. Whether there were any.
    fn drop_powers(&mut self, at: usize, cut: usize, values: &[(Number, IntType)]) -> Result<bool, Unknown> {
        let mut kept = Vec::new();
        let guessed = self.candidates[cut].powers.clone();
        for (symbol, base) in &guessed {
            let closed = self.closed(at)?;
            let value = values.get(symbol.0 as usize).filter(|(number, _)| number.exact);
            if value.is_some_and(|(number, _)| closed.is_power(&number.polynomial, base))
                || closed.is_impossible()
            {
                kept.push((*symbol, base.clone()));
            }
        }
        let dropped = kept.len() != guessed.len();
        if dropped {
            self.candidates[cut].powers = kept;
            self.candidates[cut].version += 1;
        }
        Ok(dropped)
    }

    /// Drops what divides where the path does not keep it. Whether there was any.
    fn drop_divides(&mut self, at: usize, cut: usize, values: &[(Number, IntType)]) -> Result<bool, Unknown> {
        let mut kept = Vec::new();
        let guessed = self.candidates[cut].divides.clone();
        for one in &guessed {
            let after = divides_at(one, values);
            let closed = self.closed(at)?;
            if after.is_some_and(|after| closed.divides(&after)) || closed.is_impossible() {
                kept.push(one.clone());
            }
        }
        let dropped = kept.len() != guessed.len();
        if dropped {
            self.candidates[cut].divides = kept;
            self.candidates[cut].version += 1;
        }
        Ok(dropped)
    }
}
