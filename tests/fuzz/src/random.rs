//! A small deterministic generator of random numbers (splitmix64): the same seed gives the same program on every machine.

/// The generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed ^ 0x5851_f42d_4c95_7f2d)
    }
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }
    /// True in so many of 100 cases.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
    /// One of several; `None` of none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(self.below(of.len())) }
    }
    /// One of several, by value. The list is not empty.
    pub fn one<T: Copy, const N: usize>(&mut self, of: [T; N]) -> T {
        of[self.below(N)]
    }
}
