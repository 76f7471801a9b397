//! The propositional skeleton of a formula: atoms, conjuncts, negation normal form.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::build;
use crate::term::{Op, Sort, Term};

/// The atoms of a formula: the maximal subformulas that are no connective. A formula inside an atom (the condition of
/// an arithmetic conditional) contributes its atoms too; what is below a quantifier does not.
#[must_use]
pub fn atoms(formula: Term) -> BTreeSet<Term> {
    let mut seen = FxHashSet::default();
    let mut stack = vec![formula];
    let mut found = BTreeSet::new();
    while let Some(t) = stack.pop() {
        if !seen.insert(t) {
            continue;
        }
        if t.sort() == Sort::Bool && !t.op().is_connective(t.args()) {
            found.insert(t);
        }
        if !matches!(t.op(), Op::Forall(_) | Op::Exists(_)) {
            stack.extend(t.args());
        }
    }
    found
}

/// The conjuncts of a formula, nested conjunctions opened.
#[must_use]
pub fn conjuncts(formula: Term) -> Vec<Term> {
    open(formula, true)
}

/// The disjuncts of a formula, nested disjunctions opened.
#[must_use]
pub fn disjuncts(formula: Term) -> Vec<Term> {
    open(formula, false)
}

fn open(formula: Term, conjunction: bool) -> Vec<Term> {
    let mut seen = FxHashSet::default();
    let mut out = Vec::new();
    let mut stack = vec![formula];
    while let Some(t) = stack.pop() {
        match t.op() {
            Op::And if conjunction => stack.extend(t.args().iter().rev()),
            Op::Or if !conjunction => stack.extend(t.args().iter().rev()),
            Op::Bool(b) if *b == conjunction => {}
            Op::Not => match (t.args()[0].op(), conjunction) {
                (Op::Or, true) | (Op::And, false) => {
                    stack.extend(t.args()[0].args().iter().rev().map(|a| build::not(*a)));
                }
                _ => {
                    if seen.insert(t) {
                        out.push(t);
                    }
                }
            },
            _ => {
                if seen.insert(t) {
                    out.push(t);
                }
            }
        }
    }
    out
}

/// Negation normal form: negations stand only before atoms; conditionals and equivalences between formulas are opened.
#[must_use]
pub fn nnf(formula: Term) -> Term {
    let mut memo: FxHashMap<(Term, bool), Term> = FxHashMap::default();
    let mut stack = vec![(formula, true, false)];
    while let Some((t, positive, ready)) = stack.pop() {
        if memo.contains_key(&(t, positive)) {
            continue;
        }
        if ready {
            let new = normal(t, positive, &memo);
            memo.insert((t, positive), new);
        } else {
            stack.push((t, positive, true));
            stack.extend(needed(t, positive).into_iter().map(|(t, p)| (t, p, false)));
        }
    }
    memo[&(formula, true)]
}

fn needed(t: Term, positive: bool) -> Vec<(Term, bool)> {
    let args = t.args();
    match t.op() {
        Op::Not => vec![(args[0], !positive)],
        Op::And | Op::Or | Op::Forall(_) | Op::Exists(_) => args.iter().map(|a| (*a, positive)).collect(),
        Op::Ite if t.sort() == Sort::Bool => {
            vec![(args[0], true), (args[0], false), (args[1], positive), (args[2], positive)]
        }
        Op::Eq if args[0].sort() == Sort::Bool => {
            vec![(args[0], true), (args[0], false), (args[1], true), (args[1], false)]
        }
        _ => Vec::new(),
    }
}

fn normal(t: Term, positive: bool, memo: &FxHashMap<(Term, bool), Term>) -> Term {
    let args = t.args();
    let get = |t: Term, p: bool| memo[&(t, p)];
    match t.op() {
        Op::Not => get(args[0], !positive),
        Op::And | Op::Or => {
            let parts = args.iter().map(|a| get(*a, positive));
            if matches!(t.op(), Op::And) == positive { build::and(parts) } else { build::or(parts) }
        }
        Op::Ite if t.sort() == Sort::Bool => {
            let (a, b) = (get(args[1], positive), get(args[2], positive));
            build::and([build::or([get(args[0], false), a]), build::or([get(args[0], true), b])])
        }
        Op::Eq if args[0].sort() == Sort::Bool => {
            let (b, not_b) = (get(args[1], positive), get(args[1], !positive));
            build::and([build::or([get(args[0], false), b]), build::or([get(args[0], true), not_b])])
        }
        Op::Forall(vars) => {
            let body = get(args[0], positive);
            if positive { build::forall(vars, body) } else { build::exists(vars, body) }
        }
        Op::Exists(vars) => {
            let body = get(args[0], positive);
            if positive { build::exists(vars, body) } else { build::forall(vars, body) }
        }
        _ if positive => t,
        _ => build::not(t),
    }
}
