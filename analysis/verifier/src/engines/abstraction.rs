//! Configurable program analyses as engines: explicit values, intervals, relations (by values) and shapes, with or without blocks and refinement.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use proofline_cfa::{
    ContentHash, Expr, Function, Loc, LocalId, Lvalue, MemoryPredicate, Name, Object, ObligationId, Op,
    Program, visit,
};
use proofline_cpa::{
    BlockCpa, Budget, Certificate, Checker, Config, Order, Outcome, Path, Refine, Unknown, bam::Blocks,
};
use proofline_domains::{
    Folds, IntervalAnalysis, IntervalOptions, RelationAnalysis, ShapeAnalysis, ThreeValuedAnalysis,
    ValueAnalysis, ValueOptions, ValueRefinement,
    interval::IntervalValue,
    shape::{has_linked_heap, has_trees},
    store::Abstract,
    three_valued::generators::annotations,
};
use serde::Deserialize;

use super::{Answer, Decision, Engine, Question, concrete};
use crate::{
    blocks::{Session, SharedAnalysis},
    pass::{self, interval_pass, reachability},
    summaries::{of_intervals, of_relations, of_relations_by_values, of_shapes, of_three_valued, of_values},
};

/// Variables that have more values than this at one place tell no states apart.
const MOST_VALUES: u32 = 10;

/// Which domain; `configurations.yml` calls them by their names in kebab case.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// Known values.
    Values,
    /// Values that are the same however control came there.
    Constants,
    /// Ranges.
    Intervals,
    /// Ranges, and beside them bounds of differences.
    Relations,
    /// The same for each combination of known values, as far as variables have few: which states processes are in, and what they agree about.
    RelationsByValues,
    /// Graphs of memory.
    Shapes,
    /// Three-valued structures of memory.
    ThreeValued,
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
    /// Of shapes: [`ShapeOptions::fold`](proofline_domains::ShapeOptions::fold).
    fold: Option<Folds>,
    /// Of three-valued structures: which ones records make, as [`generators`](proofline_domains::three_valued::generators) says it.
    classes: String,
    /// Of intervals and relations: [`IntervalOptions::outcomes`](proofline_domains::IntervalOptions::outcomes).
    outcomes: bool,
    /// Of intervals: [`IntervalOptions::rounds`](proofline_domains::IntervalOptions::rounds).
    rounds: bool,
    /// Relations are asked for where ranges say as much, too.
    whatever_is_asked: bool,
    /// No more steps than these.
    steps: Option<u64>,
    /// How values are refined.
    refinement: ValueRefinement,
    /// The graph is forgotten at a refinement, instead of being cut.
    restart: bool,
    /// After so many paths to a mistake that no run confirms it gives up.
    unconfirmed: u32,
}

