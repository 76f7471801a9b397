//! A derivation of falsity: which rules, at which values. Rebuilt step by step from the facts the engine names; the
//! values of every step come from a model of the rule's constraint, so a derivation returned is a real one.

use std::collections::{BTreeMap, BTreeSet};

use super::system::Fact;
use super::{Atom, HornSystem, PredId, Rule};
use crate::build::{and, eq, or};
use crate::solver::{Limits, Outcome, Solver};
use crate::term::{Term, Value, Var, free_vars};
use crate::z3::{Z3, Z3Solver};

/// One application of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DerivationStep {
    /// Which rule, by position in the system.
    pub rule: usize,
    /// The steps that derive its body, in the order of the body.
    pub premises: Vec<usize>,
    /// Values of the rule's variables (those the model determines).
    pub values: BTreeMap<Var, Value>,
    /// What it derives; `None` is falsity.
    pub conclusion: Option<(PredId, Vec<Value>)>,
}

/// Steps in an order in which every premise stands before its use; the last one derives falsity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Derivation {
    /// The steps, premises before what uses them.
    pub steps: Vec<DerivationStep>,
}

struct Builder<'a> {
    system: &'a HornSystem,
    rules: &'a [usize],
    solver: Z3Solver,
    steps: Vec<DerivationStep>,
}

/// Finds a derivation that uses `facts` only.
pub(super) fn rebuild(
    z3: &Z3,
    system: &HornSystem,
    rules: &[usize],
    facts: &BTreeSet<Fact>,
    limits: Limits,
) -> Option<Derivation> {
    let mut solver = z3.solver();
    solver.set_limits(limits);
    let mut builder = Builder { system, rules, solver, steps: Vec::new() };
    let mut open: Vec<&Fact> = facts.iter().collect();
    loop {
        if builder.conclude(None) {
            return Some(builder.prune());
        }
        let before = open.len();
        open.retain(|fact| !builder.conclude(Some(fact)));
        if open.len() == before {
            return None;
        }
    }
}

fn agree(args: &[Term], values: &[Value]) -> Term {
    and(args.iter().zip(values).map(|(t, v)| eq(*t, v.to_term())))
}

impl Builder<'_> {
    /// Tries to derive `goal` in one step from what is derived already.
    fn conclude(&mut self, goal: Option<&Fact>) -> bool {
        for index in self.rules {
            let rule = &self.system.rules[*index];
            let matches = match (&rule.head, goal) {
                (None, None) => true,
                (Some(head), Some((predicate, _))) => head.predicate == *predicate,
                (None, Some(_)) | (Some(_), None) => false,
            };
            if matches && let Some(step) = self.apply(*index, rule, goal) {
                self.steps.push(step);
                return true;
            }
        }
        false
    }

    fn apply(&mut self, index: usize, rule: &Rule, goal: Option<&Fact>) -> Option<DerivationStep> {
        let mut formula = vec![rule.constraint];
        if let (Some(head), Some((_, values))) = (&rule.head, goal) {
            formula.push(agree(&head.args, values));
        }
        for atom in &rule.body {
            formula.push(or(self.candidates(atom).map(|(_, values)| agree(&atom.args, values))));
        }
        let mut vars: BTreeSet<Var> = free_vars(rule.constraint);
        for atom in rule.body.iter().chain(&rule.head) {
            vars.extend(atom.args.iter().flat_map(|t| free_vars(*t)));
        }
        let vars: Vec<Var> = vars.into_iter().collect();
        let mut asked: Vec<Term> = vars.iter().map(|v| crate::build::var(*v)).collect();
        asked.extend(rule.body.iter().flat_map(|a| a.args.iter().copied()));
        self.solver.push();
        self.solver.assert(and(formula));
        let values = (self.solver.check() == Outcome::Sat).then(|| self.solver.values(&asked));
        self.solver.pop();
        let values = values?;
        let mut args = values[vars.len()..].iter();
        let mut premises = Vec::new();
        for atom in &rule.body {
            let at: Option<Vec<Value>> = atom.args.iter().map(|_| args.next().cloned().flatten()).collect();
            let at = at?;
            premises.push(self.candidates(atom).find(|(_, values)| **values == at)?.0);
        }
        let values = vars.into_iter().zip(values).filter_map(|(v, value)| Some((v, value?))).collect();
        Some(DerivationStep { rule: index, premises, values, conclusion: goal.cloned() })
    }

    /// The steps that derived the predicate of `atom`, with their values.
    fn candidates(&self, atom: &Atom) -> impl Iterator<Item = (usize, &Vec<Value>)> {
        self.steps.iter().enumerate().filter_map(move |(i, step)| match &step.conclusion {
            Some((p, values)) if *p == atom.predicate => Some((i, values)),
            Some(_) | None => None,
        })
    }

    /// Keeps the steps that falsity rests on.
    fn prune(self) -> Derivation {
        let mut needed = vec![false; self.steps.len()];
        if let Some(last) = needed.last_mut() {
            *last = true;
        }
        for i in (0..self.steps.len()).rev() {
            if needed[i] {
                for p in &self.steps[i].premises {
                    needed[*p] = true;
                }
            }
        }
        let mut position = vec![0; self.steps.len()];
        let mut steps = Vec::new();
        for (i, mut step) in self.steps.into_iter().enumerate() {
            if needed[i] {
                position[i] = steps.len();
                for p in &mut step.premises {
                    *p = position[*p];
                }
                steps.push(step);
            }
        }
        Derivation { steps }
    }
}
