//! Before each use of an element of `argv`: it is not null if it is one of the first `argc`.

use std::{collections::BTreeSet, sync::Arc};

use super::compare;
use proofline_cfa::{
    Base, CompareOp, Edge, Expr, Function, IntType, Loc, LocalId, Lvalue, Op, Scalar, Site, Step, visit,
};

/// The function with what is known of the elements that it reads; `None` if it reads none.
pub(super) fn known(function: &Function, argc: &Expr, argv: LocalId) -> Option<Function> {
    let mut out = Function::clone(function);
    for (loc, edges) in function.successors().iter().enumerate() {
        let mut read: BTreeSet<&Lvalue> = BTreeSet::new();
        for id in edges {
            visit::reads(&function.edge(*id).op, &mut |place| {
                if index(place, argv).is_some() {
                    read.insert(place);
                }
            });
        }
        let mut at = Loc(loc as u32);
        for place in read {
            at = assume(&mut out, at, place, &index(place, argv)?, argc);
        }
        for id in edges {
            out.edges[id.index()].from = at;
        }
    }
    (out.locations > function.locations).then_some(out)
}

/// The index of an element of the array that a pointer points to.
fn index(place: &Lvalue, argv: LocalId) -> Option<Expr> {
    let Base::Deref(pointer, _) = &place.base else { return None };
    let is_array = matches!(&**pointer, Expr::Load(array) if array.base == Base::Local(argv));
    match &place.path[..] {
        _ if !is_array || place.scalar != Some(Scalar::Pointer) => None,
        [] => Some(Expr::int(0)),
        [Step::Index { index, stride, .. }] if *stride == place.size => Some(Expr::clone(index)),
        _ => None,
    }
}

/// Where control is after `0 <= index && index < argc` was taken to mean that the element is not null.
fn assume(out: &mut Function, from: Loc, place: &Lvalue, index: &Expr, argc: &Expr) -> Loc {
    let (index, argc) = in_one_type(index, argc);
    let join = location(out);
    let mut at = from;
    let zero = index.zero();
    let lower = (!matches!(index, Expr::Int(0.., _))).then(|| compare(CompareOp::Ge, index.clone(), zero));
    for condition in lower.into_iter().chain([compare(CompareOp::Lt, index, argc)]) {
        let next = location(out);
        connect(out, at, next, condition.clone());
        connect(out, at, join, condition.negated());
        at = next;
    }
    connect(out, at, join, compare(CompareOp::Ne, Expr::Load(place.clone()), Expr::Null));
    join
}

/// Both as `int`, or in a type that has all their values.
fn in_one_type(index: &Expr, argc: &Expr) -> (Expr, Expr) {
    if index.int_type() == Some(IntType::INT) {
        return (index.clone(), argc.clone());
    }
    // No array has so many elements that the index would not fit.
    let wide = Scalar::Int(IntType { bits: 64, signed: true });
    let widened = |value: &Expr| Expr::Cast(wide, Arc::new(value.clone()), Site::NOWHERE);
    (widened(index), widened(argc))
}

fn location(out: &mut Function) -> Loc {
    out.locations += 1;
    Loc(out.locations - 1)
}

fn connect(out: &mut Function, from: Loc, to: Loc, condition: Expr) {
    out.edges.push(Edge { from, to, op: Op::Assume(condition), site: Site::NOWHERE });
}
