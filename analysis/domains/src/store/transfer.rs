//! Successors of a state along an edge, for any value domain. Every operation is decided here, none is forgotten.

use proofline_cfa::{
    Allocation, Argument, Base, BinaryOp, Cause, Expr, Function, LocalId, Lvalue, Object, Op, Role, Scalar,
    Step, copied_character, texts,
};
use proofline_cpa::{EdgeContext, Facts};
use smallvec::SmallVec;
use std::sync::Arc;

use crate::store::{
    arithmetic::{Arithmetic, Impossible, Objects},
    assume::assume,
    filled::Filled,
    heap::{Count, Site, Sizes},
    model::Model,
    offsets::Offsets,
    region::Ends,
    state::State,
    update::{Update, extent},
    value::{Abstract, AbstractValue},
    view::{Place, Places, StateView, Target, may_lead_to},
};

/// The successors along an edge; none where no execution goes on.
pub fn transfer<A: Arithmetic>(
    model: &Model<A>,
    from: &State<A::Value>,
    at: EdgeContext<'_>,
    facts: &dyn Facts,
) -> Vec<State<A::Value>> {
    let successor = Successor { model, at, facts, from };
    successor.run().unwrap_or_default()
}

struct Successor<'a, A: Arithmetic> {
    model: &'a Model<A>,
    at: EdgeContext<'a>,
    facts: &'a dyn Facts,
    from: &'a State<A::Value>,
}

type Result<T> = std::result::Result<T, Impossible>;

