//! From operations to constraints, function by function as they are reached. Knows what operations do to pointers; must not
//! know how constraints are solved.
//!
//! Every value is followed, integers and bytes included, because all of them can carry addresses. Not followed: the truth of a comparison,
//! the distance of two pointers, and what a pointer holds before anything was put into it (its use is undefined).

use std::collections::{BTreeSet, VecDeque};

use proofline_hir::{Linkage, Name, TypeKind};
use rustc_hash::FxHashSet;

use super::{
    OtherCallers,
    object::{self, Address, EXTERNAL, Move, NodeId, ObjectId, Shape, Thing},
    solver::{Event, Place, Solver, Use},
};
use proofline_cfa::{
    Allocation, Argument, BinaryOp, Call, Callee, Cause, Constant, Expr, Function, LocalId, Lvalue, Object,
    Op, Program, Scalar, Types,
    command_line::{ARGV, ENVP},
    eval::{self, Overflow, Semantics},
    texts,
};

/// Functions without bodies that change nothing and never come back, or say something to the verifier only.
pub(crate) fn is_inert(name: Name) -> bool {
    let text = name.as_str();
    text.starts_with("__VERIFIER_")
        || matches!(
            text,
            "reach_error"
                | "__assert_fail"
                | "__assert"
                | "abort"
                | "exit"
                | "_exit"
                | "__builtin_unreachable"
        )
}

enum Passed {
    Value(Option<NodeId>),
    Aggregate(Place, i64),
}

struct CallSite {
    arguments: Vec<Passed>,
    dst: Option<(Place, Lvalue)>,
}

/// The state of generation; the solver in it is the result.
pub(super) struct Generator<'p> {
    program: &'p Program,
    types: Types<'p>,
    pub(super) semantics: Semantics,
    pub(super) solver: Solver,
    queue: VecDeque<Name>,
    pub(super) reached: FxHashSet<Name>,
    open: FxHashSet<Name>,
    calls: Vec<CallSite>,
    connected: FxHashSet<(u32, Name)>,
    pub(super) escaped_functions: BTreeSet<Name>,
    /// Pointers made from integers.
    pub(super) casts: Vec<NodeId>,
    outside_code: bool,
    /// A call through a pointer that came from outside.
    pub(super) calls_outside_pointer: bool,
    /// Earlier runs of a library's functions have left something behind.
    has_left: bool,
}

