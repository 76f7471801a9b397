//! Abstraction: two objects in a row become a segment. A pair can be folded if nothing else points into its middle and the bytes besides the
//! links have a common description; what each of the two has of its own (nodes that only it leads to) becomes what each object of
//! the segment has. Law: the result describes all that the state described.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    heap::{At, Heap},
    join::{self, Join},
    region::{Life, Region, Segment},
    tree::{self, Links},
    value::{End, Node, Pointer, Value},
};

/// Which pairs are folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pairs {
    /// Such that are in a row with a third object.
    InRows,
    /// Any.
    All,
}

/// What is folded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folding<'a> {
    /// As long as there are at most so many nodes on the heap, only such objects that have the same description.
    pub(super) most: usize,
    /// A greater least number of objects is not kept.
    pub(super) least: u8,
    pub(super) pairs: Pairs,
    /// Objects with these links are folded to trees, and to no lists.
    pub(super) trees: &'a [Links],
    pub(super) pointer_bytes: u64,
}

/// Folds until nothing is left that can be folded.
pub(super) fn fold(heap: &mut Heap, folding: Folding<'_>) {
    let Folding { most, trees, pointer_bytes, .. } = folding;
    loop {
        let single = heap.allocated().filter(|(_, region)| region.owner.is_none()).count();
        let find =
            |lossy| once(heap, lossy, folding).or_else(|| tree::once(heap, lossy, trees, pointer_bytes));
        let step = find(false).or_else(|| if single > most { find(true) } else { None });
        match step {
            Some(folded) => *heap = folded,
            None => return,
        }
    }
}

fn once(heap: &Heap, lossy: bool, folding: Folding<'_>) -> Option<Heap> {
    let Folding { pairs, least, trees, pointer_bytes, .. } = folding;
    heap.allocated().find_map(|(first, region)| {
        let is_candidate = |at: &u64| {
            region.segment.is_none_or(|segment| segment.next == *at && segment.branches.is_none())
                && !trees.iter().any(|tree| tree.has(region, *at))
        };
        region.cells.iter().filter(|(at, _)| is_candidate(at)).find_map(|(next, cell)| match cell.value {
            Value::Pointer(Pointer { to: Node::Heap(second), end: End::First, low, high }) if low == high => {
                let pair = Pair {
                    heap,
                    first,
                    second,
                    next: *next,
                    next_to: low,
                    pairs,
                    most_least: least,
                    pointer_bytes,
                };
                pair.doubly(lossy).or_else(|| pair.fold(None, lossy))
            }
            _ => None,
        })
    })
}

/// Two nodes, the first of which links to the second.
struct Pair<'h> {
    heap: &'h Heap,
    first: u32,
    second: u32,
    next: u64,
    next_to: i64,
    pairs: Pairs,
    most_least: u8,
    pointer_bytes: u64,
}

