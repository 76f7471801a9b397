//! Walks over terms as graphs: every shared node once, explicit stacks, so that neither sharing nor depth hurts.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Func, Op, Term, Var};
use crate::build;

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

/// Distinct subterms.
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

/// Rebuilds `term` bottom-up: `visit(original, arguments already rewritten)` says what stands for each distinct
/// subterm; `None` rebuilds it with [`build::apply`]. The walk goes below quantifiers, whose bound variables are
/// ordinary variables to it.
pub fn rewrite(term: Term, mut visit: impl FnMut(Term, &[Term]) -> Option<Term>) -> Term {
    let mut memo: FxHashMap<Term, Term> = FxHashMap::default();
    let mut args: Vec<Term> = Vec::new();
    for t in postorder(&[term]) {
        args.clear();
        args.extend(t.args().iter().map(|a| memo[a]));
        let new = visit(t, &args).unwrap_or_else(|| rebuild(t, &args));
        memo.insert(t, new);
    }
    memo[&term]
}

/// `term` with other arguments, normalised; itself if nothing changed.
pub(crate) fn rebuild(term: Term, args: &[Term]) -> Term {
    if term.args() == args { term } else { build::apply(term.op(), args) }
}
