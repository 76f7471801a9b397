//! Lvalues and expressions of a running program.

use proofline_cfa::{
    Base, Cause, CompareOp, Expr, Float, IntType, LocalId, Lvalue, Object, Program, Scalar, Site,
    Step as PathStep,
    eval::{self, Value},
    register,
};

use super::{
    code::{FunctionCode, Home},
    machine::{Machine, Step, stuck},
    memory::{Area, Fault, Provenance},
    oracle::Oracle,
};

/// Where an lvalue is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// A register of the innermost frame.
    Register(LocalId),
    /// An address.
    Memory(u64),
}

impl<'c, O: Oracle> Machine<'c, O> {
    pub(super) fn allocate(&mut self, area: Area, size: u64, object: Object) -> Step<u64> {
        self.memory.allocate(area, size, object).or_else(refused)
    }

    pub(super) fn copy(&mut self, to: u64, from: u64, size: u64) -> Step<()> {
        if size == 0 {
            return Ok(());
        }
        self.memory.copy(to, from, size).or_else(refused)?;
        self.is_guess |= self.memory.has_lost_links();
        // What is in static storage always has a value.
        match self.memory.provenance(to) {
            Provenance::Live(extent) if extent.area == Area::Static => {
                self.memory.give(to, size).or_else(refused)
            }
            Provenance::Live(_) | Provenance::Ended(_) | Provenance::Nothing => Ok(()),
        }
    }

    /// Finds the place of an lvalue.
    pub(super) fn place(&mut self, code: &'c FunctionCode, lvalue: &Lvalue) -> Step<Place> {
        match self.place_in_slot(code, lvalue)? {
            Some(place) => Ok(place),
            None => stuck("a pointer is moved far away from its object"),
        }
    }

    /// The same; `None` if that is so far from the object that the address could be another object's.
    pub(super) fn place_in_slot(&mut self, code: &'c FunctionCode, lvalue: &Lvalue) -> Step<Option<Place>> {
        let base = match &lvalue.base {
            Base::Local(id) => match code.home(*id) {
                Home::Register => return Ok(Some(Place::Register(*id))),
                Home::Memory(size) => match self.frame().locals[id.index()] {
                    Some(Value::Int(base)) => base as u64,
                    // A goto may jump past the declaration: the object lives all the same.
                    _ => self.revive(code, *id, size)?,
                },
            },
            Base::Global(name) => {
                match self.globals.get(name).copied().or_else(|| self.arguments.array(*name)) {
                    Some(base) => base,
                    None => return stuck(format!("object {name} has no storage")),
                }
            }
            Base::Deref(pointer, _) => match self.eval(code, pointer)? {
                Value::Int(address) => address as u64,
                Value::Float(_) => return stuck("a float is followed as a pointer"),
            },
        };
        let mut address = i128::from(base);
        for step in &lvalue.path {
            match step {
                PathStep::Field { offset, .. } => address += i128::from(*offset),
                PathStep::Index { index, stride, .. } => match self.eval(code, index)? {
                    Value::Int(index) => {
                        address = address.wrapping_add(index.wrapping_mul(i128::from(*stride)))
                    }
                    Value::Float(_) => return stuck("a float as an index"),
                },
            }
        }
        let address = self.address_type().wrap(address) as u64;
        if self.memory.is_same_slot(base, address) {
            return Ok(Some(Place::Memory(address)));
        }
        if self.is_made_up(base) {
            return stuck("how large an object of the callers is, they know");
        }
        if self.is_of_unknown_size(base) {
            return stuck("how large an object of another file is, no declaration says");
        }
        Ok(None)
    }

    pub(super) fn revive(&mut self, code: &FunctionCode, id: LocalId, size: u64) -> Step<u64> {
        let object = Object::Local(code.function.name, id);
        let base = self.allocate(Area::Stack, size, object)?;
        self.frame_mut().locals[id.index()] = Some(Value::Int(i128::from(base)));
        Ok(base)
    }

    pub(super) fn address_type(&self) -> IntType {
        IntType { bits: self.semantics.pointer_bits, signed: false }
    }

