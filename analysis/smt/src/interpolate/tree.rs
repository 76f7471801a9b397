//! What is interpolated: a tree of formulas whose conjunction is unsatisfiable. A sequence is a tree without branches.

use std::collections::BTreeSet;

use crate::build::and;
use crate::term::Term;

/// A node, by position. Children stand before their parents; the last node is the root.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A tree of formulas. The order of nodes is the order of the path they came from: of two children of one node, the
/// one with the smaller index came first (the caller before the callee it calls).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    labels: Vec<Term>,
    parents: Vec<Option<NodeId>>,
    children: Vec<Vec<NodeId>>,
}

impl Tree {
    /// The tree with these labels and parents.
    ///
    /// # Panics
    /// If a parent does not stand after its child, or a node other than the last has none.
    #[must_use]
    pub fn new(nodes: Vec<(Term, Option<NodeId>)>) -> Tree {
        let mut children = vec![Vec::new(); nodes.len()];
        for (i, (_, parent)) in nodes.iter().enumerate() {
            match parent {
                Some(p) => {
                    assert!(p.index() > i && p.index() < nodes.len(), "a parent stands after its children");
                    children[p.index()].push(NodeId(u32::try_from(i).expect("fewer than 2^32 nodes")));
                }
                None => assert_eq!(i + 1, nodes.len(), "the last node is the only root"),
            }
        }
        let (labels, parents) = nodes.into_iter().unzip();
        Tree { labels, parents, children }
    }

    /// The sequence of these formulas: node `k` is the only child of node `k + 1`.
    #[must_use]
    pub fn sequence(labels: Vec<Term>) -> Tree {
        let last = labels.len().saturating_sub(1);
        let parent =
            |i: usize| (i < last).then(|| NodeId(u32::try_from(i + 1).expect("fewer than 2^32 nodes")));
        Tree::new(labels.into_iter().enumerate().map(|(i, l)| (l, parent(i))).collect())
    }

    /// The nodes, children before parents.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.labels.len()).expect("fewer than 2^32 nodes")).map(NodeId)
    }

    /// The formula at a node.
    #[must_use]
    pub fn label(&self, node: NodeId) -> Term {
        self.labels[node.index()]
    }

    /// The children of a node, in order.
    #[must_use]
    pub fn children(&self, node: NodeId) -> &[NodeId] {
        &self.children[node.index()]
    }

    /// The parent of a node.
    #[must_use]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.parents[node.index()]
    }

    /// The same tree with other labels.
    pub(crate) fn relabelled(&self, labels: Vec<Term>) -> Tree {
        Tree { labels, ..self.clone() }
    }

    /// The nodes of the subtree of `node`.
    pub(crate) fn subtree(&self, node: NodeId) -> BTreeSet<NodeId> {
        let mut all = BTreeSet::new();
        let mut stack = vec![node];
        while let Some(n) = stack.pop() {
            all.insert(n);
            stack.extend(self.children(n));
        }
        all
    }

    /// The conjunction of the labels below and at `node`.
    pub(crate) fn formula(&self, node: NodeId) -> Term {
        and(self.subtree(node).into_iter().map(|n| self.label(n)))
    }

    /// Nodes in post-order, of several children the last first: a callee before the caller that it returns to.
    pub(crate) fn callee_first(&self) -> Vec<NodeId> {
        let Some(root) = self.nodes().next_back() else { return Vec::new() };
        let mut out = Vec::new();
        let mut stack = vec![(root, false)];
        while let Some((n, done)) = stack.pop() {
            if done {
                out.push(n);
            } else {
                stack.push((n, true));
                stack.extend(self.children(n).iter().map(|c| (*c, false)));
            }
        }
        out
    }
}
