//! Configurable program analyses as engines: explicit values and intervals, with or without blocks and refinement.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use proofline_cfa::{Expr, Loc, LocalId, Lvalue, Name, ObligationId};
use proofline_cpa::{
    BlockCpa, Budget, Certificate, Checker, Config, Order, Outcome, Path, Question, Refine, Unknown,
    bam::Blocks,
};
use proofline_domains::{
    IntervalAnalysis, IntervalOptions, Mode, ValueAnalysis, ValueOptions, interval::IntervalValue,
    store::Abstract,
};

use super::{Answer, Decision, Engine, Targets, concrete};
use crate::{
    checks::Check,
    load::Loaded,
    summaries::{CachedAnalysis, of_intervals, of_values, session},
};

/// Which domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Known values.
    Values,
    /// Ranges.
    Intervals,
}

/// A configuration of an abstract domain.
#[derive(Clone, Debug)]
pub struct Abstraction {
    name: &'static str,
    domain: Domain,
    blocks: Blocks,
    order: Order,
    refines: bool,
    /// One pass that stops at no target: decides every obligation it can for itself.
    collects: bool,
}

impl Abstraction {
    /// Without blocks (calls are inlined) and without refinement.
    pub fn new(name: &'static str, domain: Domain) -> Abstraction {
        Abstraction {
            name,
            domain,
            blocks: Blocks::NONE,
            order: Order::default(),
            refines: false,
            collects: false,
        }
    }
    /// With these blocks.
    pub fn with_blocks(mut self, blocks: Blocks) -> Abstraction {
        self.blocks = blocks;
        self
    }
    /// Exploring states in this order.
    pub fn with_order(mut self, order: Order) -> Abstraction {
        self.order = order;
        self
    }
    /// Starting with nothing tracked and learning from infeasible paths.
    pub fn with_refinement(mut self) -> Abstraction {
        self.refines = true;
        self
    }
    /// One pass over everything, which proves each obligation whose error location it does not reach.
    pub fn collecting(mut self) -> Abstraction {
        self.collects = true;
        self
    }

    fn holds(&self) -> Answer {
        Answer::Holds(format!("no error location is reachable with {}", self.name))
    }

    fn run<A: CachedAnalysis + Refine<Witness = Path>>(
        &self,
        analysis: &A,
        options: &str,
        loaded: &Loaded,
        entry: Name,
        targets: &Targets,
        budget: &Budget,
    ) -> Decision {
        let config = Config {
            order: self.order,
            blocks: self.blocks,
            cegar: self.refines,
            certificate: self.collects,
            ..Config::default()
        };
        let only = if self.collects { BTreeSet::new() } else { targets.set().clone() };
        let question = Question::new(loaded.env(), entry, Check::ids(), config).only(only);
        // What proved it before the last edit is tried first. Whatever comes of it but a proof is forgotten: then the answer is the one
        // that a first run gives.
        let summaries = loaded.summaries().filter(|_| self.refines);
        let hint = summaries.and_then(|s| s.precision(self.name, loaded.env(), entry));
        let from = |precision: Option<A::Precision>, budget: &Budget| {
            let store = Rc::new(session(loaded.summaries(), analysis, options, &question));
            let mut checker = Checker::new(analysis, &question, precision, store.clone())?;
            let outcome = checker.run(budget);
            if let Some(summaries) = loaded.summaries() {
                summaries.count(&store, loaded.env());
            }
            Ok((checker, outcome))
        };
        if hint.is_some() {
            let own = Budget::steps(budget.left())
                .with_cancel(budget.cancel().clone())
                .with_deadline(budget.deadline());
            if let Ok((_, Outcome::Holds)) = from(hint, &own) {
                return Decision::new(self.holds());
            }
        }
        let (checker, outcome) = match from(None, budget) {
            Ok(run) => run,
            Err(why) => return Decision::new(Answer::Unknown(why)),
        };
        if outcome == Outcome::Holds
            && let Some(summaries) = summaries
        {
            summaries.set_precision(self.name, loaded.env(), entry, checker.precision());
        }
        if self.collects {
            let verification = checker.into_verification(outcome);
            return match (verification.outcome, verification.certificate) {
                (Outcome::Holds, Some(certificate)) => collected(&certificate, loaded, targets),
                (Outcome::Unknown(why), _) => Decision::new(Answer::Unknown(why)),
                (Outcome::Holds | Outcome::Reaches(_), _) => Decision::new(Answer::Unknown(
                    Unknown::InternalError("a pass without targets reached one".into()),
                )),
            };
        }
        Decision::new(match outcome {
            Outcome::Holds => self.holds(),
            Outcome::Unknown(why) => Answer::Unknown(why),
            Outcome::Reaches(path) => match concrete::follow(loaded, &path, budget) {
                Ok(Some(counterexample)) => Answer::Violated(counterexample),
                Ok(None) => {
                    Answer::Unknown(Unknown::Unconfirmed("no inputs were found for an abstract path".into()))
                }
                Err(why) => Answer::Unknown(why),
            },
        })
    }
}

