//! Expressions and memory as instructions. A value is a word of 64 bits: of a signed type with its sign, of others with zeros above. Whatever
//! `cfa::eval` gives no value, and whatever the interpreter would have to ask or to refuse, is an exit.

use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, Value,
    condcodes::IntCC,
    types::{I8, I16, I32, I64, Type},
};
use proofline_cfa::{
    Base, BinaryOp, BitField, CompareOp, Expr, IntType, Lvalue, MemoryPredicate, Scalar, Step, UnaryOp,
};

use crate::{
    function::{Emit, NotPlain, Translator},
    layout::Local,
    machine::{field, line},
};

/// A place in memory.
struct Place {
    /// What the address was made from: it says which object is meant.
    from: Value,
    address: Value,
    /// Who remembers the object.
    line: u64,
}

/// Bytes of a program, at any address.
fn bytes_of_program() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// The parts that so many bytes are read and written in: where they begin, and how wide they are.
fn parts(bytes: u64) -> Emit<Vec<(i32, Type)>> {
    if !(1..=8).contains(&bytes) {
        return Err(NotPlain);
    }
    let mut parts = Vec::new();
    let mut at = 0;
    for (width, ty) in [(8, I64), (4, I32), (2, I16), (1, I8)] {
        if bytes & width != 0 {
            parts.push((at, ty));
            at += width as i32;
        }
    }
    Ok(parts)
}

