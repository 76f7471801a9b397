//! Cells: which bytes of which object an lvalue is, and which cells a write may change. Knows no values.

use std::collections::BTreeSet;

use proofline_cfa::{
    Allocation, Base, BinaryOp, Constant, Expr, Function, LocalId, Lvalue, Name, Object, Op, Program, Scalar,
    Step as PathStep, Type, Types, scalar_of, texts,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use super::{
    filled::is_array,
    form::{Form, View},
    paths::AccessPath,
    places::Place,
    state::Relations,
    terminator::Written,
    transfer::{Result, Step, point, set},
    variable::{Cell, Tag, Var},
    zone::Dim,
};

/// So many cells are known of a frame at most.
pub(super) const MOST: usize = 48;

/// No scalar has more bytes.
const WIDEST: i128 = 32;

/// So many members of a structure that is all zeros.
const MEMBERS: usize = 12;

/// Bytes of an object that has a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) of: Tag,
    /// The first one, and the one behind the last, at least and at most.
    pub(super) first: i128,
    pub(super) end: i128,
}

impl View<'_> {
    /// The cell that a scalar in memory is.
    pub(super) fn cell(&self, lvalue: &Lvalue) -> Option<Cell> {
        if lvalue.bits.is_some() || lvalue.size == 0 {
            return None;
        }
        let scalar = lvalue.scalar?;
        let is_held = match scalar {
            Scalar::Int(ty) => ty.bits <= 64,
            Scalar::Pointer => true,
            Scalar::Float(_) => false,
        };
        let is_there = match &lvalue.base {
            Base::Deref(pointer, _) => is_held && self.place(pointer)?.pointer.is_there(),
            Base::Local(_) => is_held,
            Base::Global(name) => {
                is_held && self.program.globals.get(name).is_some_and(|global| !global.constant)
            }
        };
        let span =
            self.span(lvalue).filter(|span| is_there && span.end - span.first == i128::from(lvalue.size))?;
        let (at, size) = (u32::try_from(span.first).ok()?, u32::try_from(lvalue.size).ok()?);
        Some(Cell { of: span.of, at, size })
    }

    /// The bytes that an lvalue may be.
    pub(super) fn span(&self, lvalue: &Lvalue) -> Option<Span> {
        let (of, mut first, mut last) = match &lvalue.base {
            Base::Local(id) => {
                let local = self.function.local(*id);
                let object = Object::Local(self.function.name, *id);
                (local.size > 0).then_some((Tag::Named(object), 0, 0))?
            }
            Base::Global(name) => (Tag::Named(Object::Global(*name)), 0, 0),
            Base::Deref(pointer, _) => {
                let place = self.place(pointer)?;
                let unit = i128::from(place.pointer.unit);
                let (low, high) = (place.offset.low, place.offset.high);
                (place.pointer.tag?, low.saturating_mul(unit), high.saturating_mul(unit))
            }
        };
        for step in &lvalue.path {
            let (low, high) = match step {
                PathStep::Field { offset, .. } => (i128::from(*offset), i128::from(*offset)),
                PathStep::Index { index, stride, .. } => {
                    let (form, stride) = (self.form(index)?, i128::from(*stride));
                    (form.low.saturating_mul(stride), form.high.saturating_mul(stride))
                }
            };
            (first, last) = (first.saturating_add(low), last.saturating_add(high));
        }
        // Of what has no known size nobody knows where it ends.
        let size = if lvalue.size == 0 { i128::MAX } else { i128::from(lvalue.size) };
        Some(Span { of, first, end: last.saturating_add(size) })
    }

    /// So many bytes from a pointer on.
    fn bytes(&self, pointer: &Expr, size: &Expr) -> Option<Span> {
        let place = self.place(pointer)?;
        let unit = i128::from(place.pointer.unit);
        let first = place.offset.low.saturating_mul(unit);
        let last = place.offset.high.saturating_mul(unit);
        let size_high = self.form(size).map_or(i128::MAX, |form| form.high);
        let end = last.saturating_add(size_high);
        let end = self.end_of_rest_of(pointer, size).map_or(end, |other| end.min(other));
        Some(Span { of: place.pointer.tag?, first, end })
    }

    /// Where the bytes end that are left from the element `i` of `n` on: `n − i` of them.
    fn end_of_rest_of(&self, pointer: &Expr, size: &Expr) -> Option<i128> {
        let Expr::Address(lvalue) = pointer else { return None };
        let (PathStep::Index { index, stride: 1, .. }, before) = lvalue.path.split_last()? else {
            return None;
        };
        let Expr::Binary(BinaryOp::Sub, all, from, _) = size else { return None };
        let is_exact = from == index && self.operation(BinaryOp::Sub, all, from)?.low >= 0;
        let whole = Lvalue { path: before.to_vec(), ..lvalue.clone() };
        let start = self.place(&Expr::Address(whole)).filter(|_| is_exact)?;
        let last = start.offset.high.saturating_mul(i128::from(start.pointer.unit));
        Some(last.saturating_add(self.form(all)?.high))
    }
}

