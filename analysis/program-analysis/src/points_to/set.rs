//! Sparse sets of small numbers: sorted blocks of 64 bits. Must not know what the numbers mean.

/// A set of numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Set {
    /// Block number and its bits (never 0), by number.
    blocks: Vec<(u32, u64)>,
}

impl Set {
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(crate) fn contains(&self, value: u32) -> bool {
        let found = self.blocks.binary_search_by_key(&(value / 64), |(block, _)| *block);
        found.is_ok_and(|at| self.blocks[at].1 & (1 << (value % 64)) != 0)
    }

    /// Whether the value is new.
    pub(crate) fn insert(&mut self, value: u32) -> bool {
        let (block, bit) = (value / 64, 1 << (value % 64));
        match self.blocks.binary_search_by_key(&block, |(block, _)| *block) {
            Ok(at) => {
                let new = self.blocks[at].1 & bit == 0;
                self.blocks[at].1 |= bit;
                new
            }
            Err(at) => {
                self.blocks.insert(at, (block, bit));
                true
            }
        }
    }

    /// Adds all; whether anything was new.
    pub(crate) fn extend(&mut self, other: &Set) -> bool {
        if other.blocks.is_empty() {
            return false;
        }
        // Mostly every block is there already.
        let mut changed = false;
        let mut at = 0;
        let mut missing = 0;
        for (block, bits) in &other.blocks {
            while self.blocks.get(at).is_some_and(|(own, _)| own < block) {
                at += 1;
            }
            match self.blocks.get_mut(at) {
                Some((own, own_bits)) if own == block => {
                    changed |= bits & !*own_bits != 0;
                    *own_bits |= bits;
                }
                _ => missing += 1,
            }
        }
        if missing == 0 {
            return changed;
        }
        let mut merged = Vec::with_capacity(self.blocks.len() + missing);
        let (mut a, mut b) = (self.blocks.iter().peekable(), other.blocks.iter().peekable());
        loop {
            match (a.peek(), b.peek()) {
                (Some((x, bits)), Some((y, more))) if x == y => {
                    merged.push((*x, bits | more));
                    a.next();
                    b.next();
                }
                (Some((x, _)), Some((y, _))) if x > y => merged.extend(b.next()),
                (Some(_), _) => merged.extend(a.next()),
                (None, Some(_)) => merged.extend(b.next()),
                (None, None) => break,
            }
        }
        self.blocks = merged;
        true
    }

    /// What is here and not in `other`.
    pub(crate) fn without(&self, other: &Set) -> Set {
        let mut blocks = Vec::new();
        let mut at = 0;
        for (block, bits) in &self.blocks {
            while other.blocks.get(at).is_some_and(|(own, _)| own < block) {
                at += 1;
            }
            let removed = other.blocks.get(at).filter(|(own, _)| own == block).map_or(0, |(_, bits)| *bits);
            if bits & !removed != 0 {
                blocks.push((*block, bits & !removed));
            }
        }
        Set { blocks }
    }

    /// Takes all out.
    pub(crate) fn remove(&mut self, other: &Set) {
        let mut at = 0;
        self.blocks.retain_mut(|(block, bits)| {
            while other.blocks.get(at).is_some_and(|(own, _)| own < block) {
                at += 1;
            }
            if let Some((_, removed)) = other.blocks.get(at).filter(|(own, _)| own == block) {
                *bits &= !removed;
            }
            *bits != 0
        });
    }

    /// What is in both.
    pub(crate) fn intersection(&self, other: &Set) -> Set {
        self.without(&self.without(other))
    }

    /// In increasing order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.blocks.iter().flat_map(|(block, bits)| {
            let mut rest = *bits;
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                Some(block * 64 + bit)
            })
        })
    }
}
