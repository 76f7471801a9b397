//! A function as Cranelift's instructions: its locations are blocks, its edges jumps between them, and whatever is not plain is an exit. What
//! expressions are stands in `translate.rs`.

use std::ops::Range;

use cranelift_codegen::{
    Context as Compilation,
    ir::{
        AbiParam, Block, FuncRef, InstBuilder, MemFlagsData, SigRef, Signature, Value, condcodes::IntCC,
        types::I64,
    },
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use proofline_cfa::{
    Argument, Base, Call, Callee, Constant, Edge, EdgeId, Expr, Function, Loc, LocalId, Name, Object, Op,
    Program, Scalar, is_read_only, visit,
};
use rustc_hash::FxHashMap;

use crate::{
    frame,
    layout::{FunctionIndex, HEADER, Layout, Local},
    machine::{CALLED, field},
};

/// What functions are compiled in.
pub struct Environment<'p> {
    /// The program.
    pub program: &'p Program,
    /// Its functions, in the order of their names.
    pub functions: Vec<&'p Function>,
    /// Their numbers.
    pub numbers: FxHashMap<Name, FunctionIndex>,
    /// Where objects with static storage are.
    pub globals: &'p FxHashMap<Name, u64>,
    /// The address of a function.
    pub address_of: fn(FunctionIndex) -> i128,
    /// Addresses from the first on that are nearer to each other than the second compare as they do on every machine.
    pub near: (u64, u64),
    /// Some pointer may lead to an object that must not be written.
    pub(crate) has_read_only: bool,
}

impl<'p> Environment<'p> {
    /// Of a program whose objects are there.
    pub fn new(
        program: &'p Program,
        globals: &'p FxHashMap<Name, u64>,
        address_of: fn(FunctionIndex) -> i128,
        near: (u64, u64),
    ) -> Environment<'p> {
        let functions: Vec<&Function> = program.functions.values().map(|function| &**function).collect();
        let numbers = functions.iter().zip(0..).map(|(function, at)| (function.name, at)).collect();
        let has_read_only = has_read_only(program);
        Environment { program, functions, numbers, globals, address_of, near, has_read_only }
    }

    /// The functions that it calls by name.
    pub(crate) fn callees(&self, function: &Function) -> Vec<FunctionIndex> {
        let calls = function.edges.iter().filter_map(|edge| edge.op.call());
        calls.filter_map(|call| self.callee(call)).collect()
    }

    fn callee(&self, call: &Call) -> Option<FunctionIndex> {
        match &call.callee {
            Callee::Direct(name) => self.numbers.get(name).copied(),
            Callee::Indirect(..) => None,
        }
    }
}

/// Whether the program takes the address of an object that must not be written.
fn has_read_only(program: &Program) -> bool {
    let in_values = program.globals.values().flat_map(|global| {
        let starts = global.init.iter().filter_map(|initial| match initial.value {
            Constant::Address(name, _) => Some(name),
            Constant::Function(_) | Constant::Int(_) | Constant::Float(_) | Constant::Unknown => None,
        });
        starts.chain(global.hidden.iter().copied())
    });
    let mut found = in_values.into_iter().any(|name| program.is_read_only(Object::Global(name)));
    for function in program.functions.values() {
        for edge in &function.edges {
            visit::exprs(&edge.op, &mut |expr| {
                if let Expr::Address(lvalue) = expr {
                    found |= match lvalue.base {
                        Base::Global(name) => program.is_read_only(Object::Global(name)),
                        Base::Local(id) => is_read_only(function.local(id).ty),
                        Base::Deref(..) => false,
                    };
                }
            });
        }
    }
    found
}

/// What is to be compiled.
pub(crate) struct Job<'j> {
    pub(crate) environment: &'j Environment<'j>,
    pub(crate) layouts: &'j FxHashMap<FunctionIndex, (FuncId, Layout)>,
    pub(crate) index: FunctionIndex,
    pub(crate) function: &'j Function,
}

/// What an edge is that machine code does not take.
pub(crate) struct NotPlain;
pub(crate) type Emit<T> = Result<T, NotPlain>;

