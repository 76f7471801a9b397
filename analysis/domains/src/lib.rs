//! Abstract domains over automata: explicit values with refinement, intervals, relations, shapes, predicates. The first two share one abstract store.
//! Knows the operators' traits and the program, no driver and no database.

mod facts;
pub mod interval;
mod path;
pub mod predicate;
pub mod relation;
pub mod shape;
pub mod store;
pub mod three_valued;
pub mod value;

pub use interval::{IntervalAnalysis, IntervalOptions};
pub use predicate::{PredicateAnalysis, PredicateOptions};
pub use relation::RelationAnalysis;
pub use shape::{Folds, ShapeAnalysis, ShapeOptions};
pub use three_valued::{ThreeValuedAnalysis, ThreeValuedOptions};
pub use value::{ValueAnalysis, ValueOptions, ValueRefinement};
