//! Constrained Horn clauses: the program as rules over unknown predicates, one per loop head and a pair (before, after) per recursive
//! function; Spacer finds the predicates, which are invariants and summaries. Calls that do not recurse are inlined.
//!
//! `Holds` rests on a solution that the solver re-checked rule by rule, of the clauses as they were viewed; that it gives one of the
//! program's own is the law of each view. A refutation is only a candidate here.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use proofline_cfa::{Entry, Function, Loc, Name, Object, ObligationId};
use proofline_cpa::{Budget, Unknown};
use proofline_encoding::{
    BlockEnd, Cut, Encoding, Key, LargeBlock, LargeBlockEncoding, MemoryLayout, State, in_range,
};
use proofline_program_analysis::{Callees, Environment};
use proofline_smt::{
    Limits, Reason, Sort, Term, Var, build as t,
    horn::{Atom, Cells, HornOptions, HornOutcome, HornSystem, PredId, Solution, argument, solve_with},
};

use super::{
    Answer, Decision, Engine, Question, Targets,
    known::{Known, int_type},
    old_invariants,
    session::Session,
    start,
};
use crate::subject::Subject;

/// The solver's units that a step of writing rules is worth.
pub(super) const UNITS_PER_STEP: u32 = 20;

/// Spacer over the whole program.
#[derive(Clone, Debug)]
pub struct Horn {
    /// The solver's own units, for each view.
    pub resource: u32,
    /// Of clauses about arrays: the solver does not count most of its work on them.
    pub with_arrays: u32,
    /// What is solved, in this order.
    pub views: Vec<View>,
    /// What a pass of cheap domains knows is taken for granted.
    pub knows: bool,
}

/// How the clauses are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// As they are.
    Plain,
    /// Instead of each array some of its cells, and any numbers for large constants: finds what holds of every element.
    Cells(Cells),
}

impl Engine for Horn {
    fn name(&self) -> &'static str {
        "horn"
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        let mut reason = Unknown::OutOfBudget;
        for view in &self.views {
            match self.ask(*view, question) {
                Ok(answer) => return Decision::new(answer),
                Err(why) => reason = why,
            }
            // No other view has arrays either.
            if reason == no_arrays() || question.budget.spend(1000).is_err() {
                break;
            }
        }
        Decision::new(Answer::Unknown(reason))
    }
}

pub(super) fn no_arrays() -> Unknown {
    Unknown::NotApplicable("there are no arrays to look into".into())
}

impl Horn {
    fn ask(&self, view: View, question: &Question<'_>) -> Result<Answer, Unknown> {
        let budget = question.budget;
        let layout = MemoryLayout::new(question.subject.env()).placing_once(question.subject.env());
        let arrays = view != View::Plain;
        // What a brief question may cost, its rules may not exceed.
        let steps = match view {
            View::Plain => u64::from(self.resource / UNITS_PER_STEP).min(budget.left()),
            View::Cells(_) => budget.left(),
        };
        let own = question.own_budget(steps);
        let known = if self.knows { Some(question.known()?) } else { None };
        let built = Clauses::build(&Question { budget: &own, ..*question }, &layout, arrays, known);
        budget.spend(steps - own.left())?;
        let Built { mut system, shape, taken, .. } = built?;
        if let View::Cells(cells) = view {
            system = system.about(cells).ok_or_else(no_arrays)?.system;
            system = system.for_any_numbers().unwrap_or(system);
        }
        let session = Session::new(budget)?;
        let limits = self.limits(&system, budget);
        let options = HornOptions { limits, guided: arrays, ..HornOptions::default() };
        match solve_with(&session.z3, &system, options) {
            HornOutcome::Solved(solution) => {
                if view == View::Plain {
                    old_invariants::keep(question, &shape, &taken, &solution);
                }
                Ok(Answer::Holds("inductive invariants found and re-checked".into()))
            }
            HornOutcome::Refuted(_) => {
                let why = "a way to the mistake was found on which bits, floating point or memory are not known exactly";
                Err(Unknown::Unconfirmed(why.into()))
            }
            HornOutcome::Unknown(Reason::Limit) => Err(Unknown::OutOfBudget),
            HornOutcome::Unknown(Reason::Interrupted) => Err(Session::interrupted(budget)),
            HornOutcome::Unknown(reason) => {
                // The solver goes on with the rule that it did not like, pages long.
                let said = reason.to_string();
                Err(Unknown::NoProgress(in_plain_words(said.split(" in rule").next().unwrap_or_default())))
            }
        }
    }

