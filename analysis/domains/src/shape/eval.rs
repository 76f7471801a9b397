//! Places and values of expressions. What needs an object of a segment stops and says which; then the segment is materialised and the
//! operation begins again.

use proofline_cfa::{
    Base, BinaryOp, CompareOp, Expr, Function, IntType, LocalId, Lvalue, Name, Scalar, Step as PathStep,
    UnaryOp, eval::Overflow,
};

use super::{
    Program,
    heap::{Heap, Length},
    region::{Life, Region, Rest},
    value::{End, Node, Pointer, Value},
};
use crate::interval::{Arith, Ranges, compare_ranges, ranges_overflow};

/// Offsets beyond this are any.
const FAR: i128 = 1 << 40;

/// Why there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// No execution goes on.
    Impossible,
    /// The end of this segment must be an object of its own first.
    Needs(u32, End),
    /// What happens could be anything.
    Unknown,
}

pub(super) type Result<T> = std::result::Result<T, Stop>;

/// Where an lvalue is.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Register(LocalId),
    Memory(Pointer),
    /// What a value that is no pointer to a known node points to, so many bytes behind it.
    Beside(Value, i128),
}

/// A state on its way along an edge.
#[derive(Clone)]
pub(super) struct Step<'a> {
    pub(super) program: &'a Program,
    pub(super) function: &'a Function,
    pub(super) heap: Heap,
}