    /// Reads a scalar.
    pub(super) fn load(&mut self, code: &'c FunctionCode, lvalue: &Lvalue) -> Step<Value> {
        let Some(scalar) = lvalue.scalar else { return stuck("a record is read as a scalar") };
        match self.place(code, lvalue)? {
            Place::Register(id) => match self.frame().locals[id.index()] {
                Some(value) => Ok(value),
                None => {
                    let value = self.ask(code, Site(0), Cause::Indeterminate, scalar);
                    self.frame_mut().locals[id.index()] = Some(value);
                    Ok(value)
                }
            },
            Place::Memory(address) => self.load_at(code, address, lvalue, scalar),
        }
    }

    fn load_at(
        &mut self,
        code: &'c FunctionCode,
        address: u64,
        lvalue: &Lvalue,
        scalar: Scalar,
    ) -> Step<Value> {
        let (size, mask) = match lvalue.bits {
            Some(bits) => field(bits),
            None => whole(value_bytes(&self.code.program, scalar)),
        };
        if scalar != Scalar::Pointer {
            self.looks_at(address, size)?;
        }
        if let Some(raw) = self.memory.read_bits(address, size, mask).or_else(refused)? {
            return decode(raw, scalar, lvalue.bits);
        }
        // Indeterminate bits get a value when they are first looked at, and keep it; those beside them that were written stay.
        let (raw, known) = self.memory.read_known(address, size, mask).or_else(refused)?;
        self.is_guess |= self.memory.is_unmodelled(address, size).or_else(refused)?;
        // A copy is what it is a copy of.
        let home = self.memory.home(address, size);
        let cause = self.why_unknown(home);
        let is_callers_pointer = scalar == Scalar::Pointer
            && known == 0
            && self.may_be_made_up(lvalue.ty)
            && self.is_callers(home);
        let function =
            (scalar == Scalar::Pointer && known == 0).then(|| self.initial_function(home)).flatten();
        let value = if is_callers_pointer {
            self.load_pointer(code, cause, lvalue)?
        } else if let Some(function) = function {
            self.ask_function(code, cause, function)
        } else {
            self.ask(code, Site(0), cause, scalar)
        };
        let Some(chosen) = encode(in_bits(value, scalar, lvalue.bits), scalar) else {
            return stuck(format!("a value of format {scalar} in memory"));
        };
        let chosen = lvalue.bits.map_or(chosen, |bits| chosen << bits.first);
        let raw = raw | chosen & mask & !known;
        self.memory.settle(address, size, mask, raw).or_else(refused)?;
        if cause != Cause::Indeterminate {
            self.note_argument(home, lvalue.size)?;
        }
        decode(raw, scalar, lvalue.bits)
    }

    /// Writes a scalar.
    pub(super) fn assign(&mut self, code: &'c FunctionCode, lvalue: &Lvalue, value: Value) -> Step<()> {
        let Some(scalar) = lvalue.scalar else { return stuck("a scalar is written to a record") };
        let value = in_bits(value, scalar, lvalue.bits);
        self.written = Some((value, scalar));
        match self.place(code, lvalue)? {
            Place::Register(id) => {
                self.frame_mut().locals[id.index()] = Some(value);
                Ok(())
            }
            Place::Memory(address) => self.store_at(address, lvalue, scalar, value),
        }
    }

    fn store_at(&mut self, address: u64, lvalue: &Lvalue, scalar: Scalar, value: Value) -> Step<()> {
        self.keep_bits(value);
        let Some(raw) = encode(value, scalar) else {
            return stuck(format!("a value of format {scalar} in memory"));
        };
        let Some(bits) = lvalue.bits else {
            let size = value_bytes(&self.code.program, scalar);
            self.memory.write(address, size, raw).or_else(refused)?;
            return self.keep_address(address, size, scalar, raw);
        };
        let (size, mask) = field(bits);
        self.memory.write_bits(address, size, mask, raw << bits.first).or_else(refused)
    }

    /// Writes a parameter that lives in memory.
    pub(super) fn store_scalar_bytes(&mut self, address: u64, size: u64, value: Value) -> Step<()> {
        self.keep_bits(value);
        let (raw, size) = match value {
            Value::Int(value) => (value as u128, size),
            Value::Float(value) => (value.to_bits(), size.min(u64::from(value.format().width() / 8))),
        };
        self.memory.write(address, size, raw).or_else(refused)
    }

