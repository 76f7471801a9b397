//! Analyses of programs without recursion, inside of CPArec: what each proves, and what it then knows where calls of the recursive functions are entered
//! and left. Knows no unwinding and no summaries.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Entry, Expr, Function, Name, ObligationId, Scalar};
use proofline_cpa::{
    BlockCpa, Certificate, Checker, Config, Outcome, Refine, Unknown,
    bam::{Blocks, MemoryStore},
};
use proofline_domains::{
    IntervalAnalysis, PredicateAnalysis, PredicateOptions, ValueAnalysis, ValueOptions,
    interval::IntervalValue,
    predicate::{Trial, WitnessInputs},
    store::Abstract,
    value::ExplicitValue,
};
use proofline_program_analysis::Environment;
use proofline_smt::{Term, Var, build as t, rewrite::rename};
use serde::Deserialize;

use super::{
    super::{Question, concrete, predicate::Settings, witness},
    summary::{Interface, Pair, after, before, global_place, input, local_place, output},
    unwound::{original, original_path},
};
use crate::{
    counterexample::Counterexample,
    pass::{self, reachability},
};

/// What `configurations.yml` says of one.
#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub(in super::super) enum Inner {
    /// Predicates.
    Predicate(Settings),
    /// Ranges.
    Intervals,
    /// Explicit values, with refinement.
    Values,
}

/// What an inner analysis is asked.
pub(super) struct Task<'t> {
    pub(super) env: Arc<Environment>,
    pub(super) entry: Entry,
    pub(super) targets: BTreeSet<(Name, ObligationId)>,
    /// The functions of the program that a function of this one is a copy of.
    pub(super) origins: &'t BTreeMap<Name, Name>,
    pub(super) interfaces: &'t BTreeMap<Name, Interface>,
    /// What is asked about the program itself. `None`: a path to a target means nothing for it.
    pub(super) question: &'t Question<'t>,
    pub(super) is_program: bool,
}

/// What an inner analysis says.
pub(super) enum Ran {
    /// No target is reached, which was certified; what is known of calls.
    Holds(BTreeSet<Pair>),
    /// A target may be reached; with a run of the program that does, if one was found.
    Reached(Option<Counterexample>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Entry,
    Exit,
}

impl Inner {
    pub(super) fn run(&self, task: &Task<'_>) -> Result<Ran, Unknown> {
        let Task { env, question, entry, .. } = task;
        let subject = question.subject;
        match self {
            Inner::Predicate(settings) => {
                let usual = settings.options(question);
                // Candidates are about copies; the program itself is run.
                let origins = task.origins.clone();
                let trial = usual.trial.clone().filter(|_| task.is_program);
                let trial = trial
                    .map(|Trial(run)| Trial(Arc::new(move |candidate| run(&original(candidate, &origins)))));
                let targets = Some(task.targets.clone());
                let options = PredicateOptions { entry: *entry, targets, trial, ..usual };
                let analysis = PredicateAnalysis::new(env.clone(), options)
                    .map_err(|mismatch| Unknown::InternalError(mismatch.to_string()))?;
                let read =
                    |state: &_, function: &Function, _| read_predicates(&analysis, task, state, function);
                task.explore(&analysis, true, &read, |mut witness| {
                    if let WitnessInputs::Candidate(candidate) = &mut witness.inputs {
                        *candidate = original(candidate, task.origins);
                    }
                    Ok(witness::confirm(question, &witness))
                })
            }
            Inner::Intervals => {
                let options = subject.interval_options(*entry);
                let analysis = IntervalAnalysis::new(env.clone(), options);
                let value = |state: &_, function: &Function, read: &Expr| {
                    let Abstract::Of(IntervalValue::Int(ranges)) = analysis.value_of(state, function, read)
                    else {
                        return None;
                    };
                    Some((ranges.lo(), ranges.hi()))
                };
                let read = |state: &_, function: &Function, moment| {
                    task.read_ranges(function, moment, &|expr| value(state, function, expr))
                };
                task.explore(&analysis, false, &read, |path| task.follow(path))
            }
            Inner::Values => {
                let options = ValueOptions { ..subject.value_options(*entry) };
                let analysis = ValueAnalysis::new(env.clone(), options);
                let value = |state: &_, function: &Function, read: &Expr| {
                    let Abstract::Of(ExplicitValue::Int(value)) = analysis.value_of(state, function, read)
                    else {
                        return None;
                    };
                    Some((value, value))
                };
                let read = |state: &_, function: &Function, moment| {
                    task.read_ranges(function, moment, &|expr| value(state, function, expr))
                };
                task.explore(&analysis, true, &read, |path| task.follow(path))
            }
        }
    }
}

impl Task<'_> {
    fn origin(&self, name: Name) -> Name {
        self.origins.get(&name).copied().unwrap_or(name)
    }

    fn follow(&self, path: proofline_cpa::Path) -> Result<Option<Counterexample>, Unknown> {
        concrete::follow(self.question, &original_path(&path, self.origins))
    }

