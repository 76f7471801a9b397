//! Where an access goes: the register or the places in objects that it may mean, and the cells at a place. Must not know what is done there.

use std::collections::BTreeSet;

use proofline_cfa::{Base, Expr, Lvalue, Object, Scalar, Step};
use proofline_smt::{Term, build as t};

use crate::{
    arithmetic,
    encoding::Encoding,
    layout::{self, Representation},
    memory::Executor,
    state::Key,
};

/// Where an access goes.
pub(crate) enum Target {
    Register(Key),
    Objects(Vec<Place>),
}

/// A place in an object.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) object: Object,
    pub(crate) offset: Offset,
}

/// A distance from an object's start in bytes, in parts as far as they are known: a pointer's distance, a constant, and
/// indices with their strides.
#[derive(Clone)]
pub(crate) struct Offset {
    pub(crate) pointer: Option<Term>,
    pub(crate) constant: i128,
    pub(crate) scaled: Vec<(u64, Term)>,
}

impl Offset {
    /// As one term.
    pub(crate) fn whole(&self, encoding: Encoding) -> Term {
        let scaled = self.scaled.iter().map(|(stride, index)| encoding.times(*index, *stride));
        encoding.sum(self.pointer.into_iter().chain([encoding.address(self.constant)]).chain(scaled))
    }

    /// The offset of the constant distance, if it is one.
    pub(crate) fn as_constant(&self) -> Option<i128> {
        (self.pointer.is_none() && self.scaled.is_empty()).then_some(self.constant)
    }

    /// So many bytes further.
    pub(crate) fn plus(&self, bytes: u64) -> Offset {
        Offset { constant: self.constant.saturating_add(i128::from(bytes)), ..self.clone() }
    }
}

