//! Abstract counterexamples tried out. A path that cannot be gone as it is may go wrong in calls that returned only: with another way
//! through them the violation may be real. What the rest of the path says of the inputs is handed to somebody who can run programs.

use std::{fmt, sync::Arc, sync::PoisonError};

use proofline_cfa::{EdgeId, Name};
use proofline_smt::{Limits, Outcome, Solver, Sort, Term, Value, build as t};

use super::{PredicateAnalysis, trace::Trace};
use proofline_encoding::Key;

/// Values for a program's inputs.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Guess {
    /// Values of the entry function's parameters and of memory at the beginning.
    pub parameters: Vec<(Key, i128)>,
    /// Values of inputs by where they are asked for, in order of the path. Calls that returned may ask for more.
    pub inputs: Vec<((Name, EdgeId), i128)>,
}

/// Runs the program with a guess: true if that is a violation somebody asks about (the caller keeps it).
#[derive(Clone)]
pub struct Trial(pub Arc<dyn Fn(&Guess) -> bool + Send + Sync>);

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trial")
    }
}

/// Guesses for one path at most.
const GUESSES: usize = 3;
/// Models asked for at most, to find guesses that were not made before.
const MODELS: usize = 12;
/// Inputs are looked for within these bounds first: runs with small values are short, and bugs show there as well.
const SMALL: [i64; 3] = [4, 16, 256];

impl PredicateAnalysis {
    /// Whether the program goes wrong with inputs that a path suggests.
    pub(super) fn is_violated_by_guess(&self, trace: &Trace) -> bool {
        let Some(trial) = &self.options.trial else { return false };
        self.guesses(trace).iter().any(|guess| (trial.0)(guess))
    }

    /// Guesses that were not made before.
    fn guesses(&self, trace: &Trace) -> Vec<Guess> {
        let mut known = self.guessed.lock().unwrap_or_else(PoisonError::into_inner);
        let limits = Limits { resource: Some(self.options.resource), ..self.session.limits() };
        let found = self.session.with(|z3| {
            let mut solver = z3.solver();
            solver.set_limits(limits);
            solver.assert(trace.trunk());
            let choices: Vec<Term> = trace.choices().into_iter().collect();
            let all: Vec<Term> = trace
                .all_inputs()
                .into_iter()
                .chain(trace.parameters.iter().map(|(_, term)| *term))
                .collect();
            let numbers = || all.iter().filter(|term| term.sort() == Sort::Int && term.as_int().is_none());
            let mut found = Vec::new();
            let mut bounds = SMALL.into_iter().map(Some).chain([None]).peekable();
            for _ in 0..MODELS {
                let Some(bound) = bounds.peek().copied() else { break };
                let within: Vec<Term> = bound
                    .into_iter()
                    .flat_map(|most| {
                        numbers().map(move |n| t::and([t::le(t::int(-most), *n), t::le(*n, t::int(most))]))
                    })
                    .collect();
                if solver.check_assuming(&within) != Outcome::Sat {
                    bounds.next();
                    continue;
                }
                let truth = solver.values(&choices);
                let is_true = |term: Term| {
                    let value = choices.iter().position(|c| *c == term).and_then(|i| truth[i].as_ref());
                    value.and_then(|value| value.as_bool()).unwrap_or(false)
                };
                let inputs = trace.trunk_inputs(&is_true);
                let mut values =
                    |terms: Vec<Term>| -> Vec<i128> { solver.values(&terms).iter().map(number).collect() };
                let of_inputs = values(inputs.iter().map(|(_, term)| *term).collect());
                let of_parameters = values(trace.parameters.iter().map(|(_, term)| *term).collect());
                let terms = inputs
                    .iter()
                    .map(|(_, term)| *term)
                    .chain(trace.parameters.iter().map(|(_, term)| *term));
                let same: Vec<Term> = terms
                    .zip(of_inputs.iter().chain(&of_parameters))
                    .filter(|(term, _)| term.sort() == Sort::Int)
                    .map(|(term, value)| t::eq(term, t::int(*value)))
                    .collect();
                let guess = Guess {
                    inputs: inputs.iter().map(|(at, _)| *at).zip(of_inputs).collect(),
                    parameters: trace.parameters.iter().map(|(key, _)| *key).zip(of_parameters).collect(),
                };
                solver.assert(t::not(t::and(same)));
                if known.insert(guess.clone()) {
                    found.push(guess);
                    if found.len() >= GUESSES {
                        break;
                    }
                }
            }
            found
        });
        found.unwrap_or_default()
    }
}

fn number(value: &Option<Value>) -> i128 {
    let int = value.as_ref().and_then(|value| value.as_int());
    int.and_then(|int| i128::try_from(int).ok()).unwrap_or(0)
}
