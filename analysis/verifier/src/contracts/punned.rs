//! Records that memory of another type may be taken for, as the text says: `struct number *n = (struct number *)node;`. What is written to a member through such a
//! pointer may be anything, pointers of another structure included. Types that the program does not complete are taken for what they are (`opaque`).

use std::collections::BTreeSet;

use proofline_cfa::{Argument, EdgeId, Expr, Function, Lvalue, Name, Op, Program, Scalar, Step, Type};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use super::{fresh::Fresh, opaque::Opaque, origin::types};

/// Their tags.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Punned(BTreeSet<Name>);

/// What a pointer leads to, as its own type says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// Nowhere, or to what the run has made itself.
    Nothing,
    Only(Type),
    Anything,
}

impl Punned {
    /// In these functions.
    pub(super) fn of(env: &Environment, fresh: &Fresh, functions: &BTreeSet<Name>) -> Punned {
        let opaque = Opaque::of(env.program());
        let mut maker = Maker { env, fresh, opaque, punned: BTreeSet::new() };
        let mut count = None;
        // What an incomplete type was taken from counts for what it is taken for.
        while count != Some(maker.punned.len()) {
            count = Some(maker.punned.len());
            for body in functions.iter().filter_map(|name| env.function(*name)) {
                for (id, edge) in body.edge_ids() {
                    maker.see(body, id, &edge.op);
                }
            }
        }
        Punned(maker.punned)
    }

    /// Whether what is written to a member through this pointer, with these steps, may lie in an object of another type.
    pub(super) fn may_be_other(&self, program: &Program, pointer: &Expr, path: &[Step]) -> bool {
        let Some(Step::Field { record, .. }) = path.iter().find(|step| matches!(step, Step::Field { .. }))
        else {
            return true;
        };
        let is_own = match source(program, pointer) {
            Source::Only(ty) => matches!(ty.kind(), TypeKind::Record(tag) if tag == record),
            Source::Nothing => true,
            Source::Anything => false,
        };
        !is_own || self.0.contains(record)
    }
}

struct Maker<'e> {
    env: &'e Environment,
    fresh: &'e Fresh,
    opaque: Opaque,
    punned: BTreeSet<Name>,
}

impl Maker<'_> {
    fn see(&mut self, body: &Function, id: EdgeId, op: &Op) {
        match op {
            Op::Assign(dst, value) => self.passes(body, dst.ty, value),
            Op::Call(call) => {
                let env = self.env;
                let callees = env.call_graph().call(body.name, id).into_iter().flat_map(|to| &to.functions);
                for callee in callees.filter_map(|name| env.function(*name)) {
                    for (id, argument) in callee.parameters.iter().zip(&call.arguments) {
                        if let Argument::Value(value) = argument {
                            self.passes(body, callee.local(*id).ty, value);
                        }
                    }
                    if let (Some(dst), Some(id)) = (&call.dst, callee.result) {
                        self.is_taken(dst.ty, source_of(callee.local(id).ty));
                    }
                }
            }
            Op::Skip
            | Op::Assume(_)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
    }

    fn passes(&mut self, body: &Function, to: Type, value: &Expr) {
        if to.pointee().is_some() && !self.fresh.is_fresh(body, value) {
            self.is_taken(to, source(self.env.program(), value));
        }
    }

    /// A pointer of this type gets one that leads there.
    fn is_taken(&mut self, to: Type, from: Source) {
        let program = self.env.program();
        let Some(to) = to.pointee().map(Type::unqualified) else { return };
        let TypeKind::Record(tag) = to.kind() else { return };
        let is_other = match from {
            Source::Nothing => false,
            Source::Only(from) => match from.kind() {
                TypeKind::Record(other) if other == tag => false,
                TypeKind::Record(_) if self.opaque.taken(program, to) == Some(from) => false,
                TypeKind::Record(other) => {
                    self.punned.contains(other) || self.opaque.taken(program, from) != Some(to)
                }
                _ => true,
            },
            Source::Anything => true,
        };
        if is_other {
            self.punned.insert(*tag);
        }
    }
}

/// What a pointer of this type leads to.
fn source_of(pointer: Type) -> Source {
    pointer.pointee().map_or(Source::Anything, |pointee| Source::Only(pointee.unqualified()))
}

/// What a pointer leads to, as the types of what it is read from say. A union has several.
fn source(program: &Program, pointer: &Expr) -> Source {
    match pointer {
        Expr::Null | Expr::Int(0, _) | Expr::Function(_) => Source::Nothing,
        Expr::Load(lvalue) if through_union(program, lvalue) => Source::Anything,
        Expr::Load(lvalue) => source_of(lvalue.ty),
        Expr::Address(lvalue) => {
            let mut ty = lvalue.ty.unqualified();
            while let TypeKind::Array(element, _) = ty.kind() {
                ty = element.unqualified();
            }
            Source::Only(ty)
        }
        Expr::Cast(Scalar::Pointer, arg, _) => source(program, arg),
        _ => Source::Anything,
    }
}

fn through_union(program: &Program, lvalue: &Lvalue) -> bool {
    lvalue.path.iter().any(|step| match step {
        Step::Field { record, .. } => types(program).record(*record).is_none_or(|record| record.is_union),
        Step::Index { .. } => false,
    })
}
