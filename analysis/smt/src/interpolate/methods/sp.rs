//! Method `sp`: strongest postconditions from the leaves to the root.

use super::super::vocabulary::Vocabulary;
use super::super::{Failure, NodeId, Options, Tree};
use crate::build::{and, bool};
use crate::project::project;
use crate::term::Term;
use crate::z3::Z3;

pub(super) fn whole(z3: &Z3, tree: &Tree, options: Options) -> Result<Vec<Term>, Failure> {
    let words = Vocabulary::of_cuts(tree);
    let mut found: Vec<Term> = Vec::new();
    for node in tree.nodes() {
        found.push(match tree.parent(node) {
            None => bool(false),
            Some(_) => strongest(z3, tree, node, &words, &|c: NodeId| found[c.index()], options)?,
        });
    }
    Ok(found)
}

/// What is known after `node`, over the symbols of its cut, where `below` is known of its children.
pub(super) fn strongest(
    z3: &Z3,
    tree: &Tree,
    node: NodeId,
    words: &[Vocabulary],
    below: &dyn Fn(NodeId) -> Term,
    options: Options,
) -> Result<Term, Failure> {
    let all = and(tree.children(node).iter().map(|c| below(*c)).chain([tree.label(node)]));
    Ok(project(z3, all, &words[node.index()].vars(), options.projecting())?)
}
