//! Bounded search: executes the program symbolically, layer by layer, a layer being what lies between two loop heads or recursive calls.
//! A reachable error gives inputs from the solver's model, which the interpreter confirms. If no layer is left, the program has been
//! searched completely, and what was not found does not exist.

use std::collections::BTreeMap;

use proofline_cfa::{EdgeId, Entry, FloatType, Name, ObligationId, Scalar};
use proofline_cpa::Unknown;
use proofline_encoding::{BlockEnd, Cut, Encoding, Key, LargeBlock, LargeBlockEncoding, MemoryLayout, State};
use proofline_smt::{Limits, Outcome, Solver, Term, Value, Var, build as t};

use super::{Answer, Decision, Engine, Question, session::Session, start};
use crate::{
    counterexample::Counterexample,
    interpret::{self, Choice, Code, Machine, Oracle, Passing},
    subject::Subject,
};

/// Symbolic execution up to a number of layers.
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    /// Layers at most.
    pub layers: u32,
    /// The solver's own units per question.
    pub resource: u32,
    /// How values become terms.
    pub encoding: Encoding,
    /// Asked only where integers know less than bit vectors.
    pub only_beyond_integers: bool,
}

impl Default for Bounded {
    fn default() -> Bounded {
        Bounded {
            layers: 200,
            resource: 4_000_000,
            encoding: Encoding::Integers,
            only_beyond_integers: false,
        }
    }
}

impl Engine for Bounded {
    fn name(&self) -> &'static str {
        "bounded"
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        self.search(question).into()
    }
}

/// Where an input's variable was made: layer, the cut its block began at (none: the entry), instance, edge.
type InputPlace = (u32, Option<Cut>, u32, EdgeId);

impl Bounded {
    fn search(&self, question: &Question<'_>) -> Result<Answer, Unknown> {
        let Question { subject, entry, targets, budget } = *question;
        let environment = &**subject.env();
        if self.only_beyond_integers && !needs_bit_vectors(subject, entry.name) {
            return Err(Unknown::OutOfBudget);
        }
        let layout = MemoryLayout::with_encoding(environment, self.encoding);
        let recursive = subject
            .reachable_from(entry.name)
            .into_iter()
            .filter(|f| environment.call_graph().is_recursive(*f))
            .collect();
        let mut encoder =
            LargeBlockEncoding::new(environment, &layout, entry.name, &recursive, subject.wrapv(), budget)
                .unrolling();
        let session = Session::new(budget)?;
        let mut solver = session.solver(self.encoding);
        let solver = &mut *solver;
        solver.set_limits(Limits { resource: Some(self.resource), millis: Session::millis_left(budget) });
        let mut names = Names { next: 0 };
        let (state, parameters) = initial(subject, &layout, entry, &encoder, &mut names, solver);
        let mut frontier: BTreeMap<Option<Cut>, State> = [(None, state)].into();
        let mut inputs: BTreeMap<InputPlace, Term> = BTreeMap::new();
        let mut incomplete = None;
        for layer in 0..self.layers {
            let mut next: BTreeMap<Cut, State> = BTreeMap::new();
            let mut errors: Vec<(Name, ObligationId, Term)> = Vec::new();
            for (from, state) in std::mem::take(&mut frontier) {
                budget.spend(1000)?;
                let blocks = match from {
                    None => encoder.explore_entry(state)?,
                    Some(cut) => encoder.explore(cut, state)?,
                };
                for (instance, edge, term) in &encoder.inputs {
                    inputs.insert((layer, from, *instance, *edge), *term);
                }
                for LargeBlock { state, end, .. } in blocks {
                    match end {
                        BlockEnd::Cut(cut) => {
                            let merged = match next.remove(&cut) {
                                Some(other) => other.either(state, &mut encoder.fresh),
                                None => state,
                            };
                            next.insert(cut, merged);
                        }
                        BlockEnd::Exit => {}
                        BlockEnd::Error(function, obligation) if targets.contains(function, obligation) => {
                            errors.push((function, obligation, state.guard));
                        }
                        BlockEnd::Error(..) => {}
                        BlockEnd::Unsupported(what) => {
                            incomplete.get_or_insert(Unknown::Unsupported(what.to_string()));
                        }
                        BlockEnd::Enter(name) => {
                            incomplete
                                .get_or_insert(Unknown::InternalError(format!("{name} was not unrolled")));
                        }
                    }
                }
            }
            for (function, obligation, guard) in errors {
                budget.spend(1000)?;
                match solver.check_assuming(&[guard]) {
                    Outcome::Unsat => {}
                    Outcome::Unknown(reason) => {
                        incomplete
                            .get_or_insert(Unknown::Unconfirmed(format!("the solver gave up: {reason}")));
                    }
                    Outcome::Sat => {
                        let asked: Vec<Term> =
                            inputs.values().copied().chain(parameters.iter().copied()).collect();
                        let values = solver.values(&asked);
                        let model = Model {
                            inputs: inputs.keys().copied().zip(values.iter().map(number)).collect(),
                            parameters: values[inputs.len()..].iter().map(number).collect(),
                        };
                        match confirm(question, &encoder, model, self.encoding) {
                            Some(counterexample) => return Ok(Answer::Violated(counterexample)),
                            None => {
                                let name = subject
                                    .program()
                                    .function(function)
                                    .map(|f| f.obligations[obligation.index()].text);
                                incomplete.get_or_insert(Unknown::Unconfirmed(format!(
                                    "`{}` may fail, but the inputs found do not show it",
                                    name.map_or("", |n| n.as_str())
                                )));
                            }
                        }
                    }
                }
            }
            for (cut, state) in next {
                budget.spend(1000)?;
                if solver.check_assuming(&[state.guard]) != Outcome::Unsat {
                    frontier.insert(Some(cut), names.name(state, &encoder.registers(cut), solver));
                }
            }
            if frontier.is_empty() {
                return match incomplete {
                    None => {
                        Ok(Answer::Holds(format!("every execution was searched, {} layers deep", layer + 1)))
                    }
                    Some(why) => Err(why),
                };
            }
        }
        Err(incomplete.unwrap_or(Unknown::OutOfBudget))
    }
}

