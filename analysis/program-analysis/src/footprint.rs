//! What a block of a function depends on besides its entry state and the blocks that it uses, as a short name: the function's automaton
//! and all that the environment says about it. A block abstraction that was computed under one footprint is right wherever the footprint is
//! the same, in another process of the same program, too. Must not know any abstract domain. A change that lets a transfer
//! function ask the environment something new adds it here.

use std::{collections::BTreeSet, hash::Hash, sync::Arc};

use proofline_hir::{ContentHash, ContentHasher, Name};
use rustc_hash::FxHashMap;

use crate::{Environment, points_to::Targets};
use proofline_cfa::{
    Argument, Base, Callee, Expr, Function, LocalId, Lvalue, MemoryPredicate, Object, Op, Scalar,
    visit::{self, Mention},
};

/// What many footprints have in common.
#[derive(Debug)]
pub(crate) struct Common {
    /// Of what can be asked about objects wherever their addresses come from.
    objects: ContentHash,
    escaped: ContentHash,
    ended: ContentHash,
    asks_for_values: bool,
    keeps_texts: bool,
    asks_what_is_left: bool,
    may_copy_without_values: bool,
    /// By component of the call graph: which functions a call may run.
    reachable: Vec<ContentHash>,
    effects: FxHashMap<usize, ContentHash>,
}

impl Common {
    pub(crate) fn new(env: &Environment) -> Common {
        let graph = env.call_graph();
        let mut reachable: Vec<ContentHash> = Vec::new();
        for members in graph.components() {
            let mut digest = ContentHasher::default();
            members.hash(&mut digest);
            let own = graph.component_of(members[0]);
            let callees: BTreeSet<usize> = members
                .iter()
                .flat_map(|member| graph.callees(*member))
                .filter_map(|c| graph.component_of(*c))
                .collect();
            for callee in callees.into_iter().filter(|callee| Some(*callee) != own) {
                reachable[callee].hash(&mut digest);
            }
            reachable.push(digest.content_hash());
        }
        let mut effects = FxHashMap::default();
        for name in env.program().functions.keys() {
            if let Some(component) = env.effects_component(*name) {
                effects.entry(component).or_insert_with(|| {
                    let mut digest = ContentHasher::default();
                    env.reads(*name).hash(&mut digest);
                    env.writes(*name).hash(&mut digest);
                    digest.content_hash()
                });
            }
        }
        let mut escaped = ContentHasher::default();
        (env.escaped(), env.allocated_outside()).hash(&mut escaped);
        let mut ended = ContentHasher::default();
        env.ended().hash(&mut ended);
        let (escaped, ended) = (escaped.content_hash(), ended.content_hash());
        Common {
            objects: objects(env),
            escaped,
            ended,
            asks_for_values: env.asks_for_values(),
            keeps_texts: env.keeps_texts(),
            asks_what_is_left: env.asks_what_is_left(),
            may_copy_without_values: env.asks_for_values() && env.may_copy_without_values(),
            reachable,
            effects,
        }
    }
}

/// Sizes and such of everything that has an address, and what constants hold.
fn objects(env: &Environment) -> ContentHash {
    let program = env.program();
    let mut digest = ContentHasher::default();
    (program.data_model, program.globals.len()).hash(&mut digest);
    for global in program.globals.values() {
        (global.name, global.ty, global.size, global.defined, global.constant).hash(&mut digest);
        if global.constant {
            global.init.hash(&mut digest);
        }
    }
    for function in program.functions.values() {
        for (index, local) in function.locals.iter().enumerate().filter(|(_, local)| local.address_taken) {
            let object = Object::Local(function.name, LocalId(index as u32));
            (object, local.ty, local.size, env.is_single(object)).hash(&mut digest);
        }
    }
    digest.content_hash()
}

