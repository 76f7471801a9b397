//! Pointers of the interval analysis compared: which targets may be the same address, and what a comparison gives.

use proofline_cfa::{CompareOp, Object, texts};

use crate::{
    interval::{
        operators,
        ranges::Ranges,
        scalar::{Pointee, Pointer, Targets},
    },
    store::{Impossible, Objects, Offsets},
    value::{are_apart, is_inside},
};

/// Those of `mine` that may equal one of `theirs`.
pub(super) fn equal_pointers(
    mine: &Pointer,
    theirs: &Pointer,
    objects: &dyn Objects,
) -> Result<Pointer, Impossible> {
    let null = mine.null && theirs.null;
    let to = match (&mine.to, &theirs.to) {
        (Targets::These(mine), Targets::These(theirs)) => {
            let possible = mine.iter().filter(|target| {
                theirs.iter().any(|other| compare_targets(target, other, objects) != Some(false))
            });
            // Both say how far the end of the string is at least.
            let nearer = |target: &(Pointee, Offsets)| match &theirs[..] {
                [other] if is_text(&target.0) && other.0 == target.0 && other.1.hi < target.1.hi => *other,
                _ => *target,
            };
            Targets::these(possible.map(nearer).collect())
        }
        // Null is all the other one can be.
        (Targets::Any, Targets::These(theirs)) if theirs.is_empty() => Targets::nothing(),
        // An equal address may be one past the end of another object, and then leads elsewhere.
        (to, _) => to.clone(),
    };
    if !null && to == Targets::nothing() { Err(Impossible) } else { Ok(Pointer { null, to }) }
}

/// Whether two addresses that are not null are equal.
fn compare_targets(
    left: &(Pointee, Offsets),
    right: &(Pointee, Offsets),
    objects: &dyn Objects,
) -> Option<bool> {
    match (left.0, right.0) {
        // It may have ended, and another object may lie where it was.
        (Pointee::Older, _) | (_, Pointee::Older) => None,
        (Pointee::Object(a), Pointee::Object(b)) if a == b => {
            if !objects.is_single(a) {
                return None;
            }
            match (left.1.single(), right.1.single()) {
                (Some(from), Some(to)) => Some(from == to),
                _ if left.1.hi < right.1.lo || right.1.hi < left.1.lo => Some(false),
                _ => None,
            }
        }
        (Pointee::Object(a), Pointee::Object(b)) => {
            let ends = [(left.1.lo, right.1.lo), (left.1.hi, right.1.hi)];
            ends.iter().all(|(from, to)| are_apart((a, *from), (b, *to), objects)).then_some(false)
        }
        (Pointee::Function(a), Pointee::Function(b)) => Some(a == b),
        (Pointee::Object(object), Pointee::Function(_)) => {
            (is_inside(object, left.1.lo, objects) && is_inside(object, left.1.hi, objects)).then_some(false)
        }
        (Pointee::Function(_), Pointee::Object(_)) => compare_targets(right, left, objects),
    }
}

/// What comparing two pointers gives, where that is known.
pub(super) fn compare_pointers(
    op: CompareOp,
    left: &Pointer,
    right: &Pointer,
    objects: &dyn Objects,
) -> Option<bool> {
    match op {
        CompareOp::Eq => {
            if left.is_null() && right.is_null() {
                return Some(true);
            }
            if equal_pointers(left, right, objects).is_err() {
                return Some(false);
            }
            match (&left.to, &right.to) {
                (Targets::These(a), Targets::These(b)) if !left.null && !right.null => match (&a[..], &b[..])
                {
                    ([a], [b]) => compare_targets(a, b, objects),
                    _ => None,
                },
                _ => None,
            }
        }
        CompareOp::Ne => compare_pointers(CompareOp::Eq, left, right, objects).map(|equal| !equal),
        CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {
            let (Targets::These(a), Targets::These(b)) = (&left.to, &right.to) else { return None };
            match (&a[..], &b[..]) {
                ([(Pointee::Object(x), from)], [(Pointee::Object(y), to)])
                    if x == y && objects.is_single(*x) && !left.null && !right.null =>
                {
                    let range =
                        |offsets: &Offsets| Ranges::new(i128::from(offsets.lo), i128::from(offsets.hi));
                    operators::compare(op, &range(from), &range(to))
                }
                _ => None,
            }
        }
    }
}

/// What a person reads of a pointer.
pub(super) fn show_pointer(pointer: &Pointer) -> Option<String> {
    if pointer.is_null() {
        return Some("= NULL".to_owned());
    }
    match (&pointer.to, pointer.null) {
        (Targets::These(these), false) => match &these[..] {
            [(Pointee::Object(Object::Global(name)), offsets)] if offsets.single() == Some(0) => {
                Some(format!("= &{name}"))
            }
            [(Pointee::Function(name), _)] => Some(format!("= {name}")),
            _ => Some("!= NULL".to_owned()),
        },
        (Targets::Any, false) => Some("!= NULL".to_owned()),
        (Targets::These(_) | Targets::Any, true) => None,
    }
}

/// Whether it is a string that the program does not name. Offsets are relative to places in such strings: of a pointer `p` with the offset `o <= 0`
/// it is known that the bytes from `p` to `p - o` are in the string or its end, and of one with `o > 0` that `p - o` is.
pub(super) fn is_text(pointee: &Pointee) -> bool {
    matches!(pointee, Pointee::Object(object) if texts::is_text(*object))
}
