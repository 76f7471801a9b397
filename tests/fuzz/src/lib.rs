//! Random tests of everything together. `programs` compares what the interpreter and the engines say about random C programs with
//! what the compiled programs do; `front_end` feeds broken text to everything before the engines; `corpus` reads real programs. Must not
//! know a terminal.

pub mod corpus;
pub mod front_end;
pub mod programs;
mod random;

pub use random::Random;
