//! Successors of a state along an edge, for any value domain. Every operation is decided here, none is forgotten.

use proofline_cfa::{Allocation, Argument, Base, Expr, LocalId, Lvalue, Object, Op, Role, Scalar};
use proofline_cpa::{EdgeContext, Facts};
use smallvec::SmallVec;

use crate::store::{
    arithmetic::{Arithmetic, Impossible},
    assume::assume,
    heap::{Count, Site, Sizes},
    model::Model,
    offsets::Offsets,
    state::State,
    update::{Update, extent},
    value::{Abstract, AbstractValue},
    view::{Place, Places, StateView, Target},
};

/// The successors along an edge; none where no execution goes on.
pub fn transfer<A: Arithmetic>(
    model: &Model<A>,
    from: &State<A::Value>,
    at: EdgeContext<'_>,
    facts: &dyn Facts,
) -> Vec<State<A::Value>> {
    let step = Step { model, at, facts, from };
    step.run().unwrap_or_default()
}

struct Step<'a, A: Arithmetic> {
    model: &'a Model<A>,
    at: EdgeContext<'a>,
    facts: &'a dyn Facts,
    from: &'a State<A::Value>,
}

type Result<T> = std::result::Result<T, Impossible>;

impl<'a, A: Arithmetic> Step<'a, A> {
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
            Op::Havoc(dst, _) => {
                let places = self.view().resolve(dst)?;
                let mut update = self.update();
                if let (Some(id), Some(scalar)) =
                    (crate::store::mentions::whole_local(self.at.function, dst), dst.scalar)
                    && let value @ Abstract::Of(_) = self.view().library_result(id, scalar)?
                {
                    assign_value(&self.view(), &mut update, dst, &places, value);
                    return Ok(vec![update.state]);
                }
                self.havoc(&mut update, dst, &places);
                update.state
            }
            Op::Clobber(values, _) => self.clobber(values.iter())?,
            Op::Call(call) => {
                let arguments = call.arguments.iter().filter_map(|argument| match argument {
                    Argument::Value(value) => Some(value),
                    Argument::Aggregate(_) => None,
                });
                let mut update = Update::new(self.model, self.at.function, &self.clobber(arguments)?);
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
            Op::HavocBytes(to, size, _) => {
                let mut update = self.update();
                update.forget(&self.view().pointees(to, Offsets::at(0), 0)?, self.upper(size)?);
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
        assign_value(&view, &mut update, dst, &places, value.clone());
        update.define(dst, expr, value.as_ref());
        if dst.scalar == Some(Scalar::Pointer)
            && let Some(to) = crate::store::mentions::whole_local(self.at.function, dst)
            && let Some(from) = crate::store::mentions::copied_local(self.at.function, expr)
        {
            update.state.heap.copy_guard(from, to);
        }
        Ok(update.state)
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
            None => update.forget(places, (dst.size > 0).then_some(dst.size)),
        }
    }

    /// Whatever external code can reach may have changed.
    fn clobber<'e>(&self, values: impl Iterator<Item = &'e Expr>) -> Result<State<A::Value>> {
        let view = self.view();
        let mut update = self.update();
        for object in self.model.env.escaped() {
            update.state.memory.forget(*object);
        }
        for site in self.model.env.allocated_outside() {
            update.state.heap.change(*site, |site| {
                *site = Site { sizes: Sizes::Between(0, u64::MAX), ..Site::new(Count::Many) };
            });
        }
        // Unknown code may free what it knows.
        let escaped = self.model.env.escaped();
        update.state.heap.change_all(|object, site| site.dangles |= escaped.contains(&object));
        for value in values {
            let known = view.eval(value)?.known().and_then(|value| self.model.arithmetic.addresses(&value));
            for (object, _) in known.into_iter().flatten() {
                update.state.memory.forget(object);
            }
            for object in &self.model.env.targets(self.at.function.name, value).objects {
                update.state.memory.forget(*object);
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
        let known = value.known().and_then(|value| {
            Some((
                self.model.arithmetic.addresses(&value)?,
                self.model.arithmetic.truth(&value) == Some(true),
            ))
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
                for object in self.model.env.freeable(self.at.function.name, pointer) {
                    update.end(object, false);
                }
            }
        }
        Ok(update.state)
    }

    /// Whether the pointer is null where the site has no object.
    fn is_guard(&self, pointer: &Expr, object: Object) -> bool {
        let local = crate::store::mentions::copied_local(self.at.function, pointer);
        local.is_some_and(|id| self.from.heap.site(object).guards.contains(&id))
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
            None => update.forget(&dst, self.upper(size)?),
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
            (Some(_), _) => update.forget(&dst, exact),
            (None, _) => update.forget(&dst, self.upper(size)?),
        }
        Ok(update.state)
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
            let mut cells =
                view.region(place.target).map_or_else(Vec::new, |region| region.slice(start, end));
            for cell in &mut cells {
                cell.start -= start;
            }
            update.paste(to, size, cells);
        }
        Some(_) | None => update.forget(to, size),
    }
}

/// One place.
pub fn place(target: Target) -> Places {
    Places { list: SmallVec::from_elem(Place { target, offsets: Offsets::at(0) }, 1), elsewhere: false }
}
