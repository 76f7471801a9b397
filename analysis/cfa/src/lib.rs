//! Automata: control-flow automata per function, linked programs. Position-free, comparable, printable.
//! Must not know any analysis.

mod c_text;
pub mod call_graph;
pub mod check;
mod computed;
pub mod dot;
mod environment;
pub mod eval;
mod expr;
mod fit;
mod footprint;
mod function;
mod kept;
pub mod link;
mod lower;
mod map;
mod mod_ref;
pub mod models;
mod points_to;
mod program;
mod scalar;
mod slice;
mod structure;
pub mod text;
mod tidy;
pub mod visit;

pub use c_text::{expr_text, lvalue_text, op_text};
pub use call_graph::{CallGraph, Callees};
pub use computed::{Computed, Quantity};
pub use environment::Environment;
pub use expr::{Base, BinaryOp, CompareOp, Expr, LocalId, Lvalue, Site, Step, UnaryOp};
pub use footprint::{Digest, Footprint};
pub use function::{
    Allocation, Approximation, Argument, Call, Callee, Cause, Check, Edge, EdgeId, Function, Loc, Local,
    Obligation, ObligationId, Op, Role,
};
pub use link::{LinkProblem, ProgramMap, link};
pub use lower::{Unit, UnitMap, lower, scalar_of};
pub use map::FunctionMap;
pub use points_to::Targets;
pub use program::{Constant, Global, InitialValue, Object, Place, Program};
pub use proofline_hir::{Linkage, Name, Type, types::BitField};
pub use scalar::{FloatType, IntType, Scalar};
pub use slice::{Mentions, Parts, slice};
pub use structure::{Loop, Structure};
