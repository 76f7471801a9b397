//! What both value analyses know of the program they run on, and the state they start from. Knows no operation.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use proofline_cfa::{
    Constant, Entry, Function, Global, LocalId, Name, Object, Op, Program, Scalar, dataflow::Liveness,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use crate::store::{
    arithmetic::Arithmetic,
    heap::{Count, Elsewhere, Heap},
    offsets::Offsets,
    region::{Access, Region},
    state::{Below, Frame, Memory, State},
    value::{Abstract, value_bits},
    view::Target,
};

/// A program seen by a value domain.
pub struct Model<A: Arithmetic> {
    /// The program with its analyses.
    pub env: Arc<Environment>,
    /// The domain.
    pub arithmetic: A,
    /// Width of a pointer.
    pub pointer_bits: u8,
    /// What never changes: it is in no state.
    pub constants: BTreeMap<Name, Arc<Region<A::Value>>>,
    entry: Entry,
    /// Some condition asks which bytes have a value.
    asks_for_values: bool,
    /// Allocation sites whose objects end with their function.
    on_stack: BTreeSet<Object>,
    liveness: BTreeMap<Name, OnceLock<Liveness>>,
    reachable: Mutex<BTreeMap<Name, Arc<BTreeSet<Name>>>>,
}

impl<A: Arithmetic> Model<A> {
    /// Prepares a program.
    pub fn new(env: Arc<Environment>, arithmetic: A, entry: Entry) -> Model<A> {
        let program = env.program();
        let pointer_bits = program.pointer_bits();
        let constant = |global: &&Arc<Global>| global.constant && global.defined;
        let constants = program
            .globals
            .values()
            .filter(constant)
            .map(|global| (global.name, Arc::new(initial(program, global, &arithmetic))));
        let constants = constants.collect();
        let liveness = program.functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let on_stack = on_stack(program);
        Model {
            pointer_bits,
            constants,
            asks_for_values: env.asks_for_values(),
            on_stack,
            liveness,
            reachable: Mutex::default(),
            entry,
            arithmetic,
            env,
        }
    }

    /// Whether an allocation site's objects end with their function (`alloca`, arrays of variable length).
    pub fn is_on_stack(&self, object: Object) -> bool {
        self.on_stack.contains(&object)
    }

    /// Whether some condition asks which bytes have a value.
    pub fn asks_for_values(&self) -> bool {
        self.asks_for_values
    }

    /// Whether it is kept which bytes of a target have a value. Those of objects with static storage do; of registers lowering keeps it.
    pub fn tracks_values(&self, function: &Function, target: Target) -> bool {
        self.asks_for_values
            && match target {
                Target::Local(id) => !function.local(id).ty.is_scalar(),
                Target::Object(Object::Local(..) | Object::Heap(..)) => true,
                Target::Object(Object::Global(_) | Object::External) => false,
            }
    }

    /// Whether a function has such sites.
    pub fn has_on_stack(&self, function: Name) -> bool {
        self.on_stack.iter().any(|object| matches!(object, Object::Heap(name, _) if *name == function))
    }

    /// Where the run starts.
    pub fn entry(&self) -> Entry {
        self.entry
    }

    /// The entry function's name.
    pub fn entry_function(&self) -> Name {
        self.entry.name
    }

