//! What operations do to relations: assignments, conditions, and the lives of what pointers lead to. Knows no calls of functions with bodies.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Base, BinaryOp, Cause, CompareOp, Expr, IntType, LocalId, Lvalue, MemoryPredicate, Name, Object, Op,
    Program, Role, Scalar, copied_character,
};
use proofline_cpa::{EdgeContext, Facts};
use proofline_program_analysis::Environment;
use smallvec::SmallVec;

use super::{
    cells::Named,
    form::{Form, View},
    paths::AccessPath,
    places::Place,
    state::{Null, Pointer, Relations},
    terminator::{Tested, Written},
    units::Units,
    variable::{Cell, Tag, Var},
    zone::{Dim, Zone},
};

/// No valuation is left.
pub(super) struct Impossible;

/// What one lvalue is: a local; or a cell, what lies where a path leads, or both.
pub(super) type Vars = SmallVec<[Var; 2]>;

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
    /// The function's access paths.
    pub(super) paths: &'a [AccessPath],
}

impl Step<'_> {
    pub(super) fn view(&self) -> View<'_> {
        self.view_of(self.from)
    }

    /// The same of another state.
    pub(super) fn view_of<'v>(&'v self, state: &'v Relations) -> View<'v> {
        View::new(self.env.program(), self.at.function, state, self.facts, self.globals, self.paths)
    }

    /// The state behind the edge.
    ///
    /// # Errors
    /// [`Impossible`] if nothing gets there.
    pub(super) fn run(&self) -> Result<Relations> {
        let mut state = self.from.clone();
        let mut own = Vars::new();
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
            Op::Assign(dst, value) => own = self.assign(&mut state, dst, value)?,
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
            Op::Allocate(allocation) => own = self.allocate(&mut state, allocation)?,
            Op::Free(pointer) => self.free(&mut state, pointer),
            Op::End(id) => self.ends(&mut state, *id),
            Op::Begin(id) => {
                self.ends(&mut state, *id);
                self.begins(&mut state, *id)?;
            }
        }
        self.lose_paths(&mut state, &own);
        Ok(state)
    }

    /// Memory changes, and no scalar gets a value that is known.
    fn writes(&self, state: &mut Relations, written: &Written<'_>) -> Result<()> {
        self.wrote(state, written)?;
        self.lose_cells(state, written, &BTreeSet::new());
        Ok(())
    }

    /// Something else than a register changes. `has_value`: it certainly has one then.
    pub(super) fn changed(&self, state: &mut Relations, dst: &Lvalue, has_value: bool) -> Result<()> {
        if self.view().whole(dst).is_some() {
            return Ok(());
        }
        self.wrote(state, &Written::Object { dst, value: None, has_value })
    }

    /// Gives what has got the value, if something is known of it then.
    fn assign(&self, state: &mut Relations, dst: &Lvalue, value: &Expr) -> Result<Vars> {
        let view = self.view();
        if let Some((id, scalar)) = view.whole(dst) {
            if !self.receives(state, &[Var::Local(id)], scalar, dst, value)? {
                forget(state, dst);
            }
            return Ok(Vars::new());
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
        let own = match (view.dim(dst), dst.scalar) {
            (Some(dim @ Dim::Global(..)), _) => {
                match view.form(value) {
                    Some(form) => set(state, &[(dim, &form)])?,
                    None => forget(state, dst),
                }
                Vars::new()
            }
            (_, Some(scalar)) => {
                let vars = view.variables(dst);
                let is_known = !vars.is_empty() && self.receives(state, &vars, scalar, dst, value)?;
                if is_known {
                    vars.iter().for_each(|var| state.holds_only(*var, scalar));
                }
                if is_known { vars } else { Vars::new() }
            }
            (_, None) => Vars::new(),
        };
        self.lose_cells(state, &written, &own.iter().filter_map(|var| var.cell()).collect());
        Ok(own)
    }

    /// What one lvalue is gets a value. `false`: of which nothing is known.
    fn receives(
        &self,
        state: &mut Relations,
        vars: &[Var],
        scalar: Scalar,
        dst: &Lvalue,
        value: &Expr,
    ) -> Result<bool> {
        // Memory may have changed in it already, but for cells: the value was read before that.
        let mut before = state.clone();
        before.forget_units();
        let view = self.view_of(&before);
        match scalar {
            Scalar::Int(ty) if ty.bits <= 64 => {
                let Some(mut form) = view.form(value) else { return Ok(false) };
                if let Some(read) = self.view().form(value) {
                    (form.low, form.high) = (form.low.max(read.low), form.high.min(read.high));
                }
                let mut numbers: Vec<(Dim, &Form)> =
                    vars.iter().map(|var| (Dim::Value(*var, ty), &form)).collect();
                let rest = self.rest_of(&view, value);
                // Of cells that is forgotten where memory changes.
                let local = vars.iter().copied().find(|var| var.local().is_some());
                match local.and_then(|var| Some((var, self.tested(&view, value)?))) {
                    Some((var, Tested { from, stop })) => {
                        numbers.extend([(Dim::From(var), &from), (Dim::Stop(var), &stop)]);
                        set(state, &numbers)?;
                        Arc::make_mut(&mut state.tested).insert(var);
                    }
                    None => set(state, &numbers)?,
                }
                for var in vars.iter().filter(|_| rest.is_some()) {
                    if let Some(rest) = rest.filter(|_| !state.rests.contains_key(var)) {
                        Arc::make_mut(&mut state.rests).insert(*var, rest);
                    }
                }
                Ok(true)
            }
            Scalar::Pointer => {
                if let Some(mut place) = view.place(value) {
                    if place.pointer.tag.is_none() {
                        self.name_object(&view, state, value, vars, &mut place);
                    }
                    point_all(state, vars, &place)?;
                    return Ok(true);
                }
                match self.is_string(dst, value) {
                    Some(is_there) => {
                        for var in vars {
                            self.leads_to_string(state, *var, value, is_there)?;
                        }
                        Ok(true)
                    }
                    None => Ok(false),
                }
            }
            Scalar::Int(_) | Scalar::Float(_) => Ok(false),
        }
    }

    /// A name for the object of the pointer that an address is made from, which has none yet, and which `to` gets. Whose name that was before keeps none,
    /// and what was known by its numbers is said of the new one no more.
    fn name_object(
        &self,
        view: &View<'_>,
        state: &mut Relations,
        address: &Expr,
        to: &[Var],
        place: &mut Place,
    ) -> Option<()> {
        let from = view.base(address)?;
        let id = from.local().or_else(|| to.iter().find_map(|var| var.local()))?;
        state.pointers.get(&from).filter(|known| known.tag.is_none() && known.null != Null::Always)?;
        let tag = Tag::Older(id, self.at.id);
        let is_named = |cell: Cell| cell.of == tag;
        if to.iter().any(|var| var.cell().is_some_and(is_named)) {
            return None;
        }
        state.rename_objects(|known| Some(known).filter(|known| *known != tag));
        place.forget(|dim| dim.cells().any(&is_named));
        Arc::make_mut(&mut state.pointers).get_mut(&from)?.tag = Some(tag);
        place.pointer.tag = Some(tag);
        Some(())
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
                    Scalar::Int(_) => {
                        self.compare(state, op, lhs, rhs)?;
                        if state.multiply() { Ok(()) } else { Err(Impossible) }
                    }
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
            Expr::Overflows(op, lhs, rhs) => self.overflows(state, *op, lhs, rhs, truth),
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

    fn overflows(
        &self,
        state: &mut Relations,
        op: BinaryOp,
        lhs: &Expr,
        rhs: &Expr,
        truth: bool,
    ) -> Result<()> {
        let Some(ty) = lhs.int_type().filter(|ty| ty.bits <= 64) else { return Ok(()) };
        if !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) {
            return Ok(());
        }
        let Some(form) = self.view().operation(op, lhs, rhs) else { return Ok(()) };
        let never = ty.min() <= form.low && form.high <= ty.max();
        let always = form.low > ty.max() || form.high < ty.min();
        if truth && never || !truth && always {
            return Err(Impossible);
        }
        match self.view().product(lhs, rhs).filter(|_| op == BinaryOp::Mul && !truth) {
            Some(product) if !Arc::make_mut(&mut state.zone).bound(product, ty.min(), ty.max()) => {
                Err(Impossible)
            }
            Some(_) | None => Ok(()),
        }
    }

    fn compare(&self, state: &mut Relations, op: CompareOp, lhs: &Expr, rhs: &Expr) -> Result<()> {
        let view = self.view();
        self.passes_no_end(state, op, lhs, rhs)?;
        if let (CompareOp::Eq, Some((id, _)), Expr::Int(0, _)) = (op, view.whole_of(lhs), rhs) {
            self.found(state, id)?;
            self.begins_alike(state, id)?;
        }
        self.stays_in_string(state, op, lhs, rhs);
        if let (CompareOp::Ne | CompareOp::Lt | CompareOp::Gt, Some((one, other))) = (op, both_read(lhs, rhs))
        {
            let [one, other] = [one, other].map(|lvalue| Expr::Address(lvalue.clone()));
            self.compare_pointers(state, CompareOp::Ne, &one, &other)?;
        }
        let (Some(left), Some(right)) = (view.form(lhs), view.form(rhs)) else { return Ok(()) };
        restrict(&view, state, op, &left, &right)
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

/// Two places whose values are compared alike. Where these differ, the places do (a floating number may differ from itself).
fn both_read<'e>(lhs: &'e Expr, rhs: &'e Expr) -> Option<(&'e Lvalue, &'e Lvalue)> {
    match (lhs, rhs) {
        (Expr::Load(one), Expr::Load(other)) => {
            let is_memory =
                |lvalue: &Lvalue| matches!(lvalue.base, Base::Deref(..)) || !lvalue.path.is_empty();
            let is_exact = matches!(one.scalar, Some(Scalar::Int(_) | Scalar::Pointer));
            let is_same =
                is_exact && one.scalar == other.scalar && one.bits.is_none() && other.bits.is_none();
            (is_same && is_memory(one) && is_memory(other)).then_some((one, other))
        }
        (Expr::Cast(one, lhs, _), Expr::Cast(other, rhs, _)) if one == other => both_read(lhs, rhs),
        _ => None,
    }
}

/// What holds the pointer that an expression is made from, as far as something is known of it.
fn made_from(view: &View<'_>, state: &Relations, pointer: &Expr) -> SmallVec<[(Var, Pointer); 2]> {
    let known = |var: &Var| Some((*var, *state.pointers.get(var)?));
    view.holders(pointer).iter().filter_map(known).collect()
}

/// The pointer that an expression is made from is not null, so there is an object, and it is no larger than objects are.
fn is_there(view: &View<'_>, state: &mut Relations, pointer: &Expr) -> Result<()> {
    for (var, known) in made_from(view, state, pointer) {
        match known.null {
            Null::Never => continue,
            Null::Always => return Err(Impossible),
            Null::Empty | Null::Any => {}
        }
        Arc::make_mut(&mut state.pointers).insert(var, Pointer { null: Null::Never, ..known });
        let most = largest(view.program) / i128::from(known.unit.max(1));
        if !Arc::make_mut(&mut state.zone).bound(Dim::Size(var), i128::MIN, most) {
            return Err(Impossible);
        }
    }
    Ok(())
}

/// The pointer that an expression is made from is null.
fn is_null(view: &View<'_>, state: &mut Relations, pointer: &Expr) -> Result<()> {
    if view.place(pointer).is_some_and(|place| place.pointer.is_there()) {
        return Err(Impossible);
    }
    for (var, known) in made_from(view, state, pointer) {
        if known.null == Null::Empty {
            let zone = Arc::make_mut(&mut state.zone);
            for dim in [Dim::Size(var), Dim::Offset(var)] {
                if !zone.bound(dim, 0, 0) {
                    return Err(Impossible);
                }
            }
        }
        point(state, var, &Place::null())?;
    }
    Ok(())
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
            (Dim::Value(var, _), old @ Dim::Product(..)) => old.is_product_of(var),
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
pub(super) fn point(state: &mut Relations, var: Var, place: &Place) -> Result<()> {
    point_all(state, &[var], place)
}

/// What one pointer is leads to another place.
pub(super) fn point_all(state: &mut Relations, vars: &[Var], place: &Place) -> Result<()> {
    let numbers = vars.iter().flat_map(|var| {
        let bounds = [(Dim::Offset(*var), &place.offset), (Dim::Size(*var), &place.size)];
        let zero = place.zero.as_ref().map(|zero| (Dim::Zero(*var), zero));
        let filled = place.filled.as_ref().map(|filled| (Dim::Filled(*var), filled));
        bounds.into_iter().chain(zero).chain(filled)
    });
    let numbers: Vec<(Dim, &Form)> = numbers.collect();
    set(state, &numbers)?;
    let (has_zero, is_filled) = (place.zero.is_some(), place.filled.is_some());
    let units = if is_filled { place.pointer.units } else { Units::Any };
    let pointer = Pointer { has_zero, is_filled, units, ..place.pointer };
    let pointers = Arc::make_mut(&mut state.pointers);
    pointers.extend(vars.iter().map(|var| (*var, pointer)));
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
