//! Paths through the automata of a program: what a counterexample is before anyone has looked at values.

use proofline_cfa::{EdgeId, Name, ObligationId};

/// A path from the entry of a function, across calls.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Path {
    /// Function whose entry it starts at.
    pub entry: Name,
    /// Steps in order.
    pub steps: Vec<PathStep>,
    /// What is violated at its end, in the function the last step is in.
    pub target: Option<(Name, ObligationId)>,
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum PathStep {
    /// An ordinary edge of the innermost function.
    Edge(Name, EdgeId),
    /// The call edge of `caller` is entered; the innermost function is now `callee`.
    #[expect(missing_docs, reason = "named by meaning")]
    Enter { caller: Name, edge: EdgeId, callee: Name },
    /// `callee`'s exit is left for the target of `caller`'s call edge.
    #[expect(missing_docs, reason = "named by meaning")]
    Leave { callee: Name, caller: Name, edge: EdgeId },
}
