//! Moments of a run at which somebody looks at its memory. A run is repeated for that, so that runs nobody looks at pay nothing.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Edge, Lvalue, Op, Scalar, eval::Value};

use super::{
    machine::Machine,
    oracle::Oracle,
    place::{Place, decode_bits, field, value_bytes},
};
use crate::{finding::mentioned, scene::Scene};

/// A moment of a run, counted by what its trace says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Moment {
    /// So many events have happened.
    pub(crate) events: u64,
    /// So many objects of the callers have come into being while it ran.
    pub(crate) made_up: usize,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Memory at the moments that were asked for.
    pub(crate) at: BTreeMap<Moment, Scene>,
    /// Memory at the end.
    pub(crate) last: Option<Scene>,
    /// What the condition that was taken last reads, as far as it has a value.
    pub(crate) values: Vec<(Lvalue, Value, Scalar)>,
}

/// Who looks, and what was seen.
#[derive(Debug, Default)]
pub(super) struct Watch {
    wanted: BTreeSet<Moment>,
    pub(super) seen: Seen,
}

impl Watch {
    pub(super) fn at(wanted: BTreeSet<Moment>) -> Watch {
        Watch { wanted, seen: Seen::default() }
    }
}

impl<O: Oracle> Machine<'_, O> {
    /// Looks, if this is one of the moments. `edge`: what has just happened.
    pub(super) fn watch(&mut self, edge: Option<&Edge>) {
        let (Some(watch), Some(trace)) = (&self.watch, &self.trace) else { return };
        let moment =
            Moment { events: trace.dropped + trace.events.len() as u64, made_up: trace.made_up.len() };
        if !watch.wanted.contains(&moment) {
            return;
        }
        let scene = self.look(edge);
        if let Some(watch) = &mut self.watch {
            watch.seen.at.insert(moment, scene);
        }
    }

    /// Looks once more where the run has ended.
    pub(super) fn watch_end(&mut self) {
        if self.watch.is_none() {
            return;
        }
        let code = self.code;
        let last = self.trace.as_ref().and_then(|trace| trace.events.last());
        let taken = last.and_then(|event| {
            let index = *code.by_name.get(&event.function)?;
            Some((index, code.functions[index as usize].function.edge(event.edge)))
        });
        let scene = self.look(taken.map(|(_, edge)| edge));
        let mut values = Vec::new();
        if let Some((index, edge)) = taken
            && self.frames.last().is_some_and(|frame| frame.function == index)
            && let Op::Assume(condition) = &edge.op
        {
            let mut lvalues = Vec::new();
            mentioned(condition, &mut lvalues);
            values.extend(lvalues.into_iter().filter_map(|lvalue| {
                let (value, scalar) = self.value_now(index, &lvalue)?;
                Some((lvalue, value, scalar))
            }));
        }
        if let Some(watch) = &mut self.watch {
            (watch.seen.last, watch.seen.values) = (Some(scene), values);
        }
    }

    /// What is there, if it has a value. Nothing is chosen for that.
    fn value_now(&mut self, function: u32, lvalue: &Lvalue) -> Option<(Value, Scalar)> {
        let code = self.code;
        let scalar = lvalue.scalar?;
        let asked = self.inputs.len();
        let place = self.place(&code.functions[function as usize], lvalue);
        if self.inputs.len() > asked {
            self.inputs.truncate(asked);
            return None;
        }
        let value = match place.ok()? {
            Place::Register(id) => self.frame().locals[id.index()]?,
            Place::Memory(address) => {
                let (size, mask) = match lvalue.bits {
                    Some(bits) => field(bits),
                    None => {
                        let size = value_bytes(&code.program, scalar);
                        (size, u128::MAX >> (128 - 8 * size.clamp(1, 16)))
                    }
                };
                let (raw, known) = self.memory.peek(address, size, mask)?;
                decode_bits(raw, scalar, lvalue.bits).filter(|_| known == mask)?
            }
        };
        Some((value, scalar))
    }
}
