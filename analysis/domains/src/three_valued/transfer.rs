//! What edges do to a structure. Every operation is decided here, none is forgotten.

use proofline_cfa::{
    Allocation, Argument, Callee, Cause, Edge, Expr, LocalId, Lvalue, Object, Op, Scalar, copied_character,
};
use proofline_hir::Name;

use super::{
    class::{Field, Unary, Var},
    focus::Focus,
    logic::Kleene,
    operation::{self, Stop, Target, alive, cases, settled},
    program::Context,
    step::{Place, Result, Step, Value, is_scalar},
    structure::{Content, Structure},
    update,
};

/// So many structures may come of focusing one for one operation.
const MOST_CASES: usize = 256;

/// Does something, focusing where that is needed. `None`: it could do anything.
pub(super) fn split<'a>(
    context: &'a Context,
    function: &'a proofline_cfa::Function,
    frames: &'a [Name],
    from: &Structure,
    work: &dyn Fn(Step<'a>) -> Result<Vec<Structure>>,
) -> Option<Vec<Structure>> {
    let mut result = Vec::new();
    let mut open = vec![from.clone()];
    let mut count = 0;
    while let Some(structure) = open.pop() {
        count += 1;
        match work(Step { context, function, frames, structure: structure.clone() }) {
            // What did not change is settled.
            Ok(structures) if count == 1 && structures.iter().all(|structure| structure == from) => {
                result.extend(structures);
            }
            Ok(structures) => {
                result.extend(structures.iter().filter_map(|structure| settled(structure, &context.class)));
            }
            Err(Stop::Impossible) => {}
            Err(Stop::Needs(on)) if count < MOST_CASES => {
                let focused = cases(&structure, &context.class, on)?;
                // What does not get sharper never will.
                if focused.contains(&structure) {
                    return None;
                }
                open.extend(focused);
            }
            Err(Stop::Needs(_) | Stop::Unknown) => return None,
        }
    }
    Some(result)
}

