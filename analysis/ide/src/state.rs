//! What is known about a function, merged over the entries that decide it.

use std::{collections::BTreeMap, sync::Arc};

use proofline_verifier::Unknown;

use crate::{
    finding::Nature,
    program::Program,
    verify::{EntryReport, Obligation, Verdict},
};

/// One state machine per function: lens, gutter and status say the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// Nothing is known yet.
    Queued,
    /// A job works on it.
    Running,
    /// Every obligation holds.
    Proved,
    /// One fails.
    Violated,
    /// Not everything is decided.
    Unknown,
    /// What is known is about an older text.
    Stale,
    /// A defect of ours.
    InternalError,
}

impl State {
    /// Its name in protocols.
    pub fn name(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Running => "running",
            State::Proved => "proved",
            State::Violated => "violated",
            State::Unknown => "unknown",
            State::Stale => "stale",
            State::InternalError => "internal-error",
        }
    }
}

/// A function's verdicts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionReport {
    /// From the verdicts alone: `Queued` if an entry has not reported.
    pub state: State,
    /// Why it is not proved.
    pub reason: Option<String>,
    /// Obligations that hold.
    pub proved: u32,
    /// Obligations that fail.
    pub violated: u32,
    /// Obligations that hold only for some callers: no failure of this function.
    pub asked: u32,
    /// Obligations not decided.
    pub unknown: u32,
    /// Milliseconds.
    pub millis: u64,
    /// Obligations, merged.
    pub obligations: Vec<Obligation>,
    /// What proofs rest on.
    pub rests_on: Vec<String>,
    /// Something is proved for the executions only that do not fail before, where it is not proved that none does.
    pub is_conditional: bool,
}

/// Merges what the entries say about a function: violated from one is violated, proved only if proved from all.
pub fn report(
    program: &Program,
    reports: &BTreeMap<String, Arc<EntryReport>>,
    function: &str,
) -> FunctionReport {
    let mut out = FunctionReport {
        state: State::Proved,
        reason: None,
        proved: 0,
        violated: 0,
        asked: 0,
        unknown: 0,
        millis: 0,
        obligations: Vec::new(),
        rests_on: Vec::new(),
        is_conditional: false,
    };
    let mut natures: BTreeMap<&str, Nature> = BTreeMap::new();
    let (mut missing, mut reason) = (false, None);
    let entries = || program.entries().iter().filter(|entry| entry.decides.contains(function));
    let alone = entries().find(|entry| entry.is_alone).and_then(|entry| reports.get(&entry.name));
    for entry in entries().filter(|entry| !entry.is_alone) {
        let Some(report) = reports.get(&entry.name) else {
            missing = true;
            continue;
        };
        out.millis += report.millis;
        reason = reason.or(report.reason.clone());
        out.rests_on.extend(report.rests_on.iter().cloned());
        out.is_conditional |= report.resting.contains(function);
        natures.extend(report.findings.iter().map(|finding| (finding.id.as_str(), finding.nature)));
        for obligation in report.functions.get(function).into_iter().flatten() {
            match out.obligations.iter_mut().find(|known| is_same(known, obligation)) {
                Some(known) => {
                    let is_latent = |id: &String| natures.get(id.as_str()) == Some(&Nature::Latent);
                    known.verdict.join(obligation.verdict.clone(), is_latent);
                }
                None => out.obligations.push(obligation.clone()),
            }
        }
    }
    // What is known of the function on its own counts, whatever is known from its callers.
    if let Some(report) = alone {
        out.millis += report.millis;
        missing &= !report.is_settled;
        natures.extend(report.findings.iter().map(|finding| (finding.id.as_str(), finding.nature)));
        for obligation in report.functions.get(function).into_iter().flatten() {
            let is_decided = matches!(obligation.verdict, Verdict::Proved(_) | Verdict::Violated(_));
            let known = out.obligations.iter_mut().find(|known| is_same(known, obligation));
            match known {
                Some(known) if is_decided => known.verdict.clone_from(&obligation.verdict),
                Some(_) => {}
                None => out.obligations.push(obligation.clone()),
            }
        }
    }
    out.rests_on.sort();
    out.rests_on.dedup();
    let mut internal = None;
    let mut is_asked = false;
    for obligation in &out.obligations {
        match &obligation.verdict {
            Verdict::Proved(_) => out.proved += 1,
            Verdict::Violated(id) if natures.get(id.as_str()) == Some(&Nature::Latent) => {
                out.asked += 1;
                out.reason.get_or_insert_with(|| format!("holds only if {}", obligation.text));
            }
            Verdict::Violated(_) => out.violated += 1,
            Verdict::Unknown(Unknown::InternalError(why)) => {
                out.unknown += 1;
                internal.get_or_insert_with(|| why.clone());
            }
            Verdict::Unknown(Unknown::IfCallersKeep) => {
                out.proved += 1;
                is_asked = true;
            }
            Verdict::Unknown(why) => {
                out.unknown += 1;
                out.reason.get_or_insert_with(|| why.to_string());
            }
        }
    }
    out.state = match () {
        () if missing && alone.is_none_or(|alone| alone.findings.is_empty()) => State::Queued,
        () if internal.is_some() => State::InternalError,
        () if out.violated > 0 => State::Violated,
        () if out.unknown > 0 || out.asked > 0 || reason.is_some() => State::Unknown,
        () if out.is_conditional => {
            out.reason = Some("proved only if nothing fails before, which is not proved".into());
            State::Unknown
        }
        () => {
            out.reason = is_asked.then(|| "proved, if callers keep its contract".to_owned());
            State::Proved
        }
    };
    out.reason = internal.or(out.reason).or(reason);
    out
}

fn is_same(a: &Obligation, b: &Obligation) -> bool {
    a.check == b.check && a.text == b.text && a.place == b.place
}
