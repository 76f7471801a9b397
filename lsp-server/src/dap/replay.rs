//! A recorded path as a debugger sees it: at each step the stack of calls, and the variables with their values. Knows no protocol.

use std::{collections::BTreeSet, path::Path};

use proofline_ide::{Finding, Place, Step, StepKind};

/// A variable with its value.
pub(super) type Variables = Vec<(String, String)>;

/// A call that is open at a step.
#[derive(Clone, Default)]
pub(super) struct Frame {
    pub(super) function: String,
    pub(super) place: Option<Place>,
    pub(super) locals: Variables,
}

/// What is known at a step, after it.
#[derive(Clone, Default)]
pub(super) struct Moment {
    /// The innermost call last.
    pub(super) frames: Vec<Frame>,
    pub(super) globals: Variables,
    pub(super) inputs: Variables,
}

/// A recorded path and where the replay stands.
pub(super) struct Replay {
    pub(super) finding: Finding,
    steps: Vec<Step>,
    at: usize,
}

/// Where a movement ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// At a step.
    Step,
    /// At a breakpoint.
    Breakpoint,
    /// At the first step.
    Entry,
    /// At the failure.
    Failure,
    /// Behind the failure: there is nothing more.
    End,
}

impl Replay {
    pub(super) fn new(finding: Finding, steps: Vec<Step>) -> Replay {
        Replay { finding, steps, at: 0 }
    }

    /// The step it stands at.
    pub(super) fn step(&self) -> Option<&Step> {
        self.steps.get(self.at)
    }

    /// Lines of a file that the path goes through, from 0.
    pub(super) fn lines(&self, file: &Path) -> BTreeSet<u32> {
        let places = self.steps.iter().filter_map(|step| step.place.as_ref());
        places.filter(|place| *place.path == *file).map(|place| place.range.start.line).collect()
    }

    fn depth(&self) -> u32 {
        self.step().map_or(0, |step| step.depth)
    }

    fn arrive(&mut self, at: usize, otherwise: Arrival) -> Arrival {
        self.at = at;
        if at + 1 == self.steps.len() { Arrival::Failure } else { otherwise }
    }

    /// Forward to the next step for which `stop` holds, or to the failure.
    fn forward(&mut self, otherwise: Arrival, stop: impl Fn(&Step) -> bool) -> Arrival {
        if self.at + 1 >= self.steps.len() {
            return Arrival::End;
        }
        let found = (self.at + 1..self.steps.len()).find(|at| stop(&self.steps[*at]));
        self.arrive(found.unwrap_or(self.steps.len() - 1), otherwise)
    }

    /// Back to the step before for which `stop` holds, or to the first.
    fn backward(&mut self, otherwise: Arrival, stop: impl Fn(&Step) -> bool) -> Arrival {
        let found = (0..self.at).rev().find(|at| stop(&self.steps[*at]));
        self.at = found.unwrap_or(0);
        if found.is_some() { otherwise } else { Arrival::Entry }
    }

    /// Into calls.
    pub(super) fn step_in(&mut self) -> Arrival {
        self.forward(Arrival::Step, |_| true)
    }
    /// Over calls.
    pub(super) fn next(&mut self) -> Arrival {
        let depth = self.depth();
        self.forward(Arrival::Step, |step| step.depth <= depth)
    }
    /// Out of the call.
    pub(super) fn step_out(&mut self) -> Arrival {
        let depth = self.depth();
        self.forward(Arrival::Step, |step| step.depth < depth)
    }
    /// Back, over calls.
    pub(super) fn step_back(&mut self) -> Arrival {
        let depth = self.depth();
        self.backward(Arrival::Step, |step| step.depth <= depth)
    }
    /// To the next breakpoint or the failure.
    pub(super) fn proceed(&mut self, is_breakpoint: impl Fn(&Step) -> bool) -> Arrival {
        self.forward(Arrival::Breakpoint, is_breakpoint)
    }
    /// To the breakpoint before or the first step.
    pub(super) fn reverse(&mut self, is_breakpoint: impl Fn(&Step) -> bool) -> Arrival {
        self.backward(Arrival::Breakpoint, is_breakpoint)
    }
    /// To the beginning.
    pub(super) fn restart(&mut self) {
        self.at = 0;
    }

    /// What is known now.
    pub(super) fn moment(&self) -> Moment {
        let mut moment = Moment::default();
        for step in self.steps.iter().take(self.at + 1) {
            let depth = step.depth as usize;
            moment.frames.truncate(depth + 1);
            while moment.frames.len() <= depth {
                moment.frames.push(Frame::default());
            }
            let frame = &mut moment.frames[depth];
            frame.function.clone_from(&step.function);
            frame.place.clone_from(&step.place);
            for (name, value) in &step.values {
                if step.kind == StepKind::Input {
                    moment.inputs.push((name.clone(), value.clone()));
                }
                let variables = if step.is_global { &mut moment.globals } else { &mut frame.locals };
                set(variables, name, value);
            }
            if step.kind == StepKind::Call {
                // The callee's frame begins with its arguments; it is shown when its first step is reached.
                moment.frames.push(Frame { locals: step.arguments.clone(), ..Frame::default() });
            }
        }
        if moment.frames.last().is_some_and(|frame| frame.function.is_empty()) {
            moment.frames.pop();
        }
        moment
    }
}

fn set(variables: &mut Variables, name: &str, value: &str) {
    match variables.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => value.clone_into(known),
        None => variables.push((name.to_owned(), value.to_owned())),
    }
}