    /// The solver's units keep the answer the same everywhere; a deadline of the caller ends it in any case.
    fn limits(&self, system: &HornSystem, budget: &Budget) -> Limits {
        let sorts = system.predicates.iter().flat_map(|predicate| &predicate.sorts);
        let has_arrays = sorts.into_iter().any(|sort| matches!(sort, Sort::Array(..)));
        match has_arrays {
            // The steps that are left are worth fewer units, too.
            true => Session::limits(self.with_arrays.min(Session::units(budget) / 10), budget),
            false => Session::limits(self.resource, budget),
        }
    }
}

/// What the solver says, for people who know C and no solver.
fn in_plain_words(said: &str) -> String {
    match said.split('\'').nth(1) {
        Some(operator) if said.starts_with("Uninterpreted") => {
            format!("`{operator}` of two variables is too hard for the solver")
        }
        _ => said.to_owned(),
    }
}

/// Turns a program into rules.
pub(super) struct Clauses<'c> {
    environment: &'c Environment,
    layout: &'c MemoryLayout,
    system: HornSystem,
    /// Predicate and keys: at the entry of a root.
    before: BTreeMap<Name, (PredId, Vec<Key>)>,
    /// At the exit of a summarised function: the keys at entry, then those at exit.
    after: BTreeMap<Name, (PredId, Vec<Key>)>,
    targets: &'c Targets,
    /// Arrays of activations are kept at loop heads.
    arrays: bool,
    goals: Goals,
    shape: Shape,
    /// Somebody may want the shape.
    names_arguments: bool,
    /// What is taken for granted.
    known: Option<Arc<Known>>,
    taken: Taken,
    /// Of instances, by the root.
    paths: BTreeMap<(Name, u32), Rc<str>>,
}

/// The rules of a program.
pub(super) struct Built {
    pub(super) system: HornSystem,
    pub(super) goals: Goals,
    pub(super) shape: Shape,
    pub(super) taken: Taken,
}

/// What is taken for granted of the arguments of predicates, over [`argument`] variables. A solution holds together with it.
pub(super) type Taken = BTreeMap<PredId, Term>;

/// What each predicate and its arguments are about, in words that mean the same in another text: names of functions and variables, and how many
/// calls or loops come before.
pub(super) type Shape = Vec<(String, Vec<String>)>;

/// What the rules without head stand for: an obligation, or (`None`) a construct that must not be reached.
pub(super) type Goals = BTreeMap<usize, Option<(Name, ObligationId)>>;

impl<'c> Clauses<'c> {
    pub(super) fn build(
        question: &Question<'c>,
        layout: &'c MemoryLayout,
        arrays: bool,
        known: Option<Arc<Known>>,
    ) -> Result<Built, Unknown> {
        let Question { subject, entry, targets, budget, .. } = *question;
        let environment = &**subject.env();
        let reachable = subject.reachable_from(entry.name);
        let summarised: BTreeSet<Name> =
            reachable.iter().copied().filter(|name| environment.call_graph().is_recursive(*name)).collect();
        let mut roots: Vec<Name> = vec![entry.name];
        roots.extend(summarised.iter().copied().filter(|name| *name != entry.name));
        let mut clauses = Clauses {
            environment,
            layout,
            system: HornSystem::default(),
            before: BTreeMap::new(),
            after: BTreeMap::new(),
            targets,
            arrays,
            goals: Goals::new(),
            shape: Shape::new(),
            names_arguments: subject.summaries().is_some() && !arrays,
            known,
            taken: Taken::new(),
            paths: BTreeMap::new(),
        };
        for &root in &roots {
            let encoder =
                LargeBlockEncoding::new(environment, layout, root, &summarised, subject.wrapv(), budget);
            clauses.declare(root, &encoder, summarised.contains(&root));
        }
        clauses.initial(subject, entry)?;
        for &root in &roots {
            let mut encoder =
                LargeBlockEncoding::new(environment, layout, root, &summarised, subject.wrapv(), budget);
            clauses.root(root, &mut encoder)?;
        }
        Ok(Built { system: clauses.system, goals: clauses.goals, shape: clauses.shape, taken: clauses.taken })
    }

