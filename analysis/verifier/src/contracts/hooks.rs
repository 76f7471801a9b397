//! What functions behave as that are not in the program. Some are of the caller's choice and stand for `malloc`, `free` and `realloc`: a program calls
//! them through members of its structures or through variables, and a person would say "`allocate` behaves as `malloc`". Where a contract says so, each
//! such call is the library's function. Of the others, called by name or through a pointer, a contract can say that they free nothing ([`keeping`]).
//!
//! **Law.** Executions in which every function that is called through a hook behaves as the hook says are executions of the new program.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use proofline_cfa::{
    Allocation, Argument, Base, Call, Callee, Cause, Edge, EdgeId, Expr, Function, Loc, Local, LocalId,
    Lvalue, Name, Op, Program, Role, Scalar, Site, Step, Type, scalar_of, visit,
};
use proofline_cfa_build::models;
use proofline_hir::{
    FunctionAttributes, Linkage, TypeKind,
    types::{IntKind, Signature},
};
use proofline_program_analysis::Environment;
use proofline_syntax::DataModel;

use crate::checks::addresses;

/// By the place that holds a pointer to a function: what the function is like.
pub type Hooks = BTreeMap<HookPlace, Hook>;

/// What is asked of a pointer to a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Hook {
    /// What is called through it behaves as this.
    pub like: Like,
    /// It may be null, where it is not called.
    pub or_null: bool,
}

/// All of both.
pub(crate) fn join(all: &mut Hooks, others: &Hooks) {
    for (place, hook) in others {
        let known = all.entry(place.clone()).or_insert(*hook);
        known.or_null &= hook.or_null;
    }
}

/// Where a pointer to a function is read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HookPlace {
    /// A member of a record: its tag, and the member's name.
    Member(Name, Name),
    /// A variable with static storage.
    Global(Name),
    /// A parameter: the function, and its name.
    Parameter(Name, Name),
    /// It is called by its name.
    Function(Name),
}

impl HookPlace {
    fn name(&self) -> String {
        let (HookPlace::Member(_, name)
        | HookPlace::Global(name)
        | HookPlace::Parameter(_, name)
        | HookPlace::Function(name)) = self;
        name.to_string()
    }

    /// As the text says it.
    pub(super) fn text(&self) -> String {
        match self {
            HookPlace::Member(record, name) => format!("`{name}` of `{record}`"),
            HookPlace::Global(name) | HookPlace::Parameter(_, name) | HookPlace::Function(name) => {
                format!("`{name}`")
            }
        }
    }
}

/// A library function that others behave as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Like {
    /// Returns null or a new object of so many bytes, and changes nothing else.
    Malloc,
    /// Ends the life of an object that was allocated, and changes nothing else.
    Free,
    /// Returns null, or a new object in the place of the old one.
    Realloc,
    /// May change everything that code outside reaches, and ends the life of nothing. What it writes keeps structures of callers whole: pointers in
    /// them that are not null lead to objects of their types, pointers to characters to strings.
    Keeping,
}

impl Like {
    /// The library's function, if it is like one.
    fn name(self) -> Option<&'static str> {
        match self {
            Like::Malloc => Some("malloc"),
            Like::Free => Some("free"),
            Like::Realloc => Some("realloc"),
            Like::Keeping => None,
        }
    }

    /// What it does, in words.
    pub(super) fn text(self) -> String {
        match self.name() {
            Some(name) => format!("that behaves as `{name}`"),
            None => "that frees nothing and leaves structures whole".to_owned(),
        }
    }
}

