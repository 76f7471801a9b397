//! Memory of a running program: objects at concrete addresses, byte by byte. Knows nothing of automata.
//!
//! Provenance is in the addresses. Each object lies in the middle of a slot of its own; an address in a slot is one of its object's,
//! whether it points into the object or beside it. A pointer that is moved out of its slot has no meaning here, so whoever moves pointers asks
//! [`Memory::is_same_slot`]. Slots are not used again while there are new ones, so what pointed to an object that has ended points to
//! nothing else.

mod links;

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{Object, register};
use proofline_syntax::DataModel;

use links::Links;

/// Why an access is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// Not inside one live object.
    Outside,
    /// The address space is used up.
    Exhausted,
}

/// An object's place and bytes.
pub(super) struct Buffers<'m> {
    pub(super) base: u64,
    pub(super) slot: std::ops::Range<u64>,
    pub(super) bytes: &'m mut [u8],
    pub(super) known: &'m mut [u8],
}

/// One object.
#[derive(Clone, Debug)]
struct Block {
    /// Where its slot begins.
    start: u64,
    base: u64,
    /// Where its slot ends.
    end: u64,
    bytes: Vec<u8>,
    /// The bits that have been written.
    known: Vec<u8>,
    /// Bytes that are not known because their value is not modelled: what a run reads there is a guess. Empty: none.
    unmodelled: Vec<bool>,
    /// Bytes that were given a value which is not known yet: what was read from a file, what a library function wrote. Empty: none.
    given: Vec<bool>,
    /// Bytes of addresses, whose numbers are no program's to know. Machine code does not note them. Empty: none.
    addresses: Vec<bool>,
    /// Which unknown value each byte has, by its number; 0: one of its own. Empty: all do.
    links: Vec<u32>,
    object: Object,
}

impl PartialEq for Block {
    fn eq(&self, other: &Block) -> bool {
        (self.start, self.base, self.end, self.object) == (other.start, other.base, other.end, other.object)
            && (&self.bytes, &self.known) == (&other.bytes, &other.known)
            && (&self.unmodelled, &self.given) == (&other.unmodelled, &other.given)
            && self.links == other.links
    }
}

/// All objects that are alive. A copy shares them until one side writes.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// In no order.
    blocks: Vec<Arc<Block>>,
    /// Where each is among the blocks, by the start of its slot.
    index: BTreeMap<u64, u32>,
    /// The slot used last, and where its block is: most accesses hit the same object again.
    recent: (std::ops::Range<u64>, u32),
    areas: [Range; 3],
    live_bytes: u64,
    /// The objects that have ended, where somebody wants to know.
    ended: Option<Vec<Extent>>,
    links: Links,
    /// There were more copies of unknown bytes than are followed.
    has_lost_links: bool,
}

/// Where an object is put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Area {
    /// Static storage.
    Static = 0,
    /// Heap.
    Heap = 1,
    /// Frames.
    Stack = 2,
}

impl Area {
    const ALL: [Area; 3] = [Area::Static, Area::Heap, Area::Stack];
}

/// The addresses of an area.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    limit: u64,
    /// Where the next slot starts.
    next: u64,
    /// So many slots still get a wide margin.
    wide: u32,
    /// Bytes before and behind an object in its slot: of the first slots, and of later ones.
    margins: [u64; 2],
    /// Every address was used once: slots of objects that have ended are used again.
    is_full: bool,
}

/// What an address is one of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Provenance {
    /// Of a live object.
    Live(Extent),
    /// Of an object of this area that has ended.
    Ended(Area),
    /// Of none: null, a function, a number.
    Nothing,
}

/// An object's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub(crate) object: Object,
    pub(super) area: Area,
    pub(crate) base: u64,
    pub(crate) size: u64,
}

/// More than this in one object, or in all, is refused: an analysis must not bring the machine down.
const LARGEST: u64 = 1 << 26;
const TOTAL: u64 = 1 << 28;

