//! Method `wp`: weakest preconditions from the root to the leaves.

use super::super::vocabulary::Vocabulary;
use super::super::{Failure, NodeId, Options, Tree};
use super::sp::strongest;
use crate::build::{and, bool, not};
use crate::project::project;
use crate::solver::Reason;
use crate::term::Term;
use crate::z3::Z3;

/// Of several children, the one that came first on the path is computed against the whole formulas of the others, the later ones against
/// its result. Where the elimination fails (typically before an unknown value over bit vectors), the strongest postconditions of that
/// subtree take over: they imply what the weakest precondition would have been, so the result stays inductive.
pub(super) fn whole(z3: &Z3, tree: &Tree, options: Options) -> Result<Vec<Term>, Failure> {
    let words = Vocabulary::of_cuts(tree);
    let mut found: Vec<Option<Term>> = vec![None; tree.nodes().count()];
    if let Some(root) = found.last_mut() {
        *root = Some(bool(false));
    }
    for node in tree.nodes().rev() {
        let goal = found[node.index()].unwrap_or_else(|| bool(false));
        for child in tree.children(node) {
            if found[child.index()].is_some() {
                continue;
            }
            let mut parts = vec![tree.label(node), not(goal)];
            for other in tree.children(node).iter().filter(|o| *o != child) {
                parts.push(found[other.index()].unwrap_or_else(|| tree.formula(*other)));
            }
            match project(z3, and(parts), &words[child.index()].vars(), options.projecting()) {
                Ok(reaches) => found[child.index()] = Some(not(reaches)),
                Err(why @ (Reason::Interrupted | Reason::Memory | Reason::Stopped)) => {
                    return Err(Failure::Unknown(why));
                }
                Err(Reason::Limit | Reason::Incomplete(_) | Reason::Failed(_)) => {
                    for inner in tree.subtree(*child) {
                        let known = |c: NodeId| found[c.index()].unwrap_or_else(|| bool(true));
                        let formula = strongest(z3, tree, inner, &words, &known, options)?;
                        found[inner.index()] = Some(formula);
                    }
                }
            }
        }
    }
    Ok(found.into_iter().map(|t| t.unwrap_or_else(|| bool(false))).collect())
}
