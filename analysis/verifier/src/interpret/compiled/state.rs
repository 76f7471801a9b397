//! States that go to machine code and come back, are kept, and are compared.

use proofline_cfa::{LocalId, eval::Value};
use proofline_native::{self as native, Native, Outcome};

use super::{
    super::{
        machine::{Frame, Machine},
        memory::Memory,
        oracle::Oracle,
    },
    objects::Objects,
};

/// What machine code may change: the innermost frame, those above it, and memory.
pub(super) struct Snapshot {
    /// Frames below.
    depth: usize,
    frames: Vec<Frame>,
    memory: Memory,
    is_determined: bool,
}

impl Snapshot {
    /// The innermost frame and memory.
    pub(super) fn of<O: Oracle>(machine: &Machine<'_, O>) -> Snapshot {
        Snapshot::from(machine, machine.frames.len() - 1)
    }

    /// The frames since another one, and memory.
    pub(super) fn since<O: Oracle>(machine: &Machine<'_, O>, before: &Snapshot) -> Snapshot {
        Snapshot::from(machine, before.depth)
    }

    fn from<O: Oracle>(machine: &Machine<'_, O>, depth: usize) -> Snapshot {
        Snapshot {
            depth,
            frames: machine.frames[depth..].to_vec(),
            memory: machine.memory.clone(),
            is_determined: machine.is_determined,
        }
    }

    /// Makes it the machine's state again.
    pub(super) fn restore<O: Oracle>(&self, machine: &mut Machine<'_, O>) {
        machine.frames.truncate(self.depth);
        machine.frames.extend(self.frames.iter().cloned());
        machine.memory = self.memory.clone();
        machine.is_determined = self.is_determined;
    }

    /// Whether the machine's state is this one. Machine code does not see that it reads the bytes of an address as a number; the interpreter does.
    pub(super) fn is_state_of<O: Oracle>(&self, machine: &Machine<'_, O>) -> bool {
        let is_same = |(a, b): (&Frame, &Frame)| {
            (a.function, a.at, a.call, a.heap_from) == (b.function, b.at, b.call, b.heap_from)
                && a.locals == b.locals
                && a.extra == b.extra
        };
        (self.is_determined || !machine.is_determined)
            && machine.frames.len() == self.depth + self.frames.len()
            && self.frames.iter().zip(&machine.frames[self.depth..]).all(is_same)
            && self.memory.is_equal(&machine.memory)
    }
}

impl<O: Oracle> Machine<'_, O> {
    /// Runs machine code from the innermost frame on. `None`, and nothing has changed, if it cannot begin there.
    pub(super) fn run_compiled(&mut self, code: &mut Native, fuel: u64) -> Option<Outcome> {
        let frame = self.frame();
        let function = frame.function;
        let number = |(at, value): (usize, &Option<Value>)| match value {
            Some(Value::Int(value)) if code.keeps(function, LocalId(at as u32)) => Some(*value),
            Some(Value::Int(_) | Value::Float(_)) | None => None,
        };
        let locals = frame.locals.iter().enumerate().map(number).collect();
        let given = native::Frame { function, call: None, at: frame.at, locals };
        let mut objects = Objects { memory: &mut self.memory, code: self.code };
        let outcome = code.run(&mut objects, &given, fuel)?;
        let [lowest, above @ ..] = &outcome.frames[..] else { return None };
        let frame = self.frame_mut();
        frame.at = lowest.at;
        for (at, (local, value)) in frame.locals.iter_mut().zip(&lowest.locals).enumerate() {
            if code.keeps(function, LocalId(at as u32)) {
                *local = value.map(Value::Int);
            }
        }
        let heap_from = self.memory.next_on_heap();
        self.frames.extend(above.iter().map(|frame| Frame {
            function: frame.function,
            at: frame.at,
            locals: frame.locals.iter().map(|value| value.map(Value::Int)).collect(),
            extra: Vec::new(),
            heap_from,
            call: frame.call,
            memo: None,
        }));
        self.is_determined &= !outcome.is_undetermined;
        Some(outcome)
    }
}
