//! Volatile reads give what was written, where nothing but the program changes the object. Lowering lets every volatile read give any
//! value: an edge reads, and a havoc comes behind it. Here the havoc goes where it says too much. Must not know how automata are made.

use std::{collections::BTreeSet, sync::Arc};

use proofline_hir::{Name, Type, TypeKind};

use crate::Environment;
use proofline_cfa::{Base, Cause, EdgeId, Expr, Function, Lvalue, Object, Op, Program};

/// The program in which a volatile read gives what was written, or `None` if that is the same program. A read still gives any value if it
/// may be of an object that is not defined here, of memory that the program does not name (a register behind a number), or of an object that
/// code outside may write: such code may be a handler or another thread. Of a library's variable of static storage the word itself says so.
pub fn written_values(env: &Environment) -> Option<Program> {
    let reads = env.program().functions.values().map(|function| (function.name, own_reads(env, function)));
    let reads: Vec<(Name, BTreeSet<EdgeId>)> = reads.filter(|(_, edges)| !edges.is_empty()).collect();
    if reads.is_empty() {
        return None;
    }
    let mut program = env.program().clone();
    for (name, edges) in reads {
        let Some(function) = program.functions.get_mut(&name) else { continue };
        let function = Arc::make_mut(function);
        for id in edges {
            function.edges[id.index()].op = Op::Skip;
        }
    }
    Some(program)
}

/// The havocs behind volatile reads of what only the program changes.
fn own_reads(env: &Environment, function: &Function) -> BTreeSet<EdgeId> {
    let havocs = function.edge_ids().filter_map(|(id, edge)| {
        if let Op::Havoc(read, Cause::Volatile) = &edge.op { Some((id, edge, read)) } else { None }
    });
    let is_own = |place: &Lvalue| !may_change(env, function.name, place);
    havocs
        .filter(|(_, edge, read)| {
            let mut before = function.edges.iter().filter(|before| before.to == edge.from).peekable();
            let has_any = before.peek().is_some() && edge.from != function.entry;
            has_any && before.all(|before| source(&before.op, read).is_some_and(is_own))
        })
        .map(|(id, _, _)| id)
        .collect()
}

/// What an operation puts into `read`.
fn source<'o>(op: &'o Op, read: &Lvalue) -> Option<&'o Lvalue> {
    if let Op::Assign(to, Expr::Load(from)) | Op::Copy(to, from) = op {
        (to == read).then_some(from)
    } else {
        None
    }
}

/// Whether something else than the program may change what is read.
fn may_change(env: &Environment, function: Name, place: &Lvalue) -> bool {
    let is_outside = |object: Object| {
        env.is_open() && env.escaped().contains(&object)
            || env.is_library() && is_volatile_variable(env, object)
    };
    let may_change = |object: Object| is_outside(object) || !is_defined(env, object);
    match &place.base {
        Base::Local(id) => may_change(Object::Local(function, *id)),
        Base::Global(name) => may_change(Object::Global(*name)),
        Base::Deref(pointer, _) => {
            env.targets(function, pointer).objects.iter().any(|object| may_change(*object))
        }
    }
}

/// A variable of static storage that is declared `volatile`, or an array of such elements.
fn is_volatile_variable(env: &Environment, object: Object) -> bool {
    fn is_volatile(ty: Type) -> bool {
        match ty.kind() {
            _ if ty.qualifiers().is_volatile => true,
            TypeKind::Array(element, _) => is_volatile(*element),
            _ => false,
        }
    }
    let Object::Global(name) = object else { return false };
    env.program().globals.get(&name).is_some_and(|global| is_volatile(global.ty))
}

fn is_defined(env: &Environment, object: Object) -> bool {
    match object {
        Object::Global(name) => env.program().globals.get(&name).is_some_and(|global| global.defined),
        Object::Local(..) | Object::Heap(..) => true,
        Object::External => false,
    }
}
