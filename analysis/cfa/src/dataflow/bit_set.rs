//! Dense sets of small numbers as values of analyses. Must not know what the numbers stand for.

use super::JoinSemiLattice;

/// A set of numbers below a bound, ordered by inclusion: joined by union.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BitSet(Box<[u64]>);

impl BitSet {
    /// No number; there is room for those below `bound`.
    pub fn empty(bound: usize) -> BitSet {
        BitSet(vec![0; bound.div_ceil(64)].into_boxed_slice())
    }

    /// Whether the number is in it; one beyond the bound never is.
    pub fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Puts the number in.
    ///
    /// # Panics
    ///
    /// If there is no room for it.
    pub fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Takes the number out, if it is there.
    pub fn remove(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    /// Its numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len() * 64).filter(|number| self.contains(*number))
    }

    fn merge(&mut self, other: &BitSet, with: impl Fn(u64, u64) -> u64) -> bool {
        let mut changed = false;
        for (this, other) in self.0.iter_mut().zip(&other.0) {
            let merged = with(*this, *other);
            changed |= merged != *this;
            *this = merged;
        }
        changed
    }
}

impl JoinSemiLattice for BitSet {
    fn join(&mut self, other: &BitSet) -> bool {
        self.merge(other, |a, b| a | b)
    }
}

/// The same sets in the opposite order: joined by intersection. For analyses of what holds on every path.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Dual(pub BitSet);

impl JoinSemiLattice for Dual {
    fn join(&mut self, other: &Dual) -> bool {
        self.0.merge(&other.0, |a, b| a & b)
    }
}
