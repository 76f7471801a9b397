//! Long runs go on as machine code: once a run has taken many steps, the functions that are open, and those that they call, are compiled
//! (`proofline-native`), and at the heads of loops, the entries of functions and behind calls the state is handed over. Machine code comes back
//! wherever an edge is not plain, with the state before that edge; whether anything fails is always for the interpreter to say.
//!
//! What a run says then rests on machine code that changes the state as the interpreter would. That is looked at in each run, too:
//!
//! - At every place where machine code is entered, the first stretch is run by both, and so are later ones, after 1, 2, 4, 8 … slices. Frames and
//!   memory must be the same, bit by bit; otherwise the run is stuck.
//! - Where machine code comes to a condition that may fail after a long stretch, the stretch is run again without its end, and the last steps are
//!   the interpreter's.
//!
//! A slice is short enough for a run to be cancelled. Between slices the interpreter has a turn, for loops that need not be run
//! (`super::accelerate`).

mod objects;
mod state;

use proofline_cfa::{Loc, Op};
use proofline_cpa::Budget;
use proofline_native::{Environment, Native};
use rustc_hash::FxHashMap;

use super::{
    code::FunctionIndex,
    machine::{End, Limits, Machine, Step, Stop, stuck},
    oracle::Oracle,
    trace::Passed,
};
use state::Snapshot;

/// What a run knows about its machine code.
#[derive(Default)]
pub(super) struct MachineCode {
    code: Option<Native>,
    /// Whether it was asked for.
    is_tried: bool,
    /// Steps that it took.
    pub(super) steps: u64,
    entries: FxHashMap<(FunctionIndex, Loc), Entry>,
    /// Before so many steps of the interpreter it is not asked.
    rests_until: u64,
    slices: u64,
    /// The next stretch is run by both.
    is_doubted: bool,
    /// Every stretch is.
    is_always_doubted: bool,
}

/// A place where it is entered.
#[derive(Default)]
struct Entry {
    was_compared: bool,
    /// Short stretches, one after the other.
    failures: u32,
    /// So often it is passed by.
    passes: u32,
}

/// Steps of a stretch that is run by both.
const COMPARED: u64 = 1 << 10;
/// Steps of the first stretch, which nobody takes back.
const FIRST: u64 = 1 << 16;
/// Steps of a slice: some 30 ms.
const SLICE: u64 = 1 << 24;
/// Steps of the interpreter between slices, and at least as many before a failure.
const TURN: u64 = 1 << 11;
/// A stretch of less does not pay.
const SHORT: u64 = 32;
/// Frames that machine code may open before the limit of open calls.
const RESERVE: u32 = 20_000;
/// One in so many steps was a call that was not executed: then machine code, which executes each, is no faster.
const OFTEN: u64 = 64;

impl MachineCode {
    /// Whether it may be asked after so many steps.
    pub(super) fn is_ready(&self, steps: u64) -> bool {
        self.code.is_some() && steps >= self.rests_until
    }
}

