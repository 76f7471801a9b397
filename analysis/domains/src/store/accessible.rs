//! What a state knows of the predicates on memory: lives, sizes and bounds of objects.

use proofline_cfa::{Base, Expr, MemoryPredicate, Name, Object, texts};

use crate::store::{
    arithmetic::{Addresses, Arithmetic, Impossible, Objects},
    heap::Sizes,
    offsets::Offsets,
    view::{Place, Places, StateView, Target, may_lead_to},
};

/// Where the value of a pointer leads.
struct Pointees {
    /// Null, or a function, may be it.
    may_be_null: bool,
    /// Every object that it may lead to, and where.
    objects: Addresses,
    /// Something is known of the value.
    is_value: bool,
}

impl<A: Arithmetic> StateView<'_, A> {
    /// Whether the predicate holds, if that is known.
    ///
    /// # Errors
    /// [`Impossible`] if the evaluation has no result in any concrete state.
    pub(super) fn memory(
        &self,
        predicate: MemoryPredicate,
        pointer: &Expr,
        size: &Expr,
    ) -> Result<Option<bool>, Impossible> {
        Ok(match predicate {
            MemoryPredicate::InBounds => {
                let size = self.eval(size)?.known().and_then(|size| self.model.arithmetic.range(&size));
                match size {
                    Some(size) => self.in_bounds(&self.value_of(pointer)?, size),
                    None => None,
                }
            }
            MemoryPredicate::Within => {
                let inside = self.in_bounds_or_at_end(&self.value_of(pointer)?);
                inside.then_some(true)
            }
            MemoryPredicate::SameObject => self.same_object(&self.value_of(pointer)?, &self.value_of(size)?),
            MemoryPredicate::NotFreed => self.not_freed(pointer)?,
            MemoryPredicate::NotEnded => self.not_ended(pointer)?,
            MemoryPredicate::Freeable => self.freeable(&self.value_of(pointer)?),
            MemoryPredicate::Writable => self.writable(pointer, size)?,
            MemoryPredicate::Callable => self.callable(pointer, size)?,
            MemoryPredicate::NothingLeft => self.is_nothing_left().then_some(true),
            MemoryPredicate::NothingLost => self.is_nothing_lost(size).then_some(true),
            MemoryPredicate::Terminated | MemoryPredicate::WideTerminated => {
                let width = if predicate == MemoryPredicate::Terminated { 1 } else { 4 };
                let is_certain = self.ends(pointer, width)? && !self.value_of(pointer)?.may_be_null;
                // So many bytes are enough; where no size is given, it is 0.
                let size = self.eval(size)?.known().and_then(|size| self.model.arithmetic.range(&size));
                let is_there = match size {
                    Some(size) if width == 1 && size.0 > 0 => {
                        let pointees = self.value_of(pointer)?;
                        !pointees.may_be_null && self.in_bounds(&pointees, size) == Some(true)
                    }
                    _ => false,
                };
                (is_certain || is_there).then_some(true)
            }
            MemoryPredicate::Initialised => {
                let size = self.eval(size)?.known().and_then(|size| self.model.arithmetic.range(&size));
                let size = size.and_then(|(_, most)| u64::try_from(most).ok());
                self.has_values(pointer, size)?.then_some(true)
            }
        })
    }

    /// Whether all bytes from the pointer on, so many or up to the object's end, certainly have a value.
    fn has_values(&self, pointer: &Expr, size: Option<u64>) -> Result<bool, Impossible> {
        if let Expr::Address(lvalue) = pointer {
            let places = self.resolve(lvalue)?;
            return Ok(match lvalue.bits {
                // Of the bytes that a bit-field touches only its own bits are read.
                Some(_) => self.access(lvalue).is_some_and(|access| {
                    let (start, end) = (access.start, access.start + access.len);
                    places.list.iter().all(|place| self.place_has_values(place, start, Some(end)))
                }),
                None => self.places_have_values(&places, size),
            });
        }
        Ok(self.places_have_values(&self.pointees(pointer, Offsets::at(0), size.unwrap_or(0))?, size))
    }

    /// Whether so many bytes at any of the places, or all up to the object's end, certainly have a value. Memory that the program does not
    /// name has one, unless it is shown that it has none.
    pub(super) fn places_have_values(&self, places: &Places, size: Option<u64>) -> bool {
        let bits = size.map(|size| i64::try_from(size).unwrap_or(i64::MAX).saturating_mul(8));
        // An older object of a site may have other values than those that the run knows of.
        let is_site = |place: &Place| matches!(place.target, Target::Object(Object::Heap(..)));
        let tracks = |place: &Place| self.model.tracks_values(self.function, place.target);
        let is_older = places.elsewhere && self.state.heap.older;
        if is_older && places.list.iter().any(|place| is_site(place) && tracks(place)) {
            return false;
        }
        if places.elsewhere && self.state.heap.copied && self.model.asks_for_values() {
            return false;
        }
        places.list.iter().all(|place| self.place_has_values(place, 0, bits))
    }

    /// The same of the bits `start..end` from a place on.
    fn place_has_values(&self, place: &Place, start: i64, end: Option<i64>) -> bool {
        if !self.model.tracks_values(self.function, place.target) {
            return matches!(place.target, Target::Local(_)) || !self.state.heap.copied;
        }
        let bits = match place.target {
            Target::Local(id) => Some(self.function.local(id).size),
            Target::Object(object) => self.sizes(object).map(|(_, most)| most),
        };
        // What is not inside the object is not asked about.
        let limit = bits
            .and_then(|bytes| i64::try_from(bytes).ok())
            .map_or(i64::MAX, |bytes| bytes.saturating_mul(8));
        let from = place.offsets.lo.max(0) * 8 + start;
        let to = end.map_or(i64::MAX, |end| (place.offsets.hi * 8).saturating_add(end)).min(limit);
        from >= to || self.state.has_values(place.target, from, to)
    }

    /// Where the pointer's value leads. Nothing is said of where points-to sets have it lead to.
    fn value_of(&self, pointer: &Expr) -> Result<Pointees, Impossible> {
        let value = self.eval(pointer)?.known();
        let may_be_null = value.as_ref().is_none_or(|v| self.model.arithmetic.truth(v) != Some(true));
        let objects = value.as_ref().and_then(|value| self.model.arithmetic.addresses(value));
        let is_value = objects.is_some();
        Ok(Pointees { may_be_null, objects: objects.unwrap_or_default(), is_value })
    }

    /// Whether all objects that the pointer may lead to are so: those of its value, or else (`false`) those of points-to sets, which know of no lives.
    fn all_objects(&self, pointer: &Expr, are_so: impl Fn(Object, bool) -> bool) -> Result<bool, Impossible> {
        let value = self.eval(pointer)?.known();
        if let Some(objects) = value.as_ref().and_then(|value| self.model.arithmetic.addresses(value)) {
            return Ok(objects.iter().all(|(object, _)| are_so(*object, true)));
        }
        // An object that was there before may be of a site, too.
        let newer = value.and_then(|value| self.model.arithmetic.newer(&value));
        let is_site =
            |object: &Object| matches!(object, Object::Heap(..)) && !self.model.is_on_stack(*object);
        let targets = self.model.env.targets(self.function.name, pointer);
        let mut possible = targets
            .objects
            .iter()
            .filter(|object| is_site(object) || may_lead_to(&self.model.env, &newer, **object));
        Ok(possible.all(|object| are_so(*object, false)))
    }

    fn not_freed(&self, pointer: &Expr) -> Result<Option<bool>, Impossible> {
        let ended = self.model.env.ended();
        let lives = |object: Object, is_value: bool| match object {
            Object::Global(_) | Object::Local(..) => true,
            Object::Heap(..) if self.model.is_on_stack(object) => true,
            Object::Heap(..) if is_value => !self.state.heap.site(object).dangles,
            Object::Heap(..) | Object::External => !ended.contains(&object),
        };
        Ok(self.all_objects(pointer, lives)?.then_some(true))
    }

    fn not_ended(&self, pointer: &Expr) -> Result<Option<bool>, Impossible> {
        let lives = |object: Object, is_value: bool| match object {
            Object::Local(..) => is_value,
            Object::Heap(..) if self.model.is_on_stack(object) => is_value,
            Object::Heap(..) if self.model.env.is_left(object) => false,
            Object::Global(_) | Object::Heap(..) | Object::External => true,
        };
        Ok(self.all_objects(pointer, lives)?.then_some(true))
    }

    /// Whether the bytes may be written: by the objects that the pointer's value leads to, or by where the program has it from.
    fn writable(&self, pointer: &Expr, size: &Expr) -> Result<Option<bool>, Impossible> {
        let size = self.eval(size)?.known().and_then(|size| self.model.arithmetic.range(&size));
        if size.is_some_and(|(_, most)| most == 0) {
            return Ok(Some(true));
        }
        let env = &self.model.env;
        let pointees = self.value_of(pointer)?;
        let is_read_only = |(object, _): &(Object, Offsets)| env.program().is_read_only(*object);
        if pointees.is_value {
            if !pointees.objects.iter().any(is_read_only) {
                return Ok(Some(true));
            }
            let is_some = size.is_some_and(|(least, _)| least > 0);
            let is_wrong = is_some && !pointees.may_be_null && pointees.objects.iter().all(is_read_only);
            return Ok(is_wrong.then_some(false));
        }
        Ok((!env.may_be_read_only(self.function.name, pointer)).then_some(true))
    }

    /// Whether what is called through a pointer may be called so: of the functions that the program has made it from, all that its value allows; and
    /// no object of the program.
    fn callable(&self, pointer: &Expr, arguments: &Expr) -> Result<Option<bool>, Impossible> {
        let (Expr::Address(lvalue), Expr::Int(count, _)) = (pointer, arguments) else { return Ok(None) };
        let Base::Deref(called, _) = &lvalue.base else { return Ok(None) };
        let count = *count as usize;
        let mut wrong = self.model.env.not_callable(self.function.name, called, lvalue.ty, count);
        let value = self.eval(called)?.known();
        // Points-to sets do not tell apart functions that are not here; a value that is known names them.
        let named = value.as_ref().and_then(|value| self.model.arithmetic.functions(value));
        let program = self.model.env.program();
        let elsewhere = named.into_iter().flatten().filter(|name| program.externals.contains_key(name));
        wrong.extend(elsewhere.filter(|name| program.may_call(*name, lvalue.ty, count) == Some(false)));
        let is_other =
            |name: &Name| value.as_ref().is_some_and(|value| !self.model.arithmetic.may_call(value, *name));
        let is_data = match value.as_ref().and_then(|value| self.model.arithmetic.addresses(value)) {
            Some(objects) => objects.iter().any(|(object, _)| *object != Object::External),
            None => self.model.env.may_be_data(self.function.name, called),
        };
        Ok((!is_data && wrong.iter().all(is_other)).then_some(true))
    }

    fn in_bounds(&self, pointees: &Pointees, (least, most): (i128, i128)) -> Option<bool> {
        if most == 0 {
            return Some(true);
        }
        if !pointees.is_value {
            return None;
        }
        let places = &pointees.objects;
        if !pointees.may_be_null && !places.is_empty() && places.iter().all(|at| self.is_inside(*at, most)) {
            return Some(true);
        }
        let is_none = least > 0 && places.iter().all(|at| self.is_outside(*at, least));
        is_none.then_some(false)
    }

    /// Whether the pointer certainly leads into its object or to its end.
    fn in_bounds_or_at_end(&self, pointees: &Pointees) -> bool {
        let places = &pointees.objects;
        let is_known = pointees.is_value && !pointees.may_be_null && !places.is_empty();
        is_known && places.iter().all(|at| self.is_inside(*at, 0))
    }

    /// Whether two pointers lead into one object that the program has once.
    fn same_object(&self, left: &Pointees, right: &Pointees) -> Option<bool> {
        let is_known = |side: &Pointees| side.is_value && !side.may_be_null && !side.objects.is_empty();
        if !is_known(left) || !is_known(right) {
            return None;
        }
        let mut all = left.objects.iter().chain(&right.objects).map(|(object, _)| *object);
        let first = all.next()?;
        if all.all(|object| object == first) {
            return self.is_single(first).then_some(true);
        }
        let is_other = |(object, _): &(Object, Offsets)| {
            *object != Object::External && right.objects.iter().all(|(right, _)| right != object)
        };
        let is_named = right.objects.iter().all(|(object, _)| *object != Object::External);
        (is_named && left.objects.iter().all(is_other)).then_some(false)
    }

    /// Bounds of the size of an object that a known pointer leads to, in bytes.
    pub(super) fn sizes(&self, object: Object) -> Option<(u64, u64)> {
        match object {
            Object::Heap(..) => match self.state.heap.site(object).sizes {
                Sizes::Between(least, most) => Some((least, most)),
                Sizes::None => None,
            },
            Object::Global(_) | Object::Local(..) => self.size(object).map(|size| (size, size)),
            Object::External => None,
        }
    }

    /// Whether so many bytes from any of the offsets on are in the object.
    fn is_inside(&self, (object, offsets): (Object, Offsets), size: i128) -> bool {
        if texts::is_text(object) {
            return i128::from(offsets.hi) + size <= 1;
        }
        let Some((bytes, _)) = self.sizes(object) else { return false };
        offsets.lo >= 0 && i128::from(offsets.hi) + size <= i128::from(bytes)
    }

    /// Whether so many bytes from none of the offsets on are in the object.
    fn is_outside(&self, (object, offsets): (Object, Offsets), size: i128) -> bool {
        let Some((_, bytes)) = self.sizes(object) else { return false };
        offsets.hi < 0 || i128::from(offsets.lo) + size > i128::from(bytes)
    }

    fn freeable(&self, pointees: &Pointees) -> Option<bool> {
        if !pointees.is_value {
            return None;
        }
        let is_start = |(object, offsets): &(Object, Offsets)| {
            matches!(object, Object::Heap(..))
                && !self.model.is_on_stack(*object)
                && *offsets == Offsets::at(0)
                && !self.state.heap.site(*object).dangles
        };
        let is_other = |(object, offsets): &(Object, Offsets)| match object {
            Object::Global(_) | Object::Local(..) => true,
            Object::Heap(..) => self.model.is_on_stack(*object) || offsets.lo > 0 || offsets.hi < 0,
            Object::External => false,
        };
        if pointees.objects.iter().all(is_start) {
            return Some(true);
        }
        (!pointees.may_be_null && pointees.objects.iter().all(is_other)).then_some(false)
    }
}
