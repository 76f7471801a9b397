//! Whether a function may lose what was allocated before it was called: whether it, or what it calls, writes over a pointer that may be all that refers to
//! such an object. Its own variables are no matter, nor is what it has allocated itself, as long as nothing older was stored there.
//!
//! **Law.** If [`may_lose_older`] does not hold of a function, an object that was there when it was called, and that something outside of its variables led
//! to, is still led to from there when it returns, unless what led to it was freed. A pointer that is not *older* leads to nothing that was there before: it
//! comes from allocations and constants alone. (Flow-insensitive: of each local, and of all memory of new objects together.)

use std::collections::BTreeSet;

use proofline_cfa::{
    Allocation, Argument, Base, EdgeId, Expr, Function, LocalId, Lvalue, Object, Op, Scalar,
};
use proofline_hir::Name;

use crate::Environment;

/// Functions that reach more are taken to lose something: to follow the pointers of a large library would take longer than everything else.
const MOST_REACHED: usize = 200;

/// See the law.
pub(crate) fn may_lose_older(env: &Environment, function: Name) -> bool {
    let Some(reached) = reached(env, function) else { return true };
    let functions: Vec<&Function> = reached.iter().filter_map(|name| env.function(*name)).collect();
    let older = Older::of(env, function, &functions);
    let ends_lives = |op: &Op| matches!(op, Op::Free(_) | Op::Clobber(..));
    let keeps_lives = functions.iter().all(|function| {
        !function.edges.iter().any(|edge| ends_lives(&edge.op))
            && !env.call_graph().calls(function.name).any(|(_, callees)| callees.may_be_external)
    });
    let is_new = |object: &Object| match object {
        Object::Heap(by, _) => !env.is_left(*object) && reached.contains(by),
        Object::Local(..) => true,
        Object::Global(_) | Object::External => false,
    };
    // What is allocated here holds nothing older, or keeps what it holds.
    let leads_to_new = |function: &Function, pointer: &Expr| {
        let targets = env.targets(function.name, pointer);
        keeps_lives && !targets.objects.is_empty() && targets.objects.iter().all(is_new)
    };
    let is_safe = |function: &Function, pointer: &Expr| {
        !older.are_in_new && !older.may_be(function, pointer) || leads_to_new(function, pointer)
    };
    let holds_pointers = |function: &Function, to: &Lvalue| {
        is_of_pointers(to)
            && match &to.base {
                Base::Local(_) => false,
                Base::Global(_) => true,
                Base::Deref(pointer, _) => !is_safe(function, pointer),
            }
    };
    let is_loss = |function: &Function, op: &Op| match op {
        Op::Assign(..) | Op::Havoc(..) | Op::Copy(..) | Op::Allocate(_) | Op::Call(_) => {
            written(op).is_some_and(|to| holds_pointers(function, to))
        }
        Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) => {
            let targets = env.targets(function.name, to);
            let is_new =
                |object: &Object| matches!(object, Object::Heap(..)) && !matches!(op, Op::FillBytes(..));
            !is_safe(function, to)
                && targets
                    .objects
                    .iter()
                    .any(|object| !matches!(object, Object::Local(..)) && !is_new(object))
        }
        Op::Skip | Op::Assume(_) | Op::Clobber(..) | Op::Free(_) | Op::Begin(_) | Op::End(_) => false,
    };
    functions.into_iter().any(|function| function.edges.iter().any(|edge| is_loss(function, &edge.op)))
}

/// What the function reaches; `None` if that is many functions, or one of them writes pointers into objects with static storage, which is a loss in any case.
fn reached(env: &Environment, function: Name) -> Option<BTreeSet<Name>> {
    let is_global = |to: &Lvalue| matches!(to.base, Base::Global(_)) && is_of_pointers(to);
    let (mut reached, mut open) = (BTreeSet::from([function]), vec![function]);
    while let Some(next) = open.pop() {
        let edges = env.function(next).into_iter().flat_map(|body| &body.edges);
        if edges.filter_map(|edge| written(&edge.op)).any(is_global) || reached.len() > MOST_REACHED {
            return None;
        }
        let callees = env.call_graph().callees(next).iter().copied();
        open.extend(callees.filter(|callee| reached.insert(*callee)));
    }
    Some(reached)
}

/// The place of one value that the operation writes.
fn written(op: &Op) -> Option<&Lvalue> {
    match op {
        Op::Assign(to, _) | Op::Havoc(to, _) | Op::Copy(to, _) => Some(to),
        Op::Allocate(Allocation { dst, .. }) => Some(dst),
        Op::Call(call) => call.dst.as_ref(),
        Op::Skip
        | Op::Assume(_)
        | Op::Clobber(..)
        | Op::Free(_)
        | Op::CopyBytes(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..)
        | Op::Begin(_)
        | Op::End(_) => None,
    }
}

