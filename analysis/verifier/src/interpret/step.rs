//! What edges do to a running program.

use proofline_cfa::{
    Allocation, Argument, Base, Call, Callee, Cause, Edge, EdgeId, Expr, IntType, Loc, Lvalue, Object, Op,
    Quantity, Role, Scalar, copied_character, eval::Value,
};

use proofline_hir::{Type, TypeKind};

use super::{
    code::{FunctionCode, Home},
    machine::{Machine, Step, is_count, stuck},
    memory::Area,
    oracle::{Choice, Oracle, Passing},
    place::{Place, refused},
};

/// Whether values of the type are streams of C's library: `FILE *`.
fn is_stream(ty: Type) -> bool {
    matches!(ty.pointee().map(Type::kind), Some(TypeKind::Record(tag)) if tag.ends_with("_IO_FILE") || tag.ends_with("__sFILE"))
}

impl<'c, O: Oracle> Machine<'c, O> {
    /// Every operation but assumptions and calls.
    pub(super) fn operation(&mut self, code: &'c FunctionCode, edge: &'c Edge) -> Step<()> {
        match &edge.op {
            Op::Skip => Ok(()),
            Op::Assume(_) | Op::Call(_) => stuck("a branch or call out of place"),
            Op::Assign(dst, value) => {
                if self.code.asks_for_values
                    && let Some(from) = copied_character(&code.function, dst, value)
                    && let (Place::Memory(to), Place::Memory(from)) =
                        (self.place(code, dst)?, self.place(code, from)?)
                    && self.is_without_value(from)?
                {
                    return self.copy(to, from, 1);
                }
                let value = self.eval(code, value)?;
                self.assign(code, dst, value)
            }
            Op::Copy(dst, src) => match (self.place(code, dst)?, self.place(code, src)?) {
                (Place::Memory(to), Place::Memory(from)) => self.copy(to, from, dst.size),
                _ => stuck("a record in a register"),
            },
            Op::Havoc(dst, cause) => self.havoc(code, edge, dst, cause),
            Op::Clobber(values, cause) => {
                // That an unknown function changes nothing is one thing it may do; that a construct of ours does not
                // model changes nothing is a guess.
                self.is_determined = false;
                self.is_guess |= matches!(cause, Cause::Unmodelled(_));
                self.run_outside(code, values)?;
                self.hand_over(code, values)
            }
            Op::Allocate(allocation) => self.allocation(code, allocation),
            Op::Free(pointer) => match self.eval(code, pointer)? {
                Value::Int(0) => Ok(()),
                Value::Int(address) if self.memory.is_freeable(address as u64) => {
                    self.memory.release(address as u64);
                    self.written = Some((Value::Int(address), Scalar::Pointer));
                    Ok(())
                }
                Value::Int(_) => stuck("free of what is no live heap object"),
                Value::Float(_) => stuck("free of a float"),
            },
            Op::CopyBytes(to, from, size) => {
                let (to, from, size) =
                    (self.address(code, to)?, self.address(code, from)?, self.address(code, size)?);
                self.copy(to, from, size)
            }
            Op::FillBytes(to, byte, size) => {
                let (to, byte, size) =
                    (self.address(code, to)?, self.eval(code, byte)?, self.address(code, size)?);
                let byte = byte.int().map_or(0, |b| IntType { bits: 8, signed: false }.wrap(b)) as u8;
                if size == 0 { Ok(()) } else { self.memory.fill(to, size, byte).or_else(refused) }
            }
            Op::HavocBytes(to, size, cause) => {
                let (to, counted) = (self.address(code, to)?, size);
                let size = self.address(code, counted)?;
                if self.write_scanned(code, (to, counted), edge.site)?
                    || is_written_at_once(code, edge.to, size)
                {
                    return Ok(());
                }
                self.is_determined = false;
                self.is_guess |= matches!(cause, Cause::Unmodelled(_));
                // What it decides on the way may be to leave everything as it is.
                if matches!(cause, Cause::Within(_)) {
                    return Ok(());
                }
                let Some((_, base, whole)) = self.memory.object_at(to) else {
                    return stuck("a write outside every object");
                };
                let size = size.min(base + whole - to);
                if size == 0 { Ok(()) } else { self.memory.forget(to, size).or_else(refused) }
            }
            Op::Begin(id) => {
                match code.home(*id) {
                    Home::Register => self.end_register(code, *id),
                    Home::Memory(size) => {
                        self.end_object(*id);
                        self.revive(code, *id, size)?;
                    }
                }
                Ok(())
            }
            Op::End(id) => {
                match code.home(*id) {
                    Home::Register => self.end_register(code, *id),
                    Home::Memory(_) => self.end_object(*id),
                }
                Ok(())
            }
        }
    }

