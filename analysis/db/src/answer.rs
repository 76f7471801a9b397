//! What is known of one entry's obligations, without positions: what is remembered, here and on the disk.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cpa::Unknown;
use proofline_verifier::{
    Name, ObligationId,
    counterexample::Counterexample,
    finding::Finding,
    judge::{Report, Verdict},
};

/// Verdicts of executions from one entry.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Answer {
    /// Every obligation that was asked about; `Violated` is an index into `counterexamples`.
    pub verdicts: BTreeMap<(Name, ObligationId), Verdict>,
    /// How to reach the violations.
    pub counterexamples: Vec<Counterexample>,
    /// Engines that decided something.
    pub decided_by: BTreeMap<&'static str, usize>,
    /// The engine that gave the last answer.
    pub last_engine: Option<&'static str>,
    /// What proofs rest on.
    pub rests_on: BTreeSet<String>,
    /// Why nothing could be asked at all.
    pub reason: Option<Unknown>,
}

impl Answer {
    /// Without the positions of a report.
    pub(crate) fn of(report: Report) -> Answer {
        let Report { verdicts, findings, decided_by, last_engine, rests_on, reason, .. } = report;
        let counterexamples = findings.into_iter().map(|finding| finding.counterexample).collect();
        Answer { verdicts, counterexamples, decided_by, last_engine, rests_on, reason }
    }

    /// With the counterexamples explained, in their order.
    pub(crate) fn report(&self, entry: Name, explained: &[Option<Finding>]) -> Report {
        let mut findings = Vec::new();
        let mut place = Vec::new();
        for finding in explained {
            place.push(finding.as_ref().map(|finding| {
                findings.push(finding.clone());
                findings.len() - 1
            }));
        }
        let verdict = |verdict: &Verdict| match verdict {
            Verdict::Violated(index) => match place.get(*index).copied().flatten() {
                Some(at) => Verdict::Violated(at),
                None => {
                    Verdict::Unknown(Unknown::InternalError("a counterexample could not be replayed".into()))
                }
            },
            Verdict::Proved(_) | Verdict::Unknown(_) => verdict.clone(),
        };
        Report {
            verdicts: self.verdicts.iter().map(|(target, known)| (*target, verdict(known))).collect(),
            findings,
            means_any_arguments: false,
            entries: vec![entry],
            decided_by: self.decided_by.clone(),
            last_engine: self.last_engine,
            rests_on: self.rests_on.clone(),
            reason: self.reason.clone(),
        }
    }

    /// Whether something is still open.
    pub(crate) fn is_partial(&self) -> bool {
        self.reason.is_some() || self.verdicts.values().any(|verdict| matches!(verdict, Verdict::Unknown(_)))
    }
}