/// So many paths that no run confirms are looked at, unless a configuration says otherwise.
pub(super) const UNCONFIRMED: u32 = 16;

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
            fold: None,
            classes: String::new(),
            outcomes: false,
            rounds: false,
            whatever_is_asked: false,
            steps: None,
            refinement: ValueRefinement::default(),
            restart: false,
            unconfirmed: UNCONFIRMED,
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

    /// Folding objects in a row, or in a tree.
    pub fn folding(mut self, fold: Option<Folds>) -> Abstraction {
        self.fold = fold;
        self
    }
    /// With a word about which structures records make.
    pub fn with_classes(mut self, classes: String) -> Abstraction {
        self.classes = classes;
        self
    }
    /// Keeping states apart while counters of loops differ.
    pub fn by_rounds(mut self, rounds: bool) -> Abstraction {
        self.rounds = rounds;
        self
    }

    /// Keeping states apart while what calls have given differs.
    pub fn by_outcomes(mut self, outcomes: bool) -> Abstraction {
        self.outcomes = outcomes;
        self
    }
    /// Whatever is asked, even where relations know no more than ranges.
    pub fn whatever_is_asked(mut self) -> Abstraction {
        self.whatever_is_asked = true;
        self
    }
    /// With no more steps than these.
    pub fn with_steps(mut self, steps: Option<u64>) -> Abstraction {
        self.steps = steps;
        self
    }

    /// With these choices of refinement [EXP12 §III-F]: how values are refined, whether the graph is forgotten then, and after how many paths that no
    /// run confirms it gives up.
    pub fn refining(mut self, refinement: ValueRefinement, restart: bool, unconfirmed: u32) -> Abstraction {
        self.refinement = refinement;
        self.restart = restart;
        self.unconfirmed = unconfirmed;
        self
    }

    fn holds(&self) -> Answer {
        Answer::Holds(format!("no error location is reachable with {}", self.name))
    }

    /// `path`: the path in what the analysis found.
    fn run<A: SharedAnalysis + Refine>(
        &self,
        analysis: &Arc<A>,
        options: ContentHash,
        path: impl Fn(A::Witness) -> Option<Path>,
        question: &Question<'_>,
    ) -> Decision {
        let Question { subject, entry, targets, budget, .. } = *question;
        let config = Config {
            order: self.order,
            blocks: self.blocks,
            cegar: self.refines,
            restart: self.restart,
            certificate: true,
            ..Config::default()
        };
        let only = if self.collects { BTreeSet::new() } else { targets.set().clone() };
        let run = reachability(subject.env(), entry, config, only);
        // What proved it before the last edit is tried first. Whatever comes of it but a proof is forgotten: then the answer is the one
        // that a first run gives.
        let summaries = subject.summaries().filter(|_| self.refines);
        let hint = summaries.and_then(|s| s.precision(self.name, subject.env(), entry.name));
        let from = |precision: Option<A::Precision>, budget: &Budget| {
            let store = Rc::new(Session::new(subject, analysis, options, &run, budget));
            let mut checker = Checker::new(&**analysis, &run, precision, store.clone())?;
            let outcome = checker.run(budget);
            if let Some(summaries) = subject.summaries() {
                summaries.count(&store, subject.env());
            }
            Ok((checker, outcome))
        };
        let certified = |checker| pass::certified(checker, &**analysis, subject.env(), entry, budget);
        if hint.is_some()
            && let Ok((checker, Outcome::Holds)) = from(hint, &question.own_budget(budget.left()))
            && certified(checker).is_ok()
        {
            return Decision::new(self.holds());
        }
        let hand_on = |precision: &A::Precision| {
            if self.refines {
                question.hand_on(precision);
            }
        };
        let handed_on = if self.refines { question.handed_on() } else { None };
        let (mut checker, mut outcome) = match from(handed_on, budget) {
            Ok(run) => run,
            Err(why) => return Decision::new(Answer::Unknown(why)),
        };
        let mut unconfirmed = 0;
        while let Outcome::Reaches(witness) = outcome {
            hand_on(checker.precision());
            match path(witness).map(|path| concrete::follow(question, &path)).transpose() {
                Ok(Some(Some(counterexample))) => return Decision::new(Answer::Violated(counterexample)),
                Ok(Some(None) | None) => unconfirmed += 1,
                Err(why) => return Decision::new(Answer::Unknown(why)),
            }
            // Another path may be a real one. A run that goes on after a path never answers that nothing is reached.
            outcome = match unconfirmed < self.unconfirmed {
                true => checker.run(budget),
                false => Outcome::Unknown(Unknown::Unconfirmed(String::new())),
            };
        }
        if outcome != Outcome::Holds {
            hand_on(checker.precision());
        }
        if unconfirmed > 0 && matches!(outcome, Outcome::Holds | Outcome::Unknown(Unknown::Unconfirmed(_))) {
            return Decision::new(Answer::Unknown(Unknown::Unconfirmed(
                "the mistake seems possible, and no inputs were found that lead to it".into(),
            )));
        }
        if outcome == Outcome::Holds
            && let Some(summaries) = summaries
        {
            summaries.set_precision(self.name, subject.env(), entry.name, checker.precision());
        }
        if self.collects {
            let found = pass::finished(outcome).and_then(|()| pass::uncertified(checker));
            let decision = found.and_then(|certificate| {
                let decision = collected(&certificate, question)?;
                // Where everything that was asked about is reached, nothing rests on the certificate.
                let is_proof = !decision.proved.is_empty() || matches!(decision.answer, Answer::Holds(_));
                if is_proof {
                    pass::certify(&certificate, &**analysis, subject.env(), entry, budget)?;
                }
                Ok(decision)
            });
            return decision.unwrap_or_else(|why| Decision::new(Answer::Unknown(why)));
        }
        Decision::new(match outcome {
            Outcome::Holds => match certified(checker) {
                Ok(_) => self.holds(),
                Err(why) => Answer::Unknown(why),
            },
            Outcome::Unknown(why) => Answer::Unknown(why),
            Outcome::Reaches(_) => Answer::Unknown(Unknown::InternalError("a path was not looked at".into())),
        })
    }
}

