//! Random programs without undefined behaviour (or with, when asked for), and what everyone says about them.
//!
//! A program observes values. Compiled with sanitizers and run on several inputs it tells which; the interpreter must see the
//! same. Then observations become assertions, some of which a run violates: no engine may prove those, and every violation an engine
//! reports must happen when the compiled program gets the reported inputs.

mod claims;
mod compiled;
mod examine;
mod examine_open;
mod expression;
mod files;
mod function;
mod generate;
mod heap;
mod interpreted;
mod library;
mod loops;
mod open;
mod program;
mod reduce;
mod relations;
mod scope;
mod special;
mod statement;
mod types;

pub use compiled::{Compiler, Compilers};
pub use examine::{Engines, Fault, Outcome, PORTFOLIO, examine, examine_text, examine_twins};
pub use generate::generate;
pub use loops::{Skipping, compare_compiled, compare_skipping, generate_loops};
pub use program::{Line, Manner, Program, Vector};
pub use reduce::reduce;
pub use relations::{Twins, twins};