    /// The result of an operation: which NaN it is, if it is one, is up to the machine (IEEE 754 6.2.3, 6.3).
    fn computed(&mut self, value: Value) -> Value {
        self.has_computed_nan |= matches!(value, Value::Float(number) if number.is_nan());
        value
    }

    /// Bits of a NaN that was computed can be looked at once it is in memory.
    pub(super) fn keep_bits(&mut self, value: Value) {
        if self.has_computed_nan && matches!(value, Value::Float(number) if number.is_nan()) {
            self.is_determined = false;
        }
    }

    /// An address other than null is in memory: whoever reads its bytes as a number sees where objects lie.
    pub(super) fn keep_address(&mut self, address: u64, size: u64, scalar: Scalar, raw: u128) -> Step<()> {
        match scalar == Scalar::Pointer && raw != 0 {
            true => self.memory.mark_address(address, size).or_else(refused),
            false => Ok(()),
        }
    }

    /// Bytes are read as numbers: if they are those of an address, they are others where objects lie in another way.
    pub(super) fn looks_at(&mut self, address: u64, size: u64) -> Step<()> {
        self.is_determined &= !self.memory.has_address(address, size).or_else(refused)?;
        Ok(())
    }

    /// The run has compared two addresses.
    fn compare_addresses(&mut self, is_order: bool, one: Value, other: Value) {
        if let (Value::Int(one), Value::Int(other)) = (one, other) {
            self.is_determined &= self.memory.is_comparable(is_order, one as u64, other as u64);
        }
    }

    /// The address, and of a register the number where the program says that it is.
    fn as_number(&self, address: Value) -> Value {
        let Value::Int(at) = address else { return address };
        match self.memory.object_at(at as u64) {
            Some((Object::Global(name), base, _)) => match register::address(name) {
                Some(number) => Value::Int(number as i128 + (at - i128::from(base))),
                None => address,
            },
            Some((Object::Heap(..) | Object::Local(..) | Object::External, ..)) | None => address,
        }
    }

    /// Evaluates an expression.
    pub(super) fn eval(&mut self, code: &'c FunctionCode, expr: &Expr) -> Step<Value> {
        let undefined = |what: &str| stuck(format!("{what} without a defined value"));
        Ok(match expr {
            Expr::Int(value, ty) if ty.is_exact() => Value::Int(*value),
            Expr::Int(..) => return stuck("an unsigned 128-bit integer"),
            Expr::Float(value) => Value::Float(*value),
            Expr::Null => Value::Int(0),
            Expr::Load(lvalue) => self.load(code, lvalue)?,
            Expr::Address(lvalue) => match self.place(code, lvalue)? {
                Place::Memory(address) => Value::Int(i128::from(address)),
                Place::Register(_) => return stuck("the address of a register"),
            },
            Expr::Function(name) => match self.code.address_of(*name) {
                Some(address) => Value::Int(address),
                None => return stuck(format!("the address of {name}, which is not declared")),
            },
            Expr::Unary(op, arg, _) => {
                let value = self.eval(code, arg)?;
                match eval::unary(*op, arg.scalar(), value, self.semantics) {
                    Some(value) => self.computed(value),
                    None => return undefined("an operation"),
                }
            }
            Expr::Binary(op, lhs, rhs, _) => {
                let (a, b) = (self.eval(code, lhs)?, self.eval(code, rhs)?);
                match eval::binary(*op, lhs.scalar(), a, b, self.semantics) {
                    Some(value) => self.computed(value),
                    None => return undefined("an operation"),
                }
            }
            Expr::Compare(op, lhs, rhs) => {
                let (mut a, mut b) = (self.eval(code, lhs)?, self.eval(code, rhs)?);
                if lhs.scalar() == Scalar::Pointer {
                    self.compare_addresses(!matches!(op, CompareOp::Eq | CompareOp::Ne), a, b);
                    (a, b) = (self.as_number(a), self.as_number(b));
                }
                match eval::compare(*op, a, b) {
                    Some(truth) => Value::Int(i128::from(truth)),
                    None => return undefined("a comparison"),
                }
            }
            Expr::Memory(predicate, pointer, size) => {
                Value::Int(i128::from(self.memory_predicate(code, *predicate, pointer, size)?))
            }
            Expr::Cast(to, arg, _) => {
                let mut value = self.eval(code, arg)?;
                if arg.scalar() == Scalar::Pointer && *to != Scalar::Pointer && value != Value::Int(0) {
                    self.is_determined = false;
                    value = self.as_number(value);
                }
                match eval::cast(arg.scalar(), *to, value, self.semantics) {
                    Some(value) => self.computed(value),
                    None => return undefined("a conversion"),
                }
            }
            Expr::Overflows(op, lhs, rhs) => {
                let (a, b) = (self.eval(code, lhs)?, self.eval(code, rhs)?);
                match eval::overflows(*op, lhs.scalar(), a, b) {
                    Some(truth) => Value::Int(i128::from(truth)),
                    None => return undefined("an overflow"),
                }
            }
            Expr::PointerDifference(lhs, rhs, stride, ty) => {
                match (self.eval(code, lhs)?, self.eval(code, rhs)?) {
                    (Value::Int(a), Value::Int(b)) => {
                        self.compare_addresses(true, Value::Int(a), Value::Int(b));
                        let number = |address| match self.as_number(Value::Int(address)) {
                            Value::Int(number) => number,
                            Value::Float(_) => address,
                        };
                        let (a, b) = (number(a), number(b));
                        Value::Int(ty.wrap((a - b) / i128::from(*stride).max(1)))
                    }
                    _ => return undefined("a difference of pointers"),
                }
            }
        })
    }
}