    /// An array of variable length ends with what holds its address.
    fn end_register(&mut self, code: &FunctionCode, id: proofline_cfa::LocalId) {
        let value = self.frame_mut().locals[id.index()].take();
        if let (Role::VariableArray, Some(Value::Int(base))) = (code.function.local(id).role, value) {
            self.frame_mut().extra.retain(|known| *known != base as u64);
            self.memory.release(base as u64);
        }
    }

    fn end_object(&mut self, id: proofline_cfa::LocalId) {
        if let Some(Value::Int(base)) = self.frame_mut().locals[id.index()].take() {
            self.memory.release(base as u64);
        }
    }

    fn address(&mut self, code: &'c FunctionCode, expr: &proofline_cfa::Expr) -> Step<u64> {
        match self.eval(code, expr)? {
            Value::Int(value) => Ok(value as u64),
            Value::Float(_) => stuck("a float as an address or size"),
        }
    }

    fn havoc(
        &mut self,
        code: &'c FunctionCode,
        edge: &Edge,
        dst: &proofline_cfa::Lvalue,
        cause: &Cause,
    ) -> Step<()> {
        let site = edge.site;
        if let Some(value) = self.library_result(code, dst, site)? {
            return self.assign(code, dst, value);
        }
        if self.library_text(code, dst)? {
            return Ok(());
        }
        if let Cause::Unmodelled(_) = cause {
            self.is_guess = true;
        }
        if let Cause::Unmodelled(_)
        | Cause::External(_)
        | Cause::Keeping(_)
        | Cause::Within(_)
        | Cause::Text(_)
        | Cause::Volatile = cause
            && !matches!(dst.base, Base::Local(id) if code.is_unread(id))
        {
            self.is_determined = false;
        }
        if let Cause::Text(by) = cause {
            let string = self.library_string(*by)?;
            return self.assign(code, dst, string);
        }
        if let Cause::Indeterminate = cause
            && let Place::Memory(address) = self.place(code, dst)?
        {
            return match dst.size {
                0 => Ok(()),
                size => self.memory.make_indeterminate(address, size).or_else(refused),
            };
        }
        // A file was opened, or not.
        if let (Cause::External(_), Some(Scalar::Pointer)) = (cause, dst.scalar)
            && is_stream(dst.ty)
        {
            let stream = self.ask_pointer(code, *cause, dst.ty)?;
            return self.assign(code, dst, stream);
        }
        if dst.scalar.is_some() {
            let scalar = dst.scalar.unwrap_or(Scalar::Pointer);
            let is_count = self.limits.reads_full && is_count(*cause, dst.scalar);
            let most = if is_count { self.most_behind(code, edge, dst) } else { None };
            let mut value = self.ask(code, site, *cause, scalar);
            if let (Some(most), Value::Int(1..), Some((_, answer))) = (most, value, self.inputs.last_mut()) {
                (value, *answer) = (Value::Int(most), most);
            }
            return self.assign(code, dst, value);
        }
        match self.place(code, dst)? {
            Place::Memory(address) if dst.size > 0 => self.memory.forget(address, dst.size).or_else(refused),
            Place::Memory(_) => Ok(()),
            Place::Register(_) => stuck("a record in a register"),
        }
    }