impl Pair<'_> {
    fn region(&self, id: u32) -> Option<&Region> {
        self.heap.node(Node::Heap(id))
    }

    /// As a doubly linked segment.
    fn doubly(&self, lossy: bool) -> Option<Heap> {
        let second = self.region(self.second)?;
        second.cells.iter().filter(|(at, _)| **at > self.next).find_map(|(at, cell)| match cell.value {
            Value::Pointer(back) if back.to == Node::Heap(self.first) && back.end != End::Each => {
                self.fold(Some((*at, back.offset()?)), lossy)
            }
            _ => None,
        })
    }

    fn is_suitable(&self, region: &Region, back: Option<(u64, i64)>) -> bool {
        let is_same = |segment: Segment| {
            (segment.next, segment.next_to, segment.back, segment.branches)
                == (self.next, self.next_to, back, None)
        };
        region.life == Life::Heap
            && region.owner.is_none()
            && region.exact_size().is_some()
            && region.segment.is_none_or(is_same)
    }

    fn fold(&self, back: Option<(u64, i64)>, lossy: bool) -> Option<Heap> {
        let (first, second) = (self.region(self.first)?, self.region(self.second)?);
        if self.first == self.second
            || !self.is_suitable(first, back)
            || !self.is_suitable(second, back)
            || first.size != second.size
            || first.record.zip(second.record).is_some_and(|(first, second)| first != second)
        {
            return None;
        }
        let link_of_second = back.map(|(at, _)| at);
        if let Some(at) = link_of_second {
            let Value::Pointer(pointer) = second.read(at, self.pointer_bytes) else { return None };
            // It leads to the last object of the first node.
            if first.segment.is_some() && pointer.end != End::Last {
                return None;
            }
        }
        let links: Vec<u64> = [Some(self.next), link_of_second].into_iter().flatten().collect();
        let own_first = join::own(self.heap, self.first, &links);
        let own_second = join::own(self.heap, self.second, &links);
        if own_first.contains(&self.second) || own_second.contains(&self.first) {
            return None;
        }
        self.check_references(back, &own_first, &own_second)?;
        // That nothing is between two objects that variables lead to is worth knowing.
        if !lossy && self.is_root(self.first) && self.is_root(self.second)
            || self.pairs == Pairs::InRows && !self.is_row(first, second)
        {
            return None;
        }

        let (mut result, node, mut region) = Join::of(
            self.heap,
            [self.first, self.second],
            [own_first, own_second],
            lossy,
            self.pointer_bytes,
            |join| join.regions(first, second, &links),
        )?;
        let least = |region: &Region| region.segment.map_or(1, |segment| segment.least);
        let least = (least(first) + least(second)).min(self.most_least);
        let segment = Segment { next: self.next, next_to: self.next_to, back, least, branches: None };
        region.segment = Some(segment);
        region.write(self.next, self.pointer_bytes, second.read(self.next, self.pointer_bytes));
        if let Some((at, _)) = back {
            region.write(at, self.pointer_bytes, first.read(at, self.pointer_bytes));
        }
        result.nodes.insert(Node::Heap(node), Arc::new(region));
        let (from, to) = (Node::Heap(self.first), Node::Heap(self.second));
        result.redirect(&|pointer| {
            let end = match pointer.to {
                at if at == from => End::First,
                at if at == to => End::Last,
                _ => return None,
            };
            Some(Value::Pointer(Pointer { to: Node::Heap(node), end, ..*pointer }))
        });
        Some(result)
    }

    /// Whether there are more than two in a row. A link from one object to another need not be the link of a list.
    fn is_row(&self, first: &Region, second: &Region) -> bool {
        let is_one = |region: Option<&Region>| {
            region.is_some_and(|region| region.life == Life::Heap && region.size == first.size)
        };
        let follows = |region: &Region| match region.read(self.next, self.pointer_bytes) {
            Value::Pointer(pointer) => {
                pointer.offset() == Some(self.next_to) && is_one(self.heap.node(pointer.to))
            }
            _ => false,
        };
        let precedes = || {
            self.heap.allocated().any(|(id, region)| {
                id != self.second
                    && is_one(Some(region))
                    && matches!(region.read(self.next, self.pointer_bytes), Value::Pointer(pointer)
                        if pointer.to == Node::Heap(self.first) && pointer.offset() == Some(self.next_to))
            })
        };
        first.segment.is_some() || second.segment.is_some() || follows(second) || precedes()
    }

    /// Whether a variable leads to it.
    fn is_root(&self, id: u32) -> bool {
        let roots = self.heap.values().filter(|(at, _)| match at {
            At::Register | At::Cell(Node::Global(_) | Node::Local(..), _) => true,
            At::Cell(Node::Heap(_), _) => false,
        });
        roots.flat_map(|(_, value)| value.pointers()).any(|pointer| pointer.to == Node::Heap(id))
    }

    /// Whether nothing points into the middle of what comes into being.
    fn check_references(
        &self,
        back: Option<(u64, i64)>,
        own_first: &BTreeSet<u32>,
        own_second: &BTreeSet<u32>,
    ) -> Option<()> {
        let (from, to) = (Node::Heap(self.first), Node::Heap(self.second));
        let is_in = |node: Node, id: u32, own: &BTreeSet<u32>| match node {
            Node::Heap(at) => at == id || own.contains(&at),
            Node::Global(_) | Node::Local(..) => false,
        };
        let is_link = |node: Node, at: u64, of: Node| {
            node == of && (at == self.next || back.is_some_and(|(back, _)| back == at))
        };
        let is_segment = |id| self.region(id).is_some_and(|region| region.segment.is_some());
        for (at, value) in self.heap.values() {
            for pointer in value.pointers().filter(|pointer| pointer.to == from || pointer.to == to) {
                let (is_first, at_link) = (
                    pointer.to == from,
                    match at {
                        At::Cell(node, offset) => is_link(node, offset, from) || is_link(node, offset, to),
                        At::Register => false,
                    },
                );
                if let At::Cell(node, offset) = at {
                    // The links between the two.
                    if is_first && node == to && back.is_some_and(|(back, _)| back == offset)
                        || !is_first && node == from && offset == self.next
                    {
                        continue;
                    }
                    let (in_first, in_second) = match at_link {
                        true => (false, false),
                        false => (is_in(node, self.first, own_first), is_in(node, self.second, own_second)),
                    };
                    // What an object says of itself.
                    if is_first && in_first || !is_first && in_second {
                        let id = if is_first { self.first } else { self.second };
                        if is_segment(id) && pointer.end != End::Each {
                            return None;
                        }
                        continue;
                    }
                    if in_first || in_second {
                        return None;
                    }
                }
                let allowed = match (is_first, is_segment(if is_first { self.first } else { self.second })) {
                    (true, false) => true,
                    (true, true) => pointer.end == End::First,
                    (false, false) => back.is_some(),
                    (false, true) => back.is_some() && pointer.end == End::Last,
                };
                if !allowed {
                    return None;
                }
            }
        }
        Some(())
    }
}