/// What every function takes and gives: context, frame, entry; whether the run has stopped.
pub(crate) fn signature(module: &JITModule) -> Signature {
    let mut signature = module.make_signature();
    signature.params.extend([AbiParam::new(I64); 3]);
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// Compiles one function; the lines that are left. `None` if there is no such job.
pub(crate) fn compile(
    job: Job<'_>,
    lines: Range<u64>,
    module: &mut JITModule,
    context: &mut Compilation,
    builders: &mut FunctionBuilderContext,
) -> Option<Range<u64>> {
    let layout = &job.layouts.get(&job.index)?.1;
    context.func.signature = signature(module);
    let mut helpers = [3, 4, 5].map(|parameters| {
        let mut signature = module.make_signature();
        signature.params.extend(vec![AbiParam::new(I64); parameters - 1]);
        signature
    });
    // Of `release`, `allocate` (and `compare`) and `lookup`, which take the context, too.
    for (signature, has_result) in helpers.iter_mut().zip([false, true, true]) {
        signature.params.extend(has_result.then(|| AbiParam::new(I64)));
        signature.returns.extend(has_result.then(|| AbiParam::new(I64)));
    }
    let mut callees = FxHashMap::default();
    for index in job.environment.callees(job.function) {
        if let Some((id, _)) = job.layouts.get(&index) {
            callees.insert(index, module.declare_func_in_func(*id, &mut context.func));
        }
    }
    let mut b = FunctionBuilder::new(&mut context.func, builders);
    let helpers = helpers.map(|signature| b.import_signature(signature));
    let start = b.create_block();
    b.append_block_params_for_function_params(start);
    let [context, frame, entry] = b.block_params(start)[..] else { return None };
    let count = job.function.locations as usize;
    let mut translator = Translator {
        fuel: b.declare_var(I64),
        vars: layout
            .locals
            .iter()
            .map(|local| (*local != Local::Opaque).then(|| b.declare_var(I64)))
            .collect(),
        masks: (0..layout.masks).map(|_| b.declare_var(I64)).collect(),
        blocks: (0..count).map(|_| b.create_block()).collect(),
        exits: vec![None; count],
        errors: job.function.obligations.iter().map(|obligation| obligation.error).collect(),
        maybe: maybe(job.function, layout),
        b,
        job,
        layout,
        context,
        frame,
        entry,
        callees,
        helpers,
        lines: FxHashMap::default(),
        free: lines,
        at: Loc(0),
    };
    translator.begin(start);
    translator.locations();
    translator.stop();
    translator.b.seal_all_blocks();
    let left = translator.free;
    translator.b.finalize(module.target_config());
    Some(left)
}

/// The locals of which a run has to know whether they have a value, one bit each: somewhere that hangs on the path.
fn maybe(function: &Function, layout: &Layout) -> Vec<bool> {
    let is_maybe =
        |id: LocalId| (0..function.locations).map(Loc).any(|at| layout.may(at, id) && !layout.must(at, id));
    (0..layout.locals.len() as u32).map(|id| is_maybe(LocalId(id))).collect()
}

pub(crate) struct Translator<'t> {
    pub(crate) b: FunctionBuilder<'t>,
    pub(crate) job: Job<'t>,
    pub(crate) layout: &'t Layout,
    pub(crate) context: Value,
    frame: Value,
    /// Where it was entered, or [`CALLED`].
    entry: Value,
    fuel: Variable,
    pub(crate) vars: Vec<Option<Variable>>,
    /// Which locals have a value, of those where that hangs on the path.
    masks: Vec<Variable>,
    maybe: Vec<bool>,
    blocks: Vec<Block>,
    exits: Vec<Option<Block>>,
    /// Where obligations have failed.
    errors: Vec<Loc>,
    callees: FxHashMap<FunctionIndex, FuncRef>,
    /// Signatures of what is called in the context.
    pub(crate) helpers: [SigRef; 3],
    /// By what is followed: the line that knows the object.
    pub(crate) lines: FxHashMap<Expr, u64>,
    pub(crate) free: Range<u64>,
    at: Loc,
}

/// What is loaded from contexts, frames and lines.
pub(crate) fn plain() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_aligned()
}

impl<'t> Translator<'t> {
    pub(crate) fn number(&mut self, value: i64) -> Value {
        self.b.ins().iconst(I64, value)
    }

