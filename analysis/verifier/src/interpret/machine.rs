//! The machine: frames, budgets, the main loop.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Cause, EdgeId, Entry, Float, FloatType, Loc, LocalId, Lvalue, Name, ObligationId, Op, Rounding, Scalar,
    Site,
    eval::{Overflow, Semantics, Value},
};
use proofline_cpa::{Budget, Path, PathStep};
use proofline_hir::TypeKind;
use rustc_hash::FxHashMap;

use super::{
    accelerate::Accelerator,
    arguments::Arguments,
    calls::{CallLog, CallNumbers},
    code::{Code, FunctionCode, FunctionIndex, Home},
    compiled::MachineCode,
    memory::{Area, Memory},
    oracle::{Choice, Oracle, Passing},
    predicates::Outside,
    trace::{Event, Passed, Skipped, Trace},
    watch::{Moment, Seen, Watch},
};

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The entry function returned, or the program halted (`exit`, `abort`, an assumption that does not hold).
    Finished,
    /// An obligation failed.
    Violates(Name, ObligationId),
    /// The run cannot go on for a reason of ours: something is not modelled concretely.
    Stuck(String),
    /// The limit was reached.
    OutOfSteps,
    /// It goes round in a loop for ever, and violates nothing there.
    Diverges,
    /// The run left the path it was to follow, after so many of its steps.
    Deviated(usize),
}

/// Limits of one run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Edges taken.
    pub steps: u64,
    /// Open calls.
    pub depth: u32,
    /// Questions that are asked: each is remembered.
    pub questions: usize,
    /// Where code outside says that it read something, it read as much as it may. (The inputs of the run say so.)
    pub reads_full: bool,
    /// After so many steps iterations of loops are skipped where that is exact; what is skipped is no step.
    pub skips_after: u64,
    /// After so many steps the run goes on as machine code where it can.
    pub compiles_after: u64,
    /// Steps of machine code, which are none of the others; behind them the run goes on without. 0: none is made.
    pub compiled_steps: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            steps: 1_000_000,
            depth: 100_000,
            questions: usize::MAX,
            reads_full: false,
            skips_after: 2_000,
            compiles_after: 100_000,
            compiled_steps: 0,
        }
    }
}

/// What is known about a run besides its end.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended.
    pub end: End,
    /// Edges taken.
    pub steps: u64,
    /// Edges of iterations that were skipped.
    pub skipped: u128,
    /// Edges taken by machine code.
    pub compiled: u64,
    /// The questions that were asked, with the answers, in order.
    pub inputs: Vec<(Choice, i128)>,
    /// Other choices would have been possible that the inputs do not record (addresses looked at as numbers, calls without
    /// a model, unmodelled constructs): the run is one of the program's runs, but says nothing about others.
    pub is_determined: bool,
    /// It went through something whose effect was guessed: a violation after it is not confirmed.
    pub is_guess: bool,
    /// It ended where something is taken to hold that does not: with other answers it may go on.
    pub is_blocked: bool,
    /// What happened, when asked for.
    pub trace: Option<Trace>,
    /// The strings that `main` was given.
    pub arguments: Vec<Vec<u8>>,
    /// What memory was like where somebody looked, and at the end.
    pub(crate) seen: Seen,
    /// Calls that somebody wanted to know of.
    pub(crate) calls: Vec<CallNumbers>,
}

pub(super) enum Stop {
    End(End),
}
pub(super) type Step<T> = Result<T, Stop>;

pub(super) fn stuck<T>(why: impl Into<String>) -> Step<T> {
    Err(Stop::End(End::Stuck(why.into())))
}

/// The budget is looked at after so many steps.
const POLL: u64 = 1 << 10;

/// A path to follow.
struct Guide {
    steps: Vec<(Name, EdgeId)>,
    taken: usize,
}

#[derive(Clone)]
pub(super) struct Frame {
    pub(super) function: FunctionIndex,
    pub(super) at: Loc,
    /// Per local: the value of a register, or the base address of an object.
    pub(super) locals: Vec<Option<Value>>,
    /// Objects of this frame that are not locals (`alloca`).
    pub(super) extra: Vec<u64>,
    /// Where heap objects lie that were allocated since it began.
    pub(super) heap_from: Option<u64>,
    /// Call edge in the caller, to come back to.
    pub(super) call: Option<EdgeId>,
    /// Key in the memo table, when the call is pure, and how many questions had been asked.
    pub(super) memo: Option<(Vec<Value>, usize)>,
}