impl Step<'_> {
    pub(super) fn pointer_bytes(&self) -> u64 {
        self.program.pointer_bytes()
    }

    fn arith(&self) -> Arith {
        Arith { overflow: if self.program.wrapv { Overflow::Wraps } else { Overflow::Undefined } }
    }

    /// Whether it is a scalar that only its function names.
    fn is_register(&self, id: LocalId) -> bool {
        is_register(self.function, id)
    }

    /// Where it is.
    pub(super) fn resolve(&mut self, lvalue: &Lvalue) -> Result<Target> {
        let start = match &lvalue.base {
            Base::Local(id) if self.is_register(*id) => return Ok(Target::Register(*id)),
            Base::Local(id) => Value::Pointer(Pointer::to(Node::Local(self.heap.depth(), *id))),
            Base::Global(name) => Value::Pointer(Pointer::to(Node::Global(*name))),
            Base::Deref(pointer, _) => self.eval(pointer)?,
        };
        let (mut low, mut high) = (0i128, 0i128);
        for step in &lvalue.path {
            let (from, to) = match step {
                PathStep::Field { offset, .. } => (i128::from(*offset), i128::from(*offset)),
                PathStep::Index { index, stride, .. } => {
                    let ty = index.int_type().unwrap_or(IntType { bits: 64, signed: true });
                    let value = self.eval(index)?;
                    // Addresses wrap around, so a number of their width may as well be a negative one.
                    let (low, high) = match u64::from(ty.bits) == 8 * self.pointer_bytes() {
                        true => self.signed(&value, ty),
                        false => (self.ranges(&value, ty).lo(), self.ranges(&value, ty).hi()),
                    };
                    let stride = i128::from(*stride);
                    (low.saturating_mul(stride), high.saturating_mul(stride))
                }
            };
            (low, high) = (low.saturating_add(from), high.saturating_add(to));
        }
        if let (Value::Pointer(pointer), Some(PathStep::Field { record, .. })) = (&start, lvalue.path.first())
        {
            self.note_record(pointer, *record);
        }
        Ok(match start {
            Value::Pointer(pointer) => Target::Memory(moved(pointer, low, high)),
            Value::Symbol(_)
            | Value::Number(_)
            | Value::Uninit
            | Value::Any
            | Value::Function(_)
            | Value::Freed
            | Value::Ended
            | Value::Choice(_) => Target::Beside(start, if low == high { low } else { FAR }),
        })
    }

    /// A member of an object is named whose record the allocation did not tell.
    fn note_record(&mut self, start: &Pointer, record: Name) {
        let is_open = |region: &Region| {
            region.record.is_none() && region.segment.is_none() && region.life == Life::Heap
        };
        if start.offset() == Some(0) && self.heap.node(start.to).is_some_and(is_open) {
            let size = self.program.env.program().records.get(&record).map(|record| record.size);
            if let Some(region) = self.heap.node_mut(start.to).filter(|region| region.exact_size() == size) {
                region.record = Some(record);
            }
        }
    }

    /// The address of a place.
    fn address(&mut self, lvalue: &Lvalue) -> Result<Value> {
        Ok(match self.resolve(lvalue)? {
            Target::Register(_) => Value::Any,
            Target::Memory(pointer) => Value::Pointer(pointer),
            Target::Beside(value, by) => match (&value, by) {
                (Value::Freed | Value::Ended, _) | (_, 0) => value,
                (Value::Number(ranges), _) if ranges.as_single().is_some() && by < FAR => {
                    let bits = 8 * self.pointer_bytes() as u8;
                    let ty = IntType { bits, signed: false };
                    Value::single(ty.wrap(ranges.lo().saturating_add(by)))
                }
                _ => Value::Any,
            },
        })
    }

    /// The node that an access touches; a segment's end is materialised.
    pub(super) fn object(&self, pointer: &Pointer) -> Result<()> {
        match pointer.to {
            Node::Heap(id) if self.heap.is_segment(pointer) => Err(Stop::Needs(id, pointer.end)),
            Node::Heap(_) if self.heap.node(pointer.to).is_none() => Err(Stop::Unknown),
            Node::Heap(_) | Node::Global(_) | Node::Local(..) => Ok(()),
        }
    }

    /// Bounds of the size of a node.
    pub(super) fn extent(&self, node: Node) -> (u64, u64) {
        if let Some(region) = self.heap.node(node) {
            return region.size;
        }
        match node {
            Node::Global(name) => self.program.constant(name).map_or((0, u64::MAX), |region| region.size),
            Node::Local(depth, id) => {
                let frame = self.heap.frames.get(depth as usize);
                let function = frame.and_then(|frame| self.program.env.function(frame.function));
                let size = function.and_then(|f| f.locals.get(id.index())).map_or(0, |local| local.size);
                if size == 0 { (0, u64::MAX) } else { (size, size) }
            }
            Node::Heap(_) => (0, u64::MAX),
        }
    }

    /// What bytes at a pointer hold, all together.
    pub(super) fn bytes(&self, pointer: &Pointer, size: u64) -> Result<Value> {
        let (_, most) = self.extent(pointer.to);
        let most = most.min(i64::MAX as u64) as i128;
        let (low, high) = (i128::from(pointer.low), i128::from(pointer.high));
        // The bytes are inside of the object; where they cannot be no execution goes on.
        let last = most - i128::from(size);
        if last < 0 || high < 0 || low > last {
            return Err(Stop::Impossible);
        }
        let (from, to) = (low.max(0) as u64, high.min(last) as u64);
        let read = |region: &Region| {
            let value = region.read(from, to - from + size);
            if from == to || value.is_uniform() { value } else { Value::Any }
        };
        Ok(match (self.heap.node(pointer.to), pointer.to) {
            (Some(region), _) => read(region),
            (None, Node::Global(name)) => match self.program.constant(name) {
                Some(region) => read(region),
                None => Value::Any,
            },
            (None, Node::Local(..)) => Value::Uninit,
            (None, Node::Heap(_)) => return Err(Stop::Unknown),
        })
    }

    /// Reads a scalar.
    fn load(&mut self, lvalue: &Lvalue) -> Result<Value> {
        let Some(scalar) = lvalue.scalar else { return Ok(Value::Any) };
        let target = self.resolve(lvalue)?;
        self.load_at(&target, lvalue, scalar)
    }

    fn load_at(&mut self, target: &Target, lvalue: &Lvalue, scalar: Scalar) -> Result<Value> {
        match target {
            Target::Register(id) => {
                let id = *id;
                let known = self.heap.frame().and_then(|frame| frame.registers.get(&id));
                let value = self.typed(known.unwrap_or(&Value::Uninit).clone(), scalar);
                Ok(self.named(value, scalar, |heap, name| {
                    if let Some(frame) = heap.frame_mut() {
                        frame.registers.insert(id, name);
                    }
                }))
            }
            Target::Memory(pointer) => {
                self.object(pointer)?;
                if let Some(bits) = lvalue.bits {
                    let size = u64::from(bits.first + bits.width).div_ceil(8);
                    let is_zero = self.bytes(pointer, size)?.is_zero();
                    let ty = match scalar {
                        Scalar::Int(ty) => IntType { bits: bits.width, signed: ty.signed },
                        Scalar::Float(_) | Scalar::Pointer => return Ok(Value::Any),
                    };
                    return Ok(if is_zero { Value::null() } else { Value::Number(Ranges::of(ty)) });
                }
                let size = self.scalar_bytes(scalar);
                let raw = self.bytes(pointer, size)?;
                let has_value = raw != Value::Uninit;
                let value = self.typed(raw, scalar);
                match (pointer.offset(), self.heap.nodes.contains_key(&pointer.to)) {
                    (Some(at), true) if has_value && at >= 0 => {
                        let (to, at) = (pointer.to, at as u64);
                        Ok(self.named(value, scalar, |heap, name| {
                            if let Some(region) = heap.node_mut(to) {
                                region.write(at, size, name);
                            }
                        }))
                    }
                    _ => Ok(value),
                }
            }
            Target::Beside(value, _) => match value {
                Value::Freed | Value::Ended | Value::Function(_) => Err(Stop::Impossible),
                value if value.is_zero() => Err(Stop::Impossible),
                _ => Ok(self.typed(Value::Any, scalar)),
            },
        }
    }

    /// A number that is looked at gets a name, so that what is found out about it holds wherever it is kept.
    fn named(&mut self, value: Value, scalar: Scalar, keep: impl FnOnce(&mut Heap, Value)) -> Value {
        let Value::Number(ranges) = &value else { return value };
        if ranges.as_single().is_some() || !matches!(scalar, Scalar::Int(_)) {
            return value;
        }
        let name = self.heap.name(ranges.clone());
        keep(&mut self.heap, name.clone());
        name
    }

    /// What memory holds as a value of a format.
    fn typed(&self, value: Value, scalar: Scalar) -> Value {
        match scalar {
            Scalar::Float(_) => Value::Any,
            Scalar::Pointer => match value {
                Value::Uninit => Value::Any,
                _ => value,
            },
            Scalar::Int(ty) => match self.heap.ranges(&value) {
                Some(ranges) => match ranges.leq(&Ranges::of(ty)) {
                    true => value,
                    false => Value::Number(ranges.wrap(ty)),
                },
                None if u64::from(ty.bits) == 8 * self.pointer_bytes()
                    && value.pointers().next().is_some() =>
                {
                    value
                }
                None => Value::Number(Ranges::of(ty)),
            },
        }
    }

    /// Bytes that a scalar fills.
    pub(super) fn scalar_bytes(&self, scalar: Scalar) -> u64 {
        match scalar {
            Scalar::Float(format) => u64::from(format.width() / 8),
            Scalar::Int(_) | Scalar::Pointer => self.program.env.program().scalar_bytes(scalar),
        }
    }

    /// The numbers that it may be, as a value of an integer type.
    pub(super) fn ranges(&self, value: &Value, ty: IntType) -> Ranges {
        let known = self.heap.ranges(value).filter(|known| known.leq(&Ranges::of(ty)));
        known.unwrap_or_else(|| Ranges::of(ty))
    }

    /// Writes a scalar.
    pub(super) fn store(&mut self, lvalue: &Lvalue, value: Value) -> Result<()> {
        let target = self.resolve(lvalue)?;
        match &target {
            Target::Register(id) => {
                if let Some(frame) = self.heap.frame_mut() {
                    frame.registers.insert(*id, value);
                }
                Ok(())
            }
            Target::Memory(pointer) => match lvalue.bits {
                Some(bits) => {
                    // The other bits of these bytes keep what they hold.
                    let size = u64::from(bits.first + bits.width).div_ceil(8);
                    self.scramble(pointer, size)
                }
                None => {
                    let size = lvalue.scalar.map_or(lvalue.size, |scalar| self.scalar_bytes(scalar));
                    self.write(pointer, size, value)
                }
            },
            Target::Beside(value, _) => Err(no_object(value)),
        }
    }

    /// Writes bytes.
    pub(super) fn write(&mut self, pointer: &Pointer, size: u64, value: Value) -> Result<()> {
        let Some(at) = pointer.offset() else {
            let ended = self.writable(pointer)?.ended;
            self.scramble(pointer, size)?;
            if value.is_zero() && size > 0 {
                // It is inside, for executions go on only there, and a zero more takes no zero away.
                let region = self.writable(pointer)?;
                region.ended = ended;
                region.end_from(pointer.low.max(0) as u64);
            }
            return Ok(());
        };
        if at < 0 || at as u64 + size > self.extent(pointer.to).1 {
            return Err(Stop::Impossible);
        }
        self.writable(pointer)?.write(at as u64, size, value);
        Ok(())
    }

    /// Bytes that may be written.
    pub(super) fn scramble(&mut self, pointer: &Pointer, size: u64) -> Result<()> {
        let most = i128::from(self.extent(pointer.to).1.min(1 << 40));
        let from = i128::from(pointer.low).max(0);
        let to = i128::from(pointer.high).saturating_add(i128::from(size)).min(most);
        let region = self.writable(pointer)?;
        if from < to {
            region.scramble(from as u64, (to - from) as u64);
        }
        Ok(())
    }

    pub(super) fn writable(&mut self, pointer: &Pointer) -> Result<&mut Region> {
        self.object(pointer)?;
        self.heap.forget_lengths(pointer.to);
        if !self.heap.nodes.contains_key(&pointer.to) {
            if !matches!(pointer.to, Node::Local(..)) {
                return Err(Stop::Unknown);
            }
            let region = Region::new(self.extent(pointer.to), Life::Variable, Rest::Uninit);
            self.heap.nodes.insert(pointer.to, std::sync::Arc::new(region));
        }
        self.heap.node_mut(pointer.to).ok_or(Stop::Unknown)
    }

    /// The value of an expression.
    pub(super) fn eval(&mut self, expr: &Expr) -> Result<Value> {
        Ok(match expr {
            Expr::Int(value, ty) if ty.is_exact() => Value::single(*value),
            Expr::Int(..) | Expr::Float(_) => Value::Any,
            Expr::Null => Value::null(),
            Expr::Load(lvalue) => self.load(lvalue)?,
            Expr::Address(lvalue) => self.address(lvalue)?,
            Expr::Function(name) => Value::Function(*name),
            Expr::Unary(op, arg, _) => {
                let value = self.eval(arg)?;
                let Some(ty) = arg.int_type() else { return Ok(Value::Any) };
                let known = self.ranges(&value, ty);
                Value::Number(match op {
                    UnaryOp::Negate => self.arith().negate(ty, &known).map_err(|_| Stop::Impossible)?,
                    UnaryOp::BitNot => self.arith().complement(ty, &known),
                })
            }
            Expr::Binary(op, lhs, rhs, _) => self.binary(*op, lhs, rhs)?,
            Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) => match self.truth(expr)? {
                Some(truth) => Value::single(i128::from(truth)),
                None => Value::Number(Ranges::new(0, 1)),
            },
            Expr::Cast(to, arg, _) => {
                let value = self.eval(arg)?;
                self.cast(*to, arg.scalar(), value)
            }
            Expr::PointerDifference(lhs, rhs, stride, ty) => {
                let (a, b) = (self.eval(lhs)?, self.eval(rhs)?);
                match (&a, &b) {
                    (Value::Pointer(p), Value::Pointer(q)) if self.is_one_object(p, q) => {
                        match (p.offset(), q.offset()) {
                            (Some(p), Some(q)) => {
                                let stride = i128::from(*stride).max(1);
                                Value::single(ty.wrap((i128::from(p) - i128::from(q)) / stride))
                            }
                            _ => Value::Number(Ranges::of(*ty)),
                        }
                    }
                    _ => Value::Number(Ranges::of(*ty)),
                }
            }
        })
    }

    /// Whether both lead to the same object, not only to the same node.
    fn is_one_object(&self, p: &Pointer, q: &Pointer) -> bool {
        p.to == q.to && (p.end == q.end || !self.heap.is_segment(p))
    }

    fn cast(&self, to: Scalar, from: Scalar, value: Value) -> Value {
        match (from, to) {
            (_, Scalar::Float(_)) => Value::Any,
            (Scalar::Float(_), Scalar::Int(ty)) => Value::Number(Ranges::of(ty)),
            (Scalar::Float(_), Scalar::Pointer) => Value::Any,
            (_, Scalar::Pointer) => value,
            (Scalar::Pointer, Scalar::Int(ty)) if 8 * self.pointer_bytes() == u64::from(ty.bits) => {
                match value {
                    Value::Number(_) | Value::Symbol(_) => self.typed(value, to),
                    _ => value,
                }
            }
            (Scalar::Int(_) | Scalar::Pointer, Scalar::Int(ty)) => match self.heap.ranges(&value) {
                Some(ranges) if ranges.leq(&Ranges::of(ty)) => value,
                Some(ranges) => Value::Number(ranges.wrap(ty)),
                None if 8 * self.pointer_bytes() == u64::from(ty.bits) => value,
                None => Value::Number(Ranges::of(ty)),
            },
        }
    }

    fn binary(&mut self, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Result<Value> {
        let (a, b) = (self.eval(lhs)?, self.eval(rhs)?);
        let Some(ty) = lhs.int_type() else { return Ok(Value::Any) };
        let right = rhs.int_type().unwrap_or(ty);
        // Addresses that are computed as numbers.
        match (op, &a, &b) {
            (BinaryOp::Add, Value::Pointer(p), _) => {
                let by = self.signed(&b, right);
                return Ok(Value::Pointer(moved(*p, by.0, by.1)));
            }
            (BinaryOp::Add, _, Value::Pointer(p)) => {
                let by = self.signed(&a, ty);
                return Ok(Value::Pointer(moved(*p, by.0, by.1)));
            }
            (BinaryOp::Sub, Value::Pointer(p), Value::Number(_) | Value::Symbol(_)) => {
                let by = self.signed(&b, right);
                return Ok(Value::Pointer(moved(*p, -by.1, -by.0)));
            }
            _ => {}
        }
        let (x, y) = (self.ranges(&a, ty), self.ranges(&b, right));
        if !ty.is_exact() {
            return Ok(Value::Any);
        }
        let result = self.arith().binary(op, ty, &x, &y).map_err(|_| Stop::Impossible)?;
        if op == BinaryOp::Add {
            for (length, other, known) in [(&a, &y, &x), (&b, &x, &y)] {
                let is_next = other.as_single() == Some(1) && result.lo() == known.lo() + 1;
                if let Some(Length { of, more: 0 }) = self.length(length).filter(|_| is_next) {
                    return Ok(self.name_length(result, Length { of, more: 1 }));
                }
            }
        }
        Ok(Value::Number(result))
    }

    /// Of which string it is the length.
    pub(super) fn length(&self, value: &Value) -> Option<Length> {
        match value {
            Value::Symbol(name) => self.heap.lengths.get(name).copied(),
            _ => None,
        }
    }

    pub(super) fn name_length(&mut self, ranges: Ranges, length: Length) -> Value {
        let value = self.heap.name(ranges);
        if let Value::Symbol(name) = value {
            self.heap.lengths.insert(name, length);
        }
        value
    }

    /// Bounds of a number that is added to an address, which wraps around.
    fn signed(&self, value: &Value, ty: IntType) -> (i128, i128) {
        let known = self.ranges(value, ty);
        let signed = IntType { bits: ty.bits, signed: true };
        let wrapped = known.wrap(signed);
        (wrapped.lo(), wrapped.hi())
    }

    /// Whether a condition holds, where that is known.
    pub(super) fn truth(&mut self, condition: &Expr) -> Result<Option<bool>> {
        match condition {
            Expr::Compare(op, lhs, rhs) => {
                let (a, b) = (self.eval(lhs)?, self.eval(rhs)?);
                self.compare(*op, lhs.scalar(), &a, &b)
            }
            Expr::Memory(predicate, pointer, size) => self.predicate(*predicate, pointer, size),
            Expr::Overflows(op, lhs, rhs) => {
                let (a, b) = (self.eval(lhs)?, self.eval(rhs)?);
                let Some(ty) = lhs.int_type() else { return Ok(None) };
                let (a, b) = (self.ranges(&a, ty), self.ranges(&b, rhs.int_type().unwrap_or(ty)));
                Ok(ranges_overflow(*op, ty, &a, &b))
            }
            Expr::Int(..)
            | Expr::Float(_)
            | Expr::Null
            | Expr::Load(_)
            | Expr::Address(_)
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Cast(..)
            | Expr::PointerDifference(..) => {
                let value = self.eval(condition)?;
                self.compare(CompareOp::Ne, condition.scalar(), &value, &Value::null())
            }
        }
    }

    /// `a op b`, where that is known.
    pub(super) fn compare(
        &self,
        op: CompareOp,
        scalar: Scalar,
        a: &Value,
        b: &Value,
    ) -> Result<Option<bool>> {
        if let Scalar::Float(_) = scalar {
            return Ok(None);
        }
        if let (Value::Symbol(x), Value::Symbol(y)) = (a, b)
            && x == y
        {
            return Ok(Some(matches!(op, CompareOp::Eq | CompareOp::Le | CompareOp::Ge)));
        }
        if let (Some(x), Some(y)) = (self.heap.ranges(a), self.heap.ranges(b)) {
            let fits = |known: &Ranges| match scalar {
                Scalar::Int(ty) => known.leq(&Ranges::of(ty)),
                Scalar::Pointer | Scalar::Float(_) => known.lo() >= 0,
            };
            return Ok(if fits(&x) && fits(&y) { compare_ranges(op, &x, &y) } else { None });
        }
        let equal = self.is_equal(a, b)?;
        Ok(match op {
            CompareOp::Eq => equal,
            CompareOp::Ne => equal.map(|equal| !equal),
            CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => match (a, b) {
                (Value::Pointer(p), Value::Pointer(q)) if self.is_one_object(p, q) => {
                    let range = |p: &Pointer| Ranges::new(p.low.into(), p.high.into());
                    compare_ranges(op, &range(p), &range(q))
                }
                _ => None,
            },
        })
    }

    fn is_equal(&self, a: &Value, b: &Value) -> Result<Option<bool>> {
        Ok(match (a, b) {
            (Value::Pointer(p), Value::Pointer(q)) if p.to == q.to => {
                if !self.is_one_object(p, q) {
                    // Whether the first is the last.
                    let Node::Heap(id) = p.to else { return Ok(None) };
                    return Err(Stop::Needs(id, End::First));
                }
                let range = |p: &Pointer| Ranges::new(p.low.into(), p.high.into());
                compare_ranges(CompareOp::Eq, &range(p), &range(q))
            }
            (Value::Pointer(p), Value::Pointer(q)) => {
                let is_variable = |node: Node| matches!(node, Node::Global(_));
                // Equal string literals may be one object.
                let are_constant = |node: Node| is_variable(node) && !self.heap.nodes.contains_key(&node);
                let apart = self.is_inside(p) && self.is_inside(q);
                (apart && !(are_constant(p.to) && are_constant(q.to))).then_some(false)
            }
            (Value::Pointer(p), other) | (other, Value::Pointer(p)) if other.is_zero() => {
                let (_, most) = self.extent(p.to);
                let is_near = p.low >= 0 && p.high as u64 <= most;
                is_near.then_some(false)
            }
            (Value::Function(_), other) | (other, Value::Function(_)) if other.is_zero() => Some(false),
            (Value::Function(f), Value::Function(g)) => Some(f == g),
            _ => None,
        })
    }

    /// Whether it leads to a byte of its object, so that no other object is there.
    fn is_inside(&self, pointer: &Pointer) -> bool {
        let (least, _) = self.extent(pointer.to);
        pointer.low >= 0 && (pointer.high as u64) < least
    }
}

/// Why there is no object behind a value that is no pointer to a known node.
pub(super) fn no_object(value: &Value) -> Stop {
    match value {
        Value::Freed | Value::Ended | Value::Function(_) => Stop::Impossible,
        value if value.is_zero() => Stop::Impossible,
        _ => Stop::Unknown,
    }
}

pub(super) fn is_register(function: &Function, id: LocalId) -> bool {
    let local = function.local(id);
    local.ty.is_scalar() && !local.address_taken
}

fn moved(pointer: Pointer, low: i128, high: i128) -> Pointer {
    let (low, high) = (i128::from(pointer.low) + low, i128::from(pointer.high) + high);
    if low < -FAR || high > FAR {
        return Pointer { low: -(1 << 61), high: 1 << 61, ..pointer };
    }
    Pointer { low: low as i64, high: high as i64, ..pointer }
}
