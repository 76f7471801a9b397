//! Parameters that lead into different objects, or to nothing: what the function writes through the one leaves strings as they are that the other leads
//! to. Says what is needed of which parameters, and what it means at a call.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Base, CompareOp, EdgeId, Expr, Function, Loc, Lvalue, MemoryPredicate, Op, visit};

use super::{
    bytes::compare,
    origin::{Origin, Origins},
};

/// That two pointers do not lead into one object.
pub(super) fn are_separated(one: &Expr, other: &Expr) -> Expr {
    let share = Expr::Memory(MemoryPredicate::SameObject, Arc::new(one.clone()), Arc::new(other.clone()));
    compare(CompareOp::Eq, share, Expr::int(0))
}

/// The parameter through which an operation writes, if it writes nothing else.
pub(super) fn written_through(origins: &Origins<'_>, op: &Op) -> Option<usize> {
    let pointer = match op {
        Op::Assign(dst, _) | Op::Havoc(dst, _) | Op::Copy(dst, _) => match dst.base {
            Base::Deref(..) => Expr::Address(dst.clone()),
            Base::Local(_) | Base::Global(_) => return None,
        },
        Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) => to.clone(),
        Op::Skip
        | Op::Assume(_)
        | Op::Clobber(..)
        | Op::Call(_)
        | Op::Allocate(_)
        | Op::Free(_)
        | Op::Begin(_)
        | Op::End(_) => return None,
    };
    parameter(origins, &pointer)
}

fn parameter(origins: &Origins<'_>, pointer: &Expr) -> Option<usize> {
    match origins.place(pointer)?.origin {
        Origin::Parameter(at) => Some(at),
        Origin::Loaded(_) | Origin::Allocated | Origin::Room => None,
    }
}

/// By parameter, those through which the function writes before it asks something of the memory that the first leads to.
pub(super) fn needed(function: &Function, origins: &Origins<'_>) -> BTreeMap<usize, BTreeSet<usize>> {
    let asked = function.edges.iter().flat_map(|edge| {
        let mut parameters: Vec<(Loc, usize)> = Vec::new();
        visit::exprs(&edge.op, &mut |expr| {
            if let Expr::Memory(_, pointer, _) = expr {
                parameters.extend(parameter(origins, pointer).map(|at| (edge.from, at)));
            }
        });
        parameters
    });
    let asked: Vec<(Loc, usize)> = asked.collect();
    let mut needed: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut behind: BTreeMap<usize, Vec<Loc>> = BTreeMap::new();
    for edge in &function.edges {
        if let Some(at) = written_through(origins, &edge.op) {
            behind.entry(at).or_default().push(edge.to);
        }
    }
    let successors = function.successors();
    for (written, mut open) in behind {
        let mut reached: BTreeSet<Loc> = BTreeSet::new();
        while let Some(at) = open.pop() {
            if reached.insert(at) {
                open.extend(successors[at.index()].iter().map(|id: &EdgeId| function.edge(*id).to));
            }
        }
        for (_, read) in asked.iter().filter(|(at, read)| *read != written && reached.contains(at)) {
            needed.entry(*read).or_default().insert(written);
        }
    }
    needed
}

/// Whether pointers lead into different objects, as the one is the address of a variable of the function itself and the other was made from a parameter:
/// what callers pass was there before the variable.
pub(super) fn is_own(origins: &Origins<'_>, one: &Expr, other: &Expr) -> bool {
    let is_variable = |pointer: &Expr| matches!(pointer, Expr::Address(Lvalue { base: Base::Local(_), .. }));
    is_variable(one) && parameter(origins, other).is_some()
        || is_variable(other) && parameter(origins, one).is_some()
}
