//! Inclusion constraints between sets of addresses, and their least solution [Andersen], by waves over the collapsed
//! graph [Pereira, Berlin: "Wave Propagation and Deep Propagation for Pointer Analysis"]. Knows objects; must not know
//! functions or operations.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use proofline_syntax::interrupt;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    memory::NewCell,
    object::{Address, AddressId, EXTERNAL, Move, NodeId, ObjectId, Shape, Thing, left},
    set::Set,
};
use crate::call_graph::strong_components;

/// More addresses than this in one object become one: anywhere in it.
const ADDRESSES_PER_OBJECT: usize = 256;

/// An object with its contents.
#[derive(Debug)]
pub(crate) struct ObjectState {
    pub(crate) thing: Thing,
    pub(crate) shape: Shape,
    /// Never written.
    pub(crate) constant: bool,
    /// Known to code outside.
    pub(crate) escaped: bool,
    /// Contents by granule.
    pub(crate) cells: std::collections::BTreeMap<i64, NodeId>,
    pub(crate) watchers: Vec<Watcher>,
    pub(super) addresses: Vec<AddressId>,
}

/// What happens to each granule, also to those that come into being later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watcher {
    /// Which granules.
    pub(crate) at: Address,
    pub(crate) size: i64,
    pub(crate) what: Watch,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Watch {
    /// The node's set flows in.
    In(NodeId),
    /// The content flows out to the node.
    Out(NodeId),
    /// The bytes from `at` on flow to this address and on.
    Copy(Address),
}

/// Where something is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Named.
    At(Address),
    /// Through a pointer.
    Via(NodeId, Box<[Move]>),
}

/// What a node's addresses are used for.
#[derive(Clone, Debug)]
pub(crate) enum Use {
    Load {
        path: Box<[Move]>,
        size: i64,
        to: NodeId,
    },
    Store {
        path: Box<[Move]>,
        size: i64,
        from: NodeId,
    },
    /// Any of the bytes.
    StoreSpan {
        path: Box<[Move]>,
        size: Option<i64>,
        from: NodeId,
    },
    Move {
        path: Box<[Move]>,
        to: NodeId,
    },
    /// The result of arithmetic that is not followed: anywhere in the object.
    Blur(NodeId),
    /// One end of a copy.
    Copy(u32),
    /// They become known to code outside.
    Escape,
    /// The callee of a call.
    Call(u32),
}

#[derive(Debug)]
pub(super) struct Copying {
    pub(super) to: Place,
    pub(super) from: Place,
    pub(super) size: Option<i64>,
    /// Everything, when there are too many pairs of ends.
    pub(super) all: Option<NodeId>,
}

#[derive(Debug, Default)]
struct Node {
    set: Set,
    /// What has gone to the successors.
    sent: Set,
    successors: Vec<NodeId>,
    uses: Vec<u32>,
    /// What the uses have not seen.
    pending: Set,
    /// Place in the order of propagation: predecessors first, as far as it is known.
    rank: u32,
    /// Waits for propagation.
    waits: bool,
}

/// What the constraints found that only the program can answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The call may call this.
    Callee(u32, AddressId),
    /// The function is known to code outside.
    EscapedFunction(ObjectId),
}

/// The constraint system.
#[derive(Debug)]
pub(crate) struct Solver {
    /// Bytes of a pointer.
    pub(crate) width: i64,
    pub(crate) objects: Vec<ObjectState>,
    ids: FxHashMap<Thing, ObjectId>,
    pub(super) addresses: Vec<Address>,
    address_ids: FxHashMap<Address, AddressId>,
    nodes: Vec<Node>,
    leader: Vec<NodeId>,
    uses: Vec<Use>,
    pub(super) copies: Vec<Copying>,
    edges: FxHashSet<(NodeId, NodeId)>,
    pub(super) spans_in: FxHashMap<(Address, i64), NodeId>,
    pub(super) spans_out: FxHashMap<(Address, i64), NodeId>,
    pub(super) copied: FxHashSet<(Address, Address, Option<i64>)>,
    pub(super) new_cells: Vec<NewCell>,
    pub(crate) events: Vec<Event>,
    /// Holds the address of external memory.
    pub(crate) outside: NodeId,
    /// What becomes known to code outside.
    pub(crate) escape: NodeId,
    /// Addresses in what has escaped: where `OUTSIDE` is, they add nothing.
    pub(super) implied: Set,
    /// Nodes whose set has grown, by rank.
    waiting: BinaryHeap<Reverse<(u32, NodeId)>>,
    /// Nodes with pending addresses.
    pending: BTreeSet<NodeId>,
    /// Number of edges when cycles were last looked for.
    collapsed: usize,
}

/// The address of external memory, the first one.
const OUTSIDE: AddressId = AddressId(0);