/// A pointer in memory that the function names: so many bytes from the start of what.
#[derive(Clone, Debug)]
pub(super) struct Named {
    root: Root,
    at: u32,
    value: Expr,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Root {
    Object(Object),
    /// What the pointer in this local leads to.
    Behind(LocalId),
}

/// The pointers in memory that a function reads.
pub(super) fn named_pointers(function: &Function) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    for edge in &function.edges {
        proofline_cfa::visit::exprs(&edge.op, &mut |expr| {
            let Expr::Load(lvalue) = expr else { return };
            if lvalue.scalar != Some(Scalar::Pointer) {
                return;
            }
            let root = match &lvalue.base {
                Base::Local(id) => Root::Object(Object::Local(function.name, *id)),
                Base::Global(name) => Root::Object(Object::Global(*name)),
                Base::Deref(pointer, _) => match &**pointer {
                    Expr::Load(Lvalue { base: Base::Local(id), path, .. }) if path.is_empty() => {
                        Root::Behind(*id)
                    }
                    _ => return,
                },
            };
            let offset = lvalue.path.iter().try_fold(0u64, |at, step| match step {
                PathStep::Field { offset, .. } => at.checked_add(*offset),
                PathStep::Index { .. } => None,
            });
            let Some(at) = offset.and_then(|at| u32::try_from(at).ok()) else { return };
            if !found.iter().any(|known| known.root == root && known.at == at) {
                found.push(Named { root, at, value: expr.clone() });
            }
        });
    }
    found
}

/// Which objects names and pointers may stand for, as a function's points-to sets say.
#[derive(Clone, Copy)]
pub(super) struct Aliases<'a> {
    pub(super) env: &'a Environment,
    pub(super) function: &'a Function,
    pub(super) named: &'a [Named],
    pub(super) paths: &'a [AccessPath],
}

