//! Objects and abstract addresses inside them. Knows layouts; must not know constraints.
//!
//! Elements of an array are one: a region says where an array lies in its object, and offsets in it are taken modulo the
//! element's size. Contents are kept per granule (as many bytes as a pointer has), so that accesses of any width overlap rightly.

use proofline_hir::{Name, Type, TypeKind, types::ArrayLength};

use proofline_cfa::{Object, Site, Types, index};
use rustc_hash::FxHashSet;

index! {
    /// An object, or a function.
    pub(crate) ObjectId "o",
    /// An interned address.
    pub(crate) AddressId "a",
    /// A set of addresses that is solved for.
    pub(crate) NodeId "n",
}

/// What an address can be an address of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) enum Thing {
    /// Memory. `External` stands for memory the program does not name, every escaped object and every escaped function.
    Memory(Object),
    /// A function with a body.
    Function(Name),
}

/// Memory outside, always the first thing.
pub(crate) const EXTERNAL: ObjectId = ObjectId(0);

/// What objects with static storage lead to where a function of a library is called: what earlier runs of its functions have left there. Unlike what
/// callers pass, it may have been freed or ended since, and need not have values; no caller answers for it.
pub(crate) fn left() -> Object {
    Object::Heap(Name::new("#left"), Site(0))
}

/// Beyond both ends of every object.
const LOW: i64 = -HIGH;
const HIGH: i64 = 1 << 60;

/// Elements beyond this are not looked at one by one.
const FEW: i64 = 256;

/// Arrays beyond this in one object are not told apart: records in records have exponentially many.
const MANY: usize = 1024;

/// Addresses `offset + i·step` (of `step` 0: one address) in an object. With a step, those in `start..end`. Without: `start..end` is the
/// array the pointer was made from, which it may not leave (C11 6.5.6p8) except by constants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) object: ObjectId,
    pub(crate) offset: i64,
    pub(crate) step: i64,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// A way from one address to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Move {
    /// Bytes.
    Bytes(i64),
    /// An index, known or not, into an array of known length or along a pointer.
    Index { stride: i64, length: Option<i64>, constant: Option<i64> },
}

/// An array in an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Region {
    start: i64,
    end: i64,
    period: i64,
}

/// Layout of an object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Shape {
    /// Bytes, if known.
    pub(crate) size: Option<i64>,
    /// Outer before inner; inner ones lie in the first element of outer ones.
    regions: Vec<Region>,
    /// There are too many arrays in it: whatever is not its beginning is anywhere in it.
    is_coarse: bool,
}

impl Address {
    /// The object's beginning.
    pub(crate) fn of(object: ObjectId) -> Address {
        Address { object, offset: 0, step: 0, start: LOW, end: HIGH }
    }

    /// Anywhere in the object.
    pub(crate) fn anywhere(object: ObjectId) -> Address {
        Address { object, offset: 0, step: 1, start: LOW, end: HIGH }
    }

    fn is_unbounded(self) -> bool {
        self.start == LOW && self.end == HIGH
    }

    /// All bytes that `size` bytes (`None`: any number) from this address on may be.
    pub(crate) fn span(self, size: Option<i64>) -> Address {
        let (start, end) = if self.step == 0 { (self.offset, self.offset) } else { (self.start, self.end) };
        let end = size.map_or(HIGH, |size| plus(end, size));
        Address { object: self.object, offset: start, step: 1, start, end }
    }
}

impl Shape {
    /// Of an object of the type.
    pub(crate) fn of(ty: Type, size: u64, types: Types<'_>) -> Shape {
        let size = i64::try_from(size).ok().filter(|size| *size > 0);
        let mut shape = Shape { size, ..Shape::default() };
        shape.add_regions(ty, 0, types, &mut FxHashSet::default());
        shape.is_coarse = shape.regions.len() > MANY;
        if shape.is_coarse {
            shape.regions.clear();
        }
        shape
    }

    /// Of an allocation of `size` bytes, or of any number of elements of `element` bytes.
    pub(crate) fn allocated(size: Option<i64>, element: Option<i64>) -> Shape {
        let regions = element.filter(|e| *e > 0).map(|period| Region { start: 0, end: HIGH, period });
        Shape { size, regions: regions.into_iter().collect(), is_coarse: false }
    }

