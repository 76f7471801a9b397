//! Walks over terms as graphs: every shared node once, explicit stacks, so that neither sharing nor depth hurts.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::{Func, Op, Term, Var};

/// Every distinct subterm of `roots`, arguments before the terms that use them.
#[must_use]
pub fn postorder(roots: &[Term]) -> Vec<Term> {
    let mut seen: FxHashSet<Term> = FxHashSet::default();
    let mut order = Vec::new();
    let mut stack: Vec<(Term, bool)> = roots.iter().rev().map(|t| (*t, false)).collect();
    while let Some((term, done)) = stack.pop() {
        if done {
            order.push(term);
        } else if seen.insert(term) {
            stack.push((term, true));
            stack.extend(term.args().iter().rev().filter(|t| !seen.contains(t)).map(|t| (*t, false)));
        }
    }
    order
}

/// Distinct subterms, `term` included: its size as a graph.
#[must_use]
pub fn dag_size(term: Term) -> usize {
    postorder(&[term]).len()
}

/// The variables that occur free.
#[must_use]
pub fn free_vars(term: Term) -> BTreeSet<Var> {
    postorder(&[term]).into_iter().filter_map(Term::as_var).filter(|v| !v.is_bound()).collect()
}

/// The uninterpreted functions that occur.
#[must_use]
pub fn free_functions(term: Term) -> BTreeSet<Func> {
    postorder(&[term])
        .into_iter()
        .filter_map(|t| match t.op() {
            Op::Apply(f) => Some(*f),
            _ => None,
        })
        .collect()
}

/// Whether a quantifier occurs.
#[must_use]
pub fn has_quantifier(term: Term) -> bool {
    term.binders() > 0
}