impl Aliases<'_> {
    /// Whether what the name stands for may be one of these.
    pub(super) fn may_be_in(&self, tag: Tag, objects: &BTreeSet<Object>) -> bool {
        let name = self.function.name;
        match tag {
            Tag::Named(object) => objects.contains(&object),
            Tag::Allocated { at, nth: 0, .. } => {
                let op = &self.function.edge(at).op;
                if let Op::Allocate(allocation) = op {
                    return objects.contains(&Object::Heap(name, allocation.site));
                }
                let dst = if let Op::Call(call) = op { call.dst.as_ref() } else { None };
                let local = dst.filter(|dst| dst.path.is_empty()).map(|dst| &dst.base);
                if let Some(Base::Local(id)) = local { self.may_lead_into(*id, objects) } else { true }
            }
            Tag::Passed(id) | Tag::Older(id, _) => self.may_lead_into(id, objects),
            Tag::Allocated { .. } | Tag::Behind(..) | Tag::Left(..) => true,
        }
    }

    /// Whether the pointer in a local may lead into one of these, or the local is an array that is one of them.
    fn may_lead_into(&self, id: LocalId, objects: &BTreeSet<Object>) -> bool {
        let name = self.function.name;
        if is_array(self.function, id) {
            return objects.contains(&Object::Local(name, id));
        }
        let pointer = Expr::Load(whole_local(self.function, id));
        !self.env.targets(name, &pointer).objects.is_disjoint(objects)
    }

    /// The same of whatever holds the pointer.
    pub(super) fn holds_one_of(&self, state: &Relations, var: Var, objects: &BTreeSet<Object>) -> bool {
        if let Var::Local(id) = var {
            return self.may_lead_into(id, objects);
        }
        let tag = state.pointers.get(&var).and_then(|pointer| pointer.tag);
        let leads_there =
            |value: Expr| !self.env.targets(self.function.name, &value).objects.is_disjoint(objects);
        self.pointer(state, var).is_none_or(leads_there) && tag.is_none_or(|tag| self.may_be_in(tag, objects))
    }

    /// The pointer, as the function names it.
    fn pointer(&self, state: &Relations, var: Var) -> Option<Expr> {
        let cell = match var {
            Var::Local(id) => return Some(Expr::Load(whole_local(self.function, id))),
            Var::Path(nth) => {
                return self.paths.get(usize::from(nth)).map(|path| Expr::Load(path.lvalue.clone()));
            }
            Var::Cell(cell) => cell,
        };
        let is_cell = |named: &&Named| match named.root {
            Root::Object(object) => Tag::Named(object) == cell.of && named.at == cell.at,
            Root::Behind(id) => {
                let from = state.leads_to(id, cell.of);
                from.is_some_and(|from| from + i128::from(named.at) == i128::from(cell.at))
            }
        };
        self.named.iter().find(is_cell).map(|named| named.value.clone())
    }

    /// Whether an object that can be freed may be where the pointer leads.
    pub(super) fn may_end(&self, state: &Relations, var: Var) -> bool {
        let is_dynamic = |object: &Object| matches!(object, Object::Heap(..) | Object::External);
        match self.pointer(state, var) {
            Some(value) => self.env.targets(self.function.name, &value).objects.iter().any(is_dynamic),
            None => true,
        }
    }

    /// Objects that unknown code reaches whatever it is given.
    fn outside(&self) -> BTreeSet<Object> {
        let texts = [texts::LIBRARY, texts::ARGUMENTS].map(|text| Object::Global(Name::new(text)));
        texts.into_iter().chain([Object::External]).collect()
    }

    /// Whether unknown code that has these values reaches the object that `may_be_in` asks about.
    pub(super) fn is_reached(&self, values: &[Expr], may_be_in: impl Fn(&BTreeSet<Object>) -> bool) -> bool {
        let name = self.function.name;
        may_be_in(&self.outside())
            || may_be_in(self.env.escaped())
            || values.iter().any(|value| may_be_in(&self.env.targets(name, value).objects))
    }

    /// Whether only edges that name the local change the cell.
    fn is_private(&self, cell: Cell) -> bool {
        match cell.of {
            Tag::Named(Object::Local(name, id)) => {
                name == self.function.name && !self.function.local(id).address_taken
            }
            _ => false,
        }
    }

    /// Whether what a function may write, with everything that it calls, is in the object.
    pub(super) fn may_be_written(&self, cell: Cell, written: &BTreeSet<Object>) -> bool {
        !self.is_private(cell) && (written.contains(&Object::External) || self.may_be_in(cell.of, written))
    }
}

impl Aliases<'_> {
    /// The cells that a write may change.
    pub(super) fn written(
        &self,
        view: &View<'_>,
        cells: BTreeSet<Cell>,
        written: &Written<'_>,
    ) -> BTreeSet<Cell> {
        let span = match written {
            Written::Object { dst, .. } => view.span(dst),
            Written::Bytes(to, size)
            | Written::Values(to, size)
            | Written::Zeros(to, size)
            | Written::Copied { to, size, .. } => view.bytes(to, size),
            Written::Reached(_) | Written::Anything => None,
        };
        let address = match written {
            Written::Object { dst, .. } => Some(Expr::Address((*dst).clone())),
            Written::Bytes(to, _)
            | Written::Values(to, _)
            | Written::Zeros(to, _)
            | Written::Copied { to, .. } => Some((*to).clone()),
            Written::Reached(_) | Written::Anything => None,
        };
        let is_changed = |cell: &Cell| {
            if let Some(span) = span {
                if span.of == cell.of {
                    return cell.overlaps(span.first, span.end);
                }
                if span.of.is_apart(cell.of) {
                    return false;
                }
            }
            if self.is_private(*cell) {
                return false;
            }
            match (&address, written) {
                (Some(address), _) => {
                    let targets = self.env.targets(self.function.name, address);
                    self.may_be_in(cell.of, &targets.objects)
                }
                (None, Written::Reached(values)) => {
                    self.is_reached(values, |objects| self.may_be_in(cell.of, objects))
                }
                (None, _) => true,
            }
        };
        cells.into_iter().filter(is_changed).collect()
    }

    /// The same of the result of a call, as the caller was before the call: pointers may have changed since.
    pub(super) fn written_by_result(
        &self,
        view: &View<'_>,
        cells: BTreeSet<Cell>,
        dst: &Lvalue,
    ) -> BTreeSet<Cell> {
        if !matches!(dst.base, Base::Deref(..)) {
            return self.written(view, cells, &Written::unknown(dst));
        }
        let targets = self.env.targets(self.function.name, &Expr::Address(dst.clone()));
        cells
            .into_iter()
            .filter(|cell| !self.is_private(*cell) && self.may_be_in(cell.of, &targets.objects))
            .collect()
    }
}

