//! Substitution and renaming. Bound variables have names of their own (see `Var::is_bound`), so nothing is captured.

use std::collections::BTreeMap;

use super::walk::rewrite;
use super::{Op, Term, Var};
use crate::build;

/// What each variable is replaced by.
pub type Substitution = BTreeMap<Var, Term>;

/// Replaces variables simultaneously.
///
/// # Panics
/// If a replacement has another sort than its variable.
#[must_use]
pub fn substitute(term: Term, map: &Substitution) -> Term {
    if map.is_empty() {
        return term;
    }
    if let Some((var, by)) = map.iter().find(|(v, t)| v.sort != t.sort()) {
        panic!("{var} : {} cannot become a term of sort {}", var.sort, by.sort());
    }
    rewrite(term, |t, _| t.as_var().and_then(|v| map.get(&v).copied()))
}

/// Renames the free variables.
#[must_use]
pub fn rename(term: Term, mut to: impl FnMut(Var) -> Var) -> Term {
    rewrite(term, |t, _| match t.op() {
        Op::Var(v) if !v.is_bound() => Some(build::var(to(*v))),
        _ => None,
    })
}

/// Gives every variable without SSA index the index `index` says; variables that have one keep it.
#[must_use]
pub fn instantiate(term: Term, mut index: impl FnMut(Var) -> u32) -> Term {
    rename(term, |v| if v.index == 0 { v.at(index(v)) } else { v })
}

/// Takes every SSA index away.
#[must_use]
pub fn uninstantiate(term: Term) -> Term {
    rename(term, |v| v.at(0))
}

/// Renames bound variables: the only substitution that may touch them. Binders of the same variables inside hide them.
pub(crate) fn rebind(term: Term, map: &BTreeMap<Var, Var>) -> Term {
    let mut memo: rustc_hash::FxHashMap<Term, Term> = rustc_hash::FxHashMap::default();
    let mut stack = vec![(term, false)];
    while let Some((t, done)) = stack.pop() {
        if memo.contains_key(&t) {
            continue;
        }
        match t.op() {
            Op::Var(v) => {
                memo.insert(t, map.get(v).map_or(t, |v| Term::raw(Op::Var(*v), Vec::new())));
            }
            Op::Forall(bound) | Op::Exists(bound) if bound.iter().any(|v| map.contains_key(v)) => {
                let inner: BTreeMap<Var, Var> =
                    map.iter().filter(|(v, _)| !bound.contains(v)).map(|(v, w)| (*v, *w)).collect();
                let body = if inner.is_empty() { t.args()[0] } else { rebind(t.args()[0], &inner) };
                memo.insert(t, super::walk::rebuild(t, &[body]));
            }
            _ if done => {
                let args: Vec<Term> = t.args().iter().map(|a| memo[a]).collect();
                memo.insert(t, super::walk::rebuild(t, &args));
            }
            _ => {
                stack.push((t, true));
                stack.extend(t.args().iter().map(|a| (*a, false)));
            }
        }
    }
    memo[&term]
}
