//! Each use of an element of `argv`: if it is one of the first `argc`, it is read into a variable before, which is not null.

use std::{collections::BTreeSet, sync::Arc};

use super::compare;
use proofline_cfa::{
    Base, CompareOp, Edge, Expr, Function, IntType, Loc, Local, LocalId, Lvalue, Name, Op, Role, Scalar,
    Site, Step, visit,
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
        if read.is_empty() {
            continue;
        }
        let mut inside = Loc(loc as u32);
        let outside = location(&mut out);
        let mut known: Vec<(&Lvalue, Expr)> = Vec::new();
        for place in &read {
            let index = index(place, argv)?;
            let in_range = in_range(&mut out, inside, outside, &index, argc);
            let (at, element) = element(&mut out, in_range, place);
            inside = at;
            known.push((*place, element));
        }
        for id in edges {
            let mut edge = function.edge(*id).clone();
            edge.from = inside;
            visit::replace(&mut edge.op, &|expr| match expr {
                Expr::Load(place) => {
                    known.iter().find(|(of, _)| *of == place).map(|(_, element)| element.clone())
                }
                _ => None,
            });
            out.edges.push(edge);
        }
        let mut at = outside;
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
    let join = location(out);
    let at = in_range(out, from, join, index, argc);
    connect(out, at, join, compare(CompareOp::Ne, Expr::Load(place.clone()), Expr::Null));
    join
}

/// Where control is if `0 <= index && index < argc`; if not, it is at `outside`.
fn in_range(out: &mut Function, from: Loc, outside: Loc, index: &Expr, argc: &Expr) -> Loc {
    let (index, argc) = in_one_type(index, argc);
    let mut at = from;
    let zero = index.zero();
    let lower = (!matches!(index, Expr::Int(0.., _))).then(|| compare(CompareOp::Ge, index.clone(), zero));
    for condition in lower.into_iter().chain([compare(CompareOp::Lt, index, argc)]) {
        let next = location(out);
        connect(out, at, next, condition.clone());
        connect(out, at, outside, condition.negated());
        at = next;
    }
    at
}

/// The element in a variable of its own, of which it is easy to know that it is not null.
fn element(out: &mut Function, from: Loc, place: &Lvalue) -> (Loc, Expr) {
    let id = LocalId(out.locals.len() as u32);
    let name = Name::new(&format!("$argv{}", id.index()));
    let local = Local {
        name,
        ty: place.ty.unqualified(),
        role: Role::Temporary,
        address_taken: false,
        size: place.size,
    };
    let value = Lvalue::local(id, local.ty, Scalar::Pointer, place.size);
    out.locals.push(local);
    let (read, known) = (location(out), location(out));
    let op = Op::Assign(value.clone(), Expr::Load(place.clone()));
    out.edges.push(Edge { from, to: read, op, site: Site::NOWHERE });
    let value = Expr::Load(value);
    connect(out, read, known, compare(CompareOp::Ne, value.clone(), Expr::Null));
    (known, value)
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
