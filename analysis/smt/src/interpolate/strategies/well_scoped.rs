//! Strategy `well-scoped`: every cut for itself, from the original formulas, a subtree against the rest. Formulas computed independently
//! need not fit together at a node with several children, so the result may fail to be a tree interpolant.

use super::super::{Failure, Method, Options, Tree};
use crate::build::{and, bool};
use crate::term::Term;
use crate::z3::Z3;

pub(super) fn formulas(z3: &Z3, tree: &Tree, method: Method, options: Options) -> Result<Vec<Term>, Failure> {
    tree.nodes()
        .map(|node| {
            if tree.parent(node).is_none() {
                return Ok(bool(false));
            }
            let inside = tree.subtree(node);
            let outside = and(tree.nodes().filter(|n| !inside.contains(n)).map(|n| tree.label(n)));
            method.between(z3, tree.formula(node), outside, options)
        })
        .collect()
}
