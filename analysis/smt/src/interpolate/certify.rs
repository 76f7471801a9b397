//! The definition of tree interpolants, checked by the solver. Nothing leaves `interpolate` without passing here.

use super::vocabulary::Vocabulary;
use super::{Failure, Tree};
use crate::build::{and, not};
use crate::solver::{Limits, Outcome, Solver};
use crate::term::{Term, has_quantifier};
use crate::z3::Z3;

/// Checks that `found` (one formula per node) is `false` at the root; that at every node the children's formulas and
/// the label imply the node's formula; that no formula has a quantifier, or a symbol that does not occur both inside
/// and outside of its subtree.
pub(super) fn certify(z3: &Z3, tree: &Tree, found: &[Term], limits: Limits) -> Result<(), Failure> {
    let reject = |node: usize, what: String| Err(Failure::NotCertified { node: node as u32, what });
    let vocabularies = Vocabulary::of_cuts(tree);
    match found.last() {
        Some(root) if root.is_false() && found.len() == tree.nodes().count() => {}
        _ => return reject(found.len(), "the root is not false".into()),
    }
    for (i, formula) in found.iter().enumerate() {
        if has_quantifier(*formula) {
            return reject(i, "a quantifier".into());
        }
        if let Some(symbol) = vocabularies[i].foreign(*formula) {
            return reject(i, format!("{symbol} is not common"));
        }
    }
    let mut solver = z3.solver();
    solver.set_limits(limits);
    for node in tree.nodes() {
        let below = tree.children(node).iter().map(|c| found[c.index()]);
        let claim = and(below.chain([tree.label(node), not(found[node.index()])]));
        solver.push();
        solver.assert(claim);
        let outcome = solver.check();
        solver.pop();
        match outcome {
            Outcome::Unsat => {}
            Outcome::Sat => return reject(node.index(), "not inductive".into()),
            Outcome::Unknown(reason) => return Err(Failure::Unknown(reason)),
        }
    }
    Ok(())
}
