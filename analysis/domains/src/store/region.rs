//! The known bytes of one object: disjoint cells in order of their position, everything else unknown. Positions are in bits,
//! so that bit-fields are cells like others. Knows no objects, pointers or expressions.
//!
//! Canonical: a cell whose bits are all zero is [`Content::Zero`]; neighbours that one cell can say are one cell. Hence equal
//! knowledge is (nearly always) equal data.

use proofline_cfa::Scalar;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::store::value::{Abstract, AbstractValue};

/// What a run of bits holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Content<V> {
    /// Zero bits.
    Zero,
    /// Scalars of this format and this many bits each, side by side, each in the value.
    Each(Scalar, i64, V),
    /// Any bits, but each of them has a value. Only in regions that [track](Region::tracking) this; what no cell says may be indeterminate there.
    Any,
}

/// A run of bits.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Cell<V> {
    /// First bit, from the object's start.
    pub start: i64,
    /// Number of bits; of [`Content::Each`] a multiple of an item's.
    pub len: i64,
    /// What it holds.
    pub content: Content<V>,
}

/// Where a string ends: of the characters of `item` bits that begin at `first`, `first + item`, … up to `last`, one is 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ends {
    /// Where the first of them begins, in bits.
    pub first: i64,
    /// Where the last of them begins.
    pub last: i64,
    /// Bits of a character.
    pub item: i64,
}

impl Ends {
    /// Whether a write to these bits may change one of the characters.
    fn overlaps(&self, from: i64, to: i64) -> bool {
        from < self.last.saturating_add(self.item) && self.first < to
    }

    /// Whether the characters of this one are among those of the other.
    pub fn is_within(&self, other: &Ends) -> bool {
        self.item == other.item
            && self.first >= other.first
            && self.last <= other.last
            && (self.first - other.first) % self.item == 0
    }
}

/// Known bytes of an object.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Region<V> {
    cells: SmallVec<[Cell<V>; 1]>,
    /// A zero that the cells do not say.
    ends: Option<Ends>,
    /// A cell, or the absence of one, says whether bits have a value, whatever it is.
    tracks: bool,
}

impl<V> Default for Region<V> {
    fn default() -> Region<V> {
        Region { cells: SmallVec::new(), ends: None, tracks: false }
    }
}

impl<V: AbstractValue> Content<V> {
    fn of(scalar: Scalar, item: i64, value: V) -> Content<V> {
        if value.is_zero() { Content::Zero } else { Content::Each(scalar, item, value) }
    }
}

impl<V: AbstractValue> Cell<V> {
    /// One past the last bit.
    pub fn end(&self) -> i64 {
        self.start + self.len
    }

    /// The part between two positions that still can be said: whole items only.
    pub fn within(&self, from: i64, to: i64) -> Option<Cell<V>> {
        let (mut start, mut end) = (self.start.max(from), self.end().min(to));
        // Checked before anything is added: positions may be as far away as numbers go.
        if start >= end {
            return None;
        }
        if let Content::Each(_, item, _) = self.content {
            start = self.start + (start - self.start + item - 1) / item * item;
            end = self.start + (end - self.start).div_euclid(item) * item;
        }
        (start < end).then(|| Cell { start, len: end - start, content: self.content.clone() })
    }
}

impl<V: AbstractValue> Region<V> {
    /// Nothing known.
    pub fn unknown() -> Region<V> {
        Region::default()
    }

    /// Nothing known of bits that may be indeterminate: it is kept which of them have a value.
    pub fn tracking() -> Region<V> {
        Region { tracks: true, ..Region::default() }
    }

    /// Nothing known, of the same kind.
    pub(super) fn empty(&self) -> Region<V> {
        Region { tracks: self.tracks, ..Region::default() }
    }

    /// Whether it is kept which bits have a value.
    pub fn tracks(&self) -> bool {
        self.tracks
    }

    /// Zero bits from 0 to `len`.
    pub fn zeroed(len: i64) -> Region<V> {
        let mut region = Region::unknown();
        region.push(Cell { start: 0, len, content: Content::Zero });
        region
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        self.cells.is_empty() && self.ends.is_none()
    }

    /// A zero that no cell says.
    pub fn ends(&self) -> Option<Ends> {
        self.ends
    }

    /// One of these characters is 0.
    pub fn set_ends(&mut self, ends: Option<Ends>) {
        self.ends = ends;
    }

    /// What is known, in order.
    pub fn cells(&self) -> &[Cell<V>] {
        &self.cells
    }

    /// Appends a cell behind all others, merging it with the last one where one cell can say both.
    pub(super) fn push(&mut self, cell: Cell<V>) {
        if cell.len <= 0 {
            return;
        }
        if let Some(last) = self.cells.last_mut()
            && last.end() == cell.start
            && last.content == cell.content
        {
            last.len += cell.len;
            return;
        }
        self.cells.push(cell);
    }