    fn explore<A: BlockCpa + Refine>(
        &self,
        analysis: &A,
        refines: bool,
        read: &dyn Fn(&A::State, &Function, Moment) -> Term,
        confirm: impl FnOnce(A::Witness) -> Result<Option<Counterexample>, Unknown>,
    ) -> Result<Ran, Unknown> {
        let config = Config { blocks: Blocks::NONE, cegar: refines, certificate: true, ..Config::default() };
        let (env, budget) = (&*self.env, self.question.budget);
        let run = reachability(env, self.entry, config, self.targets.clone());
        let mut checker = Checker::new(analysis, &run, None, MemoryStore::default())?;
        match checker.run(budget) {
            Outcome::Unknown(why) => Err(why),
            Outcome::Reaches(_) if !self.is_program => Ok(Ran::Reached(None)),
            Outcome::Reaches(witness) => Ok(Ran::Reached(confirm(witness)?)),
            Outcome::Holds => {
                let certificate = pass::certified(checker, analysis, env, self.entry, budget)?;
                Ok(Ran::Holds(self.pairs(&certificate, read)))
            }
        }
    }

    /// What is known where the outermost call of each recursive function is entered and left, call by call: calls within others do less than the
    /// function does, for those below them do not return.
    fn pairs<A: BlockCpa>(
        &self,
        certificate: &Certificate<A>,
        read: &dyn Fn(&A::State, &Function, Moment) -> Term,
    ) -> BTreeSet<Pair> {
        let mut pairs = BTreeSet::new();
        for block in &certificate.abstractions {
            for (index, context) in block.contexts.iter().enumerate() {
                let name = self.origin(context.function);
                let Some(function) = self.env.function(context.function) else { continue };
                if !self.interfaces.contains_key(&name) {
                    continue;
                }
                let mut around = context.call.as_ref().map(|call| call.caller);
                let mut is_outermost = true;
                while let Some(frame) = around.and_then(|id| block.contexts.get(id.index())) {
                    is_outermost &= self.origin(frame.function) != name;
                    around = frame.call.as_ref().map(|call| call.caller);
                }
                if !is_outermost {
                    continue;
                }
                let known = |loc, moment| {
                    let at = block
                        .states
                        .iter()
                        .filter(|(point, _)| point.context.index() == index && point.loc == loc);
                    t::or(at.flat_map(|(_, states)| states).map(|(state, _)| read(state, function, moment)))
                };
                let (entry, exit) =
                    (known(function.entry, Moment::Entry), known(function.exit, Moment::Exit));
                pairs.insert(Pair { function: name, entry, exit });
            }
        }
        pairs
    }

    /// Ranges of what goes in or comes out.
    fn read_ranges(
        &self,
        function: &Function,
        moment: Moment,
        value: &dyn Fn(&Expr) -> Option<(i128, i128)>,
    ) -> Term {
        let Some(interface) = self.interfaces.get(&self.origin(function.name)) else { return t::bool(true) };
        let program = self.env.program();
        let mut asked: Vec<(Var, Option<proofline_cfa::Lvalue>)> = Vec::new();
        match moment {
            Moment::Entry => {
                let parameters = interface.parameters.iter().enumerate();
                asked.extend(parameters.map(|(i, id)| (input(i), local_place(program, function, *id))));
                let globals = interface.integers.intersection(&interface.read);
                asked.extend(globals.map(|name| (before(*name), global_place(program, *name))));
            }
            Moment::Exit => {
                asked.extend(interface.result.map(|id| (output(), local_place(program, function, id))));
                let globals = interface.integers.intersection(&interface.written);
                asked.extend(globals.map(|name| (after(*name), global_place(program, *name))));
            }
        }
        let mut known = Vec::new();
        for (var, place) in asked {
            let Some(place) = place else { continue };
            let Some(Scalar::Int(ty)) = place.scalar else { continue };
            if let Some((low, high)) = value(&Expr::Load(place)) {
                known.extend((low > ty.min()).then(|| t::le(t::int(low), t::var(var))));
                known.extend((high < ty.max()).then(|| t::le(t::var(var), t::int(high))));
            }
        }
        t::and(known)
    }
}

/// The abstraction of a state, over what goes in and comes out.
fn read_predicates(
    analysis: &PredicateAnalysis,
    task: &Task<'_>,
    state: &proofline_domains::predicate::PredicateState,
    function: &Function,
) -> Term {
    use proofline_encoding::Key;
    let Some(interface) = task.interfaces.get(&task.origin(function.name)) else { return t::bool(true) };
    let global = |key: Key| match key {
        Key::Cell(proofline_cfa::Object::Global(name), 0, _) if interface.integers.contains(&name) => {
            Some(name)
        }
        Key::Cell(..) | Key::Elements(..) | Key::Local(..) => None,
    };
    let mut names: BTreeMap<Var, Var> = BTreeMap::new();
    for (key, var) in analysis.results(function.name) {
        names.extend(match key {
            Key::Local(_, id) => (Some(id) == interface.result).then(|| (var, output())),
            Key::Cell(..) | Key::Elements(..) => global(key).map(|name| (var, after(name))),
        });
    }
    // What never changes has one variable for both.
    for (key, var) in analysis.inputs(function.name) {
        let parameter = |id| interface.parameters.iter().position(|parameter| *parameter == id);
        names.extend(match key {
            Key::Local(_, id) => parameter(id).map(|index| (var, input(index))),
            Key::Cell(..) | Key::Elements(..) => global(key).map(|name| (var, before(name))),
        });
    }
    rename(state.abstraction(), |var| names.get(&var).copied().unwrap_or(var))
}