    /// Adds the arrays in a part, or enough of them to see that they are too many. `plain` are records without any: members in them are
    /// passed over, so that the work is in proportion to what is added.
    fn add_regions(&mut self, ty: Type, base: i64, types: Types<'_>, plain: &mut FxHashSet<Name>) {
        if self.regions.len() > MANY {
            return;
        }
        match ty.kind() {
            TypeKind::Array(..) => {
                let (mut element, mut count) = (ty, 1i64);
                // Rows of rows are one array.
                while let TypeKind::Array(inner, length) = element.kind() {
                    let length = if let ArrayLength::Fixed(n) = length {
                        i64::try_from(*n).unwrap_or(HIGH)
                    } else {
                        0
                    };
                    count = count.saturating_mul(length);
                    element = *inner;
                }
                let period = types.size(element).and_then(|size| i64::try_from(size).ok()).unwrap_or(0);
                if count > 1 && period > 0 {
                    let end = plus(base, period.saturating_mul(count));
                    self.regions.push(Region { start: base, end, period });
                }
                if count > 0 {
                    self.add_regions(element, base, types, plain);
                }
            }
            TypeKind::Record(tag) => {
                // The members of a union overlap: nothing is said about arrays in them.
                let Some(record) = types.record(*tag).filter(|record| !record.is_union) else { return };
                if plain.contains(tag) {
                    return;
                }
                let before = self.regions.len();
                for field in &record.fields {
                    if let Ok(offset) = i64::try_from(field.offset) {
                        self.add_regions(field.ty, plus(base, offset), types, plain);
                    }
                }
                if self.regions.len() == before {
                    plain.insert(*tag);
                }
            }
            TypeKind::Void
            | TypeKind::Bool
            | TypeKind::Int(_)
            | TypeKind::Float(_)
            | TypeKind::Complex(_)
            | TypeKind::Pointer(_)
            | TypeKind::Function(_)
            | TypeKind::Enum(..)
            | TypeKind::Vector(..)
            | TypeKind::VaList
            | TypeKind::Error => {}
        }
    }

    /// The one offset that stands for all that are the same element's.
    pub(crate) fn normal(&self, mut offset: i64) -> i64 {
        for region in &self.regions {
            if region.start <= offset && offset < region.end {
                offset = region.start + (offset - region.start) % region.period;
            }
        }
        offset
    }

    /// Whether copying `size` bytes from a normal offset goes from the middle of an element into the next one.
    pub(crate) fn wraps(&self, offset: i64, size: Option<i64>) -> bool {
        let end = size.map_or(HIGH, |size| plus(offset, size));
        self.regions.iter().any(|region| {
            region.start < offset && offset < region.end && end > plus(region.start, region.period)
        })
    }

    /// Arrays with elements in the bytes `low..high`, outer before inner: beginning, end, element size.
    pub(crate) fn arrays_in(&self, low: i64, high: i64) -> Vec<(i64, i64, i64)> {
        let inside =
            |region: &&Region| region.start < high && low < region.end.min(plus(region.start, region.period));
        self.regions.iter().filter(inside).map(|region| (region.start, region.end, region.period)).collect()
    }

    /// Follows the way; `granule` is the size of a pointer.
    pub(crate) fn follow(&self, from: Address, path: &[Move], granule: i64) -> Address {
        let mut at = from;
        let mut in_rows = false;
        for step in path {
            at = self.step(at, *step, in_rows, granule);
            in_rows = matches!(step, Move::Index { length: Some(_), .. });
        }
        at
    }

    fn step(&self, at: Address, step: Move, in_rows: bool, granule: i64) -> Address {
        match step {
            Move::Bytes(0) => at,
            Move::Bytes(bytes) => self.shifted(at, bytes, granule),
            Move::Index { stride, length, constant } => {
                let row = length
                    .filter(|n| *n > 1 && stride > 0 && at.step == 0)
                    .map(|n| (at.offset, plus(at.offset, stride.saturating_mul(n))));
                let mut to = at;
                // From a row one may go on into the next: people do.
                if let Some((start, end)) = row.filter(|_| !in_rows) {
                    (to.start, to.end) = (start, end);
                }
                match constant {
                    Some(0) => self.canonical(to, granule),
                    // A member's element; bytes from a pointer to a member back to its record.
                    Some(index) if length.is_some() || (stride == 1 && !(-1..=1).contains(&index)) => {
                        self.indexed(to, index.saturating_mul(stride), granule)
                    }
                    // Along a pointer also by constants: loops do that, too.
                    Some(_) | None => self.strided(to, stride, row, length, granule),
                }
            }
        }
    }

    /// By a known index; leaves the array only if the index does.
    fn indexed(&self, at: Address, bytes: i64, granule: i64) -> Address {
        if at.step != 0 {
            return self.shifted(at, bytes, granule);
        }
        let mut to = at;
        to.offset = plus(at.offset, bytes);
        if to.offset < at.start || to.offset > at.end {
            (to.start, to.end) = (LOW, HIGH);
        }
        self.canonical(to, granule)
    }

    fn shifted(&self, at: Address, bytes: i64, granule: i64) -> Address {
        let mut to = at;
        to.offset = plus(to.offset, bytes);
        if at.step == 0 {
            (to.start, to.end) = (LOW, HIGH);
        } else if !at.is_unbounded() {
            to.start = plus(to.start, bytes);
            to.end = plus(to.end, bytes);
        }
        self.canonical(to, granule)
    }

