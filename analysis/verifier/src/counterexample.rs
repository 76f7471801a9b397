//! A confirmed violation: the inputs that make the program violate an obligation. Everything else (the path, the values) follows by
//! running it again.

use proofline_cfa::{Name, ObligationId};

use crate::{
    interpret::{Code, End, Limits, Machine, Run, Script},
    load::Loaded,
};

/// Inputs that lead to a violation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// Function it starts in.
    pub entry: Name,
    /// Globals were inputs too (a function of a library, called at any time).
    pub is_library: bool,
    /// Function of the violated obligation.
    pub function: Name,
    /// The violated obligation.
    pub obligation: ObligationId,
    /// Answers to the questions of the run, in order.
    pub inputs: Vec<i128>,
    /// Length of the run in edges.
    pub steps: u64,
}

impl Counterexample {
    /// Runs it again with a trace. `None` if it does not end in the violation: a defect, or not our program.
    pub fn replay(&self, loaded: &Loaded) -> Option<Run> {
        let code = Code::new(loaded.program());
        let limits =
            Limits { steps: self.steps.saturating_mul(64).saturating_add(1_000_000), ..Limits::default() };
        let machine = || Machine::new(&code, Script::new(self.inputs.clone()), limits);
        let shows =
            |run: &Run| matches!(run.end, End::Violates(f, o) if (f, o) == (self.function, self.obligation));
        // The engine that found it may have executed each pure call once only.
        let whole = machine().with_trace().run(self.entry, self.is_library);
        let run = match shows(&whole) {
            true => whole,
            false => machine().with_short_trace().run(self.entry, self.is_library),
        };
        shows(&run).then_some(run)
    }
}