pub(super) fn refused<T>(fault: Fault) -> Step<T> {
    match fault {
        Fault::Outside => stuck("an access outside every object"),
        Fault::Exhausted => stuck("more memory than an execution may use"),
    }
}

/// Bytes that a value of a format fills: of a `long double` of x87 only ten, the others are padding and keep what they hold.
pub(super) fn value_bytes(program: &Program, scalar: Scalar) -> u64 {
    match scalar {
        Scalar::Float(ty) => u64::from(ty.width() / 8),
        Scalar::Int(_) | Scalar::Pointer => program.scalar_bytes(scalar),
    }
}

/// So many bytes, and all their bits.
fn whole(size: u64) -> (u64, u128) {
    (size, u128::MAX >> (128 - 8 * size.clamp(1, 16)))
}

/// Bytes that a bit-field touches, and its bits in them.
pub(super) fn field(bits: proofline_cfa::BitField) -> (u64, u128) {
    let size = u64::from(bits.first + bits.width).div_ceil(8);
    (size, ((1u128 << bits.width) - 1) << bits.first)
}

/// The value as a bit-field of this width keeps it.
fn in_bits(value: Value, scalar: Scalar, bits: Option<proofline_cfa::BitField>) -> Value {
    match (value, scalar, bits) {
        (Value::Int(value), Scalar::Int(ty), Some(bits)) => {
            Value::Int(IntType { bits: bits.width, signed: ty.signed }.wrap(value))
        }
        _ => value,
    }
}

fn decode(raw: u128, scalar: Scalar, bits: Option<proofline_cfa::BitField>) -> Step<Value> {
    match decode_bits(raw, scalar, bits) {
        Some(value) => Ok(value),
        None => stuck("bytes that are no long double"),
    }
}

/// The value of bytes; `None` if they are no long double.
pub(super) fn decode_bits(raw: u128, scalar: Scalar, bits: Option<proofline_cfa::BitField>) -> Option<Value> {
    Some(match scalar {
        Scalar::Int(ty) => match bits {
            Some(bits) => {
                let value = raw >> bits.first & ((1u128 << bits.width) - 1);
                Value::Int(IntType { bits: bits.width, signed: ty.signed }.wrap(value as i128))
            }
            None => Value::Int(ty.wrap(raw as i128)),
        },
        Scalar::Pointer => Value::Int(raw as i128),
        Scalar::Float(ty) => Value::Float(Float::from_bits(ty, raw)?),
    })
}

fn encode(value: Value, scalar: Scalar) -> Option<u128> {
    match (value, scalar) {
        (Value::Int(value), Scalar::Int(_) | Scalar::Pointer) => Some(value as u128),
        (Value::Float(value), Scalar::Float(ty)) if value.format() == ty => Some(value.to_bits()),
        _ => None,
    }
}
