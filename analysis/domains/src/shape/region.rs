//! One node: an object with its bytes, or a segment with what is kept of each of its objects. Knows no other node.

use std::collections::BTreeMap;

use proofline_cfa::Name;
use serde::{Deserialize, Serialize};

use super::value::Value;

/// How long it lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Life {
    /// Until it is freed.
    Heap,
    /// Until the function with this depth returns (`alloca`).
    Frame(u32),
    /// As the variable that it is.
    Variable,
}

/// What the bytes are that no cell describes, from the least to the greatest set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Rest {
    /// 0.
    Zero,
    /// Anything.
    Any,
    /// Anything, or without a value.
    Uninit,
}

impl Rest {
    pub(super) fn value(self) -> Value {
        match self {
            Rest::Zero => Value::null(),
            Rest::Any => Value::Any,
            Rest::Uninit => Value::Uninit,
        }
    }
}

/// Some bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// How many.
    pub size: u64,
    /// What they hold together. (A number or `Any` or `Uninit` that is uniform: what each part of them holds.)
    pub value: Value,
}

/// That the node stands for several objects in a row: at least `least` of them, each linked to the following one. The link's cell
/// of the node holds what the last object's link holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// Where the link to the following object is.
    pub next: u64,
    /// How far into that object it leads.
    pub next_to: i64,
    /// Where the link to the object before is, and how far into that one it leads. The cell there holds what the first object's link holds.
    pub back: Option<(u64, i64)>,
    /// Number of objects: 1 or more, 2 or more.
    pub least: u8,
    /// Of a tree: `next` is one of the links to the objects below, and `back` the one to the object above.
    pub branches: Option<Branches>,
}

/// What makes a tree of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Branches {
    /// Where the other link to an object below is.
    pub other: u64,
    /// One link leads out of the tree, to what the cell behind the last byte of the object holds.
    pub is_open: bool,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Region {
    /// Bounds of the size in bytes.
    pub size: (u64, u64),
    /// Its life.
    pub life: Life,
    /// Bytes without a cell.
    pub rest: Rest,
    /// Cells by offset; they do not overlap.
    pub cells: BTreeMap<u64, Cell>,
    /// From this offset on there is a byte 0 in the object, though no cell says where: it holds a string.
    pub ended: Option<u64>,
    /// If it stands for several objects.
    pub segment: Option<Segment>,
    /// The segment each of whose objects has one like this.
    pub owner: Option<u32>,
    /// The record that it was allocated for, as far as the allocation tells, or its first use. Says nothing of the bytes: lists and trees are
    /// made of objects of one record.
    pub record: Option<Name>,
}

impl Region {
    /// An object with nothing in it but `rest`.
    pub fn new(size: (u64, u64), life: Life, rest: Rest) -> Region {
        let (cells, ended) = (BTreeMap::new(), None);
        Region { size, life, rest, cells, ended, segment: None, owner: None, record: None }
    }

    /// An offset from which on there certainly is a byte 0 in the object: the furthest one that is known.
    pub(super) fn zero_from(&self) -> Option<u64> {
        let last = self.size.0.checked_sub(1);
        let zeros = self.cells.iter().filter(|(at, cell)| cell.value.is_zero() && **at < self.size.0);
        let by_cells = zeros.map(|(at, cell)| (at + cell.size).min(self.size.0) - 1).max();
        let by_rest = last.filter(|last| self.read(*last, 1).is_zero());
        self.ended.max(by_cells).max(by_rest)
    }

    /// A byte 0 was written at this offset or behind it.
    pub(super) fn end_from(&mut self, at: u64) {
        self.ended.get_or_insert(at);
    }

    /// Whether these bytes may be the 0 that no cell has.
    fn may_end(&self, at: u64, size: u64) -> bool {
        self.ended.is_some_and(|from| at.saturating_add(size) > from)
    }

    /// The size, if it is known.
    pub fn exact_size(&self) -> Option<u64> {
        (self.size.0 == self.size.1).then_some(self.size.0)
    }

    fn overlapping(&self, at: u64, size: u64) -> impl Iterator<Item = (u64, &Cell)> {
        let below = self.cells.range(..at.saturating_add(size)).rev();
        below.take_while(move |(start, cell)| **start + cell.size > at).map(|(start, cell)| (*start, cell))
    }

