//! What a state looks like, as one number: where the run is, and what small objects hold, and registers that may still be read. Large numbers look alike if they have as many
//! binary digits, so that a counter makes few states. Must not decide anything: states that differ may look alike.

use std::hash::{Hash, Hasher};

use proofline_cfa::{Site, eval::Value};
use rustc_hash::FxHasher;

use super::{machine::Machine, oracle::Oracle};

/// Bytes of an object that is looked at.
const LARGEST: usize = 256;

/// Numbers that are told apart.
const SMALL: std::ops::RangeInclusive<i128> = -16..=64;

/// A number, or how large it is.
fn size_of(value: i128) -> i128 {
    if SMALL.contains(&value) {
        return value;
    }
    let digits = i128::from(value.unsigned_abs().ilog2());
    if value < 0 { -1000 - digits } else { 1000 + digits }
}

impl<O: Oracle> Machine<'_, O> {
    /// What the state looks like where something is asked.
    pub(super) fn likeness(&self, site: Site) -> u64 {
        let mut hasher = FxHasher::default();
        site.0.hash(&mut hasher);
        for frame in &self.frames {
            (frame.function, frame.call).hash(&mut hasher);
            for id in self.code.functions[frame.function as usize].liveness().live(frame.at) {
                match frame.locals.get(id.index()) {
                    Some(Some(Value::Int(value))) => size_of(*value).hash(&mut hasher),
                    Some(Some(Value::Float(_))) => 1.hash(&mut hasher),
                    Some(None) | None => 2.hash(&mut hasher),
                }
            }
        }
        // Objects lie in no order.
        let objects = self.memory.small_objects(LARGEST).map(|(base, bytes)| {
            let mut hasher = FxHasher::default();
            base.hash(&mut hasher);
            let (words, rest) = bytes.as_chunks::<4>();
            for word in words {
                size_of(i32::from_le_bytes(*word).into()).hash(&mut hasher);
            }
            rest.hash(&mut hasher);
            hasher.finish()
        });
        hasher.finish().wrapping_add(objects.fold(0, u64::wrapping_add))
    }
}
