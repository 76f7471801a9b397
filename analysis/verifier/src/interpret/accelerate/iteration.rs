//! One iteration of a loop along a path, its values as functions of the number of iterations: what each cell has at the end, and how
//! often the path is taken again. Asks the machine what memory holds; changes nothing.
//!
//! Cells are registers of the frame of the loop and scalars in memory at places that do not move. Guesses say what each cell has when
//! iteration k begins. From them follows what it has when iteration k ends, and up to which k the conditions on the path hold. If that is what
//! the guesses say of iteration k + 1, they are right, by induction, up to there.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Argument, Base, BinaryOp, Call, Callee, CompareOp, EdgeId, Expr, Float, IntType, LocalId, Lvalue,
    MemoryPredicate, Op, Role, Scalar, Step as PathStep, UnaryOp,
    eval::{self, Value},
};
use rustc_hash::FxHashMap;

use super::{
    super::{
        code::{FunctionCode, Home},
        machine::Machine,
        oracle::Oracle,
        place::value_bytes,
    },
    Taken,
    form::{Exact, Polynomial},
};

/// A place whose value may differ from iteration to iteration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Cell {
    /// A register of the frame of the loop.
    Register(LocalId),
    /// A scalar in memory: address and bytes.
    Memory(u64, u64),
}

/// A value in iteration k.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Form {
    /// An integer or an address.
    Polynomial(Polynomial),
    /// The same in all iterations: floating numbers, wide integers.
    Fixed(Value),
    /// Some value that is not described.
    Opaque,
    /// None: reading it would ask for one.
    Unset,
}

/// What is said of a path.
pub(super) struct Iteration<'m, 'c, O> {
    machine: &'m mut Machine<'c, O>,
    /// What the cells have when an iteration begins; those that are not there have what they have now.
    guesses: &'m BTreeMap<Cell, Form>,
    /// What they had when it began: those that were read before they were written.
    pub(super) read: BTreeMap<Cell, Form>,
    /// What they have now: those that were written.
    pub(super) written: BTreeMap<Cell, Form>,
    /// Calls that are open in the iteration, above the frame of the loop.
    frames: Vec<(&'c FunctionCode, FxHashMap<LocalId, Form>)>,
    /// The first iteration of which nothing is said. `None`: they are all alike.
    pub(super) limit: Option<u128>,
}

/// `None`: the path does something that is not described.
type Described<T> = Option<T>;

impl<'m, 'c, O: Oracle> Iteration<'m, 'c, O> {
    /// Goes along the path. `None` if it cannot be described, or if the first iteration leaves it.
    pub(super) fn along(
        machine: &'m mut Machine<'c, O>,
        guesses: &'m BTreeMap<Cell, Form>,
        path: &[Taken],
    ) -> Described<Iteration<'m, 'c, O>> {
        let mut iteration = Iteration {
            machine,
            guesses,
            read: BTreeMap::new(),
            written: BTreeMap::new(),
            frames: Vec::new(),
            limit: None,
        };
        for taken in path {
            iteration.take(*taken)?;
            if iteration.limit == Some(0) {
                return None;
            }
        }
        (iteration.frames.is_empty() && iteration.is_apart()).then_some(iteration)
    }

    fn code(&self) -> &'c FunctionCode {
        match self.frames.last() {
            Some((code, _)) => code,
            None => &self.machine.code.functions[self.machine.frame().function as usize],
        }
    }

    /// No two cells share bytes.
    fn is_apart(&self) -> bool {
        let memory = |cell: &Cell| match cell {
            Cell::Memory(address, size) => Some((*address, *size)),
            Cell::Register(_) => None,
        };
        let all: BTreeSet<_> = self.read.keys().chain(self.written.keys()).filter_map(memory).collect();
        all.iter().is_sorted_by(|(at, size), (next, _)| at + size <= *next)
    }

    fn restrict(&mut self, first: Option<u128>) {
        if let Some(first) = first {
            self.limit = Some(self.limit.map_or(first, |limit| limit.min(first)));
        }
    }

    fn take(&mut self, taken: Taken) -> Described<()> {
        match taken {
            Taken::Edge(id) => self.edge(id),
            Taken::Enter(id) => self.enter(id),
            Taken::Leave(id) => self.leave(id),
            // What a pure call gave depends on its arguments.
            Taken::Remembered => None,
        }
    }

