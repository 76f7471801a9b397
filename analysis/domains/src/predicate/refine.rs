//! Refinement, ALGORITHMS.md §8.2: a path is decided as one formula; if it cannot be gone, certified interpolants of its tree say which
//! predicates exclude it, and at which abstraction each belongs.

use std::collections::BTreeMap;

use proofline_cfa::{Loc, Name};
use proofline_cpa::{Budget, Path, Refine, Refinement, Unknown};
use proofline_smt::{
    Limits, Op, Outcome, Reason, Solver, Sort, Term, Value, build as t,
    interpolate::{Failure, Interpolants, Method, NodeId, Options, Strategy, interpolate_by},
    logic::atoms,
    rewrite::{rewrite, uninstantiate},
    term::free_vars,
};

use super::{
    CandidateInputs, PredicateAnalysis, PredicatePrecision,
    path_tree::{PathTree, Ways},
    scope::GHOST,
};
use proofline_encoding::Key;

use crate::path::resolve;

/// What is known of a path that may be real. The interpreter decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The path.
    pub path: Path,
    /// The inputs that may lead along it.
    pub inputs: WitnessInputs,
}

/// Inputs of a program that may violate what is asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WitnessInputs {
    /// Nothing is known.
    Unknown,
    /// Values that the solver found for the path. Formulas over-approximate, so they may lead elsewhere.
    Model(Model),
    /// Candidates that a trial has shown to violate what is asked about, maybe along another path.
    Candidate(CandidateInputs),
}

/// Values that satisfy a path's formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    /// Values of inputs, by the number of the step that asks for them, in order.
    pub inputs: Vec<(usize, i128)>,
    /// Values of the entry function's parameters and of memory at the beginning.
    pub parameters: Vec<(Key, i128)>,
}

impl From<Path> for Witness {
    fn from(path: Path) -> Witness {
        Witness { path, inputs: WitnessInputs::Unknown }
    }
}

/// What the solver says of a path.
enum Decided {
    Possible(Witness),
    Impossible,
}

/// The solver's units for one step of an interpolation.
const INTERPOLATION: u32 = 6_000_000;

impl PredicateAnalysis {
    fn decide(&self, tree: &PathTree, path: &Path) -> Result<Decided, Unknown> {
        if self.solver.is_over() {
            return Err(Unknown::OutOfBudget);
        }
        let limits =
            Limits { resource: Some(self.options.resource.saturating_mul(10)), ..self.solver.limits() };
        let decided = self.solver.with(|z3| {
            let mut solver = z3.solver();
            solver.set_limits(limits);
            solver.assert(tree.formula());
            match solver.check() {
                Outcome::Unsat => Ok(Decided::Impossible),
                Outcome::Unknown(reason) => Err(reason),
                Outcome::Sat => {
                    let choices: Vec<Term> = tree.choices().into_iter().collect();
                    let holds: BTreeMap<Term, bool> = choices
                        .iter()
                        .copied()
                        .zip(solver.values(&choices))
                        .filter_map(|(term, value)| Some((term, value?.as_bool()?)))
                        .collect();
                    let is_true = |term: Term| holds.get(&term).copied().unwrap_or(false);
                    let (path, inputs) = tree.path(path, &is_true);
                    let terms: Vec<Term> = inputs
                        .iter()
                        .map(|(_, term)| *term)
                        .chain(tree.parameters.iter().map(|(_, t)| *t))
                        .collect();
                    let values = solver.values(&terms);
                    let number = |value: &Option<Value>| -> i128 {
                        let int = value.as_ref().and_then(|value| value.as_int());
                        int.and_then(|int| i128::try_from(int).ok()).unwrap_or(0)
                    };
                    let (of_inputs, of_parameters) = values.split_at(inputs.len());
                    let model = Model {
                        inputs: inputs.iter().map(|(i, _)| *i).zip(of_inputs.iter().map(number)).collect(),
                        parameters: tree
                            .parameters
                            .iter()
                            .map(|(key, _)| *key)
                            .zip(of_parameters.iter().map(number))
                            .collect(),
                    };
                    Ok(Decided::Possible(Witness { path, inputs: WitnessInputs::Model(model) }))
                }
            }
        });
        self.answer(decided)
    }

    fn answer<T>(&self, result: Option<Result<T, Reason>>) -> Result<T, Unknown> {
        match result {
            Some(Ok(found)) => Ok(found),
            _ if self.options.cancel.is_cancelled() => Err(Unknown::Cancelled),
            _ if self.solver.is_over() => Err(Unknown::OutOfBudget),
            Some(Err(reason)) => Err(Unknown::NoProgress(format!("a path is not decided: {reason}"))),
            None => Err(Unknown::InternalError("there is no solver".into())),
        }
    }

    fn interpolants(&self, tree: &PathTree, attempt: (Strategy, Method)) -> Result<Interpolants, Failure> {
        let limits = Limits { resource: Some(INTERPOLATION), ..self.solver.limits() };
        let options = Options { limits, ..Options::default() };
        let found = self.solver.with(|z3| {
            interpolate_by(z3, &tree.tree(), &[(attempt.0, attempt.1, options)]).map(|found| found.0)
        });
        found.unwrap_or(Err(Failure::Unknown(Reason::Failed("there is no solver".into()))))
    }

    /// The atoms of interpolants, as predicates of the places where they were cut.
    fn predicates(&self, tree: &PathTree, interpolants: &Interpolants) -> Vec<Found> {
        let mut found = Vec::new();
        for (index, node) in tree.nodes.iter().enumerate() {
            let Some(place) = node.place else { continue };
            for atom in atoms(interpolants.at(NodeId(index as u32))) {
                self.note(place, uninstantiate(atom), &mut found);
            }
        }
        found
    }

