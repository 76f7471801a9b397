//! Graphs at the borders of function blocks [BAM20] §3. `reduce` keeps what the callee can reach: its frame, the globals that it or what it calls uses,
//! and all that these lead to. Pointers of callers into that part become *cut points*: registers of one frame that stands for all callers, so that
//! whatever happens to the object, its end or a fold, happens to them, too. `expand` puts the callee's result in the place of the part, and each caller's
//! pointer becomes what its cut point has become. Law: what a block reaches from `e` is described by expanding what it reaches from `reduce(e)`.
//!
//! Objects of callers that are no heap objects (locals, `alloca`) and are reached are locals of that frame. All names are those of a search from the
//! callee's frame, so equal parts have equal reductions, whoever calls.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use proofline_cfa::{LocalId, Name, Object};

use super::{
    heap::{Frame, Heap},
    region::{Life, Region, Rest},
    value::{End, Node, Pointer, Value},
};

/// What the frame of all callers is called; no function of C has such a name.
const CALLERS: &str = "#callers";

/// The depth of the callee's frame in a reduced state.
pub(super) const INNER: u32 = 1;

/// Extents of objects, for those that nobody has written yet.
pub(super) type Extents<'a> = &'a dyn Fn(Node) -> (u64, u64);

/// What a block needs of a state.
pub(super) struct Part<'h> {
    heap: &'h Heap,
    depth: u32,
    /// The reached nodes on the heap, in the order of the search.
    order: BTreeMap<u32, u32>,
    /// The reached objects of callers that are no heap objects, in that order.
    outer: Vec<Node>,
    /// Everything that is reached, and the callee's own.
    inside: BTreeSet<Node>,
}