impl Memory {
    /// Empty memory of a machine with this data model.
    pub(super) fn new(model: DataModel) -> Memory {
        let area =
            |start, limit, wide, margins| Range { start, limit, next: start, wide, margins, is_full: false };
        let areas = match model {
            DataModel::Lp64 => [
                area(0x40_0000, 0x1000_0000_0000, 1 << 14, [1 << 27, 1 << 16]),
                area(0x1000_0000_0000, 0x4000_0000_0000, 1 << 16, [1 << 27, 1 << 17]),
                area(0x4000_0000_0000, 0x7fff_0000_0000, 1 << 16, [1 << 27, 1 << 17]),
            ],
            DataModel::Ilp32 => [
                area(0x804_8000, 0x2000_0000, 1 << 11, [1 << 15, 1 << 8]),
                area(0x2000_0000, 0x8000_0000, 1 << 12, [1 << 15, 1 << 9]),
                area(0x8000_0000, 0xf000_0000, 1 << 12, [1 << 15, 1 << 9]),
            ],
        };
        Memory {
            blocks: Vec::new(),
            index: BTreeMap::new(),
            recent: (0..0, 0),
            areas,
            live_bytes: 0,
            ended: None,
            links: Links::default(),
            has_lost_links: false,
        }
    }

    /// A fresh object; its bytes are unknown.
    pub(super) fn allocate(&mut self, area: Area, size: u64, object: Object) -> Result<u64, Fault> {
        if size > LARGEST || self.live_bytes + size > TOTAL {
            return Err(Fault::Exhausted);
        }
        let (start, base, end) = self.slot(area, size)?;
        self.live_bytes += size;
        let empty = vec![0; size as usize];
        let block = Block {
            start,
            base,
            end,
            bytes: empty.clone(),
            known: empty,
            unmodelled: Vec::new(),
            given: Vec::new(),
            addresses: Vec::new(),
            links: Vec::new(),
            object,
        };
        self.index.insert(start, self.blocks.len() as u32);
        self.blocks.push(Arc::new(block));
        Ok(base)
    }

    /// Where slots of heap objects that are allocated from now on lie: from this address on. `None`: slots are used again.
    pub(super) fn next_on_heap(&self) -> Option<u64> {
        let range = &self.areas[Area::Heap as usize];
        (!range.is_full).then_some(range.next)
    }

    /// Start of a slot, of its object, and its end.
    fn slot(&mut self, area: Area, size: u64) -> Result<(u64, u64, u64), Fault> {
        let range = &mut self.areas[area as usize];
        let margin = range.margins[usize::from(range.wide == 0)];
        range.wide = range.wide.saturating_sub(1);
        let length = (size + 2 * margin).next_multiple_of(16);
        if range.next + length > range.limit {
            range.is_full = true;
            range.next = range.start;
        }
        if range.is_full {
            let (mut at, limit) = (range.next, range.limit);
            while let Some(end) = self.overlapped(at, length) {
                at = end;
            }
            if at + length > limit {
                return Err(Fault::Exhausted);
            }
            self.areas[area as usize].next = at;
        }
        let range = &mut self.areas[area as usize];
        let start = range.next;
        range.next += length;
        Ok((start, start + margin, start + length))
    }

    /// Where the slot ends that has some of the bytes.
    fn overlapped(&self, at: u64, length: u64) -> Option<u64> {
        let (_, &found) = self.index.range(..at + length).next_back()?;
        let end = self.blocks[found as usize].end;
        (end > at).then_some(end)
    }

    /// From now on objects that end are remembered.
    pub(super) fn remember_ended(&mut self) {
        self.ended = Some(Vec::new());
    }

    /// Where the objects of at most so many bytes are, and what they hold.
    pub(super) fn small_objects(&self, most: usize) -> impl Iterator<Item = (u64, &[u8])> {
        let small = self.blocks.iter().filter(move |block| block.bytes.len() <= most);
        small.map(|block| (block.base, block.bytes.as_slice()))
    }

    /// Every object that is alive or was remembered.
    pub(super) fn all(&self) -> Vec<Extent> {
        self.live().chain(self.ended.iter().flatten().copied()).collect()
    }

    /// Ends the life of the object that starts there.
    pub(super) fn release(&mut self, base: u64) -> bool {
        let Some(at) = self.find(base) else { return false };
        if self.ended.is_some()
            && let Provenance::Live(extent) = self.provenance(base)
        {
            self.ended.iter_mut().for_each(|ended| ended.push(extent));
        }
        let block = self.blocks.swap_remove(at as usize);
        self.index.remove(&block.start);
        if let Some(moved) = self.blocks.get(at as usize) {
            self.index.insert(moved.start, at);
        }
        self.recent = (0..0, 0);
        self.live_bytes -= block.bytes.len() as u64;
        true
    }