    fn declare(&mut self, root: Name, encoder: &LargeBlockEncoding<'_>, is_summarised: bool) {
        let Some(function) = self.environment.function(root) else { return };
        let mut keys: Vec<Key> = function
            .parameters
            .iter()
            .filter(|id| is_register(function, **id))
            .map(|id| Key::Local(0, *id))
            .collect();
        let memory = encoder.memory_keys(root);
        keys.extend(memory.iter().copied());
        let id = self.predicate(&format!("before {root}"), encoder, &keys, &[]);
        self.take(id, (root, function.entry), (0, 0), &keys);
        if is_summarised {
            let written = self.environment.writes(root);
            let mut result: Vec<Key> = memory
                .into_iter()
                .filter(|key| object_of(*key).is_some_and(|o| written.contains(&o)))
                .collect();
            result.extend(
                function.result.filter(|slot| is_register(function, *slot)).map(|slot| Key::Local(0, slot)),
            );
            let after = self.predicate(&format!("after {root}"), encoder, &keys, &result);
            self.after.insert(root, (after, result));
        }
        self.before.insert(root, (id, keys));
    }

    /// A predicate over what `keys` were at the entry and what `more` are here.
    fn predicate(
        &mut self,
        name: &str,
        encoder: &LargeBlockEncoding<'_>,
        keys: &[Key],
        more: &[Key],
    ) -> PredId {
        let sorts: Vec<Sort> = keys.iter().chain(more).map(|key| key.sort()).collect();
        if self.names_arguments {
            let mut arguments = Vec::new();
            for key in keys {
                arguments.push(format!("entry {}", self.about(encoder, *key)));
            }
            for key in more {
                arguments.push(self.about(encoder, *key));
            }
            self.shape.push((name.to_owned(), arguments));
        }
        self.system.predicate(name, &sorts)
    }

    /// What a key is about.
    fn about(&mut self, encoder: &LargeBlockEncoding<'_>, key: Key) -> String {
        match key {
            Key::Local(instance, id) => {
                let function = self.environment.function(encoder.instances.function(instance));
                let name = function.map_or("", |function| function.local(id).name.as_str());
                format!("{}.{name}", self.path(encoder, instance))
            }
            Key::Cell(..) | Key::Elements(..) => format!("{key:?}"),
        }
    }

    /// An inlined instance: its function, and by which of the calls of it in the caller it is there.
    fn path(&mut self, encoder: &LargeBlockEncoding<'_>, instance: u32) -> Rc<str> {
        let of = (encoder.instances.function(0), instance);
        if let Some(known) = self.paths.get(&of) {
            return known.clone();
        }
        let function = encoder.instances.function(instance);
        let path: Rc<str> = match encoder.instances.parent(instance) {
            None => function.as_str().into(),
            Some((parent, edge)) => {
                let calls = self.environment.call_graph().calls(encoder.instances.function(parent));
                let is_before = |at, callees: &Callees| at < edge && callees.functions.contains(&function);
                let before = calls.filter(|(at, callees)| is_before(*at, callees)).count();
                format!("{}/{function}#{before}", self.path(encoder, parent)).into()
            }
        };
        self.paths.insert(of, path.clone());
        path
    }

