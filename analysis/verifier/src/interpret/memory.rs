//! Memory of a running program: objects at concrete addresses, byte by byte. Knows nothing of automata.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::Object;
use proofline_syntax::DataModel;

/// Why an access is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// Not inside one live object.
    Outside,
    /// The address space is used up.
    Exhausted,
}

/// One object.
#[derive(Clone, Debug)]
struct Block {
    bytes: Vec<u8>,
    /// The bits that have been written.
    known: Vec<u8>,
    /// Bytes that are not known because their value is not modelled: what a run reads there is a guess. Empty: none.
    unmodelled: Vec<bool>,
    object: Object,
}

/// All objects that are alive. A copy shares them until one side writes.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    blocks: BTreeMap<u64, Arc<Block>>,
    /// Base of the block used last: most accesses hit the same object again.
    recent: u64,
    next: [u64; 3],
    limit: [u64; 3],
    live_bytes: u64,
}

/// Where an object is put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Area {
    /// Static storage.
    Static = 0,
    /// Heap.
    Heap = 1,
    /// Frames; given back in reverse order.
    Stack = 2,
}

/// More than this in one object, or in all, is refused: an analysis must not bring the machine down.
const LARGEST: u64 = 1 << 26;
const TOTAL: u64 = 1 << 28;

impl Memory {
    /// Empty memory of a machine with this data model.
    pub(super) fn new(model: DataModel) -> Memory {
        let (next, limit) = match model {
            DataModel::Lp64 => (
                [0x40_0000, 0x5555_0000_0000, 0x7ffe_0000_0000],
                [0x5000_0000_0000, 0x7000_0000_0000, 0x7fff_ffff_0000],
            ),
            DataModel::Ilp32 => {
                ([0x804_8000, 0x2000_0000, 0x8000_0000], [0x1f00_0000, 0x7f00_0000, 0xf000_0000])
            }
        };
        Memory { blocks: BTreeMap::new(), recent: 0, next, limit, live_bytes: 0 }
    }

    /// A fresh object; its bytes are unknown.
    pub(super) fn allocate(&mut self, area: Area, size: u64, object: Object) -> Result<u64, Fault> {
        let slot = area as usize;
        let base = self.next[slot];
        let end = end_of(base, size);
        if size > LARGEST || self.live_bytes + size > TOTAL || end >= self.limit[slot] {
            return Err(Fault::Exhausted);
        }
        self.next[slot] = end;
        self.live_bytes += size;
        let empty = vec![0; size as usize];
        self.blocks.insert(
            base,
            Arc::new(Block { bytes: empty.clone(), known: empty, unmodelled: Vec::new(), object }),
        );
        Ok(base)
    }

    /// Ends the life of the object that starts there. The youngest object of an area gives its place back.
    pub(super) fn release(&mut self, base: u64) -> bool {
        let Some(block) = self.blocks.remove(&base) else { return false };
        let size = block.bytes.len() as u64;
        self.live_bytes -= size;
        let stack = Area::Stack as usize;
        if self.next[stack] == end_of(base, size) {
            self.next[stack] = base;
        }
        true
    }

    /// The object that holds the address, its base and size; one past its end counts.
    pub(super) fn object_at(&self, address: u64) -> Option<(Object, u64, u64)> {
        let (&base, block) = self.blocks.range(..=address).next_back()?;
        let size = block.bytes.len() as u64;
        (address - base <= size).then_some((block.object, base, size))
    }

    /// The object that holds the bytes, and where they begin in it.
    fn block(&mut self, address: u64, size: u64) -> Result<(&Block, usize), Fault> {
        let base = self.base(address, size)?;
        self.blocks.get(&base).map(|block| (&**block, (address - base) as usize)).ok_or(Fault::Outside)
    }

    /// The same, to write to.
    fn block_mut(&mut self, address: u64, size: u64) -> Result<(&mut Block, usize), Fault> {
        let base = self.base(address, size)?;
        let block = self.blocks.get_mut(&base).ok_or(Fault::Outside)?;
        Ok((Arc::make_mut(block), (address - base) as usize))
    }

    fn base(&mut self, address: u64, size: u64) -> Result<u64, Fault> {
        let inside =
            |base: u64, block: &Block| address >= base && address - base + size <= block.bytes.len() as u64;
        let base = match self.blocks.get(&self.recent) {
            Some(block) if inside(self.recent, block) => self.recent,
            _ => match self.blocks.range(..=address).next_back() {
                Some((&base, block)) if inside(base, block) => base,
                _ => return Err(Fault::Outside),
            },
        };
        self.recent = base;
        Ok(base)
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
        for i in 0..size as usize {
            let (mask, value) = ((mask >> (8 * i)) as u8, (value >> (8 * i)) as u8);
            block.bytes[at + i] = block.bytes[at + i] & !mask | value & mask;
            block.known[at + i] |= mask;
        }
        Ok(())
    }

    /// Copies bytes, known or not; the ranges may overlap.
    pub(super) fn copy(&mut self, to: u64, from: u64, size: u64) -> Result<(), Fault> {
        let (source, at) = self.block(from, size)?;
        let bytes = source.bytes[at..at + size as usize].to_vec();
        let known = source.known[at..at + size as usize].to_vec();
        let unmodelled = source.unmodelled.get(at..at + size as usize).map(<[bool]>::to_vec);
        let (target, at) = self.block_mut(to, size)?;
        target.set_unmodelled(at, size as usize, unmodelled.as_deref());
        target.bytes[at..at + size as usize].copy_from_slice(&bytes);
        target.known[at..at + size as usize].copy_from_slice(&known);
        Ok(())
    }

    /// Sets every byte.
    pub(super) fn fill(&mut self, to: u64, size: u64, byte: u8) -> Result<(), Fault> {
        let (block, at) = self.block_mut(to, size)?;
        block.bytes[at..at + size as usize].fill(byte);
        block.known[at..at + size as usize].fill(u8::MAX);
        Ok(())
    }

    /// Forgets what the bytes hold.
    pub(super) fn forget(&mut self, to: u64, size: u64) -> Result<(), Fault> {
        let (block, at) = self.block_mut(to, size)?;
        block.known[at..at + size as usize].fill(0);
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

/// Where the next object may start. The gap keeps neighbours apart, so that an access past the end hits nothing.
fn end_of(base: u64, size: u64) -> u64 {
    base.saturating_add(size).saturating_add(32) & !15
}
