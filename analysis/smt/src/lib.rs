//! Logic: our own terms, and the only place that knows Z3.
//!
//! From the bottom up:
//! * [`term`]: hash-consed, sorted terms: plain values, ordered by structure. Walks that read them, and their values.
//! * `simplify`: the rules of normalisation, one operator at a time.
//! * [`build`]: the constructors of terms, which fold and normalise by these rules.
//! * [`rewrite`], [`logic`], [`smtlib`]: what builds terms from terms or from text.
//! * [`solver`]: the trait of a solver; [`Z3`] is a session of the one we have, [`Z3Solver`] its incremental solver.
//! * [`second_eye`]: questions that proofs rest on, as text for another solver.
//! * [`abstraction`], [`project`], [`horn`], [`interpolate`]: questions that take several queries.
//!
//! ```no_run
//! use proofline_smt::{Outcome, Solver, Sort, Z3, build as t};
//!
//! let z3 = Z3::new()?;
//! let mut solver = z3.solver();
//! let x = t::named("x", Sort::Int);
//! solver.assert(t::lt(t::int(3), x));
//! solver.assert(t::lt(x, t::int(5)));
//! assert_eq!(solver.check(), Outcome::Sat);
//! assert_eq!(solver.values(&[x])[0].as_ref().map(|v| v.to_term()), Some(t::int(4)));
//! # Ok::<(), proofline_smt::LibraryMismatch>(())
//! ```
//!
//! **Architecture invariant:** nothing outside this crate names Z3, and nothing in here knows C, automata or analyses.

pub mod abstraction;
pub mod build;
pub mod horn;
pub mod interpolate;
pub mod logic;
mod pretty;
pub mod project;
mod redundancy;
pub mod rewrite;
pub mod second_eye;
mod simplify;
pub mod smtlib;
pub mod solver;
pub mod term;
pub mod worker;
mod z3;

pub use pretty::pretty;
pub use redundancy::without_redundancy;
pub use rewrite::simplify;
pub use solver::{Limits, Outcome, Reason, Recorder, Solver};
pub use term::{Op, Sort, Term, Value, Var};
pub use z3::{
    COMPATIBLE, Interrupter, LibraryMismatch, PatientSolver, SHIPPED, Version, Z3, Z3Solver, check_library,
    check_version, limit_memory,
};