    fn note(&self, place: (Name, Loc), predicate: Term, found: &mut Vec<Found>) {
        let (scope, vars) = (self.scope(place.0), free_vars(predicate));
        if vars.is_empty() || !vars.is_subset(&scope.vocabulary_at(place.1)) {
            return;
        }
        for part in if self.options.split { halves(predicate) } else { vec![predicate] } {
            found.push((place, part));
            let is_of_entry = vars.iter().all(|var| var.name.as_str().ends_with(GHOST));
            if self.options.contexts
                && is_of_entry
                && scope.is_exit(place.1)
                && let Some(function) = self.env.function(place.0)
            {
                found.push(((place.0, function.entry), part));
            }
        }
    }

    /// With the predicates of the first method that finds new ones; `None`: no method does.
    fn excluding(
        &self,
        traces: &[PathTree],
        given: &dyn Fn() -> Result<PathTree, Unknown>,
        precision: &PredicatePrecision,
        budget: &Budget,
    ) -> Result<Option<PredicatePrecision>, Unknown> {
        for attempt in &self.options.attempts {
            for tree in traces {
                budget.spend(1000)?;
                let Ok(interpolants) = self.interpolants(tree, *attempt) else { continue };
                let found = self.predicates(tree, &interpolants);
                let new = precision.with(found.iter().copied());
                if new == *precision {
                    continue;
                }
                // Predicates that a method finds again and again with other numbers exclude a path each, and never the next one:
                // what the nodes of a place have in common is preferred, as long as that is new.
                if found.iter().any(|one| self.is_one_of_many(*one, precision))
                    && let Some(better) = self.in_common(&given()?, precision)
                {
                    return Ok(Some(better));
                }
                return Ok(Some(new));
            }
        }
        Ok(None)
    }

    /// With what the nodes of each place on the path have in common, if that is more.
    fn in_common(&self, given: &PathTree, precision: &PredicatePrecision) -> Option<PredicatePrecision> {
        let mut found = Vec::new();
        for (place, predicate) in given.common_equalities() {
            self.note(place, predicate, &mut found);
        }
        let new = precision.with(found);
        (new != *precision).then_some(new)
    }

    /// Whether a predicate is one of a series at its place that differ in numbers only.
    fn is_one_of_many(&self, (place, predicate): Found, precision: &PredicatePrecision) -> bool {
        let like = shape(predicate);
        let known = precision.at(place.0, place.1);
        !known.contains(&predicate)
            && known.iter().filter(|old| shape(**old) == like).count()
                >= if self.options.split { 4 } else { 2 }
    }
}

/// A predicate and its place.
type Found = ((Name, Loc), Term);

/// An equation of a variable with a number, as two inequalities.
fn halves(predicate: Term) -> Vec<Term> {
    if let (Op::Eq, [a, b]) = (predicate.op(), predicate.args()) {
        let (number, other) = if a.as_int().is_some() { (*a, *b) } else { (*b, *a) };
        if number.as_int().is_some() && other.as_var().is_some() {
            return vec![t::le(other, number), t::lt(other, number)];
        }
    }
    vec![predicate]
}

/// A formula with its numbers taken out.
fn shape(predicate: Term) -> Term {
    rewrite(predicate, |term, _| term.as_int().map(|_| t::named("%number", Sort::Int)))
}

impl Refine for PredicateAnalysis {
    type Witness = Witness;

    fn refine(
        &self,
        path: &Path,
        precision: &PredicatePrecision,
        budget: &Budget,
    ) -> Result<Refinement<PredicatePrecision, Witness>, Unknown> {
        let steps = resolve(&self.env, path)?;
        budget.spend(1000)?;
        let whole = PathTree::build(self, path, &steps, Ways::All)?;
        let given = || PathTree::build(self, path, &steps, Ways::Given);
        if let Some(lean) = self.sliced(&whole, precision) {
            if let Some(candidate) = self.violating_candidate(&whole) {
                return Ok(Refinement::Feasible(shown(path, candidate)));
            }
            if let Some(better) = self.excluding(&[lean], &given, precision, budget)? {
                return Ok(Refinement::Spurious(better));
            }
        }
        let mut traces = Vec::new();
        let mut undecided = None;
        for tree in [whole, given()?] {
            match self.decide(&tree, path) {
                Ok(Decided::Possible(witness)) => return Ok(Refinement::Feasible(witness)),
                Ok(Decided::Impossible) => traces.push(tree),
                Err(ended @ (Unknown::Cancelled | Unknown::OutOfBudget)) => return Err(ended),
                Err(other) => undecided = Some(other),
            }
        }
        if let Some(tree) = traces.first()
            && let Some(candidate) = self.violating_candidate(tree)
        {
            return Ok(Refinement::Feasible(shown(path, candidate)));
        }
        if let Some(better) = self.excluding(&traces, &given, precision, budget)? {
            return Ok(Refinement::Spurious(better));
        }
        if self.solver.is_over() {
            return Err(Unknown::OutOfBudget);
        }
        match undecided {
            Some(why) if traces.is_empty() => Err(why),
            _ => Ok(Refinement::Spurious(precision.clone())),
        }
    }
}

fn shown(path: &Path, candidate: CandidateInputs) -> Witness {
    Witness { path: path.clone(), inputs: WitnessInputs::Candidate(candidate) }
}
