//! What edges do to a graph. Every operation is decided here, none is forgotten.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Allocation, Base, Callee, Cause, Edge, Expr, Function, LibraryResult, Lvalue, Object, Op, Quantity, Role,
    Scalar, copied_character,
};
use proofline_cpa::EdgeContext;
use proofline_hir::TypeKind;

use super::{
    Program,
    eval::{Result, Step, Stop, Target, is_register, no_object},
    heap::{Heap, Length, Shapes},
    region::{Life, Region, Rest},
    segment::materialise,
    value::{Node, Pointer, Value},
};
use crate::interval::Ranges;

/// So many segments may be materialised for one operation.
const MOST_STEPS: u32 = 12;

/// The successors along an edge that is no call.
pub(super) fn transfer(program: &Program, from: &Heap, at: EdgeContext<'_>) -> Vec<Shapes> {
    split(program, at.function, from, &|step| step.edge(at.edge, at.function.edge(at.id)))
}

/// Does something, materialising segments where that is needed.
pub(super) fn split<'a>(
    program: &'a Program,
    function: &'a Function,
    from: &Heap,
    work: &dyn Fn(Step<'a>) -> Result<Vec<Heap>>,
) -> Vec<Shapes> {
    let mut result = Vec::new();
    let mut open = vec![(from.clone(), 0)];
    while let Some((heap, steps)) = open.pop() {
        let depth = heap.depth();
        match work(Step { program, function, heap: heap.clone() }) {
            Ok(states) => result.extend(states.into_iter().map(Shapes::Known)),
            Err(Stop::Impossible) => {}
            Err(Stop::Needs(id, end)) if steps < MOST_STEPS => match materialise(&heap, id, end) {
                Some(cases) => open.extend(cases.into_iter().rev().map(|case| (case, steps + 1))),
                None => return vec![Shapes::Unknown(depth)],
            },
            Err(Stop::Needs(..) | Stop::Unknown) => return vec![Shapes::Unknown(depth)],
        }
    }
    result
}

/// Bytes on their way.
pub(super) type Bytes = Vec<(u64, u64, Value)>;