    /// Where the live object is whose slot has the address.
    fn find(&self, address: u64) -> Option<u32> {
        let (slot, at) = &self.recent;
        if slot.contains(&address) {
            return Some(*at);
        }
        let (_, &at) = self.index.range(..=address).next_back()?;
        (address < self.blocks[at as usize].end).then_some(at)
    }

    /// The live object whose slot has the address.
    fn slot_of(&self, address: u64) -> Option<&Block> {
        self.find(address).map(|at| &*self.blocks[at as usize])
    }

    /// What the address is one of.
    pub(super) fn provenance(&self, address: u64) -> Provenance {
        let used = |area: &&Area| {
            let range = &self.areas[**area as usize];
            let end = if range.is_full { range.limit } else { range.next };
            (range.start..end).contains(&address)
        };
        let Some(&area) = Area::ALL.iter().find(used) else { return Provenance::Nothing };
        match self.slot_of(address) {
            Some(block) => {
                let size = block.bytes.len() as u64;
                Provenance::Live(Extent { object: block.object, area, base: block.base, size })
            }
            None => Provenance::Ended(area),
        }
    }

    /// The object that holds the address, its base and size; one past its end counts.
    pub(super) fn object_at(&self, address: u64) -> Option<(Object, u64, u64)> {
        let block = self.slot_of(address)?;
        let size = block.bytes.len() as u64;
        let is_in = address >= block.base && address - block.base <= size;
        is_in.then_some((block.object, block.base, size))
    }

    /// Addresses that are no objects' lie before the first of these; two of those behind it that are nearer to each other than the second are of one
    /// object, unless they have left theirs.
    pub(super) fn neighbourhood(&self) -> (u64, u64) {
        let near = self.areas.iter().map(|range| range.margins[1]).min();
        (self.areas[Area::Static as usize].start, near.unwrap_or(0))
    }

    /// Whether two addresses compare in the same way wherever objects lie, for being equal or in their order. One past the end of an object may be
    /// where another one begins, an object that has ended may have been where another one is, and literals may share their bytes.
    pub(super) fn is_comparable(&self, is_order: bool, one: u64, other: u64) -> bool {
        if one == other {
            return true;
        }
        if one == 0 || other == 0 {
            return !is_order;
        }
        let (start, near) = self.neighbourhood();
        if one >= start && other >= start && one.abs_diff(other) < near {
            return true;
        }
        let is_inside = |extent: Extent, address: u64| address.wrapping_sub(extent.base) < extent.size;
        let is_literal = |extent: Extent| matches!(extent.object, Object::Global(name) if name.contains('"'));
        let is_register = |extent: Extent| matches!(extent.object, Object::Global(name) if register::pointer(name).is_some());
        match [self.provenance(one), self.provenance(other)] {
            [Provenance::Live(a), Provenance::Live(b)] if a.base == b.base => true,
            _ if is_order => false,
            [Provenance::Live(a), Provenance::Live(b)] => {
                is_inside(a, one) && is_inside(b, other) && !(is_literal(a) && is_literal(b))
            }
            // Functions, and numbers where no object is, but perhaps a register.
            [Provenance::Nothing, Provenance::Nothing] => true,
            [Provenance::Live(a), Provenance::Nothing] => is_inside(a, one) && !is_register(a),
            [Provenance::Nothing, Provenance::Live(b)] => is_inside(b, other) && !is_register(b),
            [Provenance::Ended(_), _] | [_, Provenance::Ended(_)] => false,
        }
    }

    /// Whether the address is the start of a live heap object.
    pub(super) fn is_freeable(&self, address: u64) -> bool {
        matches!(self.provenance(address), Provenance::Live(Extent { area: Area::Heap, base, .. }) if base == address)
    }

    /// Whether an address that was made from another one still belongs to the same object. Of what belonged to no live object nothing is
    /// asked.
    pub(super) fn is_same_slot(&self, from: u64, to: u64) -> bool {
        self.slot_of(from).is_none_or(|block| (block.start..block.end).contains(&to))
    }

