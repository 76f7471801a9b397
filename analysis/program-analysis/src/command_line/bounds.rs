//! Which elements of `argv` there are, where `main` reads them: an obligation that speaks of bounds says this of the index instead.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{
    Base, CompareOp, Edge, Expr, Function, IntType, Loc, LocalId, Lvalue, MemoryPredicate, Op, Scalar, Site,
    Step,
    visit::{self, Mention},
};

use super::compare;

/// `main` with bounds of `argv` in numbers: an index is at most `argc`, or 1 (systems give two pointers at least). `None` if that changes
/// nothing, or if `main` changes one of the two. Each comparison is an edge, so that every engine understands it.
pub(super) fn in_numbers(
    main: &Function,
    argc: LocalId,
    argc_value: &Expr,
    argv: LocalId,
) -> Option<Function> {
    if [argc, argv].into_iter().any(|id| is_written(main, id)) {
        return None;
    }
    let mut out = Function::clone(main);
    // Where control is once the index is known not to be negative, and once it is known to be greater than `argc`.
    let mut inner: BTreeMap<Loc, (Loc, Loc)> = BTreeMap::new();
    for (id, edge) in main.edge_ids() {
        let Op::Assume(condition) = &edge.op else { continue };
        let (index, is_inside) = match condition {
            Expr::Compare(CompareOp::Eq, inside, zero) if matches!(**zero, Expr::Int(0, _)) => {
                (index(inside, argv), false)
            }
            _ => (index(condition, argv), true),
        };
        let Some(index) = index else { continue };
        let (after, beyond) = *inner.entry(edge.from).or_insert_with(|| {
            out.locations += 2;
            (Loc(out.locations - 2), Loc(out.locations - 1))
        });
        let index = widened(index);
        let is_after = compare(CompareOp::Ge, index.clone(), Expr::Int(0, WIDE));
        let is_counted = compare(CompareOp::Le, index.clone(), widened(argc_value));
        let is_second = compare(CompareOp::Le, index, Expr::Int(1, WIDE));
        let ways = match is_inside {
            true => {
                [(edge.from, after, is_after), (after, edge.to, is_counted), (beyond, edge.to, is_second)]
            }
            false => [
                (edge.from, edge.to, is_after.negated()),
                (after, beyond, is_counted.negated()),
                (beyond, edge.to, is_second.negated()),
            ],
        };
        let [first, rest @ ..] =
            ways.map(|(from, to, condition)| Edge { from, to, op: Op::Assume(condition), site: edge.site });
        out.edges[id.index()] = first;
        out.edges.extend(rest);
    }
    (!inner.is_empty()).then_some(out)
}

/// A type that has all values of `int`, and of every index into an array that there can be.
const WIDE: IntType = IntType { bits: 64, signed: true };

fn widened(value: &Expr) -> Expr {
    Expr::Cast(Scalar::Int(WIDE), Arc::new(value.clone()), Site::NOWHERE)
}

/// The index, where a condition says that an element of `argv` is inside.
fn index(inside: &Expr, argv: LocalId) -> Option<&Expr> {
    let Expr::Memory(MemoryPredicate::InBounds, address, _) = inside else { return None };
    let Expr::Address(Lvalue { base: Base::Deref(pointer, _), path, scalar: Some(Scalar::Pointer), .. }) =
        &**address
    else {
        return None;
    };
    let (Expr::Load(array), [Step::Index { index, .. }]) = (&**pointer, &path[..]) else { return None };
    let is_argv = array.base == Base::Local(argv) && array.path.is_empty();
    (is_argv && index.int_type().is_some()).then_some(&**index)
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
