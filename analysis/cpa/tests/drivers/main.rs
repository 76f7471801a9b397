//! Tests of the drivers with toy analyses over small automata.
#![expect(unreachable_pub, reason = "one binary; its modules share their parts")]

mod analyses;
mod certificates;
mod common;
mod pruning;
mod random;
mod recursion;
mod resuming;
mod surroundings;
