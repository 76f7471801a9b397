//! The domains as the drivers see them: through their operators, on C programs. One binary, because linking takes longest.

mod common;
mod composites;
mod concrete;
mod driver;
mod floats;
mod generate;
mod laws;
mod memory;
mod precision;
mod predicates;
mod refinement;
mod relation_programs;
mod relations;
mod shapes;
mod soundness;
mod three_valued;
mod three_valued_runs;
