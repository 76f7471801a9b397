//! What analyses know of a program before they start: the call graph, loops, where pointers point, what functions read
//! and write. Immutable; must not know any abstract domain.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::Hash,
    sync::{Arc, OnceLock},
};

use parking_lot::RwLock;
use proofline_hir::{ContentHash, ContentHasher, Name, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    bounds,
    call_graph::{self, CallGraph, Callees},
    footprint::{self, Common},
    mod_ref::ModRef,
    older,
    operand_order::{self, FunctionUses, OrderConflict},
    points_to::{ObjectId, OtherCallers, PointsTo, Set, Targets, Thing, is_inert, left},
    supergraph::Supergraph,
};
use proofline_cfa::{
    Base, Call, Callee, Cause, Entry, EntryKind, Expr, Function, Lvalue, MemoryPredicate, Object, Op,
    Program, Structure,
    command_line::{ARGV, ENVP},
    copied_character, texts, visit,
};

/// A program with what was found out about all of it.
#[derive(Debug)]
pub struct Environment {
    program: Program,
    entries: BTreeSet<Name>,
    callers: OtherCallers,
    points_to: PointsTo,
    call_graph: CallGraph,
    mod_ref: ModRef,
    escaped: BTreeSet<Object>,
    allocated_outside: BTreeSet<Object>,
    ended: OnceLock<BTreeSet<Object>>,
    asks_for_values: OnceLock<bool>,
    keeps_texts: OnceLock<bool>,
    asks_what_is_left: OnceLock<bool>,
    may_copy_without_values: OnceLock<bool>,
    structures: FxHashMap<Name, OnceLock<Structure>>,
    reads: Vec<OnceLock<BTreeSet<Object>>>,
    writes: Vec<OnceLock<BTreeSet<Object>>>,
    nothing: BTreeSet<Object>,
    targets: RwLock<Known>,
    common: OnceLock<Common>,
    bounds: OnceLock<Vec<Vec<i128>>>,
    uses: OnceLock<FunctionUses>,
    orders: FxHashMap<Name, OnceLock<Vec<OrderConflict>>>,
    footprints: FxHashMap<Name, OnceLock<ContentHash>>,
    losses: FxHashMap<Name, OnceLock<bool>>,
    supergraph: OnceLock<Supergraph>,
}

/// Questions that were answered.
#[derive(Debug, Default)]
struct Known {
    pointers: FxHashMap<Name, FxHashMap<Expr, Arc<Targets>>>,
    /// Many pointers have the same targets.
    sets: FxHashMap<Set, Arc<Targets>>,
    /// Whether what a pointer leads to may be read-only.
    read_only: FxHashMap<Name, FxHashMap<Expr, bool>>,
}

impl Environment {
    /// For analyses that start at `main` if there is one, and at functions without callers. Without `main` the program is a library:
    /// code outside may at any time call its functions and use its objects that have external linkage.
    pub fn new(program: Program) -> Environment {
        let main = Name::new("main");
        let callers = if program.functions.contains_key(&main) {
            OtherCallers::EnterUncalled
        } else {
            OtherCallers::NameEverything
        };
        Environment::build(program, BTreeSet::from([main]), callers)
    }

    /// For analyses that start at one function of a library, whatever the program's functions are called. Code outside may as well start at
    /// those that it calls and that call it, so that of all of them the same is known.
    pub fn library(program: Program, entry: Name) -> Environment {
        let entries = call_graph::calling_each_other(&program, entry);
        Environment::build(program, entries, OtherCallers::NameEverything)
    }

    /// The same, where code outside has to do with the program although it has a `main`: it may at any time call the program's functions and
    /// use its objects that have external linkage.
    pub fn open(program: Program) -> Environment {
        Environment::build(program, BTreeSet::from([Name::new("main")]), OtherCallers::NameEverything)
    }

    /// For analyses that start at one function: [`new`](Self::new) (or [`open`](Self::open)) or [`library`](Self::library), as the entry is of
    /// one kind or the other.
    pub fn entered(program: Program, entry: Entry, is_open: bool) -> Environment {
        match entry.kind {
            EntryKind::Program if is_open => Environment::open(program),
            EntryKind::Program => Environment::new(program),
            EntryKind::Library => Environment::library(program, entry.name),
        }
    }

    /// Of another version of the program, under the same assumptions.
    #[must_use]
    pub fn again(&self, program: Program) -> Environment {
        Environment::build(program, self.entries.clone(), self.callers)
    }

