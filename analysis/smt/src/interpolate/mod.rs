//! Interpolants of sequences and trees of formulas: why a path is infeasible, cut by cut.
//!
//! `I(root) = false`; at every node, the children's formulas and the label imply the node's formula; a formula uses
//! only symbols that occur both inside and outside of its subtree. Current Z3 has no Craig interpolation; the methods
//! here take its place (ALGORITHMS §8.2), and whatever they say is checked against that definition before it is
//! returned.

mod certify;
mod failure;
mod methods;
mod names;
mod options;
mod strategies;
mod trace;
mod tree;
mod unsat_core;
mod vocabulary;

pub use failure::Failure;
pub use methods::Method;
pub use options::Options;
pub use strategies::Strategy;
pub use trace::{Step, sequence_of};
pub use tree::{NodeId, Tree};

use crate::solver::{Limits, Reason};
use crate::term::Term;
use crate::z3::Z3;

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
    let core = unsat_core::restricted_to_core(z3, tree, options.limits)?;
    of_core(z3, tree, &core, strategy, method, options)
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
    let core = unsat_core::restricted_to_core(z3, tree, limits)?;
    let mut last = Failure::Unknown(Reason::Incomplete("no method was asked".into()));
    for (strategy, method, options) in attempts {
        match of_core(z3, tree, &core, *strategy, *method, *options) {
            Ok(found) => return Ok((found, *strategy, *method)),
            Err(Failure::Unknown(Reason::Interrupted)) => return Err(Failure::Unknown(Reason::Interrupted)),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

/// Interpolants of `core`, a weaker tree, that are certified for `tree`.
fn of_core(
    z3: &Z3,
    tree: &Tree,
    core: &Tree,
    strategy: Strategy,
    method: Method,
    options: Options,
) -> Result<Interpolants, Failure> {
    let formulas = strategy.formulas(z3, core, method, options)?;
    certify::certify(z3, tree, &formulas, options.limits)?;
    Ok(Interpolants { formulas })
}
