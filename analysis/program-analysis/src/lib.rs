//! What is known of a whole program before verification starts: where pointers point, the call graph, what functions read and
//! write, what is reached from an entry, and by what all of that is recognised after an edit. Must not know how automata are made
//! of C, nor any abstract domain.

mod bounds;
mod call_graph;
pub mod command_line;
mod constants;
pub mod dot;
mod environment;
mod footprint;
pub mod fresh;
mod mod_ref;
mod nonnull;
mod older;
mod once;
mod operand_order;
mod points_to;
mod slice;
mod supergraph;
mod volatile;

pub use bounds::limits;
pub use call_graph::{CallGraph, Callees, strong_components};
pub use environment::Environment;
pub use once::allocated_once;
pub use operand_order::OrderConflict;
pub use points_to::Targets;
pub use slice::{Mentions, SliceSource, apart, slice};
pub use supergraph::{Place, Places, Supergraph};
pub use volatile::written_values;
