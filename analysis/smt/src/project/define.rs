//! Elimination of variables that an equation defines: `∃x. x = e ∧ φ` is `φ[x ↦ e]`.

use std::collections::BTreeSet;

use num_bigint::BigInt;

use crate::build::{self, add, and, bvadd, bvmul, mul, sub};
use crate::logic::conjuncts;
use crate::rewrite::{Substitution, substitute};
use crate::simplify::Linear;
use crate::term::{Op, Sort, Term, Var, dag_size, free_vars};

/// A disjunction is multiplied out into its neighbours only while the result has at most this many nodes.
const COPIED: usize = 3000;

/// Replaces variables for which `gone` holds by what a conjunct of `formula` says they are equal to, as long as there
/// is one. Equivalent to the formula with those variables existentially quantified.
pub(crate) fn eliminate_defined(formula: Term, gone: &dyn Fn(Var) -> bool) -> Term {
    let mut parts = conjuncts(formula);
    loop {
        let found = parts.iter().enumerate().find_map(|(i, part)| Some((i, definition(*part, gone)?)));
        let undone =
            || parts.iter().enumerate().find_map(|(i, part)| Some((i, unstore(*part, &parts, gone)?)));
        let step = found
            .map(|(i, (v, t))| (i, v, t, None))
            .or_else(|| undone().map(|(i, (v, t, r))| (i, v, t, Some(r))));
        let Some((i, var, value, rest)) = step else { return and(parts) };
        parts.swap_remove(i);
        parts.extend(rest);
        let map: Substitution = [(var, value)].into();
        let mut next = Vec::with_capacity(parts.len());
        let mut seen = BTreeSet::new();
        for part in parts {
            for new in conjuncts(substitute(part, &map)) {
                if seen.insert(new) {
                    next.push(new);
                }
            }
        }
        parts = next;
    }
}

/// A variable that every member of a disjunction defines, each in its way (the end of a branch).
pub(super) struct Branching {
    /// The variable.
    pub(super) var: Var,
    /// The members of the disjunction, each with the conjuncts that mention the variable.
    pub(super) branches: Vec<Term>,
    /// The conjuncts that do not.
    pub(super) rest: Vec<Term>,
}

/// Finds such a variable, the cheapest to multiply out: `∃y. (A ∧ y = d ∨ B ∧ y = e) ∧ φ` is
/// `A ∧ φ[y ↦ d] ∨ B ∧ φ[y ↦ e]`.
pub(super) fn branching(parts: &[Term], gone: &dyn Fn(Var) -> bool) -> Option<Branching> {
    let mut best: Option<(usize, Var, usize)> = None;
    for (at, part) in parts.iter().enumerate() {
        let Op::Or = part.op() else { continue };
        let mut common: Option<BTreeSet<Var>> = None;
        for branch in part.args() {
            let found = conjuncts(*branch).into_iter().filter_map(|t| Some(definition(t, gone)?.0));
            let found: BTreeSet<Var> = found.collect();
            common = Some(match common {
                None => found,
                Some(before) => before.intersection(&found).copied().collect(),
            });
        }
        for var in common.unwrap_or_default() {
            let near = parts.iter().enumerate().filter(|(i, t)| *i != at && free_vars(**t).contains(&var));
            let cost = near.map(|(_, t)| dag_size(*t)).sum::<usize>() * part.args().len();
            if cost <= COPIED && best.is_none_or(|(least, _, _)| cost < least) {
                best = Some((cost, var, at));
            }
        }
    }
    let (_, var, at) = best?;
    let others = parts.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, t)| *t);
    let (near, rest): (Vec<Term>, Vec<Term>) = others.partition(|t| free_vars(*t).contains(&var));
    let branches = parts[at].args().iter().map(|branch| and(near.iter().copied().chain([*branch]))).collect();
    Some(Branching { var, branches, rest })
}

