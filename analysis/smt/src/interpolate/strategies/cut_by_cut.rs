//! One cut at a time, each with the formulas of the cuts before it: what `tree-binary` and `nested` have in common.

use super::super::{Failure, Method, NodeId, Options, Tree};
use crate::build::{and, bool};
use crate::term::Term;
use crate::z3::Z3;

/// Visits the nodes in `order` (children before parents). Each formula lies between what is below the node and all
/// the rest, in both of which subtrees already visited are replaced by their formulas: so the parts always fit.
pub(super) fn in_order(
    z3: &Z3,
    tree: &Tree,
    order: Vec<NodeId>,
    method: Method,
    options: Options,
) -> Result<Vec<Term>, Failure> {
    let mut found: Vec<Option<Term>> = vec![None; order.len()];
    // Visited nodes whose parent is not.
    let mut frontier: Vec<NodeId> = Vec::new();
    for node in order {
        let below = tree.children(node).iter().filter_map(|c| found[c.index()]);
        let a = and(below.chain([tree.label(node)]));
        frontier.retain(|f| !tree.children(node).contains(f));
        let open = tree.nodes().filter(|n| *n != node && found[n.index()].is_none()).map(|n| tree.label(n));
        let b = and(frontier.iter().filter_map(|f| found[f.index()]).chain(open));
        found[node.index()] = Some(match tree.parent(node) {
            None => bool(false),
            Some(_) => method.between(z3, a, b, options)?,
        });
        frontier.push(node);
    }
    Ok(found.into_iter().map(|t| t.unwrap_or_else(|| bool(false))).collect())
}
