//! Walks over the parts of operations. Knows the shape of expressions, nothing of their meaning.

use std::sync::Arc;

use proofline_hir::{Name, Type};

use crate::{Argument, Base, Callee, Expr, Function, LocalId, Lvalue, Op, Step};

/// What an operation mentions directly.
#[derive(Clone, Copy)]
pub enum Mention<'o> {
    /// A value that is computed.
    Value(&'o Expr),
    /// An object whose content is used.
    Read(&'o Lvalue),
    /// An object that is written.
    Write(&'o Lvalue),
}

/// Everything that the operation mentions directly, in order of evaluation; a local that begins or ends is not mentioned.
pub fn mentions<'o>(op: &'o Op, see: &mut dyn FnMut(Mention<'o>)) {
    match op {
        Op::Skip | Op::Begin(_) | Op::End(_) => {}
        Op::Assume(value) | Op::Free(value) => see(Mention::Value(value)),
        Op::Assign(dst, value) => {
            see(Mention::Value(value));
            see(Mention::Write(dst));
        }
        Op::Copy(dst, src) => {
            see(Mention::Read(src));
            see(Mention::Write(dst));
        }
        Op::Havoc(dst, _) => see(Mention::Write(dst)),
        Op::Clobber(values, _) => values.iter().for_each(|value| see(Mention::Value(value))),
        Op::Call(call) => {
            if let Callee::Indirect(pointer, _) = &call.callee {
                see(Mention::Value(pointer));
            }
            for argument in &call.arguments {
                match argument {
                    Argument::Value(value) => see(Mention::Value(value)),
                    Argument::Aggregate(lvalue) => see(Mention::Read(lvalue)),
                }
            }
            if let Some(dst) = &call.dst {
                see(Mention::Write(dst));
            }
        }
        Op::Allocate(allocation) => {
            see(Mention::Value(&allocation.size));
            see(Mention::Write(&allocation.dst));
        }
        Op::CopyBytes(a, b, c) | Op::FillBytes(a, b, c) => {
            [a, b, c].into_iter().for_each(|v| see(Mention::Value(v)))
        }
        Op::HavocBytes(a, b, _) => [a, b].into_iter().for_each(|v| see(Mention::Value(v))),
    }
}

/// Every lvalue whose content the operation reads, also to find out where something is.
pub fn reads<'o>(op: &'o Op, see: &mut dyn FnMut(&'o Lvalue)) {
    mentions(op, &mut |mention| match mention {
        Mention::Value(value) => reads_of_expr(value, see),
        Mention::Read(lvalue) => {
            reads_of_place(lvalue, see);
            see(lvalue);
        }
        Mention::Write(lvalue) => reads_of_place(lvalue, see),
    });
}

/// Every lvalue whose content an expression reads.
pub fn reads_of_expr<'o>(expr: &'o Expr, see: &mut dyn FnMut(&'o Lvalue)) {
    walk(expr, &mut |part| {
        if let Expr::Load(lvalue) = part {
            see(lvalue);
        }
    });
}

fn reads_of_place<'o>(lvalue: &'o Lvalue, see: &mut dyn FnMut(&'o Lvalue)) {
    parts_of_place(lvalue, &mut |expr| reads_of_expr(expr, see));
}

/// Every subexpression of the operation.
pub fn exprs<'o>(op: &'o Op, see: &mut dyn FnMut(&'o Expr)) {
    mentions(op, &mut |mention| match mention {
        Mention::Value(value) => walk(value, see),
        Mention::Read(lvalue) | Mention::Write(lvalue) => parts_of_place(lvalue, &mut |expr| walk(expr, see)),
    });
}

/// Every subexpression, itself last, those inside lvalues included.
pub fn walk<'o>(expr: &'o Expr, see: &mut dyn FnMut(&'o Expr)) {
    match expr {
        Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => {}
        Expr::Load(lvalue) | Expr::Address(lvalue) => parts_of_place(lvalue, &mut |part| walk(part, see)),
        Expr::Unary(_, arg, _) | Expr::Cast(_, arg, _) => walk(arg, see),
        Expr::Binary(_, lhs, rhs, _)
        | Expr::Compare(_, lhs, rhs)
        | Expr::Overflows(_, lhs, rhs)
        | Expr::Memory(_, lhs, rhs)
        | Expr::PointerDifference(lhs, rhs, _, _) => {
            walk(lhs, see);
            walk(rhs, see);
        }
    }
    see(expr);
}

/// The expressions directly inside an lvalue: its pointer and its indices.
pub fn parts_of_place<'o>(lvalue: &'o Lvalue, see: &mut dyn FnMut(&'o Expr)) {
    if let Base::Deref(pointer, _) = &lvalue.base {
        see(pointer);
    }
    for step in &lvalue.path {
        if let Step::Index { index, .. } = step {
            see(index);
        }
    }
}

/// What linking may have to rename.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symbol {
    /// A function or an object with static storage.
    Global(Name),
    /// A record.
    Tag(Name),
    /// A type, whose parts may have names.
    Type(Type),
}

/// Everything that [`rename`] would rename, locals and the automaton's own name left out; a symbol may be seen several times.
pub fn symbols(function: &Function, see: &mut dyn FnMut(Symbol)) {
    see(Symbol::Type(function.ty));
    function.locals.iter().for_each(|local| see(Symbol::Type(local.ty)));
    for edge in &function.edges {
        if let Op::Call(call) = &edge.op {
            see(match &call.callee {
                Callee::Direct(name) => Symbol::Global(*name),
                Callee::Indirect(_, ty) => Symbol::Type(*ty),
            });
        }
        mentions(&edge.op, &mut |mention| match mention {
            Mention::Value(value) => symbols_of_expr(value, see),
            Mention::Read(lvalue) | Mention::Write(lvalue) => {
                symbols_of_lvalue(lvalue, see);
                parts_of_place(lvalue, &mut |part| symbols_of_expr(part, see));
            }
        });
    }
    let arguments = function.library_results.iter().flat_map(|result| &result.arguments);
    arguments.for_each(|argument| symbols_of_expr(argument, see));
}

fn symbols_of_expr(expr: &Expr, see: &mut dyn FnMut(Symbol)) {
    walk(expr, &mut |part| match part {
        Expr::Function(name) => see(Symbol::Global(*name)),
        Expr::Load(lvalue) | Expr::Address(lvalue) => symbols_of_lvalue(lvalue, see),
        Expr::Int(..)
        | Expr::Float(..)
        | Expr::Null
        | Expr::Unary(..)
        | Expr::Cast(..)
        | Expr::Binary(..)
        | Expr::Compare(..)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => {}
    });
}

/// Of the lvalue alone, without the expressions inside.
fn symbols_of_lvalue(lvalue: &Lvalue, see: &mut dyn FnMut(Symbol)) {
    if let Base::Global(name) = &lvalue.base {
        see(Symbol::Global(*name));
    }
    for step in &lvalue.path {
        if let Step::Field { record, .. } = step {
            see(Symbol::Tag(*record));
        }
    }
    see(Symbol::Type(lvalue.ty));
}

/// New names for things.
pub trait Renaming {
    /// Of a local.
    fn local(&self, id: LocalId) -> LocalId {
        id
    }
    /// Of a function or an object with static storage.
    fn global(&self, name: Name) -> Name {
        name
    }
    /// Of a record.
    fn tag(&self, name: Name) -> Name {
        name
    }
    /// Of a type: whatever its parts are called now.
    fn ty(&self, ty: Type) -> Type {
        ty
    }
}

/// Renames everywhere in the automaton; its own table of locals is left as it is.
pub fn rename(function: &mut Function, with: &dyn Renaming) {
    function.name = with.global(function.name);
    function.ty = with.ty(function.ty);
    for local in &mut function.locals {
        local.ty = with.ty(local.ty);
    }
    for id in function.parameters.iter_mut().chain(&mut function.result) {
        *id = with.local(*id);
    }
    for edge in &mut function.edges {
        rename_op(&mut edge.op, with);
    }
    for result in &mut function.library_results {
        result.dst = with.local(result.dst);
        result.arguments.iter_mut().for_each(|argument| rename_expr(argument, with));
    }
}

fn rename_op(op: &mut Op, with: &dyn Renaming) {
    match op {
        Op::Skip => {}
        Op::Begin(id) | Op::End(id) => *id = with.local(*id),
        Op::Assume(value) | Op::Free(value) => rename_expr(value, with),
        Op::Assign(dst, value) => {
            rename_place(dst, with);
            rename_expr(value, with);
        }
        Op::Copy(dst, src) => {
            rename_place(dst, with);
            rename_place(src, with);
        }
        Op::Havoc(dst, _) => rename_place(dst, with),
        Op::Clobber(values, _) => values.iter_mut().for_each(|value| rename_expr(value, with)),
        Op::Call(call) => {
            match &mut call.callee {
                Callee::Direct(name) => *name = with.global(*name),
                Callee::Indirect(pointer, ty) => {
                    rename_expr(pointer, with);
                    *ty = with.ty(*ty);
                }
            }
            for argument in &mut call.arguments {
                match argument {
                    Argument::Value(value) => rename_expr(value, with),
                    Argument::Aggregate(lvalue) => rename_place(lvalue, with),
                }
            }
            if let Some(dst) = &mut call.dst {
                rename_place(dst, with);
            }
        }
        Op::Allocate(allocation) => {
            rename_place(&mut allocation.dst, with);
            rename_expr(&mut allocation.size, with);
        }
        Op::CopyBytes(a, b, c) | Op::FillBytes(a, b, c) => {
            [a, b, c].into_iter().for_each(|v| rename_expr(v, with))
        }
        Op::HavocBytes(a, b, _) => [a, b].into_iter().for_each(|v| rename_expr(v, with)),
    }
}

fn rename_expr(expr: &mut Expr, with: &dyn Renaming) {
    match expr {
        Expr::Int(..) | Expr::Float(..) | Expr::Null => {}
        Expr::Function(name) => *name = with.global(*name),
        Expr::Load(lvalue) | Expr::Address(lvalue) => rename_place(lvalue, with),
        Expr::Unary(_, arg, _) | Expr::Cast(_, arg, _) => rename_expr(Arc::make_mut(arg), with),
        Expr::Binary(_, lhs, rhs, _)
        | Expr::Compare(_, lhs, rhs)
        | Expr::Overflows(_, lhs, rhs)
        | Expr::Memory(_, lhs, rhs)
        | Expr::PointerDifference(lhs, rhs, _, _) => {
            rename_expr(Arc::make_mut(lhs), with);
            rename_expr(Arc::make_mut(rhs), with);
        }
    }
}

fn rename_place(lvalue: &mut Lvalue, with: &dyn Renaming) {
    match &mut lvalue.base {
        Base::Local(id) => *id = with.local(*id),
        Base::Global(name) => *name = with.global(*name),
        Base::Deref(pointer, _) => rename_expr(Arc::make_mut(pointer), with),
    }
    for step in &mut lvalue.path {
        match step {
            Step::Field { record, .. } => *record = with.tag(*record),
            Step::Index { index, .. } => rename_expr(Arc::make_mut(index), with),
        }
    }
    lvalue.ty = with.ty(lvalue.ty);
}

/// Puts expressions in the place of those that the operation reads, outermost first; what was put is not looked into. Places that are
/// written or whose address is taken stay, but for the pointers and indices in them.
pub fn replace(op: &mut Op, with: &dyn Fn(&Expr) -> Option<Expr>) {
    match op {
        Op::Skip | Op::Begin(_) | Op::End(_) => {}
        Op::Assume(value) | Op::Free(value) => replace_in(value, with),
        Op::Assign(dst, value) => {
            replace_in_place(dst, with);
            replace_in(value, with);
        }
        Op::Copy(dst, src) => {
            replace_in_place(dst, with);
            replace_in_place(src, with);
        }
        Op::Havoc(dst, _) => replace_in_place(dst, with),
        Op::Clobber(values, _) => values.iter_mut().for_each(|value| replace_in(value, with)),
        Op::Call(call) => {
            if let Callee::Indirect(pointer, _) = &mut call.callee {
                replace_in(pointer, with);
            }
            for argument in &mut call.arguments {
                match argument {
                    Argument::Value(value) => replace_in(value, with),
                    Argument::Aggregate(lvalue) => replace_in_place(lvalue, with),
                }
            }
            if let Some(dst) = &mut call.dst {
                replace_in_place(dst, with);
            }
        }
        Op::Allocate(allocation) => {
            replace_in_place(&mut allocation.dst, with);
            replace_in(&mut allocation.size, with);
        }
        Op::CopyBytes(a, b, c) | Op::FillBytes(a, b, c) => {
            [a, b, c].into_iter().for_each(|value| replace_in(value, with));
        }
        Op::HavocBytes(a, b, _) => [a, b].into_iter().for_each(|value| replace_in(value, with)),
    }
}

/// The same in an expression.
pub fn replace_in(expr: &mut Expr, with: &dyn Fn(&Expr) -> Option<Expr>) {
    if let Some(other) = with(expr) {
        *expr = other;
        return;
    }
    match expr {
        Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => {}
        Expr::Load(lvalue) | Expr::Address(lvalue) => replace_in_place(lvalue, with),
        Expr::Unary(_, arg, _) | Expr::Cast(_, arg, _) => replace_in(Arc::make_mut(arg), with),
        Expr::Binary(_, lhs, rhs, _)
        | Expr::Compare(_, lhs, rhs)
        | Expr::Overflows(_, lhs, rhs)
        | Expr::Memory(_, lhs, rhs)
        | Expr::PointerDifference(lhs, rhs, _, _) => {
            replace_in(Arc::make_mut(lhs), with);
            replace_in(Arc::make_mut(rhs), with);
        }
    }
}

fn replace_in_place(lvalue: &mut Lvalue, with: &dyn Fn(&Expr) -> Option<Expr>) {
    if let Base::Deref(pointer, _) = &mut lvalue.base {
        replace_in(Arc::make_mut(pointer), with);
    }
    for step in &mut lvalue.path {
        match step {
            Step::Field { .. } => {}
            Step::Index { index, .. } => replace_in(Arc::make_mut(index), with),
        }
    }
}
