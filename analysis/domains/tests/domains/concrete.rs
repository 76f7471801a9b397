//! A concrete machine for automata, written to be obviously right rather than fast: every object is bytes at an address. What has no defined
//! behaviour ends the run.

use std::{cell::Cell, collections::BTreeMap};

use proofline_cfa::{
    Argument, Base, CompareOp, Constant, EdgeId, Expr, Function, LibraryResult, Loc, LocalId, Lvalue,
    MemoryPredicate, Name, Object, Op, Quantity, Scalar, Step, Type, copied_character, eval,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

pub(crate) const SEMANTICS: eval::Semantics =
    eval::Semantics { overflow: eval::Overflow::Undefined, pointer_bits: 64 };

/// A concrete object.
pub(crate) struct Instance {
    /// How analyses name it.
    pub(crate) object: Object,
    pub(crate) base: i128,
    pub(crate) bytes: Vec<u8>,
    /// Which bytes have a value: they were written, or looked at.
    pub(crate) given: Vec<Cell<bool>>,
    pub(crate) live: bool,
}

pub(crate) struct Frame {
    pub(crate) function: Name,
    pub(crate) loc: Loc,
    /// Instance of each local.
    pub(crate) locals: Vec<usize>,
    /// The call edge below.
    call: Option<EdgeId>,
}

pub(crate) struct Machine<'e> {
    pub(crate) env: &'e Environment,
    pub(crate) instances: Vec<Instance>,
    pub(crate) frames: Vec<Frame>,
    globals: BTreeMap<Name, usize>,
    functions: Vec<Name>,
    random: u64,
}

/// What one step did.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Did {
    Edge(EdgeId),
    Enter(EdgeId, Name),
    Leave(EdgeId, Name),
}

/// The run cannot go on: undefined behaviour, a condition that does not hold, the end.
pub(crate) struct Stuck;

impl<'e> Machine<'e> {
    pub(crate) fn new(env: &'e Environment, entry: Name, seed: u64) -> Machine<'e> {
        let mut machine = Machine {
            env,
            instances: Vec::new(),
            frames: Vec::new(),
            globals: BTreeMap::new(),
            functions: env.program().functions.keys().copied().collect(),
            random: seed | 1,
        };
        for global in env.program().globals.values() {
            let instance = machine.allocate(Object::Global(global.name), global.size);
            machine.globals.insert(global.name, instance);
            if global.defined {
                machine.instances[instance].bytes.fill(0);
            }
        }
        for global in env.program().globals.values().filter(|global| global.defined) {
            for init in &global.init {
                let value = match &init.value {
                    Constant::Int(value) => eval::Value::Int(*value),
                    Constant::Float(value) => eval::Value::Float(*value),
                    Constant::Address(name, offset) => {
                        eval::Value::Int(machine.instances[machine.globals[name]].base + i128::from(*offset))
                    }
                    Constant::Function(name) => eval::Value::Int(machine.function_address(*name)),
                    Constant::Unknown => continue,
                };
                let bits =
                    init.bits.map_or((0, width(init.scalar)), |bits| (bits.first.into(), bits.width.into()));
                machine.write_bits(
                    machine.globals[&global.name],
                    init.offset as usize * 8 + bits.0,
                    bits.1,
                    init.scalar,
                    value,
                );
            }
        }
        machine.push(entry, None);
        for parameter in &machine.function().parameters {
            let instance = machine.frames[0].locals[parameter.index()];
            machine.instances[instance].given.iter().for_each(|given| given.set(true));
        }
        machine
    }

    pub(crate) fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    pub(crate) fn function_address(&self, name: Name) -> i128 {
        let nth = self.functions.iter().position(|known| *known == name).expect("a body");
        0x5500_0000_0000 + 0x0101_0000 * nth as i128
    }

    fn allocate(&mut self, object: Object, size: u64) -> usize {
        let bytes = (0..size).map(|_| self.next_random() as u8).collect();
        // Nobody makes an address of bytes: two of them differ in more than one.
        let base = 0x7f00_0000_0000 + 0x0101_0000 * (self.instances.len() as i128 + 1);
        let given = vec![Cell::new(matches!(object, Object::Global(_))); size as usize];
        self.instances.push(Instance { object, base, bytes, given, live: true });
        self.instances.len() - 1
    }

    fn push(&mut self, name: Name, call: Option<EdgeId>) {
        let function = self.env.function(name).expect("a body");
        let locals = function.locals.iter().enumerate();
        let locals = locals.map(|(i, local)| (LocalId(i as u32), local.size)).collect::<Vec<_>>();
        let locals =
            locals.into_iter().map(|(id, size)| self.allocate(Object::Local(name, id), size)).collect();
        self.frames.push(Frame { function: name, loc: function.entry, locals, call });
    }

    pub(crate) fn function(&self) -> &'e Function {
        self.env.function(self.frames.last().expect("a frame").function).expect("a body")
    }