/// The variable that `part` defines, and as what.
fn definition(part: Term, gone: &dyn Fn(Var) -> bool) -> Option<(Var, Term)> {
    let boolean = |t: Term| t.as_var().filter(|v| v.sort == Sort::Bool && gone(*v));
    match part.op() {
        Op::Var(_) => boolean(part).map(|v| (v, build::bool(true))),
        Op::Not => {
            let inner = part.args()[0];
            if let Some(v) = boolean(inner) {
                return Some((v, build::bool(false)));
            }
            // not (a iff b) defines a as not b.
            match inner.op() {
                Op::Eq if inner.args()[0].sort() == Sort::Bool => {
                    let (v, value) = sides(inner.args()[0], inner.args()[1], gone)?;
                    Some((v, build::not(value)))
                }
                _ => None,
            }
        }
        Op::Eq => {
            let (a, b) = (part.args()[0], part.args()[1]);
            sides(a, b, gone).or_else(|| linear(a, b, gone))
        }
        _ => None,
    }
}

/// Undoes a write: `∃m. a = store(m, i, e) ∧ φ` is `a[i] = e ∧ ∃u. φ[m ↦ store(a, i, u)]`. Returns `m`, what it
/// becomes, and the remaining equation; `u` is a new variable, to be eliminated in turn.
fn unstore(part: Term, parts: &[Term], gone: &dyn Fn(Var) -> bool) -> Option<(Var, Term, Term)> {
    let Op::Eq = part.op() else { return None };
    let undo = |a: Term, b: Term| {
        let Op::Store = b.op() else { return None };
        let (m, i, e) = (b.args()[0].as_var().filter(|v| gone(*v))?, b.args()[1], b.args()[2]);
        if [a, i, e].iter().any(|t| free_vars(*t).contains(&m)) {
            return None;
        }
        let used =
            parts.iter().flat_map(|p| free_vars(*p)).filter(|v| v.name.as_str() == "%old").map(|v| v.index);
        let old = Var::indexed("%old", used.max().unwrap_or(0) + 1, e.sort());
        // If it must be kept after all, it would be seen as a foreign symbol and refused.
        gone(old).then(|| (m, build::store(a, i, build::var(old)), build::eq(build::select(a, i), e)))
    };
    undo(part.args()[0], part.args()[1]).or_else(|| undo(part.args()[1], part.args()[0]))
}

fn sides(a: Term, b: Term, gone: &dyn Fn(Var) -> bool) -> Option<(Var, Term)> {
    let defines =
        |x: Term, e: Term| x.as_var().filter(|v| gone(*v) && !free_vars(e).contains(v)).map(|v| (v, e));
    defines(a, b).or_else(|| defines(b, a))
}

/// Solves a linear equation for a variable with coefficient 1 or -1.
fn linear(a: Term, b: Term, gone: &dyn Fn(Var) -> bool) -> Option<(Var, Term)> {
    let width = match a.sort() {
        Sort::Int => None,
        Sort::BitVec(width) => Some(width),
        Sort::Bool | Sort::Float(_) | Sort::Array(_) => return None,
    };
    let number = |i: BigInt| width.map_or_else(|| build::int(i.clone()), |w| build::bv(i.clone(), w));
    let mut all = Linear::of(a);
    all.add_all(&Linear::of(b), &BigInt::from(-1));
    let minus_one = match width {
        None => BigInt::from(-1),
        Some(_) => number(BigInt::from(-1)).as_bitvec()?.unsigned(),
    };
    for (t, c) in all.terms() {
        let Some(v) = t.as_var().filter(|v| gone(*v)) else { continue };
        let sign = if *c == BigInt::from(1) {
            -1
        } else if *c == minus_one {
            1
        } else {
            continue;
        };
        // c·v + rest = 0  iff  v = -c·rest for c = 1 or -1.
        let whole = all.to_term();
        let rest = match width {
            None => sub(whole, mul([number(c.clone()), *t])),
            Some(_) => bvadd(whole, bvmul(number(-c), *t)),
        };
        let value = match width {
            None => mul([number(BigInt::from(sign)), add([rest])]),
            Some(_) => bvmul(number(BigInt::from(sign)), rest),
        };
        if !free_vars(value).contains(&v) {
            return Some((v, value));
        }
    }
    None
}
