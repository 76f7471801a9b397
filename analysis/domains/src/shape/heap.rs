//! The state: frames, nodes, named numbers. What every operator does to it: redirecting pointers, dropping what nothing reaches, and
//! naming nodes and numbers by the order in which they are found, so that equal graphs are equal states.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use proofline_cfa::{LocalId, Name};
use serde::{Deserialize, Serialize};

use super::{
    number,
    region::{Cell, Life, Region},
    value::{End, Node, Pointer, Value},
};
use crate::interval::Ranges;

/// A set of concrete states.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Shapes {
    /// Every state with so many open calls.
    Unknown(u32),
    /// Those that the graph describes.
    Known(Heap),
}

/// An open call.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// Its function.
    pub function: Name,
    /// Its registers; an absent one is not known.
    pub registers: BTreeMap<LocalId, Value>,
}

/// A graph of memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Heap {
    /// The open calls, innermost last.
    pub frames: Vec<Arc<Frame>>,
    /// The nodes. Heap objects that are alive and not here exist only where `lost` says so; other objects that are not here are not known,
    /// or, if constant, what they always are.
    pub nodes: BTreeMap<Node, Arc<Region>>,
    /// What is known of named numbers.
    pub numbers: BTreeMap<u32, Ranges>,
    /// Named numbers that are lengths of strings. Says nothing at heads of loops, and no longer once the string may have changed.
    pub lengths: BTreeMap<u32, Length>,
    /// There may be heap objects that are not here: nothing here refers to them.
    pub lost: bool,
}

/// How long a string is, as it stands there now, and so many more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Length {
    /// Where it begins.
    pub of: Pointer,
    /// 1: with the byte that ends it.
    pub more: u8,
}

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum At {
    Register,
    Cell(Node, u64),
}

impl Heap {
    pub(super) fn depth(&self) -> u32 {
        self.frames.len().saturating_sub(1) as u32
    }

    pub(super) fn frame(&self) -> Option<&Frame> {
        self.frames.last().map(|frame| &**frame)
    }

    pub(super) fn frame_mut(&mut self) -> Option<&mut Frame> {
        self.frames.last_mut().map(Arc::make_mut)
    }

    pub(super) fn node(&self, node: Node) -> Option<&Region> {
        self.nodes.get(&node).map(|region| &**region)
    }

    pub(super) fn node_mut(&mut self, node: Node) -> Option<&mut Region> {
        self.nodes.get_mut(&node).map(Arc::make_mut)
    }

    /// Adds an allocated node.
    pub(super) fn add(&mut self, region: Region) -> u32 {
        let next = self.last().map_or(0, |last| last + 1);
        self.nodes.insert(Node::Heap(next), Arc::new(region));
        next
    }

    /// The allocated node with the greatest name. Where the state is normalised, all names below it are taken.
    pub(super) fn last(&self) -> Option<u32> {
        match self.nodes.last_key_value() {
            Some((Node::Heap(last), _)) => Some(*last),
            _ => None,
        }
    }

    /// A number that gets a name.
    pub(super) fn name(&mut self, ranges: Ranges) -> Value {
        if ranges.as_single().is_some() {
            return Value::Number(ranges);
        }
        let next = self.numbers.last_key_value().map_or(0, |(last, _)| last + 1);
        self.numbers.insert(next, ranges);
        Value::Symbol(next)
    }

    /// The bytes of this node may change: nothing is known of lengths of strings there.
    pub(super) fn forget_lengths(&mut self, node: Node) {
        self.lengths.retain(|_, length| length.of.to != node);
    }

    /// What number it is.
    pub(super) fn ranges(&self, value: &Value) -> Option<Ranges> {
        match value {
            Value::Number(ranges) => Some(ranges.clone()),
            Value::Symbol(name) => self.numbers.get(name).cloned(),
            Value::Uninit
            | Value::Any
            | Value::Pointer(_)
            | Value::Function(_)
            | Value::Freed
            | Value::Ended
            | Value::Choice(_) => None,
        }
    }