    pub(crate) fn read_bits(&self, instance: usize, first: usize, len: usize, scalar: Scalar) -> eval::Value {
        let bytes = &self.instances[instance].bytes;
        let bits = (0..len).fold(0u128, |bits, i| {
            let at = first + i;
            bits | u128::from(bytes[at / 8] >> (at % 8) & 1) << i
        });
        decode(scalar, len, bits)
    }

    fn write_bits(&mut self, instance: usize, first: usize, len: usize, scalar: Scalar, value: eval::Value) {
        let bits = match (value, scalar) {
            (eval::Value::Int(value), _) => value as u128,
            (eval::Value::Float(value), _) => value.to_bits(),
        };
        for i in 0..len {
            let at = first + i;
            let byte = &mut self.instances[instance].bytes[at / 8];
            *byte = *byte & !(1 << (at % 8)) | ((bits >> i & 1) as u8) << (at % 8);
            self.instances[instance].given[at / 8].set(true);
        }
    }

    /// Bytes, and which of them have a value.
    fn part(&self, (instance, at): (usize, usize), size: usize) -> (Vec<u8>, Vec<Cell<bool>>) {
        let Instance { bytes, given, .. } = &self.instances[instance];
        (bytes[at..at + size].to_vec(), given[at..at + size].to_vec())
    }

    fn paste(&mut self, (instance, at): (usize, usize), (bytes, given): (Vec<u8>, Vec<Cell<bool>>)) {
        let to = &mut self.instances[instance];
        to.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
        to.given[at..at + given.len()].clone_from_slice(&given);
        // What is in static storage counts as given.
        if matches!(to.object, Object::Global(_)) {
            to.given.fill(Cell::new(true));
        }
    }

    /// Whether all bytes that the bits are in, as far as they are inside, have a value.
    pub(crate) fn has_values(&self, instance: usize, from: i64, to: i64) -> bool {
        let given = &self.instances[instance].given;
        let bytes = from.max(0) as usize / 8..(to.max(0) as usize).div_ceil(8).min(given.len());
        given.get(bytes).is_none_or(|given| given.iter().all(Cell::get))
    }

    /// Reads a scalar at a bit of an instance, if it is inside.
    pub(crate) fn peek(&self, instance: usize, first: i64, len: i64, scalar: Scalar) -> Option<eval::Value> {
        let inside = first >= 0 && (first + len) as usize <= self.instances[instance].bytes.len() * 8;
        inside.then(|| self.read_bits(instance, first as usize, len as usize, scalar))
    }

    pub(crate) fn eval(&self, frame: usize, expr: &Expr) -> Result<eval::Value, Stuck> {
        eval::expr(expr, SEMANTICS, &mut |leaf| match leaf {
            Expr::Load(lvalue) => self.load(frame, lvalue).ok(),
            Expr::Address(lvalue) => self.address(frame, lvalue, false).ok().map(eval::Value::Int),
            Expr::Function(name) => Some(eval::Value::Int(self.function_address(*name))),
            Expr::PointerDifference(lhs, rhs, stride, ty) => {
                let lhs = self.eval(frame, lhs).ok()?.int()?;
                let rhs = self.eval(frame, rhs).ok()?.int()?;
                let (a, b) = (self.instance_at(lhs), self.instance_at(rhs));
                let exact = a == b && a.is_some() && (lhs - rhs) % i128::from(*stride) == 0;
                exact
                    .then(|| (lhs - rhs) / i128::from(*stride))
                    .filter(|d| ty.contains(*d))
                    .map(eval::Value::Int)
            }
            _ => None,
        })
        .ok_or(Stuck)
    }

