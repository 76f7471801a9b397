//! How much a solution may cost, and what comes with it.

use crate::solver::Limits;

/// How a system is solved.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HornOptions {
    /// Limits of the engine, and of each certifying check.
    pub limits: Limits,
    /// Spacer's global guidance: lemmas are generalised across each other. Finds some invariants that the default
    /// search diverges on, and costs time elsewhere. Of several facts that a rule needs, the last is then looked at first.
    pub guided: bool,
    /// A refutation comes with its derivation. Reading one back may take longer than the search.
    pub derivation: bool,
}
