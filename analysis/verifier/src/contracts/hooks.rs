//! Functions of the caller's choice that stand for `malloc`, `free` and `realloc`: a program calls them through members of its structures or through
//! variables, and a person would say "`allocate` behaves as `malloc`". Where a contract says so, each such call is the library's function.
//!
//! **Law.** Executions in which every function that is called through a hook behaves as the hook says are executions of the new program.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use proofline_cfa::{
    Allocation, Argument, Base, Call, Callee, Edge, EdgeId, Expr, Function, Loc, Local, LocalId, Lvalue,
    Name, Op, Program, Role, Scalar, Site, Step, Type, scalar_of,
};
use proofline_cfa_build::models;
use proofline_hir::{
    FunctionAttributes, Linkage, TypeKind,
    types::{IntKind, Signature},
};
use proofline_program_analysis::Environment;
use proofline_syntax::DataModel;

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
}

impl HookPlace {
    /// As the text says it.
    pub(super) fn text(&self) -> String {
        match self {
            HookPlace::Member(record, name) => format!("`{name}` of `{record}`"),
            HookPlace::Global(name) => format!("`{name}`"),
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
}

impl Like {
    pub(super) fn name(self) -> &'static str {
        match self {
            Like::Malloc => "malloc",
            Like::Free => "free",
            Like::Realloc => "realloc",
        }
    }
}

/// Those that the function and what it calls may need.
pub(super) fn of(env: &Environment, function: Name) -> Hooks {
    let reached = env.call_graph().reachable([function]);
    let bodies = reached.iter().filter_map(|name| env.function(*name));
    let calls = bodies.flat_map(|body| foreign(env, body));
    let mut all: Hooks = calls.filter_map(|call| hook(call, env.program())).collect();
    // A function that takes a pointer may be anything, unless another one beside it allocates.
    let group = |place: &HookPlace| match place {
        HookPlace::Member(record, _) => Some(*record),
        HookPlace::Global(_) => None,
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

/// Calls that may run code which is not in the program. Where all that is called is in sight, nothing is assumed of it.
fn foreign<'e>(env: &'e Environment, body: &'e Function) -> impl Iterator<Item = &'e Call> {
    let is_foreign =
        |id: EdgeId| env.call_graph().call(body.name, id).is_none_or(|callees| callees.may_be_external);
    body.edge_ids().filter(move |(id, _)| is_foreign(*id)).filter_map(|(_, edge)| edge.op.call())
}

/// Whether code that is not in the program may be called through it, by the function or what it calls.
pub(crate) fn is_open(env: &Environment, function: Name, place: &HookPlace) -> bool {
    let reached = env.call_graph().reachable([function]);
    let mut calls = reached.iter().filter_map(|name| env.function(*name)).flat_map(|body| foreign(env, body));
    calls.any(|call| hook(call, env.program()).is_some_and(|(known, _)| known == *place))
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

fn hook(call: &Call, program: &Program) -> Option<(HookPlace, Hook)> {
    let Callee::Indirect(pointer, _) = &call.callee else { return None };
    let (place, like) = place(pointer, program)?;
    Some((place, Hook { like, or_null: true }))
}

/// Where a pointer to a function is read, and what the function may be like.
pub(super) fn place(pointer: &Expr, program: &Program) -> Option<(HookPlace, Like)> {
    let Expr::Load(lvalue) = pointer else { return None };
    let like = signature(lvalue.ty, program)?;
    let place = match (lvalue.path.last(), &lvalue.base) {
        (Some(Step::Field { record, name, .. }), _) => HookPlace::Member(*record, *name),
        (None, Base::Global(name)) => HookPlace::Global(*name),
        (Some(Step::Index { .. }) | None, _) => return None,
    };
    Some((place, like))
}

/// The program in which these are what they are like.
pub(super) fn assumed(env: &Environment, hooks: &Hooks) -> Environment {
    let mut program = env.program().clone();
    let mut needs = BTreeSet::new();
    for function in program.functions.values_mut() {
        let is_one = |edge: &Edge| {
            edge.op
                .call()
                .and_then(|call| hook(call, env.program()))
                .is_some_and(|(place, _)| hooks.contains_key(&place))
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

/// The calls of a function through hooks that end the life of what they are given, and what that is.
pub(super) fn freed(program: &Program, function: &Function, hooks: &Hooks) -> BTreeMap<EdgeId, Expr> {
    let all = function.edge_ids().filter_map(|(id, edge)| {
        let call = edge.op.call()?;
        let (place, hook) = hook(call, program)?;
        if !hooks.contains_key(&place) || hook.like == Like::Malloc {
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
    Name::new(&format!("{}#hook", like.name()))
}

/// The call as one of the library.
fn called(call: &Call, like: Like, site: Site) -> Option<Op> {
    let value = |at: usize| match call.arguments.get(at)? {
        Argument::Value(value) => Some(value.clone()),
        Argument::Aggregate(_) => None,
    };
    let dst = call.dst.clone().filter(|dst| dst.scalar == Some(Scalar::Pointer));
    match like {
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
        Like::Malloc | Like::Free => None,
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
    let callee = Callee::Direct(Name::new(like.name()));
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
        library_results: Vec::new(),
        unsupported: Vec::new(),
    };
    program.functions.insert(name, Arc::new(function));
    models::apply(&mut program, models::standard());
    program.functions.remove(&name)
}