fn number(value: &Option<Value>) -> i128 {
    let value = match value {
        Some(Value::Int(value)) => i128::try_from(value).ok(),
        // The question's format says whether it is signed.
        Some(Value::BitVec(bits)) => i128::try_from(bits.signed()).ok(),
        Some(Value::Float(float)) => float.to_f64().map(|value| i128::from(value.to_bits())),
        Some(Value::Bool(_) | Value::Array(_)) | None => None,
    };
    value.unwrap_or(0)
}

/// Whether something that can be executed from the entry is only approximated over integers.
pub(super) fn needs_bit_vectors(subject: &Subject, entry: Name) -> bool {
    let reachable = subject.reachable_from(entry);
    let functions: Vec<_> = reachable.iter().filter_map(|name| subject.env().function(*name)).collect();
    proofline_encoding::needs_bit_vectors(subject.env(), entry, &functions)
}

/// Gives values of a layer names, so that formulas of the next one stay small.
pub(super) struct Names {
    pub(super) next: u32,
}

impl Names {
    pub(super) fn fresh(&mut self, sort: proofline_smt::Sort) -> Term {
        self.next += 1;
        t::var(Var::new(&format!("$b{}", self.next), sort))
    }

    pub(super) fn name(&mut self, state: State, live: &[Key], solver: &mut dyn Solver) -> State {
        let mut define = |term: Term, solver: &mut dyn Solver| {
            if term.size() <= 3 {
                return term;
            }
            let variable = self.fresh(term.sort());
            solver.assert(t::eq(variable, term));
            variable
        };
        let guard = define(state.guard, solver);
        let values = state
            .values
            .into_iter()
            .filter(|(key, _)| !matches!(key, Key::Local(..)) || live.contains(key))
            .map(|(key, term)| (key, define(term, solver)))
            .collect();
        State { guard, values }
    }
}

/// The state in which execution begins, and the entry function's parameters.
pub(super) fn initial(
    subject: &Subject,
    layout: &MemoryLayout,
    entry: Entry,
    encoder: &LargeBlockEncoding<'_>,
    names: &mut Names,
    solver: &mut dyn Solver,
) -> (State, Vec<Term>) {
    let mut state = State::top();
    let mut parameters = Vec::new();
    let mut keys = encoder.memory_keys(entry.name);
    if let Some(function) = subject.env().function(entry.name) {
        keys.extend(function.parameters.iter().map(|id| Key::Local(0, *id)));
    }
    for key in keys {
        let variable = names.fresh(start::sort_of_key(subject.env(), layout, key, entry.name));
        for condition in start::initial_condition(subject, layout, entry, key, variable) {
            solver.assert(condition);
        }
        if let Key::Local(..) = key {
            parameters.push(variable);
        }
        state.values.insert(key, variable);
    }
    (state, parameters)
}

