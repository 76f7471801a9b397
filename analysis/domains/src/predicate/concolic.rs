//! Concolic input candidates. A path may be infeasible only because of the ways through calls that returned; with other ways through them the
//! violation may be real. So the rest of the path is solved for the program's inputs, and the caller runs the program with them. Must not
//! know how programs are run: [`Trial`] does.

use std::{fmt, sync::Arc};

use proofline_cfa::{EdgeId, Name};
use proofline_smt::{Limits, Outcome, Solver, Sort, Term, Value, build as t};

use super::{PredicateAnalysis, path_tree::PathTree};
use proofline_encoding::Key;

/// Values for a program's inputs, taken from a model of a part of an abstract path. A candidate: only a run shows what they do.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct CandidateInputs {
    /// Values of the entry function's parameters and of memory at the beginning.
    pub parameters: Vec<(Key, i128)>,
    /// Values of inputs by where they are asked for, in order of the path. Calls that returned may ask for more.
    pub inputs: Vec<((Name, EdgeId), i128)>,
}

/// Runs the program with candidate inputs: whether that is a violation of what is asked about.
#[derive(Clone)]
pub struct Trial(pub Arc<dyn Fn(&CandidateInputs) -> bool + Send + Sync>);

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trial")
    }
}

/// Candidates for one path at most.
const CANDIDATES: usize = 3;
/// Models asked for at most, to find candidates that were not tried before.
const MODELS: usize = 12;
/// Inputs are looked for within these bounds first: runs with small values are short, and bugs show there as well.
const SMALL: [i64; 3] = [4, 16, 256];

impl PredicateAnalysis {
    /// Inputs that a path suggests and with which the program goes wrong.
    pub(super) fn violating_candidate(&self, tree: &PathTree) -> Option<CandidateInputs> {
        let trial = self.options.trial.as_ref()?;
        self.candidates(tree).into_iter().find(|candidate| (trial.0)(candidate))
    }

    /// Candidates that were not tried before.
    fn candidates(&self, tree: &PathTree) -> Vec<CandidateInputs> {
        let mut known = self.tried.lock();
        let limits = Limits { resource: Some(self.options.resource), ..self.solver.limits() };
        let found = self.solver.with(|z3| {
            let mut solver = z3.solver();
            solver.set_limits(limits);
            solver.assert(tree.trunk());
            let choices: Vec<Term> = tree.choices().into_iter().collect();
            let all: Vec<Term> =
                tree.all_inputs().into_iter().chain(tree.parameters.iter().map(|(_, term)| *term)).collect();
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
                let inputs = tree.trunk_inputs(&is_true);
                let mut values =
                    |terms: Vec<Term>| -> Vec<i128> { solver.values(&terms).iter().map(number).collect() };
                let of_inputs = values(inputs.iter().map(|(_, term)| *term).collect());
                let of_parameters = values(tree.parameters.iter().map(|(_, term)| *term).collect());
                let terms =
                    inputs.iter().map(|(_, term)| *term).chain(tree.parameters.iter().map(|(_, term)| *term));
                let same: Vec<Term> = terms
                    .zip(of_inputs.iter().chain(&of_parameters))
                    .filter(|(term, _)| term.sort() == Sort::Int)
                    .map(|(term, value)| t::eq(term, t::int(*value)))
                    .collect();
                let candidate = CandidateInputs {
                    inputs: inputs.iter().map(|(at, _)| *at).zip(of_inputs).collect(),
                    parameters: tree.parameters.iter().map(|(key, _)| *key).zip(of_parameters).collect(),
                };
                solver.assert(t::not(t::and(same)));
                if known.insert(candidate.clone()) {
                    found.push(candidate);
                    if found.len() >= CANDIDATES {
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