    /// The numbers in an object that could be addresses: whole pointers where pointers are aligned.
    pub(super) fn pointers_in(&self, base: u64, width: u64) -> Vec<u64> {
        let Some(block) = self.slot_of(base) else { return Vec::new() };
        // Members of packed structures are not aligned.
        let words = block.bytes.windows(width as usize).zip(block.known.windows(width as usize));
        let known = words.filter(|(_, known)| known.iter().all(|bits| *bits == u8::MAX));
        known.map(|(bytes, _)| bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))).collect()
    }

    /// Whether the byte has a value that no run has asked for yet.
    pub(super) fn is_given(&self, address: u64) -> bool {
        let Some(block) = self.slot_of(address) else { return false };
        block.given.get(address.wrapping_sub(block.base) as usize).is_some_and(|given| *given)
    }

    /// Whether the byte was given a value that is not settled: no run has asked for it, and nothing was written since.
    pub(super) fn is_open(&self, address: u64) -> bool {
        let Some(block) = self.slot_of(address) else { return false };
        let at = address.wrapping_sub(block.base) as usize;
        block.given.get(at).is_some_and(|given| *given)
            && block.known[at] != u8::MAX
            && !block.unmodelled.get(at).is_some_and(|unmodelled| *unmodelled)
    }

    /// Whether a character of the bytes, so many bytes wide, is known to be 0.
    pub(super) fn has_zero(&self, bytes: std::ops::Range<u64>, width: usize) -> bool {
        let Some(block) = self.slot_of(bytes.start) else { return false };
        let range =
            bytes.start.wrapping_sub(block.base) as usize..bytes.end.wrapping_sub(block.base) as usize;
        let (Some(values), Some(known)) = (block.bytes.get(range.clone()), block.known.get(range)) else {
            return false;
        };
        let characters = values.chunks_exact(width).zip(known.chunks_exact(width));
        characters.into_iter().any(|(value, known)| {
            value.iter().all(|byte| *byte == 0) && known.iter().all(|bits| *bits == u8::MAX)
        })
    }

    /// Where each area's next object will be: those that are alive lie before, as long as no slot is used again.
    pub(super) fn frontier(&self) -> [u64; 3] {
        self.areas.map(|range| if range.is_full { range.limit } else { range.next })
    }

    /// The live objects.
    pub(super) fn live(&self) -> impl Iterator<Item = Extent> {
        let area = |start: u64| {
            let starts_before = |area: &&Area| self.areas[**area as usize].start <= start;
            Area::ALL.iter().rev().find(starts_before).copied().unwrap_or(Area::Static)
        };
        self.index.iter().map(move |(start, at)| {
            let block = &self.blocks[*at as usize];
            Extent {
                object: block.object,
                area: area(*start),
                base: block.base,
                size: block.bytes.len() as u64,
            }
        })
    }

    /// The live object that the address belongs to, its slot and its buffers: bytes, and which bits of them were written. Nobody else shares
    /// it now.
    pub(super) fn buffers(&mut self, address: u64) -> Option<Buffers<'_>> {
        let at = self.find(address)?;
        let block = Arc::make_mut(&mut self.blocks[at as usize]);
        Some(Buffers {
            base: block.base,
            slot: block.start..block.end,
            bytes: &mut block.bytes,
            known: &mut block.known,
        })
    }

    /// Whether the objects that are alive are the same, bit by bit, and the next ones will be in the same places.
    pub(super) fn is_equal(&self, other: &Memory) -> bool {
        let ranges = |memory: &Memory| memory.areas.map(|range| (range.next, range.wide, range.is_full));
        ranges(self) == ranges(other)
            && self.live_bytes == other.live_bytes
            && self.blocks.len() == other.blocks.len()
            && self.index.iter().zip(&other.index).all(|((start, a), (begin, b))| {
                let (a, b) = (&self.blocks[*a as usize], &other.blocks[*b as usize]);
                start == begin && (Arc::ptr_eq(a, b) || a == b)
            })
    }

    /// The object that holds the bytes, and where they begin in it.
    fn block(&mut self, address: u64, size: u64) -> Result<(&Block, usize), Fault> {
        let found = self.holder(address, size)? as usize;
        let block = &*self.blocks[found];
        Ok((block, (address - block.base) as usize))
    }

    /// The same, to write to.
    fn block_mut(&mut self, address: u64, size: u64) -> Result<(&mut Block, usize), Fault> {
        let found = self.holder(address, size)? as usize;
        let block = Arc::make_mut(&mut self.blocks[found]);
        let at = (address - block.base) as usize;
        Ok((block, at))
    }

    /// Where the object is that holds the bytes.
    fn holder(&mut self, address: u64, size: u64) -> Result<u32, Fault> {
        let found = self.find(address).ok_or(Fault::Outside)?;
        let block = &self.blocks[found as usize];
        if address < block.base || address - block.base + size > block.bytes.len() as u64 {
            return Err(Fault::Outside);
        }
        if self.recent.1 != found || self.recent.0.is_empty() {
            self.recent = (block.start..block.end, found);
        }
        Ok(found)
    }

    /// Of up to 16 bytes, little endian, the bits of the mask, the others 0; `None` if one of them has never been written.
    pub(super) fn read_bits(&mut self, address: u64, size: u64, mask: u128) -> Result<Option<u128>, Fault> {
        let (block, at) = self.block(address, size)?;
        let mut value = 0u128;
        for i in 0..size as usize {
            let wanted = (mask >> (8 * i)) as u8;
            if block.known[at + i] & wanted != wanted {
                return Ok(None);
            }
            value |= u128::from(block.bytes[at + i] & wanted) << (8 * i);
        }
        Ok(Some(value))
    }

    /// The bits of the mask that have been written, the others 0, and which these are.
    pub(super) fn read_known(&mut self, address: u64, size: u64, mask: u128) -> Result<(u128, u128), Fault> {
        let (block, at) = self.block(address, size)?;
        let (mut value, mut known) = (0u128, 0u128);
        for i in 0..size as usize {
            let is_known = block.known[at + i] & (mask >> (8 * i)) as u8;
            known |= u128::from(is_known) << (8 * i);
            value |= u128::from(block.bytes[at + i] & is_known) << (8 * i);
        }
        Ok((value, known))
    }

    /// The same, for somebody who only looks.
    pub(super) fn peek(&self, address: u64, size: u64, mask: u128) -> Option<(u128, u128)> {
        let block = self.slot_of(address)?;
        let at = address.checked_sub(block.base)? as usize;
        let bytes = block.bytes.get(at..at + size as usize)?;
        let known = block.known.get(at..at + size as usize)?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, byte| all << 8 | u128::from(*byte));
        let known = number(known) & mask;
        Some((number(bytes) & known, known))
    }

    /// The object that had the address when it ended: the last one.
    pub(super) fn ended_at(&self, address: u64) -> Option<Extent> {
        let holds = |extent: &&Extent| (extent.base..=extent.base + extent.size).contains(&address);
        self.ended.as_ref()?.iter().rev().find(holds).copied()
    }

    /// Writes up to 16 bytes, little endian.
    pub(super) fn write(&mut self, address: u64, size: u64, value: u128) -> Result<(), Fault> {
        self.write_bits(address, size, u128::MAX, value)
    }

    /// Writes the bits of the mask.
    pub(super) fn write_bits(
        &mut self,
        address: u64,
        size: u64,
        mask: u128,
        value: u128,
    ) -> Result<(), Fault> {
        let (block, at) = self.block_mut(address, size)?;
        block.note_addresses(at, size as usize, None);
        for i in 0..size as usize {
            let (mask, value) = ((mask >> (8 * i)) as u8, (value >> (8 * i)) as u8);
            block.bytes[at + i] = block.bytes[at + i] & !mask | value & mask;
            block.known[at + i] |= mask;
        }
        Ok(())
    }

    /// Copies bytes, known or not; the ranges may overlap.
    pub(super) fn copy(&mut self, to: u64, from: u64, size: u64) -> Result<(), Fault> {
        let links = self.link(to, from, size)?;
        let (source, at) = self.block(from, size)?;
        let bytes = source.bytes[at..at + size as usize].to_vec();
        let known = source.known[at..at + size as usize].to_vec();
        let unmodelled = source.unmodelled.get(at..at + size as usize).map(<[bool]>::to_vec);
        let given = source.given.get(at..at + size as usize).map(<[bool]>::to_vec);
        let addresses = source.addresses.get(at..at + size as usize).map(<[bool]>::to_vec);
        let (target, at) = self.block_mut(to, size)?;
        if given.is_some() || !target.given.is_empty() {
            target.given.resize(target.bytes.len(), false);
            match given {
                Some(given) => target.given[at..at + size as usize].copy_from_slice(&given),
                None => target.given[at..at + size as usize].fill(false),
            }
        }
        target.set_unmodelled(at, size as usize, unmodelled.as_deref());
        target.note_addresses(at, size as usize, addresses.as_deref());
        target.note_links(at, size as usize, links.as_deref());
        target.bytes[at..at + size as usize].copy_from_slice(&bytes);
        target.known[at..at + size as usize].copy_from_slice(&known);
        Ok(())
    }

    /// Whether some copies of unknown bytes are not known to be the same as these.
    pub(super) fn has_lost_links(&self) -> bool {
        self.has_lost_links
    }

    /// Writes up to 16 bytes whose value is found out, not changed.
    pub(super) fn choose(&mut self, address: u64, size: u64, value: u128) -> Result<(), Fault> {
        self.settle(address, size, u128::MAX >> (128 - 8 * size.clamp(1, 16)), value)
    }

    /// What has just been written there is an address.
    pub(super) fn mark_address(&mut self, address: u64, size: u64) -> Result<(), Fault> {
        let (block, at) = self.block_mut(address, size)?;
        block.note_addresses(at, size as usize, Some(&[true; 16][..size.min(16) as usize]));
        Ok(())
    }

    /// Whether some of the bytes are an address's.
    pub(super) fn has_address(&mut self, address: u64, size: u64) -> Result<bool, Fault> {
        let (block, at) = self.block(address, size)?;
        Ok(block.addresses.get(at..at + size as usize).is_some_and(|bytes| bytes.contains(&true)))
    }

    /// Sets every byte.
    pub(super) fn fill(&mut self, to: u64, size: u64, byte: u8) -> Result<(), Fault> {
        let (block, at) = self.block_mut(to, size)?;
        block.note_addresses(at, size as usize, None);
        block.bytes[at..at + size as usize].fill(byte);
        block.known[at..at + size as usize].fill(u8::MAX);
        Ok(())
    }

    /// Each of the bytes has a value; of those that are not known it is not known yet.
    pub(super) fn give(&mut self, to: u64, size: u64) -> Result<(), Fault> {
        let (block, at) = self.block_mut(to, size)?;
        let is_known = block.known[at..at + size as usize].iter().all(|bits| *bits == u8::MAX);
        if !is_known {
            block.given.resize(block.bytes.len(), false);
            block.given[at..at + size as usize].fill(true);
        }
        Ok(())
    }

    /// None of the bytes has a value any more, as where their object began.
    pub(super) fn make_indeterminate(&mut self, to: u64, size: u64) -> Result<(), Fault> {
        self.forget(to, size)?;
        let (block, at) = self.block_mut(to, size)?;
        block.given[at..at + size as usize].fill(false);
        Ok(())
    }

    /// Each of the bytes gets some value, which is not known yet.
    pub(super) fn forget(&mut self, to: u64, size: u64) -> Result<(), Fault> {
        let (block, at) = self.block_mut(to, size)?;
        block.note_addresses(at, size as usize, None);
        block.note_links(at, size as usize, None);
        block.known[at..at + size as usize].fill(0);
        block.given.resize(block.bytes.len(), false);
        block.given[at..at + size as usize].fill(true);
        block.set_unmodelled(at, size as usize, None);
        Ok(())
    }

    /// The bytes hold something that is not modelled.
    pub(super) fn forget_unmodelled(&mut self, to: u64, size: u64) -> Result<(), Fault> {
        self.forget(to, size)?;
        let (block, at) = self.block_mut(to, size)?;
        block.set_unmodelled(at, size as usize, Some(&vec![true; size as usize]));
        Ok(())
    }

    /// Whether some of the bytes may hold something that is not modelled; those that were written since may count, too.
    pub(super) fn is_unmodelled(&mut self, address: u64, size: u64) -> Result<bool, Fault> {
        let (block, at) = self.block(address, size)?;
        Ok(block.unmodelled.get(at..at + size as usize).is_some_and(|bytes| bytes.contains(&true)))
    }
}

impl Block {
    /// Says of each of the bytes whether it is an address's; `None`: none is.
    fn note_addresses(&mut self, at: usize, size: usize, which: Option<&[bool]>) {
        if which.is_some() && self.addresses.is_empty() {
            self.addresses = vec![false; self.bytes.len()];
        }
        if let Some(bytes) = self.addresses.get_mut(at..at + size) {
            match which {
                Some(which) => bytes.copy_from_slice(which),
                None => bytes.fill(false),
            }
        }
    }

    /// Says of each of the bytes whether it is unmodelled; `None`: none is.
    fn set_unmodelled(&mut self, at: usize, size: usize, which: Option<&[bool]>) {
        if which.is_some() && self.unmodelled.is_empty() {
            self.unmodelled = vec![false; self.bytes.len()];
        }
        if let Some(bytes) = self.unmodelled.get_mut(at..at + size) {
            match which {
                Some(which) => bytes.copy_from_slice(which),
                None => bytes.fill(false),
            }
        }
    }
}