    /// The instance that an address belongs to, one past its end included.
    fn instance_at(&self, address: i128) -> Option<usize> {
        self.instances.iter().position(|i| i.base <= address && address <= i.base + i.bytes.len() as i128)
    }

    fn address(&self, frame: usize, lvalue: &Lvalue, access: bool) -> Result<i128, Stuck> {
        let mut address = match &lvalue.base {
            Base::Local(id) => self.instances[self.frames[frame].locals[id.index()]].base,
            Base::Global(name) => self.instances[self.globals[name]].base,
            Base::Deref(pointer, _) => self.eval(frame, pointer)?.int().ok_or(Stuck)?,
        };
        for step in &lvalue.path {
            address += match step {
                Step::Field { offset, .. } => i128::from(*offset),
                Step::Index { index, stride, length, .. } => {
                    let index = self.eval(frame, index)?.int().ok_or(Stuck)?;
                    // Outside of its array (one past is an address, no place): undefined.
                    let last = length.map(|length| i128::from(length) - i128::from(access));
                    if length.is_some() && !(0..=last.unwrap_or(0)).contains(&index) {
                        return Err(Stuck);
                    }
                    index * i128::from(*stride)
                }
            };
        }
        if !access && !lvalue.path.is_empty() && self.instance_at(address).is_none() {
            return Err(Stuck);
        }
        Ok(address)
    }

    /// Instance and first byte of `size` accessible bytes.
    fn place(&self, address: i128, size: u64) -> Result<(usize, usize), Stuck> {
        let found = self.instances.iter().position(|i| {
            i.live && i.base <= address && address + i128::from(size) <= i.base + i.bytes.len() as i128
        });
        let instance = found.ok_or(Stuck)?;
        Ok((instance, (address - self.instances[instance].base) as usize))
    }

    fn designate(&self, lvalue: &Lvalue) -> Result<(usize, usize), Stuck> {
        let frame = self.frames.len() - 1;
        self.place(self.address(frame, lvalue, true)?, lvalue.size)
    }

    fn load(&self, frame: usize, lvalue: &Lvalue) -> Result<eval::Value, Stuck> {
        let (instance, byte) = self.place(self.address(frame, lvalue, true)?, lvalue.size)?;
        let scalar = lvalue.scalar.ok_or(Stuck)?;
        let (first, len) = span(lvalue, scalar);
        let value = self.read_bits(instance, byte * 8 + first, len, scalar);
        let seen = (byte * 8 + first) / 8..(byte * 8 + first + len).div_ceil(8);
        self.instances[instance].given[seen].iter().for_each(|given| given.set(true));
        // A `_Bool` that is neither has no value.
        match value {
            eval::Value::Int(value) if *lvalue.ty.kind() == TypeKind::Bool && !(0..=1).contains(&value) => {
                Err(Stuck)
            }
            value => Ok(value),
        }
    }

    fn store(&mut self, lvalue: &Lvalue, value: eval::Value) -> Result<(), Stuck> {
        let (instance, byte) = self.designate(lvalue)?;
        let scalar = lvalue.scalar.ok_or(Stuck)?;
        let (first, len) = span(lvalue, scalar);
        self.write_bits(instance, byte * 8 + first, len, scalar, value);
        Ok(())
    }

    fn some_value(&mut self, ty: Type, scalar: Scalar) -> eval::Value {
        let random = self.next_random();
        match scalar {
            Scalar::Int(_) if *ty.kind() == TypeKind::Bool => eval::Value::Int(i128::from(random & 1)),
            Scalar::Int(ty) => {
                let small = i128::from(random >> 8 & 15) - 4;
                let edges = [ty.min(), ty.max(), 0, 1, small, small, small, i128::from(random)];
                eval::Value::Int(ty.wrap(edges[(random & 7) as usize]))
            }
            Scalar::Pointer => eval::Value::Int(0),
            Scalar::Float(ty) => {
                let value = proofline_cfa::Float::from_f64(((random >> 8 & 15) as f64) / 2.0);
                eval::Value::Float(value.convert(ty, proofline_cfa::Rounding::NearestEven).value)
            }
        }
    }

