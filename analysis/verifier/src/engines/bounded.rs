//! Bounded search: executes the program symbolically, layer by layer, a layer being what lies between two loop heads or recursive calls.
//! A reachable error gives inputs from the solver's model, which the interpreter confirms. If no layer is left, the program has been
//! searched completely, and what was not found does not exist.

use std::collections::BTreeMap;

use proofline_cfa::{EdgeId, Entry, FloatType, Name, ObligationId, Scalar};
use proofline_cpa::Unknown;
use proofline_encoding::{
    BlockEnd, Cut, Encoding, InputPlace, Key, LAYER_STATE_COST, LargeBlockEncoding, Layer, MemoryLayout,
    State, Unrolling,
};
use proofline_smt::{Outcome, Solver, Term, Value, second_eye};

use super::{
    Answer, Decision, Engine, Question, horn::UNITS_PER_STEP, session::Session, start,
    witness::also_with_full_reads,
};
use crate::{
    counterexample::Counterexample,
    interpret::{self, Choice, Machine, Oracle, Passing},
    subject::Subject,
};

/// Symbolic execution up to a number of layers.
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    /// Layers at most.
    pub layers: u32,
    /// The solver's own units per question.
    pub resource: u32,
    /// Ends when the solver has given up so often.
    pub give_ups: u32,
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
            give_ups: u32::MAX,
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
        // A search that comes to its end rests on everything that it asked.
        second_eye::certifying(|| self.search(question)).into()
    }
}

impl Bounded {
    fn search(&self, question: &Question<'_>) -> Result<Answer, Unknown> {
        let Question { subject, entry, budget, .. } = *question;
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
        let encoder =
            LargeBlockEncoding::new(environment, &layout, entry.name, &recursive, subject.wrapv(), budget)
                .unrolling();
        let session = Session::new(budget)?;
        let mut solver = session.solver(self.encoding);
        let solver = &mut *solver;
        solver.set_limits(Session::limits(self.resource, budget));
        let mut unrolling = Unrolling::new(encoder, budget);
        let (state, parameters) = initial(subject, &layout, entry, &mut unrolling, solver);
        unrolling.begin(None, state);
        let encoding = self.encoding;
        let mut search = Search {
            question,
            encoding,
            unrolling,
            parameters,
            inputs: BTreeMap::new(),
            incomplete: None,
            give_ups: 0,
        };
        let mut gave_up = 0;
        let searched = question.searched(encoding);
        for depth in 0..self.layers {
            let layer = search.unrolling.layer()?;
            let errors = search.errors(depth, layer);
            // An engine before this one has asked about these.
            let errors = if depth < searched { Vec::new() } else { errors };
            for (function, obligation, guard) in errors {
                budget.spend(LAYER_STATE_COST)?;
                if let Some(counterexample) = search.violation((function, obligation), depth, guard, solver) {
                    return Ok(Answer::Violated(counterexample));
                }
                // A question that the solver could not answer has cost more than a state.
                if search.give_ups > gave_up {
                    gave_up = search.give_ups;
                    budget.spend(u64::from(self.resource / UNITS_PER_STEP))?;
                }
                if search.give_ups >= self.give_ups {
                    return Err(search.incomplete.unwrap_or(Unknown::OutOfBudget));
                }
            }
            if search.incomplete.is_none() {
                question.has_searched(encoding, depth + 1);
            }
            if !search.unrolling.advance(solver)? {
                let layers = depth + 1;
                let searched = format!("every execution was searched, {layers} layers deep");
                return search.incomplete.map_or(Ok(Answer::Holds(searched)), Err);
            }
        }
        Err(search.incomplete.unwrap_or(Unknown::OutOfBudget))
    }
}

/// A search under way.
struct Search<'s> {
    question: &'s Question<'s>,
    encoding: Encoding,
    unrolling: Unrolling<'s>,
    /// The entry function's parameters.
    parameters: Vec<Term>,
    /// Inputs by layer and place.
    inputs: BTreeMap<(u32, InputPlace), Term>,
    /// Why the search would prove nothing even if it came to its end.
    incomplete: Option<Unknown>,
    /// How often the solver has given up.
    give_ups: u32,
}

