//! Projection: eliminating variables from formulas. `∃ gone. formula` as a quantifier-free formula.
//!
//! In this order: variables that an equation defines are replaced; what does not mention an eliminated variable is left
//! alone; conjuncts without common eliminated variables are treated apart; the rest goes to model-based projection,
//! model by model until nothing is left (each step costs resource units, so the result is deterministic).

mod define;
mod models;

use std::collections::BTreeSet;

use crate::build::{and, not, or};
use crate::logic::conjuncts;
use crate::solver::{Limits, Reason};
use crate::term::{Op, Term, Var, free_vars, has_quantifier};
use crate::z3::Z3;

pub(crate) use define::eliminate_defined;
pub use models::project_model;

/// How a projection may be computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProjectOptions {
    /// Limits of each solver call.
    pub limits: Limits,
    /// Models used at most; each contributes a disjunct.
    pub models: usize,
}

impl Default for ProjectOptions {
    fn default() -> ProjectOptions {
        ProjectOptions { limits: Limits::resource(2_000_000), models: 48 }
    }
}

/// `∃ (all other variables). formula`, over `keep` only and without quantifiers.
///
/// # Errors
/// If a limit was reached or the theory has no projection.
pub fn project(
    z3: &Z3,
    formula: Term,
    keep: &BTreeSet<Var>,
    options: ProjectOptions,
) -> Result<Term, Reason> {
    if has_quantifier(formula) {
        return Err(Reason::Incomplete("projection of a quantified formula".into()));
    }
    exists(z3, formula, keep, options, 0)
}

/// `∀ (all other variables). formula`.
///
/// # Errors
/// See [`project`].
pub fn project_universally(
    z3: &Z3,
    formula: Term,
    keep: &BTreeSet<Var>,
    options: ProjectOptions,
) -> Result<Term, Reason> {
    project(z3, not(formula), keep, options).map(not)
}

/// Disjunctions are split at most this often in a nest.
const DEPTH: u32 = 3;
/// Branches inside branches are multiplied out at most this deep.
const NEST: u32 = 6;
/// Disjunctions of at most this many members are split.
const SPLIT: usize = 12;

/// Conjuncts that share eliminated variables, with those variables.
type Group = (BTreeSet<Var>, Vec<Term>);

fn exists(
    z3: &Z3,
    formula: Term,
    keep: &BTreeSet<Var>,
    options: ProjectOptions,
    depth: u32,
) -> Result<Term, Reason> {
    if z3.interrupter().is_requested() {
        return Err(Reason::Interrupted);
    }
    let formula = eliminate_defined(formula, &|v| !keep.contains(&v));
    let gone =
        |t: Term| -> BTreeSet<Var> { free_vars(t).into_iter().filter(|v| !keep.contains(v)).collect() };
    if gone(formula).is_empty() {
        return Ok(formula);
    }
    if depth < NEST
        && let Some(b) = define::branching(&conjuncts(formula), &|v| !keep.contains(&v))
    {
        // What only the branches mention goes with the variable; the rest may still need the other variables.
        let mut wider = keep.clone();
        wider.extend(b.rest.iter().flat_map(|t| free_vars(*t)));
        let joined = b.branches.into_iter().map(|t| exists(z3, t, &wider, options, depth + 1));
        let joined = or(joined.collect::<Result<Vec<Term>, Reason>>()?);
        // Only progress counts: a definition that normalisation hides would come back.
        if !free_vars(joined).contains(&b.var) {
            return exists(z3, and(b.rest.into_iter().chain([joined])), keep, options, depth);
        }
    }
    if let Op::Or = formula.op()
        && depth < DEPTH
        && formula.args().len() <= SPLIT
    {
        let parts = formula.args().iter().map(|t| exists(z3, *t, keep, options, depth + 1));
        return Ok(or(parts.collect::<Result<Vec<Term>, Reason>>()?));
    }
    let mut done: Vec<Term> = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    for part in conjuncts(formula) {
        let vars = gone(part);
        if vars.is_empty() {
            done.push(part);
            continue;
        }
        let mut merged = (vars, vec![part]);
        let mut apart = Vec::new();
        for group in groups {
            if group.0.is_disjoint(&merged.0) {
                apart.push(group);
            } else {
                merged.0.extend(group.0);
                merged.1.extend(group.1);
            }
        }
        apart.push(merged);
        groups = apart;
    }
    for (vars, parts) in groups {
        let group = and(parts);
        let one = match group.op() {
            // A conjunction with a disjunction inside: the models choose the disjuncts.
            Op::Or if depth < DEPTH && group.args().len() <= SPLIT => {
                exists(z3, group, keep, options, depth + 1)?
            }
            _ => models::cover(z3, group, &vars, options)?,
        };
        done.push(one);
    }
    Ok(and(done))
}
