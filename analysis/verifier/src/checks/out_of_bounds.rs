//! An access through a pointer, or to an element of an array whose type does not say how long it is, must lie inside the object. Arrays whose
//! length the type says are `array-bounds`.

use std::sync::Arc;

use proofline_cfa::{Base, Expr, Function, IntType, Lvalue, MemoryPredicate, Site, Step};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "out-of-bounds",
    cwe: &[125, 787, 823],
    title: |failure| failure.named("access outside of the object"),
    last_step: Some(|failure| Some(format!("`{}` is outside of its object", failure.source?))),
    help: "check the index or the length against the size of the object",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/out-of-bounds.md"),
};

fn demand(_function: &Function, part: Part<'_>, _site: Site, out: &mut Vec<Demand>) {
    let Part::Access { place, site } = part else { return };
    let is_exempt = match &place.base {
        Base::Deref(pointer, _) => is_number(pointer) || is_whole(pointer, place),
        // Inside of a named object the types say where everything is, but where they are silent about a length.
        Base::Local(_) | Base::Global(_) => !place.path.iter().any(is_unbounded),
    };
    if place.size == 0 || is_exempt {
        return;
    }
    let address = match &place.base {
        Base::Deref(pointer, _) if place.path.is_empty() => pointer.clone(),
        _ => Arc::new(Expr::Address(place.clone())),
    };
    let size = Arc::new(Expr::Int(i128::from(place.size), IntType { bits: 64, signed: false }));
    out.push(Demand { condition: Expr::Memory(MemoryPredicate::InBounds, address, size), site });
}

/// Whether the type does not say how many elements there are: an array of another declaration (`extern int a[];`), or one at the end of a record.
fn is_unbounded(step: &Step) -> bool {
    match step {
        Step::Field { .. } => false,
        Step::Index { length, .. } => length.is_none_or(|length| length == 0),
    }
}

/// A device's registers: their addresses are numbers.
pub(super) fn is_number(pointer: &Expr) -> bool {
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
