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
    let mut seen: Vec<BTreeSet<Ranges>> = Vec::new();
    let mut count = 0;
    for old in here {
        if let Shapes::Known(old) = old
            && let Some(numbers) = numbers_of(old, &state)
        {
            seen.resize(numbers.len(), BTreeSet::new());
            seen.iter_mut().zip(numbers).for_each(|(seen, value)| {
                seen.insert(value);
            });
            count += 1;
        }
    }
    if count < MOST_VALUES {
        return state;
    }
    let Some(numbers) = numbers_of(&state, &state) else { return state };
    let mut grown: Vec<Option<Ranges>> = Vec::new();
    for (seen, now) in seen.into_iter().zip(&numbers) {
        let is_new = !seen.iter().any(|old| now.leq(old));
        grown.push((is_new && seen.len() >= MOST_VALUES).then(|| {
            let mut old = seen.iter().cloned();
            let first = old.next().unwrap_or_else(|| now.clone());
            number::widen(&old.fold(first, |all, old| all.join(&old)), now)
        }));
    }
    let mut at = 0;
    let mut names = Vec::new();
    state.values_mut(&mut |value| {
        if !is_number(value) {
            return;
        }
        if let Some(ranges) = &grown[at] {
            match value {
                Value::Symbol(name) => names.push((*name, ranges.clone())),
                _ => *value = Value::Number(ranges.clone()),
            }
        }
        at += 1;
    });
    for (name, ranges) in names {
        if let Some(known) = state.numbers.get_mut(&name) {
            *known = known.join(&ranges);
        }
    }
    state
}

/// The numbers of a state in order, if it differs from the other one in nothing else.
fn numbers_of(state: &Heap, like: &Heap) -> Option<Vec<Ranges>> {
    let is_same = state.frames.len() == like.frames.len()
        && state.lost == like.lost
        && state.nodes.len() == like.nodes.len();
    if !is_same {
        return None;
    }
    let mut numbers = Vec::new();
    let mut pair = |value: &Value, other: &Value| {
        let is_same = is_number(value) && is_number(other) || value == other;
        if is_number(value) {
            numbers.extend(state.ranges(value));
        }
        is_same.then_some(())
    };
    for (frame, other) in state.frames.iter().zip(&like.frames) {
        if frame.function != other.function || frame.registers.len() != other.registers.len() {
            return None;
        }
        for ((id, value), (other_id, other)) in frame.registers.iter().zip(&other.registers) {
            (id == other_id).then_some(())?;
            pair(value, other)?;
        }
    }
    for ((node, region), (other_node, other)) in state.nodes.iter().zip(&like.nodes) {
        let is_same = node == other_node
            && (region.size, region.life, region.rest, region.ended, region.segment, region.owner)
                == (other.size, other.life, other.rest, other.ended, other.segment, other.owner)
            && region.cells.len() == other.cells.len();
        is_same.then_some(())?;
        for ((at, cell), (other_at, other)) in region.cells.iter().zip(&other.cells) {
            ((at, cell.size) == (other_at, other.size)).then_some(())?;
            pair(&cell.value, &other.value)?;
        }
    }
    Some(numbers)
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Number(_) | Value::Symbol(_))
}