    /// Index of the first cell that ends behind `position`.
    fn first_after(&self, position: i64) -> usize {
        self.cells.partition_point(|cell| cell.end() <= position)
    }

    /// The cells that overlap `from..to`.
    pub fn overlapping(&self, from: i64, to: i64) -> &[Cell<V>] {
        let first = self.first_after(from);
        let count = self.cells[first..].iter().take_while(|cell| cell.start < to).count();
        &self.cells[first..first + count]
    }

    /// The known parts between two positions.
    pub fn slice(&self, from: i64, to: i64) -> Vec<Cell<V>> {
        let mut part = self.empty();
        self.overlapping(from, to).iter().for_each(|cell| part.push_clipped(cell, from, to));
        part.cells.into_vec()
    }

    /// Appends what still can be said of the part of a cell between two positions.
    fn push_clipped(&mut self, cell: &Cell<V>, from: i64, to: i64) {
        let (from, to) = (cell.start.max(from), cell.end().min(to));
        if from < to {
            self.push_padded(from, to, cell.within(from, to));
        }
    }

    /// Appends a cell that lies in `from..to`, all of which has a value.
    pub(super) fn push_padded(&mut self, from: i64, to: i64, cell: Option<Cell<V>>) {
        if !self.tracks {
            cell.into_iter().for_each(|cell| self.push(cell));
            return;
        }
        let any = |start: i64, end: i64| Cell { start, len: end - start, content: Content::Any };
        match cell.filter(|cell| cell.len > 0) {
            None => self.push(any(from, to)),
            Some(cell) => {
                let (start, end) = (cell.start, cell.end());
                self.push(any(from, start));
                self.push(cell);
                self.push(any(end, to));
            }
        }
    }

    /// Whether all bits of `from..to` certainly have a value.
    pub fn has_values(&self, from: i64, to: i64) -> bool {
        let mut position = from;
        for cell in self.overlapping(from, to) {
            if cell.start > position {
                return false;
            }
            position = cell.end();
        }
        position >= to
    }

    /// Replaces what is known of `from..to` by `cells`, which lie in there, in order.
    pub fn replace(&mut self, from: i64, to: i64, cells: impl IntoIterator<Item = Cell<V>>) {
        if from >= to {
            return;
        }
        self.ends = self.ends.filter(|ends| !ends.overlaps(from, to));
        let first = self.first_after(from);
        let last = first + self.cells[first..].iter().take_while(|cell| cell.start < to).count();
        // Neighbours take part, because they may merge with what comes beside them.
        let (keep, resume) = (first.saturating_sub(1), (last + 1).min(self.cells.len()));
        let mut middle = self.empty();
        for cell in &self.cells[keep..first] {
            middle.push(cell.clone());
        }
        for cell in &self.cells[first..last] {
            middle.push_clipped(cell, i64::MIN, from);
        }
        let is_said = |cell: &Cell<V>| self.tracks || cell.content != Content::Any;
        cells.into_iter().filter(is_said).for_each(|cell| middle.push(cell));
        for cell in &self.cells[first..last] {
            middle.push_clipped(cell, to, i64::MAX);
        }
        for cell in &self.cells[last..resume] {
            middle.push(cell.clone());
        }
        if keep == 0 && resume == self.cells.len() {
            self.cells = middle.cells;
        } else {
            let tail: SmallVec<[Cell<V>; 4]> = self.cells.drain(resume..).collect();
            self.cells.truncate(keep);
            self.cells.extend(middle.cells);
            self.cells.extend(tail);
        }
    }

    /// Puts cells where they say they are.
    pub fn replace_each(&mut self, cells: Vec<Cell<V>>) {
        for cell in cells {
            self.replace(cell.start, cell.end(), Some(cell));
        }
    }

    /// Forgets `from..to`.
    pub fn forget(&mut self, from: i64, to: i64) {
        self.ends = self.ends.filter(|ends| !ends.overlaps(from, to));
        if !self.overlapping(from, to).is_empty() {
            self.replace(from, to, None);
        }
    }

    /// Bits in `from..to` may have changed to anything: those that had a value still have one.
    pub fn scramble(&mut self, from: i64, to: i64) {
        if !self.tracks {
            return self.forget(from, to);
        }
        self.ends = self.ends.filter(|ends| !ends.overlaps(from, to));
        let spans = self.overlapping(from, to).iter().map(|cell| (cell.start.max(from), cell.end().min(to)));
        let cells = spans.map(|(start, end)| Cell { start, len: end - start, content: Content::Any });
        let cells: Vec<Cell<V>> = cells.collect();
        if !cells.is_empty() {
            self.replace(from, to, cells);
        }
    }