/// One running program.
pub struct Machine<'c, O> {
    pub(super) code: &'c Code,
    pub(super) oracle: O,
    pub(super) memory: Memory,
    pub(super) frames: Vec<Frame>,
    pub(super) globals: Arc<FxHashMap<Name, u64>>,
    pub(super) arguments: Arguments,
    /// The run starts in a function of a library: what pointers of its callers point to comes into being as it is asked for.
    pub(super) is_library: bool,
    /// Where such objects are.
    pub(super) made_up: BTreeSet<u64>,
    /// What code outside of the program was given.
    pub(super) outside: Outside,
    /// Where the objects are that code outside of the program can reach: it may keep their addresses, or give them back.
    pub(super) handed_over: BTreeSet<u64>,
    pub(super) semantics: Semantics,
    pub(super) inputs: Vec<(Choice, i128)>,
    pub(super) is_determined: bool,
    /// Some operation has given a NaN.
    pub(super) has_computed_nan: bool,
    pub(super) is_guess: bool,
    is_blocked: bool,
    pub(super) trace: Option<Trace>,
    /// Somebody looks at its memory.
    pub(super) watch: Option<Watch>,
    /// Somebody writes down its calls.
    pub(super) calls: Option<CallLog>,
    /// The trace leaves out what a pure call does again.
    is_short: bool,
    pub(super) written: Option<(Value, proofline_cfa::Scalar)>,
    memo: FxHashMap<(FunctionIndex, Vec<Value>), Option<Value>>,
    /// So many calls were not executed because their results were known.
    pub(super) remembered: u64,
    /// What is done now was done before: each call is executed again.
    pub(super) is_repeating: bool,
    guide: Option<Guide>,
    /// Looked at now and then: a run may take seconds.
    pub(super) budget: Option<&'c Budget>,
    pub(super) steps: u64,
    /// The budget is looked at then.
    next_poll: u64,
    pub(super) skipped: u128,
    /// What is known about loops, once the run is long.
    pub(super) accelerator: Option<Accelerator>,
    /// What runs for it, once the run is longer.
    pub(super) machine_code: MachineCode,
    pub(super) limits: Limits,
}

impl Run {
    /// Whether code outside said in it that it did something so many times, and could have said more ([`Limits::reads_full`]).
    pub(crate) fn has_counts(&self) -> bool {
        self.inputs.iter().any(|(choice, answer)| *answer > 0 && is_count(choice.cause, Some(choice.scalar)))
    }
}

/// Whether it is a number that code outside says: of bytes that it read, for example.
pub(super) fn is_count(cause: Cause, scalar: Option<Scalar>) -> bool {
    matches!(cause, Cause::External(_) | Cause::Keeping(_))
        && matches!(scalar, Some(Scalar::Int(ty)) if ty.bits > 8)
}

impl<'c, O: Oracle> Machine<'c, O> {
    /// A machine at the entry of a function, whose parameters are inputs. Globals have their initial values, or are inputs too
    /// when `unknown_globals` (a function of a library, called at any time).
    pub fn new(code: &'c Code, oracle: O, limits: Limits) -> Machine<'c, O> {
        let semantics = Semantics { overflow: Overflow::Wraps, pointer_bits: code.program.pointer_bits() };
        Machine {
            memory: Memory::new(code.program.data_model),
            code,
            oracle,
            frames: Vec::new(),
            globals: Arc::default(),
            arguments: Arguments::default(),
            is_library: false,
            made_up: BTreeSet::new(),
            outside: Outside::default(),
            handed_over: BTreeSet::new(),
            semantics,
            inputs: Vec::new(),
            is_determined: true,
            has_computed_nan: false,
            is_guess: false,
            is_blocked: false,
            trace: None,
            watch: None,
            calls: None,
            is_short: false,
            written: None,
            memo: FxHashMap::default(),
            remembered: 0,
            is_repeating: false,
            guide: None,
            budget: None,
            steps: 0,
            next_poll: 0,
            skipped: 0,
            accelerator: None,
            machine_code: MachineCode::default(),
            limits,
        }
    }

    /// Follows a path: the run ends where it would leave it. Pure calls are then executed each time.
    pub fn with_guide(mut self, path: &Path) -> Machine<'c, O> {
        let steps = path.steps.iter().map(|step| match *step {
            PathStep::Edge(function, edge) => (function, edge),
            PathStep::Enter { caller, edge, .. } | PathStep::Leave { caller, edge, .. } => (caller, edge),
        });
        self.guide = Some(Guide { steps: steps.collect(), taken: 0 });
        self
    }

