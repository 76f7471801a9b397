//! Variables whose values have no say in what a function does: the time that only seeds a generator, a result that nobody looks at.

use std::collections::BTreeSet;

use proofline_cfa::{
    Base, Expr, Function, LocalId, Lvalue, Op,
    visit::{self, Mention},
};
use rustc_hash::FxHashMap;

/// The variable that a place is all of, if nothing but its name leads there.
fn plain(body: &Function, place: &Lvalue) -> Option<LocalId> {
    match place.base {
        Base::Local(id) if place.path.is_empty() && !body.local(id).address_taken => Some(id),
        Base::Local(_) | Base::Global(_) | Base::Deref(..) => None,
    }
}

/// The variables whose values have a say in what the function does: not those that are only assigned to others that have none, and not what is taken to hold of
/// them where control goes one way only (a run in which that does not hold is none).
pub(super) fn read(body: &Function) -> BTreeSet<LocalId> {
    let successors = body.successors();
    let mut read: BTreeSet<LocalId> = body.result.into_iter().collect();
    let mut values: Vec<(LocalId, &Expr)> = Vec::new();
    // What the library computes of memory is asked by no operation: the characters of a number, the length of a text.
    for result in &body.library_results {
        let local = body.local(result.dst);
        if local.address_taken || !local.ty.is_scalar() {
            read.insert(result.dst);
        }
        values.extend(result.arguments.iter().map(|argument| (result.dst, argument)));
    }
    for edge in &body.edges {
        match &edge.op {
            Op::Assume(_) if successors[edge.from.index()].len() == 1 => continue,
            Op::Assign(dst, value) if plain(body, dst).is_some() => {
                values.extend(plain(body, dst).map(|id| (id, value)));
                continue;
            }
            _ => {}
        }
        let mut look = |place: &Lvalue| {
            if let Base::Local(id) = place.base {
                read.insert(id);
            }
        };
        visit::reads(&edge.op, &mut look);
        visit::mentions(&edge.op, &mut |mention| {
            if let Mention::Read(place) = mention {
                look(place);
            }
        });
    }
    // By variable, what its values are computed from.
    let mut from: FxHashMap<LocalId, Vec<&Expr>> = FxHashMap::default();
    for (id, value) in values {
        from.entry(id).or_default().push(value);
    }
    let mut open: Vec<LocalId> = read.iter().copied().collect();
    while let Some(id) = open.pop() {
        for value in from.remove(&id).into_iter().flatten() {
            visit::reads_of_expr(value, &mut |place| {
                if let Base::Local(id) = place.base
                    && read.insert(id)
                {
                    open.push(id);
                }
            });
        }
    }
    read
}
