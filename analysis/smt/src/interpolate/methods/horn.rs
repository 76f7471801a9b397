//! Method `horn`: the tree of formulas is an acyclic set of Horn clauses, which Spacer solves; the solution is a tree interpolant.

use std::collections::BTreeSet;

use super::super::vocabulary::Vocabulary;
use super::super::{Failure, Options, Tree};
use crate::build::{bool, var};
use crate::horn::{self, Atom, HornOutcome, HornSystem, PredId};
use crate::solver::Reason;
use crate::term::{Sort, Term, Var, free_functions};
use crate::z3::Z3;

/// One predicate per node, over the common symbols of its cut.
pub(super) fn whole(z3: &Z3, tree: &Tree, options: Options) -> Result<Vec<Term>, Failure> {
    if tree.nodes().any(|n| !free_functions(tree.label(n)).is_empty()) {
        return Err(Failure::Unknown(Reason::Incomplete("Horn clauses with functions".into())));
    }
    let mut system = HornSystem::default();
    let vars: Vec<BTreeSet<Var>> = Vocabulary::of_cuts(tree).iter().map(Vocabulary::vars).collect();
    for node in tree.nodes() {
        let sorts: Vec<Sort> = vars[node.index()].iter().map(|v| v.sort).collect();
        system.predicate(&format!("I{}", node.0), &sorts);
    }
    let atom = |i: usize| Atom {
        predicate: PredId(u32::try_from(i).unwrap_or(u32::MAX)),
        args: vars[i].iter().map(|v| var(*v)).collect(),
    };
    for node in tree.nodes() {
        let body = tree.children(node).iter().map(|c| atom(c.index())).collect();
        system.rule(body, tree.label(node), tree.parent(node).map(|_| atom(node.index())));
    }
    match horn::solve(z3, &system, options.limits) {
        HornOutcome::Solved(solution) => Ok(tree
            .nodes()
            .map(|n| match tree.parent(n) {
                None => bool(false),
                Some(_) => solution.at(PredId(n.0), &atom(n.index()).args),
            })
            .collect()),
        HornOutcome::Refuted(_) => Err(Failure::Feasible),
        HornOutcome::Unknown(reason) => Err(Failure::Unknown(reason)),
    }
}
