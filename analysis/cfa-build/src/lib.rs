//! From typed C to programs of automata: lowering of a translation unit (`lower`), joining of units (`link`), library functions
//! without bodies (`models`). Must not know any analysis.

mod call_coercion;
pub mod link;
mod lower;
pub mod models;
mod simplify_cfg;

pub use call_coercion::INCOMPATIBLE_CALL;
pub use link::{LinkProblem, ProgramMap, link};
pub use lower::{HAS_ELEMENTS, HAS_ORDER, INVALID_LENGTH, UNSEQUENCED, Unit, UnitMap, VA_ARG, lower};
