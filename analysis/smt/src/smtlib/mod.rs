//! Terms as SMT-LIB 2 text and back: `Display` of a term writes what [`parse`] reads.

mod operators;
mod parse;
mod print;
mod s_expression;

pub use parse::{ParsedScript, parse, parse_script};
pub use print::{Script, smtlib_name};
pub use s_expression::ParseError;
