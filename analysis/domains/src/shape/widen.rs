//! Numbers that grow from one visit of a loop's head to the next. Shapes need no widening: folding makes them finitely many.

use std::collections::BTreeSet;

use super::{
    heap::{Heap, Shapes},
    number,
    value::Value,
};
use crate::interval::Ranges;

/// A number that had more values than this in states of one shape goes to the next bounds.
const MOST_VALUES: usize = 4;

/// The state, or a weaker one if numbers have had many values in states of its shape.
pub(super) fn widen(mut state: Heap, here: &[&Shapes]) -> Heap {
    let here = here.iter().filter_map(|old| match old {
        Shapes::Known(heap) => Some(heap),
        Shapes::Unknown(_) => None,
    });
    let candidates: Vec<&Heap> = here
        .filter(|old| {
            old.frames.len() == state.frames.len()
                && old.nodes.len() == state.nodes.len()
                && old.lost == state.lost
                && old.nodes.keys().eq(state.nodes.keys())
        })
        .collect();
    if candidates.len() < MOST_VALUES {
        return state;
    }
    let (shape, numbers) = split(&state);
    let mut seen: Vec<BTreeSet<Ranges>> = vec![BTreeSet::new(); numbers.len()];
    for old in candidates {
        let (other, values) = split(old);
        if other == shape {
            seen.iter_mut().zip(values).for_each(|(seen, value)| {
                seen.insert(value);
            });
        }
    }
    let mut grown: Vec<Option<Ranges>> = Vec::new();
    for (seen, now) in seen.into_iter().zip(&numbers) {
        let is_new = !seen.iter().any(|old| now.leq(old));
        grown.push((is_new && seen.len() >= MOST_VALUES).then(|| {
            let mut old = seen.iter().cloned();
            let first = old.next().unwrap_or_else(|| now.clone());
            number::widen(&old.fold(first, |all, old| all.join(&old)), now)
        }));
    }
    if grown.iter().all(Option::is_none) {
        return state;
    }
    let mut at = 0;
    let mut names = Vec::new();
    state.values_mut(&mut |value| each(value, &mut |value| {
        if let Some(ranges) = &grown[at] {
            match value {
                Value::Symbol(name) => names.push((*name, ranges.clone())),
                _ => *value = Value::Number(ranges.clone()),
            }
        }
        at += 1;
    }));
    for (name, ranges) in names {
        if let Some(known) = state.numbers.get_mut(&name) {
            *known = known.join(&ranges);
        }
    }
    state
}

/// The state without its numbers, and the numbers.
fn split(state: &Heap) -> (Heap, Vec<Ranges>) {
    let mut shape = state.clone();
    let mut numbers = Vec::new();
    shape.values_mut(&mut |value| each(value, &mut |value| {
        numbers.extend(state.ranges(value));
        *value = Value::null();
    }));
    shape.numbers.clear();
    (shape, numbers)
}

/// The numbers in a value. Null among several is no number that grows.
fn each(value: &mut Value, see: &mut impl FnMut(&mut Value)) {
    if matches!(value, Value::Number(_) | Value::Symbol(_)) {
        see(value);
    }
}
