//! What operations do to relations: assignments, conditions, and the lives of what pointers lead to. Knows no calls of functions with bodies.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Allocation, Base, BinaryOp, Cause, CompareOp, Expr, IntType, LocalId, Lvalue, MemoryPredicate, Name,
    Object, Op, Program, Role, Scalar, copied_character,
};
use proofline_cpa::{EdgeContext, Facts};
use proofline_hir::{TypeKind, types::IntKind};
use proofline_program_analysis::Environment;

use super::{
    cells::{Named, zero_cells},
    form::{Form, View},
    places::Place,
    state::{Null, Pointer, Relations},
    terminator::{Tested, Written},
    units::Units,
    variable::{Cell, Tag, Var},
    zone::{Dim, Zone},
};

/// No valuation is left.
pub(super) struct Impossible;

pub(super) type Result<T> = std::result::Result<T, Impossible>;

/// A step from a state along an edge.
pub(super) struct Step<'a> {
    pub(super) env: &'a Environment,
    pub(super) at: EdgeContext<'a>,
    pub(super) from: &'a Relations,
    pub(super) facts: &'a dyn Facts,
    pub(super) globals: &'a BTreeSet<Name>,
    /// The pointers in memory that the function reads.
    pub(super) named: &'a [Named],
}

impl Step<'_> {
    pub(super) fn view(&self) -> View<'_> {
        View::new(self.env.program(), self.at.function, self.from, self.facts, self.globals)
    }

    /// The state behind the edge.
    ///
    /// # Errors
    /// [`Impossible`] if nothing gets there.
    pub(super) fn run(&self) -> Result<Relations> {
        let mut state = self.from.clone();
        match &self.at.edge.op {
            Op::Skip => {}
            Op::CopyBytes(to, from, size) => self.writes(&mut state, &Written::Copied { to, from, size })?,
            Op::HavocBytes(to, size, cause) => {
                let may_stay = matches!(cause, Cause::Within(_));
                let written = if may_stay { Written::Bytes(to, size) } else { Written::Values(to, size) };
                self.writes(&mut state, &written)?;
            }
            Op::FillBytes(to, byte, size) => {
                let is_zero = matches!(byte, Expr::Int(0, _));
                let written = if is_zero { Written::Zeros(to, size) } else { Written::Values(to, size) };
                self.writes(&mut state, &written)?;
                if is_zero {
                    self.zeroed(&mut state, to, size)?;
                }
            }
            Op::Assume(condition) => {
                self.goes_on(&mut state, condition, true)?;
                self.assume(&mut state, condition, true)?;
            }
            Op::Assign(dst, value) => self.assign(&mut state, dst, value)?,
            Op::Copy(dst, src) => {
                self.changed(&mut state, dst, false)?;
                forget(&mut state, dst);
                let copies = self.copies_cells(&mut state, dst, src)?;
                self.lose_cells(&mut state, &Written::unknown(dst), &copies);
            }
            Op::Havoc(dst, Cause::Indeterminate) => {
                self.changed(&mut state, dst, false)?;
                self.lose_cells(&mut state, &Written::unknown(dst), &BTreeSet::new());
                forget(&mut state, dst);
            }
            Op::Havoc(dst, cause) => {
                self.changed(&mut state, dst, true)?;
                self.lose_cells(&mut state, &Written::unknown(dst), &BTreeSet::new());
                forget(&mut state, dst);
                if matches!(cause, Cause::Text(_)) {
                    self.library_writes(&mut state);
                }
                self.computes(&mut state, dst)?;
            }
            Op::Clobber(values, cause) => {
                self.writes(&mut state, &Written::Reached(values))?;
                state.retain_globals(|_| false);
                if !matches!(cause, Cause::Keeping(_)) {
                    self.clobbered(&mut state);
                }
            }
            Op::Call(call) => {
                self.writes(&mut state, &Written::Anything)?;
                state.retain_globals(|_| false);
                self.clobbered(&mut state);
                if let Some(dst) = &call.dst {
                    self.changed(&mut state, dst, true)?;
                    self.lose_cells(&mut state, &Written::unknown(dst), &BTreeSet::new());
                    forget(&mut state, dst);
                }
            }
            Op::Allocate(allocation) => self.allocate(&mut state, allocation)?,
            Op::Free(pointer) => self.free(&mut state, pointer),
            Op::End(id) => self.ends(&mut state, *id),
            Op::Begin(id) => {
                self.ends(&mut state, *id);
                self.begins(&mut state, *id)?;
            }
        }
        self.loses_compared(&mut state);
        Ok(state)
    }

    /// Memory changes, and no scalar gets a value that is known.
    fn writes(&self, state: &mut Relations, written: &Written<'_>) -> Result<()> {
        self.wrote(state, written)?;
        self.lose_cells(state, written, &BTreeSet::new());
        Ok(())
    }

    /// Something else than a register changes. `has_value`: it certainly has one then.
    fn changed(&self, state: &mut Relations, dst: &Lvalue, has_value: bool) -> Result<()> {
        if self.view().whole(dst).is_some() {
            return Ok(());
        }
        self.wrote(state, &Written::Object { dst, value: None, has_value })
    }

    fn assign(&self, state: &mut Relations, dst: &Lvalue, value: &Expr) -> Result<()> {
        let view = self.view();
        if let Some((id, scalar)) = view.whole(dst) {
            if !self.receives(state, Var::Local(id), scalar, dst, value)? {
                forget(state, dst);
            }
            return Ok(());
        }
        let one = Expr::Int(1, IntType { bits: 64, signed: false });
        // What is copied as a character may have no value.
        let has_value = copied_character(self.at.function, dst, value)
            .is_none_or(|from| view.is_filled(&Expr::Address(from.clone()), &one));
        let written = Written::Object { dst, value: Some(value), has_value };
        let is_global = matches!(view.dim(dst), Some(Dim::Global(..)));
        if !is_global {
            forget(state, dst);
        }
        self.wrote(state, &written)?;
        let own = match (view.dim(dst), view.variable(dst)) {
            (Some(dim @ Dim::Global(..)), _) => {
                match view.form(value) {
                    Some(form) => set(state, &[(dim, &form)])?,
                    None => forget(state, dst),
                }
                None
            }
            (_, Some((var @ Var::Cell(cell), scalar))) => {
                let is_known = self.receives(state, var, scalar, dst, value)?;
                if is_known {
                    state.holds_only(cell, scalar);
                }
                is_known.then_some(cell)
            }
            (_, Some((Var::Local(_), _)) | None) => None,
        };
        self.lose_cells(state, &written, &own.into_iter().collect());
        Ok(())
    }

    /// A local or a cell gets a value. `false`: of which nothing is known.
    fn receives(
        &self,
        state: &mut Relations,
        var: Var,
        scalar: Scalar,
        dst: &Lvalue,
        value: &Expr,
    ) -> Result<bool> {
        // Memory may have changed in it already, but for cells: the value was read before that.
        let mut before = state.clone();
        before.forget_units();
        let view = View::new(self.env.program(), self.at.function, &before, self.facts, self.globals);
        match scalar {
            Scalar::Int(ty) if ty.bits <= 64 => {
                let Some(mut form) = view.form(value) else { return Ok(false) };
                if let Some(read) = self.view().form(value) {
                    (form.low, form.high) = (form.low.max(read.low), form.high.min(read.high));
                }
                let dim = Dim::Value(var, ty);
                let rest = self.rest_of(&view, value);
                // Of cells that is forgotten where memory changes.
                match self.tested(&view, value).filter(|_| var.local().is_some()) {
                    Some(Tested { from, stop }) => {
                        set(state, &[(dim, &form), (Dim::From(var), &from), (Dim::Stop(var), &stop)])?;
                        Arc::make_mut(&mut state.tested).insert(var);
                    }
                    None => set(state, &[(dim, &form)])?,
                }
                if let Some(rest) = rest.filter(|_| !state.rests.contains_key(&var)) {
                    Arc::make_mut(&mut state.rests).insert(var, rest);
                }
                Ok(true)
            }
            Scalar::Pointer => {
                if let Some(mut place) = view.place(value) {
                    if place.pointer.tag.is_none() {
                        place.pointer.tag = self.name_of(&view, state, value, var);
                    }
                    point(state, var, &place)?;
                    return Ok(true);
                }
                match self.is_string(dst, value) {
                    Some(is_there) => {
                        self.leads_to_string(state, var, value, is_there)?;
                        Ok(true)
                    }
                    None => Ok(false),
                }
            }
            Scalar::Int(_) | Scalar::Float(_) => Ok(false),
        }
    }

    /// Whether the address of a new object, or of the one for which it is laid aside, goes into a pointer to characters.
    fn is_of_characters(&self, allocation: &Allocation) -> bool {
        let edges = &self.at.function.edges;
        let is_character = |to: &Lvalue| {
            let pointee = to.ty.pointee().map(|ty| ty.kind());
            matches!(pointee, Some(TypeKind::Int(IntKind::Char | IntKind::SChar | IntKind::UChar)))
        };
        let made = |op: &Op| if let Op::Allocate(other) = op { Some(other.clone()) } else { None };
        let mut others = edges.iter().filter_map(|edge| made(&edge.op));
        let meant = others.find(|other| other.site == allocation.site.in_map()).map(|other| other.dst);
        let dst = &meant.unwrap_or_else(|| allocation.dst.clone());
        let view = self.view();
        let Some((id, _)) = view.whole(dst) else { return is_character(dst) };
        let holder = Some(Var::Local(id));
        let is_copy =
            |op: &Op| matches!(op, Op::Assign(to, value) if is_character(to) && view.holder(value) == holder);
        is_character(dst) || edges.iter().any(|edge| is_copy(&edge.op))
    }

    /// A name for the object of the pointer that an address is made from, which has none yet, and which `to` gets.
    fn name_of(&self, view: &View<'_>, state: &mut Relations, address: &Expr, to: Var) -> Option<Tag> {
        let from = view.base(address)?;
        let id = from.local().or_else(|| to.local())?;
        state.pointers.get(&from).filter(|known| known.tag.is_none() && known.null != Null::Always)?;
        let tag = Tag::Older(id, self.at.id);
        state.rename_objects(|known| Some(known).filter(|known| *known != tag));
        Arc::make_mut(&mut state.pointers).get_mut(&from)?.tag = Some(tag);
        Some(tag)
    }

    /// A fresh object. If that may fail, the pointer may be null.
    fn allocate(&self, state: &mut Relations, allocation: &Allocation) -> Result<()> {
        let tag = Tag::Allocated { at: self.at.id, nth: 0, on_heap: allocation.on_heap };
        state.allocates(self.at.id);
        let view = self.view();
        let dst = &allocation.dst;
        let var = view.variable(dst).filter(|(_, scalar)| *scalar == Scalar::Pointer).map(|(var, _)| var);
        let unit = factor(&allocation.size).filter(|_| !self.is_of_characters(allocation)).unwrap_or(1);
        let in_units = view.in_units(&allocation.size, unit).map(|size| (unit, size));
        let sized = in_units.or_else(|| Some((1, view.form(&allocation.size)?)));
        // (A register of which nothing is known, or memory.)
        if view.whole(dst).is_none() || sized.is_none() {
            forget(state, dst);
            self.changed(state, dst, true)?;
        }
        let mut own = BTreeSet::new();
        if let (Some(var), Some((unit, size))) = (var, sized) {
            let has_zero = allocation.zeroed && size.low >= 1;
            let null = if allocation.may_fail { Null::Any } else { Null::Never };
            let pointer = Pointer {
                unit,
                tag: Some(tag),
                null,
                has_zero,
                is_filled: true,
                units: if allocation.zeroed { Units::Zero } else { Units::Nothing },
                on_heap: allocation.on_heap,
            };
            let zero = has_zero.then(|| size.plus(&Form::constant(-1)));
            let filled = Some(if allocation.zeroed { size.clone() } else { Form::constant(0) });
            point(state, var, &Place { pointer, offset: Form::constant(0), size, zero, filled })?;
            own.extend(var.cell());
        }
        if view.whole(dst).is_none() {
            self.lose_cells(state, &Written::unknown(dst), &own);
        }
        if let Some(ty) = self.allocated_type(allocation).filter(|_| allocation.zeroed) {
            zero_cells(self.env.program(), state, Cell { of: tag, at: 0, size: u32::MAX }, ty)?;
        }
        Ok(())
    }

    /// Whatever unknown code can reach may be freed.
    fn clobbered(&self, state: &mut Relations) {
        let function = self.at.function;
        let escaped = self.env.escaped();
        let stays = |pointer: &Pointer| match pointer.tag {
            Some(Tag::Named(_)) => true,
            Some(Tag::Allocated { at, .. }) => {
                let is_known = |site| escaped.contains(&Object::Heap(function.name, site));
                matches!(&function.edge(at).op, Op::Allocate(allocation) if !is_known(allocation.site))
            }
            Some(Tag::Passed(_) | Tag::Behind(..) | Tag::Left(..) | Tag::Older(..)) | None => {
                pointer.null == Null::Always
            }
        };
        state.frees = true;
        state.retain_pointers(|_, pointer| stays(pointer));
    }

    fn free(&self, state: &mut Relations, pointer: &Expr) {
        let place = self.view().place(pointer);
        if place.as_ref().is_some_and(|place| place.pointer.null == Null::Always) {
            return;
        }
        let freed = place.and_then(|place| place.pointer.tag);
        let aliases = self.aliases();
        let objects = &self.env.targets(self.at.function.name, pointer).objects;
        let is_other = |var: Var, pointer: &Pointer| {
            let by_name = match (freed, pointer.tag) {
                (_, Some(Tag::Named(_))) => true,
                (Some(freed), Some(tag)) => freed.is_apart(tag),
                (None, _) | (_, None) => pointer.null == Null::Always,
            };
            by_name || !aliases.holds_one_of(self.from, var, objects)
        };
        state.frees = true;
        state.retain_pointers(is_other);
    }

    /// A local begins or ends, and with it an array of variable length.
    fn ends(&self, state: &mut Relations, id: LocalId) {
        let local = self.at.function.local(id);
        let object = Tag::Named(Object::Local(self.at.function.name, id));
        let is_array = local.role == Role::VariableArray;
        let stays = |pointer: &Pointer| match pointer.tag {
            Some(tag @ Tag::Named(_)) => tag != object,
            Some(Tag::Allocated { on_heap, .. }) => on_heap || !is_array,
            Some(Tag::Passed(_) | Tag::Behind(..) | Tag::Left(..)) => true,
            Some(Tag::Older(..)) | None => !is_array || pointer.null == Null::Always,
        };
        state.retain_pointers(|_, pointer| stays(pointer));
        state.retain_locals(|other| other != id);
        state.retain_cells(|cell| cell.of != object);
    }

    /// Keeps the states in which the condition counts as `truth`.
    fn assume(&self, state: &mut Relations, condition: &Expr, truth: bool) -> Result<()> {
        match condition {
            Expr::Compare(op, lhs, rhs) => {
                let op = if truth { *op } else { op.negated() };
                let is_zero = |side: &Expr| matches!(side, Expr::Int(0, _) | Expr::Null);
                // `(a < b) == 0` and the like.
                if is_zero(rhs) && is_truth(lhs) && matches!(op, CompareOp::Eq | CompareOp::Ne) {
                    return self.assume(state, lhs, op == CompareOp::Ne);
                }
                match lhs.scalar() {
                    Scalar::Int(_) => self.compare(state, op, lhs, rhs),
                    Scalar::Pointer if op == CompareOp::Ne && is_zero(rhs) => {
                        is_there(&self.view(), state, lhs)
                    }
                    Scalar::Pointer if op == CompareOp::Eq && is_zero(rhs) => {
                        is_null(&self.view(), state, lhs)
                    }
                    Scalar::Pointer => self.compare_pointers(state, op, lhs, rhs),
                    Scalar::Float(_) => Ok(()),
                }
            }
            Expr::Overflows(op, lhs, rhs) => self.overflows(*op, lhs, rhs, truth),
            Expr::Memory(MemoryPredicate::InBounds, pointer, size) => {
                if !truth && self.view().is_inside(pointer, size) { Err(Impossible) } else { Ok(()) }
            }
            Expr::Memory(MemoryPredicate::Terminated, pointer, size) => match truth {
                // With a size there need not be an end.
                true if matches!(**size, Expr::Int(0, _)) => self.ends_there(state, pointer),
                false if self.view().is_terminated_within(pointer, size) => Err(Impossible),
                true | false => Ok(()),
            },
            Expr::Memory(MemoryPredicate::Initialised, pointer, size) => {
                if !truth && self.view().is_filled(pointer, size) { Err(Impossible) } else { Ok(()) }
            }
            Expr::Memory(MemoryPredicate::NotFreed, pointer, _) => {
                // What is listed is alive.
                if !truth && self.view().place(pointer).is_some() { Err(Impossible) } else { Ok(()) }
            }
            Expr::Memory(MemoryPredicate::Freeable, pointer, _) => {
                if !truth && self.view().is_freeable(pointer) { Err(Impossible) } else { Ok(()) }
            }
            Expr::Binary(BinaryOp::BitAnd, lhs, rhs, _) if truth && is_truth(lhs) && is_truth(rhs) => {
                self.assume(state, lhs, true)?;
                self.assume(state, rhs, true)
            }
            Expr::Binary(BinaryOp::BitOr, lhs, rhs, _) if !truth => {
                self.assume(state, lhs, false)?;
                self.assume(state, rhs, false)
            }
            Expr::Cast(Scalar::Int(_), arg, _) if is_truth(arg) => self.assume(state, arg, truth),
            Expr::Load(_)
            | Expr::Cast(..)
            | Expr::Address(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::PointerDifference(..) => match condition.scalar() {
                Scalar::Int(_) => {
                    let op = if truth { CompareOp::Ne } else { CompareOp::Eq };
                    self.compare(state, op, condition, &condition.zero())
                }
                Scalar::Pointer => {
                    if truth {
                        is_there(&self.view(), state, condition)
                    } else {
                        is_null(&self.view(), state, condition)
                    }
                }
                Scalar::Float(_) => Ok(()),
            },
            Expr::Int(..) | Expr::Float(_) | Expr::Null | Expr::Function(_) | Expr::Memory(..) => Ok(()),
        }
    }

    fn overflows(&self, op: BinaryOp, lhs: &Expr, rhs: &Expr, truth: bool) -> Result<()> {
        let Some(ty) = lhs.int_type().filter(|ty| ty.bits <= 64) else { return Ok(()) };
        if !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) {
            return Ok(());
        }
        let Some(form) = self.view().operation(op, lhs, rhs) else { return Ok(()) };
        let never = ty.min() <= form.low && form.high <= ty.max();
        let always = form.low > ty.max() || form.high < ty.min();
        if truth && never || !truth && always { Err(Impossible) } else { Ok(()) }
    }

    fn compare(&self, state: &mut Relations, op: CompareOp, lhs: &Expr, rhs: &Expr) -> Result<()> {
        let view = self.view();
        self.passes_no_end(state, op, lhs, rhs)?;
        if let (CompareOp::Eq, Some((id, _)), Expr::Int(0, _)) = (op, view.whole_of(lhs), rhs) {
            self.found(state, id)?;
        }
        self.stays_in_string(state, op, lhs, rhs);
        let (Some(left), Some(right)) = (view.form(lhs), view.form(rhs)) else { return Ok(()) };
        restrict(&view, state, op, &left, &right)?;
        self.compares(state, op, (lhs, &left), (rhs, &right));
        Ok(())
    }

    fn compare_pointers(&self, state: &mut Relations, op: CompareOp, lhs: &Expr, rhs: &Expr) -> Result<()> {
        let view = self.view();
        let (Some(left), Some(right)) = (view.place(lhs), view.place(rhs)) else { return Ok(()) };
        if !view.is_one_object(&left, &right) {
            return Ok(());
        }
        restrict(&view, state, op, &left.offset, &right.offset)
    }
}

