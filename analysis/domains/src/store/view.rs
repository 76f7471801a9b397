//! A state looked at from one function: values of expressions, and the places that lvalues designate. Changes nothing.

use std::cell::Cell;

use proofline_cfa::{
    Base, CompareOp, Expr, Function, IntType, Lvalue, Name, Object, Scalar, Step,
    command_line::{ARGV, ENVP},
    texts,
};
use proofline_cpa::Facts;
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::store::{
    arithmetic::{Addresses, Arithmetic, Eval, Impossible, Objects},
    heap::{Count, Guard},
    mentions,
    model::Model,
    offsets::Offsets,
    region::{Access, Cell as Bits, Region},
    state::{Frame, State},
    value::{Abstract, join_all, value_bits},
};

/// How many definitions of temporaries are followed behind one another.
const DEFINITIONS: u32 = 6;

/// A pointer of which nothing is known may lead to thousands of objects in the middle of a large library. If it leads to more than so many, their
/// values are not joined where it is read through (one without a value suffices for any value), nor is it looked at how large each is.
const FEW: usize = 64;

/// Where a place is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Target {
    /// A local of the innermost frame whose address is not taken.
    Local(proofline_cfa::LocalId),
    /// An object with an address.
    Object(Object),
}

/// Bytes of one target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Which object.
    pub target: Target,
    /// Possible first bytes.
    pub offsets: Offsets,
}

/// What an lvalue may designate.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// In named objects.
    pub list: SmallVec<[Place; 1]>,
    /// Or in memory that has no name here.
    pub elsewhere: bool,
}

/// A state as one function sees it.
pub struct StateView<'a, A: Arithmetic> {
    /// The analysis.
    pub model: &'a Model<A>,
    /// Of the innermost frame.
    pub function: &'a Function,
    /// The state.
    pub state: &'a State<A::Value>,
    /// What other analyses know.
    pub facts: &'a dyn Facts,
    depth: Cell<u32>,
}

impl<A: Arithmetic> Objects for StateView<'_, A> {
    fn is_single(&self, object: Object) -> bool {
        match object {
            Object::Heap(..) => self.state.heap.count(object) == Count::One,
            Object::Global(_) | Object::Local(..) => self.model.env.is_single(object),
            Object::External => false,
        }
    }
    fn size(&self, object: Object) -> Option<u64> {
        self.model.env.object_size(object).filter(|size| *size > 0)
    }
}