impl Step<'_> {
    /// `original`: the edge of the automaton, which may be a call that leaves the program.
    fn edge(mut self, edge: &Edge, original: &Edge) -> Result<Vec<Heap>> {
        match &edge.op {
            Op::Skip => {}
            Op::Assume(condition) => self.assume(condition, true)?,
            Op::Assign(dst, value) => {
                let copied = copied_character(self.function, dst, value);
                let is_without = match copied {
                    Some(from) => match self.resolve(from)? {
                        Target::Memory(from) => {
                            self.object(&from)?;
                            self.bytes(&from, 1)? == Value::Uninit
                        }
                        Target::Register(_) | Target::Beside(..) => false,
                    },
                    None => false,
                };
                let value = self.eval(value)?;
                self.store(dst, if is_without { Value::Uninit } else { value })?;
            }
            Op::Copy(dst, src) => {
                let bytes = self.read_aggregate(src, dst.size)?;
                self.write_aggregate(dst, bytes)?;
            }
            Op::Havoc(dst, Cause::Indeterminate) if !matches!(self.resolve(dst)?, Target::Register(_)) => {
                self.write_aggregate(dst, vec![(0, dst.size, Value::Uninit)])?;
            }
            Op::Havoc(dst, _) => {
                self.havoc(dst)?;
                self.measure(dst)?;
            }
            Op::Clobber(values, _) => {
                if self.leaves(original)? {
                    self.clobber(values)?;
                } else {
                    return Ok(Vec::new());
                }
            }
            Op::Call(_) => return Err(Stop::Unknown),
            Op::Allocate(allocation) => return self.allocate(allocation),
            Op::Free(pointer) => self.free(pointer)?,
            Op::CopyBytes(to, from, size) => self.copy_bytes(to, from, size)?,
            Op::FillBytes(to, byte, size) => {
                let (to, byte, size) = (self.eval(to)?, self.eval(byte)?, self.size(size)?);
                let value = if byte.is_zero() { Value::null() } else { Value::Any };
                self.fill(&to, size, value)?;
            }
            Op::HavocBytes(to, size, cause) => {
                let (to, size) = (self.eval(to)?, self.size(size)?);
                // What it decides on the way may be to leave everything as it is.
                let size = if matches!(cause, Cause::Within(_)) { (0, size.1) } else { size };
                self.fill(&to, size, Value::Any)?;
            }
            Op::Begin(id) | Op::End(id) => {
                let local = self.function.local(*id);
                if is_register(self.function, *id) {
                    let frame = self.heap.frame_mut().ok_or(Stop::Unknown)?;
                    let held = frame.registers.remove(id);
                    if local.role == Role::VariableArray
                        && let Some(Value::Pointer(pointer)) = held
                    {
                        let is_array = |region: &Region| matches!(region.life, Life::Frame(_));
                        self.heap.end(&|node, region| node == pointer.to && is_array(region), &Value::Ended);
                    }
                } else {
                    let node = Node::Local(self.heap.depth(), *id);
                    self.heap.forget_lengths(node);
                    self.heap.nodes.remove(&node);
                    self.heap.redirect(&|pointer| (pointer.to == node).then_some(Value::Ended));
                    if matches!(edge.op, Op::Begin(_)) && local.size > 0 {
                        let region = Region::new((local.size, local.size), Life::Variable, Rest::Uninit);
                        self.heap.nodes.insert(node, Arc::new(region));
                    }
                }
            }
        }
        Ok(vec![self.heap])
    }

    /// Bounds of a number of bytes.
    fn size(&mut self, size: &Expr) -> Result<(u64, u64)> {
        let ty = self.program.env.program().size_type();
        let value = self.eval(size)?;
        let known = self.ranges(&value, size.int_type().unwrap_or(ty));
        let number = |number: i128, other| u64::try_from(number).unwrap_or(other);
        Ok((number(known.lo(), 0), number(known.hi(), u64::MAX)))
    }

    /// The bytes of an aggregate, from 0 on.
    pub(super) fn read_aggregate(&mut self, src: &Lvalue, size: u64) -> Result<Bytes> {
        if size == 0 {
            return Err(Stop::Unknown);
        }
        match self.resolve(src)? {
            Target::Memory(pointer) => self.read_bytes(&pointer, size),
            Target::Register(_) => Err(Stop::Unknown),
            Target::Beside(value, _) => match no_object(&value) {
                Stop::Impossible => Err(Stop::Impossible),
                Stop::Needs(..) | Stop::Unknown => Ok(vec![(0, size, Value::Any)]),
            },
        }
    }

    fn read_bytes(&mut self, pointer: &Pointer, size: u64) -> Result<Bytes> {
        self.object(pointer)?;
        let whole = self.bytes(pointer, size)?;
        let pieces = |region: &Region, at: u64| {
            let pieces = region.slice(at, size).into_iter();
            pieces.map(|(start, size, value)| (start - at, size, value)).collect()
        };
        let Some(at) = pointer.offset().and_then(|at| u64::try_from(at).ok()) else {
            return Ok(vec![(0, size, whole)]);
        };
        Ok(match (self.heap.node(pointer.to), pointer.to) {
            (Some(region), _) => pieces(region, at),
            (None, Node::Global(name)) => match self.program.constant(name) {
                Some(region) => pieces(region, at),
                None => vec![(0, size, Value::Any)],
            },
            (None, Node::Local(..) | Node::Heap(_)) => vec![(0, size, Value::Uninit)],
        })
    }

    pub(super) fn write_aggregate(&mut self, dst: &Lvalue, bytes: Bytes) -> Result<()> {
        match self.resolve(dst)? {
            Target::Memory(pointer) => self.write_bytes(&pointer, bytes),
            Target::Register(_) => Err(Stop::Unknown),
            Target::Beside(value, _) => Err(no_object(&value)),
        }
    }

    fn write_bytes(&mut self, pointer: &Pointer, bytes: Bytes) -> Result<()> {
        let size = bytes.last().map_or(0, |(at, size, _)| at + size);
        let Some(at) = pointer.offset() else {
            // Bytes without a value may come anywhere there.
            if bytes.iter().any(|(_, _, value)| *value == Value::Uninit) {
                let most = self.extent(pointer.to).1.min(1 << 40);
                let region = self.writable(pointer)?;
                region.write(0, most, Value::Uninit);
                return Ok(());
            }
            return self.scramble(pointer, size);
        };
        if at < 0 || at as u64 + size > self.extent(pointer.to).1 {
            return Err(Stop::Impossible);
        }
        // A part of a segment's object is written: it must be one object.
        let region = self.writable(pointer)?;
        for (start, size, value) in bytes {
            region.write(at as u64 + start, size, value);
        }
        Ok(())
    }

    fn havoc(&mut self, dst: &Lvalue) -> Result<()> {
        match dst.scalar {
            Some(Scalar::Int(ty)) => {
                let ty = dst.bits.map_or(ty, |bits| proofline_cfa::IntType { bits: bits.width, ..ty });
                self.store(dst, Value::Number(Ranges::of(ty)))
            }
            Some(Scalar::Float(_) | Scalar::Pointer) => self.store(dst, Value::Any),
            None if dst.size > 0 => self.write_aggregate(dst, vec![(0, dst.size, Value::Any)]),
            None => match self.resolve(dst)? {
                Target::Memory(pointer) => {
                    let most = self.extent(pointer.to).1;
                    self.scramble(&Pointer { low: 0, high: 0, ..pointer }, most)
                }
                Target::Register(_) => Err(Stop::Unknown),
                Target::Beside(value, _) => Err(no_object(&value)),
            },
        }
    }

    /// If that is what the temporary is for, its number is the length of a string from now on.
    fn measure(&mut self, dst: &Lvalue) -> Result<()> {
        let (Base::Local(id), Some(Scalar::Int(ty))) = (&dst.base, dst.scalar) else { return Ok(()) };
        let mut results = self.function.library_results.iter();
        let is_length = |of: &&LibraryResult| of.dst == *id && of.quantity == Quantity::StringLength;
        let Some([string]) = results.find(is_length).map(|result| &result.arguments[..]) else {
            return Ok(());
        };
        if let Value::Pointer(of) = self.eval(string)?
            && of.offset().is_some()
            && !self.heap.is_segment(&of)
        {
            let value = self.name_length(Ranges::of(ty), Length { of, more: 0 });
            self.store(dst, value)?;
        }
        Ok(())
    }

    /// Each of the bytes gets this value; of their number these are bounds.
    fn fill(&mut self, to: &Value, (least, most): (u64, u64), value: Value) -> Result<()> {
        if most == 0 {
            return Ok(());
        }
        match to {
            Value::Pointer(pointer) if least == most => match pointer.offset() {
                Some(_) => self.write(pointer, most, value),
                None => self.write(pointer, most, value),
            },
            Value::Pointer(pointer) => self.scramble(pointer, most.min(1 << 40)),
            // Nothing may be written.
            _ if least == 0 => Err(Stop::Unknown),
            other => Err(no_object(other)),
        }
    }

    fn copy_bytes(&mut self, to: &Expr, from: &Expr, size: &Expr) -> Result<()> {
        let (to, from, count) = (self.eval(to)?, self.eval(from)?, self.eval(size)?);
        let is_string = matches!((self.length(&count), &from), (Some(Length { of, more: 1 }), Value::Pointer(from)) if of == *from);
        let (least, most) = self.size(size)?;
        if most == 0 {
            return Ok(());
        }
        let Value::Pointer(to) = to else {
            return if least == 0 { Err(Stop::Unknown) } else { Err(no_object(&to)) };
        };
        if least == most {
            let bytes = match from {
                Value::Pointer(from) => self.read_bytes(&from, most)?,
                other => match no_object(&other) {
                    Stop::Impossible => return Err(Stop::Impossible),
                    Stop::Needs(..) | Stop::Unknown => vec![(0, most, Value::Any)],
                },
            };
            self.write_bytes(&to, bytes)?;
            return if is_string { self.end_from(&to) } else { Ok(()) };
        }
        // So many bytes at most, with or without values.
        let extent = self.extent(to.to).1.min(1 << 40);
        let first = u64::try_from(to.low).unwrap_or(0).min(extent);
        let count = most.saturating_add(u64::try_from(to.high.saturating_sub(to.low)).unwrap_or(u64::MAX));
        let region = self.writable(&to)?;
        region.write(first, count.min(extent - first), Value::Uninit);
        if is_string { self.end_from(&to) } else { Ok(()) }
    }

    /// A string was written there.
    fn end_from(&mut self, to: &Pointer) -> Result<()> {
        self.writable(to)?.end_from(u64::try_from(to.low).unwrap_or(0));
        Ok(())
    }

    fn allocate(mut self, allocation: &Allocation) -> Result<Vec<Heap>> {
        let size = self.size(&allocation.size)?;
        let life = if allocation.on_heap { Life::Heap } else { Life::Frame(self.heap.depth()) };
        let rest = if allocation.zeroed { Rest::Zero } else { Rest::Uninit };
        let mut failed = allocation.may_fail.then(|| self.clone());
        let record = allocation.dst.ty.pointee().and_then(|ty| match ty.kind() {
            TypeKind::Record(tag) => Some(*tag),
            _ => None,
        });
        let id = self.heap.add(Region { record, ..Region::new(size, life, rest) });
        self.store(&allocation.dst, Value::Pointer(Pointer::to(Node::Heap(id))))?;
        let mut result = vec![self.heap];
        if let Some(failed) = &mut failed {
            failed.store(&allocation.dst, Value::null())?;
            result.push(failed.heap.clone());
        }
        Ok(result)
    }

    fn free(&mut self, pointer: &Expr) -> Result<()> {
        let value = self.eval(pointer)?;
        match value {
            value if value.is_zero() => Ok(()),
            Value::Pointer(pointer) => {
                self.object(&pointer)?;
                let is_heap = self.heap.node(pointer.to).is_some_and(|region| region.life == Life::Heap);
                if !is_heap || pointer.low > 0 || pointer.high < 0 {
                    return Err(Stop::Impossible);
                }
                self.heap.end(&|node, _| node == pointer.to, &Value::Freed);
                Ok(())
            }
            Value::Freed | Value::Ended | Value::Function(_) => Err(Stop::Impossible),
            Value::Uninit | Value::Any | Value::Number(_) | Value::Symbol(_) | Value::Choice(_) => {
                Err(Stop::Unknown)
            }
        }
    }

    /// Whether a call leaves the program, as far as the state tells.
    fn leaves(&mut self, original: &Edge) -> Result<bool> {
        let Op::Call(call) = &original.op else { return Ok(true) };
        let Callee::Indirect(pointer, _) = &call.callee else { return Ok(true) };
        Ok(match self.eval(pointer)? {
            Value::Function(name) => self.program.env.function(name).is_none(),
            _ => true,
        })
    }

    /// Code outside may do what it likes with what it knows.
    fn clobber(&mut self, values: &[Expr]) -> Result<()> {
        let escaped = self.program.env.escaped();
        let is_heap = |object: &Object| matches!(object, Object::Heap(..));
        let calls_back = !self.program.env.allocated_outside().is_empty();
        let may_be_others = self.heap.lost || self.program.has_older;
        if calls_back || may_be_others && escaped.iter().any(is_heap) {
            return Err(Stop::Unknown);
        }
        let mut roots: Vec<Node> = Vec::new();
        for value in values {
            let value = self.eval(value)?;
            if matches!(value, Value::Any | Value::Uninit) && !self.is_harmless(&value) {
                return Err(Stop::Unknown);
            }
            roots.extend(value.pointers().map(|pointer| pointer.to));
        }
        for object in escaped {
            match object {
                Object::Global(name) => roots.push(Node::Global(*name)),
                Object::Local(name, id) => {
                    let frames = self.heap.frames.iter().enumerate();
                    let open = frames.filter(|(_, frame)| frame.function == *name);
                    roots.extend(open.map(|(depth, _)| Node::Local(depth as u32, *id)));
                }
                Object::Heap(..) | Object::External => {}
            }
        }
        if escaped.iter().any(is_heap) && self.heap.allocated().next().is_some() {
            return Err(Stop::Unknown);
        }
        let reached: BTreeSet<Node> = self.heap.reach(roots);
        for node in reached {
            if matches!(node, Node::Heap(_)) {
                return Err(Stop::Unknown);
            }
            let extent = self.extent(node);
            let is_variable = matches!(node, Node::Local(..)) || self.heap.nodes.contains_key(&node);
            if is_variable {
                self.heap.forget_lengths(node);
                self.heap.nodes.insert(node, Arc::new(Region::new(extent, Life::Variable, Rest::Any)));
            }
        }
        Ok(())
    }

    /// Whether code outside can do nothing by it.
    fn is_harmless(&self, _: &Value) -> bool {
        self.heap.allocated().next().is_none()
    }
}