/// What holds the pointer that an expression is made from, and what is known of it.
fn made_from(view: &View<'_>, state: &Relations, pointer: &Expr) -> Option<(Var, Pointer)> {
    let var = view.holder(pointer)?;
    Some((var, *state.pointers.get(&var)?))
}

/// The pointer that an expression is made from is not null, so there is an object, and it is no larger than objects are.
fn is_there(view: &View<'_>, state: &mut Relations, pointer: &Expr) -> Result<()> {
    let Some((var, known)) = made_from(view, state, pointer) else { return Ok(()) };
    match known.null {
        Null::Never => return Ok(()),
        Null::Always => return Err(Impossible),
        Null::Empty | Null::Any => {}
    }
    Arc::make_mut(&mut state.pointers).insert(var, Pointer { null: Null::Never, ..known });
    let most = largest(view.program) / i128::from(known.unit.max(1));
    let holds = Arc::make_mut(&mut state.zone).bound(Dim::Size(var), i128::MIN, most);
    if holds { Ok(()) } else { Err(Impossible) }
}

/// The pointer that an expression is made from is null.
fn is_null(view: &View<'_>, state: &mut Relations, pointer: &Expr) -> Result<()> {
    if view.place(pointer).is_some_and(|place| place.pointer.is_there()) {
        return Err(Impossible);
    }
    let Some((var, known)) = made_from(view, state, pointer) else { return Ok(()) };
    if known.null == Null::Empty {
        let zone = Arc::make_mut(&mut state.zone);
        for dim in [Dim::Size(var), Dim::Offset(var)] {
            if !zone.bound(dim, 0, 0) {
                return Err(Impossible);
            }
        }
    }
    point(state, var, &Place::null())
}

