//! Coverage: a graph is covered by another one if the other's nodes, numbers and values can be found in it, each node in another one.
//! Sound and not complete: of several ways to find them one is tried. Law: `covers(lower, upper)` implies that all that `lower`
//! describes `upper` describes.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{LocalId, Name};

use super::{
    heap::Heap,
    region::{Life, Region},
    value::{End, Node, Pointer, Value},
};

/// Where two graphs differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Difference {
    /// The lower one may have lost something.
    Lost,
    /// Other numbers are lengths of strings.
    Lengths,
    /// Other calls are open.
    Calls,
    /// This register of this function has other values.
    Register(Name, LocalId),
    /// This variable has other values, or is not known.
    Variable(Node),
    /// This allocated node of the lower one, as that of the upper one.
    Allocated(u32, u32),
    /// The upper one has no such node.
    Missing(u32),
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Difference::Lost => write!(f, "something may be lost"),
            Difference::Lengths => write!(f, "other numbers are lengths of strings"),
            Difference::Calls => write!(f, "other calls are open"),
            Difference::Register(function, id) => write!(f, "{function}: {id} has other values"),
            Difference::Variable(node) => write!(f, "{node:?} has other values, or is not known"),
            Difference::Allocated(lower, upper) => write!(f, "node {lower} is not like {upper}"),
            Difference::Missing(id) => write!(f, "node {id} is missing"),
        }
    }
}

/// Whether it is covered; if not, why not.
pub(super) fn covers(lower: &Heap, upper: &Heap) -> Result<(), Difference> {
    Lower::new(lower).covered_by(upper)
}

/// A graph that others may cover, with what is looked at for each of them.
pub(super) struct Lower<'h> {
    heap: &'h Heap,
    /// Objects on the heap that are alive.
    alive: usize,
}

impl<'h> Lower<'h> {
    pub(super) fn new(heap: &'h Heap) -> Lower<'h> {
        let alive = heap.allocated().filter(|(_, region)| region.life == Life::Heap).count();
        Lower { heap, alive }
    }

    pub(super) fn covered_by(&self, upper: &Heap) -> Result<(), Difference> {
        if !upper.lengths.is_empty() {
            return if self.heap == upper { Ok(()) } else { Err(Difference::Lengths) };
        }
        self.is_close(upper)?;
        let matching = Matching {
            lower: self.heap,
            upper,
            nodes: BTreeMap::new(),
            back: BTreeMap::new(),
            names: BTreeMap::new(),
            open: Vec::new(),
        };
        matching.run()
    }

    /// What is cheap to see and tells most pairs apart.
    fn is_close(&self, upper: &Heap) -> Result<(), Difference> {
        let lower = self.heap;
        // Each of the lower's objects is another one of the upper's, whose nodes are named from 0 on.
        let most = upper.last().map_or(0, |last| last as usize + 1);
        if !upper.lost && self.alive > most {
            return Err(Difference::Missing(most as u32));
        }
        if lower.lost && !upper.lost {
            return Err(Difference::Lost);
        }
        if lower.frames.len() != upper.frames.len() {
            return Err(Difference::Calls);
        }
        for (ours, theirs) in lower.frames.iter().zip(&upper.frames).rev() {
            if ours.function != theirs.function {
                return Err(Difference::Calls);
            }
            if Arc::ptr_eq(ours, theirs) {
                continue;
            }
            let mut all = ours.registers.range(..);
            for (id, value) in &theirs.registers {
                let known = all.find(|(other, _)| *other >= id).filter(|(other, _)| *other == id);
                let known = match known {
                    Some((_, known)) => known,
                    None => {
                        all = ours.registers.range(id..);
                        &Value::Uninit
                    }
                };
                let is_close = match value {
                    Value::Uninit => true,
                    Value::Any => *known != Value::Uninit,
                    Value::Number(_) | Value::Symbol(_) => {
                        matches!(known, Value::Number(_) | Value::Symbol(_))
                    }
                    Value::Pointer(above) => match known {
                        Value::Pointer(pointer) => match (pointer.to, above.to) {
                            (Node::Heap(_), Node::Heap(_)) => {
                                above.low <= pointer.low && pointer.high <= above.high
                            }
                            (node, above) => node == above,
                        },
                        _ => false,
                    },
                    Value::Function(_) | Value::Freed | Value::Ended => known == value,
                    Value::Choice(_) => true,
                };
                if !is_close {
                    return Err(Difference::Register(ours.function, *id));
                }
            }
        }
        Ok(())
    }
}

/// Whether registers and variables leave it open that the lower one, folded, is covered: folding changes neither numbers nor which values are pointers.
pub(super) fn may_cover(lower: &Heap, upper: &Heap) -> bool {
    let agree = |ours: &Value, theirs: &Value| match theirs {
        Value::Pointer(_) => matches!(ours, Value::Pointer(_)),
        Value::Number(_) | Value::Symbol(_) => lower.ranges(ours).is_some(),
        Value::Uninit | Value::Any | Value::Function(_) | Value::Freed | Value::Ended | Value::Choice(_) => {
            true
        }
    };
    let mut frames = lower.frames.iter().zip(&upper.frames);
    frames.all(|(ours, theirs)| {
        let mut registers = theirs.registers.iter();
        registers.all(|(id, value)| ours.registers.get(id).is_some_and(|known| agree(known, value)))
    }) && upper.nodes.range(..Node::Heap(0)).all(|(node, region)| {
        let mut cells = region.cells.iter();
        lower
            .node(*node)
            .is_some_and(|known| cells.all(|(at, cell)| agree(&known.read(*at, cell.size), &cell.value)))
    })
}

struct Matching<'h> {
    lower: &'h Heap,
    upper: &'h Heap,
    /// Allocated nodes: where the upper's are in the lower.
    nodes: BTreeMap<u32, u32>,
    /// The same turned around.
    back: BTreeMap<u32, u32>,
    /// What the upper's names are in the lower.
    names: BTreeMap<u32, Value>,
    /// Pairs (lower, upper) whose bytes are to be compared.
    open: Vec<(u32, u32)>,
}

