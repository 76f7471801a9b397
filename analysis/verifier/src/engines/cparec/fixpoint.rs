//! The fixpoint variant of CPArec, ALGORITHMS.md §10: the recursion is unwound `k` times, what goes wrong there is real, and the
//! predicates that prove the rest are candidates for summaries of the recursive functions. These are checked for inductiveness by the fixpoint over
//! blocks on the program as it is; the proof is its certificate, and nothing rests on the unwinding.

use std::sync::Arc;

use proofline_cpa::{
    Checker, Config, Outcome, Unknown,
    bam::{Blocks, MemoryStore},
};
use proofline_domains::{
    PredicateAnalysis, PredicateOptions,
    predicate::{PredicatePrecision, Trial, WitnessInputs},
};
use proofline_program_analysis::Environment;

use super::{
    super::{Answer, Decision, Engine, Question, predicate::Settings, witness},
    unwound::{Unwound, original, recursive_functions},
};
use crate::pass::{certified, reachability};

/// A configuration.
#[derive(Clone, Debug)]
pub struct CpaRecFixpoint {
    name: &'static str,
    inner: Settings,
    /// Unwindings at most.
    most: u32,
}

impl CpaRecFixpoint {
    pub(in super::super) fn new(name: &'static str, inner: Settings, most: u32) -> CpaRecFixpoint {
        CpaRecFixpoint { name, inner, most }
    }

    /// The answer, and how deep the recursion was unwound for it.
    fn ask(&self, question: &Question<'_>) -> Result<(Answer, u32), Unknown> {
        let recursive = recursive_functions(question.subject, question.entry.name)?;
        let mut precision = PredicatePrecision::default();
        for depth in 1..=self.most {
            question.budget.step()?;
            let unwound = Unwound::new(question, &recursive, depth);
            match self.inside(&unwound, precision, question)? {
                Inside::Violated(answer) => return Ok((answer, depth)),
                Inside::Proved(found) => precision = found,
            }
            if self.is_inductive(&precision, question)? {
                let why = format!("the summaries that {} found are inductive", self.name);
                return Ok((Answer::Holds(why), depth));
            }
        }
        Err(Unknown::OutOfBudget)
    }

    /// The inner analysis on an unwound program.
    fn inside(
        &self,
        unwound: &Unwound,
        precision: PredicatePrecision,
        question: &Question<'_>,
    ) -> Result<Inside, Unknown> {
        let usual = self.inner.options(question);
        // Candidates are about copies; the program itself is run.
        let origins = unwound.origins.clone();
        let trial = usual
            .trial
            .clone()
            .map(|Trial(run)| Trial(Arc::new(move |candidate| run(&original(candidate, &origins)))));
        let options = PredicateOptions { targets: Some(unwound.targets.clone()), trial, ..usual };
        let analysis = analysis(unwound.environment.clone(), options)?;
        let config = Config { blocks: self.inner.blocks(), ..Config::default() };
        let precision = Some(unwound.forth(&precision));
        let (env, targets) = (&unwound.environment, unwound.targets.clone());
        let run = reachability(env, question.entry, config, targets);
        let mut checker = Checker::new(&analysis, &run, precision, MemoryStore::default())?;
        match checker.run(question.budget) {
            Outcome::Holds => Ok(Inside::Proved(unwound.back(checker.precision()))),
            Outcome::Unknown(why) => Err(why),
            Outcome::Reaches(mut witness) => {
                if let WitnessInputs::Candidate(candidate) = &mut witness.inputs {
                    *candidate = original(candidate, &unwound.origins);
                }
                let shown = witness::confirm(question, &witness);
                shown.map(|shown| Inside::Violated(Answer::Violated(shown))).ok_or_else(|| {
                    Unknown::Unconfirmed("the inputs found for an unwound path do not show it".into())
                })
            }
        }
    }

    /// Whether the strongest summaries over these predicates are inductive and exclude the targets.
    fn is_inductive(&self, precision: &PredicatePrecision, question: &Question<'_>) -> Result<bool, Unknown> {
        let Question { subject, entry, targets, budget, .. } = *question;
        let usual = self.inner.options(question);
        let blk = proofline_domains::predicate::Blk::Functions;
        let analysis = analysis(subject.env().clone(), PredicateOptions { blk, ..usual })?;
        let config =
            Config { blocks: Blocks::FUNCTIONS, cegar: false, certificate: true, ..Config::default() };
        let run = reachability(subject.env(), entry, config, targets.set().clone());
        let mut checker = Checker::new(&analysis, &run, Some(precision.clone()), MemoryStore::default())?;
        match checker.run(budget) {
            Outcome::Reaches(_) => Ok(false),
            Outcome::Unknown(why) => Err(why),
            Outcome::Holds => certified(checker, &analysis, subject.env(), entry, budget).map(|_| true),
        }
    }
}

impl Engine for CpaRecFixpoint {
    fn name(&self) -> &'static str {
        self.name
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        Decision::at_depth(self.ask(question))
    }
}

enum Inside {
    Violated(Answer),
    /// With these predicates, about the functions of the program itself.
    Proved(PredicatePrecision),
}

fn analysis(env: Arc<Environment>, options: PredicateOptions) -> Result<PredicateAnalysis, Unknown> {
    PredicateAnalysis::new(env, options).map_err(|mismatch| Unknown::InternalError(mismatch.to_string()))
}
