//! A common description of two nodes, with all that each of them has of its own: nodes that only it leads to. Knows no links of lists or trees.
//! Law: it describes whatever each of the two describes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    heap::{At, Heap},
    number,
    region::{self, Life, Region, Segment},
    value::{End, Node, Pointer, Value},
};

/// More alternatives than this are not kept.
const MOST_CHOICES: usize = 3;

/// The nodes that only this one leads to, its links apart.
pub(super) fn own(heap: &Heap, id: u32, links: &[u64]) -> BTreeSet<u32> {
    let Some(region) = heap.node(Node::Heap(id)) else { return BTreeSet::new() };
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

/// One of the two.
struct Side {
    id: u32,
    own: BTreeSet<u32>,
}

/// Finds descriptions that hold of both sides.
pub(super) struct Join<'h> {
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
    /// The heap without the two nodes and what they have of their own, and, not yet in it, the node that `describe` says describes both.
    pub(super) fn of(
        old: &Heap,
        [first, second]: [u32; 2],
        [own_first, own_second]: [BTreeSet<u32>; 2],
        lossy: bool,
        pointer_bytes: u64,
        describe: impl FnOnce(&mut Join<'_>) -> Option<Region>,
    ) -> Option<(Heap, u32, Region)> {
        let mut result = old.clone();
        let node = result.add(Region::new((0, 0), Life::Heap, region::Rest::Any));
        let mut join = Join {
            old,
            new: &mut result,
            sides: [Side { id: first, own: own_first }, Side { id: second, own: own_second }],
            node,
            pairs: BTreeMap::new(),
            adopted: BTreeSet::new(),
            lossy,
            pointer_bytes,
        };
        let region = describe(&mut join)?;
        if !join.is_complete() {
            return None;
        }
        for id in join.gone() {
            result.nodes.remove(&Node::Heap(id));
        }
        Some((result, node, region))
    }

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

    /// What both hold, their links apart.
    pub(super) fn regions(&mut self, a: &Region, b: &Region, links: &[u64]) -> Option<Region> {
        let size = (a.size.0.min(b.size.0), a.size.1.max(b.size.1));
        let mut region = Region::new(size, a.life, a.rest.max(b.rest));
        region.record = a.record.filter(|record| Some(*record) == b.record);
        if (a.rest != b.rest || a.ended != b.ended) && !self.lossy {
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
        region.ended = match a.ended == b.ended {
            true => a.ended,
            false => a.zero_from().zip(b.zero_from()).map(|(one, other)| one.min(other)),
        };
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
        let is_row = ours.segment.is_some() || theirs.segment.is_some();
        if is_row && (ours.size != theirs.size || ours.exact_size().is_none())
            || ours.size != theirs.size && !self.lossy
            || ours.life != theirs.life
        {
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
                let is_same = (one.next, one.next_to, one.back, one.branches)
                    == (other.next, other.next_to, other.back, other.branches);
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
