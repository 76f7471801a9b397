//! Interpolants of explicit values [EXP12 §III-C..E], position by position along a path: `Interpolate` (Alg. 3) drops from what is known at a
//! position whatever the rest of the path is contradictory without, and `Refine` (Alg. 4) goes on from the interpolant of the position before, so
//! that each follows from the one before it. Knows no precision of the whole program.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{Loc, Name};
use proofline_cpa::Unknown;

use super::{Part, Precision, ValueState, Variable, refine::Run};
use crate::{
    path::StepKind,
    store::{region::Region, state::Frame},
    value::ExplicitValue,
};

/// A variable that an interpolant speaks of, and where.
pub(super) type LocatedPart = ((Name, Loc), Variable, Part);

/// What is known at a position: a set of assignments, of which one holds.
type Assignments = Vec<ValueState>;

impl Run<'_> {
    /// The variables of the interpolants of a contradictory run, by location. `tracked`, wherever it is in scope, suffices for the contradiction;
    /// `candidates` of it, the costly ones first, are dropped where they are not needed.
    pub(super) fn interpolants(
        &self,
        tracked: &Precision,
        candidates: &[(Variable, Part)],
    ) -> Result<Vec<LocatedPart>, Unknown> {
        let mut before: Assignments = vec![self.entry.clone()];
        let mut result = BTreeMap::new();
        let last = self.steps.len().saturating_sub(1);
        for (index, step) in self.steps[..last].iter().enumerate() {
            self.budget.spend(before.len() as u64)?;
            let mut here = self.over(index, &before, tracked);
            for (variable, part) in candidates {
                if !is_known(&here, *variable) {
                    continue;
                }
                let weaker = without(&here, *variable);
                // What was needed before the step, and the step does not look at, is needed behind it.
                let was_needed = is_known(&before, *variable) && matches!(step.kind, StepKind::Edge(_));
                let is_untouched =
                    was_needed && self.over(index, &without(&before, *variable), tracked) == weaker;
                if !is_untouched && self.refutes_rest(index + 1, &weaker, tracked)? {
                    here = weaker;
                } else {
                    result.insert(((step.function.name, step.to), *variable), part.clone());
                }
            }
            before = here;
        }
        Ok(result.into_iter().map(|((place, variable), part)| (place, variable, part)).collect())
    }

    /// The assignments behind a step.
    fn over(&self, index: usize, before: &[ValueState], tracked: &Precision) -> Assignments {
        let step = &self.steps[index];
        let mut states = match self.skipped.contains(&index) {
            true => before.to_vec(),
            false => step.run(self.analysis, before, tracked),
        };
        states.iter_mut().for_each(|state| self.analysis.restrict(state, tracked, step.function, step.to));
        states
    }

    /// Whether the rest of the path is contradictory from here.
    fn refutes_rest(&self, from: usize, states: &[ValueState], tracked: &Precision) -> Result<bool, Unknown> {
        let mut states = states.to_vec();
        for index in from..self.steps.len() {
            self.budget.spend(states.len() as u64)?;
            states = self.over(index, &states, tracked);
            if states.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether something is known of it, where its function runs.
fn is_known(states: &[ValueState], variable: Variable) -> bool {
    states.iter().any(|state| match variable {
        Variable::Local(function, id) => state.frame.function == function && state.frame.local(id).is_some(),
        Variable::Object(object) => state.memory.get(object).is_some(),
    })
}

/// The same assignments with one variable less.
fn without(states: &[ValueState], variable: Variable) -> Assignments {
    let mut result = Assignments::new();
    for state in states {
        let mut state = state.clone();
        match variable {
            Variable::Local(_, id) => {
                let frame: &mut Frame<ExplicitValue> = Arc::make_mut(&mut state.frame);
                frame.set_local(id, Region::unknown());
            }
            Variable::Object(object) => state.memory.set(object, Region::unknown()),
        }
        if !result.contains(&state) {
            result.push(state);
        }
    }
    result
}
