//! Which elements of `argv` there are, where `main` reads them: an obligation that speaks of bounds says this of the index instead.

use std::sync::Arc;

use proofline_cfa::{
    Base, BinaryOp, CompareOp, Expr, Function, IntType, LocalId, Lvalue, MemoryPredicate, Op, Scalar, Site,
    Step,
    visit::{self, Mention},
};

use super::compare;

/// `main` with bounds of `argv` in numbers: an index is at most `argc`, or 1 (systems give two pointers at least). `None` if that changes
/// nothing, or if `main` changes one of the two.
pub(super) fn in_numbers(
    main: &Function,
    argc: LocalId,
    argc_value: &Expr,
    argv: LocalId,
) -> Option<Function> {
    if [argc, argv].into_iter().any(|id| is_written(main, id)) {
        return None;
    }
    let mut out = None;
    for (id, edge) in main.edge_ids() {
        let Op::Assume(condition) = &edge.op else { continue };
        let known = match condition {
            Expr::Compare(CompareOp::Eq, inside, zero) if matches!(**zero, Expr::Int(0, _)) => {
                bounds(inside, argc_value, argv).map(|inside| inside.negated())
            }
            _ => bounds(condition, argc_value, argv),
        };
        if let Some(known) = known {
            out.get_or_insert_with(|| Function::clone(main)).edges[id.index()].op = Op::Assume(known);
        }
    }
    out
}

/// What "the element is inside" means.
fn bounds(inside: &Expr, argc: &Expr, argv: LocalId) -> Option<Expr> {
    let Expr::Memory(MemoryPredicate::InBounds, address, _) = inside else { return None };
    let Expr::Address(Lvalue { base: Base::Deref(pointer, _), path, scalar: Some(Scalar::Pointer), .. }) =
        &**address
    else {
        return None;
    };
    let (Expr::Load(array), [Step::Index { index, .. }]) = (&**pointer, &path[..]) else { return None };
    if array.base != Base::Local(argv) || !array.path.is_empty() || index.int_type().is_none() {
        return None;
    }
    // A type that has all values of both.
    let wide = IntType { bits: 64, signed: true };
    let widened = |value: &Expr| Expr::Cast(Scalar::Int(wide), Arc::new(value.clone()), Site::NOWHERE);
    let number = |value| Expr::Int(value, wide);
    let both = |op, a, b| Expr::Binary(op, Arc::new(a), Arc::new(b), Site::NOWHERE);
    let index = widened(index);
    let is_counted = compare(CompareOp::Le, index.clone(), widened(argc));
    let is_first = compare(CompareOp::Le, index.clone(), number(1));
    let is_after = compare(CompareOp::Ge, index, number(0));
    Some(both(BinaryOp::BitAnd, is_after, both(BinaryOp::BitOr, is_counted, is_first)))
}

fn is_written(function: &Function, id: LocalId) -> bool {
    let writes = function.edges.iter().any(|edge| {
        let mut writes = false;
        visit::mentions(&edge.op, &mut |mention| {
            writes |= matches!(mention, Mention::Write(place) if place.base == Base::Local(id));
        });
        writes
    });
    writes || function.local(id).address_taken
}