/// Whether pointers may be stored there.
fn is_of_pointers(to: &Lvalue) -> bool {
    matches!(to.scalar, Some(Scalar::Pointer) | None)
}

/// What may lead to objects that were there before.
struct Older {
    /// Locals.
    locals: BTreeSet<(Name, LocalId)>,
    /// Some pointer in what is new, or in a local whose address is taken.
    are_in_new: bool,
}

impl Older {
    fn of(env: &Environment, entry: Name, functions: &[&Function]) -> Older {
        let given = env.function(entry).into_iter().flat_map(|function| &function.parameters);
        let locals = given.map(|id| (entry, *id)).collect();
        let mut older = Older { locals, are_in_new: false };
        loop {
            let before = (older.locals.len(), older.are_in_new);
            for function in functions {
                for (id, edge) in function.edge_ids() {
                    older.pass(env, function, id, &edge.op);
                }
            }
            if before == (older.locals.len(), older.are_in_new) {
                return older;
            }
        }
    }

    fn pass(&mut self, env: &Environment, function: &Function, id: EdgeId, op: &Op) {
        match op {
            Op::Assign(to, value) if is_of_pointers(to) && self.may_be(function, value) => {
                self.store(function.name, to);
            }
            Op::Copy(to, from) if self.may_be_read(function, from) => self.store(function.name, to),
            Op::Havoc(to, _) if is_of_pointers(to) => self.store(function.name, to),
            Op::Call(call) => {
                let callees = env.call_graph().call(function.name, id);
                let mut is_older = callees.is_none_or(|callees| callees.may_be_external);
                for callee in callees.iter().flat_map(|callees| &callees.functions) {
                    let Some(callee) = env.function(*callee) else { continue };
                    for (parameter, argument) in callee.parameters.iter().zip(&call.arguments) {
                        let may_be = match argument {
                            Argument::Value(value) => self.may_be(function, value),
                            Argument::Aggregate(from) => self.may_be_read(function, from),
                        };
                        if may_be {
                            self.locals.insert((callee.name, *parameter));
                        }
                    }
                    is_older |=
                        callee.result.is_some_and(|result| self.locals.contains(&(callee.name, result)));
                }
                // Code outside stores what it likes where it can.
                self.are_in_new |= callees.is_none_or(|callees| callees.may_be_external);
                if let Some(dst) = call.dst.as_ref().filter(|dst| is_older && is_of_pointers(dst)) {
                    self.store(function.name, dst);
                }
            }
            Op::CopyBytes(_, from, _) => self.are_in_new |= self.may_be(function, from),
            Op::Clobber(..) | Op::HavocBytes(..) => self.are_in_new = true,
            Op::Assign(..)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Skip
            | Op::Assume(_)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::FillBytes(..)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
    }

    /// Something older is stored there.
    fn store(&mut self, function: Name, to: &Lvalue) {
        match to.base {
            Base::Local(id) => {
                self.locals.insert((function, id));
            }
            Base::Deref(..) => self.are_in_new = true,
            Base::Global(_) => {}
        }
    }

    /// Whether the value may lead to something older. What is no pointer is not followed, but where it is made one.
    fn may_be(&self, function: &Function, value: &Expr) -> bool {
        match value {
            Expr::Load(from) => is_of_pointers(from) && self.may_be_read(function, from),
            Expr::Address(Lvalue { base: Base::Deref(pointer, _), .. }) => self.may_be(function, pointer),
            Expr::Cast(Scalar::Pointer, from, _) if from.scalar() != Scalar::Pointer => {
                !matches!(**from, Expr::Int(..))
            }
            Expr::Cast(Scalar::Pointer, from, _) => self.may_be(function, from),
            Expr::Address(_) | Expr::Null | Expr::Function(_) => false,
            value => value.scalar() == Scalar::Pointer,
        }
    }

    /// Whether what is read there may.
    fn may_be_read(&self, function: &Function, from: &Lvalue) -> bool {
        match &from.base {
            Base::Local(id) => {
                let is_in_memory = function.local(*id).address_taken;
                self.locals.contains(&(function.name, *id)) || is_in_memory && self.are_in_new
            }
            Base::Global(_) => true,
            Base::Deref(pointer, _) => self.are_in_new || self.may_be(function, pointer),
        }
    }
}