    /// A cut point: which loop of its function, or behind how many calls.
    fn place(&mut self, encoder: &LargeBlockEncoding<'_>, cut: Cut) -> String {
        let name = encoder.instances.function(cut.instance);
        let structure = self.environment.structure(name);
        let of_loop = structure.loops().iter().filter(|one| one.head < cut.loc).count();
        let which = match structure.loop_at(cut.loc) {
            Some(_) => format!("loop {of_loop}"),
            None => {
                let function = self.environment.function(name);
                let calls = self.environment.call_graph().calls(name);
                let is_before = |edge| function.is_some_and(|f| f.edge(edge).from < cut.loc);
                format!("call {}", calls.filter(|(edge, _)| is_before(*edge)).count())
            }
        };
        format!("{} {which}", self.path(encoder, cut.instance))
    }

    /// How execution begins.
    fn initial(&mut self, subject: &Subject, entry: Entry) -> Result<(), Unknown> {
        let Some((id, keys)) = self.before.get(&entry.name).cloned() else {
            return Err(Unknown::Unsupported(format!("{entry} has no body")));
        };
        let mut guard = Vec::new();
        let mut arguments = Vec::new();
        for (i, key) in keys.iter().enumerate() {
            let variable = t::var(Var::new(&format!("i{i}"), key.sort()));
            guard.extend(start::initial_condition(subject, self.layout, entry, *key, variable));
            arguments.push(variable);
        }
        self.system.rule(Vec::new(), t::and(guard), Some(Atom { predicate: id, args: arguments }));
        Ok(())
    }

    /// The rules of one root.
    fn root(&mut self, root: Name, encoder: &mut LargeBlockEncoding<'_>) -> Result<(), Unknown> {
        let (before, keys) = self.before[&root].clone();
        let ghosts: Vec<Term> =
            keys.iter().enumerate().map(|(i, key)| t::var(Var::new(&format!("g{i}"), key.sort()))).collect();
        let has_summary = self.after.contains_key(&root);
        let mut cuts: BTreeMap<Cut, (PredId, Vec<Key>)> = BTreeMap::new();
        let mut open: Vec<Option<Cut>> = vec![None];
        while let Some(from) = open.pop() {
            let mut state = State::top();
            let (body, explored) = match from {
                None => {
                    self.name_values(&mut state, &keys, &ghosts, encoder);
                    self.assume_known(&mut state, before, &ghosts);
                    ((before, ghosts.clone()), encoder.explore_entry(state)?)
                }
                Some(cut) => {
                    let (id, keys) = cuts[&cut].clone();
                    let values: Vec<Term> = keys
                        .iter()
                        .enumerate()
                        .map(|(i, key)| t::var(Var::new(&format!("v{i}"), key.sort())))
                        .collect();
                    self.name_values(&mut state, &keys, &values, encoder);
                    let mut arguments = if has_summary { ghosts.clone() } else { Vec::new() };
                    arguments.extend(values);
                    self.assume_known(&mut state, id, &arguments);
                    ((id, arguments), encoder.explore(cut, state)?)
                }
            };
            for block in explored {
                if let BlockEnd::Cut(cut) = block.end
                    && !cuts.contains_key(&cut)
                {
                    let keys = encoder.keys(cut, self.arrays);
                    let name = self.place(encoder, cut);
                    let ghosts = if has_summary { self.before[&root].1.clone() } else { Vec::new() };
                    let id = self.predicate(&name, encoder, &ghosts, &keys);
                    let function = encoder.instances.function(cut.instance);
                    self.take(id, (function, cut.loc), (cut.instance, ghosts.len()), &keys);
                    cuts.insert(cut, (id, keys));
                    open.push(Some(cut));
                }
                self.rule(root, &body, &ghosts, has_summary, &cuts, block, encoder)?;
            }
            if cuts.len() > 2000 {
                return Err(Unknown::Unsupported("too many loops after inlining".into()));
            }
        }
        Ok(())
    }

    /// What is known at a place, of the arguments of its predicate: those behind the first ones stand for these keys, and what is known is about an
    /// instance's registers.
    fn take(
        &mut self,
        id: PredId,
        (function, loc): (Name, Loc),
        (instance, first): (u32, usize),
        keys: &[Key],
    ) {
        let Some(known) = &self.known else { return };
        let at = |id| keys.iter().position(|key| *key == Key::Local(instance, id));
        let term = |id| at(id).map(|at| t::var(argument(first + at, keys[at].sort())));
        let type_of = |id| int_type(self.environment, function, id);
        let conditions = known.conditions(Encoding::Integers, (function, loc), &term, &type_of);
        if !conditions.is_empty() {
            self.taken.insert(id, t::and(conditions));
        }
    }

