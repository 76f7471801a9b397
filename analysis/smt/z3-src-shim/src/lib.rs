//! The source of Z3 4.15.4 under the version number that `z3-sys` asks for.
pub use inner::*;
