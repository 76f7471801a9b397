//! Copies of bytes whose value is not known yet: whatever it turns out to be, they have the same. Each unknown value that was copied has a number; the bytes
//! that have it say so.
//!
//! **Law.** Two bytes have the same number only if one is a copy of the other, or both of a third, and none of them was given another value
//! without being known afterwards.

use super::{Block, Fault, Memory};

/// More copies of unknown bytes than this are not followed.
const MOST: usize = 1 << 18;

/// Unknown values that were copied, by number from 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    all: Vec<Link>,
    /// So many places are noted.
    places: usize,
}

#[derive(Clone, Debug)]
struct Link {
    /// Where the value was first.
    home: u64,
    /// Where it has been since.
    places: Vec<u64>,
}

impl Memory {
    /// The numbers of the bytes that are not known, 0 for the others, before they are copied to another place. `None`: there are no such bytes, or
    /// too many.
    pub(super) fn link(&mut self, to: u64, from: u64, size: u64) -> Result<Option<Vec<u32>>, Fault> {
        let (source, at) = self.block(from, size)?;
        let range = at..at + size as usize;
        let mut numbers =
            source.links.get(range.clone()).map_or_else(|| vec![0; range.len()], <[u32]>::to_vec);
        let is_unknown: Vec<bool> = source.known[range.clone()].iter().map(|bits| *bits != u8::MAX).collect();
        if !is_unknown.contains(&true) {
            return Ok(None);
        }
        if self.links.places + is_unknown.len() > MOST {
            self.has_lost_links = true;
            return Ok(None);
        }
        for ((at, number), is_unknown) in (0..).zip(&mut numbers).zip(is_unknown) {
            if !is_unknown {
                *number = 0;
                continue;
            }
            if *number == 0 {
                self.links.all.push(Link { home: from + at, places: vec![from + at] });
                *number = self.links.all.len() as u32;
            }
            self.links.all[*number as usize - 1].places.push(to + at);
            self.links.places += 1;
        }
        let (source, _) = self.block_mut(from, size)?;
        source.note_links(range.start, range.len(), Some(&numbers));
        Ok(Some(numbers))
    }

    /// Writes the bits of the mask that are not known: their value is found out. Copies of them get it, too.
    pub(in super::super) fn settle(
        &mut self,
        address: u64,
        size: u64,
        mask: u128,
        value: u128,
    ) -> Result<(), Fault> {
        let (_, known) = self.read_known(address, size, mask)?;
        let chosen = mask & !known;
        self.write_bits(address, size, chosen, value)?;
        let (block, at) = self.block(address, size)?;
        let Some(numbers) = block.links.get(at..at + size as usize).map(<[u32]>::to_vec) else {
            return Ok(());
        };
        for (byte, number) in (0..).zip(numbers).filter(|(_, number)| *number != 0) {
            let (bits, value) = ((chosen >> (8 * byte)) as u8, (value >> (8 * byte)) as u8);
            if bits == 0 {
                continue;
            }
            let places = std::mem::take(&mut self.links.all[number as usize - 1].places);
            for place in places.iter().filter(|place| **place != address + byte) {
                let is_it = |(block, at): (&Block, usize)| block.links.get(at) == Some(&number);
                if !self.block(*place, 1).is_ok_and(is_it) {
                    continue;
                }
                let (block, at) = self.block_mut(*place, 1)?;
                let bits = bits & !block.known[at];
                block.bytes[at] = block.bytes[at] & !bits | value & bits;
                block.known[at] |= bits;
            }
            self.links.all[number as usize - 1].places = places;
        }
        Ok(())
    }

    /// The address of the bytes that these are copies of, if that is one place in an object that lives; their own otherwise.
    pub(in super::super) fn home(&self, address: u64, size: u64) -> u64 {
        self.first_home(address, size).unwrap_or(address)
    }

    fn first_home(&self, address: u64, size: u64) -> Option<u64> {
        let block = self.slot_of(address)?;
        let at = address.checked_sub(block.base)? as usize;
        let home = |number: &u32| Some(self.links.all.get((*number as usize).checked_sub(1)?)?.home);
        let numbers = block.links.get(at..at + size as usize)?;
        let first = home(numbers.first()?)?;
        let is_row = (first..).zip(numbers).all(|(place, number)| home(number) == Some(place));
        let lives = self
            .slot_of(first)
            .is_some_and(|block| (block.base..block.base + block.bytes.len() as u64).contains(&first));
        (is_row && lives).then_some(first)
    }
}

impl Block {
    /// Says of each of the bytes which unknown value it has; `None`: one of its own.
    pub(super) fn note_links(&mut self, at: usize, size: usize, which: Option<&[u32]>) {
        if which.is_some() && self.links.is_empty() {
            self.links = vec![0; self.bytes.len()];
        }
        if let Some(bytes) = self.links.get_mut(at..at + size) {
            match which {
                Some(which) => bytes.copy_from_slice(which),
                None => bytes.fill(0),
            }
        }
    }
}
