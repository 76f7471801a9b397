//! Records, and ranges of bytes: copied scalar by scalar as the destination is represented, or forgotten.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{Expr, Lvalue, Program, Scalar, Site, Step, Type};
use proofline_hir::{TypeKind, layout::Layout, types::ArrayLength};
use proofline_smt::{Term, build as t};

use crate::{
    arithmetic::{self, unknown},
    bytes::BYTE,
    layout::Representation,
    memory::Executor,
    place::Place,
    state::Key,
};

/// Scalars of an aggregate that are copied one by one, at most.
const MOST_LEAVES: usize = 64;
/// Bytes of a range that are copied or filled one by one, at most.
const MOST_BYTES: u64 = 128;

impl Executor<'_> {
    /// Copies a record scalar by scalar; what has no scalars that can be listed, as bytes.
    pub(crate) fn copy(&mut self, dst: &Lvalue, src: &Lvalue) {
        match self.aggregate(src) {
            Some(values) => self.store_aggregate(dst, &values),
            None if (1..=MOST_BYTES).contains(&dst.size) && self.enc().is_bits() => {
                let (to, from) = (self.places(dst), self.places(src));
                self.copy_range(&to, &from, dst.size);
            }
            None => self.forget(dst),
        }
    }

    /// The values of an aggregate's scalars, in the order of [`leaves`].
    pub(crate) fn aggregate(&mut self, src: &Lvalue) -> Option<Vec<Term>> {
        let leaves = leaves(self.environment.program(), src)?;
        Some(leaves.iter().map(|leaf| crate::arithmetic::ExprContext::load(self, leaf)).collect())
    }

    /// Writes an aggregate's scalars.
    pub(crate) fn store_aggregate(&mut self, dst: &Lvalue, values: &[Term]) {
        match leaves(self.environment.program(), dst) {
            Some(leaves) if leaves.len() == values.len() => {
                for (leaf, value) in leaves.iter().zip(values) {
                    self.store(leaf, *value);
                }
            }
            _ => self.forget(dst),
        }
    }

    /// `memcpy`, `memmove`.
    pub(crate) fn copy_bytes(&mut self, to: &Expr, from: &Expr, size: &Expr) {
        match constant(size) {
            Some(0) => {}
            Some(size) if size <= MOST_BYTES => {
                let (dst, src) = (self.pointed(to), self.pointed(from));
                if dst.is_empty() {
                    return self.forget_behind(to);
                }
                self.copy_range(&dst, &src, size);
            }
            _ => self.forget_behind(to),
        }
    }

    /// `memset`.
    pub(crate) fn fill_bytes(&mut self, pointer: &Expr, byte: &Expr, size: &Expr) {
        let Some(size) = constant(size).filter(|size| *size <= MOST_BYTES) else {
            return self.forget_behind(pointer);
        };
        if size == 0 {
            return;
        }
        let value = match byte {
            Expr::Int(value, _) => Some(*value as u8),
            _ => None,
        };
        let vector = if self.enc().is_bits() && value.is_none() {
            let term = arithmetic::value(byte, self);
            term.sort().width().filter(|width| *width >= 8).map(|_| t::extract(term, 7, 0))
        } else {
            None
        };
        for place in self.pointed(pointer) {
            self.write_range(&place, size, &mut |this, _, scalar| this.filled(scalar, value, vector));
        }
    }

    /// A scalar whose bytes are all the same.
    fn filled(&mut self, scalar: Scalar, byte: Option<u8>, vector: Option<Term>) -> Option<Term> {
        let encoding = self.enc();
        match (scalar, byte, vector) {
            (_, Some(0), _) => Some(encoding.zero(scalar)),
            (Scalar::Int(ty), Some(byte), _) => {
                let all = (0..16).fold(0u128, |all, i| all | u128::from(byte) << (8 * i));
                Some(encoding.int(ty.wrap(all as i128), ty))
            }
            (Scalar::Int(ty), None, Some(byte)) => {
                Some((1..ty.bytes()).fold(byte, |all, _| t::concat(byte, all)))
            }
            (Scalar::Int(_) | Scalar::Float(_) | Scalar::Pointer, _, _) => None,
        }
    }

    /// Copies bytes from one of some places to one of some others. What stands there is read before anything is written.
    fn copy_range(&mut self, to: &[Place], from: &[Place], size: u64) {
        let mut shifted: Vec<Vec<Place>> = Vec::new();
        for i in 0..size {
            let places =
                from.iter().map(|place| Place { object: place.object, offset: place.offset.plus(i) });
            shifted.push(places.collect());
        }
        // All reads see the state before.
        let before = self.state.values.clone();
        for place in to {
            let after = std::mem::replace(&mut self.state.values, before.clone());
            let is_bytes = matches!(self.layout.representation(place.object), Representation::Bytes { .. });
            if is_bytes {
                let values = self.bytes_of(from, &shifted, size);
                self.resume(after);
                let raw = values.iter().skip(1).fold(values[0].0, |low, (byte, _)| t::concat(*byte, low));
                self.put_raw(place, raw, size, None);
                // What only begins in the range is another pointer now.
                let width = self.environment.program().scalar_bytes(Scalar::Pointer);
                let whole = (size + 1).saturating_sub(width) as usize;
                let pointers: Vec<Option<Term>> =
                    values.iter().take(whole).map(|(_, pointer)| *pointer).collect();
                self.put_pointers(place, size, &pointers);
                continue;
            }
            let mut values = Vec::new();
            for (offset, scalar) in self.slots(place, size) {
                values.push(((offset, scalar), self.read_places(&shifted[offset as usize], scalar, None)));
            }
            self.resume(after);
            self.write_range(place, size, &mut |_, offset, scalar| {
                values.iter().find(|(at, _)| *at == (offset, scalar)).map(|(_, value)| *value)
            });
        }
    }

    /// Goes on with these values; cells that only now got one keep it.
    fn resume(&mut self, mut values: BTreeMap<Key, Term>) {
        for (key, value) in &self.state.values {
            values.entry(*key).or_insert(*value);
        }
        self.state.values = values;
    }

    /// Each byte of a source, with the pointer that begins there.
    fn bytes_of(&mut self, from: &[Place], shifted: &[Vec<Place>], size: u64) -> Vec<(Term, Option<Term>)> {
        let mut out: Vec<(Term, Option<Term>)> = Vec::new();
        for places in shifted {
            let byte = self.read_places(places, BYTE, None);
            let pointer = match places.as_slice() {
                [one] if matches!(self.layout.representation(one.object), Representation::Bytes { .. }) => {
                    self.pointer_in_bytes(one)
                }
                _ => None,
            };
            out.push((byte, pointer));
        }
        // A source of typed scalars: each as its bytes.
        if let [one] = from {
            let width = |this: &Self, scalar| this.environment.program().scalar_bytes(scalar);
            for (offset, scalar) in self.slots(one, size) {
                let count = width(self, scalar);
                if offset + count > size || count == 1 {
                    continue;
                }
                let value = self.read_places(&shifted[offset as usize], scalar, None);
                match scalar {
                    Scalar::Int(ty) if u64::from(ty.bits) == 8 * count => {
                        for i in 0..count {
                            let low = (8 * i) as u32;
                            out[(offset + i) as usize].0 = t::extract(value, low + 7, low);
                        }
                    }
                    Scalar::Pointer => out[offset as usize].1 = Some(value),
                    Scalar::Int(_) | Scalar::Float(_) => {}
                }
            }
        }
        out
    }

    /// The scalars that an object of typed cells has in a range of bytes, by their distance from its start, which is taken to be that
    /// of an element.
    fn slots(&self, place: &Place, size: u64) -> Vec<(u64, Scalar)> {
        match self.layout.representation(place.object) {
            Representation::Opaque | Representation::Bytes { .. } => Vec::new(),
            Representation::Cells(cells) => {
                let Some(start) = place.offset.as_constant().and_then(|at| u64::try_from(at).ok()) else {
                    return Vec::new();
                };
                let within = cells.range(start..start.saturating_add(size));
                within.map(|(at, scalar)| (at - start, *scalar)).collect()
            }
            Representation::Elements { stride, scalars } => {
                let phase = self.phase(place, *stride);
                (0..size)
                    .filter_map(|i| scalars.get(&((phase + i) % stride)).map(|scalar| (i, *scalar)))
                    .collect()
            }
        }
    }

    /// Where in an element a place is, as far as its constant parts say.
    fn phase(&self, place: &Place, stride: u64) -> u64 {
        place.offset.constant.rem_euclid(i128::from(stride)) as u64
    }

    /// Writes scalars in a range of bytes, each with the value that `value` gives for its distance and format (`None`: any).
    fn write_range(
        &mut self,
        place: &Place,
        size: u64,
        value: &mut dyn FnMut(&mut Self, u64, Scalar) -> Option<Term>,
    ) {
        match self.layout.representation(place.object).clone() {
            Representation::Opaque => {}
            Representation::Bytes { .. } => {
                let mut bytes = Vec::new();
                for i in 0..size {
                    let byte = value(self, i, BYTE);
                    bytes.push(byte.unwrap_or_else(|| unknown(self, BYTE)));
                }
                let raw = bytes.iter().skip(1).fold(bytes[0], |low, byte| t::concat(*byte, low));
                self.put_raw(place, raw, size, None);
            }
            Representation::Cells(_) if place.offset.as_constant().is_none() => {
                self.forget_object(place.object)
            }
            Representation::Cells(_) => {
                self.stray_write(place, size, &[]);
                for (offset, scalar) in self.slots(place, size) {
                    self.write_slot(place, offset, scalar, size, value);
                }
            }
            Representation::Elements { stride, scalars } => {
                // Elsewhere in an element than is taken here, or with a part of a cell left over: everything may change.
                let phase = self.phase(place, stride);
                let cuts = scalars.iter().any(|(inside, scalar)| {
                    *inside < phase && phase < inside + self.environment.program().scalar_bytes(*scalar)
                });
                let aligned = if cuts { t::bool(false) } else { self.aligned(place, phase, stride) };
                self.stray_write(place, size, &[aligned]);
                for (offset, scalar) in self.slots(place, size) {
                    self.write_slot(place, offset, scalar, size, value);
                }
            }
        }
    }

    /// That a place is this far into an element.
    fn aligned(&mut self, place: &Place, phase: u64, stride: u64) -> Term {
        let encoding = self.enc();
        if stride == 1
            || place.offset.pointer.is_none() && place.offset.scaled.iter().all(|(by, _)| by % stride == 0)
        {
            return t::bool(true);
        }
        let distance = encoding.minus(place.offset.whole(encoding), encoding.address(phase));
        if encoding.is_bits() {
            t::eq(t::bvurem(distance, encoding.address(stride)), encoding.address(0))
        } else {
            t::eq(t::modulo(distance, t::int(stride)), t::int(0))
        }
    }

    fn write_slot(
        &mut self,
        place: &Place,
        offset: u64,
        scalar: Scalar,
        size: u64,
        value: &mut dyn FnMut(&mut Self, u64, Scalar) -> Option<Term>,
    ) {
        let width = self.environment.program().scalar_bytes(scalar);
        let new = if offset + width <= size { value(self, offset, scalar) } else { None };
        let new = new.unwrap_or_else(|| unknown(self, scalar));
        let at = Place { object: place.object, offset: place.offset.plus(offset) };
        self.write_cell(&at, scalar, new);
    }
}

