//! The reached set: which nodes of the graph stand for reached states, by place and partition. Merge and stop look only at
//! candidates. Covered nodes are not in it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::arg::{NodeId, ProgramPoint};

/// Reached nodes by place, then by the analysis' partition key, in order of arrival.
#[derive(Clone, Default, Debug)]
pub(crate) struct Reached {
    // For lookup only; nothing iterates over it.
    places: FxHashMap<ProgramPoint, BTreeMap<u64, Vec<NodeId>>>,
}

impl Reached {
    /// Adds a node.
    pub(crate) fn insert(&mut self, point: ProgramPoint, partition: u64, node: NodeId) {
        let nodes = self.places.entry(point).or_default().entry(partition).or_default();
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }

    /// Takes a node out.
    pub(crate) fn remove(&mut self, point: ProgramPoint, partition: u64, node: NodeId) {
        let Some(partitions) = self.places.get_mut(&point) else { return };
        if let Some(nodes) = partitions.get_mut(&partition) {
            nodes.retain(|&n| n != node);
            if nodes.is_empty() {
                partitions.remove(&partition);
            }
        }
        if partitions.is_empty() {
            self.places.remove(&point);
        }
    }

    /// Nodes that a state of this partition may merge with or be covered by.
    pub(crate) fn candidates(&self, point: ProgramPoint, partition: u64) -> &[NodeId] {
        self.places.get(&point).and_then(|p| p.get(&partition)).map_or(&[], Vec::as_slice)
    }

    /// All nodes at a place.
    pub(crate) fn at(&self, point: ProgramPoint) -> impl Iterator<Item = NodeId> {
        self.places.get(&point).into_iter().flat_map(|p| p.values().flatten().copied())
    }
}