/// So many bytes an object has at most: so far apart two pointers can be (`PTRDIFF_MAX`). Requests for more give null.
pub(super) fn largest(program: &Program) -> i128 {
    (1 << (program.pointer_bits() - 1)) - 1
}

/// Keeps the states in which two values compare so.
pub(super) fn restrict(
    view: &View<'_>,
    state: &mut Relations,
    op: CompareOp,
    left: &Form,
    right: &Form,
) -> Result<()> {
    match op {
        CompareOp::Lt => at_most(view, state, left, right, -1),
        CompareOp::Le => at_most(view, state, left, right, 0),
        CompareOp::Gt => at_most(view, state, right, left, -1),
        CompareOp::Ge => at_most(view, state, right, left, 0),
        CompareOp::Eq => {
            at_most(view, state, left, right, 0)?;
            at_most(view, state, right, left, 0)
        }
        CompareOp::Ne => {
            let (over, under) = (view.distance(left, right), view.distance(right, left));
            match (over, under) {
                (0, 0) => Err(Impossible),
                (0, _) => at_most(view, state, left, right, -1),
                (_, 0) => at_most(view, state, right, left, -1),
                _ => Ok(()),
            }
        }
    }
}

/// `left − right ≤ most`
fn at_most(view: &View<'_>, state: &mut Relations, left: &Form, right: &Form, most: i128) -> Result<()> {
    if view.distance(right, left).saturating_add(most) < 0 {
        return Err(Impossible);
    }
    let zone = Arc::make_mut(&mut state.zone);
    let mut holds = true;
    // What others know is kept with what is related.
    for (form, other) in [(left, right), (right, left)] {
        if let ([(dim, 0)], true) = (&form.below[..], form.above == form.below) {
            let is_related = !other.above.is_empty() || !other.below.is_empty();
            if is_related {
                holds &= zone.bound(*dim, form.low, form.high);
            }
        }
    }
    for (x, first) in &left.below {
        for (y, last) in &right.above {
            holds &= zone.constrain(*x, *y, most.saturating_add(*first).saturating_add(*last));
        }
        holds &= zone.bound(*x, i128::MIN, right.high.saturating_add(most).saturating_add(*first));
    }
    for (y, last) in &right.above {
        holds &= zone.bound(*y, left.low.saturating_sub(most).saturating_sub(*last), i128::MAX);
    }
    if holds { Ok(()) } else { Err(Impossible) }
}