impl Matching<'_> {
    fn run(mut self) -> Result<(), Difference> {
        let (lower, upper) = (self.lower, self.upper);
        for (ours, theirs) in lower.frames.iter().zip(&upper.frames) {
            for (id, value) in &theirs.registers {
                let known = ours.registers.get(id).unwrap_or(&Value::Uninit);
                if !self.value(known, value) {
                    return Err(Difference::Register(ours.function, *id));
                }
            }
        }
        for (node, region) in upper.nodes.range(..Node::Heap(0)) {
            let is_same = lower.node(*node).is_some_and(|known| {
                known.life == region.life && is_within(known.size, region.size) && self.bytes(known, region)
            });
            if !is_same {
                return Err(Difference::Variable(*node));
            }
        }
        for node in lower.nodes.keys() {
            if matches!(node, Node::Global(_)) && !upper.nodes.contains_key(node) {
                return Err(Difference::Variable(*node));
            }
        }
        while let Some((ours, theirs)) = self.open.pop() {
            let (known, region) = (lower.node(Node::Heap(ours)), upper.node(Node::Heap(theirs)));
            if !known.zip(region).is_some_and(|(known, region)| self.bytes(known, region)) {
                return Err(Difference::Allocated(ours, theirs));
            }
        }
        if !upper.lost {
            let alive = lower.allocated().filter(|(_, region)| region.life == Life::Heap);
            if let Some((id, _)) = alive.into_iter().find(|(id, _)| !self.back.contains_key(id)) {
                return Err(Difference::Missing(id));
            }
        }
        Ok(())
    }

    /// Whether the bytes of the first are covered by those of the second.
    fn bytes(&mut self, known: &Region, region: &Region) -> bool {
        let is_ended = |from: u64| known.zero_from().is_some_and(|known| from <= known);
        if known.rest > region.rest || !region.ended.is_none_or(is_ended) {
            return false;
        }
        let described = region.cells.iter().all(|(at, cell)| self.cell(known, *at, cell.size, &cell.value));
        described
            && known.cells.iter().all(|(at, cell)| {
                let is_seen = region.cells.get(at).is_some_and(|above| above.size == cell.size);
                is_seen || {
                    let pieces = region.slice(*at, cell.size);
                    pieces.iter().all(|(at, size, value)| self.cell(known, *at, *size, value))
                }
            })
    }

    fn cell(&mut self, known: &Region, at: u64, size: u64, theirs: &Value) -> bool {
        match known.cells.get(&at) {
            Some(cell) if cell.size == size => self.value(&cell.value, theirs),
            _ => self.value(&known.read(at, size), theirs),
        }
    }

    fn value(&mut self, ours: &Value, theirs: &Value) -> bool {
        if let Value::Choice(all) = ours {
            return all.iter().all(|one| self.value(one, theirs));
        }
        match theirs {
            Value::Uninit => true,
            Value::Any => *ours != Value::Uninit,
            Value::Choice(all) => {
                let kind = |value: &Value| value.pointers().next().is_some();
                all.iter().any(|one| kind(one) == kind(ours) && self.value(ours, one))
            }
            Value::Number(ranges) => self.lower.ranges(ours).is_some_and(|known| known.leq(ranges)),
            Value::Symbol(name) => {
                let Some(known) = self.lower.ranges(ours) else { return false };
                if matches!(ours, Value::Number(_)) && known.as_single().is_none() {
                    return false;
                }
                let is_in = self.upper.numbers.get(name).is_some_and(|ranges| known.leq(ranges));
                is_in && *self.names.entry(*name).or_insert_with(|| ours.clone()) == *ours
            }
            Value::Pointer(pointer) => match ours {
                Value::Pointer(known) => self.pointer(known, pointer),
                _ => false,
            },
            Value::Function(_) | Value::Freed | Value::Ended => ours == theirs,
        }
    }

    fn pointer(&mut self, ours: &Pointer, theirs: &Pointer) -> bool {
        if ours.low < theirs.low || ours.high > theirs.high {
            return false;
        }
        let (Node::Heap(known), Node::Heap(node)) = (ours.to, theirs.to) else {
            return (ours.to, ours.end) == (theirs.to, theirs.end);
        };
        let (Some(region), Some(above)) = (self.lower.node(ours.to), self.upper.node(theirs.to)) else {
            return false;
        };
        // Of a single object each end is the same.
        let is_end = match (region.segment.is_some(), above.segment.is_some()) {
            (true, _) => ours.end == theirs.end,
            (false, true) => true,
            (false, false) => ours.end != End::Each && theirs.end != End::Each,
        };
        if !is_end {
            return false;
        }
        match (self.nodes.get(&node), self.back.get(&known)) {
            (Some(known_as), Some(as_node)) => return *known_as == known && *as_node == node,
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => return false,
        }
        if !self.is_kind(region, above) {
            return false;
        }
        self.nodes.insert(node, known);
        self.back.insert(known, node);
        self.open.push((known, node));
        true
    }

    /// Whether the nodes are of one kind, their bytes apart.
    fn is_kind(&self, known: &Region, region: &Region) -> bool {
        let is_count = match (known.segment, region.segment) {
            (None, None) => true,
            (None, Some(segment)) => segment.least <= 1,
            (Some(_), None) => false,
            (Some(ours), Some(theirs)) => {
                (ours.next, ours.next_to, ours.back, ours.branches)
                    == (theirs.next, theirs.next_to, theirs.back, theirs.branches)
                    && ours.least >= theirs.least
            }
        };
        let is_owned = match (known.owner, region.owner) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => self.nodes.get(&theirs) == Some(&ours),
            // Of a segment that is one object here.
            (None, Some(theirs)) => self.nodes.get(&theirs).is_some_and(|owner| {
                self.lower.node(Node::Heap(*owner)).is_some_and(|owner| owner.segment.is_none())
            }),
            (Some(_), None) => false,
        };
        is_count && is_owned && known.life == region.life && is_within(known.size, region.size)
    }
}

fn is_within(inner: (u64, u64), outer: (u64, u64)) -> bool {
    outer.0 <= inner.0 && inner.1 <= outer.1
}