impl<'h> Part<'h> {
    /// `used`: whether the block uses a global; `escaped`: what code outside may know.
    pub(super) fn of(
        heap: &'h Heap,
        used: &dyn Fn(Name) -> bool,
        escaped: &BTreeSet<Object>,
    ) -> Option<Part<'h>> {
        let depth = heap.depth();
        let mut part =
            Part { heap, depth, order: BTreeMap::new(), outer: Vec::new(), inside: BTreeSet::new() };
        let mut open = VecDeque::new();
        for value in heap.frame()?.registers.values() {
            part.follow(value, &mut open);
        }
        let is_escaped = |object| escaped.contains(&object);
        for node in heap.nodes.keys() {
            let is_root = match *node {
                Node::Global(name) => used(name) || is_escaped(Object::Global(name)),
                Node::Local(of, _) if of == depth => true,
                Node::Local(of, id) => {
                    let function = heap.frames.get(of as usize).map(|frame| frame.function);
                    function.is_some_and(|name| {
                        is_escaped(Object::Local(name, id))
                            || is_callers(name)
                                && escaped.iter().any(|object| matches!(object, Object::Local(..)))
                    })
                }
                Node::Heap(_) => false,
            };
            if is_root {
                part.see(*node, &mut open);
            }
        }
        while let Some(node) = open.pop_front() {
            let Some(region) = heap.node(node) else { continue };
            for cell in region.cells.values() {
                part.follow(&cell.value, &mut open);
            }
            if let Some(owner) = region.owner {
                part.see(Node::Heap(owner), &mut open);
            }
        }
        part.has_plain_cuts().then_some(part)
    }

    fn follow(&mut self, value: &Value, open: &mut VecDeque<Node>) {
        for pointer in value.pointers() {
            self.see(pointer.to, open);
        }
    }

    fn see(&mut self, node: Node, open: &mut VecDeque<Node>) {
        if !self.inside.insert(node) {
            return;
        }
        open.push_back(node);
        match node {
            Node::Heap(id) => match self.heap.node(node).map(|region| region.life) {
                // An array of a caller, or of the callee.
                Some(Life::Frame(of)) if of != self.depth => self.outer.push(node),
                Some(Life::Frame(_) | Life::Heap | Life::Variable) | None => {
                    let next = self.order.len() as u32;
                    self.order.insert(id, next);
                }
            },
            Node::Local(of, _) if of != self.depth => self.outer.push(node),
            Node::Local(..) | Node::Global(_) => {}
        }
    }

    /// Whether a node on the heap is in the part, as one that the block may end or fold.
    fn place(&self, node: Node) -> Option<u32> {
        match node {
            Node::Heap(id) => self.order.get(&id).copied(),
            Node::Global(_) | Node::Local(..) => None,
        }
    }

    /// The pointers from outside into the part, as far as the block may end or fold what they lead to.
    fn cuts(&self) -> impl Iterator<Item = Pointer> {
        self.from_outside().filter(|pointer| self.place(pointer.to).is_some())
    }

    fn from_outside(&self) -> impl Iterator<Item = Pointer> {
        let callers = self.heap.frames.iter().take(self.depth as usize);
        let registers = callers.flat_map(|frame| frame.registers.values());
        let outside = self.heap.nodes.iter().filter(|(node, _)| !self.inside.contains(node));
        let cells = outside.flat_map(|(_, region)| region.cells.values().map(|cell| &cell.value));
        registers.chain(cells).flat_map(Value::pointers)
    }

    /// Whether nothing outside knows what only the callee's frame or a segment itself knows; at calls nothing does.
    fn has_plain_cuts(&self) -> bool {
        let is_callees = |node: Node| matches!(node, Node::Local(of, _) if of == self.depth);
        self.from_outside().all(|pointer| {
            !is_callees(pointer.to) && (pointer.end != End::Each || self.place(pointer.to).is_none())
        })
    }

    /// The register of the callers' frame for pointers to an end of a node.
    fn cut(&self, pointer: &Pointer) -> Option<LocalId> {
        let place = self.place(pointer.to)?;
        Some(LocalId(2 * place + u32::from(pointer.end == End::Last)))
    }

    /// The part as a state of its own.
    pub(super) fn reduced(&self, extents: Extents<'_>) -> Option<Heap> {
        let names: BTreeMap<Node, Node> = self
            .outer
            .iter()
            .enumerate()
            .map(|(index, node)| (*node, Node::Local(0, LocalId(index as u32))))
            .collect();
        let renamed = |node: Node| match node {
            Node::Local(of, id) if of == self.depth => Node::Local(INNER, id),
            Node::Heap(_) | Node::Local(..) | Node::Global(_) => names.get(&node).copied().unwrap_or(node),
        };
        let moved = |value: &Value| {
            let mut value = value.clone();
            value.redirect(&|pointer| Some(Value::Pointer(Pointer { to: renamed(pointer.to), ..*pointer })));
            value
        };
        let mut nodes = BTreeMap::new();
        for node in &self.inside {
            let region = match self.heap.node(*node) {
                Some(region) => region.clone(),
                // Nobody has written there yet.
                None if matches!(node, Node::Local(..)) => {
                    Region::new(extents(*node), Life::Variable, Rest::Uninit)
                }
                None => continue,
            };
            let mut region = region;
            region.cells.values_mut().for_each(|cell| cell.value = moved(&cell.value));
            region.life = match region.life {
                Life::Frame(of) if of == self.depth => Life::Frame(INNER),
                Life::Frame(_) => Life::Variable,
                Life::Heap | Life::Variable => region.life,
            };
            nodes.insert(renamed(*node), Arc::new(region));
        }
        let mut cuts = BTreeMap::new();
        for pointer in self.cuts() {
            let to_start = Pointer { low: 0, high: 0, ..pointer };
            cuts.insert(self.cut(&pointer)?, Value::Pointer(to_start));
        }
        let inner = self.heap.frame()?;
        let registers = inner.registers.iter().map(|(id, value)| (*id, moved(value))).collect();
        let is_elsewhere =
            |(node, region): (&Node, &Arc<Region>)| region.life == Life::Heap && !self.inside.contains(node);
        let mut reduced = Heap {
            frames: vec![
                Arc::new(Frame { function: Name::new(CALLERS), registers: cuts }),
                Arc::new(Frame { function: inner.function, registers }),
            ],
            nodes,
            numbers: self.heap.numbers.clone(),
            lost: self.heap.lost,
            elsewhere: self.heap.elsewhere || self.heap.nodes.iter().any(is_elsewhere),
        };
        reduced.normalise();
        Some(reduced)
    }

    /// What the block made of the part, in its place.
    pub(super) fn expanded(&self, exit: &Heap) -> Option<Heap> {
        let mut result = self.heap.clone();
        let first = match result.nodes.last_key_value() {
            Some((Node::Heap(last), _)) => last + 1,
            _ => 0,
        };
        let first_name = result.numbers.last_key_value().map_or(0, |(last, _)| last + 1);
        let renamed = |node: Node| match node {
            Node::Global(_) => Some(node),
            Node::Local(0, id) => self.outer.get(id.index()).copied(),
            Node::Local(of, id) => Some(Node::Local(self.depth + of - INNER, id)),
            Node::Heap(id) => Some(Node::Heap(first + id)),
        };
        let moved = |value: &Value| {
            let mut value = value.clone();
            if let Value::Symbol(name) = value {
                return Value::Symbol(first_name + name);
            }
            value.redirect(&|pointer| {
                let to = renamed(pointer.to);
                Some(to.map_or(Value::Any, |to| Value::Pointer(Pointer { to, ..*pointer })))
            });
            value
        };
        // Callers' pointers become what their cut points have become.
        let callers = exit.frames.first()?;
        let after = |pointer: &Pointer| {
            let cut = self.cut(pointer)?;
            Some(match callers.registers.get(&cut).map(&moved) {
                Some(Value::Pointer(now)) => Value::Pointer(Pointer {
                    low: now.low.saturating_add(pointer.low),
                    high: now.high.saturating_add(pointer.high),
                    ..now
                }),
                Some(gone @ (Value::Freed | Value::Ended)) => gone,
                _ => Value::Any,
            })
        };
        result.nodes.retain(|node, _| !self.inside.contains(node));
        result.frames.pop();
        result.redirect(&after);
        for frame in exit.frames.iter().skip(1) {
            let registers = frame.registers.iter().map(|(id, value)| (*id, moved(value))).collect();
            result.frames.push(Arc::new(Frame { function: frame.function, registers }));
        }
        for (node, region) in &exit.nodes {
            let Some(to) = renamed(*node) else { continue };
            let mut region = Region::clone(region);
            region.cells.values_mut().for_each(|cell| cell.value = moved(&cell.value));
            region.owner = region.owner.map(|owner| first + owner);
            region.life = match (region.life, node) {
                (Life::Frame(of), _) => Life::Frame(self.depth + of - INNER),
                // An array of a caller.
                (_, Node::Local(0, _)) => self.heap.node(to).map_or(region.life, |region| region.life),
                (Life::Heap | Life::Variable, _) => region.life,
            };
            result.nodes.insert(to, Arc::new(region));
        }
        let numbers = exit.numbers.iter().map(|(name, ranges)| (first_name + name, ranges.clone()));
        result.numbers.extend(numbers);
        result.lost |= exit.lost;
        // What nothing leads to is lost, by whichever name.
        result.normalise();
        Some(result)
    }
}

/// Whether it is the frame of all callers of a block.
pub(super) fn is_callers(function: Name) -> bool {
    function == Name::new(CALLERS)
}