/// Numbers get new values, all at once.
pub(super) fn set(state: &mut Relations, values: &[(Dim, &Form)]) -> Result<()> {
    let moved: Vec<(Dim, Form)> =
        values.iter().filter_map(|(dim, form)| twice_moved(state, *dim, form)).collect();
    let values: Vec<(Dim, &Form)> =
        values.iter().copied().chain(moved.iter().map(|(dim, form)| (*dim, form))).collect();
    replace(state, &values)
}

/// What twice a local is when that becomes so much more than it was.
fn twice_moved(state: &Relations, dim: Dim, form: &Form) -> Option<(Dim, Form)> {
    let Dim::Value(var, ty) = dim else { return None };
    let twice = Dim::Twice(var, ty);
    let by =
        |near: &[(Dim, i128)]| near.iter().find(|(old, _)| *old == dim).map(|(_, by)| by.saturating_mul(2));
    let (Some(more), Some(less)) = (by(&form.above), by(&form.below)) else { return None };
    state.zone.mentions(|known| known == twice).then(|| {
        let (low, high) = twice.range();
        let (above, below) = ([(twice, more)].into_iter().collect(), [(twice, less)].into_iter().collect());
        (twice, Form { low, high, above, below })
    })
}

fn replace(state: &mut Relations, values: &[(Dim, &Form)]) -> Result<()> {
    let zone = Arc::make_mut(&mut state.zone);
    let mut holds = true;
    for (at, (_, form)) in values.iter().enumerate() {
        holds &= add(zone, Dim::Scratch(at as u8), form);
    }
    let is_old = |dim: Dim| {
        values.iter().any(|(new, _)| match (*new, dim) {
            // Where the number was read that the local held before.
            (Dim::Value(id, _) | Dim::Offset(id), Dim::From(old) | Dim::Stop(old)) => id == old,
            (Dim::Value(id, _), Dim::Twice(old, _)) => id == old,
            (new, old) => new == old,
        })
    };
    state.retain_rests(|id, of| {
        let is_changed = |(dim, _): &(Dim, &Form)| match *dim {
            Dim::Value(value, _) => value == id,
            Dim::Offset(pointer) | Dim::Zero(pointer) => pointer == of,
            _ => false,
        };
        !values.iter().any(is_changed)
    });
    let zone = Arc::make_mut(&mut state.zone);
    *zone = zone.renamed(|dim| match dim {
        Dim::Scratch(at) => values.get(usize::from(at)).map(|(new, _)| *new),
        old if is_old(old) => None,
        other => Some(other),
    });
    for (dim, _) in values {
        if let Dim::Value(id, _) | Dim::Offset(id) = dim {
            for units in [&mut state.tested, &mut state.not_zero] {
                if units.contains(id) {
                    Arc::make_mut(units).remove(id);
                }
            }
        }
    }
    if holds { Ok(()) } else { Err(Impossible) }
}