impl<'a, A: Arithmetic> StateView<'a, A> {
    /// Looks at a state.
    pub fn new(
        model: &'a Model<A>,
        function: &'a Function,
        state: &'a State<A::Value>,
        facts: &'a dyn Facts,
    ) -> StateView<'a, A> {
        StateView { model, function, state, facts, depth: Cell::new(0) }
    }

    fn frame(&self) -> &Frame<A::Value> {
        &self.state.frame
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// [`Impossible`] if the evaluation has no result in any concrete state.
    pub fn eval(&self, expr: &Expr) -> Eval<A::Value> {
        let domain = &self.model.arithmetic;
        match expr {
            Expr::Int(value, ty) => Ok(domain.int(*ty, *value)),
            Expr::Float(value) => Ok(domain.float(*value)),
            Expr::Null => Ok(Abstract::Of(domain.null())),
            Expr::Load(lvalue) => self.load(lvalue),
            Expr::Address(lvalue) => self.address(lvalue),
            Expr::Function(name) => Ok(domain.function(*name)),
            Expr::Unary(op, arg, _) => domain.unary(*op, arg.scalar(), self.eval(arg)?.as_ref()),
            Expr::Binary(op, lhs, rhs, _) => {
                let (left, right) = (self.eval(lhs)?, self.eval(rhs)?);
                domain.binary(*op, lhs.scalar(), left.as_ref(), rhs.scalar(), right.as_ref())
            }
            Expr::Compare(op, lhs, rhs) => {
                let (left, right) = (self.eval(lhs)?, self.eval(rhs)?);
                let ty = compared_type(lhs, left.is_any(), rhs, right.is_any());
                let decided = domain.compare(*op, ty, left.as_ref(), right.as_ref(), self);
                let decided = decided.or_else(|| self.compare_same(*op, lhs, rhs));
                Ok(self.truth_value(decided))
            }
            Expr::Cast(to, arg, _) => domain.cast(arg.scalar(), *to, self.eval(arg)?.as_ref()),
            Expr::Overflows(op, lhs, rhs) => {
                let (left, right) = (self.eval(lhs)?, self.eval(rhs)?);
                Ok(self.truth_value(domain.overflows(*op, lhs.scalar(), left.as_ref(), right.as_ref())))
            }
            Expr::Memory(predicate, pointer, size) => {
                Ok(self.truth_value(self.memory(*predicate, pointer, size)?))
            }
            Expr::PointerDifference(lhs, rhs, stride, ty) => {
                let (left, right) = (self.eval(lhs)?, self.eval(rhs)?);
                Ok(domain.difference(left.as_ref(), right.as_ref(), *stride, *ty))
            }
        }
    }

    fn truth_value(&self, truth: Option<bool>) -> Abstract<A::Value> {
        let domain = &self.model.arithmetic;
        match truth {
            Some(truth) => domain.int(IntType::INT, i128::from(truth)),
            None => domain.between(IntType::INT, 0, 1),
        }
    }

    /// Whether a condition is decided.
    ///
    /// # Errors
    /// [`Impossible`] if the evaluation has no result in any concrete state.
    pub fn truth(&self, condition: &Expr) -> Result<Option<bool>, Impossible> {
        Ok(self.eval(condition)?.known().and_then(|value| self.model.arithmetic.truth(&value)))
    }

    /// Compares an expression with itself, seen through what temporaries stand for.
    fn compare_same(&self, op: CompareOp, lhs: &Expr, rhs: &Expr) -> Option<bool> {
        if matches!(lhs.scalar(), Scalar::Float(_)) || self.resolved(lhs) != self.resolved(rhs) {
            return None;
        }
        Some(matches!(op, CompareOp::Eq | CompareOp::Le | CompareOp::Ge))
    }

    /// The expression a temporary stands for.
    pub fn resolved<'e>(&'e self, expr: &'e Expr) -> &'e Expr {
        if let Expr::Load(lvalue) = expr
            && let Some(id) = mentions::whole_local(self.function, lvalue)
            && let Some(definition) = self.frame().definition(id)
        {
            return definition;
        }
        expr
    }

    /// Where a scalar is relative to the offset of its lvalue.
    pub fn access(&self, lvalue: &Lvalue) -> Option<Access> {
        let scalar = lvalue.scalar?;
        Some(match lvalue.bits {
            Some(bits) => {
                let len = i64::from(bits.width);
                Access { start: i64::from(bits.first), len, room: len, scalar }
            }
            None => {
                let len = value_bits(scalar, self.model.pointer_bits);
                let room = (lvalue.size.min(64) as i64 * 8).max(len);
                Access { start: 0, len, room, scalar }
            }
        })
    }

    fn load(&self, lvalue: &Lvalue) -> Eval<A::Value> {
        let Some(access) = self.access(lvalue) else { return Ok(Abstract::Any) };
        if let Some(id) = mentions::whole_local(self.function, lvalue) {
            if let Some(region) = self.frame().local(id)
                && let value @ Abstract::Of(_) = region.read(access)
            {
                return Ok(value);
            }
            if let Some(definition) = self.frame().definition(id)
                && self.depth.get() < DEFINITIONS
            {
                self.depth.set(self.depth.get() + 1);
                let value = self.eval(definition);
                self.depth.set(self.depth.get() - 1);
                if let Ok(Abstract::Of(_)) = value {
                    return value;
                }
            }
            return Ok(self.any_of(lvalue));
        }
        let places = self.resolve_among(lvalue, FEW)?;
        let read = self.read_places(&places, access);
        if read.is_any()
            && access.scalar == Scalar::Pointer
            && let Some(argument) = self.argument(&places)
        {
            return Ok(argument);
        }
        Ok(read.or_else(|| self.any_of(lvalue)))
    }

    /// What an element of `argv` or `envp` is: null, or the address of a string.
    fn argument(&self, places: &Places) -> Option<Abstract<A::Value>> {
        let is_array = |place: &Place| matches!(place.target, Target::Object(Object::Global(name)) if matches!(name.as_str(), ARGV | ENVP));
        if places.elsewhere || places.list.is_empty() || !places.list.iter().all(is_array) {
            return None;
        }
        let domain = &self.model.arithmetic;
        let text = self.text(texts::ARGUMENTS)?;
        Some(join_all([text, Abstract::Of(domain.null())], Scalar::Pointer))
    }

    /// The address of a string that the program does not name; `None` where that says nothing.
    pub(super) fn text(&self, name: &str) -> Option<Abstract<A::Value>> {
        let address = self.model.arithmetic.address(Object::Global(Name::new(name)), Offsets::at(0));
        (self.model.env.keeps_texts() && !address.is_any()).then_some(address)
    }

    /// What the type of an lvalue says about its value.
    fn any_of(&self, lvalue: &Lvalue) -> Abstract<A::Value> {
        let Some(Scalar::Int(ty)) = lvalue.scalar else { return Abstract::Any };
        match (lvalue.bits, lvalue.ty.kind()) {
            (_, TypeKind::Bool) => self.model.arithmetic.any_of(IntType { bits: 1, signed: false }),
            (Some(field), _) => self.model.arithmetic.any_of(IntType { bits: field.width, ..ty }),
            (None, _) => Abstract::Any,
        }
    }

    /// Reads at any of the places.
    pub fn read_places(&self, places: &Places, access: Access) -> Abstract<A::Value> {
        if places.elsewhere {
            return Abstract::Any;
        }
        let values = places.list.iter().map(|place| match self.region(place.target) {
            Some(region) => region.read_somewhere(place.offsets, access),
            None => Abstract::Any,
        });
        join_all(values, access.scalar)
    }

    /// What is known of a target's bytes.
    pub fn region(&self, target: Target) -> Option<&Region<A::Value>> {
        match target {
            Target::Local(id) => self.frame().local(id).map(|region| &**region),
            Target::Object(Object::Global(name)) if self.model.constants.contains_key(&name) => {
                self.model.constants.get(&name).map(|region| &**region)
            }
            Target::Object(object) => self.state.memory.get(object).map(|region| &**region),
        }
    }

    /// What is known of the bits of a target between two positions, to be put elsewhere: where it is not kept which have a value, all have.
    pub fn cells_in(&self, target: Target, from: i64, to: i64) -> Vec<Bits<A::Value>> {
        let known = self.region(target);
        // Of others only what is known, if bytes without a value may have been copied there.
        let may_lack = self.state.heap.copied && matches!(target, Target::Object(_));
        if may_lack || self.model.tracks_values(self.function, target) {
            return known.map_or_else(Vec::new, |region| region.slice(from, to));
        }
        let mut all = Region::tracking();
        all.write_any(from, to);
        all.replace_each(known.map_or_else(Vec::new, |region| region.slice(from, to)));
        all.cells().to_vec()
    }

    /// The value of `&lvalue`.
    fn address(&self, lvalue: &Lvalue) -> Eval<A::Value> {
        let domain = &self.model.arithmetic;
        let path = self.path_offsets(&lvalue.path, false)?;
        match &lvalue.base {
            Base::Local(id) => Ok(domain.address(Object::Local(self.function.name, *id), path)),
            Base::Global(name) => Ok(domain.address(Object::Global(*name), path)),
            Base::Deref(pointer, _) => {
                Ok(self.eval(pointer)?.and_then(|pointer| domain.shift(&pointer, path)))
            }
        }
    }

    /// Bytes from the start of the base. `access`: the lvalue is read or written, so that indices are in their arrays.
    pub(super) fn path_offsets(&self, path: &[Step], access: bool) -> Result<Offsets, Impossible> {
        let mut offsets = Offsets::at(0);
        for step in path {
            let by = match step {
                Step::Field { offset, .. } => Offsets::range(i128::from(*offset), i128::from(*offset), 1),
                Step::Index { index, stride, length, .. } => {
                    let value = self.eval(index)?;
                    let known = value.known().and_then(|value| self.model.arithmetic.range(&value));
                    let known = known.or_else(|| index.int_type().map(|ty| (ty.min(), ty.max())));
                    // An array of one element at a record's end is often a longer one.
                    self.index_offsets(known, *stride, length.filter(|length| access && *length > 1))
                }
            };
            offsets = offsets.plus(by);
        }
        Ok(offsets)
    }

    fn index_offsets(&self, index: Option<(i128, i128)>, stride: u64, length: Option<u64>) -> Offsets {
        let Some((lo, hi)) = index else { return Offsets::ANYWHERE };
        if let Some(length) = length {
            let (lo, hi) = (lo.max(0), hi.min(i128::from(length) - 1));
            if lo <= hi {
                return Offsets::range(lo * i128::from(stride), hi * i128::from(stride), stride);
            }
        }
        // Addresses are computed modulo the width of a pointer: a huge unsigned index is a negative one.
        let address = IntType { bits: self.model.pointer_bits, signed: true };
        let (Some(first), Some(last)) =
            (lo.checked_mul(i128::from(stride)), hi.checked_mul(i128::from(stride)))
        else {
            return Offsets::ANYWHERE;
        };
        let (wrapped_first, wrapped_last) = (address.wrap(first), address.wrap(last));
        if wrapped_last.checked_sub(wrapped_first) == last.checked_sub(first) {
            Offsets::range(wrapped_first, wrapped_last, stride)
        } else {
            Offsets::ANYWHERE
        }
    }

    /// The places an lvalue may designate when it is read or written.
    ///
    /// # Errors
    /// [`Impossible`] if it designates none: every pointer to it is invalid.
    pub fn resolve(&self, lvalue: &Lvalue) -> Result<Places, Impossible> {
        self.resolve_among(lvalue, usize::MAX)
    }

    /// The place that an lvalue designates, if it is known exactly.
    ///
    /// # Errors
    /// As [`StateView::resolve`].
    pub(super) fn resolve_exactly(&self, lvalue: &Lvalue) -> Result<Option<Place>, Impossible> {
        let places = self.resolve_among(lvalue, 1)?;
        Ok(if self.is_strong(&places) { places.list.first().copied() } else { None })
    }

    /// Where an lvalue may be that is read: if a pointer of which nothing is known may lead to more than so many objects, none is named, it may lead
    /// anywhere.
    pub(super) fn resolve_among(&self, lvalue: &Lvalue, most: usize) -> Result<Places, Impossible> {
        let path = self.path_offsets(&lvalue.path, true)?;
        let size = lvalue.size;
        let one = |target, offsets| Places {
            list: SmallVec::from_elem(Place { target, offsets }, 1),
            elsewhere: false,
        };
        Ok(match &lvalue.base {
            Base::Local(id) => {
                let local = self.function.local(*id);
                if local.address_taken {
                    let object = Object::Local(self.function.name, *id);
                    one(Target::Object(object), self.inside(object, path, size))
                } else {
                    one(Target::Local(*id), inside(path, local.size, size))
                }
            }
            Base::Global(name) => {
                let object = Object::Global(*name);
                one(Target::Object(object), self.inside(object, path, size))
            }
            Base::Deref(pointer, _) => self.pointees_among(pointer, path, size, most)?,
        })
    }

    /// Where `size` bytes at `path` from a pointer may be.
    ///
    /// # Errors
    /// [`Impossible`] if there is none: the pointer is invalid.
    pub fn pointees(&self, pointer: &Expr, path: Offsets, size: u64) -> Result<Places, Impossible> {
        self.pointees_among(pointer, path, size, usize::MAX)
    }

    pub(super) fn pointees_among(
        &self,
        pointer: &Expr,
        path: Offsets,
        size: u64,
        most: usize,
    ) -> Result<Places, Impossible> {
        let mut places = Places::default();
        let value = self.eval(pointer)?;
        let mut add = |object: Object, offsets: Offsets, is_clipped: bool| {
            if object == Object::External {
                places.elsewhere = true;
            } else {
                let offsets = offsets.plus(path);
                let offsets = if is_clipped { self.inside(object, offsets, size) } else { offsets };
                places.list.push(Place { target: Target::Object(object), offsets });
            }
        };
        let value = value.known();
        if let Some(known) = value.as_ref().and_then(|value| self.model.arithmetic.addresses(value)) {
            // Nowhere: null, or a function. An access ends the run.
            if known.is_empty() {
                return Err(Impossible);
            }
            known.into_iter().for_each(|(object, offsets)| add(object, offsets, true));
            return Ok(places);
        }
        let newer = value.and_then(|value| self.model.arithmetic.newer(&value));
        if let Some(known) = self.facts.points_to(pointer) {
            for (object, offset) in
                known.into_iter().filter(|(object, _)| may_lead_to(&self.model.env, &newer, *object))
            {
                add(object, offset.map_or(Offsets::ANYWHERE, Offsets::at), true);
            }
        } else {
            let targets = self.model.env.targets(self.function.name, pointer);
            if targets.objects.len() > most {
                places.elsewhere = true;
            } else {
                let is_clipped = targets.objects.len() <= FEW;
                let possible =
                    targets.objects.iter().filter(|object| may_lead_to(&self.model.env, &newer, **object));
                possible.for_each(|object| add(*object, Offsets::ANYWHERE, is_clipped));
            }
        }
        places.elsewhere |= newer.is_some();
        // Nothing that points-to knows of: memory from outside. And an object that was there before the run has no name.
        let is_site = |place: &Place| matches!(place.target, Target::Object(Object::Heap(..)));
        let is_older = self.state.heap.older && places.list.iter().any(is_site);
        places.elsewhere |= is_older || places.list.is_empty();
        Ok(places)
    }

    /// Where points-to says that a pointer may lead, of which it is known what objects of the run itself it may lead to.
    pub(super) fn targets(
        &self,
        pointer: &Expr,
        newer: &Option<Addresses>,
    ) -> impl Iterator<Item = Object> + use<'_, A> {
        let targets = self.model.env.targets(self.function.name, pointer);
        let possible: Vec<Object> = targets
            .objects
            .iter()
            .copied()
            .filter(|object| may_lead_to(&self.model.env, newer, *object))
            .collect();
        possible.into_iter()
    }

    fn inside(&self, object: Object, offsets: Offsets, size: u64) -> Offsets {
        if offsets.single().is_some() {
            return offsets;
        }
        match self.size(object) {
            Some(bytes) => inside(offsets, bytes, size),
            None => offsets,
        }
    }

    /// The pointer that an lvalue is, as something that may say whether there is an object.
    pub fn guard(&self, lvalue: &Lvalue) -> Option<Guard> {
        let place = self.resolve_exactly(lvalue).ok()??;
        let offset = place.offsets.single()?;
        match place.target {
            Target::Object(Object::External) => None,
            Target::Object(Object::Global(_) | Object::Local(..) | Object::Heap(..)) | Target::Local(_) => {
                let is_there = self.state.is_there(place.target);
                is_there.then_some(Guard { of: place.target, at: offset.checked_mul(8)? })
            }
        }
    }

    /// The same of the pointer that an expression reads, seen through conversions between pointers, and through what moves it.
    pub fn copied_guard(&self, expr: &Expr) -> Option<Guard> {
        match expr {
            Expr::Load(lvalue) => self.guard(lvalue),
            Expr::Cast(Scalar::Pointer, inner, _) if inner.scalar() == Scalar::Pointer => {
                self.copied_guard(inner)
            }
            Expr::Address(Lvalue { base: Base::Deref(inner, _), .. }) => self.copied_guard(inner),
            _ => None,
        }
    }

    /// Whether the places are exactly one, so that what is written replaces what was there.
    pub fn is_strong(&self, places: &Places) -> bool {
        let [place] = &places.list[..] else { return false };
        let single = match place.target {
            Target::Local(_) => true,
            Target::Object(object) => self.is_single(object),
        };
        !places.elsewhere && single && place.offsets.single().is_some()
    }
}

