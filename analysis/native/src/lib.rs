//! Automata as machine code: a run of a program goes on here at the machine's speed, and comes back as the state of the interpreter that it
//! would have reached itself. Knows the automata and the processor; knows no interpreter, no oracle and no verdict.
//!
//! What is compiled is the common case of each edge: integers of up to 64 bits, pointers, objects in memory, direct calls. Everything else
//! (an input, a library function, a value that was never written, a division by zero, an access outside of an object, a failing obligation) is
//! an *exit*: the run stops at the location where the edge begins, as if the edge had not been looked at, and whoever asked takes that edge.
//! So machine code never decides what an edge means where that is not plain, and it never traps.
//!
//! Laws. A run changes the state exactly as `Outcome::steps` steps of the interpreter would: each edge counts one, each return one. It is
//! deterministic. It ends soon after its fuel is used up, at the head of a loop or the entry of a function.
//!
//! **Architecture invariant:** only this crate names Cranelift. All its `unsafe` is in `machine.rs`.

mod frame;
mod function;
mod layout;
mod machine;
mod translate;

pub use function::Environment;
pub use layout::{FunctionIndex, Local};
pub use machine::{Frame, Native, Object, Objects, Outcome};