/// Of the blocks of a function.
pub(crate) fn footprint(env: &Environment, function: &Function, common: &Common) -> ContentHash {
    let graph = env.call_graph();
    let mut digest = ContentHasher::default();
    function.hash(&mut digest);
    let Common { asks_for_values, keeps_texts, asks_what_is_left, may_copy_without_values, .. } = common;
    (common.objects, asks_for_values, keeps_texts, asks_what_is_left, may_copy_without_values)
        .hash(&mut digest);
    env.bounds(function.name).hash(&mut digest);
    surroundings(env, function.name, common, &mut digest);
    if let Some(component) = graph.component_of(function.name) {
        graph.components()[component].hash(&mut digest);
    }
    let mut asks_outside = false;
    for (edge, callees) in graph.calls(function.name) {
        (edge, callees.may_be_external, callees.functions.len()).hash(&mut digest);
        asks_outside |= callees.may_be_external;
        for name in &callees.functions {
            name.hash(&mut digest);
            if let Some(callee) = env.function(*name) {
                interface(callee, &mut digest);
            }
            surroundings(env, *name, common, &mut digest);
        }
    }
    asks_outside |= function.edges.iter().any(|edge| matches!(edge.op, Op::Clobber(..)));
    let asks_what_is_lost = |op: &Op| {
        let mut is_found = false;
        visit::exprs(op, &mut |expr| {
            is_found |= matches!(expr, Expr::Memory(MemoryPredicate::NothingLost, ..));
        });
        is_found
    };
    if function.edges.iter().any(|edge| asks_what_is_lost(&edge.op)) {
        env.may_lose_older(function.name).hash(&mut digest);
    }
    // Many pointers have the same targets.
    let mut known: FxHashMap<*const Targets, (Arc<Targets>, ContentHash)> = FxHashMap::default();
    pointers(function, &mut |pointer| {
        let targets = env.targets(function.name, pointer);
        let known = known.entry(Arc::as_ptr(&targets)).or_insert_with(|| {
            let mut digest = ContentHasher::default();
            targets.objects.hash(&mut digest);
            targets.functions.hash(&mut digest);
            (targets.clone(), digest.content_hash())
        });
        known.1.hash(&mut digest);
    });
    of_provenance(env, function, &mut digest);
    if asks_outside || frees(function) {
        common.escaped.hash(&mut digest);
    }
    if asks_of_lives(function) {
        common.ended.hash(&mut digest);
    }
    digest.content_hash()
}

/// What is asked of where pointers come from: whether they lead to what must not be written, and to functions of another type or to objects.
fn of_provenance(env: &Environment, function: &Function, digest: &mut ContentHasher) {
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |expr| {
            if let Expr::Memory(MemoryPredicate::Writable, pointer, _) = expr {
                env.may_be_read_only(function.name, pointer).hash(digest);
            }
            if let Expr::Memory(MemoryPredicate::Callable, pointer, arguments) = expr
                && let (Expr::Address(lvalue), Expr::Int(count, _)) = (&**pointer, &**arguments)
                && let Base::Deref(called, _) = &lvalue.base
            {
                env.not_callable(function.name, called, lvalue.ty, *count as usize).hash(digest);
                env.may_be_data(function.name, called).hash(digest);
            }
        });
    }
}

fn frees(function: &Function) -> bool {
    function.edges.iter().any(|edge| matches!(edge.op, Op::Free(_)))
}

/// Whether it matters which objects may have ended: an address that is compared may be that of an object whose life has ended.
fn asks_of_lives(function: &Function) -> bool {
    let mut found = false;
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |expr| {
            found |= match expr {
                Expr::Memory(..) => true,
                Expr::Compare(_, lhs, rhs) => {
                    lhs.scalar() == Scalar::Pointer && **lhs != Expr::Null && **rhs != Expr::Null
                }
                _ => false,
            };
        });
    }
    found
}