/// Those that the function and what it calls may need.
pub(crate) fn of(env: &Environment, function: Name) -> Hooks {
    let reached = env.call_graph().reachable([function]);
    let bodies = reached.iter().filter_map(|name| env.function(*name));
    let calls = bodies.flat_map(|body| foreign(env, body));
    let mut all: Hooks = calls.filter_map(|(_, call)| hook(call, env.program())).collect();
    // A function that takes a pointer may be anything, unless another one beside it allocates.
    let group = |place: &HookPlace| match place {
        HookPlace::Member(record, _) => Some(*record),
        HookPlace::Global(_) | HookPlace::Parameter(..) | HookPlace::Function(_) => None,
    };
    let allocates = |program: &Program| -> BTreeSet<Option<Name>> {
        let members = program.records.iter().filter(|(_, record)| {
            record.fields.iter().any(|field| signature(field.ty, program) == Some(Like::Malloc))
        });
        let globals =
            program.globals.values().any(|global| signature(global.ty, program) == Some(Like::Malloc));
        members.map(|(tag, _)| Some(*tag)).chain(globals.then_some(None)).collect()
    };
    let groups = allocates(env.program());
    all.retain(|place, _| groups.contains(&group(place)));
    all
}

/// Functions which are not in the program that this one and what it calls may run, as far as nothing else is known of them: they free nothing. Those
/// whose names say that something ends with them, and those that are like `free`, are none of them.
pub(super) fn keeping(env: &Environment, function: Name) -> Hooks {
    let reached = env.call_graph().reachable([function]);
    let bodies = reached.iter().filter_map(|name| env.function(*name));
    let addresses = addresses(env.program());
    let places = bodies.flat_map(|body| {
        let named = body.edges.iter().filter_map(|edge| Some(HookPlace::Function(unknown_effect(&edge.op)?)));
        let through = foreign(env, body).filter_map(|(id, call)| unknown(env, body, id, call, &addresses));
        named.chain(through).collect::<Vec<_>>()
    });
    let hook = Hook { like: Like::Keeping, or_null: true };
    places.filter(|place| !ends_something(place)).map(|place| (place, hook)).collect()
}

/// The pointer that is called through, where no function whose address is in sight (`addresses`) can be what is called.
fn unknown(
    env: &Environment,
    body: &Function,
    id: EdgeId,
    call: &Call,
    addresses: &BTreeSet<Name>,
) -> Option<HookPlace> {
    let Callee::Indirect(pointer, _) = &call.callee else { return None };
    let callees = env.call_graph().call(body.name, id)?;
    let is_like_none = signature(pointer_type(pointer)?, env.program()).is_none();
    let is_unseen = callees.functions.iter().all(|name| !addresses.contains(name));
    place_of(pointer, body).filter(|_| is_like_none && is_unseen)
}

/// Whether its name says that something ends.
fn ends_something(place: &HookPlace) -> bool {
    const WORDS: &[&str] = &[
        "free", "destroy", "delete", "dealloc", "realloc", "release", "dispose", "close", "clean", "clear",
        "remove", "unref", "drop", "discard", "reset", "finish", "exit", "shutdown",
    ];
    let text = place.name();
    let small = text.to_lowercase();
    text.ends_with("End") || small.ends_with("_end") || WORDS.iter().any(|word| small.contains(word))
}

/// Calls that may run code which is not in the program. Where all that is called is in sight, nothing is assumed of it.
fn foreign<'e>(env: &'e Environment, body: &'e Function) -> impl Iterator<Item = (EdgeId, &'e Call)> {
    let is_foreign =
        |id: EdgeId| env.call_graph().call(body.name, id).is_none_or(|callees| callees.may_be_external);
    let calls = body.edge_ids().filter(move |(id, _)| is_foreign(*id));
    calls.filter_map(|(id, edge)| Some((id, edge.op.call()?)))
}

/// Whether code that is not in the program may be called through it, by the function or what it calls.
pub(crate) fn is_open(env: &Environment, function: Name, place: &HookPlace) -> bool {
    let reached = env.call_graph().reachable([function]);
    let mut bodies = reached.iter().filter_map(|name| env.function(*name));
    if let HookPlace::Function(name) = place {
        return bodies.any(|body| body.edges.iter().any(|edge| unknown_effect(&edge.op) == Some(*name)));
    }
    let mut calls = bodies.flat_map(|body| foreign(env, body).map(move |(_, call)| (body, call)));
    calls.any(|(body, call)| match &call.callee {
        Callee::Indirect(pointer, _) => place_of(pointer, body).as_ref() == Some(place),
        Callee::Direct(_) => false,
    })
}