    fn allocation(&mut self, code: &'c FunctionCode, allocation: &Allocation) -> Step<()> {
        let size = self.address(code, &allocation.size)?;
        let object = Object::Heap(code.function.name, allocation.site);
        let area = if allocation.on_heap { Area::Heap } else { Area::Stack };
        if allocation.may_fail {
            // Success is what is tried; that it may fail is another run.
            let (cause, ty) = Choice::of_allocation();
            if self.ask(code, allocation.site.in_map(), cause, ty).truth() {
                return self.assign(code, &allocation.dst, Value::Int(0));
            }
        }
        let base = self.allocate(area, size, object)?;
        if allocation.zeroed && size > 0 {
            self.memory.fill(base, size, 0).or_else(refused)?;
        }
        if !allocation.on_heap {
            self.frame_mut().extra.push(base);
        }
        self.assign(code, &allocation.dst, Value::Int(i128::from(base)))
    }

    pub(super) fn call(&mut self, code: &'c FunctionCode, id: EdgeId, call: &'c Call) -> Step<()> {
        let index = match &call.callee {
            Callee::Direct(name) => match self.code.by_name.get(name) {
                Some(&index) => index,
                None => return stuck(format!("a call of {name}, which has no body")),
            },
            Callee::Indirect(pointer, _) => {
                let address = self.eval(code, pointer)?;
                let found = match address {
                    Value::Int(address) => self.code.function_at(address),
                    Value::Float(_) => None,
                };
                match found {
                    Some(index) => index,
                    None => return stuck("a call through a pointer to no known function"),
                }
            }
        };
        let callee = &self.code.functions[index as usize];
        self.follow(code, id, Passing::Enter(callee.function.name))?;
        if call.arguments.len() < callee.function.parameters.len() {
            return stuck(format!("a call of {} with too few arguments", callee.function.name));
        }
        let mut values = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            values.push(match argument {
                Argument::Value(value) => self.eval(code, value)?,
                Argument::Aggregate(lvalue) => match self.place(code, lvalue)? {
                    Place::Memory(address) => Value::Int(i128::from(address)),
                    Place::Register(_) => return stuck("a record in a register"),
                },
            });
        }
        values.truncate(callee.function.parameters.len());
        self.note(code, id, None);
        if let Some(event) = self.trace.as_mut().and_then(|t| t.events.last_mut()) {
            event.arguments = call
                .arguments
                .iter()
                .zip(&values)
                .map(|(argument, value)| match argument {
                    Argument::Value(expr) => Some((*value, expr.scalar())),
                    Argument::Aggregate(_) => None,
                })
                .collect();
        }
        let is_pure = self.code.is_pure(index);
        let known = if is_pure { self.remembered(index, &values) } else { None };
        let Some(result) = known else {
            let memo = is_pure.then(|| (values.clone(), self.inputs.len()));
            return self.enter(index, &values, Some(id), memo);
        };
        self.remembered += 1;
        self.record_remembered();
        self.written = None;
        if let (Some(dst), Some(value)) = (&call.dst, result) {
            self.give_result(code, dst, value)?;
        }
        let written = self.written.take();
        self.note(code, id, written);
        self.frame_mut().at = code.function.edge(id).to;
        Ok(())
    }
}

/// Whether the next edge, and no other comes next, gives as many bytes the number that `sscanf` has found: these bytes, for both edges are made together.
fn is_written_at_once(code: &FunctionCode, at: Loc, size: u64) -> bool {
    let [next] = code.successors[at.index()][..] else { return false };
    let Op::Assign(place, value) = &code.function.edge(next).op else { return false };
    let number = if let Expr::Cast(_, number, _) = value { number } else { value };
    let Expr::Load(Lvalue { base: Base::Local(id), .. }) = number else { return false };
    let result = code.library_results.get(id).map(|at| &code.function.library_results[*at as usize]);
    place.size == size && result.is_some_and(|result| result.quantity == Quantity::ScannedNumber)
}