impl<'p> Generator<'p> {
    pub(super) fn new(program: &'p Program) -> Generator<'p> {
        let pointer_bits = program.pointer_bits();
        Generator {
            program,
            types: Types { records: &program.records, model: program.data_model },
            semantics: Semantics { overflow: Overflow::Wraps, pointer_bits },
            solver: Solver::new(i64::from(pointer_bits / 8)),
            queue: VecDeque::new(),
            reached: FxHashSet::default(),
            open: FxHashSet::default(),
            calls: Vec::new(),
            connected: FxHashSet::default(),
            escaped_functions: BTreeSet::new(),
            casts: Vec::new(),
            outside_code: false,
            calls_outside_pointer: false,
            has_left: false,
        }
    }

    /// Generates for everything that may run, until nothing new can be reached.
    pub(super) fn run(&mut self, entries: &BTreeSet<Name>, callers: OtherCallers) {
        self.has_left = callers == OtherCallers::NameEverything && !entries.contains(&Name::new("main"));
        for name in self.program.globals.keys() {
            self.initialise(*name);
        }
        if callers == OtherCallers::NameEverything {
            self.outside_code_exists();
            // Nothing calls what starts the program, and what must not be reached is no service to others.
            let is_start = |name: &Name| name.as_str() == "main" && entries.contains(name);
            for (name, function) in &self.program.functions {
                if function.linkage == Linkage::External && !is_start(name) && !is_inert(*name) {
                    let object = self.function(*name);
                    let node = self.solver.address_node(Address::of(object));
                    self.solver.flow(node, self.solver.escape);
                }
            }
        }
        for (name, function) in &self.program.functions {
            if entries.contains(name) || function.attributes.runs_outside_main {
                self.enter_from_outside(*name);
            }
        }
        loop {
            self.settle();
            if self.guess_casts() {
                continue;
            }
            let next = match callers {
                OtherCallers::None => None,
                OtherCallers::EnterUncalled | OtherCallers::NameEverything => self.next_uncalled(),
            };
            let Some(next) = next else { break };
            self.enter_from_outside(next);
        }
    }

    fn settle(&mut self) {
        loop {
            while let Some(name) = self.queue.pop_front() {
                if let Some(function) = self.program.functions.get(&name) {
                    self.generate(function);
                }
            }
            let worked = self.solver.step();
            for event in std::mem::take(&mut self.solver.events) {
                self.answer(event);
            }
            if !worked && self.queue.is_empty() {
                return;
            }
        }
    }

    fn answer(&mut self, event: Event) {
        match event {
            Event::Callee(call, address) => {
                let object = self.solver.address(address).object;
                match self.solver.state(object).thing {
                    Thing::Function(name) => self.connect(call, name),
                    Thing::Memory(Object::External) => {
                        self.calls_outside_pointer = true;
                        self.call_outside(call);
                    }
                    Thing::Memory(_) => {}
                }
            }
            Event::EscapedFunction(object) => {
                if let Thing::Function(name) = self.solver.state(object).thing {
                    self.escaped_functions.insert(name);
                    self.enter_from_outside(name);
                }
            }
        }
    }

    /// A pointer made from an integer that is no address of anything known: whether there is a new one.
    fn guess_casts(&mut self) -> bool {
        let empty: Vec<NodeId> =
            self.casts.iter().copied().filter(|node| self.solver.set(*node).is_empty()).collect();
        for node in &empty {
            self.solver.flow(self.solver.outside, *node);
        }
        !empty.is_empty()
    }

    /// A function that nothing reached: one without callers if there is one.
    fn next_uncalled(&self) -> Option<Name> {
        let rest = || self.program.functions.iter().filter(|(name, _)| !self.reached.contains(name));
        let mut called = BTreeSet::new();
        for (caller, function) in rest() {
            for edge in &function.edges {
                if let Op::Call(Call { callee: Callee::Direct(callee), .. }) = &edge.op
                    && callee != caller
                {
                    called.insert(*callee);
                }
            }
        }
        rest()
            .map(|(name, _)| *name)
            .find(|name| !called.contains(name))
            .or_else(|| rest().map(|(name, _)| *name).next())
    }

    // Things

    pub(super) fn function(&mut self, name: Name) -> ObjectId {
        if !self.program.functions.contains_key(&name) {
            return EXTERNAL;
        }
        self.solver.object(Thing::Function(name), || (Shape::default(), true))
    }

    pub(super) fn global(&mut self, name: Name) -> ObjectId {
        let Some(global) = self.program.globals.get(&name) else { return EXTERNAL };
        let types = self.types;
        self.solver.object(Thing::Memory(Object::Global(name)), || {
            (Shape::of(global.ty, global.size, types), global.constant)
        })
    }

    pub(super) fn local(&mut self, function: &Function, id: LocalId) -> ObjectId {
        let thing = Thing::Memory(Object::Local(function.name, id));
        if let Some(object) = self.solver.known(thing) {
            return object;
        }
        let local = function.local(id);
        let types = self.types;
        self.solver.object(thing, || (Shape::of(local.ty, local.size, types), false))
    }

    fn initialise(&mut self, name: Name) {
        let Some(global) = self.program.globals.get(&name) else { return };
        let object = self.global(name);
        if texts::is_text(Object::Global(name)) {
            return;
        }
        if matches!(name.as_str(), ARGV | ENVP) {
            // Made for the program when it begins: pointers to strings, of which nobody else knows.
            let strings = self.global(Name::new(texts::ARGUMENTS));
            let value = self.solver.address_node(Address::of(strings));
            return self.holds(object, value);
        }
        if self.has_left && !global.constant && self.may_hold_address(self.types.scalar(global.ty)) {
            let left = self.left();
            self.holds(object, left);
        }
        if !global.defined {
            // Other code defines it: it holds anything, and that code knows it.
            self.holds(object, self.solver.outside);
            let node = self.solver.address_node(Address::of(object));
            self.solver.flow(node, self.solver.escape);
        }
        // What is not computed holds anything that outside code knows, so these, too.
        for name in &global.hidden {
            let hidden = if self.program.globals.contains_key(name) {
                self.global(*name)
            } else {
                self.function(*name)
            };
            let node = self.solver.address_node(Address::of(hidden));
            self.solver.flow(node, self.solver.escape);
        }
        for initial in &global.init {
            let value = match &initial.value {
                Constant::Int(_) | Constant::Float(_) => continue,
                Constant::Unknown => self.solver.outside,
                Constant::Function(function) => {
                    let target = self.function(*function);
                    self.solver.address_node(Address::of(target))
                }
                Constant::Address(target, offset) => {
                    let target = Address::of(self.global(*target));
                    let address = self.solver.follow(target, &[Move::Bytes(*offset)]);
                    self.solver.address_node(address)
                }
            };
            let offset = i64::try_from(initial.offset).unwrap_or(0);
            let at = self.solver.follow(Address::of(object), &[Move::Bytes(offset)]);
            for node in self.solver.initialised(at, self.program.scalar_bytes(initial.scalar) as i64) {
                self.solver.flow(value, node);
            }
        }
    }

    /// What earlier runs have left: it leads anywhere, too.
    fn left(&mut self) -> NodeId {
        let thing = Thing::Memory(object::left());
        let is_new = self.solver.known(thing).is_none();
        let left = self.solver.object(thing, || (Shape::default(), false));
        let address = self.solver.address_node(Address::of(left));
        if is_new {
            self.holds(left, address);
            self.holds(left, self.solver.outside);
        }
        address
    }

    /// All of the object may hold the values.
    fn holds(&mut self, object: ObjectId, values: NodeId) {
        for node in self.solver.initialised(Address::anywhere(object), 1) {
            self.solver.flow(values, node);
        }
    }

    fn outside_code_exists(&mut self) {
        if std::mem::replace(&mut self.outside_code, true) {
            return;
        }
        for (name, global) in &self.program.globals {
            if global.linkage == Linkage::External {
                let object = self.global(*name);
                let node = self.solver.address_node(Address::of(object));
                self.solver.flow(node, self.solver.escape);
            }
        }
        for name in &self.program.shared {
            let object = self.global(*name);
            self.solver.shared(object);
        }
    }

    // Functions

    fn reach(&mut self, name: Name) {
        if self.reached.insert(name) {
            self.queue.push_back(name);
        }
    }

    /// Unknown code calls the function.
    fn enter_from_outside(&mut self, name: Name) {
        let Some(function) = self.program.functions.get(&name) else { return };
        self.reach(name);
        if !self.open.insert(name) {
            return;
        }
        for id in &function.parameters {
            self.havoc_local(function, *id);
        }
        if let Some(result) = function.result {
            let object = self.local(function, result);
            let content = self.solver.read_span(Address::of(object), None);
            self.solver.flow(content, self.solver.escape);
        }
    }

    fn havoc_local(&mut self, function: &Function, id: LocalId) {
        let object = self.local(function, id);
        let scalar = self.types.scalar(function.local(id).ty);
        if self.may_hold_address(scalar) {
            self.solver.write_span(Address::of(object), None, self.solver.outside);
        }
    }

    /// Of what format a value from outside must be to carry an address.
    fn may_hold_address(&self, scalar: Option<Scalar>) -> bool {
        match scalar {
            None | Some(Scalar::Pointer) => true,
            Some(Scalar::Int(ty)) => ty.bits >= self.semantics.pointer_bits,
            Some(Scalar::Float(_)) => false,
        }
    }

    fn generate(&mut self, function: &Function) {
        for edge in &function.edges {
            self.op(function, &edge.op);
        }
    }

    fn op(&mut self, function: &Function, op: &Op) {
        match op {
            Op::Skip | Op::Assume(_) | Op::Free(_) | Op::Begin(_) | Op::End(_) => {}
            Op::Assign(to, value) => {
                if let Some(value) = self.value(function, value) {
                    self.store(function, to, value);
                }
            }
            Op::Copy(to, from) => {
                let (to_place, from_place) = (self.place(function, to), self.place(function, from));
                let (Some(to_place), Some(from_place)) = (to_place, from_place) else { return };
                let size = known(to.size).or(known(from.size));
                self.solver.copy(to_place, from_place, size);
            }
            Op::Havoc(to, cause) => self.havoc(function, to, cause),
            Op::Clobber(values, _) => {
                self.outside_code_exists();
                for value in values {
                    if let Some(node) = self.value(function, value) {
                        self.solver.flow(node, self.solver.escape);
                    }
                }
            }
            Op::Call(call) => self.call(function, call),
            Op::Allocate(allocation) => self.allocate(function, allocation),
            Op::CopyBytes(to, from, size) => {
                let (to, from) = (self.value(function, to), self.value(function, from));
                if let (Some(to), Some(from)) = (to, from) {
                    let size = self.constant(size);
                    self.solver.copy(Place::Via(to, [].into()), Place::Via(from, [].into()), size);
                }
            }
            Op::FillBytes(to, byte, size) => {
                if let (Some(to), Some(byte)) = (self.value(function, to), self.value(function, byte)) {
                    let size = self.constant(size);
                    self.solver.store_span(&Place::Via(to, [].into()), size, byte);
                }
            }
            Op::HavocBytes(to, size, _) => {
                if let Some(to) = self.value(function, to) {
                    let size = self.constant(size);
                    self.solver.store_span(&Place::Via(to, [].into()), size, self.solver.outside);
                }
            }
        }
    }

    fn constant(&self, expr: &Expr) -> Option<i64> {
        eval::constant(expr, self.semantics)?.int()?.try_into().ok()
    }

    fn havoc(&mut self, function: &Function, to: &Lvalue, cause: &Cause) {
        let holds = match cause {
            Cause::Text(_) => {
                let strings = self.global(Name::new(texts::LIBRARY));
                let value = self.solver.address_node(Address::of(strings));
                self.store(function, to, value);
                // After `putenv` the environment has strings of the program's own.
                return self.store(function, to, self.solver.outside);
            }
            // Using it is undefined.
            Cause::Indeterminate => false,
            Cause::Input(_) => !matches!(to.scalar, Some(Scalar::Int(_) | Scalar::Float(_))),
            // Part of an address may have been put there.
            Cause::Volatile => !matches!(to.scalar, Some(Scalar::Float(_))),
            Cause::External(_) | Cause::Keeping(_) | Cause::Within(_) | Cause::Unmodelled(_) => {
                self.may_hold_address(to.scalar)
            }
        };
        if holds && let Some(place) = self.place(function, to) {
            self.solver.store_span(&place, known(to.size), self.solver.outside);
        }
    }

    fn allocate(&mut self, function: &Function, allocation: &Allocation) {
        let size = self.constant(&allocation.size).filter(|size| *size > 0);
        let element = match &allocation.size {
            Expr::Binary(BinaryOp::Mul, a, b, _) if size.is_none() => {
                self.constant(a).or_else(|| self.constant(b))
            }
            _ => None,
        };
        // Elements that share a pointer's bytes are not kept apart anyway.
        let element = element.filter(|bytes| bytes % self.solver.width == 0);
        let thing = Thing::Memory(Object::Heap(function.name, allocation.site));
        let object = self.solver.object(thing, || (Shape::allocated(size, element), false));
        let node = self.solver.address_node(Address::of(object));
        self.store(function, &allocation.dst, node);
    }

    // Calls

    fn call(&mut self, function: &Function, call: &Call) {
        if let Callee::Direct(name) = call.callee
            && is_inert(name)
            && !self.program.functions.contains_key(&name)
        {
            return;
        }
        let index = self.calls.len() as u32;
        let mut arguments = Vec::new();
        for argument in &call.arguments {
            arguments.push(match argument {
                Argument::Value(value) => Passed::Value(self.value(function, value)),
                Argument::Aggregate(lvalue) => match self.place(function, lvalue) {
                    Some(place) => Passed::Aggregate(place, lvalue.size as i64),
                    None => Passed::Value(None),
                },
            });
        }
        let dst = call.dst.as_ref().and_then(|dst| Some((self.place(function, dst)?, dst.clone())));
        self.calls.push(CallSite { arguments, dst });
        match &call.callee {
            Callee::Direct(name) if self.program.functions.contains_key(name) => self.connect(index, *name),
            Callee::Direct(_) => self.call_outside(index),
            Callee::Indirect(pointer, _) => match self.value(function, pointer) {
                Some(node) => self.solver.attach(node, Use::Call(index)),
                None => self.call_outside(index),
            },
        }
    }

    fn connect(&mut self, call: u32, name: Name) {
        let Some(function) = self.program.functions.get(&name) else { return };
        let count = self.calls[call as usize].arguments.len();
        if !accepts(function, count) || !self.connected.insert((call, name)) {
            return;
        }
        self.reach(name);
        let escape = self.solver.escape;
        for index in 0..count {
            let parameter = function.parameters.get(index).copied();
            let parameter = parameter.map(|id| (Address::of(self.local(function, id)), function.local(id)));
            match (&self.calls[call as usize].arguments[index], parameter) {
                (Passed::Value(None), _) => {}
                (Passed::Value(Some(value)), Some((to, local))) => {
                    let size = i64::try_from(local.size).unwrap_or(0).max(1);
                    self.solver.store(&Place::At(to), size, *value);
                }
                // `va_arg` gives any value.
                (Passed::Value(Some(value)), None) => self.solver.flow(*value, escape),
                (Passed::Aggregate(from, size), to) => {
                    let to = to.map_or(Address::of(EXTERNAL), |(to, _)| to);
                    self.solver.copy(Place::At(to), from.clone(), known(*size as u64));
                }
            }
        }
        for id in function.parameters.iter().skip(count) {
            self.havoc_local(function, *id);
        }
        let Some((place, lvalue)) = self.calls[call as usize].dst.clone() else { return };
        match function.result {
            Some(result) => {
                let from = Place::At(Address::of(self.local(function, result)));
                if lvalue.scalar.is_some() {
                    let size = (lvalue.size as i64).max(1);
                    let value = self.solver.load(&from, size);
                    self.solver.store(&place, size, value);
                } else {
                    self.solver.copy(place, from, known(lvalue.size));
                }
            }
            None => self.solver.store_span(&place, known(lvalue.size), self.solver.outside),
        }
    }

    fn call_outside(&mut self, call: u32) {
        self.outside_code_exists();
        let site = &self.calls[call as usize];
        for argument in &site.arguments {
            match argument {
                Passed::Value(None) => {}
                Passed::Value(Some(value)) => self.solver.flow(*value, self.solver.escape),
                Passed::Aggregate(from, size) => {
                    self.solver.copy(Place::At(Address::of(EXTERNAL)), from.clone(), known(*size as u64));
                }
            }
        }
        if let Some((place, lvalue)) = &site.dst
            && self.may_hold_address(lvalue.scalar)
        {
            self.solver.store_span(place, known(lvalue.size), self.solver.outside);
        }
    }
}

/// Whether a call with so many arguments may go to the function: any other is undefined.
pub(super) fn accepts(function: &Function, arguments: usize) -> bool {
    let unprototyped =
        if let TypeKind::Function(signature) = function.ty.kind() { signature.unprototyped } else { true };
    let parameters = function.parameters.len();
    unprototyped || parameters == arguments || (function.variadic && parameters <= arguments)
}

/// Bytes, if it is known how many.
fn known(size: u64) -> Option<i64> {
    i64::try_from(size).ok().filter(|size| *size > 0)
}