    /// The nodes on the heap.
    pub(super) fn allocated(&self) -> impl Iterator<Item = (u32, &Region)> {
        self.nodes.range(Node::Heap(0)..).filter_map(|(node, region)| match node {
            Node::Heap(id) => Some((*id, &**region)),
            Node::Global(_) | Node::Local(..) => None,
        })
    }

    /// Every value, with where it stands.
    pub(super) fn values(&self) -> impl Iterator<Item = (At, &Value)> {
        let registers =
            self.frames.iter().flat_map(|frame| frame.registers.values()).map(|value| (At::Register, value));
        let cells = self.nodes.iter().flat_map(|(node, region)| {
            region.cells.iter().map(|(at, cell)| (At::Cell(*node, *at), &cell.value))
        });
        registers.chain(cells)
    }

    /// Every value, in an order that renaming does not change.
    pub(super) fn values_mut(&mut self, see: &mut impl FnMut(&mut Value)) {
        for frame in &mut self.frames {
            Arc::make_mut(frame).registers.values_mut().for_each(&mut *see);
        }
        for region in self.nodes.values_mut() {
            Arc::make_mut(region).cells.values_mut().for_each(|cell| see(&mut cell.value));
        }
    }

    /// Replaces pointers.
    pub(super) fn redirect(&mut self, by: &impl Fn(&Pointer) -> Option<Value>) {
        let concerns = |value: &Value| value.pointers().any(|pointer| by(&pointer).is_some());
        for frame in &mut self.frames {
            if frame.registers.values().any(concerns) {
                Arc::make_mut(frame).registers.values_mut().for_each(|value| value.redirect(by));
            }
        }
        for region in self.nodes.values_mut() {
            if region.cells.values().any(|cell| concerns(&cell.value)) {
                let region = Arc::make_mut(region);
                region.cells.values_mut().for_each(|cell| cell.value.redirect(by));
            }
        }
        self.lengths.retain(|_, length| match by(&length.of) {
            None => true,
            Some(Value::Pointer(new)) => {
                length.of = new;
                true
            }
            Some(_) => false,
        });
    }

    /// Ends the lives of nodes; what pointed to them becomes `into`.
    pub(super) fn end(&mut self, ended: &impl Fn(Node, &Region) -> bool, into: &Value) {
        let gone: BTreeSet<Node> =
            self.nodes.iter().filter(|(node, region)| ended(**node, region)).map(|(node, _)| *node).collect();
        if gone.is_empty() {
            return;
        }
        self.nodes.retain(|node, _| !gone.contains(node));
        self.redirect(&|pointer| gone.contains(&pointer.to).then(|| into.clone()));
    }

    /// The nodes that these and what they lead to lead to.
    pub(super) fn reach(&self, roots: impl IntoIterator<Item = Node>) -> BTreeSet<Node> {
        let mut open: Vec<Node> = roots.into_iter().collect();
        let mut reached = BTreeSet::new();
        while let Some(node) = open.pop() {
            if reached.insert(node)
                && let Some(region) = self.node(node)
            {
                let cells = region.cells.values();
                open.extend(cells.flat_map(|cell| cell.value.pointers()).map(|pointer| pointer.to));
            }
        }
        reached
    }