/// The function that is not in the program, if it is the effect of one.
fn unknown_effect(op: &Op) -> Option<Name> {
    if let Op::Clobber(_, Cause::External(name)) = op { Some(*name) } else { None }
}

/// Whether the function itself calls through one of them.
pub(super) fn calls(program: &Program, function: &Function, hooks: &Hooks) -> bool {
    let calls = function.edges.iter().filter_map(|edge| edge.op.call());
    calls.filter_map(|call| hook(call, program)).any(|(place, _)| hooks.contains_key(&place))
}

/// What is called through a hook, by its type.
fn signature(pointer: Type, program: &Program) -> Option<Like> {
    let TypeKind::Function(signature) = pointer.pointee()?.kind() else { return None };
    let is_pointer = |ty: &Type| ty.pointee().is_some_and(|to| matches!(to.kind(), TypeKind::Void));
    let size_t = Scalar::Int(program.size_type());
    let is_size = |ty: &Type| scalar_of(*ty, program.data_model) == Some(size_t);
    let gives = signature.result;
    match &signature.parameters[..] {
        _ if signature.variadic => None,
        [size] if is_size(size) && is_pointer(&gives) => Some(Like::Malloc),
        [old] if is_pointer(old) && matches!(gives.kind(), TypeKind::Void) => Some(Like::Free),
        [old, size] if is_pointer(old) && is_size(size) && is_pointer(&gives) => Some(Like::Realloc),
        _ => None,
    }
}

fn pointer_type(pointer: &Expr) -> Option<Type> {
    if let Expr::Load(lvalue) = pointer { Some(lvalue.ty) } else { None }
}

fn hook(call: &Call, program: &Program) -> Option<(HookPlace, Hook)> {
    let Callee::Indirect(pointer, _) = &call.callee else { return None };
    let (place, like) = place(pointer, program)?;
    Some((place, Hook { like, or_null: true }))
}

/// Where a pointer to a function is read, and what the function may be like.
pub(super) fn place(pointer: &Expr, program: &Program) -> Option<(HookPlace, Like)> {
    let Expr::Load(lvalue) = pointer else { return None };
    let like = signature(lvalue.ty, program)?;
    Some((shared_place(lvalue)?, like))
}

/// Of a pointer that every function may read.
fn shared_place(lvalue: &Lvalue) -> Option<HookPlace> {
    match (lvalue.path.last(), &lvalue.base) {
        (Some(Step::Field { record, name, .. }), _) => Some(HookPlace::Member(*record, *name)),
        (None, Base::Global(name)) => Some(HookPlace::Global(*name)),
        (Some(Step::Index { .. }) | None, _) => None,
    }
}

/// Where a pointer to a function is read, a parameter of this function included that nothing changes.
pub(super) fn place_of(pointer: &Expr, function: &Function) -> Option<HookPlace> {
    let Expr::Load(lvalue) = pointer else { return None };
    let Base::Local(id) = lvalue.base else { return shared_place(lvalue) };
    let local = function.local(id);
    let is_written = || {
        function.edges.iter().any(|edge| {
            let mut found = false;
            visit::mentions(&edge.op, &mut |mention| {
                found |= matches!(mention, visit::Mention::Write(to) if to.base == Base::Local(id));
            });
            found
        })
    };
    let is_whole = lvalue.path.is_empty() && local.role == Role::Parameter && !local.address_taken;
    if is_whole {
        return (!is_written()).then_some(HookPlace::Parameter(function.name, local.name));
    }
    shared_place(lvalue)
}

