//! What was found out: from one entry without positions ([`Judgement`], which can be remembered), and from all entries with the findings
//! explained ([`Report`]).

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry as Slot};

use proofline_cfa::{Entry, Name, ObligationId};
use proofline_cpa::Unknown;
use proofline_syntax::interrupt;

use crate::{
    blame::Blame,
    contracts::Contract,
    counterexample::Counterexample,
    finding::Finding,
    subject::Subject,
    verdict::{Verdict, Verdicts},
    wording::{Spot, Wordings},
};

/// A function that is proved, if its callers keep a contract.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// What it asks for. Nothing, if it is proved without.
    pub contract: Contract,
    /// The same in words, one demand each.
    pub words: Vec<String>,
    /// The same as terms of ACSL.
    pub acsl: Vec<String>,
    /// Callers that are not seen must keep it. Otherwise all callers are seen, and are proved to keep it, as far as they are called as they ask for.
    pub is_shown: bool,
    /// Nothing is asked, or all callers are seen, and so are theirs up to functions that ask nothing: it is proved.
    pub is_met: bool,
    /// A person has written it.
    pub is_written: bool,
    /// What is not proved under it, calls that need not keep what they are asked for among it. Then it is a contract in part: what it proves rests on what it does not.
    pub open: BTreeSet<ObligationId>,
}

impl Kept {
    /// Whether everything is proved under it.
    pub fn is_whole(&self) -> bool {
        self.open.is_empty()
    }
}

/// What engines found out about the executions from one entry, without positions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Judgement {
    /// Every obligation that was asked about; `Violated` is an index into `counterexamples`.
    pub verdicts: Verdicts,
    /// How to reach the violations, in the order they were found.
    pub counterexamples: Vec<Counterexample>,
    /// Engines that decided something, and how often.
    pub decided_by: BTreeMap<&'static str, usize>,
    /// The engine that gave the last answer.
    pub last_engine: Option<&'static str>,
    /// What proofs rest on besides the program text.
    pub rests_on: BTreeSet<String>,
    /// Functions with obligations in reach that unknown code may call meanwhile, with any arguments.
    pub called_from_outside: BTreeSet<Name>,
    /// Functions with something proved for the executions only that do not fail before, where it is not proved that none does.
    pub resting: BTreeSet<Name>,
    /// Engines that decide each obligation for itself and have said all they know: more steps would not change it.
    pub finished: BTreeSet<&'static str>,
    /// Why nothing could be asked at all.
    pub reason: Option<Unknown>,
}

impl Judgement {
    /// Its counterexamples, explained, in their order; `None` where one cannot be reproduced.
    pub fn explained(&self, subject: &Subject, words: &Wordings) -> Vec<Option<Finding<Spot>>> {
        let all = self.counterexamples.iter();
        all.map(|counterexample| {
            // Each is a run.
            interrupt::poll_now();
            Finding::explain(subject, words, counterexample.clone())
        })
        .collect()
    }

    /// With the counterexamples explained, in their order.
    pub fn report(&self, entry: Entry, explained: &[Option<Finding>]) -> Report {
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
                None => Verdict::Unknown(not_replayed()),
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
            called_from_outside: self.called_from_outside.clone(),
            resting: self.resting.clone(),
            kept: BTreeMap::new(),
            contract_problems: BTreeMap::new(),
            calls_not_kept: BTreeMap::new(),
            reason: self.reason.clone(),
        }
    }

    /// Whether something is still open.
    pub fn is_partial(&self) -> bool {
        self.reason.is_some() || self.verdicts.values().any(|verdict| matches!(verdict, Verdict::Unknown(_)))
    }
}

/// A defect of ours: an engine gave a counterexample that the interpreter does not follow.
pub(crate) fn not_replayed() -> Unknown {
    Unknown::InternalError("a counterexample could not be replayed".into())
}

