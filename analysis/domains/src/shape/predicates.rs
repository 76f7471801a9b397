//! The predicates on memory: lives and sizes of objects, which bytes have a value, what is left. `None`: not known.

use std::collections::BTreeSet;

use proofline_cfa::{Base, Expr, IntType, MemoryPredicate, Object};

use super::{
    eval::{Result, Step},
    region::Life,
    value::{End, Node, Pointer, Value},
};

/// So many bytes are looked at for the end of a string.
const LONGEST_LOOK: u64 = 1024;

impl Step<'_> {
    /// Whether it holds.
    pub(super) fn predicate(
        &mut self,
        predicate: MemoryPredicate,
        pointer: &Expr,
        size: &Expr,
    ) -> Result<Option<bool>> {
        let size_type = size.int_type().unwrap_or(IntType { bits: 64, signed: false });
        match predicate {
            MemoryPredicate::NothingLost => {
                let frames = self.eval(size)?;
                let frames = self.ranges(&frames, size_type);
                return Ok(self.is_nothing_lost(frames.as_single() == Some(0)).then_some(true));
            }
            MemoryPredicate::NothingLeft => {
                let is_left = self.heap.allocated().any(|(_, region)| region.life == Life::Heap);
                return Ok(if is_left {
                    Some(false)
                } else {
                    (!self.heap.lost && !self.program.has_older).then_some(true)
                });
            }
            MemoryPredicate::SameObject => {
                let (a, b) = (self.eval(pointer)?, self.eval(size)?);
                return Ok(match (&a, &b) {
                    (Value::Pointer(p), Value::Pointer(q)) => {
                        let is_one = p.to == q.to && (p.end == q.end || !self.heap.is_segment(p));
                        is_one.then_some(true)
                    }
                    _ => (a.is_zero() && b.is_zero()).then_some(true),
                });
            }
            MemoryPredicate::Writable => {
                let value = self.eval(pointer)?;
                let is_writable = match &value {
                    Value::Pointer(at) => match at.to {
                        Node::Heap(_) => true,
                        Node::Global(name) => !self.program.env.program().is_read_only(Object::Global(name)),
                        Node::Local(..) => false,
                    },
                    Value::Freed | Value::Ended | Value::Function(_) => true,
                    value => value.is_zero(),
                };
                return Ok(is_writable.then_some(true));
            }
            MemoryPredicate::Callable => return self.callable(pointer, size),
            MemoryPredicate::NotFreed
            | MemoryPredicate::NotEnded
            | MemoryPredicate::InBounds
            | MemoryPredicate::Within
            | MemoryPredicate::Freeable
            | MemoryPredicate::Initialised
            | MemoryPredicate::Terminated
            | MemoryPredicate::WideTerminated => {}
        }
        let size = self.eval(size)?;
        let size = self.ranges(&size, size_type);
        let (least, most) = (size.lo(), size.hi());
        let value = self.eval(pointer)?;
        Ok(match (predicate, &value) {
            (MemoryPredicate::InBounds, _) if most == 0 => Some(true),
            (MemoryPredicate::NotFreed, Value::Freed) | (MemoryPredicate::NotEnded, Value::Ended) => {
                Some(false)
            }
            (
                MemoryPredicate::NotFreed | MemoryPredicate::NotEnded,
                Value::Pointer(_) | Value::Function(_) | Value::Freed | Value::Ended,
            ) => Some(true),
            (MemoryPredicate::NotFreed | MemoryPredicate::NotEnded, value) if value.is_zero() => Some(true),
            (MemoryPredicate::InBounds | MemoryPredicate::Within, Value::Pointer(at)) => {
                let (smallest, largest) = self.extent(at.to);
                let (least, most) = if predicate == MemoryPredicate::Within { (0, 0) } else { (least, most) };
                if at.low >= 0 && i128::from(at.high) + most <= i128::from(smallest) {
                    Some(true)
                } else {
                    let is_outside = at.high < 0 || i128::from(at.low) + least > i128::from(largest);
                    (is_outside && (least > 0 || predicate == MemoryPredicate::Within)).then_some(false)
                }
            }
            (MemoryPredicate::InBounds, value) if value.is_zero() && least > 0 => Some(false),
            (MemoryPredicate::Within | MemoryPredicate::Freeable, value) if value.is_zero() => Some(true),
            (MemoryPredicate::Freeable, Value::Pointer(at)) => {
                let is_heap = self.heap.node(at.to).is_some_and(|region| region.life == Life::Heap);
                match (is_heap, at.offset()) {
                    (true, Some(0)) => Some(true),
                    (false, _) | (true, Some(_)) => Some(false),
                    (true, None) => None,
                }
            }
            (MemoryPredicate::Freeable, Value::Freed | Value::Ended | Value::Function(_)) => Some(false),
            (MemoryPredicate::Initialised, Value::Pointer(at)) => {
                let is_given = match at.to {
                    Node::Heap(_) if at.end == End::Each => false,
                    Node::Heap(_) | Node::Local(..) | Node::Global(_) => {
                        u64::try_from(most).is_ok_and(|most| self.have_values(at, most))
                    }
                };
                is_given.then_some(true)
            }
            (MemoryPredicate::Terminated, Value::Pointer(at)) => {
                self.is_terminated(at, 1, least).then_some(true)
            }
            (MemoryPredicate::WideTerminated, Value::Pointer(at)) => {
                self.is_terminated(at, 4, least).then_some(true)
            }
            _ => None,
        })
    }

    /// Whether the bytes have values. What is kept of every object of a segment may be asked without materialising one.
    fn have_values(&self, at: &Pointer, size: u64) -> bool {
        size == 0 || self.bytes(at, size).is_ok_and(|value| value != Value::Uninit)
    }

    fn is_terminated(&self, at: &Pointer, width: u64, most: i128) -> bool {
        let ended = self.heap.node(at.to).and_then(|region| region.ended);
        if width == 1 && most == 0 && at.low >= 0 && ended.is_some_and(|from| at.high <= from as i64) {
            return true;
        }
        let Some(from) = at.offset() else { return false };
        let characters = if most == 0 { LONGEST_LOOK } else { (most as u64).min(LONGEST_LOOK) };
        (0..characters).any(|index| {
            let low = from.saturating_add((index * width) as i64);
            let (least, _) = self.extent(at.to);
            let is_in = low >= 0 && low as u64 + width <= least;
            is_in && self.bytes(&Pointer { low, high: low, ..*at }, width).is_ok_and(|value| value.is_zero())
        })
    }

    /// Whether the function that the pointer certainly leads to may be called so.
    fn callable(&mut self, pointer: &Expr, arguments: &Expr) -> Result<Option<bool>> {
        let (Expr::Address(lvalue), Expr::Int(count, _)) = (pointer, arguments) else { return Ok(None) };
        let Base::Deref(called, _) = &lvalue.base else { return Ok(None) };
        let Value::Function(name) = self.eval(called)? else { return Ok(None) };
        Ok(self.program.env.program().may_call(name, lvalue.ty, *count as usize))
    }

    /// Whether every heap object can be reached from variables: all of them, or those that are there when the innermost function has
    /// returned.
    fn is_nothing_lost(&self, is_end: bool) -> bool {
        let may_lose_older = || is_end || self.program.env.may_lose_older(self.function.name);
        if self.heap.lost || self.program.has_older && may_lose_older() {
            return false;
        }
        let depth = self.heap.depth();
        let result = self.function.result;
        let mut roots: Vec<Node> = Vec::new();
        for (at, frame) in self.heap.frames.iter().enumerate() {
            let is_held = |id| is_end || at as u32 != depth || result == Some(id);
            let held = frame.registers.iter().filter(|(id, _)| is_held(**id));
            roots.extend(held.flat_map(|(_, value)| value.pointers()).map(|pointer| pointer.to));
        }
        roots.extend(self.heap.nodes.iter().filter_map(|(node, region)| match (node, region.life) {
            (Node::Global(_), _) => Some(*node),
            (Node::Local(of, id), _) => (is_end || *of != depth || result == Some(*id)).then_some(*node),
            (Node::Heap(_), Life::Frame(of)) => (is_end || of != depth).then_some(*node),
            (Node::Heap(_), Life::Heap | Life::Variable) => None,
        }));
        let mut reached: BTreeSet<Node> = BTreeSet::new();
        // A variable of the innermost frame holds nothing, even if another one leads to it.
        let is_gone = |node: &Node| match node {
            Node::Local(of, id) => !is_end && *of == depth && result != Some(*id),
            Node::Heap(_) => {
                !is_end && self.heap.node(*node).is_some_and(|region| region.life == Life::Frame(depth))
            }
            Node::Global(_) => false,
        };
        while let Some(node) = roots.pop() {
            if !is_gone(&node)
                && reached.insert(node)
                && let Some(region) = self.heap.node(node)
            {
                let values = region.cells.values().map(|cell| &cell.value);
                roots.extend(values.flat_map(Value::pointers).map(|pointer| pointer.to));
            }
        }
        self.heap
            .allocated()
            .all(|(id, region)| region.life != Life::Heap || reached.contains(&Node::Heap(id)))
    }
}
