//! An access through a pointer must lie inside the object that the pointer was made from. Arrays whose length the type says are
//! `array-bounds`.

use std::sync::Arc;

use proofline_cfa::{
    Base, BinaryOp, CompareOp, Entry, Expr, Function, IntType, LocalId, Lvalue, MemoryPredicate, Scalar, Site,
    Step, Type,
    visit::{self, Mention},
};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "out-of-bounds",
    title: |failure| failure.named("access outside of the object"),
    last_step: Some(|failure| Some(format!("`{}` is outside of its object", failure.source?))),
    help: "check the index or the length against the size of the object",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/out-of-bounds.md"),
};

fn demand(function: &Function, part: Part<'_>, _site: Site, out: &mut Vec<Demand>) {
    let Part::Access { place, site } = part else { return };
    let Base::Deref(pointer, _) = &place.base else { return };
    if place.size == 0 || is_number(pointer) || is_whole(pointer, place) {
        return;
    }
    if let Some(condition) = argument(function, pointer, place) {
        return out.push(Demand { condition, site });
    }
    let address = match &place.base {
        Base::Deref(pointer, _) if place.path.is_empty() => pointer.clone(),
        _ => Arc::new(Expr::Address(place.clone())),
    };
    let size = Arc::new(Expr::Int(i128::from(place.size), IntType { bits: 64, signed: false }));
    out.push(Demand { condition: Expr::Memory(MemoryPredicate::InBounds, address, size), site });
}

/// A device's registers: their addresses are numbers.
fn is_number(pointer: &Expr) -> bool {
    match pointer {
        Expr::Cast(_, arg, _) => is_number(arg),
        Expr::Int(value, _) => *value != 0,
        _ => false,
    }
}

/// Whether the pointer is the address of an object that the expression names, and the access is to a part of it that is always there.
fn is_whole(pointer: &Expr, place: &Lvalue) -> bool {
    let Expr::Address(named) = pointer else { return false };
    let is_named = matches!(named.base, Base::Local(_) | Base::Global(_)) && named.path.is_empty();
    let offset = place.path.iter().try_fold(0u64, |sum, step| match step {
        Step::Field { offset, .. } => sum.checked_add(*offset),
        Step::Index { .. } => None,
    });
    is_named && offset.and_then(|offset| offset.checked_add(place.size)).is_some_and(|end| end <= named.size)
}

/// `argv[i]` in `main`, where neither `argc` nor `argv` ever changes: `i` is at most `argc`, or 1 (systems give two pointers at least).
fn argument(function: &Function, pointer: &Expr, place: &Lvalue) -> Option<Expr> {
    if function.name != Entry::main().name {
        return None;
    }
    let [argc, argv, ..] = function.parameters[..] else { return None };
    let (Expr::Load(Lvalue { base: Base::Local(id), path, .. }), [Step::Index { index, .. }]) =
        (pointer, &place.path[..])
    else {
        return None;
    };
    let is_plain = *id == argv && path.is_empty() && [argc, argv].into_iter().all(|id| is_never_written(function, id));
    let count = function.local(argc);
    let scalar = Scalar::Int(IntType::INT);
    if !is_plain || index.int_type().is_none() || count.ty != Type::int() {
        return None;
    }
    let wide = IntType { bits: 64, signed: true };
    let widened = |value: Expr| Arc::new(Expr::Cast(Scalar::Int(wide), Arc::new(value), Site::NOWHERE));
    let count = widened(Expr::Load(Lvalue::local(argc, count.ty, scalar, count.size)));
    let (index, zero) = (widened(Expr::clone(index)), Arc::new(Expr::Int(0, wide)));
    let inside = Expr::Compare(CompareOp::Le, index.clone(), count);
    let one = Expr::Compare(CompareOp::Le, index.clone(), Arc::new(Expr::Int(1, wide)));
    let inside = Expr::Binary(BinaryOp::BitOr, Arc::new(inside), Arc::new(one), Site::NOWHERE);
    let after = Expr::Compare(CompareOp::Ge, index, zero);
    Some(Expr::Binary(BinaryOp::BitAnd, Arc::new(after), Arc::new(inside), Site::NOWHERE))
}

fn is_never_written(function: &Function, id: LocalId) -> bool {
    let mut writes = false;
    for edge in &function.edges {
        visit::mentions(&edge.op, &mut |mention| {
            writes |= matches!(mention, Mention::Write(place) if place.base == Base::Local(id));
        });
    }
    !writes && !function.local(id).address_taken
}
