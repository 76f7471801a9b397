//! Objects of internal linkage that the program never writes keep their initial values, declared `const` or not. Looks at the functions that
//! mention the object, and at those that are given its address; must not know where pointers point.
//!
//! **Law.** Whoever gets a pointer into such an object only reads through it, compares it, or hands it to a function of which the same is true: no pointer into
//! it is ever kept anywhere but in locals whose addresses nobody takes.

use std::{collections::BTreeSet, sync::Arc};

use proofline_hir::{Linkage, Name};

use crate::{nonnull::is_understood, slice::SliceSource};
use proofline_cfa::{
    Argument, Base, Callee, Expr, Function, Global, LocalId, Lvalue, Op, Program, Scalar, Step, visit,
};

/// Into more functions the address is not followed.
const MOST_FUNCTIONS: usize = 24;

/// Marks the objects of a slice that never change as constant.
pub(crate) fn mark(program: &mut Program, source: &dyn SliceSource) {
    for global in program.globals.values_mut() {
        if is_never_written(source, global) {
            Arc::make_mut(global).constant = true;
        }
    }
}

fn is_never_written(source: &dyn SliceSource, global: &Global) -> bool {
    let is_candidate = global.linkage == Linkage::Internal
        && global.defined
        && !global.constant
        && !global.ty.qualifiers().is_volatile;
    if !is_candidate {
        return false;
    }
    let mut readers = Readers { source, object: global.name, asked: BTreeSet::new() };
    // An object that starts with its address is among the users, and no function.
    source.users(global.name).iter().all(|user| readers.only_reads(*user, None))
}

/// Functions that only read an object.
struct Readers<'s> {
    source: &'s dyn SliceSource,
    object: Name,
    /// With the parameters that lead there. Those that are asked about already are taken to do no harm; if they do, somebody has said so.
    asked: BTreeSet<(Name, Option<LocalId>)>,
}

impl Readers<'_> {
    /// Whether a function only reads the object, by its name and through a parameter.
    fn only_reads(&mut self, name: Name, parameter: Option<LocalId>) -> bool {
        if !self.asked.insert((name, parameter)) {
            return true;
        }
        if self.asked.len() > MOST_FUNCTIONS && parameter.is_some() {
            return false;
        }
        let Some((function, _)) = self.source.function(name) else { return false };
        if !is_understood(self.source, &function) {
            return false;
        }
        let mut look =
            Look { function: &function, object: self.object, held: BTreeSet::new(), calls: Vec::new() };
        look.held.extend(parameter);
        let is_reader = look.settle() && function.edges.iter().all(|edge| look.operation(&edge.op));
        let calls = look.calls;
        is_reader && calls.into_iter().all(|(callee, at)| self.is_given(callee, at))
    }

    /// Whether a function only reads what its argument of this number leads to.
    fn is_given(&mut self, callee: Name, at: usize) -> bool {
        let parameter =
            self.source.function(callee).and_then(|(function, _)| function.parameters.get(at).copied());
        parameter.is_some_and(|parameter| self.only_reads(callee, Some(parameter)))
    }
}

/// One function, and what in it leads into the object.
struct Look<'f> {
    function: &'f Function,
    object: Name,
    /// Locals with pointers into it.
    held: BTreeSet<LocalId>,
    /// Functions that get such a pointer, and as which argument.
    calls: Vec<(Name, usize)>,
}

