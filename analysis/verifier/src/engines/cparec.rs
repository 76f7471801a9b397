//! CPArec [REC14], ALGORITHMS.md §10: recursion through an analysis of programs without recursion. Calls within recursive components are
//! unwound `k` times, each depth with functions of its own, and deeper ones do not return: what goes wrong there is real, and the
//! predicates that prove the rest are candidates for summaries of the recursive functions. These are checked for inductiveness on the
//! program as it is; the proof is its certificate, and nothing rests on the unwinding.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Callee, Expr, IntType, Name, ObligationId, Op, Program};
use proofline_cpa::{
    Checker, Config, Outcome, Unknown,
    bam::{Blocks, MemoryStore},
};
use proofline_domains::{
    PredicateAnalysis, PredicateOptions,
    predicate::{CandidateInputs, PredicatePrecision, Trial, WitnessInputs},
};
use proofline_program_analysis::Environment;

use super::{Answer, Decision, Engine, Question, predicate::Settings, witness};
use crate::{
    pass::{certified, reachability},
    subject::Subject,
};

/// A configuration.
#[derive(Clone, Debug)]
pub struct CpaRec {
    name: &'static str,
    inner: Settings,
    /// Unwindings at most.
    most: u32,
}

impl CpaRec {
    pub(super) fn new(name: &'static str, inner: Settings, most: u32) -> CpaRec {
        CpaRec { name, inner, most }
    }

    fn ask(&self, question: &Question<'_>) -> Result<Answer, Unknown> {
        let recursive = recursive_functions(question.subject, question.entry.name)?;
        let mut precision = PredicatePrecision::default();
        for depth in 1..=self.most {
            question.budget.step()?;
            let unwound = Unwound::new(question, &recursive, depth);
            match self.inside(&unwound, precision, question)? {
                Inside::Violated(answer) => return Ok(answer),
                Inside::Proved(found) => precision = found,
            }
            if self.is_inductive(&precision, question)? {
                return Ok(Answer::Holds(if recursive.is_empty() {
                    format!("no error location is reachable with {}", self.name)
                } else {
                    format!(
                        "summaries that {} found at depth {depth} of the recursion are inductive",
                        self.name
                    )
                }));
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
        let Question { subject, entry, targets, budget } = *question;
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

impl Engine for CpaRec {
    fn name(&self) -> &'static str {
        self.name
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        self.ask(question).into()
    }
}

/// The same inputs of the functions that copies are made of.
fn original(candidate: &CandidateInputs, origins: &BTreeMap<Name, Name>) -> CandidateInputs {
    let mut candidate = candidate.clone();
    for ((function, _), _) in &mut candidate.inputs {
        *function = origins.get(function).copied().unwrap_or(*function);
    }
    candidate
}

enum Inside {
    Violated(Answer),
    /// With these predicates, about the functions of the program itself.
    Proved(PredicatePrecision),
}

fn analysis(env: Arc<Environment>, options: PredicateOptions) -> Result<PredicateAnalysis, Unknown> {
    PredicateAnalysis::new(env, options).map_err(|mismatch| Unknown::InternalError(mismatch.to_string()))
}

fn recursive_functions(subject: &Subject, entry: Name) -> Result<BTreeSet<Name>, Unknown> {
    let graph = subject.env().call_graph();
    let recursive: BTreeSet<Name> =
        graph.reachable([entry]).into_iter().filter(|name| graph.is_recursive(*name)).collect();
    // A pointer to a function does not say which copy it means.
    let through_pointers = subject.program().functions.values().any(|caller| {
        caller.edge_ids().any(|(id, edge)| {
            let Op::Call(call) = &edge.op else { return false };
            let callees = graph.call(caller.name, id).map(|callees| &callees.functions);
            matches!(call.callee, Callee::Indirect(..))
                && callees.is_some_and(|callees| callees.iter().any(|callee| recursive.contains(callee)))
        })
    });
    if through_pointers {
        return Err(Unknown::Unsupported("recursion through a pointer is not unwound".into()));
    }
    Ok(recursive)
}

/// A program with its recursion unwound.
struct Unwound {
    environment: Arc<Environment>,
    targets: BTreeSet<(Name, ObligationId)>,
    /// What each copy is a copy of.
    origins: BTreeMap<Name, Name>,
    copies: BTreeMap<Name, Vec<Name>>,
}

/// Begins the depth in the name of a copy.
const DEPTH: char = '%';

impl Unwound {
    fn new(question: &Question<'_>, recursive: &BTreeSet<Name>, most: u32) -> Unwound {
        let Question { subject, entry, targets, .. } = *question;
        let graph = subject.env().call_graph();
        let mut program: Program = subject.program().clone();
        let copy = |name: Name, depth: u32| Name::new(&format!("{name}{DEPTH}{depth}"));
        let mut functions = BTreeMap::new();
        let (mut origins, mut copies) = (BTreeMap::new(), BTreeMap::<Name, Vec<Name>>::new());
        for (name, function) in &program.functions {
            let is_copied = recursive.contains(name) && *name != entry.name;
            let depths = if is_copied { 1..=most } else { 0..=0 };
            for depth in depths {
                let mut of_depth = (**function).clone();
                of_depth.name = if is_copied { copy(*name, depth) } else { *name };
                for edge in &mut of_depth.edges {
                    let Op::Call(call) = &mut edge.op else { continue };
                    let Callee::Direct(callee) = &mut call.callee else { continue };
                    if !recursive.contains(callee) {
                        continue;
                    }
                    let stays = graph.component_of(*name) == graph.component_of(*callee);
                    let next = if stays { depth + 1 } else { 1 };
                    if next <= most {
                        *callee = copy(*callee, next);
                    } else {
                        // Deeper calls do not return.
                        edge.op = Op::Assume(Expr::Int(0, IntType::INT));
                    }
                }
                origins.insert(of_depth.name, *name);
                copies.entry(*name).or_default().push(of_depth.name);
                functions.insert(of_depth.name, Arc::new(of_depth));
            }
        }
        program.functions = functions;
        let of_copies = |(name, id): (Name, ObligationId)| {
            copies.get(&name).into_iter().flatten().map(move |copy| (*copy, id))
        };
        let targets = targets.iter().flat_map(of_copies).collect();
        let environment = Environment::entered(program, entry, question.subject.env().is_open());
        Unwound { environment: Arc::new(environment), targets, origins, copies }
    }

    /// Predicates of the program, for every copy.
    fn forth(&self, precision: &PredicatePrecision) -> PredicatePrecision {
        let copies = |name: Name| self.copies.get(&name).cloned().unwrap_or_default();
        precision.carried(&copies, &|from, to, variable| match variable.strip_prefix(&format!("{from}::")) {
            Some(local) => format!("{to}::{local}"),
            None => match variable.strip_prefix(&format!("::{from}.")) {
                Some(object) => format!("::{to}.{object}"),
                None => variable.to_owned(),
            },
        })
    }

    /// Predicates of the copies, for what they are copies of.
    fn back(&self, precision: &PredicatePrecision) -> PredicatePrecision {
        let origin = |name: Name| self.origins.get(&name).copied().into_iter().collect();
        precision.carried(&origin, &|_, _, variable| {
            let mut parts = variable.split(DEPTH);
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()))
        })
    }
}
