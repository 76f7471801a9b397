//! Quantifiers: which variables a body binds, and the names that they get.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::{apply, check};
use crate::term::{Op, Term, Var, constants, postorder};

/// For all values of `vars`. Bound variables get names of their own, so renaming free variables cannot capture.
#[must_use]
pub fn forall(vars: &[Var], body: Term) -> Term {
    bind(vars, body, Op::Forall)
}

/// For some values of `vars`.
#[must_use]
pub fn exists(vars: &[Var], body: Term) -> Term {
    bind(vars, body, Op::Exists)
}

fn bind(vars: &[Var], body: Term, quantifier: fn(Box<[Var]>) -> Op) -> Term {
    check(&Op::Not, &[body]);
    let occurring: BTreeSet<Var> = postorder(&[body]).into_iter().filter_map(Term::as_var).collect();
    let used: Vec<Var> = vars.iter().copied().filter(|v| occurring.contains(v)).collect();
    if used.is_empty() {
        return body;
    }
    let level = body.binders();
    let fresh: Vec<Var> = (level + 1..).zip(&used).map(|(i, v)| Var::bound(i, v.sort)).collect();
    let map = used.into_iter().zip(fresh.iter().copied()).collect();
    let body = rebind(body, &map);
    Term::raw(quantifier(fresh.into_boxed_slice()), vec![body])
}

/// Renames bound variables: the only substitution that may touch them. Binders of the same variables inside hide them.
fn rebind(term: Term, map: &BTreeMap<Var, Var>) -> Term {
    let mut memo: FxHashMap<Term, Term> = FxHashMap::default();
    let mut stack = vec![(term, false)];
    while let Some((t, done)) = stack.pop() {
        if memo.contains_key(&t) {
            continue;
        }
        match t.op() {
            Op::Var(v) => {
                memo.insert(t, map.get(v).map_or(t, |v| constants::var(*v)));
            }
            Op::Forall(bound) | Op::Exists(bound) if bound.iter().any(|v| map.contains_key(v)) => {
                let inner: BTreeMap<Var, Var> =
                    map.iter().filter(|(v, _)| !bound.contains(v)).map(|(v, w)| (*v, *w)).collect();
                let body = if inner.is_empty() { t.args()[0] } else { rebind(t.args()[0], &inner) };
                memo.insert(t, with_args(t, &[body]));
            }
            _ if done => {
                let args: Vec<Term> = t.args().iter().map(|a| memo[a]).collect();
                memo.insert(t, with_args(t, &args));
            }
            _ => {
                stack.push((t, true));
                stack.extend(t.args().iter().map(|a| (*a, false)));
            }
        }
    }
    memo[&term]
}

/// `term` with other arguments, normalised; itself if nothing changed.
pub(crate) fn with_args(term: Term, args: &[Term]) -> Term {
    if term.args() == args { term } else { apply(term.op(), args) }
}