/// What a pass without targets proved: obligations whose error location is in no reached state.
fn collected<A: BlockCpa>(certificate: &Certificate<A>, loaded: &Loaded, targets: &Targets) -> Decision {
    let mut reached: BTreeSet<(Name, ObligationId)> = BTreeSet::new();
    for abstraction in &certificate.abstractions {
        for spot in abstraction.states.keys() {
            let Some(context) = abstraction.contexts.get(spot.context.0 as usize) else {
                return Decision::new(Answer::Unknown(Unknown::InternalError(
                    "a state without a frame".into(),
                )));
            };
            let Some(function) = loaded.env().function(context.function) else { continue };
            reached.extend(function.obligation_at(spot.loc).map(|id| (context.function, id)));
        }
    }
    let proved: BTreeSet<(Name, ObligationId)> =
        targets.iter().filter(|target| !reached.contains(target)).collect();
    let answer = if proved.len() == targets.len() {
        Answer::Holds("no error location is reachable".into())
    } else {
        Answer::Unknown(Unknown::Unconfirmed("an abstract path may be spurious".into()))
    };
    Decision { answer, proved }
}

impl Engine for Abstraction {
    fn name(&self) -> &'static str {
        self.name
    }

    fn decide(&self, loaded: &Loaded, entry: Name, targets: &Targets, budget: &Budget) -> Decision {
        let mode = if loaded.is_library(entry) { Mode::Library } else { Mode::Program };
        let environment = loaded.env().clone();
        match self.domain {
            Domain::Values => {
                let options = ValueOptions {
                    wrapv: loaded.options().wrapv,
                    track_everything: !self.refines,
                    ..ValueOptions::new(entry, mode)
                };
                let said = of_values(&options);
                self.run(&ValueAnalysis::new(environment, options), &said, loaded, entry, targets, budget)
            }
            Domain::Intervals => {
                let options =
                    IntervalOptions { wrapv: loaded.options().wrapv, ..IntervalOptions::new(entry, mode) };
                let said = of_intervals(&options);
                self.run(&IntervalAnalysis::new(environment, options), &said, loaded, entry, targets, budget)
            }
        }
    }
}

/// Ranges of the registers of a function at its locations, whoever calls it.
pub(super) type Invariants = BTreeMap<(Name, Loc), BTreeMap<LocalId, (i128, i128)>>;

/// What one pass of intervals over everything knows of integer registers; `None` if it does not end.
pub(super) fn interval_invariants(loaded: &Loaded, entry: Name, budget: &Budget) -> Option<Invariants> {
    let mode = if loaded.is_library(entry) { Mode::Library } else { Mode::Program };
    let options = IntervalOptions { wrapv: loaded.options().wrapv, ..IntervalOptions::new(entry, mode) };
    let said = of_intervals(&options);
    let analysis = IntervalAnalysis::new(loaded.env().clone(), options);
    let config = Config { cegar: false, certificate: true, ..Config::default() };
    let question = Question::new(loaded.env(), entry, Check::ids(), config).only(BTreeSet::new());
    let store = session(loaded.summaries(), &analysis, &said, &question);
    let mut checker = Checker::new(&analysis, &question, None, store).ok()?;
    let outcome = checker.run(budget);
    let verification = checker.into_verification(outcome);
    let (Outcome::Holds, Some(certificate)) = (verification.outcome, verification.certificate) else {
        return None;
    };
    let mut known = Invariants::new();
    for abstraction in &certificate.abstractions {
        for (spot, states) in &abstraction.states {
            let name = abstraction.contexts.get(spot.context.0 as usize)?.function;
            let function = loaded.env().function(name)?;
            let registers = function.locals.iter().enumerate().filter(|(_, local)| !local.address_taken);
            let scalars = registers.filter_map(|(i, local)| {
                let scalar = proofline_cfa::scalar_of(local.ty, loaded.program().data_model)?;
                let id = LocalId(i as u32);
                Some((id, Expr::Load(Lvalue::local(id, local.ty, scalar, local.size))))
            });
            let scalars: Vec<(LocalId, Expr)> = scalars.collect();
            for (state, _) in states {
                let mut here = BTreeMap::new();
                for (id, load) in &scalars {
                    if let Abstract::Of(IntervalValue::Int(ranges)) = analysis.value_of(state, function, load)
                    {
                        here.insert(*id, (ranges.lo(), ranges.hi()));
                    }
                }
                match known.get_mut(&(name, spot.loc)) {
                    None => {
                        known.insert((name, spot.loc), here);
                    }
                    Some(all) => {
                        all.retain(|id, _| here.contains_key(id));
                        for (id, (lo, hi)) in all {
                            let (other_lo, other_hi) = here[id];
                            (*lo, *hi) = ((*lo).min(other_lo), (*hi).max(other_hi));
                        }
                    }
                }
            }
        }
    }
    Some(known)
}
