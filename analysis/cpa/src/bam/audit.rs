//! Whether an abstraction that would be found is the one that computing it gives: for tests, which have everything computed and compared
//! with what is remembered. Knows no strategy.

use crate::{
    arg::{ArgEdge, Node, NodeId, Parent},
    bam::{Dependency, KeyOf, Stable},
    cpa::Cpa,
    exploration::Exploration,
};

/// The first thing in which two abstractions for one key differ, clocks apart.
pub fn difference<A: Cpa>(old: &Stable<A>, new: &Stable<A>) -> Option<String> {
    let says = |what: &str| Some(what.to_owned());
    if old.len() != new.len() {
        return says("the number of members");
    }
    if old.cost() != new.cost() {
        return Some(format!("the cost: {} and {}", old.cost(), new.cost()));
    }
    let asks = |one: &[Dependency<KeyOf<A>>]| -> Vec<_> {
        one.iter().map(|asked| (asked.key.clone(), asked.answer)).collect()
    };
    if asks(old.dependencies()) != asks(new.dependencies()) {
        return says("what was asked for");
    }
    for index in 0..old.len() {
        let ((old_key, old), (new_key, new)) = (old.member(index), new.member(index));
        if old_key != new_key {
            return Some(format!("the key of member {index}"));
        }
        if let Some(what) = differs(old, new) {
            return Some(format!("in member {index}, {what}"));
        }
    }
    None
}

fn differs<A: Cpa>(old: &Exploration<A>, new: &Exploration<A>) -> Option<String> {
    if old.block != new.block {
        return Some("the block".to_owned());
    }
    let nodes = |one: &Exploration<A>| one.arg.nodes().count();
    if nodes(old) != nodes(new) {
        return Some(format!("the number of nodes: {} and {}", nodes(old), nodes(new)));
    }
    for ((at, before), (other, after)) in old.arg.nodes().zip(new.arg.nodes()) {
        let precision =
            |one: &Exploration<A>, node: &Node<A::State>| one.arg.precision(node.precision).clone();
        let checks = [
            ("the name", at == other),
            ("the place", before.point == after.point),
            ("the state", before.state == after.state),
            ("the precision", precision(old, before) == precision(new, after)),
            ("the cover", before.covered_by == after.covered_by),
            ("the target", before.target == after.target),
            ("the parents", shapes(&before.parents) == shapes(&after.parents)),
        ];
        if let Some((what, _)) = checks.iter().find(|(_, is_same)| !is_same) {
            return Some(format!("{what} of node {at} at {:?}", before.point));
        }
    }
    let exits = |one: &Exploration<A>| one.exits().cloned().collect::<Vec<_>>();
    if exits(old) != exits(new) {
        return Some("the exits".to_owned());
    }
    let reads = |one: &Exploration<A>| {
        one.reads().map(|(id, read)| (id, read.call, read.entered.clone())).collect::<Vec<_>>()
    };
    if reads(old) != reads(new) || old.reads().zip(new.reads()).any(|((_, a), (_, b))| a.block != b.block) {
        return Some("what is read".to_owned());
    }
    (old.unsupported != new.unsupported).then(|| "what is not supported".to_owned())
}

fn shapes(parents: &[Parent]) -> Vec<(NodeId, ArgEdge)> {
    parents.iter().map(|parent| (parent.from, parent.via)).collect()
}
