//! Calls: a frame is put on, and taken off with all that lived in it.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{Argument, Base, Callee, LocalId, dataflow::Liveness};
use proofline_cpa::CallContext;

use super::{
    Program,
    eval::{Result, Step, Stop, is_register},
    heap::{Frame, Heap, Shapes},
    region::{Life, Region, Rest},
    transfer::{Bytes, split},
    value::{Node, Value},
};

/// An argument or a result on its way between frames.
enum Passed {
    Scalar(Value),
    Bytes(Bytes),
}

/// From the call's source to the callee's entry.
pub(super) fn enter(
    program: &Program,
    from: &Heap,
    call: CallContext<'_>,
    liveness: Option<&Liveness>,
) -> Vec<Shapes> {
    let known = |state| match state {
        Shapes::Unknown(depth) => Shapes::Unknown(depth + 1),
        Shapes::Known(heap) => Shapes::Known(heap),
    };
    let entered = split(program, call.at.function, from, &|step| step.enter(call, liveness));
    entered.into_iter().map(known).collect()
}

/// From the callee's exit to the call's target.
pub(super) fn leave(program: &Program, exit: &Heap, call: CallContext<'_>) -> Vec<Shapes> {
    let left = split(program, call.at.function, exit, &|step| step.leave(call));
    let known = |state| match state {
        Shapes::Unknown(_) => Shapes::Unknown(exit.depth().saturating_sub(1)),
        Shapes::Known(heap) => Shapes::Known(heap),
    };
    left.into_iter().map(known).collect()
}

impl Step<'_> {
    fn enter(mut self, call: CallContext<'_>, liveness: Option<&Liveness>) -> Result<Vec<Heap>> {
        if let Callee::Indirect(pointer, _) = &call.call.callee {
            match self.eval(pointer)? {
                Value::Function(name) if name == call.callee.name => {}
                Value::Function(_) | Value::Pointer(_) | Value::Freed | Value::Ended => return Ok(Vec::new()),
                value if value.is_zero() => return Ok(Vec::new()),
                _ => {}
            }
        }
        let mut passed = Vec::new();
        for argument in &call.call.arguments {
            passed.push(match argument {
                Argument::Value(value) => Passed::Scalar(self.eval(value)?),
                Argument::Aggregate(lvalue) => Passed::Bytes(self.read_aggregate(lvalue, lvalue.size)?),
            });
        }
        self.drop_dead(call, liveness);
        let callee = call.callee;
        let depth = self.heap.frames.len() as u32;
        let mut registers = BTreeMap::new();
        let mut passed = passed.into_iter();
        for id in &callee.parameters {
            let (local, value) = (callee.local(*id), passed.next());
            if is_register(callee, *id) {
                if let Some(Passed::Scalar(value)) = value {
                    registers.insert(*id, value);
                }
                continue;
            }
            let size = if local.size == 0 { (0, u64::MAX) } else { (local.size, local.size) };
            let mut region = Region::new(size, Life::Variable, Rest::Any);
            match value {
                Some(Passed::Scalar(value)) => region.write(0, local.size, value),
                Some(Passed::Bytes(bytes)) => {
                    bytes.into_iter().for_each(|(at, size, value)| region.write(at, size, value));
                }
                None => {}
            }
            self.heap.nodes.insert(Node::Local(depth, *id), Arc::new(region));
        }
        self.heap.frames.push(Arc::new(Frame { function: callee.name, registers }));
        Ok(vec![self.heap])
    }

    /// Drops registers of the caller that nothing reads when the call has returned.
    fn drop_dead(&mut self, call: CallContext<'_>, liveness: Option<&Liveness>) {
        let Some(liveness) = liveness else { return };
        let edge = call.at.edge;
        // What the result overwrites.
        let replaced = match &call.call.dst {
            Some(dst) if dst.path.is_empty() && dst.bits.is_none() => match dst.base {
                Base::Local(id) => Some(id),
                Base::Global(_) | Base::Deref(..) => None,
            },
            _ => None,
        };
        let is_simple = call.call.dst.is_none() || replaced.is_some();
        let is_kept = |id: LocalId| {
            replaced != Some(id) && liveness.is_live(edge.to, id)
                || !is_simple && liveness.is_live(edge.from, id)
        };
        if let Some(frame) = self.heap.frame_mut() {
            frame.registers.retain(|id, _| is_kept(*id));
        }
    }

    fn leave(mut self, call: CallContext<'_>) -> Result<Vec<Heap>> {
        let callee = call.callee;
        let depth = self.heap.depth();
        let result = match (&call.call.dst, callee.result) {
            (Some(dst), Some(id)) if is_register(callee, id) => {
                let value = self.heap.frame().and_then(|frame| frame.registers.get(&id)).cloned();
                // A function that ends without a result: nobody may look at it.
                Some((dst, Passed::Scalar(value.unwrap_or(Value::Any))))
            }
            (Some(dst), Some(id)) => {
                let size = callee.local(id).size;
                let bytes = match self.heap.node(Node::Local(depth, id)) {
                    Some(region) => region.slice(0, size),
                    None => vec![(0, size, Value::Uninit)],
                };
                Some((dst, Passed::Bytes(bytes)))
            }
            (Some(dst), None) => Some((dst, Passed::Scalar(Value::Any))),
            (None, _) => None,
        };
        // The result is kept in the caller's frame, under a name that nothing else has, until its place is known.
        let slot = LocalId(u32::MAX);
        self.heap.frames.pop();
        let is_scalar = matches!(result, Some((_, Passed::Scalar(_))));
        if let Some((_, Passed::Scalar(value))) = &result {
            let value = value.clone();
            self.heap.frame_mut().ok_or(Stop::Unknown)?.registers.insert(slot, value);
        }
        let in_frame = |node: Node, region: &Region| match node {
            Node::Local(of, _) => of == depth,
            Node::Heap(_) => region.life == Life::Frame(depth),
            Node::Global(_) => false,
        };
        self.heap.end(&in_frame, &Value::Ended);
        // A local without a node may still be pointed to.
        self.heap.redirect(&|pointer| match pointer.to {
            Node::Local(of, _) => (of == depth).then_some(Value::Ended),
            Node::Global(_) | Node::Heap(_) => None,
        });
        let Some((dst, passed)) = result else { return Ok(vec![self.heap]) };
        if is_scalar {
            let frame = self.heap.frame_mut().ok_or(Stop::Unknown)?;
            let value = frame.registers.remove(&slot).unwrap_or(Value::Any);
            if dst.scalar.is_some() {
                self.store(dst, value)?;
            } else {
                self.write_aggregate(dst, vec![(0, dst.size, Value::Any)])?;
            }
        } else if let Passed::Bytes(bytes) = passed {
            let ended = |value: Value| match &value {
                Value::Pointer(pointer) => match pointer.to {
                    Node::Local(of, _) if of == depth => Value::Ended,
                    Node::Heap(_) if self.heap.node(pointer.to).is_none() => Value::Ended,
                    Node::Local(..) | Node::Global(_) | Node::Heap(_) => value,
                },
                _ => value,
            };
            let bytes = bytes.into_iter().map(|(at, size, value)| (at, size, ended(value))).collect();
            self.write_aggregate(dst, bytes)?;
        }
        Ok(vec![self.heap])
    }
}
