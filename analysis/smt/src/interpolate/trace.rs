//! Traces of steps over program variables: their formulas in SSA form, and interpolants back over the program.

use std::collections::{BTreeMap, BTreeSet};

use super::Tree;
use crate::build::{and, eq, var};
use crate::rewrite::instantiate;
use crate::term::{Term, Var};

/// One step: the condition holds before it; then all assignments happen at once, from the values before; then the
/// havocked variables get any values. Variables have SSA index 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// What must hold to take the step.
    pub assume: Term,
    /// Variables that change, with their values in terms of the values before the step.
    pub assign: Vec<(Var, Term)>,
    /// Variables that have any value after the step.
    pub havoc: Vec<Var>,
}

impl Step {
    /// A step that only checks a condition.
    #[must_use]
    pub fn assume(condition: Term) -> Step {
        Step { assume: condition, assign: Vec::new(), havoc: Vec::new() }
    }

    /// A step that assigns one variable.
    #[must_use]
    pub fn assign(target: Var, value: Term) -> Step {
        Step { assume: crate::build::bool(true), assign: vec![(target, value)], havoc: Vec::new() }
    }

    /// A step that forgets one variable.
    #[must_use]
    pub fn havoc(target: Var) -> Step {
        Step { assume: crate::build::bool(true), assign: Vec::new(), havoc: vec![target] }
    }
}

/// The formulas of the steps, one node per step. Interpolants of the result speak of the current version of each
/// variable at their cut; `rewrite::uninstantiate` turns them into formulas over the program's variables.
#[must_use]
pub fn sequence_of(steps: &[Step]) -> Tree {
    let mut version: BTreeMap<Var, u32> = BTreeMap::new();
    let mut labels = Vec::new();
    for step in steps {
        let now = |t: Term| instantiate(t, |v| version.get(&v).copied().unwrap_or(1));
        let mut parts = vec![now(step.assume)];
        let values: Vec<(Var, Term)> = step.assign.iter().map(|(v, t)| (*v, now(*t))).collect();
        let changed: BTreeSet<Var> =
            step.assign.iter().map(|(v, _)| *v).chain(step.havoc.iter().copied()).collect();
        for v in changed {
            *version.entry(v).or_insert(1) += 1;
        }
        for (v, value) in values.into_iter().filter(|(v, _)| !step.havoc.contains(v)) {
            parts.push(eq(var(v.at(version[&v])), value));
        }
        labels.push(and(parts));
    }
    Tree::sequence(labels)
}