impl<'c, O: Oracle> Machine<'c, O> {
    /// Whatever machine code does, the interpreter does again: tests ask for that.
    pub fn with_doubt(mut self) -> Machine<'c, O> {
        self.machine_code.is_always_doubted = true;
        self
    }

    /// Compiles what the run needs, when it is time to.
    pub(super) fn prepare_machine_code(&mut self) {
        let Limits { compiles_after, steps, .. } = self.limits;
        let is_quick = self.remembered > self.steps / OFTEN;
        let after = if is_quick { compiles_after.max(steps - steps / 4) } else { compiles_after };
        if self.machine_code.is_tried || self.limits.compiled_steps == 0 || self.steps <= after {
            return;
        }
        self.machine_code.is_tried = true;
        let program = &self.code.program;
        let near = self.memory.neighbourhood();
        let environment = Environment::new(program, &self.globals, super::start::function_address, near);
        let open: Vec<FunctionIndex> = self.frames.iter().map(|frame| frame.function).collect();
        self.machine_code.code = Native::compile(&environment, &open);
    }

    /// Goes on as machine code if that can begin here. Whether the run is somewhere else now.
    pub(super) fn go_on_compiled(&mut self, at: (FunctionIndex, Loc)) -> Step<bool> {
        let Some(mut code) = self.machine_code.code.take() else { return Ok(false) };
        let moved = self.go_on_with(&mut code, at);
        if self.machine_code.steps < self.limits.compiled_steps {
            self.machine_code.code = Some(code);
        }
        moved
    }

    fn go_on_with(&mut self, code: &mut Native, at: (FunctionIndex, Loc)) -> Step<bool> {
        if !code.is_entry(at.0, at.1) || self.frames.len() as u32 + RESERVE > self.limits.depth {
            return Ok(false);
        }
        let entry = self.machine_code.entries.entry(at).or_default();
        if entry.passes > 0 {
            entry.passes -= 1;
            return Ok(false);
        }
        let is_always = self.machine_code.is_always_doubted;
        let is_new = !entry.was_compared || self.machine_code.is_doubted || is_always;
        let mut goes_on = Some(true);
        let before = self.machine_code.steps;
        if is_new {
            goes_on = self.compare(code)?;
        }
        if goes_on == Some(true) && !is_always {
            goes_on = self.stretch(code, FIRST);
        }
        if goes_on == Some(true) && !is_always {
            goes_on = self.slice(code);
        }
        let taken = self.machine_code.steps - before;
        let entry = self.machine_code.entries.entry(at).or_default();
        if taken < SHORT && !is_always {
            entry.failures = (entry.failures + 1).min(6);
            entry.passes = 1 << entry.failures;
        } else {
            entry.failures = 0;
        }
        if taken == 0 {
            return Ok(false);
        }
        entry.was_compared |= is_new;
        self.machine_code.is_doubted &= !is_new;
        self.forget_recording();
        self.note_skipped(at.0, at.1, Passed::Steps(taken));
        // What it took are no steps of the interpreter.
        self.steps -= 1;
        if self.budget.is_some_and(Budget::is_over) {
            return Err(Stop::End(End::OutOfSteps));
        }
        if goes_on == Some(true) && !is_always {
            self.machine_code.rests_until = self.steps + TURN;
            self.machine_code.slices += 1;
            self.machine_code.is_doubted |= self.machine_code.slices.is_power_of_two();
        }
        Ok(true)
    }

    /// Runs so many steps. Whether it could have gone on; `None` if it could not even begin.
    fn stretch(&mut self, code: &mut Native, fuel: u64) -> Option<bool> {
        let outcome = self.run_compiled(code, fuel)?;
        self.machine_code.steps += outcome.steps;
        Some(outcome.is_out_of_fuel)
    }

    /// Runs a slice. The last steps before a condition that may fail are the interpreter's.
    fn slice(&mut self, code: &mut Native) -> Option<bool> {
        let before = Snapshot::of(self);
        let outcome = self.run_compiled(code, SLICE)?;
        if outcome.is_out_of_fuel || !self.may_fail_here() || outcome.steps <= TURN {
            self.machine_code.steps += outcome.steps;
            return Some(outcome.is_out_of_fuel);
        }
        before.restore(self);
        self.machine_code.rests_until = self.steps + 2 * TURN;
        self.stretch(code, outcome.steps - TURN)?;
        Some(false)
    }

    fn may_fail_here(&self) -> bool {
        let frame = self.frame();
        let code = &self.code.functions[frame.function as usize];
        code.successors[frame.at.index()].iter().any(|id| {
            let edge = code.function.edge(*id);
            matches!(edge.op, Op::Assume(_)) && code.obligation[edge.to.index()].is_some()
        })
    }

    /// Takes some steps both ways, and goes on with what the interpreter found.
    fn compare(&mut self, code: &mut Native) -> Step<Option<bool>> {
        let before = Snapshot::of(self);
        // Tests look at stretches of every length.
        let is_always = self.machine_code.is_always_doubted;
        let fuel = if is_always { 1 << (self.machine_code.steps % 11) } else { COMPARED };
        let Some(outcome) = self.run_compiled(code, fuel) else { return Ok(None) };
        let compiled = Snapshot::since(self, &before);
        before.restore(self);
        if !self.repeat(outcome.steps) || !compiled.is_state_of(self) {
            return stuck("machine code does not do what the interpreter does");
        }
        self.machine_code.steps += outcome.steps;
        Ok(Some(outcome.is_out_of_fuel))
    }

    /// Takes so many steps, each by itself. Whether there were so many, without a question.
    fn repeat(&mut self, steps: u64) -> bool {
        let (trace, accelerator) = (self.trace.take(), self.accelerator.take());
        let asked = self.inputs.len();
        self.is_repeating = true;
        let is_same = (0..steps).all(|_| self.step().is_ok()) && self.inputs.len() == asked;
        self.is_repeating = false;
        (self.trace, self.accelerator) = (trace, accelerator);
        is_same
    }
}
