//! The path formula of a state (φ) along edges, into calls and out of them [ABE10]. Asks no solver.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{Function, Op};
use proofline_cpa::CallContext;
use proofline_smt::{Term, Var, build as t, rewrite::substitute, term::free_vars};

use super::{
    PredicateAnalysis,
    scope::Scope,
    state::{Origin, PathFormula, PredicateState, Turn, Values},
};
use proofline_encoding::{Fresh, FunctionEncoder, Key, State, in_range};

impl PredicateAnalysis {
    pub(super) fn encoder<'a>(&'a self, function: &'a Function) -> FunctionEncoder<'a> {
        FunctionEncoder { environment: &self.env, layout: &self.layout, function, wrapv: self.options.wrapv }
    }

    /// Over one operation that is no call. `None`: it cannot be.
    pub(super) fn over(&self, from: &PathFormula, function: &Function, op: &Op) -> Option<PathFormula> {
        if let Op::Skip | Op::Free(_) = op {
            return Some(PathFormula { merged: Vec::new(), ..from.clone() });
        }
        let mut state = State { guard: from.guard, values: (*from.values).clone() };
        let mut fresh = Fresh::after(from.fresh);
        self.encoder(function).operation(&mut state, &mut fresh, op);
        if state.guard.is_false() {
            return None;
        }
        let is_trivial = from.is_trivial && state.guard == from.guard && state.values == *from.values;
        Some(PathFormula {
            guard: state.guard,
            is_trivial,
            fresh: fresh.last(),
            values: Arc::new(state.values),
            merged: Vec::new(),
            ..from.clone()
        })
    }

    /// Into a call: the callee's inputs have their values as terms over what the caller knows.
    pub(super) fn entering(&self, from: &PathFormula, call: CallContext<'_>) -> Option<PathFormula> {
        let mut state = State { guard: from.guard, values: (*from.values).clone() };
        let mut fresh = Fresh::after(from.fresh);
        let ghosts = enter(self, &mut state, &mut fresh, call);
        if state.guard.is_false() {
            return None;
        }
        Some(PathFormula {
            guard: state.guard,
            origin: from.origin.then(Turn::Enter, call.at.id, call.callee.name),
            is_trivial: false,
            is_rooted: false,
            fresh: fresh.last(),
            values: Arc::new(ghosts.clone()),
            ghosts: Arc::new(ghosts),
            merged: Vec::new(),
        })
    }

    /// Out of a call, whose effect is what the exit state says.
    pub(super) fn returning(
        &self,
        at_call: &PredicateState,
        exit: &PredicateState,
        call: CallContext<'_>,
    ) -> Option<PredicateState> {
        let scope = self.scope(call.callee.name);
        if !exit.path.is_rooted {
            // The way went through the callee: it goes on with the caller's registers.
            let mut fresh = Fresh::after(exit.path.fresh);
            let mut state = State { guard: exit.path.guard, values: (*exit.path.values).clone() };
            let origin = exit.path.origin.then(Turn::Leave, call.at.id, call.callee.name);
            leave(self, &mut state, &mut fresh, &at_call.path.values, scope, call);
            return went_on(at_call, exit.abstraction, state, &fresh, origin);
        }
        let entered = self.entering(&at_call.path, call)?;
        let mut fresh = Fresh::after(entered.fresh);
        let exit_values = exit_values(scope, &exit.path.values);
        let mentioned = exit_values.values().copied().chain([exit.abstraction, exit.path.guard]);
        let mut map = BTreeMap::new();
        let mut conditions = vec![entered.guard];
        for (key, term) in &*entered.ghosts {
            map.extend(scope.ghost(*key).map(|ghost| (ghost, *term)));
        }
        for var in mentioned.flat_map(free_vars) {
            map.entry(var).or_insert_with(|| {
                let new = fresh.variable(var.sort);
                conditions.extend(self.range_of(var, new));
                new
            });
        }
        let here = |term: Term| substitute(term, &map);
        conditions.extend([here(exit.abstraction), here(exit.path.guard)]);
        let values = exit_values.into_iter().map(|(key, term)| (key, here(term))).collect();
        let mut state = State { guard: t::and(conditions), values };
        let origin = at_call.path.origin.then(Turn::Summary, call.at.id, call.callee.name);
        leave(self, &mut state, &mut fresh, &at_call.path.values, scope, call);
        went_on(at_call, at_call.abstraction, state, &fresh, origin)
    }