impl Step<'_> {
    pub(super) fn aliases(&self) -> Aliases<'_> {
        Aliases { env: self.env, function: self.at.function, named: self.named, paths: self.paths }
    }

    /// Memory has changed: what is known of cells that may be there is forgotten. `own` were set just before.
    pub(super) fn lose_cells(&self, state: &mut Relations, written: &Written<'_>, own: &BTreeSet<Cell>) {
        let cells: BTreeSet<Cell> = state.cells().difference(own).copied().collect();
        if cells.is_empty() {
            return;
        }
        let lost = self.aliases().written(&self.view(), cells, written);
        if !lost.is_empty() {
            state.retain_cells(|cell| !lost.contains(&cell));
        }
    }

    /// A structure is copied: its members have the values that those of the other one had. Gives the cells that were set.
    pub(super) fn copies_cells(
        &self,
        state: &mut Relations,
        dst: &Lvalue,
        src: &Lvalue,
    ) -> Result<BTreeSet<Cell>> {
        let before = state.clone();
        let view = self.view_of(&before);
        let mut copies = BTreeSet::new();
        let (Some(to), Some(from)) = (view.span(dst), view.span(src)) else { return Ok(copies) };
        let size = i128::from(dst.size);
        if [to, from].iter().any(|span| span.end - span.first != size) || to.of == from.of {
            return Ok(copies);
        }
        for cell in before.cells().into_iter().filter(|cell| cell.of == from.of) {
            let at = i128::from(cell.at) - from.first;
            let Ok(at_target) = u32::try_from(at + to.first) else { continue };
            if at < 0 || at + i128::from(cell.size) > size {
                continue;
            }
            let copy = Cell { of: to.of, at: at_target, size: cell.size };
            if assign_cell(state, &view, Var::Cell(copy), Var::Cell(cell))? {
                copies.insert(copy);
            }
        }
        Ok(copies)
    }

    /// Bytes have become 0: so have the members that are there.
    pub(super) fn zeroed(&self, state: &mut Relations, to: &Expr, size: &Expr) -> Result<()> {
        let before = state.clone();
        let view = self.view_of(&before);
        let (Some(span), Some(ty), Some(bytes)) =
            (view.bytes(to, size), designated_type(to), view.form(size))
        else {
            return Ok(());
        };
        let is_exact = bytes.is_constant() && span.end - span.first == bytes.low;
        let (Ok(at), Ok(size)) = (u32::try_from(span.first), u32::try_from(bytes.low)) else { return Ok(()) };
        if !is_exact {
            return Ok(());
        }
        zero_cells(self.env.program(), state, Cell { of: span.of, at, size }, ty)
    }

    /// The type of a new object, as far as a pointer says that gets its address.
    pub(super) fn allocated_type(&self, allocation: &Allocation) -> Option<Type> {
        let view = self.view();
        let holder = view.holder(&Expr::Load(allocation.dst.clone()));
        let given = self.at.function.edges.iter().filter_map(|edge| match &edge.op {
            Op::Assign(to, value) if holder.is_some() && view.holder(value) == holder => Some(to.ty),
            _ => None,
        });
        [allocation.dst.ty].into_iter().chain(given).filter_map(Type::pointee).find(is_record)
    }
}

fn is_record(ty: &Type) -> bool {
    matches!(ty.kind(), TypeKind::Record(_))
}

/// The type of what a pointer expression designates, as it is written.
fn designated_type(pointer: &Expr) -> Option<Type> {
    match pointer {
        Expr::Address(lvalue) => Some(lvalue.ty),
        Expr::Load(lvalue) => lvalue.ty.pointee(),
        Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => designated_type(arg),
        _ => None,
    }
}