/// The program in which these are what they are like.
pub(super) fn assumed(env: &Environment, hooks: &Hooks) -> Environment {
    let mut program = kept(env, hooks);
    let mut needs = BTreeSet::new();
    for function in program.functions.values_mut() {
        let is_one = |edge: &Edge| {
            edge.op
                .call()
                .and_then(|call| hook(call, env.program()))
                .is_some_and(|(place, hook)| is_asked(hooks, &place, hook.like))
        };
        if !function.edges.iter().any(is_one) {
            continue;
        }
        for edge in Arc::make_mut(function).edges.iter_mut().filter(|edge| is_one(edge)) {
            if let Op::Call(call) = &edge.op
                && let Some((_, hook)) = hook(call, env.program())
                && let Some(op) = called(call, hook.like, edge.site)
            {
                if matches!(op, Op::Call(_)) {
                    needs.insert(hook.like);
                }
                edge.op = op;
            }
        }
    }
    for like in needs {
        if let Some(function) = wrapper(env.program().data_model, like) {
            program.functions.insert(function.name, function);
        }
    }
    env.again(program)
}

fn is_asked(hooks: &Hooks, place: &HookPlace, like: Like) -> bool {
    hooks.get(place).is_some_and(|hook| hook.like == like)
}

/// The program with effects of functions that free nothing.
fn kept(env: &Environment, hooks: &Hooks) -> Program {
    let mut program = env.program().clone();
    let is_kept = |place: &HookPlace| is_asked(hooks, place, Like::Keeping);
    let addresses = addresses(env.program());
    for (name, function) in &mut program.functions {
        let Some(body) = env.function(*name) else { continue };
        let through: BTreeMap<EdgeId, HookPlace> = foreign(env, body)
            .filter_map(|(id, call)| Some((id, unknown(env, body, id, call, &addresses)?)))
            .filter(|(_, place)| is_kept(place))
            .collect();
        let by_name = |op: &Op| unknown_effect(op).is_some_and(|name| is_kept(&HookPlace::Function(name)));
        if through.is_empty() && !body.edges.iter().any(|edge| by_name(&edge.op)) {
            continue;
        }
        let out = Arc::make_mut(function);
        for edge in out.edges.iter_mut().filter(|edge| by_name(&edge.op)) {
            if let Op::Clobber(_, cause) = &mut edge.op
                && let Cause::External(name) = *cause
            {
                *cause = Cause::Keeping(name);
            }
        }
        for (id, place) in through {
            keep(out, id, &place);
        }
    }
    program
}

/// In the place of the call of a function that frees nothing: what it may change, and its result.
fn keep(out: &mut Function, id: EdgeId, place: &HookPlace) {
    let Edge { op, to, site, .. } = out.edge(id).clone();
    let Op::Call(Call { dst, arguments, .. }) = op else { return };
    let cause = Cause::Keeping(Name::new(&place.name()));
    let values = arguments.into_iter().map(|argument| match argument {
        Argument::Value(value) => value,
        Argument::Aggregate(lvalue) => Expr::Address(lvalue),
    });
    let edge = &mut out.edges[id.index()];
    edge.op = Op::Clobber(values.filter(|value| value.scalar() == Scalar::Pointer).collect(), cause);
    if let Some(dst) = dst {
        let middle = Loc(out.locations);
        edge.to = middle;
        out.locations += 1;
        out.edges.push(Edge { from: middle, to, op: Op::Havoc(dst, cause), site });
    }
}

/// The calls of a function through hooks that end the life of what they are given, and what that is.
pub(super) fn freed(program: &Program, function: &Function, hooks: &Hooks) -> BTreeMap<EdgeId, Expr> {
    let all = function.edge_ids().filter_map(|(id, edge)| {
        let call = edge.op.call()?;
        let (place, hook) = hook(call, program)?;
        if !is_asked(hooks, &place, hook.like) || hook.like == Like::Malloc {
            return None;
        }
        called(call, hook.like, edge.site)?;
        match call.arguments.first()? {
            Argument::Value(pointer) => Some((id, pointer.clone())),
            Argument::Aggregate(_) => None,
        }
    });
    all.collect()
}

fn wrapper_name(like: Like) -> Name {
    Name::new(&format!("{}#hook", like.name().unwrap_or_default()))
}

