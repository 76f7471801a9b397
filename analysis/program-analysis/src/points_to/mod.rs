//! Where pointers may point: flow-insensitive, inclusion-based, apart by member, with the call graph found on the way.
//! Over-approximates every execution without undefined behaviour in which
//! - an access through a pointer stays in the object, and one made from an array stays in the array;
//! - an integer that was never computed from an address is no address of an object of the program;
//! - a call passes as many arguments as its callee takes;
//! - code outside calls those functions whose address it was given (and, in a library or an open program, those it can name; not `main`).

mod generate;
mod memory;
mod object;
mod set;
mod solver;
mod value;

use std::collections::BTreeSet;

use proofline_hir::Name;
use rustc_hash::FxHashSet;

use generate::accepts;
pub(crate) use generate::is_inert;
pub(crate) use object::{EXTERNAL, ObjectId, Thing, left};
pub(crate) use set::Set;

use crate::call_graph::Callees;
use object::{Address, AddressId};
use proofline_cfa::{
    Base, Expr, Function, Lvalue, Object, Program, Scalar, Step,
    eval::{self, Overflow, Semantics},
};
use solver::{Solver, Watch};

/// What a pointer may point to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Targets {
    /// Objects; `External` and every escaped object if it may point to memory the program does not name.
    pub objects: BTreeSet<Object>,
    /// Functions with bodies.
    pub functions: BTreeSet<Name>,
}

/// The solution.
#[derive(Debug)]
pub(crate) struct PointsTo {
    solver: Solver,
    semantics: Semantics,
    reached: FxHashSet<Name>,
    /// Functions whose address code outside was given.
    pub(crate) escaped_functions: BTreeSet<Name>,
    /// Objects code outside was given.
    escaped: Set,
    /// Objects that code outside reads and writes by name, without an address.
    shared: Set,
    /// A call through a pointer that came from outside.
    pub(crate) calls_outside_pointer: bool,
}

/// What may run besides the functions that are entered on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OtherCallers {
    /// Nothing.
    None,
    /// The functions without callers, with any arguments.
    EnterUncalled,
    /// Those, and code outside that calls every function and uses every object that it can name: a library, or an open program.
    NameEverything,
}

impl PointsTo {
    /// Solves for a program that is entered at the given functions, and by the callers that are assumed.
    pub(crate) fn solve(program: &Program, entries: &BTreeSet<Name>, callers: OtherCallers) -> PointsTo {
        let mut generator = generate::Generator::new(program);
        generator.run(entries, callers);
        let generate::Generator { solver, reached, escaped_functions, calls_outside_pointer, .. } = generator;
        let mut shared = Set::default();
        for name in &program.shared {
            if let Some(id) = solver.known(Thing::Memory(Object::Global(*name))) {
                shared.insert(id.0);
            }
        }
        let mut escaped = Set::default();
        for (id, state) in solver.objects.iter().enumerate() {
            if state.escaped {
                escaped.insert(id as u32);
            }
        }
        let semantics = Semantics { overflow: Overflow::Wraps, pointer_bits: program.pointer_bits() };
        PointsTo { solver, semantics, reached, escaped_functions, escaped, shared, calls_outside_pointer }
    }

    /// Whether the function can be called at all.
    pub(crate) fn is_reached(&self, function: Name) -> bool {
        self.reached.contains(&function)
    }

    /// What an object is.
    pub(crate) fn thing(&self, object: ObjectId) -> Thing {
        self.solver.state(object).thing
    }

    /// Whether the object is never written.
    pub(crate) fn is_constant(&self, object: ObjectId) -> bool {
        self.solver.state(object).constant
    }

    /// The number of an object that some constraint mentions.
    pub(crate) fn object(&self, object: Object) -> Option<ObjectId> {
        self.solver.known(Thing::Memory(object))
    }