    pub(crate) fn get(&mut self, from: Value, offset: i32) -> Value {
        self.b.ins().load(I64, plain(), from, offset)
    }

    pub(crate) fn put(&mut self, value: Value, to: Value, offset: i32) {
        self.b.ins().store(plain(), value, to, offset);
    }

    /// Goes on in a new block if the condition is not 0, and stops otherwise.
    pub(crate) fn demand(&mut self, condition: Value) {
        let (next, exit) = (self.b.create_block(), self.exit());
        self.b.ins().brif(condition, next, &[], exit, &[]);
        self.b.seal_block(next);
        self.b.switch_to_block(next);
    }

    /// Stops if the condition is not 0.
    pub(crate) fn refuse(&mut self, condition: Value) {
        let (next, exit) = (self.b.create_block(), self.exit());
        self.b.ins().brif(condition, exit, &[], next, &[]);
        self.b.seal_block(next);
        self.b.switch_to_block(next);
    }

    /// Where the run stops at the current location.
    fn exit(&mut self) -> Block {
        let b = &mut self.b;
        *self.exits[self.at.index()].get_or_insert_with(|| {
            let block = b.create_block();
            b.set_cold_block(block);
            block
        })
    }

    fn give_up(&mut self) {
        let exit = self.exit();
        self.b.ins().jump(exit, &[]);
    }

    /// From the entry to the location where the run goes on.
    fn begin(&mut self, start: Block) {
        self.b.switch_to_block(start);
        let fuel = self.get(self.context, field::FUEL);
        self.b.def_var(self.fuel, fuel);
        let zero = self.number(0);
        for var in self.vars.iter().flatten().chain(&self.masks) {
            self.b.def_var(*var, zero);
        }
        let (called, resumed) = (self.b.create_block(), self.b.create_block());
        let is_called = self.b.ins().icmp_imm_s(IntCC::Equal, self.entry, CALLED);
        self.b.ins().brif(is_called, called, &[], resumed, &[]);

        self.b.switch_to_block(called);
        for &id in &self.job.function.parameters {
            self.load_local(id);
            self.note_value(id, true);
        }
        let entry = self.blocks[self.job.function.entry.index()];
        self.b.ins().jump(entry, &[]);

        self.b.switch_to_block(resumed);
        for id in self.layout.kept() {
            self.load_local(id);
        }
        for word in 0..self.layout.masks {
            let mask = self.get(self.frame, 8 * (HEADER + word) as i32);
            self.b.def_var(self.masks[word], mask);
        }
        let mut switch = Switch::new();
        for (at, number) in &self.layout.entries {
            switch.set_entry(u128::from(*number), self.blocks[at.index()]);
        }
        let nowhere = self.b.create_block();
        switch.emit(&mut self.b, self.entry, nowhere);
        self.b.switch_to_block(nowhere);
        // Nobody asks for another entry. The run stops where it began, for the frame is as it was.
        let one = self.number(1);
        self.b.ins().return_(&[one]);
    }

    fn load_local(&mut self, id: LocalId) {
        if let Some(var) = self.vars[id.index()] {
            let value = self.get(self.frame, 8 * self.layout.slot(id) as i32);
            self.b.def_var(var, value);
        }
    }

    /// The local has a value from now on, or none.
    fn note_value(&mut self, id: LocalId, has: bool) {
        if !self.maybe[id.index()] {
            return;
        }
        let (var, bit) = (self.masks[id.index() / 64], 1i64 << (id.index() % 64));
        let mask = self.b.use_var(var);
        let mask = match has {
            true => self.b.ins().bor_imm_s(mask, bit),
            false => self.b.ins().band_imm_s(mask, !bit),
        };
        self.b.def_var(var, mask);
    }

    /// Whether the local has a value, where that hangs on the path.
    fn has_value(&mut self, id: LocalId) -> Value {
        let mask = self.b.use_var(self.masks[id.index() / 64]);
        self.b.ins().band_imm_s(mask, 1i64 << (id.index() % 64))
    }

    /// The value of a local: of a register, or where its object is.
    pub(crate) fn local(&mut self, id: LocalId) -> Emit<Value> {
        let var = self.vars[id.index()].ok_or(NotPlain)?;
        if !self.layout.may(self.at, id) {
            return Err(NotPlain);
        }
        if !self.layout.must(self.at, id) {
            let has_value = self.has_value(id);
            self.demand(has_value);
        }
        Ok(self.b.use_var(var))
    }