impl Solver {
    pub(crate) fn new(width: i64) -> Solver {
        let mut solver = Solver {
            width,
            objects: Vec::new(),
            ids: FxHashMap::default(),
            addresses: Vec::new(),
            address_ids: FxHashMap::default(),
            nodes: Vec::new(),
            leader: Vec::new(),
            uses: Vec::new(),
            copies: Vec::new(),
            edges: FxHashSet::default(),
            spans_in: FxHashMap::default(),
            spans_out: FxHashMap::default(),
            copied: FxHashSet::default(),
            new_cells: Vec::new(),
            events: Vec::new(),
            outside: NodeId(0),
            escape: NodeId(0),
            implied: Set::default(),
            waiting: BinaryHeap::new(),
            pending: BTreeSet::new(),
            collapsed: 0,
        };
        solver.object(Thing::Memory(proofline_cfa::Object::External), || (Shape::default(), false));
        solver.outside = solver.address_node(Address::of(EXTERNAL));
        solver.escape = solver.node();
        solver.attach(solver.escape, Use::Escape);
        solver
    }

    /// The object of a thing; `describe` says its shape and whether it is constant, when it is new.
    pub(crate) fn object(&mut self, thing: Thing, describe: impl FnOnce() -> (Shape, bool)) -> ObjectId {
        if let Some(id) = self.ids.get(&thing) {
            return *id;
        }
        let id = ObjectId(self.objects.len() as u32);
        let (shape, constant) = describe();
        self.objects.push(ObjectState {
            thing,
            shape,
            constant,
            escaped: id == EXTERNAL,
            cells: Default::default(),
            watchers: Vec::new(),
            addresses: Vec::new(),
        });
        self.ids.insert(thing, id);
        id
    }

    pub(crate) fn known(&self, thing: Thing) -> Option<ObjectId> {
        self.ids.get(&thing).copied()
    }

    pub(crate) fn state(&self, object: ObjectId) -> &ObjectState {
        &self.objects[object.index()]
    }

    pub(crate) fn address(&self, id: AddressId) -> Address {
        self.addresses[id.index()]
    }

    /// Whether an address is one in memory that has contents here.
    pub(crate) fn has_contents(&self, object: ObjectId) -> bool {
        object != EXTERNAL && matches!(self.state(object).thing, Thing::Memory(_))
    }