impl Step<'_> {
    /// `original`: the edge of the automaton, which may be a call that leaves the program.
    pub(super) fn edge(mut self, edge: &Edge, original: &Edge) -> Result<Vec<Structure>> {
        match &edge.op {
            Op::Skip => {}
            Op::Assume(condition) => self.assume(condition, true)?,
            Op::Assign(dst, value) => {
                let is_copied = copied_character(self.function, dst, value).is_some();
                let value = self.eval(value)?;
                // A character that is copied may be without a value.
                if is_copied { self.overwrite(dst)? } else { self.store(dst, value)? }
            }
            Op::Copy(dst, src) => self.copy(dst, src)?,
            Op::Havoc(dst, Cause::Indeterminate) => self.overwrite(dst)?,
            Op::Havoc(dst, _) => self.store(dst, Value::Any)?,
            Op::Clobber(values, _) => {
                if !self.leaves(original)? {
                    return Ok(Vec::new());
                }
                self.clobber(values)?;
            }
            Op::Call(_) => return Err(Stop::Unknown),
            Op::Allocate(allocation) => return self.allocate(allocation),
            Op::Free(pointer) => match self.eval(pointer)? {
                Value::Int(0) => {}
                Value::Node(node, offset) => {
                    alive(&self.structure, node)?;
                    if offset != 0 || self.structure.unary(Unary::Named, node).is_true() {
                        return Err(Stop::Impossible);
                    }
                    if self.structure.is_summary(node) || self.structure.unary(Unary::Named, node).may_hold()
                    {
                        return Err(Stop::Unknown);
                    }
                    operation::free(&mut self.structure, &self.context.class, node)?;
                }
                Value::Address(_) | Value::Outside | Value::Function(_) => return Err(Stop::Impossible),
                Value::Any | Value::Int(_) => return Err(Stop::Unknown),
            },
            Op::CopyBytes(to, _, size) => self.fill(to, size, false)?,
            Op::FillBytes(to, byte, size) => {
                let is_zero = self.eval(byte)? == Value::Int(0);
                self.fill(to, size, is_zero)?;
            }
            Op::HavocBytes(to, size, _) => self.fill(to, size, false)?,
            Op::Begin(id) | Op::End(id) => {
                let var = Var::Local(self.depth(), *id);
                self.end(var)?;
                if matches!(edge.op, Op::Begin(_)) {
                    self.begin(var, *id);
                }
            }
        }
        Ok(vec![self.structure])
    }

    /// A record gets an individual; of scalars, anything is known to begin with.
    pub(super) fn begin(&mut self, var: Var, id: LocalId) {
        let size = self.function.local(id).size;
        if !is_scalar(self.function, id) && size > 0 && is_record(self.function.local(id).ty) {
            named(&mut self.structure, self.context, var, size, false);
        }
    }

    /// The life of a variable ends: pointers to it may be anything.
    pub(super) fn end(&mut self, var: Var) -> Result<()> {
        let is_opaque = self.scalar_of(var).is_none() && self.structure.pointee(var).is_none();
        for (holder, content) in self.structure.contents().clone() {
            if content == Content::Address(var) || is_opaque && content == Content::Outside {
                update::forget(&mut self.structure, holder);
            }
        }
        if self.scalar_of(var).is_none()
            && let Some(node) = self.structure.pointee(var)
        {
            for field in self.context.class.pointers.clone() {
                operation::load(&self.structure, node, field)?;
                update::unlink(&mut self.structure, &self.context.class, node, field);
            }
            for field in self.context.class.pointers.clone() {
                for (from, value) in self.structure.predecessors(field, node) {
                    // Who leads there must be known, one by one.
                    if self.structure.is_summary(from) {
                        return Err(Stop::Unknown);
                    }
                    if !value.is_true() {
                        return Err(Stop::Needs(Focus::Field(from, field)));
                    }
                    operation::store(&mut self.structure, &self.context.class, from, field, Target::Any)?;
                }
            }
            for holder in self.structure.variables() {
                if self.structure.unary(Unary::Points(holder), node).may_hold() {
                    update::forget(&mut self.structure, holder);
                }
            }
        }
        update::forget(&mut self.structure, var);
        Ok(())
    }

    /// Writes a scalar, or anything to what is none.
    pub(super) fn store(&mut self, dst: &Lvalue, value: Value) -> Result<()> {
        match self.place(dst)? {
            Place::Var(var) => {
                self.assign(var, value);
                Ok(())
            }
            Place::Part(var) => {
                update::forget(&mut self.structure, var);
                Ok(())
            }
            Place::Opaque => Ok(()),
            Place::Node(node, offset) => {
                let bytes =
                    dst.scalar.filter(|_| dst.bits.is_none()).map_or(dst.size, |scalar| self.bytes(scalar));
                let exact = dst.scalar.filter(|_| dst.bits.is_none());
                self.write(node, offset, bytes, exact.map(|scalar| (scalar, value)))
            }
            Place::Behind(value) => Err(behind(value)),
        }
    }

    /// Gives a place bytes that perhaps have no value.
    fn overwrite(&mut self, dst: &Lvalue) -> Result<()> {
        match self.place(dst)? {
            Place::Node(node, offset) => self.write(node, offset, dst.size, None),
            Place::Var(_) | Place::Part(_) | Place::Opaque | Place::Behind(_) => self.store(dst, Value::Any),
        }
    }

    /// Bytes of an individual are written: a scalar with this value, or anything.
    pub(super) fn write(
        &mut self,
        node: usize,
        offset: i128,
        bytes: u64,
        value: Option<(Scalar, Value)>,
    ) -> Result<()> {
        alive(&self.structure, node)?;
        let size = i128::from(self.structure.individual(node).size);
        if self.structure.is_summary(node) || bytes == 0 || offset < 0 || offset + i128::from(bytes) > size {
            return Err(Stop::Unknown);
        }
        let from = offset as u64;
        let class = &self.context.class;
        let exact = value.map(|(scalar, _)| Field { offset: from, bytes, scalar });
        let touched: Vec<Field> =
            class.pointers.iter().copied().filter(|field| field.overlaps(from, bytes)).collect();
        // What stands there is looked at before anything changes.
        for field in &touched {
            operation::load(&self.structure, node, *field)?;
        }
        for field in touched {
            let target = match value {
                Some((_, Value::Int(0))) if exact == Some(field) => Target::Null,
                Some((_, Value::Node(to, 0))) if exact == Some(field) && !self.structure.is_summary(to) => {
                    Target::Node(to)
                }
                _ => Target::Any,
            };
            operation::store(&mut self.structure, class, node, field, target)?;
        }
        for (field, _) in class.integers().filter(|(field, _)| field.overlaps(from, bytes)) {
            match value {
                Some((Scalar::Int(ty), written)) if exact == Some(field) => {
                    let known = match written {
                        Value::Int(value) => Some(value).filter(|value| ty.contains(*value)),
                        Value::Any
                        | Value::Node(..)
                        | Value::Address(_)
                        | Value::Outside
                        | Value::Function(_) => None,
                    };
                    update::set_value(&mut self.structure, class, node, field, known);
                }
                _ => update::forget_value(&mut self.structure, class, node, field),
            }
        }
        Ok(())
    }

    /// Copies a record, part by part.
    pub(super) fn copy(&mut self, dst: &Lvalue, src: &Lvalue) -> Result<()> {
        let (Place::Node(to, at), source) = (self.place(dst)?, self.place(src)?) else {
            return self.overwrite(dst);
        };
        if dst.size == 0 {
            return Err(Stop::Unknown);
        }
        let class = &self.context.class;
        let fields = class.pointers.iter().copied().chain(class.integers().map(|(field, _)| field));
        let is_part = |field: &Field| {
            i128::from(field.offset) >= at
                && i128::from(field.offset + field.bytes) <= at + i128::from(dst.size)
        };
        let mut copied = Vec::new();
        for field in fields.filter(is_part) {
            let place = match source {
                Place::Node(from, offset) => Place::Node(from, offset + i128::from(field.offset) - at),
                Place::Behind(value @ (Value::Int(0) | Value::Function(_))) => return Err(behind(value)),
                Place::Var(_) | Place::Part(_) | Place::Opaque | Place::Behind(_) => Place::Opaque,
            };
            copied.push((field, self.load(place, Some(field.scalar), false)?));
        }
        self.write(to, at, dst.size, None)?;
        for (field, value) in copied {
            if value != Value::Any {
                self.write(to, field.offset.into(), field.bytes, Some((field.scalar, value)))?;
            }
        }
        Ok(())
    }

    /// Bytes behind a pointer get zero, or any values.
    fn fill(&mut self, to: &Expr, size: &Expr, is_zero: bool) -> Result<()> {
        let size = match self.eval(size)? {
            Value::Int(0) => return Ok(()),
            Value::Int(size) => u64::try_from(size).ok(),
            Value::Any | Value::Node(..) | Value::Address(_) | Value::Outside | Value::Function(_) => None,
        };
        match (self.eval(to)?, size) {
            (Value::Node(node, offset), size) => {
                let whole = self.structure.individual(node).size;
                let rest = u64::try_from(offset).ok().and_then(|offset| whole.checked_sub(offset));
                let bytes = size.or(rest).ok_or(Stop::Unknown)?;
                self.write(node, offset, bytes, None)?;
                if size.is_some() && is_zero {
                    let class = &self.context.class;
                    let fields =
                        class.pointers.iter().copied().chain(class.integers().map(|(field, _)| field));
                    let is_inside = |field: &Field| {
                        i128::from(field.offset) >= offset
                            && i128::from(field.offset + field.bytes) <= offset + i128::from(bytes)
                    };
                    for field in fields.filter(is_inside) {
                        let zero = Some((field.scalar, Value::Int(0)));
                        self.write(node, field.offset.into(), field.bytes, zero)?;
                    }
                }
                Ok(())
            }
            (Value::Address(var), _) => {
                update::forget(&mut self.structure, var);
                Ok(())
            }
            (Value::Outside, _) => Ok(()),
            (value, Some(_)) => Err(behind(value)),
            (Value::Any | Value::Int(_) | Value::Function(_), None) => Err(Stop::Unknown),
        }
    }

    fn allocate(mut self, allocation: &Allocation) -> Result<Vec<Structure>> {
        let size = match self.eval(&allocation.size)? {
            Value::Int(size) => u64::try_from(size).ok().filter(|size| *size > 0),
            Value::Any | Value::Node(..) | Value::Address(_) | Value::Outside | Value::Function(_) => None,
        };
        let mut failed = allocation.may_fail.then(|| self.clone());
        match size.filter(|_| allocation.on_heap) {
            Some(size) => {
                let node =
                    update::allocate(&mut self.structure, &self.context.class, size, allocation.zeroed);
                self.store(&allocation.dst, Value::Node(node, 0))?;
            }
            None => {
                self.structure.lost |= allocation.on_heap;
                self.store(&allocation.dst, Value::Any)?;
            }
        }
        let mut result = vec![self.structure];
        if let Some(failed) = &mut failed {
            failed.store(&allocation.dst, Value::Int(0))?;
            result.push(failed.structure.clone());
        }
        Ok(result)
    }

    /// Whether a call leaves the program, as far as the structure tells.
    fn leaves(&self, original: &Edge) -> Result<bool> {
        let Op::Call(call) = &original.op else { return Ok(true) };
        let Callee::Indirect(pointer, _) = &call.callee else { return Ok(true) };
        Ok(match self.eval(pointer)? {
            Value::Function(name) => self.context.env.function(name).is_none(),
            Value::Any | Value::Int(_) | Value::Node(..) | Value::Address(_) | Value::Outside => true,
        })
    }

    /// Code outside may do what it likes with what it knows.
    fn clobber(&mut self, values: &[Expr]) -> Result<()> {
        let env = &self.context.env;
        if !env.allocated_outside().is_empty() {
            return Err(Stop::Unknown);
        }
        for value in values {
            if value.scalar() == Scalar::Pointer {
                match self.eval(value)? {
                    Value::Int(0) | Value::Function(_) => {}
                    Value::Address(var) => update::forget(&mut self.structure, var),
                    // What is in it may lead to individuals.
                    Value::Outside if self.structure.is_empty() && !self.structure.lost => {}
                    Value::Any | Value::Int(_) | Value::Node(..) | Value::Outside => {
                        return Err(Stop::Unknown);
                    }
                }
            }
        }
        for object in env.escaped().clone() {
            let vars: Vec<Var> = match object {
                Object::Global(name) => vec![Var::Global(name)],
                Object::Local(name, id) => {
                    let frames = (0..).zip(self.frames).filter(|(_, frame)| **frame == name);
                    frames.map(|(depth, _)| Var::Local(depth, id)).collect()
                }
                Object::Heap(..) if self.structure.is_empty() && !self.structure.lost => Vec::new(),
                Object::Heap(..) => return Err(Stop::Unknown),
                Object::External => Vec::new(),
            };
            for var in vars {
                // What it leads to may be changed, too.
                let leads = !self.structure.pointees(var).is_empty()
                    || matches!(self.structure.content(var), Some(Content::Address(_)));
                if leads {
                    return Err(Stop::Unknown);
                }
                update::forget(&mut self.structure, var);
            }
        }
        Ok(())
    }

    /// What an argument or a result is, in the caller's frame or in the callee's.
    pub(super) fn argument(&self, argument: &Argument) -> Result<Option<Value>> {
        match argument {
            Argument::Value(value) => self.eval(value).map(Some),
            Argument::Aggregate(_) => Ok(None),
        }
    }
}

/// Whether a variable of the type becomes an individual.
pub(super) fn is_record(ty: proofline_hir::Type) -> bool {
    matches!(ty.kind(), proofline_hir::TypeKind::Record(_))
}

/// A variable that is an individual.
pub(super) fn named(
    structure: &mut Structure,
    context: &Context,
    var: Var,
    size: u64,
    is_zeroed: bool,
) -> usize {
    let node = update::allocate(structure, &context.class, size, is_zeroed);
    structure.set_unary(Unary::Named, node, Kleene::True);
    update::point(structure, &context.class, var, node);
    node
}

/// What an access does behind a value that is no pointer to an individual.
pub(super) fn behind(value: Value) -> Stop {
    match value {
        Value::Int(0) | Value::Function(_) => Stop::Impossible,
        Value::Any | Value::Int(_) | Value::Node(..) | Value::Address(_) | Value::Outside => Stop::Unknown,
    }
}