/// One gets all that is known of the other, as `view` sees it. `false`: nothing is.
fn assign_cell(state: &mut Relations, view: &View<'_>, to: Var, from: Var) -> Result<bool> {
    if let Some(pointer) = view.state.pointers.get(&from).copied() {
        let place = Place {
            pointer,
            offset: view.number(Dim::Offset(from)),
            size: view.number(Dim::Size(from)),
            zero: pointer.has_zero.then(|| view.number(Dim::Zero(from))),
            filled: pointer.is_filled.then(|| view.number(Dim::Filled(from))),
        };
        point(state, to, &place)?;
        return Ok(true);
    }
    let numbers: BTreeSet<Dim> = view
        .state
        .zone
        .dims()
        .filter(|dim| dim.var() == Some(from) && matches!(dim, Dim::Value(..)))
        .collect();
    for dim in &numbers {
        set(state, &[(dim.held_by(to), &view.number(*dim))])?;
    }
    Ok(!numbers.is_empty())
}

/// What objects with static storage hold when a program begins.
pub(super) fn initial(program: &Program, globals: &BTreeSet<Name>, state: &mut Relations) {
    for global in program.globals.values() {
        let is_told = !global.constant && !globals.contains(&global.name);
        let is_known = is_told && global.defined && global.hidden.is_empty();
        let Ok(size) = u32::try_from(global.size) else { continue };
        if !is_known || size == 0 || state.cells().len() >= MOST / 2 {
            continue;
        }
        let of = Tag::Named(Object::Global(global.name));
        let all = Cell { of, at: 0, size };
        if zero_cells(program, state, all, global.ty).is_err() {
            continue;
        }
        for value in &global.init {
            let (at, bytes) = (i128::from(value.offset), WIDEST);
            state.retain_cells(|cell| cell.of != of || !cell.overlaps(at, at + bytes));
            let (ty, number) = match (value.scalar, &value.value) {
                (Scalar::Int(ty), Constant::Int(number)) if value.bits.is_none() && ty.bits <= 64 => {
                    (ty, *number)
                }
                _ => continue,
            };
            let Ok(at) = u32::try_from(value.offset) else { continue };
            let var = Var::Cell(Cell { of, at, size: u32::from(ty.bits) / 8 });
            let holds = set(state, &[(Dim::Value(var, ty), &Form::constant(number))]);
            debug_assert!(holds.is_ok(), "a number has a value");
        }
    }
}

/// The members of a structure of this type, which begins there, are 0, as far as they are in the bytes of the cell.
pub(super) fn zero_cells(program: &Program, state: &mut Relations, within: Cell, ty: Type) -> Result<()> {
    let mut members = Vec::new();
    scalars(program, ty, u64::from(within.at), &mut members);
    let end = u64::from(within.at) + u64::from(within.size);
    for (at, scalar) in members {
        let size = match scalar {
            Scalar::Int(ty) => u64::from(ty.bits) / 8,
            Scalar::Pointer => u64::from(program.pointer_bits()) / 8,
            Scalar::Float(_) => continue,
        };
        let (Ok(first), Ok(bytes)) = (u32::try_from(at), u32::try_from(size)) else { continue };
        if at + size > end {
            continue;
        }
        let cell = Cell { of: within.of, at: first, size: bytes };
        let zero = Form::constant(0);
        match scalar {
            Scalar::Int(ty) => set(state, &[(Dim::Value(Var::Cell(cell), ty), &zero)])?,
            Scalar::Pointer => point(state, Var::Cell(cell), &Place::null())?,
            Scalar::Float(_) => {}
        }
        state.holds_only(Var::Cell(cell), scalar);
    }
    Ok(())
}

/// The numbers and pointers that are members of a type, the first ones, with bytes from the start. No bit-fields, no elements of arrays.
fn scalars(program: &Program, ty: Type, at: u64, found: &mut Vec<(u64, Scalar)>) {
    if found.len() >= MEMBERS {
        return;
    }
    if let Some(scalar) = scalar_of(ty, program.data_model) {
        if !matches!(scalar, Scalar::Int(ty) if ty.bits > 64 || ty.bits % 8 != 0) {
            found.push((at, scalar));
        }
        return;
    }
    let TypeKind::Record(tag) = ty.kind() else { return };
    let types = Types { records: &program.records, model: program.data_model };
    let Some(record) = types.record(*tag) else { return };
    for field in record.fields.iter().filter(|field| field.bits.is_none()) {
        scalars(program, field.ty, at + field.offset, found);
    }
}

/// A local as a whole, which is a pointer.
pub(super) fn whole_local(function: &Function, id: LocalId) -> Lvalue {
    let local = function.local(id);
    Lvalue {
        base: Base::Local(id),
        path: Vec::new(),
        ty: local.ty,
        scalar: Some(Scalar::Pointer),
        bits: None,
        size: local.size,
    }
}
