//! The intermediate representation: a control-flow automaton per function, programs of them, their text, what always holds of
//! them (`verify`), and what their operators mean (`eval`). Position-free, comparable, printable. Must not know how automata are
//! made of C, nor any analysis.

mod assertion;
mod c_text;
mod callable;
pub mod command_line;
pub mod dataflow;
pub mod dot;
mod entry;
pub mod eval;
mod expr;
mod function;
mod library_result;
mod map;
mod memory;
mod monitor;
mod printed;
mod program;
pub mod register;
mod scalar;
mod sites;
mod structure;
pub mod text;
pub mod texts;
pub mod types;
pub mod verify;
pub mod visit;

pub use assertion::{ASSERTING, asserted_argument};
pub use c_text::{UNNAMED, expr_text, lvalue_text, op_text};
pub use callable::may_be_called;
pub use entry::{Entry, EntryKind};
pub use expr::{Base, BinaryOp, CompareOp, Expr, LocalId, Lvalue, Site, Step, UnaryOp};
pub use function::{
    Allocation, Approximation, Argument, Call, Callee, Cause, CheckId, Edge, EdgeId, Function, Loc, Local,
    Obligation, ObligationId, Op, Operands, Role,
};
pub use library_result::{ERRNO, LOCALE, LibraryResult, Quantity, VARIABLE_ARGUMENTS};
pub use map::{FunctionMap, enumerator};
pub use memory::{CALLABLE, MemoryPredicate, copied_character};
pub use monitor::MONITOR;
pub use printed::Conversion;
pub use program::{Constant, Global, InitialValue, Object, Place, Program};
pub use proofline_float::{Float, Format as FloatType, Rounding};
pub use proofline_hir::{ContentHash, ContentHasher, Linkage, Name, Type, index, types::BitField};
pub use scalar::{IntType, Scalar};
pub use sites::{is_same_place, place_without_sites, without_sites};
pub use structure::{DepthFirst, Loop, Structure};
pub use types::{Types, is_read_only, scalar_of};
