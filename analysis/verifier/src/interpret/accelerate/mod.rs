//! Loops that are simple are not run iteration by iteration: where a run goes round along one path (or along a few in turn), the values after
//! many iterations are computed at once. The state is then bit by bit what it would be.
//!
//! A loop that is entered often is recorded: the edges from one arrival at its head to the next. Once the same edges repeat, [`Iteration`]
//! describes one round of them, and says how often the path is certainly taken again: every condition on it, those of obligations among
//! them, holds in each of these iterations. All but the last of them are skipped; the last one is run, and gives a value to whatever is
//! written in every iteration before it is read. Where a value wraps around, where a condition changes and where an obligation fails, the
//! run goes on step by step.
//!
//! Trying costs steps, too, so a run stays within its limits; a loop where it does not pay is tried less and less often.

mod form;
mod iteration;

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{EdgeId, Loc, Structure, eval::Value};
use rustc_hash::FxHashMap;

use super::{
    code::FunctionIndex,
    machine::{End, Machine, Step, Stop},
    oracle::{Oracle, Passing},
    place::refused,
    trace::Passed,
};
use form::FARTHEST;
use iteration::{Cell, Form, Iteration};

/// An edge as the run passed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Taken {
    Edge(EdgeId),
    /// Into the function that the call edge calls.
    Enter(EdgeId),
    /// Back along the call edge.
    Leave(EdgeId),
    /// The call that was entered is pure, and its result was known.
    Remembered,
}

/// What a run knows about its loops.
#[derive(Debug, Default)]
pub(super) struct Accelerator {
    heads: FxHashMap<(FunctionIndex, Loc), Head>,
    recording: Option<Recording>,
}

/// One loop.
#[derive(Debug, Default)]
struct Head {
    visits: u64,
    /// Not tried before so many visits.
    next: u64,
    /// So often it was of no use, one after the other.
    failures: u32,
    /// What was taken again and again.
    path: Option<Arc<[Taken]>>,
}

/// The path of a loop, being written down.
#[derive(Debug)]
struct Recording {
    head: (FunctionIndex, Loc),
    /// Open calls at the head.
    depth: usize,
    path: Vec<Taken>,
    /// Where in the path each iteration starts.
    starts: Vec<usize>,
}

/// Paths that repeat after more iterations than this are not looked for.
const MOST_ITERATIONS: usize = 8;
/// A path may have so many edges.
const LONGEST: usize = 4096;
/// So often values are guessed anew: sums of sums settle in the third round.
const ROUNDS: usize = 5;
/// The first visits are not looked at.
const FIRST_VISITS: u64 = 8;
/// A path that was of no use so often is recorded anew.
const PATIENCE: u32 = 3;

impl Head {
    fn fails(&mut self) {
        self.failures += 1;
        self.next = self.visits + (1 << self.failures.min(14));
        if self.failures.is_multiple_of(PATIENCE) {
            self.path = None;
        }
    }
}

/// By location, whether a loop begins there.
pub(super) fn heads(function: &proofline_cfa::Function) -> Vec<bool> {
    let mut heads = vec![false; function.locations as usize];
    for found in Structure::of(function).loops() {
        heads[found.head.index()] = true;
    }
    heads
}

impl Recording {
    /// The edges of the last iterations, if those before them were the same.
    fn repeated(&self) -> Option<&[Taken]> {
        let count = self.starts.len() - 1;
        let part = |from: usize, to: usize| &self.path[self.starts[from]..self.starts[to]];
        (1..=count / 2)
            .find(|period| part(count - 2 * period, count - period) == part(count - period, count))
            .map(|period| part(count - period, count))
    }
}