/// What a block and its callers know of the rest of the program.
fn surroundings(env: &Environment, name: Name, common: &Common, digest: &mut ContentHasher) {
    env.call_graph().component_of(name).map(|component| common.reachable[component]).hash(digest);
    env.effects_component(name).and_then(|component| common.effects.get(&component)).hash(digest);
}

/// What a call sees of its callee.
fn interface(callee: &Function, digest: &mut ContentHasher) {
    (callee.name, callee.ty, callee.variadic, &callee.parameters, callee.result).hash(digest);
    for id in callee.parameters.iter().chain(&callee.result) {
        callee.local(*id).hash(digest);
    }
    let taken = callee.locals.iter().enumerate().filter(|(_, local)| local.address_taken);
    taken.map(|(index, _)| index).collect::<Vec<usize>>().hash(digest);
}

/// The pointer that says where an address leads; `None` if its own text does: it is that of a part of a variable.
pub(crate) fn origin(pointer: &Expr) -> Option<&Expr> {
    match pointer {
        Expr::Address(Lvalue { base: Base::Deref(pointer, _), .. }) => origin(pointer),
        Expr::Address(Lvalue { base: Base::Local(_) | Base::Global(_), .. }) => None,
        pointer => Some(pointer),
    }
}

/// Every pointer of a function whose targets a transfer function may ask for.
pub(crate) fn pointers(function: &Function, see: &mut dyn FnMut(&Expr)) {
    let mut pointers = Pointers { see };
    function.edges.iter().for_each(|edge| pointers.op(&edge.op));
    // Where a library function looks is asked where its result is.
    for argument in function.library_results.iter().flat_map(|result| &result.arguments) {
        if argument.scalar() == Scalar::Pointer {
            (pointers.see)(argument);
        }
        pointers.value(argument);
    }
}

struct Pointers<'s> {
    see: &'s mut dyn FnMut(&Expr),
}

impl Pointers<'_> {
    fn op(&mut self, op: &Op) {
        visit::mentions(op, &mut |mention| match mention {
            Mention::Value(value) => self.value(value),
            Mention::Read(lvalue) | Mention::Write(lvalue) => self.place(lvalue),
        });
        match op {
            Op::Free(pointer) | Op::FillBytes(pointer, _, _) | Op::HavocBytes(pointer, _, _) => {
                (self.see)(pointer);
            }
            Op::CopyBytes(to, from, _) => {
                (self.see)(to);
                (self.see)(from);
            }
            Op::Clobber(values, _) => values.iter().for_each(|value| (self.see)(value)),
            // A call may lead outside, where it changes what its arguments point to.
            Op::Call(call) => {
                for argument in &call.arguments {
                    match argument {
                        Argument::Value(value) => (self.see)(value),
                        Argument::Aggregate(lvalue) => (self.see)(&Expr::Address(lvalue.clone())),
                    }
                }
                if let Callee::Indirect(pointer, _) = &call.callee {
                    (self.see)(pointer);
                }
            }
            Op::Skip
            | Op::Assume(_)
            | Op::Assign(..)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Allocate(_)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
    }

    fn value(&mut self, value: &Expr) {
        visit::walk(value, &mut |part| match part {
            Expr::Load(lvalue) | Expr::Address(lvalue) => self.base(lvalue),
            Expr::Memory(predicate, pointer, other) => {
                (self.see)(pointer);
                if *predicate == MemoryPredicate::SameObject {
                    (self.see)(other);
                }
            }
            Expr::Int(..)
            | Expr::Float(..)
            | Expr::Null
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Cast(..)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::Overflows(..)
            | Expr::PointerDifference(..) => {}
        });
    }

    fn place(&mut self, lvalue: &Lvalue) {
        self.base(lvalue);
        visit::parts_of_place(lvalue, &mut |part| self.value(part));
    }

    fn base(&mut self, lvalue: &Lvalue) {
        if let Base::Deref(pointer, _) = &lvalue.base {
            (self.see)(pointer);
        }
    }
}
