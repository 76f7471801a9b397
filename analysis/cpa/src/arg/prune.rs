//! Removing a part of the graph so that it can be explored again. Covering edges are not optional: what a removed state
//! covered is re-opened, or states would silently be missing ([BAM15]'s own algorithm is unsound there).

use std::{collections::BTreeSet, hash::Hash};

use super::{Arg, Node, NodeId, Open};

/// What `prune` did; the reached set and the waitlist must follow.
#[derive(Debug)]
pub struct Pruned<S> {
    /// Nodes that are gone, with what they were.
    pub removed: Vec<(NodeId, Box<Node<S>>)>,
    /// Parents that lost a child: to be explored again.
    pub reopened: BTreeSet<NodeId>,
    /// Nodes that lost a covering node: they are reached states now, and to be explored.
    pub uncovered: BTreeSet<NodeId>,
}

impl<S: Clone + Eq, P: Clone + Eq + Hash> Arg<S, P> {
    /// Removes `node` and everything below it. The root is never removed: it is reset to its first state.
    pub fn prune(&mut self, node: NodeId) -> Pruned<S> {
        let mut below = BTreeSet::new();
        let mut work = vec![node];
        while let Some(n) = work.pop() {
            if below.insert(n) {
                work.extend(&self.node(n).children);
            }
        }
        let mut pruned =
            Pruned { removed: Vec::new(), reopened: BTreeSet::new(), uncovered: BTreeSet::new() };
        if below.remove(&Self::ROOT) {
            // All its children are among `below`.
            let origin = self.origin.clone();
            let root = self.node_mut(Self::ROOT);
            root.state = origin;
            root.parents.clear();
            pruned.reopened.insert(Self::ROOT);
        }
        for &n in &below {
            let gone = self.nodes[n.index()].take().expect("only nodes that exist have children");
            pruned.removed.push((n, gone));
        }
        for (n, gone) in &pruned.removed {
            for parent in &gone.parents {
                if let Some(parent_node) = self.nodes[parent.from.index()].as_deref_mut() {
                    parent_node.children.retain(|c| c != n);
                    pruned.reopened.insert(parent.from);
                }
            }
            for covering in &gone.covered_by {
                if let Some(covering) = self.nodes[covering.index()].as_deref_mut() {
                    covering.covers.retain(|c| c != n);
                }
            }
            for &covered in &gone.covers {
                if self.nodes[covered.index()].is_some() {
                    pruned.uncovered.insert(covered);
                }
            }
        }
        for &n in &pruned.uncovered {
            let others = std::mem::take(&mut self.node_mut(n).covered_by);
            for other in others {
                if let Some(other) = self.nodes[other.index()].as_deref_mut() {
                    other.covers.retain(|c| *c != n);
                }
            }
        }
        for &n in pruned.reopened.iter().chain(&pruned.uncovered) {
            self.node_mut(n).open = Open::Full;
        }
        pruned
    }
}