impl Look<'_> {
    /// Finds the locals that get such pointers; whether nothing else can get at these.
    fn settle(&mut self) -> bool {
        loop {
            let before = self.held.len();
            for edge in &self.function.edges {
                if let Op::Assign(Lvalue { base: Base::Local(id), path, .. }, value) = &edge.op
                    && path.is_empty()
                    && self.leads_there(value)
                {
                    self.held.insert(*id);
                }
            }
            if self.held.len() == before {
                break;
            }
        }
        let is_hidden =
            |id: &LocalId| !self.function.local(*id).address_taken && self.function.result != Some(*id);
        self.held.iter().all(is_hidden)
    }

    /// Whether a value is a pointer into the object.
    fn leads_there(&self, value: &Expr) -> bool {
        match value {
            Expr::Address(place) => match &place.base {
                Base::Global(name) => *name == self.object,
                Base::Deref(pointer, _) => self.leads_there(pointer),
                Base::Local(_) => false,
            },
            Expr::Load(Lvalue { base: Base::Local(id), path, .. }) => {
                path.is_empty() && self.held.contains(id)
            }
            Expr::Cast(Scalar::Pointer, arg, _) => self.leads_there(arg),
            _ => false,
        }
    }

    /// Whether an operation does no more than read.
    fn operation(&mut self, op: &Op) -> bool {
        match op {
            Op::Skip | Op::Begin(_) | Op::End(_) => true,
            Op::Assume(condition) => self.value(condition),
            Op::Assign(dst, value) => {
                let is_kept =
                    matches!(&dst.base, Base::Local(id) if dst.path.is_empty() && self.held.contains(id));
                self.written(dst) && if is_kept { self.pointer(value) } else { self.value(value) }
            }
            Op::Copy(dst, from) => self.written(dst) && self.read(from),
            Op::Havoc(dst, _) => self.written(dst),
            Op::Call(call) => {
                let callee = match &call.callee {
                    Callee::Direct(name) => Some(*name),
                    Callee::Indirect(..) => None,
                };
                let mut only_reads = call.dst.as_ref().is_none_or(|dst| self.written(dst));
                if let Callee::Indirect(pointer, ..) = &call.callee {
                    only_reads &= self.value(pointer);
                }
                for (at, argument) in call.arguments.iter().enumerate() {
                    only_reads &= match argument {
                        Argument::Aggregate(place) => self.read(place),
                        Argument::Value(value) if self.leads_there(value) => {
                            self.calls.extend(callee.map(|callee| (callee, at)));
                            callee.is_some() && self.pointer(value)
                        }
                        Argument::Value(value) => self.value(value),
                    };
                }
                only_reads
            }
            Op::CopyBytes(to, from, size) => self.value(to) && self.pointer(from) && self.value(size),
            Op::Allocate(_) | Op::Free(_) | Op::Clobber(..) | Op::FillBytes(..) | Op::HavocBytes(..) => {
                let mut only_reads = true;
                visit::exprs(op, &mut |expr| only_reads &= !self.leads_there(expr));
                visit::mentions(op, &mut |mention| {
                    if let visit::Mention::Write(place) = mention {
                        only_reads &= self.written(place);
                    }
                });
                only_reads
            }
        }
    }

    /// Whether a place that is written is not in the object.
    fn written(&self, place: &Lvalue) -> bool {
        let is_elsewhere = match &place.base {
            Base::Global(name) => *name != self.object,
            Base::Deref(pointer, _) => !self.leads_there(pointer),
            Base::Local(_) => true,
        };
        is_elsewhere && self.read(place)
    }

    /// Whether where a place is read nothing else is done.
    fn read(&self, place: &Lvalue) -> bool {
        let is_base = match &place.base {
            Base::Deref(pointer, _) => self.pointer(pointer),
            Base::Local(_) | Base::Global(_) => true,
        };
        is_base
            && place.path.iter().all(|step| match step {
                Step::Field { .. } => true,
                Step::Index { index, .. } => self.value(index),
            })
    }

    /// A value that may be a pointer into the object: where it is followed, compared, or kept in a local that is looked at.
    fn pointer(&self, value: &Expr) -> bool {
        match value {
            Expr::Load(place) | Expr::Address(place) => self.read(place),
            Expr::Cast(Scalar::Pointer, arg, _) if self.leads_there(arg) => self.pointer(arg),
            _ => self.value(value),
        }
    }

    /// Whether a value is computed by reading alone, and is no pointer into the object.
    fn value(&self, value: &Expr) -> bool {
        if self.leads_there(value) {
            return false;
        }
        match value {
            Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => true,
            Expr::Load(place) | Expr::Address(place) => self.read(place),
            Expr::Compare(_, a, b) | Expr::PointerDifference(a, b, ..) => self.pointer(a) && self.pointer(b),
            Expr::Memory(_, pointer, size) => self.pointer(pointer) && self.value(size),
            Expr::Unary(_, arg, _) | Expr::Cast(_, arg, _) => self.value(arg),
            Expr::Binary(_, a, b, _) | Expr::Overflows(_, a, b) => self.value(a) && self.value(b),
        }
    }
}