/// What a pass without targets proved: obligations whose error location is in no reached state.
fn collected<A: BlockCpa>(
    certificate: &Certificate<A>,
    question: &Question<'_>,
) -> Result<Decision, Unknown> {
    let Question { subject, targets, .. } = *question;
    let mut reached: BTreeSet<(Name, ObligationId)> = BTreeSet::new();
    pass::each_location(certificate, subject.env(), |function, loc, _| {
        let obligation = subject.env().structure(function.name).obligation_at(loc);
        reached.extend(obligation.map(|id| (function.name, id)));
        Ok(())
    })?;
    let is_proved = |target: &(Name, ObligationId)| !reached.contains(target);
    let proved: BTreeSet<(Name, ObligationId)> = targets.iter().filter(is_proved).collect();
    let answer = if proved.len() == targets.len() {
        Answer::Holds("no error location is reachable".into())
    } else {
        Answer::Unknown(Unknown::Unconfirmed(
            "the ranges of the values allow the mistake, and nothing more exact was found".into(),
        ))
    };
    Ok(Decision { proved, ..Decision::new(answer) })
}

/// Whether executions make structures of objects on the heap.
fn is_linked(question: &Question<'_>) -> bool {
    let Question { subject, entry, .. } = *question;
    let reached = subject.reachable_from(entry.name);
    has_linked_heap(reached.iter().filter_map(|name| subject.env().function(*name)))
}

/// Whether relations may say more than ranges: numbers are compared, or bytes must be in an object that the program has made, have values there, or end a
/// string.
fn relates(question: &Question<'_>) -> bool {
    let Question { subject, targets, .. } = *question;
    let env = subject.env();
    targets.iter().any(|(name, id)| {
        let Some(function) = env.function(name) else { return false };
        let Some(obligation) = function.obligations.get(id.index()) else { return false };
        let failures = env.structure(name).failures(obligation);
        failures.iter().any(|edge| {
            let Op::Assume(condition) = &function.edge(*edge).op else { return true };
            // Where an error is reached whenever control is there, the way there decides.
            if matches!(condition, Expr::Int(..)) {
                return true;
            }
            let mut is_related = false;
            visit::walk(condition, &mut |part| {
                is_related |= match part {
                    Expr::Overflows(..) => true,
                    Expr::Memory(
                        MemoryPredicate::InBounds
                        | MemoryPredicate::Initialised
                        | MemoryPredicate::Terminated,
                        pointer,
                        _,
                    ) => env.targets(name, pointer).objects.iter().any(|object| *object != Object::External),
                    Expr::Compare(_, lhs, _) => {
                        lhs.int_type().is_some() && !matches!(**lhs, Expr::Memory(..) | Expr::Overflows(..))
                    }
                    _ => false,
                };
            });
            is_related
        })
    })
}

impl Engine for Abstraction {
    fn name(&self) -> &'static str {
        self.name
    }

    fn knows_memory(&self) -> bool {
        true
    }

    fn decides_each(&self) -> bool {
        self.collects
    }

    fn only_proves(&self) -> bool {
        self.collects
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        match self.steps {
            Some(steps) => {
                let budget = question.own_budget(question.budget.left().min(steps));
                self.explore(&Question { budget: &budget, ..*question })
            }
            None => self.explore(question),
        }
    }
}

