//! Abstraction: from formulas to Boolean combinations of predicates, and comparing them.

use std::sync::Arc;

use proofline_cfa::{Function, Loc};
use proofline_smt::{
    Term, Var, build as t,
    rewrite::{Substitution, substitute},
    term::free_vars,
};

use super::{
    PredicateAnalysis, PredicatePrecision,
    scope::Scope,
    state::{Origin, PathFormula, PredicateState},
};
use proofline_encoding::{Fresh, Key};

impl PredicateAnalysis {
    /// What becomes of a state that arrives at a location along an edge.
    pub(super) fn arrive(
        &self,
        state: PredicateState,
        function: &Function,
        loc: Loc,
        precision: &PredicatePrecision,
    ) -> Option<PredicateState> {
        let scope = self.scope(function.name);
        if self.is_watched(function, loc) {
            let formula = self.meaning(&state);
            return (self.solver.satisfiable(formula) != Ok(false)).then_some(state);
        }
        if self.is_cut(scope, loc) {
            return self.abstracted(&state, loc, false, precision);
        }
        // Dead registers make states differ for nothing.
        let dead = |key: &Key| matches!(key, Key::Local(_, id) if !scope.live[loc.index()].contains(id));
        if !state.path.values.keys().any(dead) {
            return Some(state);
        }
        let mut path = (*state.path).clone();
        Arc::make_mut(&mut path.values).retain(|key, _| !dead(key));
        Some(PredicateState { path: Arc::new(path), ..state })
    }

    /// The state as one formula.
    fn meaning(&self, state: &PredicateState) -> Term {
        let formula = t::and([state.abstraction, state.path.guard]);
        t::and([formula, self.ranges([formula])])
    }

    /// The predicates that mean something at a location.
    pub(super) fn predicates_at(&self, scope: &Scope, loc: Loc, precision: &PredicatePrecision) -> Vec<Term> {
        let vocabulary = scope.vocabulary_at(loc);
        let fits = |predicate: &Term| free_vars(*predicate).is_subset(&vocabulary);
        precision.at(scope.function, loc).into_iter().filter(fits).collect()
    }

    /// The abstraction of a state at a location; `None`: there is no such state. At an entry, present values are values at entry.
    pub(super) fn abstracted(
        &self,
        state: &PredicateState,
        loc: Loc,
        is_entry: bool,
        precision: &PredicatePrecision,
    ) -> Option<PredicateState> {
        let scope = self.scope(state.function);
        let mut fresh = Fresh::after(state.path.fresh);
        let mut value = |var: Var, term: Option<&Term>| match term {
            Some(term) => (var, *term),
            None => (var, fresh.variable(var.sort)),
        };
        let mut now = Substitution::new();
        for key in scope.keys_at(loc).into_iter().chain(scope.inputs.iter().copied()) {
            if let Some(ghost) = scope.ghost(key) {
                let (var, term) = value(ghost, state.path.ghosts.get(&key));
                now.insert(var, term);
            }
            // What never changes has its ghost, and its value.
            if let Some(current) = scope.current(key)
                && !now.contains_key(&current)
            {
                let (var, term) = value(current, state.path.values.get(&key));
                now.insert(var, term);
            }
        }
        let at_entry: Substitution = scope
            .inputs
            .iter()
            .filter_map(|key| Some((scope.current(*key)?, t::var(scope.ghost(*key)?))))
            .collect();
        let mut predicates: Vec<Term> = Vec::new();
        for predicate in self.predicates_at(scope, loc, precision) {
            let predicate = if is_entry { substitute(predicate, &at_entry) } else { predicate };
            if predicate.as_bool().is_none() && !predicates.contains(&predicate) {
                predicates.push(predicate);
            }
        }
        let instances: Vec<Term> = predicates.iter().map(|predicate| substitute(*predicate, &now)).collect();
        let formula = t::and([state.abstraction, state.path.guard]);
        let ranges = self.ranges([formula].into_iter().chain(instances.iter().copied()));
        let cubes = self.solver.cubes(t::and([formula, ranges]), &instances, self.options.abstraction)?;
        let values = if is_entry { scope.identity_at_entry() } else { scope.identity_at(loc) };
        let path = PathFormula {
            guard: t::bool(true),
            origin: Origin::new(state.function, loc),
            is_trivial: true,
            is_rooted: true,
            fresh: 0,
            values: Arc::new(values),
            ghosts: Arc::new(scope.identity_at_entry()),
            merged: Vec::new(),
        };
        let abstraction = self.bdds.combination(&cubes, &predicates);
        Some(PredicateState { function: state.function, abstraction, path: Arc::new(path) })
    }

    /// Whether one abstraction implies the other.
    pub(super) fn entails(&self, lower: &PredicateState, upper: &PredicateState) -> bool {
        if lower.abstraction == upper.abstraction || upper.abstraction.is_true() {
            return true;
        }
        if self.bdds.implies(lower.abstraction, upper.abstraction) {
            return true;
        }
        let known = t::and([lower.abstraction, self.ranges([lower.abstraction, upper.abstraction])]);
        self.solver.implies(known, upper.abstraction)
    }
}
