//! Calls of a run as numbers: which integers a function of interest begins with, and which it returns with.

use proofline_cfa::{LocalId, Name, Scalar, eval::Value, scalar_of};
use rustc_hash::FxHashMap;

use super::{
    code::FunctionIndex,
    machine::Machine,
    oracle::Oracle,
    place::{decode_bits, value_bytes},
};

/// What is written down of each call of a function.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    /// Which function.
    pub(crate) function: Name,
    /// Parameters that are integers and whose address nobody takes.
    pub(crate) parameters: Vec<LocalId>,
    /// Integers with static storage.
    pub(crate) globals: Vec<Name>,
}

/// A call, in the order of an [`Interface`]. What has no value is not known.
#[derive(Clone, Debug)]
pub(crate) struct CallNumbers {
    /// Which function.
    pub(crate) function: Name,
    /// What its parameters were given.
    pub(crate) arguments: Vec<Option<i128>>,
    /// Globals when it begins.
    pub(crate) before: Vec<Option<i128>>,
    /// Globals and result when it returns, if it does.
    pub(crate) after: Option<(Vec<Option<i128>>, Option<i128>)>,
}

/// Who writes calls down, and what was written.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    wanted: FxHashMap<FunctionIndex, Interface>,
    /// Calls that have not returned: how deep their frame lies, and which one of `calls` it is.
    open: Vec<(usize, usize)>,
    pub(super) calls: Vec<CallNumbers>,
    most: usize,
}

impl<O: Oracle> Machine<'_, O> {
    /// Writes down calls of these functions, the first ones.
    pub(crate) fn logging_calls(mut self, wanted: &[Interface], most: usize) -> Self {
        let by_index = wanted.iter().filter_map(|interface| {
            let index = self.code.by_name.get(&interface.function)?;
            Some((*index, interface.clone()))
        });
        let wanted = by_index.collect();
        self.calls = Some(CallLog { wanted, most, ..CallLog::default() });
        self
    }

    /// A frame was opened.
    pub(super) fn log_entry(&mut self) {
        let Some(log) = &self.calls else { return };
        let frame = self.frame();
        let Some(interface) = log.wanted.get(&frame.function) else { return };
        if log.calls.len() >= log.most {
            return;
        }
        let integer = |value: Option<Value>| value.and_then(Value::int);
        let arguments = interface.parameters.iter().map(|id| integer(frame.locals[id.index()])).collect();
        let before = interface.globals.iter().map(|name| self.global_now(*name)).collect();
        let call = CallNumbers { function: interface.function, arguments, before, after: None };
        let depth = self.frames.len();
        if let Some(log) = &mut self.calls {
            log.open.push((depth, log.calls.len()));
            log.calls.push(call);
        }
    }

    /// The innermost frame is about to be closed.
    pub(super) fn log_exit(&mut self, result: Option<Value>) {
        let depth = self.frames.len();
        let Some(log) = &mut self.calls else { return };
        let Some((_, at)) = log.open.pop_if(|(opened, _)| *opened == depth) else { return };
        let globals = match log.wanted.get(&self.frames[depth - 1].function) {
            Some(interface) => interface.globals.clone(),
            None => return,
        };
        let after = globals.into_iter().map(|name| self.global_now(name)).collect();
        if let Some(log) = &mut self.calls {
            log.calls[at].after = Some((after, result.and_then(Value::int)));
        }
    }

    /// An integer with static storage, if it has a value.
    fn global_now(&self, name: Name) -> Option<i128> {
        let program = &self.code.program;
        let scalar = scalar_of(program.globals.get(&name)?.ty, program.data_model)?;
        let Scalar::Int(_) = scalar else { return None };
        let size = value_bytes(program, scalar);
        let mask = u128::MAX >> (128 - 8 * size.clamp(1, 16));
        let (raw, known) = self.memory.peek(*self.globals.get(&name)?, size, mask)?;
        decode_bits(raw, scalar, None).filter(|_| known == mask)?.int()
    }
}