impl<O: Oracle> Machine<'_, O> {
    /// An edge is passed.
    pub(super) fn record(&mut self, edge: EdgeId, passing: Passing) {
        let Some(recording) = self.accelerator.as_mut().and_then(|all| all.recording.as_mut()) else {
            return;
        };
        recording.path.push(match passing {
            Passing::Edge => Taken::Edge(edge),
            Passing::Enter(_) => Taken::Enter(edge),
            Passing::Leave => Taken::Leave(edge),
        });
        if recording.path.len() > LONGEST || self.frames.len() < recording.depth {
            self.stop_recording();
        }
    }

    /// The call that was passed last was not entered.
    pub(super) fn record_remembered(&mut self) {
        if let Some(recording) = self.accelerator.as_mut().and_then(|all| all.recording.as_mut()) {
            recording.path.push(Taken::Remembered);
        }
    }

    /// The loop that was recorded is none that can be described.
    fn stop_recording(&mut self) {
        let Some(all) = &mut self.accelerator else { return };
        if let Some(recording) = all.recording.take() {
            all.heads.entry(recording.head).or_default().fails();
        }
    }

    /// The run went on elsewhere: what was being written down is no path.
    pub(super) fn forget_recording(&mut self) {
        if let Some(all) = &mut self.accelerator {
            all.recording = None;
        }
    }

    /// The run arrives at the head of a loop. It may be some iterations further afterwards.
    pub(super) fn arrive_at_head(&mut self, head: (FunctionIndex, Loc)) -> Step<()> {
        let depth = self.frames.len();
        let Some(all) = &mut self.accelerator else { return Ok(()) };
        let known = all.heads.entry(head).or_default();
        known.visits += 1;
        if let Some(recording) = &mut all.recording {
            if recording.head != head || recording.depth != depth {
                return Ok(());
            }
            recording.starts.push(recording.path.len());
            let Some(path) = recording.repeated() else {
                if recording.starts.len() > 2 * MOST_ITERATIONS {
                    self.stop_recording();
                }
                return Ok(());
            };
            known.path = Some(path.into());
            all.recording = None;
        } else if known.visits < known.next.max(FIRST_VISITS) {
            return Ok(());
        }
        let Some(path) = known.path.clone() else {
            let (path, starts) = (Vec::new(), vec![0]);
            all.recording = Some(Recording { head, depth, path, starts });
            return Ok(());
        };
        let skipped = self.skip(&path)?;
        self.skipped += skipped * path.len() as u128;
        let Some(known) = self.accelerator.as_mut().and_then(|all| all.heads.get_mut(&head)) else {
            return Ok(());
        };
        // It has to pay: so many edges were looked at.
        if skipped > ROUNDS as u128 {
            known.failures = 0;
            known.next = known.visits + 1;
        } else {
            known.fails();
        }
        if skipped > 0 {
            self.note_skipped(head.0, head.1, Passed::Iterations(skipped));
        }
        Ok(())
    }

    /// Goes through the loop along the path as often as that is certain, but for the last time. How often.
    fn skip(&mut self, path: &[Taken]) -> Step<u128> {
        let mut guesses: BTreeMap<Cell, Form> = BTreeMap::new();
        for _ in 0..ROUNDS {
            self.count_steps(path.len() as u64);
            let Some(iteration) = Iteration::along(self, &guesses, path) else { return Ok(0) };
            let (read, written, limit) = (iteration.read, iteration.written, iteration.limit);
            let mut is_settled = true;
            for (cell, before) in &read {
                let Some(after) = written.get(cell) else { continue };
                match iteration::guess(before, after) {
                    Some(guess) if guess == *before => {}
                    Some(guess) => {
                        is_settled = false;
                        guesses.insert(*cell, guess);
                    }
                    None => return Ok(0),
                }
            }
            if is_settled {
                let Some(limit) = limit else { return Err(Stop::End(End::Diverges)) };
                let count = limit.min(FARTHEST).saturating_sub(1);
                for (cell, form) in read.iter().filter(|(cell, _)| written.contains_key(cell)) {
                    self.put(*cell, form, count)?;
                }
                return Ok(count);
            }
        }
        Ok(0)
    }

    /// Gives a cell what it has when so many iterations are over.
    fn put(&mut self, cell: Cell, form: &Form, count: u128) -> Step<()> {
        let Form::Polynomial(polynomial) = form else { return Ok(()) };
        let value = polynomial.at(count);
        match cell {
            Cell::Register(id) => {
                self.frame_mut().locals[id.index()] = Some(Value::Int(value));
                Ok(())
            }
            Cell::Memory(address, size) => self.memory.write(address, size, value as u128).or_else(refused),
        }
    }
}
