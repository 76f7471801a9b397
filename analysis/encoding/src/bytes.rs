//! Objects whose bytes are seen in more than one way (unions, casts, bit-fields, raw copies): an array of bytes, over bit vectors. Beside
//! it, where pointers are kept in them, an array of the pointers by the offset they begin at: addresses are stand-ins without bytes.

use proofline_cfa::{BitField, IntType, Scalar};
use proofline_smt::{Sort, Term, build as t};

use crate::{
    arithmetic::unknown, encoding::Encoding, floats, layout::Representation, memory::Executor, place::Place,
    state::Key, vectors,
};

/// A byte's format.
pub(crate) const BYTE: Scalar = Scalar::Int(IntType { bits: 8, signed: false });

impl Executor<'_> {
    fn arrays(&self, place: &Place) -> (Key, Option<Key>) {
        let pointers =
            matches!(self.layout.representation(place.object), Representation::Bytes { pointers: true });
        let bytes = Key::Elements(place.object, 1, 0, BYTE);
        (bytes, pointers.then_some(Key::Elements(place.object, 1, 0, Scalar::Pointer)))
    }

    /// Where `count` bytes begin, and the condition under which they lie in the object.
    fn range(&self, place: &Place, count: u64) -> (Term, Term) {
        let encoding = self.enc();
        let at = place.offset.whole(encoding);
        let condition = match self.extent(place.object).unwrap_or(1 << 62).checked_sub(count) {
            Some(last) => encoding.inside(at, last + 1),
            None => t::bool(false),
        };
        (at, condition)
    }

    fn width(&self, scalar: Scalar, bits: Option<BitField>) -> u64 {
        match bits {
            Some(bits) => u64::from(bits.first + bits.width).div_ceil(8),
            None => self.environment.program().scalar_bytes(scalar),
        }
    }

    /// What stands at a place that is kept as bytes, and the condition under which it is such a place.
    pub(crate) fn read_bytes(
        &mut self,
        place: &Place,
        scalar: Scalar,
        bits: Option<BitField>,
    ) -> (Term, Term) {
        let count = self.width(scalar, bits);
        let (at, condition) = self.range(place, count);
        if condition.is_false() {
            return (condition, condition);
        }
        let (bytes, pointers) = self.arrays(place);
        let raw = self.raw(bytes, at, count);
        let value = match (scalar, bits) {
            (Scalar::Int(ty), Some(bits)) => {
                let (first, width) = (u32::from(bits.first), u32::from(bits.width));
                let field = t::extract(raw, first + width - 1, first);
                vectors::resize(field, IntType { bits: bits.width, signed: ty.signed }, ty)
            }
            (Scalar::Int(ty), None) => {
                vectors::resize(raw, IntType { bits: (8 * count) as u8, signed: false }, ty)
            }
            (Scalar::Pointer, _) => match pointers {
                Some(key) => t::select(self.current(key), at),
                None => unknown(self, scalar),
            },
            (Scalar::Float(ty), _) => match floats::from_bits(raw, ty) {
                Some(value) => value,
                None => unknown(self, scalar),
            },
        };
        (condition, value)
    }

    /// Bytes as one vector, little endian.
    fn raw(&mut self, bytes: Key, at: Term, count: u64) -> Term {
        let (encoding, array) = (self.enc(), self.current(bytes));
        let byte = |i: u64| t::select(array, encoding.sum([at, encoding.address(i)]));
        (1..count).fold(byte(0), |low, i| t::concat(byte(i), low))
    }

    /// Writes a scalar where an object is kept as bytes.
    pub(crate) fn write_bytes(&mut self, place: &Place, scalar: Scalar, bits: Option<BitField>, value: Term) {
        let count = self.width(scalar, bits);
        let (at, condition) = self.range(place, count);
        if condition.is_false() {
            return;
        }
        let (bytes, _) = self.arrays(place);
        let width = (8 * count) as u32;
        let raw = match (scalar, bits) {
            (Scalar::Int(ty), Some(bits)) => {
                let (first, end) = (u32::from(bits.first), u32::from(bits.first + bits.width));
                let old = self.raw(bytes, at, count);
                let mut raw = vectors::resize(value, ty, IntType { bits: bits.width, signed: false });
                if first > 0 {
                    raw = t::concat(raw, t::extract(old, first - 1, 0));
                }
                if end < width {
                    raw = t::concat(t::extract(old, width - 1, end), raw);
                }
                raw
            }
            (Scalar::Int(ty), None) => {
                vectors::resize(value, ty, IntType { bits: width as u8, signed: false })
            }
            (Scalar::Pointer, _) => {
                let any = self.fresh.variable(Sort::BitVec(width));
                t::ite(t::eq(value, self.enc().address(0)), t::bv(0, width), any)
            }
            (Scalar::Float(ty), _) => match floats::bits_of_constant(value) {
                Some(bits) => t::bv(bits.unsigned().clone(), width),
                None => {
                    let any = self.fresh.variable(Sort::BitVec(width));
                    if let Some(number) = floats::from_bits(any, ty) {
                        self.state.assume(t::eq(number, value));
                    }
                    any
                }
            },
        };
        self.put_raw(place, raw, count, (scalar == Scalar::Pointer).then_some(value));
    }

    /// Writes bytes, little endian, which are those of a pointer or not.
    pub(crate) fn put_raw(&mut self, place: &Place, raw: Term, count: u64, pointer: Option<Term>) {
        let (at, condition) = self.range(place, count);
        let (bytes, pointers) = self.arrays(place);
        let encoding = self.enc();
        let offset = |i: i128| encoding.sum([at, encoding.address(i)]);
        let old = self.current(bytes);
        let mut new = old;
        for i in 0..count {
            let low = (8 * i) as u32;
            new = t::store(new, offset(i128::from(i)), t::extract(raw, low + 7, low));
        }
        self.state.values.insert(bytes, t::ite(condition, new, old));
        let Some(key) = pointers else { return };
        // Every pointer that overlaps is another one now.
        let width = i128::from(self.environment.program().scalar_bytes(Scalar::Pointer));
        let old = self.current(key);
        let mut new = old;
        for i in 1 - width..i128::from(count) {
            let value = match pointer {
                Some(pointer) if i == 0 => pointer,
                _ => {
                    let any = unknown(self, Scalar::Pointer);
                    let (first, last) = (8 * i, 8 * (i + width) - 1);
                    if i >= 0 && i + width <= i128::from(count) {
                        let zero = t::bv(0, (8 * width) as u32);
                        let part = t::extract(raw, last as u32, first as u32);
                        self.state.assume(t::implies(t::eq(part, zero), t::eq(any, encoding.address(0))));
                    }
                    any
                }
            };
            new = t::store(new, offset(i), value);
        }
        self.state.values.insert(key, t::ite(condition, new, old));
    }

    /// A pointer that begins at a place that is kept as bytes, if there are any.
    pub(crate) fn pointer_in_bytes(&mut self, place: &Place) -> Option<Term> {
        let (at, _) = self.range(place, 1);
        let (_, pointers) = self.arrays(place);
        pointers.map(|key| t::select(self.current(key), at))
    }

    /// Writes what pointers begin at the bytes of a copied range.
    pub(crate) fn put_pointers(&mut self, place: &Place, count: u64, pointers: &[Option<Term>]) {
        let (at, condition) = self.range(place, count);
        let (_, Some(key)) = self.arrays(place) else { return };
        let encoding: Encoding = self.enc();
        let old = self.current(key);
        let mut new = old;
        for (i, pointer) in pointers.iter().enumerate() {
            if let Some(pointer) = pointer {
                new = t::store(new, encoding.sum([at, encoding.address(i as i128)]), *pointer);
            }
        }
        self.state.values.insert(key, t::ite(condition, new, old));
    }
}