    /// One step along the first edge that can be taken.
    pub(crate) fn step(&mut self) -> Result<Did, Stuck> {
        let (top, function) = (self.frames.len() - 1, self.function());
        if self.frames[top].loc == function.exit {
            return self.leave();
        }
        let edges: Vec<EdgeId> = self.env.structure(function.name).successors(self.frames[top].loc).to_vec();
        for id in edges {
            let edge = function.edge(id);
            if let Op::Assume(condition) = &edge.op {
                if self.holds(top, condition)? {
                    self.frames[top].loc = edge.to;
                    return Ok(Did::Edge(id));
                }
                continue;
            }
            return self.run(id);
        }
        Err(Stuck)
    }

    /// Whether a condition holds, of memory too.
    fn holds(&self, top: usize, condition: &Expr) -> Result<bool, Stuck> {
        match condition {
            Expr::Compare(CompareOp::Eq, inside, zero)
                if matches!((&**inside, &**zero), (Expr::Memory(..), Expr::Int(0, _))) =>
            {
                Ok(!self.holds(top, inside)?)
            }
            Expr::Memory(MemoryPredicate::Terminated, pointer, _) => Ok(self.string(top, pointer)?.is_some()),
            Expr::Memory(MemoryPredicate::Initialised, pointer, size) => {
                let size = self.eval(top, size)?.int().ok_or(Stuck)?;
                let (instance, at) = self.place(self.eval(top, pointer)?.int().ok_or(Stuck)?, 0)?;
                Ok(self.has_values(instance, at as i64 * 8, (at as i128 + size) as i64 * 8))
            }
            _ => Ok(self.eval(top, condition)?.truth()),
        }
    }

    /// The characters of a string, without its end; `None` if there is no end.
    fn string(&self, top: usize, pointer: &Expr) -> Result<Option<&[u8]>, Stuck> {
        let (instance, at) = self.place(self.eval(top, pointer)?.int().ok_or(Stuck)?, 0)?;
        let bytes = &self.instances[instance].bytes[at..];
        Ok(bytes.iter().position(|byte| *byte == 0).map(|length| &bytes[..length]))
    }

    /// What a library function computes, as far as this machine knows.
    fn computed(&self, top: usize, result: &LibraryResult) -> Result<Option<i128>, Stuck> {
        let string =
            |at: usize| self.string(top, &result.arguments[at]).and_then(|string| string.ok_or(Stuck));
        Ok(match result.quantity {
            Quantity::StringLength => Some(string(0)?.len() as i128),
            Quantity::BoundedLength => {
                let most = self.eval(top, &result.arguments[1])?.int().ok_or(Stuck)?;
                Some(most.min(string(0)?.len() as i128))
            }
            Quantity::Span | Quantity::ComplementSpan => {
                let (text, set) = (string(0)?, string(1)?);
                let goes_on = |byte: &&u8| set.contains(byte) == (result.quantity == Quantity::Span);
                Some(text.iter().take_while(goes_on).count() as i128)
            }
            Quantity::FirstCharacter => {
                let wanted = self.eval(top, &result.arguments[1])?.int().ok_or(Stuck)? as u8;
                let text = string(0)?;
                let found = text.iter().chain([&0]).position(|byte| *byte == wanted);
                let is_absent = i128::from(found.is_none());
                Some(if result.is_absence { is_absent } else { found.unwrap_or(0) as i128 })
            }
            Quantity::KeptBytes => {
                let new = self.eval(top, &result.arguments[1])?.int().ok_or(Stuck)?;
                let (instance, _) =
                    self.place(self.eval(top, &result.arguments[0])?.int().ok_or(Stuck)?, 0)?;
                Some(new.min(self.instances[instance].bytes.len() as i128))
            }
            _ => None,
        })
    }