/// Values of inputs by the place they were asked for.
struct Model {
    inputs: BTreeMap<InputPlace, i128>,
    parameters: Vec<i128>,
}

/// Follows a run through instances and layers, and answers each question with the model's value for that place.
struct Follower<'f> {
    encoder: &'f LargeBlockEncoding<'f>,
    subject: &'f Subject,
    model: Model,
    layer: u32,
    from: Option<Cut>,
    stack: Vec<u32>,
    at: Option<(u32, EdgeId)>,
    parameters: usize,
    /// Floats have values.
    floats: bool,
}

impl Follower<'_> {
    fn arrive(&mut self, function: Name, loc: proofline_cfa::Loc) {
        let Some(&instance) = self.stack.last() else { return };
        let cut = Cut { instance, loc };
        if self.encoder.instances.function(instance) == function && self.encoder.is_cut_at(cut) {
            self.layer += 1;
            self.from = Some(cut);
        }
    }
}

impl Oracle for Follower<'_> {
    fn hears_edges(&self) -> bool {
        true
    }

    fn passes(&mut self, function: Name, edge: EdgeId, passing: Passing) {
        let Some(body) = self.subject.env().function(function) else { return };
        let Some(&instance) = self.stack.last() else { return };
        match passing {
            Passing::Edge => {
                // The question, if the edge asks one, belongs to where the edge starts.
                self.flush();
                self.at = Some((instance, edge));
            }
            Passing::Enter(callee) => {
                self.flush();
                let Some(child) = self.encoder.child(instance, edge, callee) else {
                    self.stack.clear();
                    return;
                };
                self.stack.push(child);
                if let Some(entry) = self.subject.env().function(callee).map(|f| f.entry) {
                    self.arrive(callee, entry);
                }
            }
            Passing::Leave => {
                self.flush();
                self.stack.pop();
                self.arrive(function, body.edge(edge).to);
            }
        }
    }

    fn choose(&mut self, choice: &Choice) -> i128 {
        if self.at.is_none() && self.stack == [0] && self.parameters < self.model.parameters.len() {
            self.parameters += 1;
            let value = self.model.parameters[self.parameters - 1];
            return match choice.scalar {
                Scalar::Float(_) if !self.floats => 0,
                Scalar::Int(ty) => ty.wrap(value),
                Scalar::Float(_) | Scalar::Pointer => value,
            };
        }
        let Some((instance, edge)) = self.at else { return 0 };
        let value = self.model.inputs.get(&(self.layer, self.from, instance, edge)).copied().unwrap_or(0);
        match choice.scalar {
            Scalar::Int(ty) => ty.wrap(value),
            Scalar::Float(FloatType::F32 | FloatType::F64) if self.floats => value,
            // Stand-in addresses and opaque floats mean nothing to a machine.
            Scalar::Pointer | Scalar::Float(_) => 0,
        }
    }
}

impl Follower<'_> {
    /// The edge noted last has been executed: control is at its target.
    fn flush(&mut self) {
        if let Some((instance, edge)) = self.at.take() {
            let function = self.encoder.instances.function(instance);
            if let Some(body) = self.subject.env().function(function) {
                let target = body.edge(edge).to;
                self.arrive(function, target);
            }
        }
    }
}

fn confirm(
    question: &Question<'_>,
    encoder: &LargeBlockEncoding<'_>,
    model: Model,
    encoding: Encoding,
) -> Option<Counterexample> {
    let Question { subject, entry, targets, .. } = *question;
    let code = Code::new(subject.program());
    let mut follower = Follower {
        encoder,
        subject,
        model,
        layer: 0,
        from: None,
        stack: vec![0],
        at: None,
        parameters: 0,
        floats: encoding.is_bits(),
    };
    if let Some(location) = subject.env().function(entry.name).map(|f| f.entry) {
        follower.arrive(entry.name, location);
    }
    let limits = interpret::Limits { steps: 5_000_000, ..interpret::Limits::default() };
    let run = Machine::new(&code, follower, limits).run(entry);
    Counterexample::of(&run, entry, targets)
}
