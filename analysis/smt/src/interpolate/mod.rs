//! Interpolants of sequences and trees of formulas: why a path is infeasible, cut by cut.
//!
//! `I(root) = false`; at every node, the children's formulas and the label imply the node's formula; a formula uses
//! only symbols that occur both inside and outside of its subtree. Current Z3 has no Craig interpolation; the methods
//! here take its place (ALGORITHMS §8.2), and whatever they say is checked against that definition before it is
//! returned.

mod binary;
mod certify;
mod cuts;
mod farkas;
mod relax;
mod trace;
mod tree;
mod whole;

pub use trace::{Step, sequence_of};
pub use tree::{NodeId, Tree};

use crate::solver::{Limits, Reason};
use crate::term::Term;
use crate::z3::Z3;

/// In which order and against what the cuts are computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Strategy {
    /// One sweep or one query for the whole tree.
    Tree,
    /// Cut by cut in post-order, a callee before the caller it returns to.
    TreeBinary,
    /// Cut by cut along the path: into a call with the caller's formula kept aside, combined at the return.
    Nested,
    /// Every cut from the original formulas, independently. May fail on trees (never on sequences with `Sp`).
    WellScoped,
}

/// How formulas are found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Method {
    /// Horn clauses through Spacer: slowest, generalises best.
    Horn,
    /// Weakest preconditions over the unsatisfiable core: fast, keeps relations between variables.
    Wp,
    /// Strongest postconditions over the core: fast, but constants stay constants.
    Sp,
    /// Model-based projection, weakened against the rest.
    Mbp,
    /// Sums of the linear inequalities that contradict each other: fast, keeps what loops preserve.
    Farkas,
}

/// Limits of an interpolation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Limits of each solver call.
    pub limits: Limits,
    /// Disjuncts in one projection at most.
    pub models: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { limits: Limits::resource(4_000_000), models: 48 }
    }
}

/// Why there are no interpolants.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The formulas are satisfiable together: there is nothing to interpolate.
    #[error("the formulas are satisfiable")]
    Feasible,
    /// A limit, an interruption, or a theory the method does not handle.
    #[error("{0}")]
    Unknown(#[from] Reason),
    /// The method's result is no interpolant. Expected of [`Strategy::WellScoped`] on trees, a defect elsewhere.
    #[error("rejected at node {node}: {what}")]
    NotCertified {
        /// Where.
        node: u32,
        /// What is violated.
        what: String,
    },
}

/// Certified interpolants of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interpolants {
    formulas: Vec<Term>,
}

impl Interpolants {
    /// The formula at a node.
    #[must_use]
    pub fn at(&self, node: NodeId) -> Term {
        self.formulas[node.index()]
    }

    /// The formulas of all nodes, in order; the last one is `false`.
    #[must_use]
    pub fn formulas(&self) -> &[Term] {
        &self.formulas
    }
}

/// Interpolants of `tree` by one strategy and method.
///
/// # Errors
/// If the formulas are satisfiable, the method fails, or what it found is not certified.
pub fn interpolate(
    z3: &Z3,
    tree: &Tree,
    strategy: Strategy,
    method: Method,
    options: Options,
) -> Result<Interpolants, Failure> {
    let relaxed = relax::relax(z3, tree, options.limits)?;
    from_relaxed(z3, tree, &relaxed, strategy, method, options)
}

/// The first of several attempts that succeeds; the unsatisfiable core is computed once.
///
/// # Errors
/// The failure of the last attempt, or that the formulas are satisfiable.
pub fn interpolate_by(
    z3: &Z3,
    tree: &Tree,
    attempts: &[(Strategy, Method, Options)],
) -> Result<(Interpolants, Strategy, Method), Failure> {
    let limits = attempts.first().map_or(Limits::NONE, |(_, _, options)| options.limits);
    let relaxed = relax::relax(z3, tree, limits)?;
    let mut last = Failure::Unknown(Reason::Incomplete("no method was asked".into()));
    for (strategy, method, options) in attempts {
        match from_relaxed(z3, tree, &relaxed, *strategy, *method, *options) {
            Ok(found) => return Ok((found, *strategy, *method)),
            Err(Failure::Unknown(Reason::Interrupted)) => return Err(Failure::Unknown(Reason::Interrupted)),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

fn from_relaxed(
    z3: &Z3,
    tree: &Tree,
    relaxed: &Tree,
    strategy: Strategy,
    method: Method,
    options: Options,
) -> Result<Interpolants, Failure> {
    let formulas = match strategy {
        Strategy::Tree => whole::whole(z3, relaxed, method, options)?,
        Strategy::TreeBinary => cuts::along(z3, relaxed, relaxed.callee_first(), method, options)?,
        Strategy::Nested => cuts::along(z3, relaxed, relaxed.nodes().collect(), method, options)?,
        Strategy::WellScoped => cuts::apart(z3, relaxed, method, options)?,
    };
    certify::certify(z3, tree, &formulas, options.limits)?;
    Ok(Interpolants { formulas })
}