    pub(crate) fn node(&mut self) -> NodeId {
        interrupt::poll();
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node::default());
        self.leader.push(id);
        id
    }

    /// A node that holds one address.
    pub(crate) fn address_node(&mut self, address: Address) -> NodeId {
        let node = self.node();
        let id = self.intern(address);
        self.add(node, id);
        node
    }

    fn intern(&mut self, address: Address) -> AddressId {
        let address = if self.has_contents(address.object) { address } else { Address::of(address.object) };
        if let Some(id) = self.address_ids.get(&address) {
            return *id;
        }
        if self.state(address.object).addresses.len() >= ADDRESSES_PER_OBJECT {
            let anywhere = Address::anywhere(address.object);
            if anywhere != address {
                let id = self.intern(anywhere);
                self.address_ids.insert(address, id);
                return id;
            }
        }
        let id = AddressId(self.addresses.len() as u32);
        self.addresses.push(address);
        self.address_ids.insert(address, id);
        let state = &mut self.objects[address.object.index()];
        state.addresses.push(id);
        if state.escaped && address.object != EXTERNAL && state.thing != Thing::Memory(left()) {
            self.implied.insert(id.0);
        }
        id
    }

    pub(crate) fn leader(&self, node: NodeId) -> NodeId {
        let mut at = node;
        while self.leader[at.index()] != at {
            at = self.leader[at.index()];
        }
        at
    }

    /// The solution.
    pub(crate) fn set(&self, node: NodeId) -> &Set {
        &self.nodes[self.leader(node).index()].set
    }

    fn add(&mut self, node: NodeId, address: AddressId) {
        let node = self.leader(node);
        if self.nodes[node.index()].set.insert(address.0) {
            self.wait(node);
        }
    }

    fn wait(&mut self, node: NodeId) {
        let state = &mut self.nodes[node.index()];
        if !std::mem::replace(&mut state.waits, true) {
            self.waiting.push(Reverse((state.rank, node)));
        }
    }

    /// `from ⊆ to`
    pub(crate) fn flow(&mut self, from: NodeId, to: NodeId) {
        let (from, to) = (self.leader(from), self.leader(to));
        if from == to || !self.edges.insert((from, to)) {
            return;
        }
        self.nodes[from.index()].successors.push(to);
        let set = std::mem::take(&mut self.nodes[from.index()].set);
        if self.nodes[to.index()].set.extend(&set) {
            self.wait(to);
        }
        self.nodes[from.index()].set = set;
    }

    pub(crate) fn attach(&mut self, node: NodeId, what: Use) {
        let id = self.uses.len() as u32;
        self.uses.push(what);
        let node = self.leader(node);
        let state = &mut self.nodes[node.index()];
        state.uses.push(id);
        if state.pending.extend(&state.set) {
            self.pending.insert(node);
        }
    }

    /// Propagates what is there and applies the uses once; whether there was anything to do. Leaves the events to be answered.
    pub(crate) fn step(&mut self) -> bool {
        self.connect_cells();
        if self.waiting.is_empty() && self.pending.is_empty() {
            return false;
        }
        if self.edges.len() > self.collapsed + self.collapsed / 4 {
            self.collapse();
        }
        self.propagate();
        self.use_pending();
        true
    }

    fn propagate(&mut self) {
        while let Some(Reverse((_, node))) = self.waiting.pop() {
            let state = &mut self.nodes[node.index()];
            if !std::mem::take(&mut state.waits) || self.leader[node.index()] != node {
                continue;
            }
            interrupt::poll();
            if state.set.contains(OUTSIDE.0) {
                state.set.remove(&self.implied);
                state.sent.remove(&self.implied);
                state.pending.remove(&self.implied);
            }
            let new = state.set.without(&state.sent);
            if new.is_empty() {
                continue;
            }
            state.sent.extend(&new);
            if !state.uses.is_empty() {
                state.pending.extend(&new);
                self.pending.insert(node);
            }
            let successors = std::mem::take(&mut state.successors);
            for &to in &successors {
                let to = self.leader(to);
                if to != node && self.nodes[to.index()].set.extend(&new) {
                    self.wait(to);
                }
            }
            self.nodes[node.index()].successors = successors;
        }
    }

    /// Makes one node of every cycle and ranks them, predecessors first.
    fn collapse(&mut self) {
        self.collapsed = self.edges.len();
        let targets: Vec<Vec<u32>> = (0..self.nodes.len())
            .map(|at| self.nodes[at].successors.iter().map(|to| self.leader(*to).0).collect())
            .collect();
        let components = strong_components(&targets);
        let count = components.len() as u32;
        for (index, members) in components.iter().enumerate() {
            let leader = NodeId(members[0]);
            self.nodes[leader.index()].rank = count - index as u32;
            if members.len() > 1 {
                self.unite(leader, &members[1..]);
            }
        }
        // By the new ranks.
        let waiting = std::mem::take(&mut self.waiting);
        for Reverse((_, node)) in waiting.into_sorted_vec() {
            if self.leader[node.index()] == node {
                self.nodes[node.index()].waits = false;
                self.wait(node);
            }
        }
    }

    fn unite(&mut self, leader: NodeId, members: &[u32]) {
        for &member in members {
            let taken = std::mem::take(&mut self.nodes[member as usize]);
            self.leader[member as usize] = leader;
            let node = &mut self.nodes[leader.index()];
            node.set.extend(&taken.set);
            node.sent = node.sent.intersection(&taken.sent);
            node.successors.extend(taken.successors);
            node.uses.extend(taken.uses);
            node.pending.extend(&taken.pending);
            if self.pending.remove(&NodeId(member)) {
                self.pending.insert(leader);
            }
        }
        let mut successors = std::mem::take(&mut self.nodes[leader.index()].successors);
        for to in &mut successors {
            *to = self.leader(*to);
        }
        successors.sort_unstable();
        successors.dedup();
        successors.retain(|to| *to != leader);
        self.nodes[leader.index()].successors = successors;
        self.nodes[leader.index()].waits = false;
        self.wait(leader);
    }

    fn use_pending(&mut self) {
        for node in std::mem::take(&mut self.pending) {
            let at = node.index();
            let pending = std::mem::take(&mut self.nodes[at].pending);
            for index in 0..self.nodes[at].uses.len() {
                let what = self.uses[self.nodes[at].uses[index] as usize].clone();
                if let Use::Copy(copy) = what {
                    self.use_copy(copy);
                    continue;
                }
                for id in pending.iter() {
                    interrupt::poll();
                    self.use_address(&what, AddressId(id));
                }
            }
        }
    }

    fn use_address(&mut self, what: &Use, id: AddressId) {
        let address = self.address(id);
        match what {
            Use::Load { path, size, to } => {
                let at = self.follow(address, path);
                for node in self.read(at, *size) {
                    self.flow(node, *to);
                }
            }
            Use::Store { path, size, from } => {
                let at = self.follow(address, path);
                for node in self.written(at, *size) {
                    self.flow(*from, node);
                }
            }
            Use::StoreSpan { path, size, from } => {
                let at = self.follow(address, path);
                self.write_span(at, *size, *from);
            }
            Use::Move { path, to } => {
                let at = self.follow(address, path);
                let id = self.intern(at);
                self.add(*to, id);
            }
            Use::Blur(to) => {
                let id = self.intern(Address::anywhere(address.object));
                self.add(*to, id);
            }
            Use::Copy(copy) => self.use_copy(*copy),
            Use::Escape => self.escaped(address.object),
            Use::Call(call) => self.events.push(Event::Callee(*call, id)),
        }
    }
}