    fn run(&mut self, id: EdgeId) -> Result<Did, Stuck> {
        let (top, function) = (self.frames.len() - 1, self.function());
        let edge = function.edge(id);
        match &edge.op {
            Op::Skip => {}
            Op::Assume(_) => return Err(Stuck),
            Op::Assign(dst, value) => match copied_character(function, dst, value) {
                Some(src) => {
                    let part = self.part(self.designate(src)?, 1);
                    self.paste(self.designate(dst)?, part);
                }
                None => {
                    let value = self.eval(top, value)?;
                    self.store(dst, value)?;
                }
            },
            Op::Copy(dst, src) => {
                let part = self.part(self.designate(src)?, src.size as usize);
                self.paste(self.designate(dst)?, part);
            }
            Op::Havoc(dst, _) => {
                let Some(scalar) = dst.scalar else { return Err(Stuck) };
                let result =
                    function.library_results.iter().find(|result| dst.base == Base::Local(result.dst));
                let is_known = |result: &&LibraryResult| {
                    !result.is_absence || result.quantity == Quantity::FirstCharacter
                };
                let known = match result.filter(is_known) {
                    Some(result) => self.computed(top, result)?,
                    None => None,
                };
                let value = known.map_or_else(|| self.some_value(dst.ty, scalar), eval::Value::Int);
                self.store(dst, value)?;
            }
            Op::Clobber(..) => {}
            Op::Call(call) => {
                let callees = self.env.callees(function.name, call);
                let callee = match &call.callee {
                    proofline_cfa::Callee::Direct(name) => *name,
                    proofline_cfa::Callee::Indirect(pointer, _) => {
                        let address = self.eval(top, pointer)?.int().ok_or(Stuck)?;
                        let known = self
                            .functions
                            .iter()
                            .copied()
                            .find(|name| self.function_address(*name) == address);
                        known.ok_or(Stuck)?
                    }
                };
                if !self.functions.contains(&callee) || self.frames.len() > 40 {
                    return Err(Stuck);
                }
                assert!(callees.functions.contains(&callee), "points-to knows whom a pointer calls");
                let mut passed = Vec::new();
                for argument in &call.arguments {
                    passed.push(match argument {
                        Argument::Value(value) => Err(self.eval(top, value)?),
                        Argument::Aggregate(lvalue) => {
                            Ok(self.part(self.designate(lvalue)?, lvalue.size as usize))
                        }
                    });
                }
                self.push(callee, Some(id));
                let callee_body = self.function();
                for (parameter, value) in callee_body.parameters.clone().into_iter().zip(passed) {
                    let instance = self.frames[top + 1].locals[parameter.index()];
                    match value {
                        Ok(part) => self.paste((instance, 0), part),
                        Err(value) => {
                            let ty = callee_body.local(parameter).ty;
                            let scalar = proofline_cfa::scalar_of(ty, proofline_syntax::DataModel::Lp64)
                                .ok_or(Stuck)?;
                            self.write_bits(instance, 0, width(scalar), scalar, value);
                        }
                    }
                }
                return Ok(Did::Enter(id, callee));
            }
            Op::Allocate(allocation) => {
                let size = self.eval(top, &allocation.size)?.int().ok_or(Stuck)?;
                if allocation.may_fail && self.next_random().is_multiple_of(8) {
                    self.store(&allocation.dst, eval::Value::Int(0))?;
                } else if (0..0x1000).contains(&size) {
                    let instance = self.allocate(Object::Heap(function.name, allocation.site), size as u64);
                    if allocation.zeroed {
                        self.instances[instance].bytes.fill(0);
                        self.instances[instance].given.fill(Cell::new(true));
                    }
                    let base = self.instances[instance].base;
                    self.store(&allocation.dst, eval::Value::Int(base))?;
                } else {
                    return Err(Stuck);
                }
            }
            Op::Free(pointer) => {
                let address = self.eval(top, pointer)?.int().ok_or(Stuck)?;
                if address != 0 {
                    let heap =
                        |i: &Instance| i.live && i.base == address && matches!(i.object, Object::Heap(..));
                    let freed = self.instances.iter().position(heap).ok_or(Stuck)?;
                    self.instances[freed].live = false;
                }
            }
            Op::CopyBytes(to, from, size) => {
                let size = self.eval(top, size)?.int().ok_or(Stuck)? as u64;
                let from = self.eval(top, from)?.int().ok_or(Stuck)?;
                let to = self.eval(top, to)?.int().ok_or(Stuck)?;
                let (from, to) = (self.place(from, size)?, self.place(to, size)?);
                self.paste(to, self.part(from, size as usize));
            }
            Op::FillBytes(to, byte, size) => {
                let size = self.eval(top, size)?.int().ok_or(Stuck)? as u64;
                let byte = self.eval(top, byte)?.int().ok_or(Stuck)? as u8;
                let to = self.eval(top, to)?.int().ok_or(Stuck)?;
                let (to, at) = self.place(to, size)?;
                self.instances[to].bytes[at..at + size as usize].fill(byte);
                self.instances[to].given[at..at + size as usize].fill(Cell::new(true));
            }
            Op::HavocBytes(to, size, _) => {
                let size = self.eval(top, size)?.int().ok_or(Stuck)? as u64;
                let (instance, at) = self.place(self.eval(top, to)?.int().ok_or(Stuck)?, size)?;
                for byte in at..at + size as usize {
                    self.instances[instance].bytes[byte] = self.next_random() as u8;
                    self.instances[instance].given[byte].set(true);
                }
            }
            Op::Begin(local) | Op::End(local) => {
                // A new object in the same place.
                let instance = self.frames[top].locals[local.index()];
                for at in 0..self.instances[instance].bytes.len() {
                    self.instances[instance].bytes[at] = self.next_random() as u8;
                    self.instances[instance].given[at].set(false);
                }
            }
        }
        self.frames[top].loc = edge.to;
        Ok(Did::Edge(id))
    }