    /// That a term has the format of a variable.
    pub(super) fn range_of(&self, var: Var, term: Term) -> Option<Term> {
        let scalar = self.format(var)?;
        Some(in_range(term, scalar))
    }

    /// That the variables of some formulas are in the ranges of their formats.
    pub(super) fn ranges(&self, formulas: impl IntoIterator<Item = Term>) -> Term {
        let vars: std::collections::BTreeSet<Var> = formulas.into_iter().flat_map(free_vars).collect();
        t::and(vars.into_iter().filter_map(|var| self.range_of(var, t::var(var))))
    }
}

/// The caller after a call: its activation is what it was.
fn went_on(
    at_call: &PredicateState,
    abstraction: Term,
    state: State,
    fresh: &Fresh,
    origin: Origin,
) -> Option<PredicateState> {
    if state.guard.is_false() {
        return None;
    }
    let path = PathFormula {
        guard: state.guard,
        origin,
        is_trivial: false,
        is_rooted: at_call.path.is_rooted,
        fresh: fresh.last(),
        values: Arc::new(state.values),
        ghosts: at_call.path.ghosts.clone(),
        merged: Vec::new(),
    };
    Some(PredicateState { function: at_call.function, abstraction, path: Arc::new(path) })
}

/// Passes the arguments; what is left of the state is its guard. Returns the values of the callee's inputs.
pub(super) fn enter(
    analysis: &PredicateAnalysis,
    state: &mut State,
    fresh: &mut Fresh,
    call: CallContext<'_>,
) -> Values {
    let caller = analysis.encoder(call.at.function);
    let callee = analysis.encoder(call.callee);
    let values = caller.arguments(state, fresh, call.call);
    state.values.retain(|key, _| !matches!(key, Key::Local(..)));
    callee.bind(state, fresh, &values);
    let scope = analysis.scope(call.callee.name);
    let mut inputs = Values::new();
    for key in &scope.inputs {
        let value = state.values.get(key).copied().unwrap_or_else(|| {
            let any = fresh.variable(key.sort());
            if let Some(range) = scope.ghost(*key).and_then(|ghost| analysis.range_of(ghost, any)) {
                state.assume(range);
            }
            any
        });
        inputs.insert(*key, value);
    }
    inputs
}

/// The values at an exit that matter to the caller.
pub(super) fn exit_values(scope: &Scope, values: &Values) -> Values {
    let matters = |key: &Key| scope.written.contains(key) || scope.result == Some(*key);
    values.iter().filter(|(key, _)| matters(key)).map(|(key, term)| (*key, *term)).collect()
}

/// Goes on in the caller: its registers as they were, memory as the callee left it, the result where the call puts it. `state` holds
/// the values at the exit.
pub(super) fn leave(
    analysis: &PredicateAnalysis,
    state: &mut State,
    fresh: &mut Fresh,
    at_call: &Values,
    scope: &Scope,
    call: CallContext<'_>,
) {
    let callee = analysis.encoder(call.callee);
    let caller = analysis.encoder(call.at.function);
    let wanted = call.call.dst.as_ref();
    let result = wanted.and_then(|_| callee.result(state, fresh));
    let mut values = at_call.clone();
    for key in &scope.memory {
        if !scope.written.contains(key) {
            continue;
        }
        match state.values.get(key) {
            Some(term) => values.insert(*key, *term),
            None => values.remove(key),
        };
    }
    state.values = values;
    if let Some(dst) = wanted {
        caller.put(state, fresh, dst, result);
    }
}