    /// The state at the entry.
    pub fn entry_state(&self) -> State<A::Value> {
        let program = self.env.program();
        let mut state = self.unknown_state(self.entry.name);
        state.heap = Heap { older: self.entry.is_library(), copied: false, ..Heap::all(Count::Zero) };
        if self.env.asks_what_is_left() {
            state.heap.elsewhere = Elsewhere::Nothing;
        }
        if self.entry.is_library() {
            let kept = program.globals.values().filter(|global| {
                global.keeps_initial(self.entry) && !self.constants.contains_key(&global.name)
            });
            let kept = kept.map(|global| {
                (Object::Global(global.name), Arc::new(initial(program, global, &self.arithmetic)))
            });
            state.memory = Memory::new(kept.collect());
            self.given_parameters(&mut state);
            self.older_parameters(&mut state);
            return state;
        }
        // Constructors run before and change what they like.
        let early = program.functions.values().filter(|function| function.attributes.runs_outside_main);
        let early: Vec<&BTreeSet<Object>> = early.map(|function| self.env.writes(function.name)).collect();
        if !early.is_empty() {
            let copied = self.env.may_copy_without_values();
            state.heap = Heap { copied, ..Heap::all(Count::Many) };
        }
        let globals = program
            .globals
            .values()
            .filter(|global| global.defined && !self.constants.contains_key(&global.name));
        let untouched = globals.filter(|global| {
            !early.iter().any(|writes| {
                writes.contains(&Object::Global(global.name)) || writes.contains(&Object::External)
            })
        });
        let objects = untouched.map(|global| {
            (Object::Global(global.name), Arc::new(initial(program, global, &self.arithmetic)))
        });
        state.memory = Memory::new(objects.collect());
        if let Some(function) = self.env.function(self.entry.name) {
            let mut frame = Frame::new(self.entry.name, None);
            self.main_arguments(function, &mut frame);
            state.frame = Arc::new(frame);
        }
        self.given_parameters(&mut state);
        state
    }

    /// A state at the entry of a function that anybody calls, with any arguments that have values, any time.
    pub fn weakest_entry(&self, function: Name) -> State<A::Value> {
        let mut state = self.unknown_state(function);
        state.heap.copied = self.env.may_copy_without_values();
        self.given_parameters(&mut state);
        state
    }

    /// A state of a function with nothing known.
    fn unknown_state(&self, function: Name) -> State<A::Value> {
        State {
            frame: Arc::new(Frame::new(function, None)),
            below: Below::nothing(),
            memory: Memory::new(Vec::new()),
            heap: Heap::all(Count::Many),
        }
    }

    /// What callers pass has values.
    fn given_parameters(&self, state: &mut State<A::Value>) {
        let Some(function) = self.env.function(state.frame.function) else { return };
        for id in &function.parameters {
            let local = function.local(*id);
            let target = match local.address_taken {
                true => Target::Object(Object::Local(function.name, *id)),
                false => Target::Local(*id),
            };
            if self.tracks_values(function, target) {
                let mut region = Region::tracking();
                region.write_any(0, local.size as i64 * 8);
                match target {
                    Target::Local(id) => Arc::make_mut(&mut state.frame).set_local(id, region),
                    Target::Object(object) => state.memory.set(object, region),
                }
            }
        }
    }

    /// Callers pass pointers to what was there before the run began. That matters where the run allocates something. Where code outside is called, it may
    /// call the same functions with anything: these would all be looked at twice.
    fn older_parameters(&self, state: &mut State<A::Value>) {
        let Some(function) = self.env.function(state.frame.function) else { return };
        let calls_outside =
            |name: &Name| self.env.call_graph().calls(*name).any(|(_, callees)| callees.may_be_external);
        let allocates = |name: &Name| {
            let edges = self.env.function(*name).map(|function| &function.edges);
            edges.into_iter().flatten().any(|edge| matches!(edge.op, Op::Allocate(_)))
        };
        let older = self.arithmetic.older();
        let reached = self.reachable(function.name);
        if older.is_any() || !reached.iter().any(allocates) || reached.iter().any(calls_outside) {
            return;
        }
        let len = value_bits(Scalar::Pointer, self.pointer_bits);
        let access = Access { start: 0, len, room: len, scalar: Scalar::Pointer };
        let leads_to_objects = |id: &LocalId| {
            let to = function.local(*id).ty.pointee();
            to.is_some_and(|to| !matches!(to.kind(), TypeKind::Function(..)))
        };
        for id in function.parameters.iter().filter(|id| leads_to_objects(id)) {
            let object = Object::Local(function.name, *id);
            let known = match function.local(*id).address_taken {
                true => state.memory.get(object),
                false => state.frame.local(*id),
            };
            let mut region = known.map_or_else(Region::unknown, |region| Region::clone(region));
            region.write(access, older.clone());
            match function.local(*id).address_taken {
                true => state.memory.set(object, region),
                false => Arc::make_mut(&mut state.frame).set_local(*id, region),
            }
        }
    }