fn constant(size: &Expr) -> Option<u64> {
    match size {
        Expr::Int(size, _) => u64::try_from(*size).ok(),
        Expr::Cast(_, inner, _) => constant(inner),
        _ => None,
    }
}

/// Scalars of an aggregate, as lvalues; `None` where it has a union, a bit-field, or too many.
pub(crate) fn leaves(program: &Program, lvalue: &Lvalue) -> Option<Vec<Lvalue>> {
    let mut out = Vec::new();
    let mut open = vec![lvalue.clone()];
    while let Some(next) = open.pop() {
        if out.len() + open.len() > MOST_LEAVES {
            return None;
        }
        if next.scalar.is_some() {
            out.push(next);
            continue;
        }
        match next.ty.kind() {
            TypeKind::Array(element, ArrayLength::Fixed(count)) => {
                let (element, count) = (*element, *count);
                let stride = next.size.checked_div(count)?;
                if count > MOST_LEAVES as u64 {
                    return None;
                }
                for i in (0..count).rev() {
                    let index = Arc::new(Expr::int(i128::from(i)));
                    let step = Step::Index { index, stride, length: Some(count), site: Site(0) };
                    open.push(part(program, &next, step, element, stride));
                }
            }
            TypeKind::Record(tag) => {
                let record = program.records.get(tag)?;
                if record.is_union || record.fields.iter().any(|field| field.bits.is_some()) {
                    return None;
                }
                let layout = Layout::new(program.data_model, &program.records);
                for field in record.fields.iter().rev() {
                    let step = Step::Field { record: *tag, name: field.name, offset: field.offset };
                    let size = layout.size_of(field.ty)?;
                    open.push(part(program, &next, step, field.ty, size));
                }
            }
            _ => return None,
        }
    }
    Some(out)
}

fn part(program: &Program, whole: &Lvalue, step: Step, ty: Type, size: u64) -> Lvalue {
    let mut path = whole.path.clone();
    path.push(step);
    let scalar = proofline_cfa::scalar_of(ty, program.data_model);
    Lvalue { base: whole.base.clone(), path, ty, scalar, bits: None, size }
}