    /// Objects that code outside may read and write, `External` among them, and functions that it may call.
    pub(crate) fn reached_by_outside(&self) -> impl Iterator<Item = u32> {
        self.escaped.iter().chain(self.shared.iter().filter(|id| !self.escaped.contains(*id)))
    }

    /// What objects with static storage and code outside lead to, they themselves included.
    pub(crate) fn held(&self) -> Set {
        let ids = (0..self.solver.objects.len() as u32).map(ObjectId);
        let is_root = |id: &ObjectId| {
            let state = self.solver.state(*id);
            state.escaped || matches!(state.thing, Thing::Memory(Object::Global(_) | Object::External))
        };
        let mut open: Vec<ObjectId> = ids.filter(is_root).collect();
        let (mut held, mut looked_at) = (Set::default(), FxHashSet::default());
        while let Some(id) = open.pop() {
            if !held.insert(id.0) {
                continue;
            }
            let state = self.solver.state(id);
            let written = state.watchers.iter().filter_map(|watcher| match watcher.what {
                Watch::In(node) => Some(node),
                Watch::Out(_) | Watch::Copy(_) => None,
            });
            for node in state.cells.values().copied().chain(written) {
                // Many places share what flows into them.
                if !looked_at.insert(self.solver.leader(node)) {
                    continue;
                }
                let addresses = self.solver.set(node).iter();
                open.extend(addresses.map(|address| self.solver.address(AddressId(address)).object));
            }
        }
        held
    }

    /// Whom a call through a pointer calls.
    pub(crate) fn callees(
        &self,
        function: &Function,
        pointer: &Expr,
        arguments: usize,
        program: &Program,
    ) -> Callees {
        let mut callees = Callees::default();
        let mut found = BTreeSet::new();
        for id in self.objects(function, pointer).iter() {
            match self.thing(ObjectId(id)) {
                Thing::Function(name) => {
                    found.insert(name);
                }
                Thing::Memory(Object::External) => {
                    callees.may_be_external = true;
                    found.extend(&self.escaped_functions);
                }
                Thing::Memory(_) => {}
            }
        }
        let fits = |name: &Name| program.functions.get(name).is_some_and(|callee| accepts(callee, arguments));
        callees.functions = found.into_iter().filter(fits).collect();
        // A pointer that nothing callable was ever put into.
        callees.may_be_external |= callees.functions.is_empty();
        callees
    }

    /// The objects and functions a pointer may point to, as numbers, `EXTERNAL` not expanded.
    pub(crate) fn objects(&self, function: &Function, pointer: &Expr) -> Set {
        let mut set = Set::default();
        for address in self.addresses(function, pointer) {
            set.insert(address.object.0);
        }
        if set.is_empty() && eval::constant(pointer, self.semantics).is_none() {
            set.insert(EXTERNAL.0);
        }
        set
    }

    /// Adds what `EXTERNAL` stands for.
    pub(crate) fn expand(&self, set: &mut Set) {
        if set.contains(EXTERNAL.0) {
            // What callers pass is alive: of what earlier runs have left nobody promises that.
            let left = self.object(left()).filter(|left| !set.contains(left.0));
            match left {
                Some(left) => self.escaped.iter().filter(|id| *id != left.0).for_each(|id| {
                    set.insert(id);
                }),
                None => {
                    set.extend(&self.escaped);
                }
            }
        }
    }

    /// Numbers as things.
    pub(crate) fn targets(&self, set: &Set) -> Targets {
        let mut targets = Targets::default();
        for id in set.iter() {
            match self.thing(ObjectId(id)) {
                Thing::Memory(object) => {
                    targets.objects.insert(object);
                }
                Thing::Function(name) => {
                    targets.functions.insert(name);
                }
            }
        }
        targets
    }

