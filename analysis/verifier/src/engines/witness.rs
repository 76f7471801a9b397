//! Paths of the predicate analysis as counterexamples: the program is run with the inputs that the solver found, or that an abstract path
//! suggests. Nothing else makes a violation.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use proofline_cfa::{EdgeId, Name, Scalar, Site};
use proofline_cpa::{Path, PathStep};
use proofline_domains::predicate::{CandidateInputs, Model, Trial, Witness, WitnessInputs};
use proofline_program_analysis::Environment;

use super::Targets;
use crate::{
    counterexample::Counterexample,
    interpret::{self, Code, End, Machine, Oracle, Passing, Question},
    load::Loaded,
};

/// Whether inputs that an abstract path suggests violate a target.
pub(super) fn trial(loaded: &Loaded, entry: Name, targets: &Targets) -> Trial {
    let runner = Runner::new(loaded, entry, targets);
    Trial(Arc::new(move |candidate| runner.run(candidate).is_some()))
}

/// Runs a program with candidate inputs.
struct Runner {
    code: Code,
    entry: Name,
    is_library: bool,
    targets: Targets,
    environment: Arc<Environment>,
}

impl Runner {
    fn new(loaded: &Loaded, entry: Name, targets: &Targets) -> Runner {
        let (code, is_library) = (Code::new(loaded.program()), loaded.is_library(entry));
        Runner { code, entry, is_library, targets: targets.clone(), environment: loaded.env().clone() }
    }

    fn run(&self, candidate: &CandidateInputs) -> Option<Counterexample> {
        let limits = interpret::Limits { steps: RUN_STEPS, ..interpret::Limits::default() };
        let mut answers: BTreeMap<(Name, Site), VecDeque<i128>> = BTreeMap::new();
        for ((function, edge), value) in &candidate.inputs {
            let site = self.environment.function(*function).map(|f| f.edge(*edge).site);
            if let Some(site) = site {
                answers.entry((*function, site)).or_default().push_back(*value);
            }
        }
        let parameters = candidate.parameters.iter().map(|(_, value)| *value).collect();
        let oracle = Guesser { parameters, answers };
        let run = Machine::new(&self.code, oracle, limits).run(self.entry, self.is_library);
        violation(self.entry, self.is_library, &run, &self.targets)
    }
}

/// Steps of a run with guessed inputs.
const RUN_STEPS: u64 = 100_000;

/// Answers questions with guesses, by where they are asked; others with those for the parameters in order, then with zeros.
struct Guesser {
    parameters: VecDeque<i128>,
    answers: BTreeMap<(Name, Site), VecDeque<i128>>,
}

impl Oracle for Guesser {
    fn choose(&mut self, question: &Question) -> i128 {
        let known = match self.answers.get_mut(&(question.function, question.site)) {
            Some(answers) => answers.pop_front(),
            None => self.parameters.pop_front(),
        };
        in_format(question, known.unwrap_or(0))
    }
}

/// Stand-in addresses and opaque floats mean nothing to a machine.
fn in_format(question: &Question, value: i128) -> i128 {
    match question.scalar {
        Scalar::Int(ty) => ty.wrap(value),
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

    fn choose(&mut self, question: &Question) -> i128 {
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
        in_format(question, value)
    }
}

/// Runs the program with the inputs of a witness; a counterexample if it violates a target.
pub(super) fn confirm(loaded: &Loaded, witness: &Witness, targets: &Targets) -> Option<Counterexample> {
    let Path { entry, ref steps, .. } = witness.path;
    let model = match &witness.inputs {
        WitnessInputs::Unknown => return None,
        WitnessInputs::Candidate(candidate) => return Runner::new(loaded, entry, targets).run(candidate),
        WitnessInputs::Model(model) => model,
    };
    let code = Code::new(loaded.program());
    let is_library = loaded.is_library(entry);
    let guide = Guide { model, passed: 0, answered: 0, parameters: 0 };
    let edges = steps.iter().filter(|step| !matches!(step, PathStep::Leave { .. })).count() as u64;
    let limits = interpret::Limits { steps: edges * 4 + 100_000, ..interpret::Limits::default() };
    let run = Machine::new(&code, guide, limits).run(entry, is_library);
    violation(entry, is_library, &run, targets)
}

/// What a run violates, if it is asked about.
fn violation(
    entry: Name,
    is_library: bool,
    run: &interpret::Run,
    targets: &Targets,
) -> Option<Counterexample> {
    match run.end {
        End::Violates(function, obligation) if targets.contains(function, obligation) && !run.is_guess => {
            Some(Counterexample {
                entry,
                is_library,
                function,
                obligation,
                inputs: run.inputs.iter().map(|(_, answer)| *answer).collect(),
                steps: run.steps,
            })
        }
        _ => None,
    }
}
