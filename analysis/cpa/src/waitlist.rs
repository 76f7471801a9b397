//! Nodes that wait to be explored, in a chosen order. Deterministic: ties are broken by the order of arrival. Knows
//! nothing of states.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::arg::NodeId;

/// The order in which abstract states are explored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub enum Order {
    /// First come, first explored.
    Bfs,
    /// Last come, first explored.
    Dfs,
    /// By the position of the location in its function's reverse postorder: states are merged before they are explored.
    ReversePostorder,
    /// Deepest call stack first, then reverse postorder: calls are finished before what follows them.
    #[default]
    CallstackFirst,
}

impl Order {
    /// Every order.
    pub const ALL: [Order; 4] = [Order::Bfs, Order::Dfs, Order::ReversePostorder, Order::CallstackFirst];
}

/// The smallest rank is explored first.
type Rank = (u64, u64, u64);

/// The nodes that wait.
#[derive(Clone, Debug)]
pub(crate) struct Waitlist {
    order: Order,
    queue: BTreeMap<Rank, NodeId>,
    ranks: FxHashMap<NodeId, Rank>,
    arrivals: u64,
}

impl Waitlist {
    /// Whether it is empty.
    pub(crate) fn new(order: Order) -> Waitlist {
        Waitlist { order, queue: BTreeMap::new(), ranks: FxHashMap::default(), arrivals: 0 }
    }

    /// Adds a node; one that already waits keeps its place. `depth` counts open calls, `position` is the location's in
    /// reverse postorder.
    pub(crate) fn push(&mut self, node: NodeId, depth: u32, position: u32) {
        if self.ranks.contains_key(&node) {
            return;
        }
        self.arrivals += 1;
        let (arrival, depth, position) = (self.arrivals, u64::from(depth), u64::from(position));
        let rank = match self.order {
            Order::Bfs => (0, 0, arrival),
            Order::Dfs => (0, 0, u64::MAX - arrival),
            Order::ReversePostorder => (0, position, arrival),
            Order::CallstackFirst => (u64::MAX - depth, position, arrival),
        };
        self.queue.insert(rank, node);
        self.ranks.insert(node, rank);
    }

    /// Adds a node, or moves it, before all others: exploring it was begun and has to go on.
    pub(crate) fn push_front(&mut self, node: NodeId) {
        self.remove(node);
        // Arrivals are counted from 1, so this is before everything else; one node at a time is being explored.
        let front = (0, 0, 0);
        if let Some(other) = self.queue.insert(front, node) {
            self.ranks.remove(&other);
            self.push(other, 0, 0);
        }
        self.ranks.insert(node, front);
    }

    /// Takes the next node.
    pub(crate) fn pop(&mut self) -> Option<NodeId> {
        let (_, node) = self.queue.pop_first()?;
        self.ranks.remove(&node);
        Some(node)
    }

    /// Takes a node out.
    pub(crate) fn remove(&mut self, node: NodeId) {
        if let Some(rank) = self.ranks.remove(&node) {
            self.queue.remove(&rank);
        }
    }

    /// The waiting nodes, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = NodeId> {
        self.queue.values().copied()
    }
}