/// The type in which to compare: where the value of one operand is not known, what it was converted from may be narrower, and then
/// its values are still all of those.
pub(super) fn compared_type(lhs: &Expr, left_unknown: bool, rhs: &Expr, right_unknown: bool) -> Scalar {
    match (left_unknown, right_unknown) {
        (true, false) => converted_from(lhs),
        (false, true) => converted_from(rhs),
        (true, true) | (false, false) => lhs.scalar(),
    }
}

/// Whether a pointer may lead to an object, of which it is known what objects of the run itself (those that it allocates, variables of its
/// functions) it may lead to.
pub(super) fn may_lead_to(env: &Environment, newer: &Option<Addresses>, object: Object) -> bool {
    let is_new = matches!(object, Object::Heap(..) | Object::Local(..)) && !env.is_left(object);
    !is_new || newer.as_ref().is_none_or(|newer| newer.iter().any(|(one, _)| *one == object))
}

/// The narrowest format whose values an expression has, seen through conversions that keep every value.
fn converted_from(expr: &Expr) -> Scalar {
    let of_type = expr.scalar();
    let Expr::Cast(Scalar::Int(to), arg, _) = expr else { return of_type };
    match converted_from(arg) {
        Scalar::Int(from) if to.contains(from.min()) && to.contains(from.max()) && from.is_exact() => {
            Scalar::Int(from)
        }
        Scalar::Int(_) | Scalar::Pointer | Scalar::Float(_) => of_type,
    }
}

/// The offsets at which `size` bytes lie inside an object of `bytes`; all of them if none do.
fn inside(offsets: Offsets, bytes: u64, size: u64) -> Offsets {
    if offsets.single().is_some() || bytes == 0 || bytes > i64::MAX as u64 {
        return offsets;
    }
    offsets.clip(0, bytes.saturating_sub(size) as i64).unwrap_or(offsets)
}