    /// `argc` is not negative and `argv` is not null where the program starts (C11 5.1.2.2.1).
    fn main_arguments(&self, function: &Function, frame: &mut Frame<A::Value>) {
        if &*function.name != "main" {
            return;
        }
        for (index, id) in function.parameters.iter().enumerate() {
            let local = function.local(*id);
            if local.address_taken {
                continue;
            }
            let (scalar, value) = match index {
                0 if local.ty == proofline_cfa::Type::int() => {
                    let ty = proofline_cfa::IntType::INT;
                    (Scalar::Int(ty), self.arithmetic.between(ty, 0, ty.max()))
                }
                1 if local.ty.pointee().is_some() => (Scalar::Pointer, self.arithmetic.non_null()),
                _ => continue,
            };
            let len = value_bits(scalar, self.pointer_bits);
            let mut region = Region::unknown();
            region.write(Access { start: 0, len, room: len, scalar }, value);
            frame.set_local(*id, region);
        }
    }

    /// Which locals are live where.
    pub fn liveness(&self, function: &Function) -> Option<&Liveness> {
        self.liveness.get(&function.name).map(|cell| cell.get_or_init(|| Liveness::new(function)))
    }

    /// The functions that a call of one may run, itself included.
    pub fn reachable(&self, function: Name) -> Arc<BTreeSet<Name>> {
        let mut cache = self.reachable.lock();
        if let Some(known) = cache.get(&function) {
            return known.clone();
        }
        let seen = self.env.call_graph().reachable([function]);
        let seen = Arc::new(seen);
        cache.insert(function, seen.clone());
        seen
    }
}

fn on_stack(program: &Program) -> BTreeSet<Object> {
    let mut found = BTreeSet::new();
    for function in program.functions.values() {
        for edge in &function.edges {
            if let Op::Allocate(allocation) = &edge.op
                && !allocation.on_heap
            {
                found.insert(Object::Heap(function.name, allocation.site));
            }
        }
    }
    found
}

/// The bytes of an object with static storage before anything runs.
fn initial<A: Arithmetic>(program: &Program, global: &Global, domain: &A) -> Region<A::Value> {
    if !global.defined {
        return Region::unknown();
    }
    let bits = i64::try_from(global.size).ok().and_then(|size| size.checked_mul(8));
    let mut region = bits.map_or_else(Region::unknown, Region::zeroed);
    for init in &global.init {
        let value = match &init.value {
            Constant::Int(value) => match init.scalar {
                Scalar::Int(ty) => domain.int(ty, *value),
                Scalar::Pointer if *value == 0 => Abstract::Of(domain.null()),
                Scalar::Pointer | Scalar::Float(_) => Abstract::Any,
            },
            Constant::Float(value) => domain.float(*value),
            Constant::Address(name, offset) => domain.address(Object::Global(*name), Offsets::at(*offset)),
            Constant::Function(name) => domain.function(*name),
            Constant::Unknown => Abstract::Any,
        };
        let start = init.offset as i64 * 8;
        let access = match init.bits {
            Some(field) => {
                let len = i64::from(field.width);
                Access { start: start + i64::from(field.first), len, room: len, scalar: init.scalar }
            }
            None => {
                let len = value_bits(init.scalar, program.pointer_bits());
                let room = (program.scalar_bytes(init.scalar) as i64 * 8).max(len);
                Access { start, len, room, scalar: init.scalar }
            }
        };
        region.write(access, value);
    }
    region
}