impl Abstraction {
    fn explore(&self, question: &Question<'_>) -> Decision {
        let Question { subject, entry, .. } = *question;
        let environment = subject.env().clone();
        match self.domain {
            Domain::Values | Domain::Constants => {
                let joins = self.domain == Domain::Constants;
                let options = ValueOptions {
                    track_everything: !self.refines,
                    joins,
                    refinement: self.refinement,
                    ..subject.value_options(entry)
                };
                let kept = of_values(&options);
                self.run(&Arc::new(ValueAnalysis::new(environment, options)), kept, Some, question)
            }
            Domain::Intervals => {
                let options = IntervalOptions {
                    outcomes: self.outcomes,
                    rounds: self.rounds,
                    ..subject.interval_options(entry)
                };
                let kept = of_intervals(&options);
                let analysis = IntervalAnalysis::new(environment, options);
                if self.rounds
                    && !subject.reachable_from(entry.name).iter().any(|name| analysis.counts(*name))
                {
                    let why = "no loop has a counter that goes up or down to a limit";
                    return Decision::new(Answer::Unknown(Unknown::NotApplicable(why.into())));
                }
                self.run(&Arc::new(analysis), kept, Some, question)
            }
            Domain::Relations | Domain::RelationsByValues
                if !self.whatever_is_asked && !relates(question) =>
            {
                let why = "nothing that is asked is a matter of numbers and of objects of the program";
                Decision::new(Answer::Unknown(Unknown::Unconfirmed(why.into())))
            }
            Domain::Relations => {
                let options = IntervalOptions { outcomes: self.outcomes, ..subject.interval_options(entry) };
                let kept = of_relations(&options);
                let relations = RelationAnalysis::new(environment.clone(), entry);
                let both = (IntervalAnalysis::new(environment, options), relations);
                self.run(&Arc::new(both), kept, |witness| witness.left.or(witness.right), question)
            }
            Domain::RelationsByValues => {
                let values = ValueOptions {
                    track_everything: true,
                    threshold: Some(MOST_VALUES),
                    ..subject.value_options(entry)
                };
                let options = subject.interval_options(entry);
                let kept = of_relations_by_values(&values, &options);
                let relations = RelationAnalysis::new(environment.clone(), entry).with_globals();
                let ranges = IntervalAnalysis::new(environment.clone(), options);
                let all = (ValueAnalysis::new(environment, values), (ranges, relations));
                self.run(&Arc::new(all), kept, |witness| witness.left, question)
            }
            Domain::Shapes | Domain::ThreeValued if !is_linked(question) => {
                let why = "no structures of objects on the heap";
                Decision::new(Answer::Unknown(Unknown::NotApplicable(why.into())))
            }
            Domain::Shapes if self.fold.is_some_and(|fold| fold.trees) && !has_trees(subject.env()) => {
                let why = "no records of which there are trees";
                Decision::new(Answer::Unknown(Unknown::NotApplicable(why.into())))
            }
            Domain::Shapes => {
                let options = subject.shape_options(entry, self.fold);
                let kept = of_shapes(&options);
                let analysis = Arc::new(ShapeAnalysis::new(environment, options));
                self.run(&analysis, kept, Some, question)
            }
            Domain::ThreeValued => match annotations(&self.classes) {
                Ok(annotations) => {
                    let options = subject.three_valued_options(entry, annotations);
                    let kept = of_three_valued(&options);
                    let analysis = Arc::new(ThreeValuedAnalysis::new(environment, options));
                    self.run(&analysis, kept, Some, question)
                }
                Err(line) => {
                    let why = format!("`classes` has a line that is not understood: {line}");
                    Decision::new(Answer::Unknown(Unknown::NotApplicable(why)))
                }
            },
        }
    }
}

/// Ranges of the registers of a function at its locations, for all callers.
pub(super) type Invariants = BTreeMap<(Name, Loc), BTreeMap<LocalId, (i128, i128)>>;

/// What one pass of intervals over everything knows of integer registers.
///
/// # Errors
/// If the pass does not end.
pub(super) fn interval_invariants(question: &Question<'_>) -> Result<Invariants, Unknown> {
    let Question { subject, entry, budget, .. } = *question;
    // Calls of functions that call themselves would be entered again and again.
    let is_recursive = |name: &Name| subject.env().call_graph().is_recursive(*name);
    let recurses = subject.reachable_from(entry.name).iter().any(is_recursive);
    let blocks = if recurses { Blocks::FUNCTIONS } else { Blocks::NONE };
    let (analysis, certificate) = interval_pass(subject, entry, blocks, budget)?;
    let mut known = Invariants::new();
    pass::each_location(&certificate, subject.env(), |function, loc, states| {
        let registers = integer_registers(function, subject.program());
        for (state, _) in states {
            let mut here = BTreeMap::new();
            for (id, load) in &registers {
                if let Abstract::Of(IntervalValue::Int(ranges)) = analysis.value_of(state, function, load) {
                    here.insert(*id, (ranges.lo(), ranges.hi()));
                }
            }
            match known.get_mut(&(function.name, loc)) {
                None => {
                    known.insert((function.name, loc), here);
                }
                Some(all) => widen(all, &here),
            }
        }
        Ok(())
    })?;
    Ok(known)
}

/// Locals whose address is not taken, with how they are read.
pub(super) fn integer_registers(function: &Function, program: &Program) -> Vec<(LocalId, Expr)> {
    let registers = function.locals.iter().enumerate().filter(|(_, local)| !local.address_taken);
    let reads = registers.filter_map(|(i, local)| {
        let scalar = proofline_cfa::scalar_of(local.ty, program.data_model)?;
        let id = LocalId(i as u32);
        Some((id, Expr::Load(Lvalue::local(id, local.ty, scalar, local.size))))
    });
    reads.collect()
}

/// Ranges that hold wherever either does.
pub(super) fn widen(all: &mut BTreeMap<LocalId, (i128, i128)>, here: &BTreeMap<LocalId, (i128, i128)>) {
    all.retain(|id, _| here.contains_key(id));
    for (id, (lo, hi)) in all {
        let (other_lo, other_hi) = here[id];
        (*lo, *hi) = ((*lo).min(other_lo), (*hi).max(other_hi));
    }
}
