//! How much an interpolation may cost.

use crate::project::ProjectOptions;
use crate::solver::Limits;

/// Limits of an interpolation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Limits of each solver call.
    pub limits: Limits,
    /// Disjuncts in one projection at most.
    pub models: usize,
}

impl Default for Options {
    /// Four million of the solver's own units per call, 48 disjuncts.
    fn default() -> Options {
        Options { limits: Limits::resource(4_000_000), models: 48 }
    }
}

impl Options {
    /// The same limits for a projection.
    pub(super) fn projecting(self) -> ProjectOptions {
        ProjectOptions { limits: self.limits, models: self.models }
    }
}
