//! Hashes of content that mean the same in every process and on every machine, and do not collide. Knows no C.

use std::hash::Hasher;

/// The BLAKE3 hash of some content. Law: equal hashes mean equal content; nothing in it depends on addresses, hash order or time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

/// Takes in whatever can be hashed, by [`std::hash::Hash`] or as bytes, and gives its [`ContentHash`].
#[derive(Default)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// The hash of everything taken in so far, in this order.
    pub fn content_hash(&self) -> ContentHash {
        ContentHash(*self.0.finalize().as_bytes())
    }
}

impl Hasher for ContentHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    fn finish(&self) -> u64 {
        self.content_hash().0.iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte))
    }
}