impl Search<'_> {
    /// Notes a layer's inputs and what it does not cover; the errors that are asked about, each with the condition for it.
    fn errors(&mut self, depth: u32, layer: Layer) -> Vec<(Name, ObligationId, Term)> {
        self.inputs.extend(layer.inputs.into_iter().map(|(place, term)| ((depth, place), term)));
        let mut errors = Vec::new();
        for (end, guard) in layer.ends {
            match end {
                BlockEnd::Error(function, obligation) => {
                    if self.question.targets.contains(function, obligation) {
                        errors.push((function, obligation, guard));
                    }
                }
                BlockEnd::Unsupported(what) => self.misses(Unknown::Unsupported(what.to_string())),
                BlockEnd::Enter(name) => {
                    self.misses(Unknown::InternalError(format!("{name} was not unrolled")));
                }
                BlockEnd::Cut(_) | BlockEnd::Exit => {}
            }
        }
        errors
    }

    fn misses(&mut self, why: Unknown) {
        self.incomplete.get_or_insert(why);
    }

    /// Whether an error is reached: the inputs of a model are run.
    fn violation(
        &mut self,
        (function, obligation): (Name, ObligationId),
        depth: u32,
        guard: Term,
        solver: &mut dyn Solver,
    ) -> Option<Counterexample> {
        match solver.check_assuming(&[guard]) {
            Outcome::Unsat => return None,
            Outcome::Unknown(reason) => {
                self.give_ups += 1;
                self.misses(Unknown::Unconfirmed(format!("the solver gave up: {reason}")));
                return None;
            }
            Outcome::Sat => {}
        }
        let asked: Vec<Term> = self.inputs.values().chain(&self.parameters).copied().collect();
        let values = solver.values(&asked);
        let model = Model {
            inputs: self.inputs.keys().copied().zip(values.iter().map(number)).collect(),
            parameters: values[self.inputs.len()..].iter().map(number).collect(),
        };
        let confirmed = confirm(self.question, self.unrolling.encoder(), model, (self.encoding, depth + 1));
        if confirmed.is_none() {
            let function = self.question.subject.program().function(function);
            let text = function.map(|f| f.obligations[obligation.index()].text);
            self.misses(Unknown::Unconfirmed(format!(
                "`{}` may fail, but the inputs found do not show it",
                text.map_or("", |text| text.as_str())
            )));
        }
        confirmed
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

/// The state in which execution begins, and the entry function's parameters.
pub(super) fn initial(
    subject: &Subject,
    layout: &MemoryLayout,
    entry: Entry,
    unrolling: &mut Unrolling<'_>,
    solver: &mut dyn Solver,
) -> (State, Vec<Term>) {
    let mut state = State::top();
    let mut parameters = Vec::new();
    let mut keys = unrolling.encoder().memory_keys(entry.name);
    if let Some(function) = subject.env().function(entry.name) {
        keys.extend(function.parameters.iter().map(|id| Key::Local(0, *id)));
    }
    for key in keys {
        let variable = unrolling.fresh(start::sort_of_key(subject.env(), layout, key, entry.name));
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
    inputs: BTreeMap<(u32, InputPlace), i128>,
    parameters: Vec<i128>,
}

/// Follows a run through instances and layers, and answers each question with the model's value for that place.
struct Follower<'f> {
    encoder: &'f LargeBlockEncoding<'f>,
    subject: &'f Subject,
    model: &'f Model,
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
        let value = self.model.inputs.get(&(self.layer, (self.from, instance, edge))).copied().unwrap_or(0);
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

/// How many edges an execution through so many layers passes at most: no layer passes an edge of an instance twice. Where the run has left the
/// model, it may go on for ever.
fn longest(subject: &Subject, encoder: &LargeBlockEncoding<'_>, layers: u32) -> u64 {
    let instances = 0..encoder.instances.len() as u32;
    let functions = instances.filter_map(|at| subject.env().function(encoder.instances.function(at)));
    let edges: u64 = functions.map(|function| function.edges.len() as u64).sum();
    edges.saturating_mul(u64::from(layers) + 1)
}

/// Runs the program with the inputs of a model that reaches an error in the last of so many layers; a counterexample if it violates a target.
fn confirm(
    question: &Question<'_>,
    encoder: &LargeBlockEncoding<'_>,
    model: Model,
    (encoding, layers): (Encoding, u32),
) -> Option<Counterexample> {
    let Question { subject, entry, targets, .. } = *question;
    let code = subject.code();
    let follower = || {
        let mut follower = Follower {
            encoder,
            subject,
            model: &model,
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
        follower
    };
    let limits =
        interpret::Limits { steps: longest(subject, encoder, layers), ..interpret::Limits::default() };
    let run = |limits| Machine::new(code, follower(), limits).run(entry);
    also_with_full_reads(limits, &run, &|run| Counterexample::of(run, entry, targets))
}
