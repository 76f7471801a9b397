//! Abstract domains over automata: explicit values with refinement, intervals, formulas, predicates. The first two share one model of memory.
//! Knows the operators' traits and the program, no driver and no database.

mod facts;
pub mod formula;
pub mod interval;
pub mod memory;
mod path;
pub mod predicate;
pub mod value;

pub use interval::{IntervalAnalysis, IntervalOptions};
pub use memory::Mode;
pub use predicate::{PredicateAnalysis, PredicateOptions};
pub use value::{ValueAnalysis, ValueOptions};
