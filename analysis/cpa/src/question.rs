//! The question that a run answers: of which program, from where, about which error locations, and how. Knows no analysis.

use std::collections::BTreeSet;

use proofline_cfa::{CheckId, Name, ObligationId};
use proofline_program_analysis::Environment;

use crate::Config;

/// Whether a selected error location is reachable.
#[derive(Clone, Debug)]
pub struct Question<'p> {
    /// The program.
    pub env: &'p Environment,
    /// Where executions start. It must be among the entries that the environment was made for: `main`, a function without callers, or what
    /// [`Environment::for_entries`] was given.
    pub entry: Name,
    /// The checks whose error locations count.
    pub checks: BTreeSet<CheckId>,
    /// Of those only these obligations, if set; the others just end the executions that violate them.
    pub only: Option<BTreeSet<(Name, ObligationId)>>,
    /// What changes cost and precision, never the meaning of an answer.
    pub config: Config,
}

impl<'p> Question<'p> {
    /// About all obligations of these checks.
    pub fn new(
        env: &'p Environment,
        entry: Name,
        checks: impl IntoIterator<Item = CheckId>,
        config: Config,
    ) -> Question<'p> {
        Question { env, entry, checks: checks.into_iter().collect(), only: None, config }
    }

    /// About these obligations only.
    #[must_use]
    pub fn only(self, obligations: BTreeSet<(Name, ObligationId)>) -> Question<'p> {
        Question { only: Some(obligations), ..self }
    }
}