/// The call as one of the library.
fn called(call: &Call, like: Like, site: Site) -> Option<Op> {
    let value = |at: usize| match call.arguments.get(at)? {
        Argument::Value(value) => Some(value.clone()),
        Argument::Aggregate(_) => None,
    };
    let dst = call.dst.clone().filter(|dst| dst.scalar == Some(Scalar::Pointer));
    match like {
        Like::Keeping => None,
        Like::Malloc => {
            let (dst, size) = (dst?, value(0)?);
            let allocation = Allocation { dst, size, site, on_heap: true, zeroed: false, may_fail: true };
            Some(Op::Allocate(allocation))
        }
        Like::Free if call.dst.is_none() => Some(Op::Free(value(0)?)),
        Like::Free => None,
        Like::Realloc => {
            value(0)?;
            value(1)?;
            let callee = Callee::Direct(wrapper_name(like));
            Some(Op::Call(Call { callee, ..call.clone() }))
        }
    }
}

static REALLOC: [LazyLock<Option<Arc<Function>>>; 2] = [
    LazyLock::new(|| library(DataModel::Lp64, Like::Realloc)),
    LazyLock::new(|| library(DataModel::Ilp32, Like::Realloc)),
];

fn wrapper(model: DataModel, like: Like) -> Option<Arc<Function>> {
    match like {
        Like::Malloc | Like::Free | Like::Keeping => None,
        Like::Realloc => match model {
            DataModel::Lp64 => REALLOC[0].clone(),
            DataModel::Ilp32 => REALLOC[1].clone(),
        },
    }
}

/// `void *f(void *old, size_t size) { return realloc(old, size); }`
fn library(model: DataModel, like: Like) -> Option<Arc<Function>> {
    let mut program = Program::empty(model);
    let size = match model {
        DataModel::Lp64 => IntKind::ULong,
        DataModel::Ilp32 => IntKind::UInt,
    };
    let (pointer, size) = (Type::void().pointer_to(), Type::new(TypeKind::Int(size)));
    let bytes = u64::from(program.pointer_bits() / 8);
    let locals = [
        ("return", pointer, Role::Result),
        ("old", pointer, Role::Parameter),
        ("size", size, Role::Parameter),
    ];
    let locals = locals.map(|(name, ty, role)| Local {
        name: Name::new(name),
        ty,
        role,
        address_taken: false,
        size: bytes,
    });
    let place = |id: u32, ty, scalar| Lvalue::local(LocalId(id), ty, scalar, bytes);
    let size_t = Scalar::Int(program.size_type());
    let arguments = vec![
        Argument::Value(Expr::Load(place(1, pointer, Scalar::Pointer))),
        Argument::Value(Expr::Load(place(2, size, size_t))),
    ];
    let callee = Callee::Direct(Name::new(like.name()?));
    let dst = Some(place(0, pointer, Scalar::Pointer));
    let op = Op::Call(Call { dst, callee, arguments });
    let (name, entry, exit) = (wrapper_name(like), Loc(0), Loc(1));
    let signature =
        Signature { result: pointer, parameters: vec![pointer, size], variadic: false, unprototyped: false };
    let function = Function {
        name,
        ty: Type::new(TypeKind::Function(Arc::new(signature))),
        linkage: Linkage::Internal,
        attributes: FunctionAttributes::default(),
        locals: locals.into(),
        parameters: vec![LocalId(1), LocalId(2)],
        result: Some(LocalId(0)),
        variadic: false,
        locations: 2,
        entry,
        exit,
        edges: vec![Edge { from: entry, to: exit, op, site: Site(0) }],
        obligations: Vec::new(),
        labels: Vec::new(),
        approximations: Vec::new(),
        operands: Vec::new(),
        library_results: Vec::new(),
        unsupported: Vec::new(),
    };
    program.functions.insert(name, Arc::new(function));
    models::apply(&mut program, models::standard());
    program.functions.remove(&name)
}