impl<'a, A: Arithmetic> Successor<'a, A> {
    fn view(&self) -> StateView<'a, A> {
        StateView::new(self.model, self.at.function, self.from, self.facts)
    }

    fn update(&self) -> Update<'a, A> {
        Update::new(self.model, self.at.function, self.from)
    }

    fn run(&self) -> Result<Vec<State<A::Value>>> {
        let state = match &self.at.edge.op {
            Op::Skip => self.from.clone(),
            Op::Assume(condition) => {
                assume(self.model, self.at.function, self.from, condition, true, self.facts)?
            }
            Op::Assign(dst, value) => self.assign(dst, value)?,
            Op::Copy(dst, src) => self.copy(dst, src)?,
            Op::Havoc(Lvalue { base: Base::Local(id), path, .. }, Cause::Indeterminate)
                if path.is_empty() =>
            {
                let mut update = self.update();
                update.forget_all(self.target(*id));
                update.state
            }
            Op::Havoc(dst, cause) => {
                let places = self.view().resolve(dst)?;
                let mut update = self.update();
                if let (Some(id), Some(scalar)) =
                    (crate::store::mentions::whole_local(self.at.function, dst), dst.scalar)
                    && let value @ Abstract::Of(_) = self.view().library_result(id, scalar)?
                {
                    assign_value(&self.view(), &mut update, dst, &places, value);
                    return Ok(vec![update.state]);
                }
                if matches!(cause, Cause::Text(_))
                    && let Some(text) = self.view().text(texts::LIBRARY)
                {
                    assign_value(&self.view(), &mut update, dst, &places, text);
                    return Ok(vec![update.state]);
                }
                self.havoc(&mut update, dst, &places);
                self.fill(&mut update, dst, &places)?;
                update.state
            }
            Op::Clobber(values, cause) => self.clobber(values.iter(), !matches!(cause, Cause::Keeping(_)))?,
            Op::Call(call) => {
                let arguments = call.arguments.iter().filter_map(|argument| match argument {
                    Argument::Value(value) => Some(value),
                    Argument::Aggregate(_) => None,
                });
                let mut update = Update::new(self.model, self.at.function, &self.clobber(arguments, true)?);
                if let Some(dst) = &call.dst {
                    let places = self.view().resolve(dst)?;
                    self.havoc(&mut update, dst, &places);
                }
                update.state
            }
            Op::Allocate(allocation) => return self.allocate(allocation),
            Op::Free(pointer) => self.free(pointer)?,
            Op::CopyBytes(to, from, size) => self.copy_bytes(to, from, size)?,
            Op::FillBytes(to, byte, size) => self.fill_bytes(to, byte, size)?,
            Op::HavocBytes(to, size, cause) => {
                let mut update = self.update();
                let places = self.view().pointees(to, Offsets::at(0), 0)?;
                let exact = self.exact(size)?.filter(|_| !matches!(cause, Cause::Within(_)));
                let strong = exact.is_some() && self.view().is_strong(&places);
                update.scramble(&places, strong, exact.or(self.upper(size)?));
                if !matches!(cause, Cause::Within(_)) {
                    self.fill_counted(&mut update, size, &places)?;
                }
                update.state
            }
            Op::Begin(id) | Op::End(id) => {
                let mut update = self.update();
                let target = self.target(*id);
                update.forget_all(target);
                if let Target::Object(object) = target {
                    update.state.retire_locals(&|ended| ended == object);
                }
                if self.at.function.local(*id).role == Role::VariableArray {
                    let arrays = self.arrays(*id);
                    update.state.retire_locals(&|ended| arrays.contains(&ended));
                }
                update.state
            }
        };
        Ok(vec![state])
    }

    /// What allocates the array of variable length whose address the local holds.
    fn arrays(&self, id: LocalId) -> Vec<Object> {
        let function = self.at.function;
        let sites = function.edges.iter().filter_map(|edge| match &edge.op {
            Op::Allocate(allocation) if allocation.dst.base == Base::Local(id) => Some(allocation.site),
            _ => None,
        });
        sites.map(|site| Object::Heap(function.name, site)).collect()
    }

    fn target(&self, id: LocalId) -> Target {
        if self.at.function.local(id).address_taken {
            Target::Object(Object::Local(self.at.function.name, id))
        } else {
            Target::Local(id)
        }
    }

    fn assign(&self, dst: &Lvalue, expr: &Expr) -> Result<State<A::Value>> {
        let view = self.view();
        let value = view.eval(expr)?;
        let mut update = self.update();
        let places = view.resolve(dst)?;
        if value.is_any()
            && let Some(from) = copied_character(self.at.function, dst, expr)
            && !view.places_have_values(&view.resolve(from)?, Some(1))
        {
            update.forget(&places, Some(1));
            return Ok(update.state);
        }
        assign_value(&view, &mut update, dst, &places, value.clone());
        update.define(dst, expr, value.as_ref());
        self.count_on(&mut update, dst, expr);
        self.fill(&mut update, dst, &places)?;
        if let Some(to) = crate::store::mentions::whole_local(self.at.function, dst)
            && let Some(from) = crate::store::mentions::copied_local(self.at.function, expr)
            && dst.scalar == Some(expr.scalar())
        {
            update.state.copy_guarded(from, to);
        }
        if dst.scalar == Some(Scalar::Pointer)
            && let (Some(from), Some(to)) = (view.copied_guard(expr), view.guard(dst))
        {
            update.state.heap.copy_guard(from, to);
        }
        Ok(update.state)
    }

    /// After `i = j + c` the elements before `i` have values as far as those before `j` had.
    fn count_on(&self, update: &mut Update<'_, A>, dst: &Lvalue, expr: &Expr) {
        let old = &self.from.frame.filled;
        if old.is_empty() {
            return;
        }
        let Some(to) = crate::store::mentions::whole_local(self.at.function, dst) else { return };
        let Some((by, more)) = plus(self.at.function, expr) else { return };
        let facts = old.iter().filter(|fact| fact.by == by);
        let facts = facts.map(|fact| Filled { by: to, ahead: fact.ahead.saturating_sub(more), ..*fact });
        facts.for_each(|fact| Arc::make_mut(&mut update.state.frame).fill(fact));
    }

    /// After an element was written: if those before it have values, one more has.
    fn fill(&self, update: &mut Update<'_, A>, dst: &Lvalue, places: &Places) -> Result<()> {
        let view = self.view();
        let ([place], [Step::Index { index, stride, .. }], Some(access)) =
            (&places.list[..], &dst.path[..], view.access(dst))
        else {
            return Ok(());
        };
        let (Some((by, at)), Ok(stride)) = (plus(self.at.function, index), i64::try_from(*stride)) else {
            return Ok(());
        };
        let is_single = match place.target {
            Target::Local(_) => true,
            Target::Object(object) => view.is_single(object),
        };
        let is_whole = access.start == 0 && stride.checked_mul(8) == Some(access.len);
        if !is_single
            || places.elsewhere
            || !is_whole
            || !self.model.tracks_values(self.at.function, place.target)
        {
            return Ok(());
        }
        let start = match &dst.base {
            Base::Local(_) | Base::Global(_) => Some(0),
            Base::Deref(pointer, _) => match &view.pointees(pointer, Offsets::at(0), 0)?.list[..] {
                [base] => base.offsets.single(),
                _ => None,
            },
        };
        let Some(start) = start.filter(|start| *start >= 0) else { return Ok(()) };
        let before = Filled { target: place.target, start, stride, by, ahead: at };
        if self.from.is_filled(&before) {
            let frame = Arc::make_mut(&mut update.state.frame);
            frame.fill(Filled { ahead: at + 1, ..before });
            // `a[i++] = x` writes to where `i` was.
            for (id, expr) in frame.definitions.clone() {
                if let Some((_, more)) = plus(self.at.function, &expr).filter(|(of, _)| *of == by) {
                    frame.fill(Filled { by: id, ahead: at + 1 - more, ..before });
                }
            }
        }
        Ok(())
    }

    /// After as many bytes, or elements, as a local says were written: they have values.
    fn fill_counted(&self, update: &mut Update<'_, A>, size: &Expr, places: &Places) -> Result<()> {
        let view = self.view();
        let [place] = &places.list[..] else { return Ok(()) };
        let (Some((by, stride)), Some(start)) = (counted(self.at.function, size), place.offsets.single())
        else {
            return Ok(());
        };
        // A product that wraps around is less than it says.
        if stride > 1 && self.upper(size)?.is_none() {
            return Ok(());
        }
        let is_single = match place.target {
            Target::Local(_) => true,
            Target::Object(object) => view.is_single(object),
        };
        if is_single
            && !places.elsewhere
            && start >= 0
            && self.model.tracks_values(self.at.function, place.target)
        {
            let fact = Filled { target: place.target, start, stride, by, ahead: 0 };
            Arc::make_mut(&mut update.state.frame).fill(fact);
        }
        Ok(())
    }

    fn copy(&self, dst: &Lvalue, src: &Lvalue) -> Result<State<A::Value>> {
        let view = self.view();
        let (to, from) = (view.resolve(dst)?, view.resolve(src)?);
        let mut update = self.update();
        copy_places(&view, &mut update, &to, &from, (dst.size > 0).then_some(dst.size));
        Ok(update.state)
    }

    fn havoc(&self, update: &mut Update<'_, A>, dst: &Lvalue, places: &Places) {
        match self.view().access(dst) {
            // A bit-field's neighbours keep their values.
            Some(access) => update.write(places, self.view().is_strong(places), access, Abstract::Any),
            None => {
                update.scramble(places, self.view().is_strong(places), (dst.size > 0).then_some(dst.size))
            }
        }
    }

    /// Whatever external code can reach may have changed.
    fn clobber<'e>(&self, values: impl Iterator<Item = &'e Expr>, frees: bool) -> Result<State<A::Value>> {
        let view = self.view();
        let mut update = self.update();
        for object in self.model.env.escaped() {
            update.scramble_all(*object);
        }
        let escaped = self.model.env.escaped();
        // Of a library, what a function loses that code outside calls is its own matter, and of its objects that it keeps to itself nobody knows.
        let is_library = self.model.entry().is_library();
        for site in
            self.model.env.allocated_outside().iter().filter(|site| !is_library || escaped.contains(site))
        {
            update.state.heap.forget_guard(Target::Object(*site), i64::MIN, i64::MAX);
            update.state.heap.change(*site, |site| {
                let Site { dangles, freed, .. } = *site;
                let sizes = Sizes::Between(0, u64::MAX);
                *site = Site { sizes, dangles, freed, ..Site::new(Count::Many) };
            });
        }
        // Unknown code may free what it knows.
        if frees {
            update.state.heap.change_all(|object, site| site.dangles |= escaped.contains(&object));
        }
        for value in values {
            let known = view.eval(value)?.known().and_then(|value| self.model.arithmetic.addresses(&value));
            let known = known.unwrap_or_default();
            known.iter().for_each(|(object, _)| update.scramble_all(*object));
            for object in &self.model.env.targets(self.at.function.name, value).objects {
                update.scramble_all(*object);
            }
            // What is handed to unknown code is assumed to get values there.
            if let [(object, _)] = known[..]
                && view.is_single(object)
                && let Some((_, size)) = view.sizes(object).filter(|(_, size)| *size < 1 << 50)
                && self.model.tracks_values(self.at.function, Target::Object(object))
            {
                update.modify(Target::Object(object), |region| region.write_any(0, size as i64 * 8));
            }
        }
        update.invalidate_all_memory();
        Ok(update.state)
    }

    fn allocate(&self, allocation: &Allocation) -> Result<Vec<State<A::Value>>> {
        let view = self.view();
        let site = Object::Heap(self.at.function.name, allocation.site);
        let size = view.eval(&allocation.size)?.known().and_then(|size| self.model.arithmetic.range(&size));
        let dst = view.resolve(&allocation.dst)?;
        let mut update = self.update();
        update.invalidate_memory(Some(site));
        update.state.unfill(&|fact| fact.target == Target::Object(site));
        update.state.unguard(&|known| known.target == Target::Object(site));
        update.state.heap.forget_guard(Target::Object(site), i64::MIN, i64::MAX);
        let first = update.state.heap.count(site) == Count::Zero;
        let sizes = sizes(size);
        update.state.heap.change(site, |site| {
            site.count = if first { Count::One } else { Count::Many };
            // Of objects that are gone no pointer is known, unless one may dangle.
            site.sizes = if first && !site.dangles { sizes } else { site.sizes.join(sizes) };
            site.guards.clear();
        });
        let size = match size {
            Some((lo, hi)) if lo == hi => u64::try_from(lo).ok().filter(|size| *size < 1 << 50),
            Some(_) | None => None,
        };
        match size {
            Some(size) if allocation.zeroed && first => {
                update.modify(Target::Object(site), |region| {
                    region.forget(i64::MIN, i64::MAX);
                    region.write_zeros(0, size as i64 * 8);
                });
            }
            // One more object: what is known must hold of all of them, and of this one only zeros can be.
            Some(size) if allocation.zeroed => {
                let zeros = crate::store::region::Region::zeroed(size as i64 * 8);
                update.modify(Target::Object(site), |region| {
                    *region =
                        region.combine(&zeros, &mut |scalar, old: &A::Value, new| old.join(new, scalar));
                });
            }
            Some(_) | None => update.state.memory.forget(site),
        }
        let mut results = Vec::new();
        let pointer = self.model.arithmetic.address(site, Offsets::at(0));
        assign_value(&view, &mut update, &allocation.dst, &dst, pointer);
        results.push(update.state);
        if allocation.may_fail {
            let mut failed = self.update();
            assign_value(
                &view,
                &mut failed,
                &allocation.dst,
                &dst,
                Abstract::Of(self.model.arithmetic.null()),
            );
            results.push(failed.state);
        }
        Ok(results)
    }

    fn free(&self, pointer: &Expr) -> Result<State<A::Value>> {
        let value = self.view().eval(pointer)?;
        let known = value.as_ref().known().and_then(|value| {
            Some((self.model.arithmetic.addresses(value)?, self.model.arithmetic.truth(value) == Some(true)))
        });
        let mut update = self.update();
        match known {
            Some((addresses, is_not_null)) => match addresses[..] {
                [] => {}
                [(object @ Object::Heap(..), _)] if update.state.heap.count(object) == Count::One => {
                    // Where there is no object the pointer is null.
                    let is_certain = is_not_null || self.is_guard(pointer, object);
                    update.end(object, is_certain);
                }
                _ => addresses.iter().for_each(|(object, _)| update.end(*object, false)),
            },
            None => {
                let newer = value.as_ref().known().and_then(|value| self.model.arithmetic.newer(value));
                let freeable = self.model.env.freeable(self.at.function.name, pointer);
                for object in
                    freeable.into_iter().filter(|object| may_lead_to(&self.model.env, &newer, *object))
                {
                    update.end(object, false);
                }
            }
        }
        Ok(update.state)
    }

    /// Whether the pointer is null where the site has no object.
    fn is_guard(&self, pointer: &Expr, object: Object) -> bool {
        let guard = self.view().copied_guard(pointer);
        guard.is_some_and(|guard| self.from.heap.site(object).guards.contains(&guard))
    }

    /// The size, if it is known.
    fn exact(&self, size: &Expr) -> Result<Option<u64>> {
        let range = self.view().eval(size)?.known().and_then(|size| self.model.arithmetic.range(&size));
        Ok(range
            .filter(|(lo, hi)| lo == hi)
            .and_then(|(lo, _)| u64::try_from(lo).ok())
            .filter(|size| *size < 1 << 50))
    }

    /// The largest possible size.
    fn upper(&self, size: &Expr) -> Result<Option<u64>> {
        let range = self.view().eval(size)?.known().and_then(|size| self.model.arithmetic.range(&size));
        Ok(range.and_then(|(_, hi)| u64::try_from(hi).ok()).filter(|size| *size < 1 << 50))
    }

    fn copy_bytes(&self, to: &Expr, from: &Expr, size: &Expr) -> Result<State<A::Value>> {
        let view = self.view();
        let mut update = self.update();
        let exact = self.exact(size)?;
        if exact == Some(0) {
            return Ok(update.state);
        }
        let dst = view.pointees(to, Offsets::at(0), exact.unwrap_or(0))?;
        match exact {
            Some(_) => {
                let src = view.pointees(from, Offsets::at(0), exact.unwrap_or(0))?;
                copy_places(&view, &mut update, &dst, &src, exact);
            }
            None => {
                let upper = self.upper(size)?;
                let src = view.pointees(from, Offsets::at(0), upper.unwrap_or(0))?;
                match view.places_have_values(&src, upper) {
                    true => update.scramble(&dst, false, upper),
                    false => update.forget(&dst, upper),
                }
            }
        }
        Ok(update.state)
    }

    fn fill_bytes(&self, to: &Expr, byte: &Expr, size: &Expr) -> Result<State<A::Value>> {
        let view = self.view();
        let mut update = self.update();
        let exact = self.exact(size)?;
        if exact == Some(0) {
            return Ok(update.state);
        }
        let dst = view.pointees(to, Offsets::at(0), exact.unwrap_or(0))?;
        let value = view.eval(byte)?.known().and_then(|byte| self.model.arithmetic.range(&byte));
        let byte_type = proofline_cfa::IntType { bits: 8, signed: false };
        let byte = match value {
            Some((lo, hi)) if lo == hi => self.model.arithmetic.int(byte_type, byte_type.wrap(lo)),
            Some(_) | None => Abstract::Any,
        };
        match (exact, byte) {
            (Some(size), Abstract::Of(byte)) if view.is_strong(&dst) => update.fill(&dst, size, byte),
            (Some(size), byte) => {
                update.scramble(&dst, view.is_strong(&dst), exact);
                let is_zero = matches!(byte, Abstract::Of(byte) if byte.is_zero());
                if is_zero && matches!(size, 1 | 2 | 4) {
                    update.end_strings(&dst, size as i64 * 8);
                }
            }
            (None, byte) => {
                update.scramble(&dst, false, self.upper(size)?);
                let least = view.eval(size)?.known().and_then(|size| self.model.arithmetic.range(&size));
                let is_zero = matches!(byte, Abstract::Of(byte) if byte.is_zero());
                if is_zero && least.is_some_and(|(least, _)| least > 0) {
                    update.end_strings(&dst, 8);
                }
            }
        }
        Ok(update.state)
    }
}