    fn leave(&mut self) -> Result<Did, Stuck> {
        let Some(frame) = self.frames.pop() else { return Err(Stuck) };
        let (Some(id), Some(_)) = (frame.call, self.frames.last()) else {
            self.frames.push(frame);
            return Err(Stuck);
        };
        let callee = self.env.function(frame.function).expect("a body");
        let caller = self.function();
        let Op::Call(call) = &caller.edge(id).op else { return Err(Stuck) };
        let whole = |id: LocalId| (frame.locals[id.index()], 0);
        let part = callee.result.map(|id| self.part(whole(id), callee.local(id).size as usize));
        for local in &frame.locals {
            self.instances[*local].live = false;
        }
        if let (Some(dst), Some(mut part)) = (&call.dst, part) {
            let to = self.designate(dst)?;
            if part.0.len() as u64 != dst.size || dst.bits.is_some() {
                return Err(Stuck);
            }
            // A scalar result is read.
            if dst.scalar.is_some() {
                part.1.fill(Cell::new(true));
            }
            self.paste(to, part);
        }
        let top = self.frames.len() - 1;
        self.frames[top].loc = caller.edge(id).to;
        Ok(Did::Leave(id, frame.function))
    }
}

/// First bit and width of a scalar lvalue, from its first byte.
fn span(lvalue: &Lvalue, scalar: Scalar) -> (usize, usize) {
    lvalue.bits.map_or((0, width(scalar)), |bits| (bits.first.into(), bits.width.into()))
}

fn width(scalar: Scalar) -> usize {
    match scalar {
        Scalar::Int(ty) => ty.bits as usize,
        Scalar::Pointer => 64,
        Scalar::Float(ty) => ty.width() as usize,
    }
}

fn decode(scalar: Scalar, len: usize, bits: u128) -> eval::Value {
    match scalar {
        Scalar::Int(ty) => {
            let field = proofline_cfa::IntType { bits: len as u8, ..ty };
            eval::Value::Int(field.wrap(bits as i128))
        }
        Scalar::Pointer => eval::Value::Int(bits as i128),
        Scalar::Float(ty) => {
            let value = proofline_cfa::Float::from_bits(ty, bits).expect("bytes of a number");
            eval::Value::Float(value.canonical())
        }
    }
}
