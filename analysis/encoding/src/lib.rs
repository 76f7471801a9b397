//! Formulas of C: expressions as terms over mathematical integers or bit vectors, memory as cells and arrays, blocks of automata as
//! relations between the state before and after. Knows terms and automata; must not know which engine asks.
//!
//! Everything here over-approximates: what is not encoded exactly becomes a fresh variable, and is counted. An unreachable error is
//! therefore proved; a reachable one is a candidate that the interpreter confirms.

mod aggregate;
mod arithmetic;
mod bits;
mod block;
mod bytes;
mod calls;
mod encoding;
mod floats;
mod function_encoder;
mod integers;
mod large_blocks;
mod layout;
mod memory;
mod needs_bit_vectors;
mod passed;
mod place;
mod pointers;
mod state;
mod unrolling;
mod vectors;

pub use block::{AppliedSummary, BlockEnd, Cut, Instances, LargeBlock};
pub use encoding::Encoding;
pub use function_encoder::{FunctionEncoder, memory_keys};
pub use large_blocks::LargeBlockEncoding;
pub use layout::{MemoryLayout, Representation};
pub use needs_bit_vectors::needs_bit_vectors;
pub use passed::Passed;
pub use state::{Fresh, Key, State};
pub use unrolling::{InputPlace, LAYER_STATE_COST, Layer, Unrolling};

use proofline_cfa::{IntType, Scalar};
use proofline_smt::{Term, build as t};

/// That a mathematical integer is in the range of a format. Floats are opaque.
pub fn in_range(term: Term, scalar: Scalar) -> Term {
    Encoding::Integers.in_range(term, scalar)
}

/// `min <= term <= max`
pub fn within(term: Term, ty: IntType) -> Term {
    if !ty.is_exact() {
        return t::le(t::int(0), term);
    }
    t::and([t::le(t::int(ty.min()), term), t::le(term, t::int(ty.max()))])
}
