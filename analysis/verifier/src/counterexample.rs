//! A confirmed violation: the inputs that make the program violate an obligation. Everything else (the path, the values) follows by
//! running it again.

use std::collections::BTreeSet;

use proofline_cfa::{Entry, Name, ObligationId};

use crate::{
    engines::Targets,
    interpret::{Code, End, Limits, Machine, Moment, Run, Script},
};

/// Inputs of a run that failed, in this text or in an older one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Answers to the questions of the run, in order.
    pub inputs: Vec<i128>,
    /// Length of the run in edges.
    pub steps: u64,
}

impl Failure {
    /// How long the same run may be in another text.
    pub(crate) fn limits(&self) -> Limits {
        replay_limits(self.steps)
    }
}

/// A run is shown step by step as far as this; after that, people do not read each iteration of a loop.
const SHOWN_STEPS: u64 = 100_000;

/// How long a run may be that is to be the same, with pure calls executed each time. What machine code took, it takes again, and what
/// the interpreter took beside it.
fn replay_limits(steps: u64) -> Limits {
    Limits {
        steps: steps.min(LONGEST_STEPWISE).saturating_mul(64).saturating_add(1_000_000),
        compiles_after: SHOWN_STEPS,
        compiled_steps: steps.saturating_mul(2),
        ..Limits::default()
    }
}

/// Longer runs were taken by machine code for the most part.
const LONGEST_STEPWISE: u64 = 1 << 28;

/// Inputs that lead to a violation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// Where it starts. Globals were inputs, too, if that is a function of a library, called at any time.
    pub entry: Entry,
    /// Function of the violated obligation.
    pub function: Name,
    /// The violated obligation.
    pub obligation: ObligationId,
    /// Answers to the questions of the run, in order.
    pub inputs: Vec<i128>,
    /// Length of the run in edges, those that machine code took among them.
    pub steps: u64,
}

impl Counterexample {
    /// What a run from an entry has shown: `None` if it violates none of the targets, or guessed.
    pub(crate) fn of(run: &Run, entry: Entry, targets: &Targets) -> Option<Counterexample> {
        match run.end {
            End::Violates(function, obligation)
                if targets.contains(function, obligation) && !run.is_guess =>
            {
                let inputs = run.inputs.iter().map(|(_, answer)| *answer).collect();
                Some(Counterexample { entry, function, obligation, inputs, steps: run.steps + run.compiled })
            }
            End::Violates(..)
            | End::Finished
            | End::Stuck(_)
            | End::OutOfSteps
            | End::Diverges
            | End::Deviated(_) => None,
        }
    }

    /// Runs it again with a trace. `None` if it does not end in the violation: a defect, or not our program.
    pub fn replay(&self, code: &Code) -> Option<Run> {
        self.replay_with(code, &|machine| machine)
    }

    /// The same, and looks at memory at these moments and at the end.
    pub(crate) fn watch(&self, code: &Code, moments: &BTreeSet<Moment>) -> Option<Run> {
        self.replay_with(code, &|machine| machine.watching(moments.clone()))
    }

    fn replay_with(
        &self,
        code: &Code,
        prepared: &dyn for<'c> Fn(Machine<'c, Script>) -> Machine<'c, Script>,
    ) -> Option<Run> {
        let limits = Limits { skips_after: SHOWN_STEPS, ..replay_limits(self.steps) };
        let machine = || prepared(Machine::new(code, Script::new(self.inputs.clone()), limits));
        let shows =
            |run: &Run| matches!(run.end, End::Violates(f, o) if (f, o) == (self.function, self.obligation));
        // The engine that found it may have executed each pure call once only.
        let whole = machine().with_trace().run(self.entry);
        let run = match shows(&whole) {
            true => whole,
            false => machine().with_short_trace().run(self.entry),
        };
        shows(&run).then_some(run)
    }
}
