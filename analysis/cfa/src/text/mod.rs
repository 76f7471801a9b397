//! The textual form of automata and programs: for people, for dumps, and for tests that write automata by hand.
//! Law: `parse(print(x)) == x` in the same surroundings. Must not know positions in C text or any analysis.
//!
//! ```text
//! model lp64
//! record struct list: struct size 16 align 8 {
//!   data: int at 0
//!   next: struct list* at 8
//! }
//! global head: struct list* size 8
//! external puts: int(char const*)
//!
//! fn sum: int(struct list*) static {
//!   result return: int
//!   parameter l: struct list*
//!   variable s: int addressed
//!   locations 4 entry l0 exit l3
//!   l0 -> l1 @1: %s := 0
//!   l1 -> l2 @2: assume %l != null
//!   l2 -> l1 @3: %s := %s + (*%l).data
//!   l1 -> l3 @4: %return := %s
//! }
//! ```
//!
//! Types read from left to right (`int[10]*` is a pointer to an array, `int(char)*` a pointer to a function). Integer constants
//! without a format are `int`s. Whatever an lvalue's parts imply is left out (its type, format, size; strides and
//! offsets), anything else is said: `(*%p){unsigned char as i8 size 1}`, `.next(struct list at 8)`, `[%i by 4 of 10]`,
//! `of ?` being an unknown length. A site that is the edge's is left out, others stand behind their operator: `%x +@7 %y`.
//! Inner operations are in parentheses; there is no precedence. `` `…` `` quotes any name.

mod context;
mod expr;
mod function;
mod lex;
mod name;
mod op;
mod program;
mod types;

pub use context::Surroundings;
pub use lex::ParseError;
pub use name::{escaped_name, printed_type};

use crate::{
    expr::{Expr, Lvalue, Site},
    function::{Function, Local, Op},
    program::Program,
};

/// The text of a program.
pub fn print_program(program: &Program) -> String {
    program::print(program)
}

/// Reads a program. Parts may come in any order, but records before what needs their layout, globals before functions.
///
/// # Errors
/// With the line and column of the first thing that is not in the notation.
pub fn parse_program(text: &str) -> Result<Program, ParseError> {
    program::parse(text)
}

/// The text of one automaton.
pub fn print_function(function: &Function, surroundings: Surroundings<'_>) -> String {
    let mut printer = Printer::new(surroundings, &function.locals);
    printer.function(function);
    printer.out
}

/// Reads one automaton.
///
/// # Errors
/// With the line and column of the first thing that is not in the notation.
pub fn parse_function(text: &str, surroundings: Surroundings<'_>) -> Result<Function, ParseError> {
    let mut parser = Parser::new(lex::tokens(text)?, surroundings);
    let function = parser.function()?;
    parser.done()?;
    Ok(function)
}

/// The text of an operation of a function, without its locations and site.
pub fn print_op(op: &Op, function: &Function, surroundings: Surroundings<'_>) -> String {
    let mut printer = Printer::new(surroundings, &function.locals);
    printer.op(op);
    printer.out
}

/// The text of an expression of a function.
pub fn print_expr(expr: &Expr, function: &Function, surroundings: Surroundings<'_>) -> String {
    let mut printer = Printer::new(surroundings, &function.locals);
    printer.expr(expr);
    printer.out
}

/// The text of an lvalue of a function.
pub fn print_lvalue(lvalue: &Lvalue, function: &Function, surroundings: Surroundings<'_>) -> String {
    let mut printer = Printer::new(surroundings, &function.locals);
    printer.lvalue(lvalue);
    printer.out
}

/// Writes text; its parts are beside the parts of the parser that read it.
struct Printer<'p> {
    out: String,
    surroundings: Surroundings<'p>,
    locals: &'p [Local],
    /// How each local is written.
    local_names: Vec<String>,
    /// Of the edge that is being written.
    site: Option<Site>,
}

/// Reads text.
struct Parser<'p> {
    tokens: Vec<lex::Token>,
    at: usize,
    surroundings: Surroundings<'p>,
    /// Of the function that is being read.
    locals: Vec<Local>,
    /// Of the edge that is being read.
    site: Option<Site>,
}