impl Translator<'_> {
    fn int(scalar: Scalar) -> Emit<IntType> {
        match scalar {
            Scalar::Int(ty) if Self::is_plain(scalar) => Ok(ty),
            Scalar::Int(_) | Scalar::Float(_) | Scalar::Pointer => Err(NotPlain),
        }
    }

    fn address_type(&self) -> IntType {
        IntType { bits: self.pointer_bits(), signed: false }
    }

    /// The low bits, as a value of the type.
    fn wrap(&mut self, value: Value, ty: IntType) -> Value {
        let narrow = match ty.bits {
            64.. => return value,
            8 => I8,
            16 => I16,
            32 => I32,
            bits => {
                let shift = i64::from(64 - bits);
                let value = self.b.ins().ishl_imm_u(value, shift);
                return match ty.signed {
                    true => self.b.ins().sshr_imm_u(value, shift),
                    false => self.b.ins().ushr_imm_u(value, shift),
                };
            }
        };
        let value = self.b.ins().ireduce(narrow, value);
        match ty.signed {
            true => self.b.ins().sextend(I64, value),
            false => self.b.ins().uextend(I64, value),
        }
    }

    fn truth(&mut self, code: IntCC, lhs: Value, rhs: Value) -> Value {
        let truth = self.b.ins().icmp(code, lhs, rhs);
        self.b.ins().uextend(I64, truth)
    }

    /// The run has looked at an address as a number.
    fn look_at_address(&mut self, is_looked_at: Value) {
        let known = self.get(self.context, field::UNDETERMINED);
        let known = self.b.ins().bor(known, is_looked_at);
        self.put(known, self.context, field::UNDETERMINED);
    }

    /// The run compares two addresses: notes whether that depends on where objects lie. Of addresses that are near to each other, and of null, it does
    /// not.
    fn compare_addresses(&mut self, is_order: bool, lhs: Value, rhs: Value) {
        let (start, near) = self.job.environment.near;
        let mut is_known = self.b.ins().icmp(IntCC::Equal, lhs, rhs);
        let (first, least) = (self.number(start as i64), self.number(near as i64 - 1));
        let distance = self.b.ins().isub(lhs, rhs);
        let moved = self.b.ins().iadd(distance, least);
        let width = self.number(2 * near as i64 - 1);
        let mut is_near = self.b.ins().icmp(IntCC::UnsignedLessThan, moved, width);
        for address in [lhs, rhs] {
            let is_object = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, address, first);
            is_near = self.b.ins().band(is_near, is_object);
        }
        is_known = self.b.ins().bor(is_known, is_near);
        let zero = self.number(0);
        for address in [lhs, rhs].into_iter().filter(|_| !is_order) {
            let is_null = self.b.ins().icmp(IntCC::Equal, address, zero);
            is_known = self.b.ins().bor(is_known, is_null);
        }
        let (asks, goes_on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(asks);
        self.b.ins().brif(is_known, goes_on, &[], asks, &[]);
        self.b.seal_block(asks);
        self.b.switch_to_block(asks);
        let helper = self.get(self.context, field::COMPARE);
        let order = self.number(i64::from(is_order));
        let call = self.b.ins().call_indirect(self.helpers[1], helper, &[self.context, lhs, rhs, order]);
        let depends = self.b.inst_results(call)[0];
        self.look_at_address(depends);
        self.b.ins().jump(goes_on, &[]);
        self.b.seal_block(goes_on);
        self.b.switch_to_block(goes_on);
    }

    pub(crate) fn value(&mut self, expr: &Expr) -> Emit<Value> {
        if !Self::is_plain(expr.scalar()) {
            return Err(NotPlain);
        }
        Ok(match expr {
            Expr::Int(value, _) => self.number(*value as i64),
            Expr::Float(_) => return Err(NotPlain),
            Expr::Null => self.number(0),
            Expr::Load(lvalue) => self.load(lvalue)?,
            Expr::Address(lvalue) => self.address(lvalue)?,
            Expr::Function(name) => {
                let environment = self.job.environment;
                let index = environment.numbers.get(name).ok_or(NotPlain)?;
                self.number((environment.address_of)(*index) as i64)
            }
            Expr::Unary(op, arg, _) => {
                let ty = Self::int(arg.scalar())?;
                let value = self.value(arg)?;
                let value = match op {
                    UnaryOp::Negate => self.b.ins().ineg(value),
                    UnaryOp::BitNot => self.b.ins().bnot(value),
                };
                self.wrap(value, ty)
            }
            Expr::Binary(op, lhs, rhs, _) => {
                let ty = Self::int(lhs.scalar())?;
                Self::int(rhs.scalar())?;
                let (lhs, rhs) = (self.value(lhs)?, self.value(rhs)?);
                self.binary(*op, ty, lhs, rhs)
            }
            Expr::Compare(op, lhs, rhs) => self.compare(*op, lhs, rhs)?,
            Expr::Cast(to, arg, _) => {
                let from = arg.scalar();
                let value = self.value(arg)?;
                match (from, *to) {
                    (_, Scalar::Float(_)) => return Err(NotPlain),
                    (Scalar::Pointer, Scalar::Int(ty)) => {
                        self.look_at_address(value);
                        self.wrap(value, ty)
                    }
                    (_, Scalar::Int(ty)) => self.wrap(value, ty),
                    (_, Scalar::Pointer) => self.wrap(value, self.address_type()),
                }
            }
            Expr::Overflows(op, lhs, rhs) => {
                let ty = Self::int(lhs.scalar())?;
                let (lhs, rhs) = (self.value(lhs)?, self.value(rhs)?);
                self.overflows(*op, ty, lhs, rhs)?
            }
            Expr::Memory(predicate, pointer, size) => self.predicate(*predicate, pointer, size)?,
            Expr::PointerDifference(lhs, rhs, stride, ty) => {
                let stride = i64::try_from((*stride).max(1)).map_err(|_| NotPlain)?;
                let (lhs, rhs) = (self.value(lhs)?, self.value(rhs)?);
                self.compare_addresses(true, lhs, rhs);
                let distance = self.b.ins().isub(lhs, rhs);
                let stride = self.number(stride);
                let distance = self.b.ins().sdiv(distance, stride);
                self.wrap(distance, *ty)
            }
        })
    }

    fn compare(&mut self, op: CompareOp, lhs: &Expr, rhs: &Expr) -> Emit<Value> {
        let scalar = lhs.scalar();
        let (lhs, rhs) = (self.value(lhs)?, self.value(rhs)?);
        let is_signed = matches!(scalar, Scalar::Int(IntType { signed: true, .. }));
        let is_order = !matches!(op, CompareOp::Eq | CompareOp::Ne);
        if scalar == Scalar::Pointer {
            self.compare_addresses(is_order, lhs, rhs);
        }
        let code = match (op, is_signed) {
            (CompareOp::Eq, _) => IntCC::Equal,
            (CompareOp::Ne, _) => IntCC::NotEqual,
            (CompareOp::Lt, true) => IntCC::SignedLessThan,
            (CompareOp::Lt, false) => IntCC::UnsignedLessThan,
            (CompareOp::Le, true) => IntCC::SignedLessThanOrEqual,
            (CompareOp::Le, false) => IntCC::UnsignedLessThanOrEqual,
            (CompareOp::Gt, true) => IntCC::SignedGreaterThan,
            (CompareOp::Gt, false) => IntCC::UnsignedGreaterThan,
            (CompareOp::Ge, true) => IntCC::SignedGreaterThanOrEqual,
            (CompareOp::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
        };
        Ok(self.truth(code, lhs, rhs))
    }

    /// `lhs op rhs`, signed results modulo 2^bits.
    fn binary(&mut self, op: BinaryOp, ty: IntType, lhs: Value, rhs: Value) -> Value {
        match op {
            BinaryOp::Add => {
                let value = self.b.ins().iadd(lhs, rhs);
                self.wrap(value, ty)
            }
            BinaryOp::Sub => {
                let value = self.b.ins().isub(lhs, rhs);
                self.wrap(value, ty)
            }
            BinaryOp::Mul => {
                let value = self.b.ins().imul(lhs, rhs);
                self.wrap(value, ty)
            }
            BinaryOp::Div | BinaryOp::Rem => {
                self.demand(rhs);
                if ty.signed {
                    let least = self.is_least_by_minus_one(ty, lhs, rhs);
                    self.refuse(least);
                }
                self.divide(op, ty, lhs, rhs)
            }
            BinaryOp::Shl => {
                self.demand_shift(ty, rhs);
                let value = self.b.ins().ishl(lhs, rhs);
                self.wrap(value, ty)
            }
            BinaryOp::Shr => {
                self.demand_shift(ty, rhs);
                match ty.signed {
                    true => self.b.ins().sshr(lhs, rhs),
                    false => self.b.ins().ushr(lhs, rhs),
                }
            }
            BinaryOp::BitAnd => self.b.ins().band(lhs, rhs),
            BinaryOp::BitOr => self.b.ins().bor(lhs, rhs),
            BinaryOp::BitXor => self.b.ins().bxor(lhs, rhs),
        }
    }

    /// A quotient or a rest that exists. Divisions of 32 bits take half the time.
    fn divide(&mut self, op: BinaryOp, ty: IntType, lhs: Value, rhs: Value) -> Value {
        let is_narrow = ty.bits <= 32;
        let (lhs, rhs) = match is_narrow {
            true => (self.b.ins().ireduce(I32, lhs), self.b.ins().ireduce(I32, rhs)),
            false => (lhs, rhs),
        };
        let value = match (op == BinaryOp::Rem, ty.signed) {
            (false, true) => self.b.ins().sdiv(lhs, rhs),
            (false, false) => self.b.ins().udiv(lhs, rhs),
            (true, true) => self.b.ins().srem(lhs, rhs),
            (true, false) => self.b.ins().urem(lhs, rhs),
        };
        match (is_narrow, ty.signed) {
            (false, _) => value,
            (true, true) => self.b.ins().sextend(I64, value),
            (true, false) => self.b.ins().uextend(I64, value),
        }
    }

    fn is_least_by_minus_one(&mut self, ty: IntType, lhs: Value, rhs: Value) -> Value {
        let least = self.number(ty.min() as i64);
        let (is_least, is_minus_one) =
            (self.truth(IntCC::Equal, lhs, least), self.b.ins().icmp_imm_s(IntCC::Equal, rhs, -1));
        let is_minus_one = self.b.ins().uextend(I64, is_minus_one);
        self.b.ins().band(is_least, is_minus_one)
    }

    /// The amount is less than the width. A negative one is a large number of 64 bits.
    fn demand_shift(&mut self, ty: IntType, rhs: Value) {
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, rhs, i64::from(ty.bits));
        self.demand(fits);
    }

    /// Whether the mathematical result is outside of the type.
    fn overflows(&mut self, op: BinaryOp, ty: IntType, lhs: Value, rhs: Value) -> Emit<Value> {
        let zero = self.number(0);
        match op {
            BinaryOp::Shr => {
                self.demand_shift(ty, rhs);
                return Ok(zero);
            }
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => return Ok(zero),
            BinaryOp::Div | BinaryOp::Rem => {
                self.demand(rhs);
                return Ok(match ty.signed {
                    true => self.is_least_by_minus_one(ty, lhs, rhs),
                    false => zero,
                });
            }
            BinaryOp::Shl => self.demand_shift(ty, rhs),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {}
        }
        if ty.bits <= 32 {
            // Exact in 64 bits.
            let exact = match op {
                BinaryOp::Add => self.b.ins().iadd(lhs, rhs),
                BinaryOp::Sub => self.b.ins().isub(lhs, rhs),
                BinaryOp::Mul if ty.signed => self.b.ins().imul(lhs, rhs),
                BinaryOp::Mul => {
                    let product = self.b.ins().imul(lhs, rhs);
                    let above = self.b.ins().ushr_imm_u(product, i64::from(ty.bits));
                    return Ok(self.truth(IntCC::NotEqual, above, zero));
                }
                BinaryOp::Shl => self.b.ins().ishl(lhs, rhs),
                BinaryOp::Div
                | BinaryOp::Rem
                | BinaryOp::Shr
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor => return Err(NotPlain),
            };
            let wrapped = self.wrap(exact, ty);
            return Ok(self.truth(IntCC::NotEqual, exact, wrapped));
        }
        if ty.bits != 64 {
            return Err(NotPlain);
        }
        Ok(match (op, ty.signed) {
            (BinaryOp::Add, false) => {
                let sum = self.b.ins().iadd(lhs, rhs);
                self.truth(IntCC::UnsignedLessThan, sum, lhs)
            }
            (BinaryOp::Sub, false) => self.truth(IntCC::UnsignedLessThan, lhs, rhs),
            (BinaryOp::Add, true) => {
                let sum = self.b.ins().iadd(lhs, rhs);
                let (a, b) = (self.b.ins().bxor(lhs, sum), self.b.ins().bxor(rhs, sum));
                let signs = self.b.ins().band(a, b);
                self.truth(IntCC::SignedLessThan, signs, zero)
            }
            (BinaryOp::Sub, true) => {
                let difference = self.b.ins().isub(lhs, rhs);
                let (a, b) = (self.b.ins().bxor(lhs, rhs), self.b.ins().bxor(lhs, difference));
                let signs = self.b.ins().band(a, b);
                self.truth(IntCC::SignedLessThan, signs, zero)
            }
            (BinaryOp::Mul, false) => {
                let above = self.b.ins().umulhi(lhs, rhs);
                self.truth(IntCC::NotEqual, above, zero)
            }
            (BinaryOp::Mul, true) => {
                let (above, below) = (self.b.ins().smulhi(lhs, rhs), self.b.ins().imul(lhs, rhs));
                let sign = self.b.ins().sshr_imm_u(below, 63);
                self.truth(IntCC::NotEqual, above, sign)
            }
            (BinaryOp::Shl, signed) => {
                let there = self.b.ins().ishl(lhs, rhs);
                let back = match signed {
                    true => self.b.ins().sshr(there, rhs),
                    false => self.b.ins().ushr(there, rhs),
                };
                self.truth(IntCC::NotEqual, back, lhs)
            }
            (
                BinaryOp::Div
                | BinaryOp::Rem
                | BinaryOp::Shr
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor,
                _,
            ) => return Err(NotPlain),
        })
    }

    /// The line of what is followed; expressions that are equal share one.
    fn line(&mut self, followed: Expr) -> Emit<u64> {
        if let Some(line) = self.lines.get(&followed) {
            return Ok(*line);
        }
        if self.free.is_empty() {
            return Err(NotPlain);
        }
        let line = self.free.start;
        self.free.start += line::SIZE;
        self.lines.insert(followed, line);
        Ok(line)
    }

    fn place(&mut self, lvalue: &Lvalue) -> Emit<Place> {
        let (from, line) = match &lvalue.base {
            Base::Local(id) => match self.layout.locals[id.index()] {
                Local::Memory(_) => {
                    let root = root(Base::Local(*id), self.job.function.local(*id).ty);
                    (self.local(*id)?, self.line(root)?)
                }
                Local::Register(_) | Local::Opaque => return Err(NotPlain),
            },
            Base::Global(name) => {
                let base = *self.job.environment.globals.get(name).ok_or(NotPlain)?;
                let ty = self.job.environment.program.globals.get(name).ok_or(NotPlain)?.ty;
                (self.number(base as i64), self.line(root(Base::Global(*name), ty))?)
            }
            Base::Deref(pointer, _) => {
                let line = self.line((**pointer).clone())?;
                (self.value(pointer)?, line)
            }
        };
        let mut address = from;
        for step in &lvalue.path {
            match step {
                Step::Field { offset: 0, .. } => {}
                Step::Field { offset, .. } => address = self.b.ins().iadd_imm_s(address, *offset as i64),
                Step::Index { index, stride, .. } => {
                    Self::int(index.scalar())?;
                    let index = self.value(index)?;
                    let stride = self.number(*stride as i64);
                    let distance = self.b.ins().imul(index, stride);
                    address = self.b.ins().iadd(address, distance);
                }
            }
        }
        if address != from {
            address = self.wrap(address, self.address_type());
        }
        Ok(Place { from, address, line })
    }

    /// Goes on where the condition on the line holds, now or when it knows the object.
    fn find(&mut self, place: &Place, size: u64, holds: &mut dyn FnMut(&mut Self, Value) -> Value) {
        let line = self.number(place.line as i64);
        let holds = holds(self, line);
        let (found, search) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(search);
        self.b.ins().brif(holds, found, &[], search, &[]);
        self.b.seal_block(search);
        self.b.switch_to_block(search);
        let size = self.number(size as i64);
        let helper = self.get(self.context, field::LOOKUP);
        let arguments = [self.context, line, place.from, place.address, size];
        let call = self.b.ins().call_indirect(self.helpers[2], helper, &arguments);
        let is_found = self.b.inst_results(call)[0];
        self.demand(is_found);
        self.b.ins().jump(found, &[]);
        self.b.seal_block(found);
        self.b.switch_to_block(found);
    }

    fn is_in_slot(&mut self, line: Value, address: Value) -> Value {
        let (start, length) = (self.get(line, line::SLOT_START), self.get(line, line::SLOT_LENGTH));
        let offset = self.b.ins().isub(address, start);
        self.b.ins().icmp(IntCC::UnsignedLessThan, offset, length)
    }

    /// Where the bytes at the place are, and which of their bits have a value; stops where they are not inside of one object.
    fn bytes_at(&mut self, place: &Place, size: u64) -> (Value, Value) {
        let Place { from, address, .. } = *place;
        self.find(place, size, &mut |this, line| {
            // Bit-fields touch any number of bytes: the first and the last are inside.
            let (wide, last) = if size.is_power_of_two() { (size, 0) } else { (1, size as i64 - 1) };
            let (base, limit) = (this.get(line, line::BASE), this.get(line, line::limit(wide)));
            let offset = this.b.ins().isub(address, base);
            let mut is_inside = this.b.ins().icmp(IntCC::UnsignedLessThan, offset, limit);
            if last > 0 {
                let last = this.b.ins().iadd_imm_s(offset, last);
                let is_last = this.b.ins().icmp(IntCC::UnsignedLessThan, last, limit);
                is_inside = this.b.ins().band(is_inside, is_last);
            }
            if address == from {
                return is_inside;
            }
            let is_its = this.is_in_slot(line, from);
            this.b.ins().band(is_inside, is_its)
        });
        let line = self.number(place.line as i64);
        let base = self.get(line, line::BASE);
        let offset = self.b.ins().isub(address, base);
        let (bytes, known) = (self.get(line, line::BYTES), self.get(line, line::KNOWN));
        (self.b.ins().iadd(bytes, offset), self.b.ins().iadd(known, offset))
    }

    /// An address that is still one of the same object.
    fn address(&mut self, lvalue: &Lvalue) -> Emit<Value> {
        let place = self.place(lvalue)?;
        let Place { from, address, .. } = place;
        if address != from {
            self.find(&place, 0, &mut |this, line| {
                let (begin, end) = (this.is_in_slot(line, from), this.is_in_slot(line, address));
                this.b.ins().band(begin, end)
            });
        }
        Ok(address)
    }

    /// Bytes that a scalar lvalue has in memory, and which bits of them.
    fn extent(&self, lvalue: &Lvalue, scalar: Scalar) -> Emit<(u64, Option<BitField>)> {
        let size = match lvalue.bits {
            Some(bits) => u64::from(bits.first + bits.width).div_ceil(8),
            None => self.job.environment.program.scalar_bytes(scalar),
        };
        parts(size)?;
        Ok((size, lvalue.bits))
    }

    fn load(&mut self, lvalue: &Lvalue) -> Emit<Value> {
        let scalar = lvalue.scalar.ok_or(NotPlain)?;
        if let Some(id) = self.register(lvalue) {
            return self.local(id);
        }
        let (size, bits) = self.extent(lvalue, scalar)?;
        let place = self.place(lvalue)?;
        let (bytes, known) = self.bytes_at(&place, size);
        self.demand_known(known, size, bits)?;
        let raw = self.read(bytes, size)?;
        Ok(match (scalar, bits) {
            (Scalar::Int(int), Some(bits)) => {
                let raw = self.b.ins().ushr_imm_u(raw, i64::from(bits.first));
                self.wrap(raw, IntType { bits: bits.width, signed: int.signed })
            }
            (Scalar::Int(int), None) => self.wrap(raw, int),
            (Scalar::Pointer, None) => raw,
            (Scalar::Pointer, Some(_)) | (Scalar::Float(_), _) => return Err(NotPlain),
        })
    }

    /// Each of the bits has a value.
    fn demand_known(&mut self, known: Value, size: u64, bits: Option<BitField>) -> Emit<()> {
        let known = self.read(known, size)?;
        let all = match bits {
            Some(bits) => mask(bits),
            None => (u64::MAX >> (64 - 8 * size)) as i64,
        };
        let all = self.number(all);
        let known = self.b.ins().band(known, all);
        let is_known = self.b.ins().icmp(IntCC::Equal, known, all);
        self.demand(is_known);
        Ok(())
    }

    pub(crate) fn assign(&mut self, lvalue: &Lvalue, value: Value) -> Emit<()> {
        let scalar = lvalue.scalar.ok_or(NotPlain)?;
        if let Some(id) = self.register(lvalue) {
            return self.set_local(id, value);
        }
        if !Self::is_plain(scalar) {
            return Err(NotPlain);
        }
        let (size, bits) = self.extent(lvalue, scalar)?;
        let place = self.place(lvalue)?;
        let (bytes, known) = self.bytes_at(&place, size);
        let all = self.number(-1);
        let (value, all) = match bits {
            None => (value, all),
            Some(bits) => {
                let mask = mask(bits);
                let value = self.b.ins().ishl_imm_u(value, i64::from(bits.first));
                let value = self.b.ins().band_imm_s(value, mask);
                let old = self.read(bytes, size)?;
                let old = self.b.ins().band_imm_s(old, !mask);
                let old_known = self.read(known, size)?;
                (self.b.ins().bor(old, value), self.b.ins().bor_imm_s(old_known, mask))
            }
        };
        for (value, to) in [(value, bytes), (all, known)] {
            for (at, ty) in parts(size)? {
                let part = self.b.ins().ushr_imm_u(value, 8 * i64::from(at));
                let part = if ty == I64 { part } else { self.b.ins().ireduce(ty, part) };
                self.b.ins().store(bytes_of_program(), part, to, at);
            }
        }
        Ok(())
    }

    /// Up to 8 bytes, with zeros above.
    fn read(&mut self, from: Value, size: u64) -> Emit<Value> {
        let mut all = self.number(0);
        for (at, ty) in parts(size)? {
            let part = self.b.ins().load(ty, bytes_of_program(), from, at);
            let part = if ty == I64 { part } else { self.b.ins().uextend(I64, part) };
            let part = self.b.ins().ishl_imm_u(part, 8 * i64::from(at));
            all = self.b.ins().bor(all, part);
        }
        Ok(all)
    }

    /// A predicate that holds; where it may not, the run stops.
    fn predicate(&mut self, predicate: MemoryPredicate, pointer: &Expr, size: &Expr) -> Emit<Value> {
        let (place, bits) = if let Expr::Address(lvalue) = pointer {
            (self.place(lvalue)?, lvalue.bits)
        } else {
            let line = self.line(pointer.clone())?;
            let value = self.value(pointer)?;
            (Place { from: value, address: value, line }, None)
        };
        match predicate {
            MemoryPredicate::InBounds
            | MemoryPredicate::NotFreed
            | MemoryPredicate::NotEnded
            | MemoryPredicate::Within
            | MemoryPredicate::Initialised => {}
            MemoryPredicate::Writable if !self.job.environment.has_read_only => {}
            MemoryPredicate::Writable
            | MemoryPredicate::Callable
            | MemoryPredicate::SameObject
            | MemoryPredicate::Freeable
            | MemoryPredicate::Terminated
            | MemoryPredicate::WideTerminated
            | MemoryPredicate::NothingLost
            | MemoryPredicate::NothingLeft => return Err(NotPlain),
        }
        let size = match size {
            Expr::Int(size @ 1..=8, _) => *size as u64,
            // That an object is alive can be asked of any size.
            _ if matches!(predicate, MemoryPredicate::InBounds | MemoryPredicate::Initialised) => {
                return Err(NotPlain);
            }
            _ => 1,
        };
        let (_, known) = self.bytes_at(&place, size);
        if predicate == MemoryPredicate::Initialised {
            self.demand_known(known, size, bits)?;
        }
        Ok(self.number(1))
    }
}

/// The bits of a bit-field in the bytes that it touches.
fn mask(bits: BitField) -> i64 {
    (((1u128 << bits.width) - 1) << bits.first) as i64
}

/// The address of a whole object.
fn root(base: Base, ty: proofline_cfa::Type) -> Expr {
    Expr::Address(Lvalue { base, path: Vec::new(), ty, scalar: None, bits: None, size: 0 })
}