    /// Ends (as out of steps) soon after the budget is cancelled or its deadline has passed. Spends nothing.
    pub fn with_budget(mut self, budget: &'c Budget) -> Machine<'c, O> {
        self.budget = Some(budget);
        self
    }

    /// Keeps a trace. Pure calls are then executed each time.
    pub fn with_trace(mut self) -> Machine<'c, O> {
        self.trace = Some(Trace::default());
        self
    }

    /// Keeps a trace in which a pure call that was executed before is one step: some programs run too long otherwise.
    pub fn with_short_trace(mut self) -> Machine<'c, O> {
        self.is_short = true;
        self.with_trace()
    }

    /// Looks at memory at these moments of the trace, and at the end.
    pub(crate) fn watching(mut self, moments: BTreeSet<Moment>) -> Machine<'c, O> {
        self.watch = Some(Watch::at(moments));
        self
    }

    /// Runs the function to its end.
    pub fn run(mut self, entry: Entry) -> Run {
        let started = self.start(entry);
        self.watch(None);
        let Err(Stop::End(end)) = started.and_then(|()| self.go());
        if let Some(trace) = &mut self.trace {
            trace.objects = self.memory.all();
            trace.objects.sort_by_key(|extent| extent.base);
        }
        self.watch_end();
        Run {
            end,
            steps: self.steps,
            skipped: self.skipped,
            compiled: self.machine_code.steps,
            inputs: self.inputs,
            is_determined: self.is_determined,
            is_guess: self.is_guess,
            is_blocked: self.is_blocked,
            trace: self.trace,
            arguments: self.arguments.texts(),
            seen: self.watch.map(|watch| watch.seen).unwrap_or_default(),
            calls: self.calls.map(|log| log.calls).unwrap_or_default(),
        }
    }

    fn go(&mut self) -> Step<std::convert::Infallible> {
        loop {
            self.steps += 1;
            if self.steps > self.limits.steps || self.steps >= self.next_poll && self.poll() {
                return Err(Stop::End(End::OutOfSteps));
            }
            self.step()?;
        }
    }

    /// One step, or some at once.
    pub(super) fn step(&mut self) -> Step<()> {
        let frame = self.frame();
        let (index, at) = (frame.function, frame.at);
        let code = &self.code.functions[index as usize];
        if let Some(id) = code.obligation[at.index()] {
            return Err(Stop::End(End::Violates(code.function.name, id)));
        }
        if let Some(what) = code.unsupported[at.index()] {
            return stuck(what.as_str());
        }
        if self.machine_code.is_ready(self.steps) && self.go_on_compiled((index, at))? {
            return Ok(());
        }
        if at == code.function.exit {
            return self.leave();
        }
        if self.accelerator.is_some() && self.code.functions[index as usize].is_head(at) {
            self.arrive_at_head((index, at))?;
        }
        self.advance(code, at)
    }

    /// Looks around now and then. Whether the budget is used up, or too much was asked.
    fn poll(&mut self) -> bool {
        self.next_poll = self.steps + POLL;
        let is_free = self.guide.is_none() && !self.oracle.hears_edges() && !self.code.has_registers;
        if self.accelerator.is_none() && self.steps > self.limits.skips_after && is_free {
            self.accelerator = Some(Accelerator::default());
        }
        if is_free {
            self.prepare_machine_code();
        }
        self.inputs.len() > self.limits.questions || self.budget.is_some_and(Budget::is_over)
    }

    /// Work that is no edge.
    pub(super) fn count_steps(&mut self, steps: u64) {
        self.steps += steps;
    }

    /// A stretch is not in the trace.
    pub(super) fn note_skipped(&mut self, function: FunctionIndex, at: Loc, passed: Passed) {
        let depth = self.frames.len() as u32;
        let function = self.code.functions[function as usize].function.name;
        if let Some(trace) = &mut self.trace {
            let before = trace.dropped + trace.events.len() as u64;
            trace.skip(Skipped { before, function, at, depth, passed });
        }
    }

    /// Takes the first edge that can be taken. Locations branch on complementary assumptions, or (where the automaton
    /// over-approximates) freely; a free choice is not determined.
    fn advance(&mut self, code: &'c FunctionCode, at: Loc) -> Step<()> {
        let edges = &code.successors[at.index()];
        if edges.len() > 1 && edges.iter().any(|&id| !matches!(code.function.edge(id).op, Op::Assume(_))) {
            self.is_determined = false;
            self.is_guess = true;
        }
        for &id in edges {
            let edge = code.function.edge(id);
            if let Op::Assume(condition) = &edge.op {
                let value = self.eval(code, condition)?;
                if !value.truth() {
                    continue;
                }
                self.follow(code, id, Passing::Edge)?;
                self.note(code, id, Some((value, proofline_cfa::Scalar::Int(proofline_cfa::IntType::INT))));
                self.frame_mut().at = edge.to;
                return Ok(());
            }
            return self.take(code, id);
        }
        // No edge: the program halts here, or an assumption excludes this run.
        self.is_blocked = !edges.is_empty();
        Err(Stop::End(End::Finished))
    }

    fn take(&mut self, code: &'c FunctionCode, id: EdgeId) -> Step<()> {
        let edge = code.function.edge(id);
        if let Op::Call(call) = &edge.op {
            return self.call(code, id, call);
        }
        self.follow(code, id, Passing::Edge)?;
        self.written = None;
        let asked = self.inputs.len();
        self.operation(code, edge)?;
        let written = self.written.take();
        self.note(code, id, written);
        if self.inputs.len() > asked
            && let Some(event) = self.trace.as_mut().and_then(|t| t.events.last_mut())
        {
            event.is_input = true;
        }
        self.frame_mut().at = edge.to;
        Ok(())
    }

    pub(super) fn note(
        &mut self,
        code: &FunctionCode,
        edge: EdgeId,
        value: Option<(Value, proofline_cfa::Scalar)>,
    ) {
        let depth = self.frames.len() as u32;
        if let Some(trace) = &mut self.trace {
            let function = code.function.name;
            trace.push(Event { function, edge, depth, value, arguments: Vec::new(), is_input: false });
        }
        if self.watch.is_some() {
            self.watch(Some(code.function.edge(edge)));
        }
    }

    /// Opens a frame for a function; `values` are its arguments (an aggregate: the address it is copied from).
    pub(super) fn enter(
        &mut self,
        index: FunctionIndex,
        values: &[Value],
        call: Option<EdgeId>,
        memo: Option<(Vec<Value>, usize)>,
    ) -> Step<()> {
        if self.frames.len() >= self.limits.depth as usize {
            return Err(Stop::End(End::OutOfSteps));
        }
        let code = &self.code.functions[index as usize];
        let mut locals = vec![None; code.homes.len()];
        let is_early = |i: usize| {
            matches!(
                code.function.locals[i].role,
                proofline_cfa::Role::Parameter | proofline_cfa::Role::Result | proofline_cfa::Role::Temporary
            )
        };
        for (i, home) in code.homes.iter().enumerate() {
            if let Home::Memory(size) = *home
                && is_early(i)
            {
                let object = proofline_cfa::Object::Local(code.function.name, LocalId(i as u32));
                locals[i] = Some(Value::Int(i128::from(self.allocate(Area::Stack, size, object)?)));
            }
        }
        for (&parameter, &value) in code.function.parameters.iter().zip(values) {
            let slot = &mut locals[parameter.index()];
            match (code.home(parameter), *slot) {
                (Home::Register, _) => *slot = Some(value),
                (Home::Memory(size), Some(Value::Int(base))) => {
                    if code.function.local(parameter).ty.is_scalar() {
                        self.store_scalar_bytes(base as u64, size, value)?;
                        if let (TypeKind::Pointer(_), Value::Int(raw)) =
                            (code.function.local(parameter).ty.kind(), value)
                        {
                            self.keep_address(base as u64, size, Scalar::Pointer, raw as u128)?;
                        }
                    } else if let Value::Int(from) = value {
                        self.copy(base as u64, from as u64, size)?;
                    }
                }
                (Home::Memory(_), _) => return stuck("parameter without a place"),
            }
        }
        let at = code.function.entry;
        let heap_from = self.memory.next_on_heap();
        self.frames.push(Frame { function: index, at, locals, extra: Vec::new(), heap_from, call, memo });
        self.log_entry();
        Ok(())
    }

    /// Returns from the innermost function.
    fn leave(&mut self) -> Step<()> {
        let frame = self.frame();
        let code = &self.code.functions[frame.function as usize];
        let index = frame.function;
        let Some(call) = frame.call else { return Err(Stop::End(End::Finished)) };
        let caller_frame = self.frames.len() - 2;
        let caller = &self.code.functions[self.frames[caller_frame].function as usize];
        let edge = caller.function.edge(call);
        let Op::Call(operation) = &edge.op else { return stuck("return to an edge that is no call") };
        let result = match code.function.result {
            None => None,
            Some(slot) => match code.home(slot) {
                Home::Register => match self.frame().locals[slot.index()] {
                    Some(value) => Some(value),
                    None => Some(self.indeterminate(code, slot, &operation.dst)?),
                },
                Home::Memory(_) => self.frame().locals[slot.index()],
            },
        };
        self.log_exit(result);
        let mut frame = match self.frames.pop() {
            Some(frame) => frame,
            None => return stuck("no frame"),
        };
        if let Some((key, asked)) = frame.memo.take()
            && asked == self.inputs.len()
        {
            self.memo.insert((index, key), result);
        }
        self.written = None;
        if let (Some(dst), Some(value)) = (&operation.dst, result) {
            self.give_result(caller, dst, value)?;
        }
        for (i, home) in code.homes.iter().enumerate().rev() {
            if let (Home::Memory(_), Some(Value::Int(base))) = (home, frame.locals[i]) {
                self.memory.release(base as u64);
            }
        }
        for base in frame.extra.into_iter().rev() {
            self.memory.release(base);
        }
        let written = self.written.take();
        self.follow(caller, call, Passing::Leave)?;
        self.note(caller, call, written);
        self.frame_mut().at = edge.to;
        Ok(())
    }

    pub(super) fn follow(&mut self, code: &FunctionCode, edge: EdgeId, passing: Passing) -> Step<()> {
        self.oracle.passes(code.function.name, edge, passing);
        if self.accelerator.is_some() {
            self.record(edge, passing);
        }
        let Some(guide) = &mut self.guide else { return Ok(()) };
        if guide.steps.get(guide.taken) != Some(&(code.function.name, edge)) {
            return Err(Stop::End(End::Deviated(guide.taken)));
        }
        guide.taken += 1;
        Ok(())
    }

    /// Assigns a call's result in the caller's frame, which is the innermost one now.
    pub(super) fn give_result(&mut self, caller: &'c FunctionCode, dst: &Lvalue, value: Value) -> Step<()> {
        match dst.scalar {
            Some(_) => self.assign(caller, dst, value),
            None => match (self.place(caller, dst)?, value) {
                (super::place::Place::Memory(to), Value::Int(from)) => self.copy(to, from as u64, dst.size),
                _ => stuck("a record result without a place"),
            },
        }
    }

    /// The memoised result of a pure call.
    pub(super) fn remembered(&self, index: FunctionIndex, key: &[Value]) -> Option<Option<Value>> {
        let is_executed = self.trace.is_some() && !self.is_short || self.is_repeating;
        if is_executed || self.guide.is_some() || self.oracle.hears_edges() {
            return None;
        }
        // The table is keyed by owned vectors; a look-up of a borrowed pair needs one clone.
        self.memo.get(&(index, key.to_vec())).copied()
    }

    fn indeterminate(&mut self, code: &FunctionCode, slot: LocalId, dst: &Option<Lvalue>) -> Step<Value> {
        let _ = slot;
        let Some(scalar) = dst.as_ref().and_then(|d| d.scalar) else { return Ok(Value::Int(0)) };
        Ok(self.ask(code, Site(0), proofline_cfa::Cause::Indeterminate, scalar))
    }

    /// Asks the oracle.
    pub(super) fn ask(
        &mut self,
        code: &FunctionCode,
        site: Site,
        cause: proofline_cfa::Cause,
        scalar: proofline_cfa::Scalar,
    ) -> Value {
        use proofline_cfa::Scalar;
        let choice = Choice { function: code.function.name, site, cause, scalar, may_be_made_up: false };
        if self.oracle.hears_states() && matches!(scalar, Scalar::Int(_)) {
            let state = self.likeness(site);
            self.oracle.reaches(state);
        }
        let answer = self.oracle.choose(&choice);
        self.inputs.push((choice, answer));
        match scalar {
            Scalar::Int(ty) => Value::Int(ty.wrap(answer)),
            Scalar::Pointer => Value::Int(answer),
            Scalar::Float(ty) => Value::Float(answered(answer, ty)),
        }
    }

    pub(super) fn frame(&self) -> &Frame {
        &self.frames[self.frames.len() - 1]
    }
    pub(super) fn frame_mut(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }
}

/// An answer of the oracle, the bits of an `f64`, as a number of a format.
fn answered(answer: i128, ty: FloatType) -> Float {
    let double = Float::from_f64(f64::from_bits(answer as u64));
    if ty == FloatType::F64 { double } else { double.convert(ty, Rounding::NearestEven).value }
}