    /// Each of the bits in `from..to` is found to have a value, which nothing changed.
    pub fn give(&mut self, from: i64, to: i64) {
        if !self.tracks || self.has_values(from, to) {
            return;
        }
        let (known, ends) = (self.slice(from, to), self.ends);
        self.write_any(from, to);
        self.replace_each(known);
        self.ends = ends;
    }

    /// Each of the bits in `from..to` has a value, which may be any.
    pub fn write_any(&mut self, from: i64, to: i64) {
        if self.tracks && from < to {
            self.replace(from, to, Some(Cell { start: from, len: to - from, content: Content::Any }));
        } else {
            self.forget(from, to);
        }
    }

    /// Writes a scalar whose value takes `at.len` of the `at.room` bits that become its own.
    pub fn write(&mut self, at: Access, value: Abstract<V>) {
        let content = value.known().map_or(Content::Any, |value| Content::of(at.scalar, at.len, value));
        let cell = Cell { start: at.start, len: at.len, content };
        self.replace(at.start, at.start + at.room, Some(cell));
    }

    /// Zero bits in `from..to`.
    pub fn write_zeros(&mut self, from: i64, to: i64) {
        let ends = self.ends;
        self.replace(from, to, Some(Cell { start: from, len: to - from, content: Content::Zero }));
        self.ends = ends;
    }

    /// Copies of one byte in `from..to`.
    pub fn write_bytes(&mut self, from: i64, to: i64, scalar: Scalar, byte: V) {
        let cell = Cell { start: from, len: (to - from) / 8 * 8, content: Content::of(scalar, 8, byte) };
        self.replace(from, to, Some(cell));
    }

    /// Reads a scalar.
    pub fn read(&self, at: Access) -> Abstract<V> {
        let end = at.start + at.len;
        let cells = self.overlapping(at.start, end);
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else { return Abstract::Any };
        if first.start > at.start || last.end() < end {
            return Abstract::Any;
        }
        if let [cell] = cells {
            match &cell.content {
                Content::Zero => return Abstract::Of(V::zero(at.scalar)),
                Content::Each(scalar, item, value)
                    if *item == at.len && (at.start - cell.start) % item == 0 =>
                {
                    return if *scalar == at.scalar {
                        Abstract::Of(value.clone())
                    } else {
                        value.reinterpret(*scalar, at.scalar, at.len)
                    };
                }
                Content::Each(..) => {}
                Content::Any => return Abstract::Any,
            }
        }
        match self.gather(at, cells) {
            Some(bits) => V::from_bits(at.scalar, at.len, bits),
            None => Abstract::Any,
        }
    }

    /// Puts the bits of a scalar together from cells of other shapes, where all of them are known.
    fn gather(&self, at: Access, cells: &[Cell<V>]) -> Option<u128> {
        if at.len > 128 {
            return None;
        }
        let (mut bits, mut position, end) = (0u128, at.start, at.start + at.len);
        for cell in cells {
            if cell.start > position {
                return None;
            }
            match &cell.content {
                Content::Zero => position = cell.end().min(end),
                Content::Any => return None,
                Content::Each(scalar, item, value) => {
                    let known = value.bits(*scalar, *item)?;
                    while position < cell.end().min(end) {
                        let skipped = (position - cell.start) % item;
                        let taken = (item - skipped).min(end - position);
                        let part = known >> skipped & mask(taken);
                        bits |= part << (position - at.start);
                        position += taken;
                    }
                }
            }
        }
        (position >= end).then_some(bits)
    }

    /// Whether nothing but a scalar of exactly this place and format, or nothing at all, is known of these bits: then learning
    /// its value loses nothing.
    pub fn can_learn(&self, at: Access) -> bool {
        self.overlapping(at.start, at.start + at.len).iter().all(|cell| match &cell.content {
            Content::Zero => false,
            Content::Any => true,
            Content::Each(scalar, item, _) => {
                *scalar == at.scalar && *item == at.len && (at.start - cell.start) % item == 0
            }
        })
    }
}

/// A scalar's place in a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// First bit.
    pub start: i64,
    /// Bits of the value.
    pub len: i64,
    /// Bits that a write makes its own: those of the value and its padding.
    pub room: i64,
    /// Format.
    pub scalar: Scalar,
}

impl Access {
    /// The same elsewhere.
    pub fn at(self, start: i64) -> Access {
        Access { start, ..self }
    }
}

fn mask(bits: i64) -> u128 {
    if bits >= 128 { u128::MAX } else { (1u128 << bits) - 1 }
}
