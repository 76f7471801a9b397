//! Paths of the predicate analysis as counterexamples: the program is run with the inputs that the solver found, or that an abstract path
//! suggests. Nothing else makes a violation.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use proofline_cfa::{EdgeId, Entry, Name, Scalar, Site};
use proofline_cpa::PathStep;
use proofline_domains::predicate::{CandidateInputs, Model, Trial, Witness, WitnessInputs};

use super::{Question, Targets};
use crate::{
    counterexample::Counterexample,
    interpret::{self, Choice, Machine, Oracle, Passing},
    subject::Subject,
};

/// Whether inputs that an abstract path suggests violate a target.
pub(super) fn trial(question: &Question<'_>) -> Trial {
    let runner = Runner::new(question);
    Trial(Arc::new(move |candidate| runner.run(candidate).is_some()))
}

/// Runs a program with candidate inputs.
struct Runner {
    subject: Subject,
    entry: Entry,
    targets: Targets,
}

impl Runner {
    fn new(question: &Question<'_>) -> Runner {
        let Question { subject, entry, targets, .. } = *question;
        Runner { subject: subject.clone(), entry, targets: targets.clone() }
    }

    fn run(&self, candidate: &CandidateInputs) -> Option<Counterexample> {
        let limits = interpret::Limits { steps: RUN_STEPS, ..interpret::Limits::default() };
        let run = |limits| Machine::new(self.subject.code(), self.guesser(candidate), limits).run(self.entry);
        also_with_full_reads(limits, &run, &|run| Counterexample::of(run, self.entry, &self.targets))
    }

    fn guesser(&self, candidate: &CandidateInputs) -> Guesser {
        let mut answers: BTreeMap<(Name, Site), VecDeque<i128>> = BTreeMap::new();
        for ((function, edge), value) in &candidate.inputs {
            let site = self.subject.env().function(*function).map(|f| f.edge(*edge).site);
            if let Some(site) = site {
                answers.entry((*function, site)).or_default().push_back(*value);
            }
        }
        let parameters = candidate.parameters.iter().map(|(_, value)| *value).collect();
        Guesser { parameters, answers }
    }
}

/// Judges a run; if it shows nothing, another one in which code outside reads as much as it may: what is read is not in formulas, and
/// numbers in short texts are small.
pub(super) fn also_with_full_reads(
    limits: interpret::Limits,
    run: &dyn Fn(interpret::Limits) -> interpret::Run,
    judge: &dyn Fn(&interpret::Run) -> Option<Counterexample>,
) -> Option<Counterexample> {
    let first = run(limits);
    let again = || first.has_counts().then(|| run(interpret::Limits { reads_full: true, ..limits }));
    judge(&first).or_else(|| judge(&again()?))
}

/// Steps of a run with guessed inputs.
const RUN_STEPS: u64 = 100_000;

/// Answers questions with guesses, by where they are asked; others with those for the parameters in order, then with zeros.
struct Guesser {
    parameters: VecDeque<i128>,
    answers: BTreeMap<(Name, Site), VecDeque<i128>>,
}

impl Oracle for Guesser {
    fn choose(&mut self, choice: &Choice) -> i128 {
        let known = match self.answers.get_mut(&(choice.function, choice.site)) {
            Some(answers) => answers.pop_front(),
            None => self.parameters.pop_front(),
        };
        in_format(choice, known.unwrap_or(0))
    }
}

/// Stand-in addresses and opaque floats mean nothing to a machine.
fn in_format(choice: &Choice, value: i128) -> i128 {
    match choice.scalar {
        Scalar::Int(ty) => ty.wrap(value),
        Scalar::Pointer if choice.may_be_made_up => i128::from(value != 0),
        Scalar::Pointer | Scalar::Float(_) => 0,
    }
}

/// Answers questions along a path with the solver's values.
struct Guide<'w> {
    model: &'w Model,
    /// Edges passed; the current one is the last.
    passed: usize,
    /// Inputs answered.
    answered: usize,
    parameters: usize,
}

impl Oracle for Guide<'_> {
    fn hears_edges(&self) -> bool {
        true
    }

    fn passes(&mut self, _: Name, _: EdgeId, _: Passing) {
        self.passed += 1;
    }

    fn choose(&mut self, choice: &Choice) -> i128 {
        let value = if self.passed == 0 {
            self.parameters += 1;
            self.model.parameters.get(self.parameters - 1).map_or(0, |(_, value)| *value)
        } else {
            let here = self.passed - 1;
            while self.model.inputs.get(self.answered).is_some_and(|(step, _)| *step < here) {
                self.answered += 1;
            }
            match self.model.inputs.get(self.answered) {
                Some((step, value)) if *step == here => {
                    self.answered += 1;
                    *value
                }
                _ => 0,
            }
        };
        in_format(choice, value)
    }
}

/// Runs the program with the inputs of a witness; a counterexample if it violates a target.
pub(super) fn confirm(question: &Question<'_>, witness: &Witness) -> Option<Counterexample> {
    let Question { subject, entry, targets, .. } = *question;
    let model = match &witness.inputs {
        WitnessInputs::Unknown => return None,
        WitnessInputs::Candidate(candidate) => return Runner::new(question).run(candidate),
        WitnessInputs::Model(model) => model,
    };
    let code = subject.code();
    let steps = &witness.path.steps;
    let edges = steps.iter().filter(|step| !matches!(step, PathStep::Leave { .. })).count() as u64;
    let limits = interpret::Limits { steps: edges * 4 + 100_000, ..interpret::Limits::default() };
    let guide = || Guide { model, passed: 0, answered: 0, parameters: 0 };
    let run = |limits| Machine::new(code, guide(), limits).run(entry);
    also_with_full_reads(limits, &run, &|run| Counterexample::of(run, entry, targets))
}