    fn edge(&mut self, id: EdgeId) -> Described<()> {
        let code = self.code();
        let edge = code.function.edge(id);
        match &edge.op {
            Op::Skip => Some(()),
            Op::Assume(condition) => self.branch(code, id, condition),
            Op::Assign(dst, value) => {
                let value = self.eval(code, value)?;
                self.assign(code, dst, value)
            }
            Op::Begin(id) | Op::End(id) => match code.home(*id) {
                // The memory of an array of variable length ends with it.
                Home::Register if code.function.local(*id).role == Role::VariableArray => None,
                Home::Register => {
                    self.write_register(*id, Form::Unset);
                    Some(())
                }
                Home::Memory(_) => None,
            },
            Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Call(_)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..) => None,
        }
    }

    /// The edge is the first whose condition holds.
    fn branch(&mut self, code: &'c FunctionCode, id: EdgeId, condition: &'c Expr) -> Described<()> {
        let from = code.function.edge(id).from;
        for &other in code.successors[from.index()].iter().take_while(|other| **other != id) {
            let Op::Assume(before) = &code.function.edge(other).op else { return None };
            if self.truth(code, before)? {
                return None;
            }
        }
        self.truth(code, condition)?.then_some(())
    }

    fn truth(&mut self, code: &'c FunctionCode, condition: &'c Expr) -> Described<bool> {
        let form = self.eval(code, condition)?;
        if let Some(value) = constant(&form) {
            return Some(value.truth());
        }
        let Form::Polynomial(polynomial) = form else { return None };
        let zero = Polynomial::constant(0, polynomial.ty)?;
        self.compared(CompareOp::Ne, &polynomial, &zero)
    }

    fn enter(&mut self, id: EdgeId) -> Described<()> {
        let code = self.code();
        let Op::Call(call) = &code.function.edge(id).op else { return None };
        let callee = self.callee(code, call)?;
        let is_in_memory = |home: &Home| matches!(home, Home::Memory(_));
        if callee.homes.iter().any(is_in_memory) || call.arguments.len() < callee.function.parameters.len() {
            return None;
        }
        let mut locals = FxHashMap::default();
        let mut values = Vec::new();
        for argument in &call.arguments {
            let Argument::Value(value) = argument else { return None };
            values.push(self.eval(code, value)?);
        }
        for (&parameter, value) in callee.function.parameters.iter().zip(values) {
            locals.insert(parameter, value);
        }
        self.frames.push((callee, locals));
        Some(())
    }

    fn callee(&mut self, code: &'c FunctionCode, call: &'c Call) -> Described<&'c FunctionCode> {
        let all = self.machine.code;
        let index = match &call.callee {
            Callee::Direct(name) => *all.by_name.get(name)?,
            Callee::Indirect(pointer, _) => {
                let form = self.eval(code, pointer)?;
                let address = constant(&form)?;
                match address {
                    Value::Int(address) => all.function_at(address)?,
                    Value::Float(_) => return None,
                }
            }
        };
        Some(&all.functions[index as usize])
    }

    fn leave(&mut self, id: EdgeId) -> Described<()> {
        let (callee, locals) = self.frames.pop()?;
        let code = self.code();
        let Op::Call(call) = &code.function.edge(id).op else { return None };
        match (&call.dst, callee.function.result) {
            (Some(dst), Some(slot)) => {
                let value = *locals.get(&slot)?;
                if value == Form::Unset {
                    return None;
                }
                self.assign(code, dst, value)
            }
            _ => Some(()),
        }
    }

    fn assign(&mut self, code: &'c FunctionCode, dst: &'c Lvalue, value: Form) -> Described<()> {
        let scalar = dst.scalar.filter(|_| dst.bits.is_none())?;
        match self.place(code, dst)? {
            None => {
                let Base::Local(id) = dst.base else { return None };
                self.write_register(id, value);
            }
            Some(address) => {
                let size = value_bytes(&self.machine.code.program, scalar);
                self.machine.memory.read_known(address, size, u128::MAX).ok()?;
                self.written.insert(Cell::Memory(address, size), value);
            }
        }
        Some(())
    }

    fn write_register(&mut self, id: LocalId, value: Form) {
        match self.frames.last_mut() {
            Some((_, locals)) => locals.insert(id, value),
            None => self.written.insert(Cell::Register(id), value),
        };
    }

    /// What the cell has when the iteration begins.
    fn begin(&mut self, cell: Cell, scalar: Scalar) -> Described<Form> {
        if let Some(form) = self.read.get(&cell) {
            return Some(*form);
        }
        let now = match cell {
            Cell::Register(id) => self.machine.frame().locals[id.index()]?,
            Cell::Memory(address, size) => {
                let raw = self.machine.memory.read_bits(address, size, u128::MAX).ok()??;
                match scalar {
                    Scalar::Int(ty) => Value::Int(ty.wrap(raw as i128)),
                    Scalar::Pointer => Value::Int(raw as i128),
                    Scalar::Float(ty) => Value::Float(Float::from_bits(ty, raw)?),
                }
            }
        };
        let form = self.guesses.get(&cell).copied().unwrap_or_else(|| self.lift(now, scalar));
        self.read.insert(cell, form);
        Some(form)
    }

    /// Reads a scalar.
    fn load(&mut self, code: &'c FunctionCode, lvalue: &'c Lvalue) -> Described<Form> {
        let scalar = lvalue.scalar.filter(|_| lvalue.bits.is_none())?;
        let cell = match (self.place(code, lvalue)?, &lvalue.base) {
            (None, Base::Local(id)) => Cell::Register(*id),
            (None, Base::Global(_) | Base::Deref(..)) => return None,
            (Some(address), _) => Cell::Memory(address, value_bytes(&self.machine.code.program, scalar)),
        };
        let form = match (cell, self.frames.last()) {
            (Cell::Register(id), Some((_, locals))) => *locals.get(&id)?,
            (Cell::Register(_), None) | (Cell::Memory(..), _) => match self.written.get(&cell) {
                Some(form) => *form,
                None => self.begin(cell, scalar)?,
            },
        };
        match (form, scalar) {
            (Form::Unset, _) => None,
            (Form::Opaque, _) => Some(form),
            (Form::Fixed(Value::Float(value)), Scalar::Float(ty)) => (value.format() == ty).then_some(form),
            (Form::Fixed(Value::Int(value)), Scalar::Int(ty)) => ty.contains(value).then_some(form),
            (Form::Fixed(_), _) => None,
            (Form::Polynomial(polynomial), _) => {
                let ty = self.format(scalar)?;
                let is_same_width = ty.bits == polynomial.ty.bits;
                is_same_width.then(|| polynomial.narrowed(ty)).flatten().map(Form::Polynomial)
            }
        }
    }

    /// Where an lvalue is in all iterations: `Some(None)` is a register.
    fn place(&mut self, code: &'c FunctionCode, lvalue: &'c Lvalue) -> Described<Option<u64>> {
        let base = match &lvalue.base {
            Base::Local(id) => match code.home(*id) {
                Home::Register => return Some(None),
                Home::Memory(_) if !self.frames.is_empty() => return None,
                Home::Memory(_) => self.machine.frame().locals[id.index()]?.int()? as u64,
            },
            Base::Global(name) => *self.machine.globals.get(name)?,
            Base::Deref(pointer, _) => {
                let form = self.eval(code, pointer)?;
                constant(&form)?.int()? as u64
            }
        };
        let mut address = i128::from(base);
        for step in &lvalue.path {
            address += match step {
                PathStep::Field { offset, .. } => i128::from(*offset),
                PathStep::Index { index, stride, .. } => {
                    let form = self.eval(code, index)?;
                    constant(&form)?.int()?.checked_mul(i128::from(*stride))?
                }
            };
        }
        let address = self.machine.address_type().wrap(address) as u64;
        self.machine.memory.is_same_slot(base, address).then_some(Some(address))
    }

    /// The format of integers and addresses.
    fn format(&self, scalar: Scalar) -> Option<IntType> {
        match scalar {
            Scalar::Int(ty) => Some(ty),
            Scalar::Pointer => Some(self.machine.address_type()),
            Scalar::Float(_) => None,
        }
    }

    fn lift(&self, value: Value, scalar: Scalar) -> Form {
        let polynomial = match (value, self.format(scalar)) {
            (Value::Int(value), Some(ty)) => Polynomial::constant(value, ty),
            _ => None,
        };
        polynomial.map_or(Form::Fixed(value), Form::Polynomial)
    }

    /// An integer of at most 64 bits, or an address, that is not described. Operations on others need not have a value.
    fn opaque(&self, scalar: Scalar) -> Described<Form> {
        self.format(scalar).filter(|ty| ty.bits <= 64).map(|_| Form::Opaque)
    }

    fn lifted(&self, value: Option<Value>, scalar: Scalar) -> Described<Form> {
        value.map(|value| self.lift(value, scalar))
    }

    fn eval(&mut self, code: &'c FunctionCode, expr: &'c Expr) -> Described<Form> {
        let semantics = self.machine.semantics;
        Some(match expr {
            Expr::Int(value, ty) => self.lift(Value::Int(ty.is_exact().then_some(*value)?), Scalar::Int(*ty)),
            Expr::Float(value) => Form::Fixed(Value::Float(*value)),
            Expr::Null => self.lift(Value::Int(0), Scalar::Pointer),
            Expr::Load(lvalue) => self.load(code, lvalue)?,
            Expr::Address(lvalue) => {
                let address = self.place(code, lvalue)??;
                self.lift(Value::Int(i128::from(address)), Scalar::Pointer)
            }
            Expr::Function(name) => {
                self.lift(Value::Int(self.machine.code.address_of(*name)?), Scalar::Pointer)
            }
            Expr::Unary(op, arg, _) => {
                let scalar = arg.scalar();
                let arg = self.eval(code, arg)?;
                match (constant(&arg), arg) {
                    (Some(value), _) => self.lifted(eval::unary(*op, scalar, value, semantics), scalar)?,
                    (None, Form::Polynomial(arg)) => match op {
                        UnaryOp::Negate => described(Polynomial::constant(0, arg.ty)?.minus(&arg)),
                        UnaryOp::BitNot => described(Polynomial::constant(-1, arg.ty)?.minus(&arg)),
                    },
                    (None, _) => self.opaque(scalar)?,
                }
            }
            Expr::Binary(op, lhs, rhs, _) => {
                let scalar = lhs.scalar();
                let (left, right) = (self.eval(code, lhs)?, self.eval(code, rhs)?);
                match (constant(&left), constant(&right)) {
                    (Some(a), Some(b)) => self.lifted(eval::binary(*op, scalar, a, b, semantics), scalar)?,
                    (_, b) => {
                        self.binary(*op, self.format(scalar)?, [&left, &right], b.and_then(Value::int))?
                    }
                }
            }
            Expr::Compare(op, lhs, rhs) => {
                let (int, scalar) = (Scalar::Int(IntType::INT), lhs.scalar());
                let (left, right) = (self.eval(code, lhs)?, self.eval(code, rhs)?);
                match (constant(&left), constant(&right), left, right) {
                    (Some(a), Some(b), ..) => {
                        let truth = eval::compare(*op, a, b)?;
                        self.lift(Value::Int(i128::from(truth)), int)
                    }
                    (_, _, Form::Polynomial(a), Form::Polynomial(b)) => {
                        let truth = self.compared(*op, &a, &b)?;
                        self.lift(Value::Int(i128::from(truth)), int)
                    }
                    _ => self.opaque(scalar)?,
                }
            }
            Expr::Cast(to, arg, _) => {
                let from = arg.scalar();
                let arg = self.eval(code, arg)?;
                match (constant(&arg), arg, self.format(*to)) {
                    (Some(value), ..) => self.lifted(eval::cast(from, *to, value, semantics), *to)?,
                    (None, Form::Polynomial(arg), Some(ty)) if ty.bits <= arg.ty.bits => {
                        described(arg.narrowed(ty))
                    }
                    (None, Form::Polynomial(arg), Some(ty)) => {
                        let Exact(exact) = self.exact(&arg);
                        described(Polynomial::new(exact, ty))
                    }
                    (None, ..) => {
                        self.opaque(from)?;
                        self.opaque(*to)?
                    }
                }
            }
            Expr::Overflows(op, lhs, rhs) => {
                let scalar = lhs.scalar();
                let int = Scalar::Int(IntType::INT);
                let (left, right) = (self.eval(code, lhs)?, self.eval(code, rhs)?);
                let truth = match (constant(&left), constant(&right), left, right) {
                    (Some(a), Some(b), ..) => eval::overflows(*op, scalar, a, b)?,
                    (_, _, Form::Polynomial(a), Form::Polynomial(b)) => self.overflows(*op, &a, &b)?,
                    _ => return None,
                };
                self.lift(Value::Int(i128::from(truth)), int)
            }
            Expr::Memory(predicate, pointer, size) => {
                let truth = self.memory_predicate(code, *predicate, pointer, size)?;
                self.lift(Value::Int(i128::from(truth)), Scalar::Int(IntType::INT))
            }
            Expr::PointerDifference(lhs, rhs, stride, ty) => {
                let (left, right) = (self.eval(code, lhs)?, self.eval(code, rhs)?);
                let (a, b) = (constant(&left)?.int()?, constant(&right)?.int()?);
                self.lift(Value::Int(ty.wrap((a - b) / i128::from(*stride).max(1))), Scalar::Int(*ty))
            }
        })
    }

    /// As a function over the integers, up to the limit.
    fn exact(&mut self, polynomial: &Polynomial) -> Exact {
        let (exact, leaves) = polynomial.exact();
        self.restrict(leaves);
        exact
    }

    /// What the comparison gives in the first iterations.
    fn compared(&mut self, op: CompareOp, lhs: &Polynomial, rhs: &Polynomial) -> Described<bool> {
        /// More than any difference.
        const FAR: i128 = 1 << 100;
        let difference = self.exact(lhs).minus(&self.exact(rhs));
        let now = difference.0[0];
        let truth = eval::int::compare(op, now, 0);
        let (low, high) = match op {
            CompareOp::Lt | CompareOp::Ge if now < 0 => (-FAR, -1),
            CompareOp::Lt | CompareOp::Ge => (0, FAR),
            CompareOp::Le | CompareOp::Gt if now > 0 => (1, FAR),
            CompareOp::Le | CompareOp::Gt => (-FAR, 0),
            CompareOp::Eq | CompareOp::Ne => match now.signum() {
                0 => (0, 0),
                1 => (1, FAR),
                _ => (-FAR, -1),
            },
        };
        self.restrict(difference.leaves(low, high));
        Some(truth)
    }

    /// At least one operand is no constant.
    fn binary(
        &mut self,
        op: BinaryOp,
        ty: IntType,
        operands: [&Form; 2],
        constant: Option<i128>,
    ) -> Described<Form> {
        let [Form::Polynomial(lhs), Form::Polynomial(rhs)] = operands else {
            // Where the operation is undefined the run is stuck, so that has to be known.
            let is_total = match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => true,
                BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => true,
                BinaryOp::Div | BinaryOp::Rem => constant.is_some_and(|c| c != 0 && c != -1),
                BinaryOp::Shl | BinaryOp::Shr => {
                    constant.is_some_and(|c| (0..i128::from(ty.bits)).contains(&c))
                }
            };
            return if is_total { self.opaque(Scalar::Int(ty)) } else { None };
        };
        let bits = i128::from(lhs.ty.bits);
        Some(match op {
            BinaryOp::Add => described(lhs.plus(rhs)),
            BinaryOp::Sub => described(lhs.minus(rhs)),
            BinaryOp::Mul => described(lhs.times(rhs)),
            BinaryOp::Div => self.quotient(lhs, constant.filter(|c| *c > 0)?),
            BinaryOp::Rem => self.remainder(lhs, constant.filter(|c| *c > 0)?),
            BinaryOp::Shl => {
                let amount = constant.filter(|c| (0..bits).contains(c))?;
                described(lhs.times(&Polynomial::constant(1 << amount, lhs.ty)?))
            }
            BinaryOp::Shr => {
                let amount = constant.filter(|c| (0..bits).contains(c))?;
                self.quotient(lhs, 1 << amount)
            }
            BinaryOp::BitAnd => match constant {
                // The low bits: a number without sign of so many bits.
                Some(mask) if mask > 0 && (mask + 1).count_ones() == 1 && mask < 1 << (bits - 1) => {
                    let ty = IntType { bits: mask.trailing_ones() as u8, signed: false };
                    let low = lhs.narrowed(ty)?;
                    let Exact(exact) = self.exact(&low);
                    described(Polynomial::new(exact, lhs.ty))
                }
                _ => Form::Opaque,
            },
            BinaryOp::BitOr | BinaryOp::BitXor => Form::Opaque,
        })
    }

    /// Of numbers that are not negative; by a positive one.
    fn quotient(&mut self, lhs: &Polynomial, by: i128) -> Form {
        let Some([a, b]) = self.not_negative(lhs) else { return Form::Opaque };
        if b % by == 0 {
            return described(Polynomial::new([a / by, b / by, 0], lhs.ty));
        }
        self.restrict(Exact([a % by, b, 0]).leaves(0, by - 1));
        described(Polynomial::constant(a / by, lhs.ty))
    }

    fn remainder(&mut self, lhs: &Polynomial, by: i128) -> Form {
        let Some([a, b]) = self.not_negative(lhs) else { return Form::Opaque };
        if b % by == 0 {
            return described(Polynomial::constant(a % by, lhs.ty));
        }
        let rest = Exact([a % by, b, 0]);
        self.restrict(rest.leaves(0, by - 1));
        described(Polynomial::new(rest.0, lhs.ty))
    }

    fn not_negative(&mut self, lhs: &Polynomial) -> Option<[i128; 2]> {
        let Exact([a, b, c]) = self.exact(lhs);
        if c != 0 || a < 0 {
            return None;
        }
        self.restrict(Exact([a, b, 0]).leaves(0, i128::MAX >> 1));
        Some([a, b])
    }

    /// Whether the mathematical result is outside, in the first iterations. `None` where it is: that path is not taken often.
    fn overflows(&mut self, op: BinaryOp, lhs: &Polynomial, rhs: &Polynomial) -> Described<bool> {
        let (a, b) = (self.exact(lhs), self.exact(rhs));
        let constant = rhs.as_constant();
        let result = match op {
            BinaryOp::Add => a.plus(&b),
            BinaryOp::Sub => a.minus(&b),
            BinaryOp::Mul => a.times(&b)?,
            BinaryOp::Shl => {
                let amount = constant.filter(|c| (0..i128::from(lhs.ty.bits)).contains(c) && *c < 62)?;
                a.times(&Exact([1 << amount, 0, 0]))?
            }
            BinaryOp::Div | BinaryOp::Rem => {
                return constant.is_some_and(|c| c != 0 && c != -1).then_some(false);
            }
            BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => return None,
        };
        let leaves = result.leaves(lhs.ty.min(), lhs.ty.max());
        self.restrict(leaves);
        (leaves != Some(0)).then_some(false)
    }

    /// Of a place that does not move: lives and sizes of objects are the same in all iterations, and bytes that have a value keep one.
    fn memory_predicate(
        &mut self,
        code: &'c FunctionCode,
        predicate: MemoryPredicate,
        pointer: &'c Expr,
        size: &'c Expr,
    ) -> Described<bool> {
        let address = match pointer {
            Expr::Address(lvalue) => self.place(code, lvalue)??,
            _ => {
                let form = self.eval(code, pointer)?;
                constant(&form)?.int()? as u64
            }
        };
        let form = self.eval(code, size)?;
        let size = constant(&form)?.int()?;
        let provenance = self.machine.memory.provenance(address);
        let holds = match predicate {
            MemoryPredicate::NotFreed
            | MemoryPredicate::NotEnded
            | MemoryPredicate::InBounds
            | MemoryPredicate::Within
            | MemoryPredicate::Freeable
            | MemoryPredicate::Writable => self.machine.holds_of_object(predicate, provenance, address, size),
            MemoryPredicate::Initialised => {
                let is_whole = !matches!(pointer, Expr::Address(lvalue) if lvalue.bits.is_some());
                is_whole && self.machine.is_initialised(provenance, address, size, u128::MAX).ok()?
            }
            MemoryPredicate::SameObject
            | MemoryPredicate::Callable
            | MemoryPredicate::Terminated
            | MemoryPredicate::WideTerminated
            | MemoryPredicate::NothingLost
            | MemoryPredicate::NothingLeft => return None,
        };
        // What does not hold may be so in the first iterations only, or nobody knows.
        holds.then_some(true)
    }
}

fn described(polynomial: Option<Polynomial>) -> Form {
    polynomial.map_or(Form::Opaque, Form::Polynomial)
}

/// The value, if it is the same in all iterations.
pub(super) fn constant(form: &Form) -> Option<Value> {
    match form {
        Form::Polynomial(polynomial) => polynomial.as_constant().map(Value::Int),
        Form::Fixed(value) => Some(*value),
        Form::Opaque | Form::Unset => None,
    }
}

/// What a cell has in iteration k, after what it had in the last guess, and what follows for the end of an iteration: the same, if that fits.
pub(super) fn guess(before: &Form, after: &Form) -> Option<Form> {
    match (before, after) {
        (Form::Polynomial(before), Form::Polynomial(after)) if before.ty.bits == after.ty.bits => {
            let grows = after.narrowed(before.ty)?.minus(before)?;
            grows.summed(before.at(0)).map(Form::Polynomial)
        }
        (Form::Fixed(_), _) if before == after => Some(*before),
        (Form::Polynomial(_) | Form::Fixed(_) | Form::Opaque | Form::Unset, _) => None,
    }
}