    fn assume_known(&self, state: &mut State, id: PredId, arguments: &[Term]) {
        if let Some(taken) = self.taken.get(&id) {
            state.assume(Solution::apply(*taken, arguments));
        }
    }

    /// Names the values at a block's beginning; they are in range, whatever the solver finds.
    fn name_values(
        &self,
        state: &mut State,
        keys: &[Key],
        values: &[Term],
        encoder: &LargeBlockEncoding<'_>,
    ) {
        for (key, value) in keys.iter().zip(values) {
            let instance = if let Key::Local(instance, _) = key { *instance } else { 0 };
            let function = encoder.instances.function(instance);
            if let Some(scalar) = start::scalar_of_key(self.environment, *key, function) {
                state.assume(in_range(*value, scalar));
            }
            state.values.insert(*key, *value);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one call site; everything a rule is made of")]
    fn rule(
        &mut self,
        root: Name,
        body: &(PredId, Vec<Term>),
        ghosts: &[Term],
        has_summary: bool,
        cuts: &BTreeMap<Cut, (PredId, Vec<Key>)>,
        block: LargeBlock,
        encoder: &mut LargeBlockEncoding<'_>,
    ) -> Result<(), Unknown> {
        let mut value = |state: &State, key: Key| -> Term {
            match state.values.get(&key) {
                Some(&term) => term,
                None => encoder.fresh.variable(key.sort()),
            }
        };
        let mut bodies = vec![body.clone()];
        if let Some(applied) = &block.applied {
            let Some((id, result)) = self.after.get(&applied.callee) else { return Ok(()) };
            let (_, keys) = &self.before[&applied.callee];
            let before = State { guard: t::bool(true), values: applied.before.clone() };
            let after = State { guard: t::bool(true), values: applied.after.clone() };
            let mut arguments: Vec<Term> = keys.iter().map(|key| value(&before, *key)).collect();
            arguments.extend(result.iter().map(|key| value(&after, *key)));
            bodies.push((*id, arguments));
        }
        let state = &block.state;
        let head = match block.end {
            BlockEnd::Cut(cut) => {
                let (id, keys) = &cuts[&cut];
                let mut arguments = if has_summary { ghosts.to_vec() } else { Vec::new() };
                arguments.extend(keys.iter().map(|key| value(state, *key)));
                Some((*id, arguments))
            }
            BlockEnd::Exit => match self.after.get(&root) {
                None => return Ok(()),
                Some((id, keys)) => {
                    let mut arguments = ghosts.to_vec();
                    arguments.extend(keys.iter().map(|key| value(state, *key)));
                    Some((*id, arguments))
                }
            },
            BlockEnd::Enter(callee) => {
                let (id, keys) = &self.before[&callee];
                Some((*id, keys.iter().map(|key| value(state, *key)).collect()))
            }
            BlockEnd::Error(function, obligation) => {
                if !self.targets.contains(function, obligation) {
                    return Ok(());
                }
                self.goals.insert(self.system.rules.len(), Some((function, obligation)));
                None
            }
            BlockEnd::Unsupported(what) => {
                // Only an unreachable one does no harm.
                if what.as_str().is_empty() {
                    return Err(Unknown::Unsupported("a construct without a name".into()));
                }
                self.goals.insert(self.system.rules.len(), None);
                None
            }
        };
        let atom = |(predicate, args)| Atom { predicate, args };
        self.system.rule(bodies.into_iter().map(atom).collect(), state.guard, head.map(atom));
        Ok(())
    }
}

fn is_register(function: &Function, id: proofline_cfa::LocalId) -> bool {
    let local = function.local(id);
    local.ty.is_scalar() && !local.address_taken
}

fn object_of(key: Key) -> Option<Object> {
    match key {
        Key::Cell(object, ..) | Key::Elements(object, ..) => Some(object),
        Key::Local(..) => None,
    }
}