    /// For analyses that start at the given functions only (and at constructors). What cannot be called from there is not looked
    /// at: nothing may be asked about it.
    pub fn for_entries(program: Program, entries: BTreeSet<Name>) -> Environment {
        Environment::build(program, entries, OtherCallers::None)
    }

    fn build(program: Program, entries: BTreeSet<Name>, callers: OtherCallers) -> Environment {
        let points_to = PointsTo::solve(&program, &entries, callers);
        let mut calls = BTreeMap::new();
        for (name, function) in &program.functions {
            let mut of_function = BTreeMap::new();
            for (id, edge) in function.edge_ids() {
                if let Op::Call(call) = &edge.op {
                    of_function.insert(id, callees(&program, &points_to, function, call));
                }
            }
            calls.insert(*name, of_function);
        }
        let call_graph = CallGraph::new(calls);
        let mod_ref = ModRef::new(&program, &points_to, &call_graph);
        let changed = memory(&points_to, &mod_ref.outside.writes);
        let called_back = call_graph.reachable(points_to.escaped_functions.iter().copied());
        let is_allocated = |object: &&Object| matches!(object, Object::Heap(f, _) if called_back.contains(f));
        let allocated_outside = changed.iter().filter(is_allocated).copied().collect();
        // Heap objects that nothing but variables of open functions leads to are out of reach of functions that code outside calls: they have
        // objects of their own with these names.
        let held = memory(&points_to, &points_to.held());
        let is_in_reach = |object: &Object| match object {
            Object::Heap(..) => held.contains(object),
            // The same could be said of locals; then blocks are entered with more that is known of callers' locals, and less often with the same.
            Object::Global(_) | Object::Local(..) | Object::External => true,
        };
        let escaped = changed.into_iter().filter(is_in_reach).collect();
        let structures = program.functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let footprints = program.functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let orders = program.functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let losses = program.functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let count = mod_ref.components();
        Environment {
            program,
            entries,
            callers,
            points_to,
            call_graph,
            mod_ref,
            escaped,
            allocated_outside,
            ended: OnceLock::new(),
            asks_for_values: OnceLock::new(),
            keeps_texts: OnceLock::new(),
            asks_what_is_left: OnceLock::new(),
            may_copy_without_values: OnceLock::new(),
            structures,
            reads: (0..count).map(|_| OnceLock::new()).collect(),
            writes: (0..count).map(|_| OnceLock::new()).collect(),
            nothing: BTreeSet::new(),
            targets: RwLock::default(),
            common: OnceLock::new(),
            bounds: OnceLock::new(),
            uses: OnceLock::new(),
            supergraph: OnceLock::new(),
            orders,
            footprints,
            losses,
        }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Where executions start, as asked for.
    pub fn entries(&self) -> &BTreeSet<Name> {
        &self.entries
    }

    /// The function, if it has a body.
    pub fn function(&self, name: Name) -> Option<&Function> {
        self.program.functions.get(&name).map(|function| &**function)
    }

    /// Whether any execution calls the function.
    pub fn is_called(&self, name: Name) -> bool {
        self.points_to.is_reached(name)
    }

    /// Whom a call of the function may call.
    pub fn callees(&self, function: Name, call: &Call) -> Callees {
        match self.function(function) {
            Some(function) => callees(&self.program, &self.points_to, function, call),
            None => Callees { functions: Vec::new(), may_be_external: true },
        }
    }

    /// Calls between functions with bodies.
    pub fn call_graph(&self) -> &CallGraph {
        &self.call_graph
    }

    /// Where control goes, through calls and back.
    pub fn supergraph(&self) -> &Supergraph {
        self.supergraph.get_or_init(|| Supergraph::of(self))
    }

    /// Order and loops of the function's automaton.
    ///
    /// # Panics
    /// If the function has no body.
    pub fn structure(&self, function: Name) -> &Structure {
        let body = &self.program.functions[&function];
        self.structures[&function].get_or_init(|| Structure::of(body))
    }

    /// What a pointer may point to, when it is used where the function is open. Remembered.
    pub fn targets(&self, function: Name, pointer: &Expr) -> Arc<Targets> {
        let known = self.targets.read();
        if let Some(found) = known.pointers.get(&function).and_then(|of_function| of_function.get(pointer)) {
            return found.clone();
        }
        drop(known);
        let mut set = Set::default();
        match self.function(function) {
            Some(function) => set = self.points_to.objects(function, pointer),
            None => {
                set.insert(crate::points_to::EXTERNAL.0);
            }
        }
        self.points_to.expand(&mut set);
        let mut known = self.targets.write();
        let found = match known.sets.get(&set) {
            Some(found) => found.clone(),
            None => {
                let found = Arc::new(self.points_to.targets(&set));
                known.sets.insert(set, found.clone());
                found
            }
        };
        known.pointers.entry(function).or_default().insert(pointer.clone(), found.clone());
        found
    }

    /// Whether the program itself may have made the pointer from an object that must not be written. Memory that the program does not name, and what
    /// code outside gives back, is taken to be writable.
    pub fn may_be_read_only(&self, function: Name, pointer: &Expr) -> bool {
        if let Some(known) = self.targets.read().read_only.get(&function).and_then(|of| of.get(pointer)) {
            return *known;
        }
        let body = self.function(function);
        let found = body.is_some_and(|body| {
            self.points_to.objects(body, pointer).iter().any(|id| match self.points_to.thing(ObjectId(id)) {
                Thing::Memory(object) => self.program.is_read_only(object),
                Thing::Function(_) => false,
            })
        });
        self.targets.write().read_only.entry(function).or_default().insert(pointer.clone(), found);
        found
    }

    /// Whether the program itself may have made both pointers from one object. Where pointers lead that code outside gives is not asked.
    pub fn may_share_object(&self, function: Name, one: &Expr, other: &Expr) -> bool {
        let Some(body) = self.function(function) else { return false };
        let (one, other) = (self.points_to.objects(body, one), self.points_to.objects(body, other));
        one.intersection(&other).iter().any(|id| match self.points_to.thing(ObjectId(id)) {
            Thing::Memory(object) => object != Object::External,
            Thing::Function(_) => false,
        })
    }

    /// Functions that the program itself may have made the pointer from, and that may not be called as `called` with so many arguments.
    pub fn not_callable(&self, function: Name, pointer: &Expr, called: Type, arguments: usize) -> Vec<Name> {
        let Some(body) = self.function(function) else { return Vec::new() };
        let named = self.points_to.objects(body, pointer).iter().collect::<Vec<u32>>();
        let named = named.into_iter().filter_map(|id| match self.points_to.thing(ObjectId(id)) {
            Thing::Function(name) => Some(name),
            Thing::Memory(_) => None,
        });
        named.filter(|name| self.program.may_call(*name, called, arguments) == Some(false)).collect()
    }

    /// Whether the program itself may have made the pointer from an object. What code outside gives is a function where it is called.
    pub fn may_be_data(&self, function: Name, pointer: &Expr) -> bool {
        let Some(body) = self.function(function) else { return false };
        self.points_to.objects(body, pointer).iter().any(|id| match self.points_to.thing(ObjectId(id)) {
            Thing::Memory(object) => object != Object::External,
            Thing::Function(_) => false,
        })
    }

    /// Objects the function may write, with everything it calls: globals, heap, locals whose address is taken. What code outside may
    /// write counts where it is called.
    pub fn writes(&self, function: Name) -> &BTreeSet<Object> {
        self.effects(function, &self.writes, |effects| &effects.writes)
    }

    /// Objects the function may read, with everything it calls.
    pub fn reads(&self, function: Name) -> &BTreeSet<Object> {
        self.effects(function, &self.reads, |effects| &effects.reads)
    }

    fn effects<'e>(
        &'e self,
        function: Name,
        tables: &'e [OnceLock<BTreeSet<Object>>],
        side: impl Fn(&crate::mod_ref::Effects) -> &Set,
    ) -> &'e BTreeSet<Object> {
        let (Some(component), Some(effects)) =
            (self.mod_ref.component_of(function), self.mod_ref.effects(function))
        else {
            return &self.nothing;
        };
        tables[component].get_or_init(|| memory(&self.points_to, side(effects)))
    }

    /// Objects that change when code outside runs (`Clobber`, a call that may be external): those it was given and those it can
    /// name, what these lead to, and what the functions write that it may call back. `External` is one of them. A heap object of which only
    /// open functions know is none of them.
    pub fn escaped(&self) -> &BTreeSet<Object> {
        &self.escaped
    }

    /// Operands of the function's expressions whose order C leaves open, and where it matters: of each expression at most one pair.
    pub fn order_conflicts(&self, function: Name) -> &[OrderConflict] {
        let (Some(body), Some(known)) = (self.function(function), self.orders.get(&function)) else {
            return &[];
        };
        if body.operands.is_empty() {
            return &[];
        }
        known.get_or_init(|| {
            let uses = self.uses.get_or_init(|| FunctionUses::new(self));
            operand_order::conflicts(self, uses, body)
        })
    }

    /// The heap objects that `free` of this pointer may end.
    pub fn freeable(&self, function: Name, pointer: &Expr) -> BTreeSet<Object> {
        let targets = self.targets(function, pointer);
        let is_heap = |object: &&Object| matches!(object, Object::Heap(..));
        let mut all: BTreeSet<Object> = targets.objects.iter().filter(is_heap).copied().collect();
        if targets.objects.contains(&Object::External) {
            all.extend(self.escaped.iter().filter(is_heap));
        }
        all
    }

    /// The objects that may end while the program runs, other than by the end of their scope: what is freed, and, where code outside runs, what it
    /// knows and what it owns. `External` stands for memory that the program does not name.
    pub fn ended(&self) -> &BTreeSet<Object> {
        self.ended.get_or_init(|| {
            let mut all = BTreeSet::new();
            all.extend(self.points_to.object(left()).map(|_| left()));
            let is_dynamic = |object: &&Object| matches!(object, Object::Heap(..) | Object::External);
            for function in self.program.functions.values() {
                let mut calls = self.call_graph.calls(function.name);
                let leaves = calls.any(|(_, callees)| callees.may_be_external);
                let keeps = |cause: &Cause| matches!(cause, Cause::Keeping(_));
                let frees = |op: &Op| matches!(op, Op::Clobber(_, cause) if !keeps(cause));
                if leaves || function.edges.iter().any(|edge| frees(&edge.op)) {
                    all.extend(self.escaped.iter().filter(is_dynamic));
                }
                for edge in &function.edges {
                    if let Op::Free(pointer) = &edge.op {
                        all.extend(self.freeable(function.name, pointer));
                        let targets = self.targets(function.name, pointer);
                        if targets.objects.contains(&Object::External) {
                            all.insert(Object::External);
                        }
                    }
                }
            }
            all
        })
    }

    /// Whether a function, or what it calls, may write over all that refers to an object which was there when it was called.
    pub fn may_lose_older(&self, function: Name) -> bool {
        let known = self.losses.get(&function);
        known.is_none_or(|known| *known.get_or_init(|| older::may_lose_older(self, function)))
    }

    /// Whether the object is what earlier runs of a library's functions have left in objects with static storage: of its life nothing is known.
    pub fn is_left(&self, object: Object) -> bool {
        object == left()
    }

    /// Whether some condition asks if bytes have a value ([`MemoryPredicate::Initialised`]).
    pub fn asks_for_values(&self) -> bool {
        *self
            .asks_for_values
            .get_or_init(|| self.asks(&|predicate| predicate == MemoryPredicate::Initialised))
    }

    /// Whether bytes are copied somewhere, values or not, to objects with static storage or to memory without a name.
    pub fn may_copy_without_values(&self) -> bool {
        let is_outside = |function: &Function, pointer: &Expr| {
            let targets = self.targets(function.name, pointer);
            targets.objects.iter().any(|object| matches!(object, Object::Global(_) | Object::External))
        };
        let is_outer = |function: &Function, place: &Lvalue| match &place.base {
            Base::Local(_) => false,
            Base::Global(_) => true,
            Base::Deref(pointer, _) => is_outside(function, pointer),
        };
        let copies = |function: &Function, op: &Op| match op {
            Op::Copy(dst, _) => is_outer(function, dst),
            Op::Assign(dst, value) => {
                copied_character(function, dst, value).is_some() && is_outer(function, dst)
            }
            Op::Call(call) => {
                call.dst.as_ref().is_some_and(|dst| dst.scalar.is_none() && is_outer(function, dst))
            }
            Op::CopyBytes(to, ..) => is_outside(function, to),
            Op::Skip
            | Op::Assume(_)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::FillBytes(..)
            | Op::HavocBytes(..)
            | Op::Begin(_)
            | Op::End(_) => false,
        };
        *self.may_copy_without_values.get_or_init(|| {
            let functions = self.program.functions.values();
            functions.into_iter().any(|function| function.edges.iter().any(|edge| copies(function, &edge.op)))
        })
    }

    /// Whether some condition asks which heap objects are left, or lost.
    pub fn asks_what_is_left(&self) -> bool {
        *self.asks_what_is_left.get_or_init(|| {
            self.asks(&|predicate| {
                matches!(predicate, MemoryPredicate::NothingLost | MemoryPredicate::NothingLeft)
            })
        })
    }

    fn asks(&self, like: &dyn Fn(MemoryPredicate) -> bool) -> bool {
        self.program.functions.values().flat_map(|function| &function.edges).any(|edge| {
            let mut asks = false;
            visit::exprs(&edge.op, &mut |expr| {
                asks |= matches!(expr, Expr::Memory(predicate, ..) if like(*predicate));
            });
            asks
        })
    }

    /// Whether nothing in the program writes to strings that it does not name, nor to the arrays that lead to them: then each pointer that it gets
    /// to one is the address of a string for as long as it runs.
    pub fn keeps_texts(&self) -> bool {
        *self.keeps_texts.get_or_init(|| {
            let is_theirs = |object: &Object| {
                let is_array = matches!(object, Object::Global(name) if matches!(name.as_str(), ARGV | ENVP));
                is_array || texts::is_text(*object)
            };
            // What the library keeps, code that is not here may have it change, `putenv` and `setenv` among it.
            let has_library = self.program.globals.contains_key(&Name::new(texts::LIBRARY));
            self.program.functions.values().all(|function| {
                let may_change = has_library && self.runs_outside(function);
                !may_change && !self.writes(function.name).iter().any(is_theirs)
            })
        })
    }

    /// Heap objects that come into being when code outside calls functions; those of which only these know, too.
    pub fn allocated_outside(&self) -> &BTreeSet<Object> {
        &self.allocated_outside
    }

    /// Whether code outside can name what has external linkage.
    pub fn is_open(&self) -> bool {
        self.callers == OtherCallers::NameEverything
    }

    /// Whether executions start wherever code outside calls something, and not at `main`.
    pub fn is_library(&self) -> bool {
        let main = Name::new("main");
        self.is_open() && !(self.entries.contains(&main) && self.program.functions.contains_key(&main))
    }

    /// Whether a function may be called through a pointer that came from outside.
    pub fn calls_outside_pointer(&self) -> bool {
        self.points_to.calls_outside_pointer
    }

    /// Functions with bodies that unknown code calls, at any time and with any arguments, while the program runs from this entry. (In a library
    /// each of them is an entry of its own.)
    pub fn called_from_outside(&self, entry: Entry) -> BTreeSet<Name> {
        let runs_outside = || {
            let reached = self.call_graph.reachable([entry.name]);
            reached.iter().any(|name| self.function(*name).is_some_and(|f| self.runs_outside(f)))
        };
        if entry.is_library() || !self.is_open() || !runs_outside() {
            return BTreeSet::new();
        }
        let is_other = |name: &&Name| **name != entry.name;
        self.escaped_functions().iter().filter(is_other).copied().collect()
    }

    /// Functions with bodies that may run while the program runs from this entry: called by it, by unknown code, or before and after `main`.
    pub fn concerned(&self, entry: Entry) -> BTreeSet<Name> {
        let mut from = self.called_from_outside(entry);
        from.insert(entry.name);
        if !entry.is_library() {
            let around_main = self.program.functions.values().filter(|f| f.attributes.runs_outside_main);
            from.extend(around_main.map(|function| function.name));
        }
        self.call_graph.reachable(from)
    }

    /// Whether the function itself may run unknown code.
    fn runs_outside(&self, function: &Function) -> bool {
        function.edge_ids().any(|(id, edge)| {
            let is_inert = |call: &Call| matches!(call.callee, Callee::Direct(name) if is_inert(name));
            let may_leave = || self.call_graph.call(function.name, id).is_some_and(|to| to.may_be_external);
            matches!(edge.op, Op::Clobber(..))
                || edge.op.call().is_some_and(|call| !is_inert(call) && may_leave())
        })
    }

    /// Functions with bodies that code outside may call.
    pub fn escaped_functions(&self) -> &BTreeSet<Name> {
        &self.points_to.escaped_functions
    }

    /// C type of an object; `None` for heap objects and `External`.
    pub fn object_type(&self, object: Object) -> Option<Type> {
        match object {
            Object::Global(name) => self.program.globals.get(&name).map(|global| global.ty),
            Object::Local(function, id) => {
                self.function(function)?.locals.get(id.index()).map(|local| local.ty)
            }
            Object::Heap(..) | Object::External => None,
        }
    }

    /// Bytes of an object, where all its instances have the same known size.
    pub fn object_size(&self, object: Object) -> Option<u64> {
        let size = match object {
            Object::Global(name) => self.program.globals.get(&name)?.size,
            Object::Local(function, id) => self.function(function)?.locals.get(id.index())?.size,
            Object::Heap(..) | Object::External => return None,
        };
        (size > 0).then_some(size)
    }

    /// Names all that a block of the function depends on, its entry and the blocks it uses apart; `None` if it has no body.
    pub fn footprint(&self, function: Name) -> Option<ContentHash> {
        let body = self.function(function)?;
        let cell = self.footprints.get(&function)?;
        Some(
            *cell.get_or_init(|| {
                footprint::footprint(self, body, self.common.get_or_init(|| Common::new(self)))
            }),
        )
    }

    /// Numbers that a function and all that it calls compare memory with, or keep it below, ascending.
    pub fn bounds(&self, function: Name) -> &[i128] {
        let all = self.bounds.get_or_init(|| {
            bounds::bounds(&self.call_graph, &|name| self.program.functions.get(&name).map(|body| &**body))
        });
        let component = self.call_graph.component_of(function);
        component.and_then(|component| all.get(component)).map_or(&[], Vec::as_slice)
    }

    /// The footprints of the functions of its recursive component: all that a block of the function depends on, its entry and the blocks of
    /// other components apart. `None` if one of them has no body.
    pub fn component_footprint(&self, function: Name) -> Option<ContentHash> {
        let component = self.call_graph.component_of(function)?;
        let members = &self.call_graph.components()[component];
        let mut digest = ContentHasher::default();
        members.len().hash(&mut digest);
        for member in members {
            self.footprint(*member)?.hash(&mut digest);
        }
        Some(digest.content_hash())
    }

    /// Points-to questions that the footprint of the function does not cover: where there is one, the
    /// code that asked may have used what a footprint misses.
    pub fn unnamed_pointers(&self) -> Vec<(Name, Expr)> {
        let known = self.targets.read();
        let mut unnamed = Vec::new();
        for (name, pointers) in &known.pointers {
            let mut named = FxHashSet::default();
            if let Some(function) = self.function(*name) {
                footprint::pointers(function, &mut |pointer| {
                    named.insert(pointer.clone());
                });
            }
            let missing = pointers.keys().filter(|pointer| {
                !named.contains(*pointer)
                    && footprint::origin(pointer).is_some_and(|origin| !named.contains(origin))
            });
            unnamed.extend(missing.map(|pointer| (*name, pointer.clone())));
        }
        unnamed.sort();
        unnamed
    }

    /// Functions with one number have the same effects.
    pub(crate) fn effects_component(&self, function: Name) -> Option<usize> {
        self.mod_ref.component_of(function)
    }

    /// Whether the object is one concrete object at any time at which it is live, so that a write through a pointer that points to
    /// nothing else replaces its value.
    pub fn is_single(&self, object: Object) -> bool {
        match object {
            // Of strings that have no name of their own this is all of them.
            Object::Global(_) => !texts::is_text(object),
            Object::Local(function, _) => {
                !self.call_graph.is_recursive(function) && !self.mod_ref.is_reentered(function)
            }
            Object::Heap(..) | Object::External => false,
        }
    }
}

fn callees(program: &Program, points_to: &PointsTo, function: &Function, call: &Call) -> Callees {
    match &call.callee {
        Callee::Direct(name) if program.functions.contains_key(name) => {
            Callees { functions: vec![*name], may_be_external: false }
        }
        Callee::Direct(_) => Callees { functions: Vec::new(), may_be_external: true },
        Callee::Indirect(pointer, _) => points_to.callees(function, pointer, call.arguments.len(), program),
    }
}

/// The memory among things.
fn memory(points_to: &PointsTo, set: &Set) -> BTreeSet<Object> {
    set.iter()
        .filter_map(|id| match points_to.thing(ObjectId(id)) {
            Thing::Memory(object) => Some(object),
            Thing::Function(_) => None,
        })
        .collect()
}
