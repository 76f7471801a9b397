//! Changes of a state: strong and weak writes, and what they invalidate. Knows places, not operations.

use std::sync::Arc;

use proofline_cfa::{Expr, Function, LocalId, Lvalue, Object};

use crate::store::{
    arithmetic::Arithmetic,
    heap::{Count, Sizes},
    mentions,
    model::Model,
    offsets::Offsets,
    region::{Access, Cell, Ends, Region},
    state::State,
    value::{Abstract, AbstractValue},
    view::{Place, Places, Target},
};

/// Definitions larger than this are not kept.
const DEFINITION_SIZE: u32 = 24;

/// A state that is being changed.
pub struct Update<'m, A: Arithmetic> {
    /// The analysis.
    pub model: &'m Model<A>,
    /// Of the innermost frame.
    pub function: &'m Function,
    /// The state.
    pub state: State<A::Value>,
}

impl<'m, A: Arithmetic> Update<'m, A> {
    /// Starts from a copy of a state.
    pub fn new(model: &'m Model<A>, function: &'m Function, state: &State<A::Value>) -> Update<'m, A> {
        Update { model, function, state: state.clone() }
    }

    /// Changes what is known of one target, without invalidating anything else.
    pub fn modify(&mut self, target: Target, change: impl FnOnce(&mut Region<A::Value>)) {
        let unknown = || match self.model.tracks_values(self.function, target) {
            true => Region::tracking(),
            false => Region::unknown(),
        };
        match target {
            Target::Local(id) => {
                let mut region = self.state.frame.local(id).map_or_else(unknown, |region| (**region).clone());
                change(&mut region);
                Arc::make_mut(&mut self.state.frame).set_local(id, region);
            }
            Target::Object(Object::Global(name)) if self.model.constants.contains_key(&name) => {}
            Target::Object(object) => {
                let mut region =
                    self.state.memory.get(object).map_or_else(unknown, |region| (**region).clone());
                change(&mut region);
                self.state.memory.set(object, region);
            }
        }
    }

    /// Writes a scalar to one of the places.
    pub fn write(&mut self, places: &Places, strong: bool, access: Access, value: Abstract<A::Value>) {
        self.invalidate(places, |place| {
            let Offsets { lo, hi, .. } = place.offsets;
            let first = lo.saturating_mul(8).saturating_add(access.start);
            (first, hi.saturating_mul(8).saturating_add(access.start).saturating_add(access.len))
        });
        let is_one = self.is_one(places);
        for place in &places.list {
            match place.offsets.single() {
                Some(offset) if strong => {
                    let at = access.at(offset * 8 + access.start);
                    let value = value.clone();
                    self.modify(place.target, |region| region.write(at, value));
                }
                _ => {
                    if self.is_known(place.target) {
                        let value = value.as_ref();
                        self.modify(place.target, |region| {
                            region.write_somewhere(place.offsets, access, value)
                        });
                    }
                    if let (true, Abstract::Of(value)) = (is_one, &value)
                        && value.is_zero()
                    {
                        self.end_string(place, access.start, access.len);
                    }
                }
            }
        }
    }

    /// Forgets `size` bytes at the places; `None`: up to the object's end.
    pub fn forget(&mut self, places: &Places, size: Option<u64>) {
        self.invalidate(places, |place| extent(place, size));
        self.copied(places);
        for place in &places.list {
            self.state.unfill(&|fact| fact.target == place.target);
            self.state.unguard(&|known| known.target == place.target);
            if self.is_known(place.target) {
                let (from, to) = extent(place, size);
                self.modify(place.target, |region| region.forget(from, to));
            }
        }
    }

    /// `size` bytes at the places (`None`: up to the object's end) may have changed to anything: those that had a value still have one. Of
    /// a place that is exactly known (`strong`) all of them have one now.
    pub fn scramble(&mut self, places: &Places, strong: bool, size: Option<u64>) {
        self.invalidate(places, |place| extent(place, size));
        for place in &places.list {
            let (from, to) = extent(place, size);
            if strong && size.is_some() {
                self.modify(place.target, |region| region.write_any(from, to));
            } else if self.is_known(place.target) {
                self.modify(place.target, |region| region.scramble(from, to));
            }
        }
    }

    /// All bytes of an object may have changed to anything; those that had a value still have one. Invalidates nothing.
    pub fn scramble_all(&mut self, object: Object) {
        self.state.unend(Target::Object(object));
        self.state.heap.forget_guard(Target::Object(object), i64::MIN, i64::MAX);
        match self.state.memory.get(object) {
            Some(region) if region.tracks() => {
                self.modify(Target::Object(object), |region| region.scramble(i64::MIN, i64::MAX));
            }
            Some(_) => self.state.memory.forget(object),
            None => {}
        }
    }

    /// Replaces `size` bytes at a place that is exactly known by cells whose positions count from the place.
    pub fn paste(&mut self, places: &Places, size: u64, cells: Vec<Cell<A::Value>>) {
        self.invalidate(places, |place| extent(place, Some(size)));
        if !is_whole(&cells, size) {
            self.copied(places);
        }
        for place in &places.list {
            let (from, to) = extent(place, Some(size));
            self.state.unfill(&|fact| fact.target == place.target);
            self.state.unguard(&|known| known.target == place.target);
            let moved = cells.iter().map(|cell| Cell { start: cell.start + from, ..cell.clone() });
            self.modify(place.target, |region| region.replace(from, to, moved));
        }
    }

    /// Bytes that need not have a value were copied there.
    fn copied(&mut self, places: &Places) {
        let is_kept = |place: &Place| {
            matches!(place.target, Target::Local(_)) || self.model.tracks_values(self.function, place.target)
        };
        if self.model.asks_for_values() && (places.elsewhere || !places.list.iter().all(is_kept)) {
            self.state.heap.copied = true;
        }
    }

    /// Replaces `size` bytes at a place that is exactly known by copies of a byte.
    pub fn fill(&mut self, places: &Places, size: u64, byte: A::Value) {
        use proofline_cfa::{IntType, Scalar};
        self.invalidate(places, |place| extent(place, Some(size)));
        for place in &places.list {
            let (from, to) = extent(place, Some(size));
            let scalar = Scalar::Int(IntType { bits: 8, signed: false });
            self.modify(place.target, |region| match byte.is_zero() {
                true => region.write_zeros(from, to),
                false => region.write_bytes(from, to, scalar, byte.clone()),
            });
        }
    }

    /// Whether it is one object, and there is only one of that name.
    fn is_one(&self, places: &Places) -> bool {
        let [place] = &places.list[..] else { return false };
        !places.elsewhere
            && match place.target {
                Target::Local(_) => true,
                Target::Object(object @ Object::Heap(..)) => self.state.heap.count(object) == Count::One,
                Target::Object(object) => self.model.env.is_single(object),
            }
    }

    /// At some of the offsets of a place in the one object a character of so many bits is 0.
    pub fn end_string(&mut self, place: &Place, start: i64, item: i64) {
        let Offsets { lo, hi, step } = place.offsets;
        let bits = |bytes: i64| Some(bytes.checked_mul(8)? + start);
        let (Some(first), Some(last)) = (bits(lo), bits(hi)) else { return };
        let is_aligned = step as i64 * 8 % item == 0 && (last - first) % item == 0;
        if item % 8 == 0 && is_aligned && first >= 0 && last - first < 1 << 30 {
            let ends = Ends { first, last, item };
            self.modify(place.target, |region| {
                if !region.is_ended(&ends) {
                    region.set_ends(Some(ends));
                }
            });
        }
    }

    /// The same of a pointer to one of the places, where a write of zeros was.
    pub fn end_strings(&mut self, places: &Places, item: i64) {
        if let (true, [place]) = (self.is_one(places), &places.list[..]) {
            self.end_string(place, 0, item);
        }
    }

    fn is_known(&self, target: Target) -> bool {
        match target {
            Target::Local(id) => self.state.frame.local(id).is_some(),
            Target::Object(object) => self.state.memory.get(object).is_some(),
        }
    }

    /// Drops definitions that depend on what is written, and guards that are in those bits of the places.
    fn invalidate(&mut self, places: &Places, bits: impl Fn(&Place) -> (i64, i64)) {
        for place in &places.list {
            self.state.unend(place.target);
            let (from, to) = bits(place);
            self.state.heap.forget_guard(place.target, from, to);
            match place.target {
                Target::Local(id) => self.invalidate_local(id),
                Target::Object(object) => self.invalidate_memory(Some(object)),
            }
        }
        if places.elsewhere {
            self.invalidate_memory(None);
        }
    }

    /// Ends the life of an object of a site; `is_certain`: of the only one there is.
    pub fn end(&mut self, object: Object, is_certain: bool) {
        if !matches!(object, Object::Heap(..)) {
            return;
        }
        self.invalidate_memory(Some(object));
        self.state.unfill(&|fact| fact.target == Target::Object(object));
        self.state.unguard(&|known| known.target == Target::Object(object));
        self.state.heap.forget_guard(Target::Object(object), i64::MIN, i64::MAX);
        if is_certain {
            self.state.memory.forget(object);
            self.state.retire(&|ended| ended == object);
            self.state.heap.change(object, |site| {
                (site.count, site.sizes, site.freed) = (Count::Zero, Sizes::None, true);
                site.guards.clear();
            });
        } else {
            self.state.heap.change(object, |site| {
                site.dangles = true;
                site.guards.clear();
            });
        }
    }

    /// Drops definitions of a local and those that read it.
    pub fn invalidate_local(&mut self, id: LocalId) {
        self.state.conclude(&|fact| fact.by == id);
        self.state.conclude_guarded(&|known| known.by == id);
        self.retain_definitions(|local, expr| local != id && !mentions::reads_local(expr, id));
    }

    /// Drops definitions that may read an object (`None`: memory without a name).
    pub fn invalidate_memory(&mut self, object: Option<Object>) {
        let function = self.function;
        self.retain_definitions(|_, expr| {
            let reads = mentions::memory_reads(function, expr);
            !reads.through_pointer && !object.is_some_and(|object| reads.objects.contains(&object))
        });
    }

    /// Drops definitions that read any memory.
    pub fn invalidate_all_memory(&mut self) {
        let function = self.function;
        self.retain_definitions(|_, expr| mentions::memory_reads(function, expr).is_empty());
    }

    fn retain_definitions(&mut self, keep: impl Fn(LocalId, &Expr) -> bool) {
        if self.state.frame.definitions.iter().any(|(id, expr)| !keep(*id, expr)) {
            Arc::make_mut(&mut self.state.frame).definitions.retain(|(id, expr)| keep(*id, expr));
        }
    }

    /// After `lvalue := expr`: remembers the equality if it is worth it.
    pub fn define(&mut self, lvalue: &Lvalue, expr: &Expr, value: Abstract<&A::Value>) {
        let Some(id) = mentions::whole_local(self.function, lvalue) else { return };
        let mut expr = expr;
        // What a temporary stands for says more than the temporary, which dies soon.
        let definition;
        if let Expr::Load(source) = expr
            && let Some(source) = mentions::whole_local(self.function, source)
            && let Some(known) = self.state.frame.definition(source)
        {
            definition = known.clone();
            expr = &definition;
        }
        let (size, reads) = mentions::size_and_reads(expr);
        if !reads
            || size > DEFINITION_SIZE
            || mentions::reads_local(expr, id)
            || !self.model.arithmetic.keeps_definition(self.function, id, expr, value)
        {
            return;
        }
        let expr = Arc::new(expr.clone());
        Arc::make_mut(&mut self.state.frame).define(id, expr);
    }

    /// Forgets an object or a local.
    pub fn forget_all(&mut self, target: Target) {
        self.state.unfill(&|fact| fact.target == target);
        self.state.unguard(&|known| known.target == target);
        self.state.heap.forget_guard(target, i64::MIN, i64::MAX);
        match target {
            Target::Local(id) => {
                self.invalidate_local(id);
                if self.state.frame.local(id).is_some() {
                    Arc::make_mut(&mut self.state.frame).set_local(id, Region::unknown());
                }
            }
            Target::Object(object) => {
                self.invalidate_memory(Some(object));
                self.state.memory.forget(object);
            }
        }
    }
}

/// Whether something is known of each of so many bytes: then they have a value.
pub fn is_whole<V>(cells: &[Cell<V>], size: u64) -> bool {
    let bits = i64::try_from(size).unwrap_or(i64::MAX).saturating_mul(8);
    cells.iter().map(|cell| cell.len).sum::<i64>() >= bits
}

/// The bits that `size` bytes at a place may be in; `None`: up to the object's end.
pub fn extent(place: &Place, size: Option<u64>) -> (i64, i64) {
    let to = match size.and_then(|size| i64::try_from(size).ok()) {
        Some(size) => place.offsets.hi.saturating_add(size).saturating_mul(8),
        None => i64::MAX,
    };
    (place.offsets.lo * 8, to)
}
