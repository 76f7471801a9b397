//! Substitution and renaming. Bound variables have names of their own (see `Var::is_bound`), so nothing is captured.

use std::collections::BTreeMap;

use super::rewrite;
use crate::build;
use crate::term::{Op, Term, Var};

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

/// Renames the free variables; `to` may give a variable another sort only where the result stays well-sorted.
///
/// # Panics
/// If the result is ill-sorted.
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
