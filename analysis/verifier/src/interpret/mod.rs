//! The interpreter of automata: runs one concrete execution bit-precisely, as the compiled program would run. It confirms
//! counterexamples, finds violations by trying inputs, and decides programs that have no input. Knows no abstraction.

mod accelerate;
mod arguments;
mod calls;
mod code;
mod compiled;
mod float_text;
mod kept;
mod leaves;
mod library_result;
mod likeness;
mod look;
mod machine;
mod made_up;
mod memory;
mod oracle;
mod place;
mod predicates;
mod scanned;
mod signs;
mod start;
mod step;
mod text_input;
mod trace;
mod unread;
mod watch;
mod words;

pub(crate) use calls::{CallNumbers, Interface};
pub use code::Code;
pub use machine::{End, Limits, Machine, Run};
pub use made_up::MadeUp;
pub(crate) use memory::Extent;
pub use oracle::{Choice, Oracle, Passing, Script};
pub(crate) use start::function_at;
pub(crate) use trace::Touched;
pub use trace::{Event, Passed, Skipped, Trace};
pub(crate) use watch::{Moment, Seen};
pub(crate) use words::words;
