//! Coverage: a graph is covered by another one if the other's nodes, numbers and values can be found in it, each node in another one.
//! Sound and not complete: of several ways to find them one is tried. Law: `covers(lower, upper)` implies that all that `lower`
//! describes `upper` describes.

use std::collections::BTreeMap;

use super::{
    heap::Heap,
    region::{Life, Region},
    value::{End, Node, Pointer, Value},
};

/// Whether it is covered; if not, why not.
pub(super) fn covers(lower: &Heap, upper: &Heap) -> Result<(), String> {
    Matching {
        lower,
        upper,
        nodes: BTreeMap::new(),
        back: BTreeMap::new(),
        names: BTreeMap::new(),
        open: Vec::new(),
    }
    .run()
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
    fn run(mut self) -> Result<(), String> {
        let (lower, upper) = (self.lower, self.upper);
        if lower.lost && !upper.lost {
            return Err("something may be lost".to_owned());
        }
        if lower.frames.len() != upper.frames.len() {
            return Err("other calls are open".to_owned());
        }
        for (ours, theirs) in lower.frames.iter().zip(&upper.frames) {
            if ours.function != theirs.function {
                return Err("other functions are open".to_owned());
            }
            for (id, value) in &theirs.registers {
                let known = ours.registers.get(id).unwrap_or(&Value::Uninit);
                if !self.value(known, value) {
                    return Err(format!("{}: {id} is {known:?}, not {value:?}", ours.function));
                }
            }
        }
        for (node, region) in upper.nodes.range(..Node::Heap(0)) {
            let Some(known) = lower.node(*node) else { return Err(format!("{node:?} is not known")) };
            if known.life != region.life || !is_within(known.size, region.size) {
                return Err(format!("{node:?} is another kind of object"));
            }
            self.bytes(known, region).map_err(|why| format!("{node:?}: {why}"))?;
        }
        for node in lower.nodes.keys() {
            if matches!(node, Node::Global(_)) && !upper.nodes.contains_key(node) {
                return Err(format!("{node:?} is not known above"));
            }
        }
        while let Some((ours, theirs)) = self.open.pop() {
            let (Some(known), Some(region)) = (lower.node(Node::Heap(ours)), upper.node(Node::Heap(theirs)))
            else {
                return Err("a node is missing".to_owned());
            };
            self.bytes(known, region).map_err(|why| format!("node {ours} as {theirs}: {why}"))?;
        }
        if !upper.lost {
            let alive = lower.allocated().filter(|(_, region)| region.life == Life::Heap);
            if let Some((id, _)) = alive.into_iter().find(|(id, _)| !self.back.contains_key(id)) {
                return Err(format!("node {id} is missing"));
            }
        }
        Ok(())
    }

    fn bytes(&mut self, known: &Region, region: &Region) -> Result<(), String> {
        if known.rest > region.rest {
            return Err("bytes without a value".to_owned());
        }
        let described = region.cells.iter().map(|(at, cell)| (*at, cell.size, cell.value.clone()));
        let others = known.cells.iter().flat_map(|(at, cell)| region.slice(*at, cell.size));
        for (at, size, value) in described.chain(others).collect::<Vec<_>>() {
            let ours = known.read(at, size);
            if !self.value(&ours, &value) {
                return Err(format!("at {at}: {ours:?}, not {value:?}"));
            }
        }
        Ok(())
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
