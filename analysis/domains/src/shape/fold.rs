//! Abstraction: two objects in a row become a segment. A pair can be folded if nothing else points into its middle and the bytes besides the
//! links have a common description; what each of the two has of its own (nodes that only it leads to) becomes what each object of
//! the segment has. Law: the result describes all that the state described.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    heap::{At, Heap},
    number,
    region::{self, Life, MOST_LEAST, Region, Segment},
    value::{End, Node, Pointer, Value},
};

/// More alternatives than this are not kept.
const MOST_CHOICES: usize = 3;

/// Which pairs are folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pairs {
    /// Such that are in a row with a third object.
    InRows,
    /// Any.
    All,
}

/// Folds until no pair is left that can be folded. As long as there are at most `most` nodes on the heap, only such pairs whose objects
/// have the same description.
pub(super) fn fold(heap: &mut Heap, most: usize, pairs: Pairs, pointer_bytes: u64) {
    loop {
        let single = heap.allocated().filter(|(_, region)| region.owner.is_none()).count();
        let find = |lossy| once(heap, lossy, pairs, pointer_bytes);
        let step = find(false).or_else(|| if single > most { find(true) } else { None });
        match step {
            Some(folded) => *heap = folded,
            None => return,
        }
    }
}

fn once(heap: &Heap, lossy: bool, pairs: Pairs, pointer_bytes: u64) -> Option<Heap> {
    heap.allocated().find_map(|(first, region)| {
        let is_candidate = |at: &u64| region.segment.is_none_or(|segment| segment.next == *at);
        region.cells.iter().filter(|(at, _)| is_candidate(at)).find_map(|(next, cell)| match cell.value {
            Value::Pointer(Pointer { to: Node::Heap(second), end: End::First, low, high }) if low == high => {
                let pair = Pair { heap, first, second, next: *next, next_to: low, pairs, pointer_bytes };
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
            (segment.next, segment.next_to, segment.back) == (self.next, self.next_to, back)
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
        let own_first = self.own(self.first, &links);
        let own_second = self.own(self.second, &links);
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

        let mut result = self.heap.clone();
        let node = result.add(Region::new((0, 0), Life::Heap, region::Rest::Any));
        let mut join = Join {
            old: self.heap,
            new: &mut result,
            sides: [Side { id: self.first, own: own_first }, Side { id: self.second, own: own_second }],
            node,
            pairs: BTreeMap::new(),
            adopted: BTreeSet::new(),
            lossy,
            pointer_bytes: self.pointer_bytes,
        };
        let mut region = join.regions(first, second, &links)?;
        let least = |region: &Region| region.segment.map_or(1, |segment| segment.least);
        let least = (least(first) + least(second)).min(MOST_LEAST);
        region.segment = Some(Segment { next: self.next, next_to: self.next_to, back, least });
        region.write(self.next, self.pointer_bytes, second.read(self.next, self.pointer_bytes));
        if let Some((at, _)) = back {
            region.write(at, self.pointer_bytes, first.read(at, self.pointer_bytes));
        }
        if !join.is_complete() {
            return None;
        }
        let gone: Vec<u32> = join.gone();
        for id in gone {
            result.nodes.remove(&Node::Heap(id));
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

    /// The nodes that only this one leads to, its links apart.
    fn own(&self, id: u32, links: &[u64]) -> BTreeSet<u32> {
        let heap = self.heap;
        let Some(region) = self.region(id) else { return BTreeSet::new() };
        let cells = region.cells.iter().filter(|(at, _)| !links.contains(at));
        let mut open: Vec<Node> =
            cells.flat_map(|(_, cell)| cell.value.pointers()).map(|pointer| pointer.to).collect();
        let mut found = BTreeSet::new();
        while let Some(node) = open.pop() {
            if let Node::Heap(at) = node
                && at != id
                && let Some(inner) = heap.node(node)
                && inner.life == Life::Heap
                && found.insert(at)
            {
                open.extend(inner.cells.values().flat_map(|cell| cell.value.pointers()).map(|p| p.to));
            }
        }
        // Of segments each object has its own already.
        if region.segment.is_some() {
            found.retain(|at| heap.node(Node::Heap(*at)).is_some_and(|inner| inner.owner.is_some()));
        }
        loop {
            let outside: BTreeSet<u32> = heap
                .values()
                .filter(|(at, _)| match at {
                    At::Register => true,
                    At::Cell(Node::Heap(of), offset) => {
                        *of == id && links.contains(offset) || *of != id && !found.contains(of)
                    }
                    At::Cell(Node::Global(_) | Node::Local(..), _) => true,
                })
                .flat_map(|(_, value)| value.pointers())
                .filter_map(|pointer| match pointer.to {
                    Node::Heap(at) if found.contains(&at) => Some(at),
                    _ => None,
                })
                .collect();
            if outside.is_empty() {
                return found;
            }
            found.retain(|at| !outside.contains(at));
        }
    }
}

/// One of the two.
struct Side {
    id: u32,
    own: BTreeSet<u32>,
}

/// Finds descriptions that hold of both sides.
struct Join<'h> {
    old: &'h Heap,
    new: &'h mut Heap,
    sides: [Side; 2],
    /// The segment.
    node: u32,
    /// Own nodes of both sides that are described together, and as what.
    pairs: BTreeMap<(u32, u32), u32>,
    /// Own nodes of one side that the other has not.
    adopted: BTreeSet<u32>,
    lossy: bool,
    pointer_bytes: u64,
}

impl Join<'_> {
    /// Nodes that are described otherwise now.
    fn gone(&self) -> Vec<u32> {
        let own = self.sides.iter().flat_map(|side| side.own.iter().copied().chain([side.id]));
        own.filter(|id| !self.adopted.contains(id)).collect()
    }

    /// Whether all that the two have of their own is described.
    fn is_complete(&self) -> bool {
        let is_described = |side: usize, id: &u32| {
            let mut pairs = self.pairs.keys();
            self.adopted.contains(id) || pairs.any(|(a, b)| if side == 0 { a == id } else { b == id })
        };
        (0..2).all(|side| self.sides[side].own.iter().all(|id| is_described(side, id)))
    }

    fn regions(&mut self, a: &Region, b: &Region, links: &[u64]) -> Option<Region> {
        let mut region = Region::new(a.size, a.life, a.rest.max(b.rest));
        if a.rest != b.rest && !self.lossy {
            return None;
        }
        let whole: Vec<(u64, u64)> = links.iter().map(|at| (*at, self.pointer_bytes)).collect();
        for (at, size) in region::pieces(a, b, &whole) {
            if links.contains(&at) {
                continue;
            }
            let value = self.values(&a.read(at, size), &b.read(at, size))?;
            region.write(at, size, value);
        }
        Some(region)
    }

    fn values(&mut self, a: &Value, b: &Value) -> Option<Value> {
        if !matches!((a, b), (Value::Choice(_), _) | (_, Value::Choice(_)))
            && let Some(value) = self.alike(a, b)?
        {
            return Some(value);
        }
        // One of several.
        let list = |value: &Value| match value {
            Value::Choice(all) => all.clone(),
            _ => vec![value.clone()],
        };
        let (ours, mut theirs) = (list(a), list(b));
        if !self.lossy && ours.len() != theirs.len() {
            return None;
        }
        let mut result = Vec::new();
        for value in ours {
            let mut joined = None;
            for (at, other) in theirs.iter().enumerate() {
                if let Some(both) = self.alike(&value, other)? {
                    joined = Some((at, both));
                    break;
                }
            }
            match joined {
                Some((at, both)) => {
                    theirs.remove(at);
                    result.push(both);
                }
                None => result.push(self.adopt(&value, 0)?),
            }
        }
        if !theirs.is_empty() && !self.lossy {
            return None;
        }
        for value in theirs {
            let value = self.adopt(&value, 1)?;
            result.push(value);
        }
        result.sort();
        result.dedup();
        (result.len() <= MOST_CHOICES).then(|| match <[Value; 1]>::try_from(result) {
            Ok([one]) => one,
            Err(all) => Value::Choice(all),
        })
    }

    fn is_own(&self, side: usize, id: u32) -> bool {
        self.sides[side].own.contains(&id)
    }

    /// A common description of values of the same kind; `Some(None)` if they are of different kinds, `None` if it must not be folded.
    #[expect(clippy::option_option, reason = "no description, or no fold at all")]
    fn alike(&mut self, a: &Value, b: &Value) -> Option<Option<Value>> {
        if let (Some(ours), Some(theirs)) = (self.old.ranges(a), self.old.ranges(b)) {
            if a == b && matches!(a, Value::Symbol(_)) || ours == theirs {
                let value = if a == b { a.clone() } else { Value::Number(ours) };
                return Some(Some(value));
            }
            if !self.lossy {
                return None;
            }
            return Some(Some(Value::Number(number::widen(&ours, &theirs))));
        }
        match (a, b) {
            (Value::Pointer(p), Value::Pointer(q)) => self.pointers(p, q),
            (Value::Uninit | Value::Any, Value::Uninit | Value::Any) => {
                if a != b && !self.lossy {
                    return None;
                }
                Some(Some(a.clone().min(b.clone())))
            }
            (Value::Uninit | Value::Any, other) | (other, Value::Uninit | Value::Any) => {
                let leads_away = other.pointers().next().is_some();
                let vague = if matches!(a, Value::Uninit) || matches!(b, Value::Uninit) {
                    Value::Uninit
                } else {
                    Value::Any
                };
                if leads_away || !self.lossy { None } else { Some(Some(vague)) }
            }
            _ if a == b => Some(Some(a.clone())),
            (Value::Freed | Value::Ended | Value::Function(_), _)
            | (_, Value::Freed | Value::Ended | Value::Function(_)) => {
                let leads_away = a.pointers().chain(b.pointers()).next().is_some();
                if leads_away || !self.lossy { None } else { Some(Some(Value::Any)) }
            }
            _ => Some(None),
        }
    }

    #[expect(clippy::option_option, reason = "as `alike`")]
    fn pointers(&mut self, p: &Pointer, q: &Pointer) -> Option<Option<Value>> {
        let (own_p, own_q) = (self.kind(0, p), self.kind(1, q));
        match (own_p, own_q) {
            (Kind::Other, Kind::Other) => {
                if p == q {
                    Some(Some(Value::Pointer(*p)))
                } else if self.lossy {
                    Some(None)
                } else {
                    None
                }
            }
            (Kind::Itself, Kind::Itself) if (p.low, p.high) == (q.low, q.high) => Some(Some(self.itself(p))),
            (Kind::Own(a), Kind::Own(b)) if (p.low, p.high) == (q.low, q.high) => {
                let is_single = |id| self.old.node(Node::Heap(id)).is_some_and(|r| r.segment.is_none());
                let end = match (is_single(a), is_single(b)) {
                    (true, true) | (false, true) => p.end,
                    (true, false) => q.end,
                    (false, false) if p.end == q.end => p.end,
                    (false, false) => return None,
                };
                let to = Node::Heap(self.own_nodes(a, b)?);
                Some(Some(Value::Pointer(Pointer { to, end, ..*p })))
            }
            _ => None,
        }
    }

    fn kind(&self, side: usize, pointer: &Pointer) -> Kind {
        match pointer.to {
            Node::Heap(id) if id == self.sides[side].id => Kind::Itself,
            Node::Heap(id) if self.is_own(side, id) => Kind::Own(id),
            Node::Heap(_) | Node::Global(_) | Node::Local(..) => Kind::Other,
        }
    }

    fn itself(&self, pointer: &Pointer) -> Value {
        Value::Pointer(Pointer { to: Node::Heap(self.node), end: End::Each, ..*pointer })
    }

    /// Two own nodes become one.
    fn own_nodes(&mut self, a: u32, b: u32) -> Option<u32> {
        if let Some(known) = self.pairs.get(&(a, b)) {
            return Some(*known);
        }
        if self.pairs.keys().any(|(x, y)| *x == a || *y == b)
            || self.adopted.contains(&a)
            || self.adopted.contains(&b)
        {
            return None;
        }
        let (ours, theirs) = (self.old.node(Node::Heap(a))?.clone(), self.old.node(Node::Heap(b))?.clone());
        ours.exact_size()?;
        if ours.size != theirs.size || ours.life != theirs.life {
            return None;
        }
        let segment = match (ours.segment, theirs.segment) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => {
                if !self.lossy {
                    return None;
                }
                Some(Segment { least: 1, ..one })
            }
            (Some(one), Some(other)) => {
                let is_same = (one.next, one.next_to, one.back) == (other.next, other.next_to, other.back);
                if !is_same || one.least != other.least && !self.lossy {
                    return None;
                }
                Some(Segment { least: one.least.min(other.least), ..one })
            }
        };
        let owner = self.new_owner(&ours, &theirs)?;
        let id = self.new.add(Region::new(ours.size, ours.life, ours.rest));
        self.pairs.insert((a, b), id);
        let mut region = self.regions(&ours, &theirs, &[])?;
        region.segment = segment;
        region.owner = Some(owner);
        self.new.nodes.insert(Node::Heap(id), Arc::new(region));
        Some(id)
    }

    /// Whose each of the joined node is.
    fn new_owner(&self, a: &Region, b: &Region) -> Option<u32> {
        let inner = |side: usize, region: &Region| region.owner.filter(|owner| *owner != self.sides[side].id);
        match (inner(0, a), inner(1, b)) {
            (None, None) => Some(self.node),
            (Some(x), Some(y)) => self.pairs.get(&(x, y)).copied(),
            (Some(x), None) => self.pairs.iter().find(|((p, _), _)| *p == x).map(|(_, id)| *id),
            (None, Some(y)) => self.pairs.iter().find(|((_, q), _)| *q == y).map(|(_, id)| *id),
        }
    }

    /// A value of one side, with the nodes that only it leads to.
    fn adopt(&mut self, value: &Value, side: usize) -> Option<Value> {
        let Value::Pointer(pointer) = value else { return Some(value.clone()) };
        match self.kind(side, pointer) {
            // Where only some of the objects in a row lead is where the row does not.
            Kind::Other if matches!(pointer.to, Node::Heap(_)) => None,
            Kind::Other => Some(value.clone()),
            Kind::Itself => Some(self.itself(pointer)),
            Kind::Own(id) => {
                self.adopt_node(id, side)?;
                Some(value.clone())
            }
        }
    }

    fn adopt_node(&mut self, id: u32, side: usize) -> Option<()> {
        if self.pairs.keys().any(|(a, b)| *a == id || *b == id) {
            return None;
        }
        if !self.adopted.insert(id) {
            return Some(());
        }
        let mut region = self.old.node(Node::Heap(id))?.clone();
        let me = self.sides[side].id;
        region.owner = region.owner.filter(|owner| *owner != me).or(Some(self.node));
        let inner: Vec<Pointer> = region.cells.values().flat_map(|cell| cell.value.pointers()).collect();
        let itself = Node::Heap(self.node);
        for cell in region.cells.values_mut() {
            cell.value.redirect(&|pointer| {
                let is_me = pointer.to == Node::Heap(me);
                is_me.then_some(Value::Pointer(Pointer { to: itself, end: End::Each, ..*pointer }))
            });
        }
        self.new.nodes.insert(Node::Heap(id), Arc::new(region));
        for pointer in inner {
            if let Kind::Own(id) = self.kind(side, &pointer) {
                self.adopt_node(id, side)?;
            }
        }
        Some(())
    }
}

/// What a pointer is for a side.
enum Kind {
    Itself,
    Own(u32),
    Other,
}
