//! Hashes that mean the same in every process and do not collide: of whatever can be hashed by content. Knows no C.

use std::hash::Hasher;

/// Feeds whatever can be hashed into a hash without collisions.
#[derive(Default)]
pub struct Digest(blake3::Hasher);

impl Digest {
    /// Of everything that was fed.
    pub fn bytes(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    fn finish(&self) -> u64 {
        self.bytes().iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte))
    }
}