/// Everything a run found out.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Every obligation that was asked about.
    pub verdicts: Verdicts,
    /// Violations, in the order they were found.
    pub findings: Vec<Finding>,
    /// The entries were named: any arguments are meant, and a latent violation is one. Otherwise it is a condition on callers.
    pub means_any_arguments: bool,
    /// Where executions start.
    pub entries: Vec<Entry>,
    /// Engines that decided something, and how often.
    pub decided_by: BTreeMap<&'static str, usize>,
    /// The engine that gave the last answer.
    pub last_engine: Option<&'static str>,
    /// What proved verdicts rest on besides the program text.
    pub rests_on: BTreeSet<String>,
    /// Functions with obligations in reach that unknown code may call meanwhile, with any arguments.
    pub called_from_outside: BTreeSet<Name>,
    /// Functions with something proved for the executions only that do not fail before, where it is not proved that none does.
    pub resting: BTreeSet<Name>,
    /// Functions that are proved, if their callers keep a contract.
    pub kept: BTreeMap<Name, Kept>,
    /// What is wrong with contracts in the text, by function.
    pub contract_problems: BTreeMap<Name, Vec<String>>,
    /// Calls of which it is not shown that they keep what the callee asks for, by the function that calls: what is asked, in words.
    pub calls_not_kept: BTreeMap<Name, Vec<String>>,
    /// Why nothing could be asked at all.
    pub reason: Option<Unknown>,
}

/// The engine of what is proved with the contracts of what is called.
pub const BY_CONTRACTS: &str = "contracts";

/// The answer to the whole question.
#[derive(Clone, PartialEq, Debug)]
pub enum Overall {
    /// Every obligation holds.
    True,
    /// There is no obligation.
    Nothing,
    /// At least one is violated.
    False,
    /// None is violated as far as we know, and not all are proved.
    Unknown(Unknown),
}

impl Report {
    /// Nothing could be asked.
    pub fn nothing(reason: Unknown) -> Report {
        Report { reason: Some(reason), ..Report::default() }
    }

    /// The answer to the whole question.
    pub fn overall(&self) -> Overall {
        if self.failures().next().is_some() {
            return Overall::False;
        }
        if let Some(reason) = &self.reason {
            return Overall::Unknown(reason.clone());
        }
        if self.verdicts.is_empty() {
            return Overall::Nothing;
        }
        let reasons = self.verdicts.values().filter_map(|verdict| match verdict {
            Verdict::Unknown(why) => Some(why),
            Verdict::Proved(_) | Verdict::Violated(_) => None,
        });
        // That callers must keep contracts is the whole answer only where nothing else is open.
        let first =
            reasons.clone().find(|why| **why != Unknown::IfCallersKeep).or(reasons.clone().next()).cloned();
        let latent = self.latent().count();
        match first {
            Some(why) => Overall::Unknown(why),
            None if latent > 0 => {
                let checks = if latent == 1 { "1 check depends" } else { "checks depend" };
                let count = if latent == 1 { String::new() } else { format!("{latent} ") };
                Overall::Unknown(Unknown::Unconfirmed(format!("{count}{checks} on the callers")))
            }
            None => Overall::True,
        }
    }