impl Executor<'_> {
    /// Where a scalar or aggregate access goes.
    pub(crate) fn target(&mut self, lvalue: &Lvalue) -> Target {
        if let Base::Local(id) = lvalue.base
            && layout::is_register(self.function, id)
        {
            return Target::Register(Key::Local(self.instance, id));
        }
        Target::Objects(self.places(lvalue))
    }

    /// The places that an lvalue in memory may mean.
    pub(crate) fn places(&mut self, lvalue: &Lvalue) -> Vec<Place> {
        let inside = self.path(lvalue);
        match &lvalue.base {
            Base::Local(id) => vec![Place { object: Object::Local(self.function.name, *id), offset: inside }],
            Base::Global(name) => vec![Place { object: Object::Global(*name), offset: inside }],
            Base::Deref(pointer, _) => {
                let address = arithmetic::value(pointer, self);
                let objects = layout::objects(self.environment, self.function, lvalue);
                objects.into_iter().map(|object| self.behind(address, object, &inside)).collect()
            }
        }
    }

    /// The place in one object that an address means.
    fn behind(&self, address: Term, object: Object, inside: &Offset) -> Place {
        let encoding = self.enc();
        let base = self.layout.address(object).unwrap_or(0);
        let distance = encoding.minus(address, encoding.address(base));
        let number = distance.as_bitvec().and_then(|bits| i128::try_from(bits.signed()).ok());
        let offset = match number {
            Some(number) => Offset { constant: inside.constant.saturating_add(number), ..inside.clone() },
            None => Offset { pointer: Some(distance), ..inside.clone() },
        };
        Place { object, offset }
    }

    /// The places that a pointer value may mean.
    pub(crate) fn pointed(&mut self, pointer: &Expr) -> Vec<Place> {
        let address = arithmetic::value(pointer, self);
        let objects: BTreeSet<Object> = self.environment.targets(self.function.name, pointer).objects.clone();
        let start = Offset { pointer: None, constant: 0, scaled: Vec::new() };
        objects.into_iter().map(|object| self.behind(address, object, &start)).collect()
    }

    /// Offset of a path.
    pub(crate) fn path(&mut self, lvalue: &Lvalue) -> Offset {
        let encoding = self.enc();
        let mut out = Offset { pointer: None, constant: 0, scaled: Vec::new() };
        for step in &lvalue.path {
            match step {
                Step::Field { offset, .. } => out.constant += i128::from(*offset),
                Step::Index { index, stride, .. } => match &**index {
                    Expr::Int(value, _) => {
                        let bytes = value.saturating_mul(i128::from(*stride));
                        out.constant = out.constant.saturating_add(bytes);
                    }
                    index => {
                        let value = arithmetic::value(index, self);
                        let ty = index.int_type().unwrap_or(proofline_cfa::IntType::INT);
                        out.scaled.push((*stride, encoding.widen(value, ty)));
                    }
                },
            }
        }
        out
    }

    /// The cells at an offset of an object: the key, the element number for arrays, and the condition under which the offset
    /// is that of the cell.
    pub(crate) fn cells(&mut self, place: &Place, scalar: Scalar) -> Vec<(Key, Option<Term>, Term)> {
        let (layout, encoding, object) = (self.layout, self.enc(), place.object);
        match layout.representation(object) {
            Representation::Opaque | Representation::Bytes { .. } => Vec::new(),
            Representation::Cells(cells) => {
                let offset = place.offset.whole(encoding);
                cells
                    .iter()
                    .filter(|(_, format)| **format == scalar)
                    .map(|(at, format)| {
                        (Key::Cell(object, *at, *format), None, t::eq(offset, encoding.address(*at)))
                    })
                    .filter(|(_, _, condition)| !condition.is_false())
                    .collect()
            }
            Representation::Elements { stride, scalars } => {
                let size = self.extent(object).unwrap_or(0);
                let mut out = Vec::new();
                for (inside, format) in scalars.iter().filter(|(_, format)| **format == scalar) {
                    let (element, condition) = self.element(&place.offset, *inside, *stride, size);
                    if !condition.is_false() {
                        out.push((
                            Key::Elements(object, *stride, *inside, *format),
                            Some(element),
                            condition,
                        ));
                    }
                }
                out
            }
        }
    }

    /// The element number of a cell `inside` its element, and the condition under which the offset is that of such a cell in an
    /// object of `size` bytes (0: unknown). Accesses outside the object are undefined; inside another one they are another target.
    fn element(&mut self, offset: &Offset, inside: u64, stride: u64, size: u64) -> (Term, Term) {
        let encoding = self.enc();
        if !encoding.is_bits() {
            let from_cell = t::sub(offset.whole(encoding), t::int(inside));
            let aligned = t::eq(t::modulo(from_cell, t::int(stride)), t::int(0));
            let fits = t::and([
                t::le(t::int(0), from_cell),
                if size > 0 { t::lt(from_cell, t::int(size)) } else { t::bool(true) },
            ]);
            return (t::div(from_cell, t::int(stride)), t::and([aligned, fits]));
        }
        let size = if size > 0 { size } else { 1 << 62 };
        if offset.pointer.is_none() && offset.scaled.iter().all(|(scale, _)| scale % stride == 0) {
            let constant = offset.constant - i128::from(inside);
            if constant.rem_euclid(i128::from(stride)) != 0 {
                return (encoding.address(0), t::bool(false));
            }
            let constant = encoding.address(constant.div_euclid(i128::from(stride)));
            let indices = offset.scaled.iter().map(|(scale, index)| encoding.times(*index, scale / stride));
            let element = encoding.sum([constant].into_iter().chain(indices));
            return (element, encoding.inside(element, size.div_ceil(stride)));
        }
        let from_cell = encoding.minus(offset.whole(encoding), encoding.address(inside));
        let fits = encoding.inside(from_cell, size);
        if stride.is_power_of_two() {
            let low = stride.trailing_zeros();
            if low == 0 {
                return (from_cell, fits);
            }
            let aligned = t::eq(t::extract(from_cell, low - 1, 0), t::bv(0, low));
            let element = t::zero_extend(t::extract(from_cell, 63, low), low);
            return (element, t::and([aligned, fits]));
        }
        // A product with a constant is far cheaper than a division by it.
        let element = self.fresh.variable(encoding.sort(Scalar::Pointer));
        let rest = self.fresh.variable(encoding.sort(Scalar::Pointer));
        let sum = encoding.sum([encoding.times(element, stride), rest]);
        self.state.assume(t::implies(
            fits,
            t::and([
                t::eq(sum, from_cell),
                encoding.inside(rest, stride),
                encoding.inside(element, size.div_ceil(stride)),
            ]),
        ));
        (element, t::and([t::eq(rest, encoding.address(0)), fits]))
    }

    /// Bytes of an object; of heap objects those of their region.
    pub(crate) fn extent(&self, object: Object) -> Option<u64> {
        match object {
            Object::Heap(..) => Some(layout::REGION),
            Object::Global(_) | Object::Local(..) | Object::External => self.environment.object_size(object),
        }
    }
}
