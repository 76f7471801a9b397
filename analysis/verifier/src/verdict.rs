//! What is known about one obligation, and what is known of it when several entries have been asked.

use std::collections::BTreeMap;

use proofline_cfa::{Name, ObligationId};
use proofline_cpa::Unknown;

/// What is known about one obligation. `F` names the finding that shows a violation; in a report it is an index into the findings.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict<F = usize> {
    /// It cannot fail; which engine says so.
    Proved(&'static str),
    /// It fails.
    Violated(F),
    /// Not decided.
    Unknown(Unknown),
}

/// Verdicts by obligation.
pub type Verdicts = BTreeMap<(Name, ObligationId), Verdict>;

/// Where what a run with hints found out breaks the law of hints: more may be known than without, never less, and nothing else. `fresh`: what a
/// run without them found out about the same question.
pub fn against_the_law_of_hints(with_hints: &Verdicts, fresh: &Verdicts) -> Option<String> {
    let is_allowed = |known: Option<&Verdict>, fresh: &Verdict| match (fresh, known) {
        (Verdict::Proved(_), known) => matches!(known, Some(Verdict::Proved(_))),
        (Verdict::Violated(_), known) => matches!(known, Some(Verdict::Violated(_))),
        (Verdict::Unknown(Unknown::IfCallersKeep), known) => {
            matches!(known, Some(Verdict::Proved(_) | Verdict::Unknown(Unknown::IfCallersKeep)))
        }
        (Verdict::Unknown(_), known) => known.is_some(),
    };
    if let Some(target) = with_hints.keys().find(|target| !fresh.contains_key(target)) {
        return Some(format!("{target:?} is asked about with hints only"));
    }
    let (target, fresh) = fresh.iter().find(|(target, fresh)| !is_allowed(with_hints.get(target), fresh))?;
    Some(format!("{target:?} is {fresh:?} without hints and {:?} with them", with_hints.get(target)))
}

/// The chain that verdicts from several entries are joined in: the worst counts. What fails whatever callers do is worse than what some
/// callers may prevent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    Proved,
    Unknown,
    /// A defect of ours.
    InternalError,
    Latent,
    Manifest,
}

impl<F> Verdict<F> {
    fn rank(&self, is_latent: impl Fn(&F) -> bool) -> Rank {
        match self {
            Verdict::Proved(_) => Rank::Proved,
            Verdict::Unknown(Unknown::InternalError(_)) => Rank::InternalError,
            Verdict::Unknown(_) => Rank::Unknown,
            Verdict::Violated(finding) if is_latent(finding) => Rank::Latent,
            Verdict::Violated(_) => Rank::Manifest,
        }
    }

    /// The least upper bound: what is known of an obligation that executions from several entries reach. It is proved only if it is proved
    /// from all, and violated if it is violated from one. Of two of the same rank the first stays. `is_latent`: callers can prevent
    /// the violation that a finding shows.
    pub fn join(&mut self, other: Verdict<F>, is_latent: impl Fn(&F) -> bool) {
        if other.rank(&is_latent) > self.rank(&is_latent) {
            *self = other;
        }
    }

    /// It cannot fail.
    pub fn is_proved(&self) -> bool {
        matches!(self, Verdict::Proved(_))
    }
}
