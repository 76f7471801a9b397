//! Running one path through the program with an analysis' own operators: no merging, no covering. Shared by refinements.

use std::sync::Arc;

use proofline_cfa::{Edge, Function, Loc, Op};
use proofline_cpa::{CallContext, Cpa, EdgeContext, NoFacts, Path, PathStep, Unknown};
use proofline_program_analysis::Environment;

/// More states than this on one path are not followed one by one.
const STATES: usize = 16;

/// A step of a path with the automata's parts it names.
#[derive(Clone, Copy)]
pub(crate) struct Step<'p> {
    /// What happens.
    pub(crate) kind: StepKind<'p>,
    /// The function the step ends in.
    pub(crate) function: &'p Function,
    /// The location it ends at.
    pub(crate) to: Loc,
}

/// The kinds of steps.
#[derive(Clone, Copy)]
pub(crate) enum StepKind<'p> {
    /// An ordinary edge.
    Edge(EdgeContext<'p>),
    /// A call is entered.
    Enter(CallContext<'p>),
    /// A call is left.
    Leave(CallContext<'p>),
}

/// Resolves a path's names.
pub(crate) fn resolve<'p>(env: &'p Arc<Environment>, path: &Path) -> Result<Vec<Step<'p>>, Unknown> {
    let function = |name| {
        env.function(name)
            .ok_or_else(|| Unknown::InternalError(format!("a path goes through {name}, which has no body")))
    };
    let edge = |function: &'p Function, id: proofline_cfa::EdgeId| -> Result<&'p Edge, Unknown> {
        let missing =
            || Unknown::InternalError(format!("a path takes edge {id} of {}, which has none", function.name));
        function.edges.get(id.index()).ok_or_else(missing)
    };
    let call = |caller, id, callee| -> Result<CallContext<'p>, Unknown> {
        let caller = function(caller)?;
        let edge = edge(caller, id)?;
        let Op::Call(call) = &edge.op else {
            return Err(Unknown::InternalError(format!(
                "a path calls on edge {id} of {}, which is no call",
                caller.name
            )));
        };
        Ok(CallContext { at: EdgeContext { function: caller, id, edge }, call, callee: function(callee)? })
    };
    path.steps
        .iter()
        .map(|step| {
            Ok(match *step {
                PathStep::Edge(name, id) => {
                    let function = function(name)?;
                    let edge = edge(function, id)?;
                    Step { kind: StepKind::Edge(EdgeContext { function, id, edge }), function, to: edge.to }
                }
                PathStep::Enter { caller, edge, callee } => {
                    let call = call(caller, edge, callee)?;
                    Step { kind: StepKind::Enter(call), function: call.callee, to: call.callee.entry }
                }
                PathStep::Leave { callee, caller, edge } => {
                    let call = call(caller, edge, callee)?;
                    Step { kind: StepKind::Leave(call), function: call.at.function, to: call.at.edge.to }
                }
            })
        })
        .collect()
}

impl Step<'_> {
    /// Whether it is a condition.
    pub(crate) fn is_assume(&self) -> bool {
        matches!(self.kind, StepKind::Edge(EdgeContext { edge: Edge { op: Op::Assume(_), .. }, .. }))
    }

    /// The states after the step.
    pub(crate) fn run<A: Cpa>(
        &self,
        analysis: &A,
        states: &[A::State],
        precision: &A::Precision,
    ) -> Vec<A::State> {
        let mut result: Vec<A::State> = Vec::new();
        for state in states {
            let next = match self.kind {
                StepKind::Edge(at) => analysis.transfer(state, precision, at, &NoFacts),
                StepKind::Enter(call) => analysis.enter(state, precision, call),
                // The caller's frame is below, so that the state at the call is not asked for.
                StepKind::Leave(call) => analysis.leave(state, state, precision, call),
            };
            for state in next {
                if !result.contains(&state) {
                    result.push(state);
                }
            }
        }
        if result.len() > STATES {
            let joined = result
                .split_off(STATES)
                .iter()
                .fold(result[0].clone(), |all, state| analysis.join(&all, state));
            result.push(joined);
        }
        result
    }
}