/// `i`, or `i + c` with a small `c`: the local and the number. Where the sum wraps around it is smaller than that.
fn plus(function: &Function, expr: &Expr) -> Option<(LocalId, i64)> {
    match expr {
        Expr::Load(lvalue) => {
            let id = crate::store::mentions::whole_local(function, lvalue)?;
            matches!(lvalue.scalar, Some(Scalar::Int(_))).then_some((id, 0))
        }
        Expr::Binary(BinaryOp::Add, lhs, rhs, _) => match (&**lhs, &**rhs) {
            (Expr::Load(_), Expr::Int(more @ 0..=64, _)) => Some((plus(function, lhs)?.0, *more as i64)),
            _ => None,
        },
        _ => None,
    }
}

/// `n`, or `n * c`, whatever `n` was converted to: the local, which is not larger than the number, and `c`.
fn counted(function: &Function, expr: &Expr) -> Option<(LocalId, i64)> {
    match expr {
        Expr::Load(_) => plus(function, expr).map(|(id, _)| (id, 1)),
        Expr::Cast(Scalar::Int(to), inner, _) => {
            // Where it is negative there is nothing to say; otherwise the wider type has the number.
            let is_kept = inner.int_type().is_some_and(|from| to.bits >= from.bits);
            if is_kept { counted(function, inner).filter(|(_, stride)| *stride == 1) } else { None }
        }
        Expr::Binary(BinaryOp::Mul, lhs, rhs, _) => match (counted(function, lhs)?, &**rhs) {
            ((by, 1), Expr::Int(stride @ 1..=4096, _)) => Some((by, *stride as i64)),
            _ => None,
        },
        _ => None,
    }
}