    /// `at` plus any number of strides: in the row if it is known, else where `at` may go at all.
    fn strided(
        &self,
        at: Address,
        stride: i64,
        row: Option<(i64, i64)>,
        length: Option<i64>,
        granule: i64,
    ) -> Address {
        if stride <= 0 {
            return Address::anywhere(at.object);
        }
        let mut to = at;
        if at.step == 0 {
            let (start, end) = row.unwrap_or((at.start, at.end));
            if self.is_one_element(at.offset, stride, start, end) {
                return self.canonical(to, granule);
            }
            to.step = stride;
            (to.start, to.end) = (at.start.min(start), at.end.max(end));
        } else {
            to.step = gcd(at.step, stride);
            if let Some(length) = length {
                to.end = plus(to.end, stride.saturating_mul(length));
            }
        }
        self.canonical(to, granule)
    }

    /// Whether everything `stride` apart from the normal offset in `start..end` has the same normal offset.
    fn is_one_element(&self, offset: i64, stride: i64, start: i64, end: i64) -> bool {
        let (low, high) = (start.max(0), end.min(self.size.unwrap_or(HIGH)));
        let covers = |region: &Region| {
            stride % region.period == 0
                && region.start <= low
                && high <= region.end
                && region.start <= offset
                && offset < plus(region.start, region.period)
        };
        if self.regions.iter().any(covers) {
            return true;
        }
        if low > high || (high - low) / stride > FEW {
            return false;
        }
        let mut at = low + (offset - low).rem_euclid(stride);
        while at < high {
            if self.normal(at) != offset {
                return false;
            }
            at += stride;
        }
        true
    }

    /// One form for addresses that mean the same.
    pub(crate) fn canonical(&self, mut at: Address, granule: i64) -> Address {
        if self.is_coarse {
            return Address::anywhere(at.object);
        }
        if at.start <= 0 && self.size.is_some_and(|size| size <= at.end) {
            (at.start, at.end) = (LOW, HIGH);
        }
        if at.step == 0 {
            at.offset = self.normal(at.offset);
            if at.start != LOW && at.end != HIGH {
                let length = at.end - at.start;
                at.start = self.normal(at.start);
                at.end = plus(at.start, length);
            }
            return at;
        }
        let overlaps = |region: &&Region| region.start < at.end && at.start < region.end;
        let mut inside = self.regions.iter().filter(overlaps).peekable();
        if inside.peek().is_some() || at.step < granule {
            at.step = 1;
        }
        if let Some(first) = inside.map(|region| region.start).min() {
            // What stands for the elements are the first ones.
            at.start = at.start.min(first);
        }
        at.offset = match (at.step, at.start) {
            (1, LOW) => 0,
            (1, start) => start,
            (step, LOW) => at.offset.rem_euclid(step),
            (step, start) => start + (at.offset - start).rem_euclid(step),
        };
        at
    }

    /// Whether an access of `size` bytes at the address (with a step) may touch the granule.
    pub(crate) fn touches(&self, at: Address, size: i64, granule: i64, width: i64) -> bool {
        let (low, high) = (granule * width, (granule + 1) * width);
        let first = at.start.max((low - size).saturating_add(1));
        let last = at.end.min(high).saturating_sub(1);
        if first > last {
            return false;
        }
        at.step <= 1 || plus(first, (at.offset - first).rem_euclid(at.step)) <= last
    }

    /// Whether accesses of so many bytes at the two addresses (of which a single one is one with its own bounds) may overlap.
    pub(crate) fn overlap(&self, a: Address, a_size: i64, b: Address, b_size: i64) -> bool {
        if a.start >= plus(b.end, b_size - 1) || b.start >= plus(a.end, a_size - 1) {
            return false;
        }
        let step = gcd(a.step, b.step);
        if step <= 1 {
            return true;
        }
        let distance = (b.offset - a.offset).rem_euclid(step);
        distance < a_size || step - distance < b_size
    }

    /// The granules that an access of `size` bytes at a single address touches.
    pub(crate) fn granules(&self, offset: i64, size: i64, width: i64) -> Vec<i64> {
        let offset = offset.max(0);
        let mut end = plus(offset, size.max(1));
        if let Some(size) = self.size {
            end = end.min(size);
        }
        if self.regions.is_empty() {
            return if offset < end { (offset / width..=(end - 1) / width).collect() } else { Vec::new() };
        }
        let mut found: Vec<i64> = (offset..end).map(|byte| self.normal(byte) / width).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Sum, with the ends of everything staying where they are.
fn plus(a: i64, b: i64) -> i64 {
    if a == LOW || a == HIGH { a } else { a.saturating_add(b).clamp(LOW, HIGH) }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
