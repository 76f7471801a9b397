//! Reads and writes of a region at places that are known only as a set: every place may be the one. Knows no objects and no expressions.

use crate::store::{
    offsets::Offsets,
    region::{Access, Cell, Content, Region},
    value::{Abstract, AbstractValue, join_all},
};

/// So many places are visited one by one.
const EACH: u64 = 16;
/// So many places are read one by one.
const EACH_READ: u64 = 64;

impl<V: AbstractValue> Region<V> {
    /// Writes a scalar at one of the places `offsets` (bytes), the value's start being `access.start` (bits) from there.
    pub fn write_somewhere(&mut self, offsets: Offsets, access: Access, value: Abstract<&V>) {
        if self.is_unknown() {
            return;
        }
        let Abstract::Of(value) = value else {
            self.scramble(offsets.lo * 8 + access.start, offsets.hi * 8 + access.start + access.room);
            return;
        };
        // A zero more takes no zero away.
        let ends = self.ends().filter(|_| value.is_zero());
        if offsets.count() <= EACH {
            for offset in offsets.iter() {
                self.write_perhaps(access.at(offset * 8 + access.start), value);
            }
            if ends.is_some() {
                self.set_ends(ends);
            }
            return;
        }
        let pattern = Pattern {
            from: offsets.lo * 8 + access.start,
            to: offsets.hi * 8 + access.start + access.room,
            step: offsets.step as i64 * 8,
            access,
        };
        let mut written = self.empty();
        for cell in self.overlapping(pattern.from, pattern.to) {
            let (from, to) = (cell.start.max(pattern.from), cell.end().min(pattern.to));
            written.push_padded(from, to, pattern.write_cell(cell, value));
        }
        let cells: Vec<Cell<V>> = written.cells().to_vec();
        self.replace(pattern.from, pattern.to, cells);
        if ends.is_some() {
            self.set_ends(ends);
        }
    }

    /// Writes a scalar here, or not.
    fn write_perhaps(&mut self, at: Access, value: &V) {
        match self.read(at).and_then(|old| old.join(value, at.scalar)) {
            // A write may change the padding.
            joined @ Abstract::Of(_) => self.write(at, joined),
            Abstract::Any => self.scramble(at.start, at.start + at.room),
        }
    }

    /// Reads a scalar at one of the places.
    pub fn read_somewhere(&self, offsets: Offsets, access: Access) -> Abstract<V> {
        if offsets.count() <= EACH_READ {
            let reads = offsets.iter().map(|offset| self.read(access.at(offset * 8 + access.start)));
            return join_all(reads, access.scalar);
        }
        let values = self.values_in(offsets, access).unwrap_or_default();
        join_all(values.into_iter().map(Abstract::Of), access.scalar)
    }

    /// The values of the cells that places cover, where every scalar read there is one of them; `None`: one may be anything.
    fn values_in(&self, offsets: Offsets, access: Access) -> Option<Vec<V>> {
        let mut values = Vec::new();
        let (from, to) = (offsets.lo * 8 + access.start, offsets.hi * 8 + access.start + access.len);
        let mut position = from;
        for cell in self.overlapping(from, to) {
            if cell.start > position {
                return None;
            }
            match &cell.content {
                Content::Any => return None,
                Content::Zero => {
                    // A scalar that lies partly in here and partly in the next cell is put together by neither.
                    let ragged = |edge: i64| {
                        (edge - from) % access.len != 0 || offsets.step as i64 * 8 % access.len != 0
                    };
                    if cell.end() < to && ragged(cell.end()) || cell.start > from && ragged(cell.start) {
                        return None;
                    }
                    values.push(V::zero(access.scalar));
                }
                Content::Each(scalar, item, value) => {
                    let aligned = (from - cell.start) % item == 0 && offsets.step as i64 * 8 % item == 0;
                    if *scalar != access.scalar || *item != access.len || !aligned {
                        return None;
                    }
                    values.push(value.clone());
                }
            }
            position = cell.end();
        }
        (position >= to).then_some(values)
    }
}

/// Many places, `step` bits apart.
struct Pattern {
    from: i64,
    to: i64,
    step: i64,
    access: Access,
}

impl Pattern {
    /// What is known of the part of a cell between the first and the last place after one of them was written.
    fn write_cell<V: AbstractValue>(&self, cell: &Cell<V>, value: &V) -> Option<Cell<V>> {
        let Access { len, room, scalar, .. } = self.access;
        let part = cell.within(self.from, self.to)?;
        match &cell.content {
            Content::Any => None,
            Content::Zero if value.is_zero() && len == room => Some(part),
            Content::Zero => {
                if self.step != len || len != room {
                    return None;
                }
                let joined = V::zero(scalar).join(value, scalar).known()?;
                let start = self.from + (part.start - self.from + len - 1) / len * len;
                let end = self.from + (part.end() - self.from).div_euclid(len) * len;
                (start < end).then(|| Cell {
                    start,
                    len: end - start,
                    content: Content::Each(scalar, len, joined),
                })
            }
            Content::Each(of, item, old) => {
                if *item == part.len && self.misses(&part) {
                    return Some(part);
                }
                let aligned = (part.start - self.from) % len == 0 && self.step % len == 0;
                if *of != scalar || *item != len || len != room || !aligned {
                    return None;
                }
                Some(Cell { content: Content::Each(scalar, len, old.join(value, scalar).known()?), ..part })
            }
        }
    }

    /// Whether no place overlaps the cell.
    fn misses<V>(&self, cell: &Cell<V>) -> bool {
        let residue = (cell.start - self.from).rem_euclid(self.step);
        residue >= self.access.room && residue + cell.len <= self.step
    }
}