/// One more number.
pub(super) fn add(zone: &mut Zone, dim: Dim, form: &Form) -> bool {
    let mut holds = zone.bound(dim, form.low, form.high);
    for (near, most) in &form.above {
        holds &= zone.constrain(dim, *near, *most);
    }
    for (near, most) in &form.below {
        holds &= zone.constrain(*near, dim, *most);
    }
    holds
}

/// A pointer leads to another place.
pub(super) fn point(state: &mut Relations, id: Var, place: &Place) -> Result<()> {
    let bounds = [(Dim::Offset(id), &place.offset), (Dim::Size(id), &place.size)];
    let zero = place.zero.as_ref().map(|zero| (Dim::Zero(id), zero));
    let filled = place.filled.as_ref().map(|filled| (Dim::Filled(id), filled));
    let numbers: Vec<(Dim, &Form)> = bounds.into_iter().chain(zero).chain(filled).collect();
    set(state, &numbers)?;
    let units = if filled.is_some() { place.pointer.units } else { Units::Any };
    let pointer = Pointer { has_zero: zero.is_some(), is_filled: filled.is_some(), units, ..place.pointer };
    Arc::make_mut(&mut state.pointers).insert(id, pointer);
    state.drop_untracked();
    Ok(())
}

/// Nothing is known of the local or the global that is written. (Of arrays `wrote` keeps what it can, of cells `lose_cells`.)
pub(super) fn forget(state: &mut Relations, dst: &Lvalue) {
    match dst.base {
        Base::Local(id) => {
            let tag = state.pointers.get(&Var::Local(id)).and_then(|known| known.tag);
            let is_array = matches!(tag, Some(Tag::Named(Object::Local(_, array))) if array == id);
            if !is_array {
                state.retain_locals(|other| other != id);
            }
        }
        Base::Global(name) => state.retain_globals(|other| other != name),
        Base::Deref(..) => {}
    }
}

/// The constant factor of a product: bytes of an element.
fn factor(size: &Expr) -> Option<u64> {
    match size {
        Expr::Binary(BinaryOp::Mul, lhs, rhs, _) => [lhs, rhs].into_iter().find_map(|side| match **side {
            Expr::Int(value, _) => u64::try_from(value).ok().filter(|value| *value > 1),
            _ => None,
        }),
        Expr::Cast(Scalar::Int(_), arg, _) => factor(arg),
        Expr::Cast(..)
        | Expr::Binary(..)
        | Expr::Int(..)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Load(_)
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Unary(..)
        | Expr::Compare(..)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => None,
    }
}

/// Whether it is a condition.
fn is_truth(expr: &Expr) -> bool {
    match expr {
        Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) => true,
        Expr::Cast(Scalar::Int(_), arg, _) => is_truth(arg),
        Expr::Binary(BinaryOp::BitAnd | BinaryOp::BitOr, lhs, rhs, _) => is_truth(lhs) && is_truth(rhs),
        Expr::Cast(..)
        | Expr::Binary(..)
        | Expr::Int(..)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Load(_)
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Unary(..)
        | Expr::PointerDifference(..) => false,
    }
}