/// Bounds of the size of a new object.
fn sizes(size: Option<(i128, i128)>) -> Sizes {
    let number = |size: i128, other: u64| u64::try_from(size).unwrap_or(other);
    match size {
        Some((lo, hi)) => Sizes::Between(number(lo, 0), number(hi, u64::MAX)),
        None => Sizes::Between(0, u64::MAX),
    }
}

/// Assigns a scalar; a bit-field keeps the low bits.
pub fn assign_value<A: Arithmetic>(
    view: &StateView<'_, A>,
    update: &mut Update<'_, A>,
    dst: &Lvalue,
    places: &Places,
    value: Abstract<A::Value>,
) {
    let Some(access) = view.access(dst) else {
        update.forget(places, (dst.size > 0).then_some(dst.size));
        return;
    };
    let value = match (value, dst.bits, dst.scalar) {
        (Abstract::Of(value), Some(bits), Some(Scalar::Int(ty))) => {
            let field = proofline_cfa::IntType { bits: bits.width, signed: ty.signed };
            view.model.arithmetic.truncate(field, &value)
        }
        (value, _, _) => value,
    };
    update.write(places, view.is_strong(places), access, value);
}

/// Copies bytes; `None`: up to the objects' ends.
pub fn copy_places<A: Arithmetic>(
    view: &StateView<'_, A>,
    update: &mut Update<'_, A>,
    to: &Places,
    from: &Places,
    size: Option<u64>,
) {
    let source = match (&from.list[..], size) {
        ([place], Some(size)) if !from.elsewhere && place.offsets.single().is_some() => Some((place, size)),
        _ => None,
    };
    match source {
        Some((place, size)) if view.is_strong(to) => {
            let (start, end) = extent(place, Some(size));
            let mut cells = view.cells_in(place.target, start, end);
            for cell in &mut cells {
                cell.start -= start;
            }
            let ends = view.state.ends_of(place.target);
            let ends = ends.into_iter().find(|ends| ends.first >= start && ends.last + ends.item <= end);
            update.paste(to, size, cells);
            if let (Some(ends), [target]) = (ends, &to.list[..])
                && let Some(offset) = target.offsets.single()
            {
                let by = offset * 8 - start;
                let moved = Ends { first: ends.first + by, last: ends.last + by, ..ends };
                update.modify(target.target, |region| region.set_ends(Some(moved)));
            }
        }
        Some(_) | None if view.places_have_values(from, size) => {
            update.scramble(to, view.is_strong(to), size);
        }
        Some(_) | None => update.forget(to, size),
    }
}

/// One place.
pub fn place(target: Target) -> Places {
    Places { list: SmallVec::from_elem(Place { target, offsets: Offsets::at(0) }, 1), elsewhere: false }
}
