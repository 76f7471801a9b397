//! Strategy `tree`: one sweep, or one query, over the whole tree.

use std::collections::BTreeSet;

use super::tree::Vocabulary;
use super::{Failure, Method, NodeId, Options, Tree, cuts, farkas};
use crate::build::{and, bool, not, var};
use crate::horn::{self, Atom, HornOutcome, HornSystem, PredId};
use crate::project::{ProjectOptions, project};
use crate::solver::Reason;
use crate::term::{Sort, Term, Var, free_functions};
use crate::z3::Z3;

pub(super) fn whole(z3: &Z3, tree: &Tree, method: Method, options: Options) -> Result<Vec<Term>, Failure> {
    let vocabularies = tree.vocabularies();
    match method {
        Method::Sp => forwards(z3, tree, &vocabularies, options),
        Method::Wp => backwards(z3, tree, &vocabularies, options),
        Method::Horn => one_query(z3, tree, &vocabularies, options),
        Method::Farkas => farkas::farkas(z3, tree, options),
        // Model by model there is nothing that sees the whole tree: cut by cut, along the path.
        Method::Mbp => cuts::along(z3, tree, tree.nodes().collect(), method, options),
    }
}

fn quantifying(options: Options) -> ProjectOptions {
    ProjectOptions { limits: options.limits, models: options.models }
}

/// Strongest postconditions from the leaves to the root.
fn forwards(z3: &Z3, tree: &Tree, words: &[Vocabulary], options: Options) -> Result<Vec<Term>, Failure> {
    let mut found: Vec<Term> = Vec::new();
    for node in tree.nodes() {
        found.push(match tree.parent(node) {
            None => bool(false),
            Some(_) => strongest(z3, tree, node, words, &|c: NodeId| found[c.index()], options)?,
        });
    }
    Ok(found)
}

fn strongest(
    z3: &Z3,
    tree: &Tree,
    node: NodeId,
    words: &[Vocabulary],
    below: &dyn Fn(NodeId) -> Term,
    options: Options,
) -> Result<Term, Failure> {
    let all = and(tree.children(node).iter().map(|c| below(*c)).chain([tree.label(node)]));
    Ok(project(z3, all, &words[node.index()].vars(), quantifying(options))?)
}

/// Weakest preconditions from the root to the leaves. Of several children, the one that came first on the path is
/// computed against the whole formulas of the others, the later ones against its result. Where the elimination fails
/// (typically before an unknown value over bit vectors), the strongest postconditions of that subtree take over: they
/// imply what the weakest precondition would have been, so the result stays inductive.
fn backwards(z3: &Z3, tree: &Tree, words: &[Vocabulary], options: Options) -> Result<Vec<Term>, Failure> {
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
            match project(z3, and(parts), &words[child.index()].vars(), quantifying(options)) {
                Ok(reaches) => found[child.index()] = Some(not(reaches)),
                Err(Reason::Interrupted) => return Err(Failure::Unknown(Reason::Interrupted)),
                Err(Reason::Limit | Reason::Incomplete(_) | Reason::Failed(_)) => {
                    for inner in tree.subtree(*child) {
                        let known = |c: NodeId| found[c.index()].unwrap_or_else(|| bool(true));
                        let formula = strongest(z3, tree, inner, words, &known, options)?;
                        found[inner.index()] = Some(formula);
                    }
                }
            }
        }
    }
    Ok(found.into_iter().map(|t| t.unwrap_or_else(|| bool(false))).collect())
}

/// The tree as an acyclic Horn system: one predicate per node, over the common symbols of its cut.
fn one_query(z3: &Z3, tree: &Tree, words: &[Vocabulary], options: Options) -> Result<Vec<Term>, Failure> {
    if tree.nodes().any(|n| !free_functions(tree.label(n)).is_empty()) {
        return Err(Failure::Unknown(Reason::Incomplete("Horn clauses with functions".into())));
    }
    let mut system = HornSystem::default();
    let vars: Vec<BTreeSet<Var>> = words.iter().map(Vocabulary::vars).collect();
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
