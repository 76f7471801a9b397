//! Why there are no interpolants.

use crate::solver::Reason;

/// Why there are no interpolants.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The formulas are satisfiable together: there is nothing to interpolate.
    #[error("the formulas are satisfiable")]
    Feasible,
    /// A limit, an interruption, or a theory the method does not handle.
    #[error("{0}")]
    Unknown(#[from] Reason),
    /// The method's result is no interpolant. Expected of [`Strategy::WellScoped`](super::Strategy::WellScoped) on trees, a defect elsewhere.
    #[error("rejected at node {node}: {what}")]
    NotCertified {
        /// The node's position in the tree.
        node: u32,
        /// The part of the definition that does not hold there.
        what: String,
    },
}