    /// Drops what nothing leads to, and names the rest by the order in which it is found.
    pub(super) fn normalise(&mut self) {
        let mut order: BTreeMap<u32, u32> = BTreeMap::new();
        let mut open: VecDeque<u32> = VecDeque::new();
        {
            let mut find = |value: &Value| {
                for pointer in value.pointers() {
                    if let Node::Heap(id) = pointer.to
                        && !order.contains_key(&id)
                    {
                        order.insert(id, order.len() as u32);
                        open.push_back(id);
                    }
                }
            };
            self.frames.iter().flat_map(|frame| frame.registers.values()).for_each(&mut find);
            for (_, region) in self.nodes.range(..Node::Heap(0)) {
                region.cells.values().for_each(|cell| find(&cell.value));
            }
        }
        while let Some(id) = open.pop_front() {
            let Some(region) = self.nodes.get(&Node::Heap(id)) else { continue };
            for pointer in region.cells.values().flat_map(|cell| cell.value.pointers()) {
                if let Node::Heap(id) = pointer.to
                    && !order.contains_key(&id)
                {
                    order.insert(id, order.len() as u32);
                    open.push_back(id);
                }
            }
        }
        let is_lost = |(id, region): (u32, &Region)| region.life == Life::Heap && !order.contains_key(&id);
        let has_lost = self.allocated().any(is_lost);
        self.lost |= has_lost;
        self.lengths.retain(|_, length| match length.of.to {
            Node::Heap(id) => order.contains_key(&id),
            node @ Node::Local(..) => self.nodes.contains_key(&node),
            Node::Global(_) => true,
        });
        let is_in_order = order.iter().all(|(id, place)| id == place)
            && self.allocated().all(|(id, _)| order.contains_key(&id));
        if !is_in_order {
            let old = std::mem::take(&mut self.nodes);
            for (node, mut region) in old {
                let node = match node {
                    Node::Heap(id) => match order.get(&id) {
                        Some(place) => Node::Heap(*place),
                        None => continue,
                    },
                    Node::Global(_) | Node::Local(..) => node,
                };
                if let Some(owner) = region.owner {
                    Arc::make_mut(&mut region).owner = order.get(&owner).copied();
                }
                self.nodes.insert(node, region);
            }
            self.redirect(&|pointer| match pointer.to {
                Node::Heap(id) => {
                    let to = order.get(&id).filter(|place| **place != id)?;
                    Some(Value::Pointer(Pointer { to: Node::Heap(*to), ..*pointer }))
                }
                Node::Global(_) | Node::Local(..) => None,
            });
        }
        self.name_numbers();
    }

    /// Names numbers by the order in which they are found. A name that stands once says nothing, unless it is a length.
    fn name_numbers(&mut self) {
        if self.numbers.is_empty() {
            self.lengths.clear();
            return;
        }
        let mut count: BTreeMap<u32, u32> = BTreeMap::new();
        for (_, value) in self.values() {
            if let Value::Symbol(name) = value {
                *count.entry(*name).or_default() += 1;
            }
        }
        let old = std::mem::take(&mut self.numbers);
        let mut names: BTreeMap<u32, u32> = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        let lengths = std::mem::take(&mut self.lengths);
        self.values_mut(&mut |value| {
            let Value::Symbol(name) = value else { return };
            let Some(ranges) = old.get(name) else {
                *value = Value::Any;
                return;
            };
            if count[name] == 1 && !lengths.contains_key(name) || ranges.as_single().is_some() {
                *value = Value::Number(ranges.clone());
                return;
            }
            let next = names.len() as u32;
            let new = *names.entry(*name).or_insert(next);
            numbers.insert(new, ranges.clone());
            *value = Value::Symbol(new);
        });
        self.numbers = numbers;
        let renamed = |(name, length): (u32, Length)| Some((*names.get(&name)?, length));
        self.lengths = lengths.into_iter().filter_map(renamed).collect();
    }

    /// Rounds the numbers that objects on the heap hold.
    pub(super) fn round_numbers(&mut self) {
        let is_rounded =
            |cell: &Cell| matches!(&cell.value, Value::Number(ranges) if number::round(ranges).is_some());
        for (_, region) in self.nodes.range_mut(Node::Heap(0)..) {
            if region.cells.values().any(is_rounded) {
                for cell in Arc::make_mut(region).cells.values_mut() {
                    if let Value::Number(ranges) = &cell.value
                        && let Some(rounded) = number::round(ranges)
                    {
                        cell.value = Value::Number(rounded);
                    }
                }
            }
        }
        for ranges in self.numbers.values_mut() {
            if let Some(rounded) = number::round(ranges) {
                *ranges = rounded;
            }
        }
    }

    /// A pointer to an end of a node.
    pub(super) fn is_segment(&self, pointer: &Pointer) -> bool {
        pointer.end != End::Each && self.node(pointer.to).is_some_and(|region| region.segment.is_some())
    }
}