    fn addresses(&self, function: &Function, expr: &Expr) -> BTreeSet<Address> {
        match expr {
            Expr::Int(..) | Expr::Float(..) | Expr::Null => BTreeSet::new(),
            Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) | Expr::PointerDifference(..) => {
                BTreeSet::new()
            }
            Expr::Load(lvalue) => {
                let mut found = Set::default();
                for place in self.places(function, lvalue) {
                    self.contents(place, (lvalue.size as i64).max(1), &mut found);
                }
                found.iter().map(|id| self.solver.address(AddressId(id))).collect()
            }
            Expr::Address(lvalue) => self.places(function, lvalue),
            Expr::Function(name) => {
                let object = self.solver.known(Thing::Function(*name)).unwrap_or(EXTERNAL);
                BTreeSet::from([Address::of(object)])
            }
            Expr::Unary(_, arg, _) => self.blurred(self.addresses(function, arg)),
            Expr::Binary(op, lhs, rhs, _) => {
                let mut found = self.addresses(function, lhs);
                if let Some(bytes) = value::offset(*op, rhs) {
                    return found.into_iter().map(|at| self.solver.follow(at, &[bytes])).collect();
                }
                found.extend(self.addresses(function, rhs));
                self.blurred(found)
            }
            Expr::Cast(to, arg, _) => {
                let mut found = self.addresses(function, arg);
                let made = *to == Scalar::Pointer && arg.scalar() != Scalar::Pointer;
                let null = eval::constant(arg, self.semantics).and_then(|value| value.int()) == Some(0);
                if made && found.is_empty() && !null {
                    found.insert(Address::of(EXTERNAL));
                }
                found
            }
        }
    }

    fn blurred(&self, addresses: BTreeSet<Address>) -> BTreeSet<Address> {
        addresses.into_iter().map(|at| Address::anywhere(at.object)).collect()
    }

    fn places(&self, function: &Function, lvalue: &Lvalue) -> BTreeSet<Address> {
        let path = value::path(lvalue, self.semantics);
        let object = match &lvalue.base {
            Base::Local(id) => Object::Local(function.name, *id),
            Base::Global(name) => Object::Global(*name),
            Base::Deref(pointer, _) => {
                let mut found = self.addresses(function, pointer);
                if found.is_empty() {
                    for step in &lvalue.path {
                        if let Step::Index { index, .. } = step {
                            found.extend(self.blurred(self.addresses(function, index)));
                        }
                    }
                    return found;
                }
                return found.into_iter().map(|at| self.solver.follow(at, &path)).collect();
            }
        };
        let object = self.object(object).unwrap_or(EXTERNAL);
        BTreeSet::from([self.solver.follow(Address::of(object), &path)])
    }

    /// Adds what `size` bytes at the address may hold.
    fn contents(&self, at: Address, size: i64, found: &mut Set) {
        if at.object == EXTERNAL {
            found.extend(self.solver.set(self.solver.outside));
            return;
        }
        if !self.solver.has_contents(at.object) {
            return;
        }
        let state = self.solver.state(at.object);
        let (span, size) = if at.step == 0 { (at.span(Some(size)), 1) } else { (at, size) };
        if at.step == 0 {
            let granules = state.shape.granules(at.offset, (span.end - span.start).max(1), self.solver.width);
            let mut known = true;
            for granule in granules {
                match state.cells.get(&granule) {
                    Some(cell) => {
                        found.extend(self.solver.set(*cell));
                    }
                    None => known = false,
                }
            }
            if known {
                return;
            }
        } else {
            for (granule, cell) in &state.cells {
                if state.shape.touches(span, size, *granule, self.solver.width) {
                    found.extend(self.solver.set(*cell));
                }
            }
        }
        // Granules that no constraint names hold what goes into all of a range.
        let span = state.shape.canonical(span, self.solver.width);
        for watcher in &state.watchers {
            if let Watch::In(node) = watcher.what
                && state.shape.overlap(span, size, watcher.at, watcher.size)
            {
                found.extend(self.solver.set(node));
            }
        }
    }
}