    pub(crate) fn set_local(&mut self, id: LocalId, value: Value) -> Emit<()> {
        let var = self.vars[id.index()].ok_or(NotPlain)?;
        self.b.def_var(var, value);
        self.note_value(id, true);
        Ok(())
    }

    /// Counts one step.
    fn step(&mut self) {
        let fuel = self.b.use_var(self.fuel);
        let fuel = self.b.ins().iadd_imm_s(fuel, -1);
        self.b.def_var(self.fuel, fuel);
    }

    fn locations(&mut self) {
        let successors = self.job.function.successors();
        for at in (0..self.job.function.locations).map(Loc) {
            self.at = at;
            self.b.switch_to_block(self.blocks[at.index()]);
            if self.location(&successors[at.index()]).is_err() {
                self.give_up();
            }
        }
    }

    fn location(&mut self, edges: &[EdgeId]) -> Emit<()> {
        let function = self.job.function;
        let is_unsupported = function.unsupported.iter().any(|(loc, _)| *loc == self.at);
        if is_unsupported || self.errors.contains(&self.at) {
            return Err(NotPlain);
        }
        if self.at == function.exit {
            return self.leave();
        }
        if self.layout.is_polled[self.at.index()] {
            let fuel = self.b.use_var(self.fuel);
            let has_fuel = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, fuel, 0);
            self.demand(has_fuel);
        }
        let edges: Vec<&Edge> = edges.iter().map(|id| function.edge(*id)).collect();
        match edges[..] {
            [] => Err(NotPlain),
            [edge] if !matches!(edge.op, Op::Assume(_)) => {
                self.operation(edge)?;
                self.b.ins().jump(self.blocks[edge.to.index()], &[]);
                Ok(())
            }
            _ => self.branch(&edges),
        }
    }

    /// The first edge whose condition holds; where an obligation fails on it, or there is none, the run stops.
    fn branch(&mut self, edges: &[&Edge]) -> Emit<()> {
        let mut conditions = Vec::new();
        for edge in edges {
            let Op::Assume(condition) = &edge.op else { return Err(NotPlain) };
            conditions.push(condition);
        }
        for (at, edge) in edges.iter().enumerate() {
            let is_last = at > 0
                && at + 1 == edges.len()
                && (*conditions[at] == conditions[at - 1].negated()
                    || *conditions[at - 1] == conditions[at].negated());
            let taken = match self.errors.contains(&edge.to) {
                true => self.exit(),
                false => self.b.create_block(),
            };
            let mut next = None;
            if is_last {
                self.b.ins().jump(taken, &[]);
            } else {
                let truth = self.value(conditions[at])?;
                let other = self.b.create_block();
                self.b.ins().brif(truth, taken, &[], other, &[]);
                self.b.seal_block(other);
                next = Some(other);
            }
            if !self.errors.contains(&edge.to) {
                self.b.seal_block(taken);
                self.b.switch_to_block(taken);
                self.step();
                self.b.ins().jump(self.blocks[edge.to.index()], &[]);
            }
            match next {
                Some(next) => self.b.switch_to_block(next),
                None => return Ok(()),
            }
        }
        Err(NotPlain)
    }

    fn operation(&mut self, edge: &Edge) -> Emit<()> {
        match &edge.op {
            Op::Skip => {}
            Op::Assign(dst, value) => {
                let value = self.value(value)?;
                self.assign(dst, value)?;
            }
            Op::Begin(id) => match self.layout.locals[id.index()] {
                Local::Register(_) => self.note_value(*id, false),
                Local::Memory(size) => self.begin_object(*id, size)?,
                Local::Opaque => return Err(NotPlain),
            },
            Op::End(id) => match self.layout.locals[id.index()] {
                Local::Register(_) => self.note_value(*id, false),
                Local::Memory(_) => {
                    self.end_object(*id)?;
                    self.note_value(*id, false);
                }
                Local::Opaque => return Err(NotPlain),
            },
            Op::Call(call) => return self.call(edge, call),
            Op::Assume(_)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..) => return Err(NotPlain),
        }
        self.step();
        Ok(())
    }

    fn begin_object(&mut self, id: LocalId, size: u64) -> Emit<()> {
        // One that lives already ends first; if then there is no room, there is no way back.
        if self.layout.may(self.at, id) {
            return Err(NotPlain);
        }
        let arguments = [i64::from(self.job.index), i64::from(id.0), size as i64];
        let arguments = arguments.map(|value| self.number(value));
        let helper = self.get(self.context, field::ALLOCATE);
        let arguments = [self.context, arguments[0], arguments[1], arguments[2]];
        let call = self.b.ins().call_indirect(self.helpers[1], helper, &arguments);
        let address = self.b.inst_results(call)[0];
        self.demand(address);
        self.set_local(id, address)
    }

    fn end_object(&mut self, id: LocalId) -> Emit<()> {
        let var = self.vars[id.index()].ok_or(NotPlain)?;
        if !self.layout.may(self.at, id) {
            return Ok(());
        }
        let after = self.b.create_block();
        if !self.layout.must(self.at, id) {
            let (has_value, ends) = (self.has_value(id), self.b.create_block());
            self.b.ins().brif(has_value, ends, &[], after, &[]);
            self.b.seal_block(ends);
            self.b.switch_to_block(ends);
        }
        let address = self.b.use_var(var);
        let helper = self.get(self.context, field::RELEASE);
        self.b.ins().call_indirect(self.helpers[0], helper, &[self.context, address]);
        self.b.ins().jump(after, &[]);
        self.b.seal_block(after);
        self.b.switch_to_block(after);
        Ok(())
    }

    /// Every local, with whether it has a value, into the frame.
    fn spill(&mut self) {
        for id in self.layout.kept() {
            if let (true, Some(var)) = (self.layout.may(self.at, id), self.vars[id.index()]) {
                let value = self.b.use_var(var);
                self.put(value, self.frame, 8 * self.layout.slot(id) as i32);
            }
        }
        for word in 0..self.layout.masks {
            let bits = |has: &dyn Fn(LocalId) -> bool| {
                let ids = (64 * word..64 * word + 64).map(|at| LocalId(at as u32));
                ids.enumerate().filter(|(_, id)| has(*id)).fold(0u64, |all, (bit, _)| all | 1 << bit)
            };
            let must = bits(&|id| self.layout.must(self.at, id));
            let maybe = bits(&|id| self.layout.may(self.at, id)) & !must;
            let mut mask = self.number(must as i64);
            if maybe != 0 {
                let known = self.b.use_var(self.masks[word]);
                let known = self.b.ins().band_imm_s(known, maybe as i64);
                mask = self.b.ins().bor(known, mask);
            }
            self.put(mask, self.frame, 8 * (HEADER + word) as i32);
        }
        let at = self.number(i64::from(self.at.0));
        self.put(at, self.frame, 8 * frame::AT as i32);
    }

    fn call(&mut self, edge: &Edge, call: &Call) -> Emit<()> {
        let index = self.job.environment.callee(call).ok_or(NotPlain)?;
        let code = *self.callees.get(&index).ok_or(NotPlain)?;
        let callee = self.job.environment.functions[index as usize];
        let layout = &self.job.layouts.get(&index).ok_or(NotPlain)?.1;
        if !layout.is_callable || call.arguments.len() < callee.parameters.len() {
            return Err(NotPlain);
        }
        let register = |layout: &Layout, id: LocalId| match layout.locals[id.index()] {
            Local::Register(scalar) => Some(scalar),
            Local::Memory(_) | Local::Opaque => None,
        };
        let result = callee.result.map(|id| register(layout, id));
        let dst = match &call.dst {
            None => None,
            Some(dst) => {
                let id = self.register(dst).ok_or(NotPlain)?;
                let is_same = result == Some(dst.scalar) && register(self.layout, id) == dst.scalar;
                Some(is_same.then_some(id).ok_or(NotPlain)?)
            }
        };
        let mut values = Vec::new();
        for (argument, &parameter) in call.arguments.iter().zip(&callee.parameters) {
            let Argument::Value(value) = argument else { return Err(NotPlain) };
            if register(layout, parameter) != Some(value.scalar()) {
                return Err(NotPlain);
            }
            values.push(self.value(value)?);
        }
        let stack = self.b.ins().get_stack_pointer(I64);
        let limit = self.get(self.context, field::STACK_LIMIT);
        let has_room = self.b.ins().icmp(IntCC::UnsignedGreaterThan, stack, limit);
        self.demand(has_room);
        let above = self.b.ins().iadd_imm_s(self.frame, 8 * self.layout.words() as i64);
        let end = self.b.ins().iadd_imm_s(above, 8 * layout.words() as i64);
        let limit = self.get(self.context, field::FRAMES_END);
        let has_room = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, limit);
        self.demand(has_room);

        self.spill();
        let id =
            self.job.function.edges.iter().position(|other| std::ptr::eq(other, edge)).ok_or(NotPlain)?;
        for (word, value) in [(frame::FUNCTION, i64::from(index)), (frame::CALL, id as i64)] {
            let value = self.number(value);
            self.put(value, above, 8 * word as i32);
        }
        for (value, &parameter) in values.into_iter().zip(&callee.parameters) {
            self.put(value, above, 8 * layout.slot(parameter) as i32);
        }
        self.step();
        let fuel = self.b.use_var(self.fuel);
        self.put(fuel, self.context, field::FUEL);
        let called = self.number(CALLED);
        let call = self.b.ins().call(code, &[self.context, above, called]);
        let has_stopped = self.b.inst_results(call)[0];
        let (stopped, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(stopped);
        self.b.ins().brif(has_stopped, stopped, &[], next, &[]);
        self.b.seal_block(stopped);
        self.b.seal_block(next);
        self.b.switch_to_block(stopped);
        self.b.ins().return_(&[has_stopped]);
        self.b.switch_to_block(next);
        let fuel = self.get(self.context, field::FUEL);
        self.b.def_var(self.fuel, fuel);
        if let Some(id) = dst {
            let result = self.get(self.context, field::RESULT);
            self.set_local(id, result)?;
        }
        Ok(())
    }

    /// The end of the function. Whom machine code did not call returns to somebody else.
    fn leave(&mut self) -> Emit<()> {
        if !self.layout.is_callable {
            return Err(NotPlain);
        }
        let is_called = self.b.ins().icmp_imm_s(IntCC::Equal, self.entry, CALLED);
        self.demand(is_called);
        if let Some(id) = self.job.function.result {
            let result = self.local(id)?;
            self.put(result, self.context, field::RESULT);
        }
        for id in self.layout.kept().collect::<Vec<LocalId>>().into_iter().rev() {
            if matches!(self.layout.locals[id.index()], Local::Memory(_)) {
                self.end_object(id)?;
            }
        }
        self.step();
        let fuel = self.b.use_var(self.fuel);
        self.put(fuel, self.context, field::FUEL);
        let zero = self.number(0);
        self.b.ins().return_(&[zero]);
        Ok(())
    }

    /// What every exit does.
    fn stop(&mut self) {
        for at in (0..self.job.function.locations).map(Loc) {
            let Some(block) = self.exits[at.index()] else { continue };
            self.at = at;
            self.b.switch_to_block(block);
            self.spill();
            let fuel = self.b.use_var(self.fuel);
            self.put(fuel, self.context, field::FUEL);
            self.put(self.frame, self.context, field::EXIT_FRAME);
            let one = self.number(1);
            self.b.ins().return_(&[one]);
        }
    }

    pub(crate) fn pointer_bits(&self) -> u8 {
        self.job.environment.program.pointer_bits()
    }

    /// The register that a scalar lvalue is.
    pub(crate) fn register(&self, lvalue: &proofline_cfa::Lvalue) -> Option<LocalId> {
        let proofline_cfa::Base::Local(id) = lvalue.base else { return None };
        let is_whole = lvalue.path.is_empty() && lvalue.bits.is_none();
        match self.layout.locals[id.index()] {
            Local::Register(scalar) if is_whole && lvalue.scalar == Some(scalar) => Some(id),
            Local::Register(_) | Local::Memory(_) | Local::Opaque => None,
        }
    }

    /// Whether a value of this format is computed here.
    pub(crate) fn is_plain(scalar: Scalar) -> bool {
        crate::layout::is_word(scalar)
    }
}