    /// What the bytes hold.
    pub fn read(&self, at: u64, size: u64) -> Value {
        if let Some(cell) = self.cells.get(&at)
            && cell.size == size
        {
            return cell.value.clone();
        }
        let (mut covered, mut is_zero, mut has_value) = (0, true, true);
        for (start, cell) in self.overlapping(at, size) {
            covered += (start + cell.size).min(at + size) - start.max(at);
            is_zero &= cell.value.is_zero();
            has_value &= cell.value != Value::Uninit;
        }
        if covered < size {
            is_zero &= self.rest == Rest::Zero;
            has_value &= self.rest != Rest::Uninit;
        }
        match (is_zero, has_value) {
            (true, _) => Value::null(),
            (false, true) => Value::Any,
            (false, false) => Value::Uninit,
        }
    }

    /// Takes the bytes out of the cells. What is left of a cell keeps its description if that speaks of each part.
    fn carve(&mut self, at: u64, size: u64) {
        let cut: Vec<(u64, Cell)> =
            self.overlapping(at, size).map(|(start, cell)| (start, cell.clone())).collect();
        for (start, cell) in cut {
            self.cells.remove(&start);
            let value = if cell.value.is_uniform() { cell.value } else { Value::Any };
            let end = start + cell.size;
            if start < at {
                self.cells.insert(start, Cell { size: at - start, value: value.clone() });
            }
            if end > at + size {
                self.cells.insert(at + size, Cell { size: end - (at + size), value });
            }
        }
    }

    /// Puts a value there.
    pub fn write(&mut self, at: u64, size: u64, value: Value) {
        if size == 0 {
            return;
        }
        self.carve(at, size);
        if !value.is_zero() && self.may_end(at, size) {
            self.ended = None;
        }
        self.cells.insert(at, Cell { size, value });
    }

    /// The bytes may have changed; those without a value may still be without one.
    pub fn scramble(&mut self, at: u64, size: u64) {
        if self.may_end(at, size) {
            self.ended = None;
        }
        for (start, size, value) in self.slice(at, size) {
            if value != Value::Uninit {
                self.write(start, size, Value::Any);
            }
        }
    }

    /// What the bytes hold, piece by piece: offset, size, value. What a piece at the edge holds that is not all of a cell is `Any` or uniform.
    pub fn slice(&self, at: u64, size: u64) -> Vec<(u64, u64, Value)> {
        let end = at.saturating_add(size);
        let mut inside: Vec<(u64, Cell)> =
            self.overlapping(at, size).map(|(start, cell)| (start, cell.clone())).collect();
        inside.reverse();
        let mut pieces = Vec::new();
        let mut from = at;
        for (start, cell) in inside {
            let (first, last) = (start.max(at), (start + cell.size).min(end));
            if from < first {
                pieces.push((from, first - from, self.rest.value()));
            }
            let is_whole = last - first == cell.size;
            let value = if is_whole || cell.value.is_uniform() { cell.value } else { Value::Any };
            pieces.push((first, last - first, value));
            from = last;
        }
        if from < end {
            pieces.push((from, end - from, self.rest.value()));
        }
        pieces
    }

    /// Whether the cell is one of the links of a segment.
    pub fn is_link(&self, at: u64) -> bool {
        self.segment
            .is_some_and(|segment| segment.next == at || segment.back.is_some_and(|(back, _)| back == at))
    }
}

/// Pieces such that each describes the bytes of either region as well as its own cells do. `whole`: ranges that are one piece.
pub(super) fn pieces(a: &Region, b: &Region, whole: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = whole.iter().map(|(at, size)| (*at, at + size)).collect();
    let mut cuts: Vec<u64> = Vec::new();
    for region in [a, b] {
        for (at, cell) in &region.cells {
            cuts.extend([*at, at + cell.size]);
            if !cell.value.is_uniform() {
                ranges.push((*at, at + cell.size));
            }
        }
    }
    cuts.extend(ranges.iter().flat_map(|(from, to)| [*from, *to]));
    cuts.sort_unstable();
    cuts.dedup();
    let is_described = |from: u64| {
        let has = |region: &Region| region.overlapping(from, 1).next().is_some();
        has(a) || has(b) || ranges.iter().any(|(start, end)| *start <= from && from < *end)
    };
    let mut result: Vec<(u64, u64)> = Vec::new();
    for two in cuts.windows(2) {
        let (from, to) = (two[0], two[1]);
        if !is_described(from) {
            continue;
        }
        let is_inner = ranges.iter().any(|(start, end)| *start < from && from < *end);
        match result.last_mut() {
            Some((start, size)) if is_inner && *start + *size == from => *size += to - from,
            _ => result.push((from, to - from)),
        }
    }
    result
}