    /// Violations that no caller can prevent.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| self.is_failure(finding))
    }

    /// Violations that callers must prevent.
    pub fn latent(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !self.is_failure(finding))
    }

    /// Marks what is proved if callers keep contracts, apart from what these do not ask of callers in sight. What some caller of a function that is
    /// not proved may break stays a finding.
    pub(crate) fn settle_kept(&mut self, not_asked_of_callers: &BTreeSet<(Name, ObligationId)>) {
        // Of a contract that is not enough only what a person has written counts, and only for the function itself: what it calls may be called
        // otherwise than it asks for.
        let is_covered = |finding: &Finding, function: Name| {
            let entry = finding.counterexample.entry.name;
            finding.blame != Blame::Manifest
                && self
                    .kept
                    .get(&entry)
                    .is_some_and(|kept| kept.is_whole() || kept.is_written && entry == function)
        };
        let mut dropped = BTreeSet::new();
        for (target, verdict) in &mut self.verdicts {
            let Some(kept) = self.kept.get(&target.0) else { continue };
            if not_asked_of_callers.contains(target) || kept.open.contains(&target.1) {
                continue;
            }
            let is_open = match verdict {
                Verdict::Proved(_) => false,
                Verdict::Unknown(Unknown::InternalError(_)) => false,
                Verdict::Unknown(_) => true,
                Verdict::Violated(index) => is_covered(&self.findings[*index], target.0),
            };
            if !is_open {
                continue;
            }
            if let Verdict::Violated(index) = verdict {
                dropped.insert(*index);
            }
            *verdict = if kept.is_met {
                Verdict::Proved(BY_CONTRACTS)
            } else {
                Verdict::Unknown(Unknown::IfCallersKeep)
            };
        }
        self.drop_findings(&dropped);
    }

    /// Without these findings, which no verdict names.
    fn drop_findings(&mut self, dropped: &BTreeSet<usize>) {
        if dropped.is_empty() {
            return;
        }
        let mut place = Vec::new();
        let mut kept = Vec::new();
        for (at, finding) in std::mem::take(&mut self.findings).into_iter().enumerate() {
            place.push(kept.len());
            if !dropped.contains(&at) {
                kept.push(finding);
            }
        }
        self.findings = kept;
        for verdict in self.verdicts.values_mut() {
            if let Verdict::Violated(index) = verdict {
                *index = place[*index];
            }
        }
    }

    /// Whether a finding is one of [`failures`](Self::failures).
    pub fn is_failure(&self, finding: &Finding) -> bool {
        self.means_any_arguments || finding.blame == Blame::Manifest
    }

    /// Takes back what was called proved: of a text that was not understood nothing is. Violations stay: they were executed,
    /// and no run passes what was not understood.
    pub(crate) fn retract_proofs(&mut self, why: &Unknown) {
        let mut is_violated = false;
        for verdict in self.verdicts.values_mut() {
            match verdict {
                Verdict::Proved(_) | Verdict::Unknown(_) => *verdict = Verdict::Unknown(why.clone()),
                Verdict::Violated(_) => is_violated = true,
            }
        }
        if !is_violated {
            self.decided_by.clear();
            self.last_engine = None;
        }
        self.resting.clear();
        self.reason.get_or_insert_with(|| why.clone());
    }

    /// Takes in what is known of executions in which unknown code calls a function. What is proved must be proved of these, too. A violation there
    /// is none of the program: who knows whether that code makes such a call.
    pub(crate) fn add_call_from_outside(&mut self, function: Name, other: Report) {
        let why = || Unknown::Unsupported(format!("code that is not here may call `{function}`"));
        let is_open = other.reason.is_some() && other.verdicts.is_empty();
        self.reason = self.reason.take().or(is_open.then(why));
        self.rests_on.extend(other.rests_on);
        for (target, verdict) in other.verdicts {
            let verdict = match verdict {
                Verdict::Proved(_) | Verdict::Unknown(Unknown::InternalError(_)) => verdict,
                Verdict::Violated(_) | Verdict::Unknown(_) => Verdict::Unknown(why()),
            };
            match self.verdicts.entry(target) {
                Slot::Vacant(vacant) => {
                    vacant.insert(verdict);
                }
                Slot::Occupied(mut known) => known.get_mut().join(verdict, is_latent(&self.findings)),
            }
        }
    }

    /// Whether more effort could decide something.
    pub(crate) fn is_open(&self) -> bool {
        self.reason.is_none() && self.verdicts.values().any(|verdict| matches!(verdict, Verdict::Unknown(_)))
    }

    /// Keeps what is known of one function.
    pub(crate) fn keep_of(&mut self, function: Name) {
        let mut others = BTreeSet::new();
        self.verdicts.retain(|(name, _), verdict| {
            if let (true, Verdict::Violated(index)) = (*name != function, &verdict) {
                others.insert(*index);
            }
            *name == function
        });
        self.drop_findings(&others);
    }

    /// Of a function on its own: keeps what holds for all callers, and what fails whatever they do. What the function itself only claims
    /// (`assert(0)` in a function that must not be called) is the callers' matter, too.
    pub(crate) fn keep_for_all_callers(&mut self) {
        let findings = std::mem::take(&mut self.findings);
        let mut kept = BTreeMap::new();
        for (index, finding) in findings.into_iter().enumerate() {
            if finding.is_unconditional && !finding.check.is_claim() {
                kept.insert(index, self.findings.len());
                self.findings.push(finding);
            }
        }
        self.verdicts.retain(|_, verdict| match verdict {
            Verdict::Proved(_) => true,
            Verdict::Violated(index) => kept.get(index).is_some_and(|new| {
                *index = *new;
                true
            }),
            Verdict::Unknown(_) => false,
        });
        // What is open elsewhere, whoever puts all answers together knows.
        let is_proved = self.verdicts.values().any(Verdict::is_proved);
        self.rests_on.retain(|text| is_proved && !text.ends_with(", not proved)"));
        self.reason = self.reason.take().filter(|why| matches!(why, Unknown::InternalError(_)));
    }

    /// Adds what [`keep_for_all_callers`](Self::keep_for_all_callers) has kept: it counts, whatever is known from entries. `proves`: its proofs do.
    pub(crate) fn add_for_all_callers(&mut self, mut own: Report, proves: bool) {
        // Entries know better what comes before.
        own.resting.clear();
        own.reason = None;
        for (target, verdict) in self.take_in(own) {
            if proves || !verdict.is_proved() {
                self.verdicts.insert(target, verdict);
            }
        }
    }

    /// Adds what is known of further entries (`entries` stays as it is), joined obligation by obligation.
    pub fn add(&mut self, other: Report) {
        for (target, verdict) in self.take_in(other) {
            match self.verdicts.entry(target) {
                Slot::Vacant(vacant) => {
                    vacant.insert(verdict);
                }
                Slot::Occupied(mut known) => known.get_mut().join(verdict, is_latent(&self.findings)),
            }
        }
    }

    /// The same for many, in their order: what it costs is sorting their verdicts once.
    pub fn add_all(&mut self, others: Vec<Report>) {
        let mut all: Vec<((Name, ObligationId), Verdict)> =
            std::mem::take(&mut self.verdicts).into_iter().collect();
        for other in others {
            all.extend(self.take_in(other));
        }
        // Stable: verdicts about one target stay in order.
        all.sort_by_key(|(target, _)| *target);
        let mut joined: Vec<((Name, ObligationId), Verdict)> = Vec::with_capacity(all.len());
        for (target, verdict) in all {
            match joined.last_mut() {
                Some((last, known)) if *last == target => known.join(verdict, is_latent(&self.findings)),
                _ => joined.push((target, verdict)),
            }
        }
        self.verdicts = joined.into_iter().collect();
    }

    /// Adds everything but the verdicts, which are given back as they count here.
    fn take_in(&mut self, other: Report) -> impl Iterator<Item = ((Name, ObligationId), Verdict)> + use<> {
        let before = self.findings.len();
        self.findings.extend(other.findings);
        for (engine, count) in other.decided_by {
            *self.decided_by.entry(engine).or_default() += count;
        }
        self.last_engine = other.last_engine.or(self.last_engine);
        self.rests_on.extend(other.rests_on);
        self.resting.extend(other.resting);
        self.kept.extend(other.kept);
        self.contract_problems.extend(other.contract_problems);
        self.calls_not_kept.extend(other.calls_not_kept);
        self.reason = self.reason.take().or(other.reason);
        other.verdicts.into_iter().map(move |(target, verdict)| match verdict {
            Verdict::Violated(index) => (target, Verdict::Violated(before + index)),
            Verdict::Proved(_) | Verdict::Unknown(_) => (target, verdict),
        })
    }
}

/// Whether callers can prevent the violation that one of these findings shows.
fn is_latent(findings: &[Finding]) -> impl Fn(&usize) -> bool {
    |index| findings.get(*index).is_some_and(|finding| finding.blame != Blame::Manifest)
}
