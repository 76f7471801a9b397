//! The portfolio: asks engines in order until every obligation is decided or the budget is used up.

mod round;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    time::Instant,
};

use proofline_cfa::{Name, ObligationId};
use proofline_cpa::{Cancel, Unknown};

use self::round::Round;
use crate::{blame::Blame, engines, finding::Finding, load::Loaded, property::Property};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which obligations.
    pub property: Property,
    /// Entry functions; empty: `main`, or every function that nobody calls.
    pub entries: Vec<Name>,
    /// Engines by name; empty: the portfolio.
    pub engines: Vec<String>,
    /// Steps per engine and question.
    pub steps: u64,
    /// Wall-clock end of everything.
    pub deadline: Option<Instant>,
    /// Stop at the first violation (a yes/no question) instead of deciding every obligation.
    pub first_only: bool,
    /// Ends everything.
    pub cancel: Cancel,
    /// Cores that may be used; verdicts do not depend on it.
    pub threads: usize,
}

/// What is known about one obligation.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// It cannot fail; which engine says so.
    Proved(&'static str),
    /// It fails; index into the findings.
    Violated(usize),
    /// Not decided.
    Unknown(Unknown),
}

/// Verdicts by obligation.
pub type Verdicts = BTreeMap<(Name, ObligationId), Verdict>;

/// Everything a run found out.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Every obligation that was asked about.
    pub verdicts: Verdicts,
    /// Violations, in the order they were found.
    pub findings: Vec<Finding>,
    /// The entries were named: any arguments are meant, and a latent violation is one. Otherwise it is a condition on callers.
    pub means_any_arguments: bool,
    /// Entry functions.
    pub entries: Vec<Name>,
    /// Engines that decided something, with what they said.
    pub decided_by: BTreeMap<&'static str, usize>,
    /// The engine that gave the last answer.
    pub last_engine: Option<&'static str>,
    /// What proved verdicts rest on besides the program text.
    pub rests_on: BTreeSet<String>,
    /// Why nothing could be asked at all.
    pub reason: Option<Unknown>,
}

/// The answer to the whole question.
#[derive(Clone, PartialEq, Debug)]
pub enum Overall {
    /// Every obligation holds.
    True,
    /// At least one is violated.
    False,
    /// None is violated as far as we know, and not all are proved.
    Unknown(Unknown),
}

impl Report {
    /// The answer to the whole question.
    pub fn overall(&self) -> Overall {
        if self.failures().next().is_some() {
            return Overall::False;
        }
        if let Some(reason) = &self.reason {
            return Overall::Unknown(reason.clone());
        }
        let first = self.verdicts.values().find_map(|verdict| match verdict {
            Verdict::Unknown(why) => Some(why.clone()),
            Verdict::Proved(_) | Verdict::Violated(_) => None,
        });
        let latent = self.latent().count();
        match first {
            Some(why) => Overall::Unknown(why),
            None if latent > 0 => {
                Overall::Unknown(Unknown::Unconfirmed(format!("{latent} checks depend on the callers")))
            }
            None => Overall::True,
        }
    }

    /// Violations that nobody outside the program can prevent.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| self.is_failure(finding))
    }

    /// Violations that callers must prevent.
    pub fn latent(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !self.is_failure(finding))
    }

    /// Whether a finding is one of [`failures`](Self::failures).
    pub fn is_failure(&self, finding: &Finding) -> bool {
        self.means_any_arguments || finding.blame == Blame::Manifest
    }

    /// Adds what is known of further entries (`entries` stays as it is): violated from one is violated; proved only if proved
    /// from all.
    pub fn add(&mut self, other: Report) {
        for (target, verdict) in self.take_in(other) {
            match self.verdicts.entry(target) {
                Entry::Vacant(vacant) => {
                    vacant.insert(verdict);
                }
                Entry::Occupied(mut known) => merge(known.get_mut(), verdict),
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
        let mut merged: Vec<((Name, ObligationId), Verdict)> = Vec::with_capacity(all.len());
        for (target, verdict) in all {
            match merged.last_mut() {
                Some((last, known)) if *last == target => merge(known, verdict),
                _ => merged.push((target, verdict)),
            }
        }
        self.verdicts = merged.into_iter().collect();
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
        self.reason = self.reason.take().or(other.reason);
        other.verdicts.into_iter().map(move |(target, verdict)| match verdict {
            Verdict::Violated(index) => (target, Verdict::Violated(before + index)),
            Verdict::Proved(_) | Verdict::Unknown(_) => (target, verdict),
        })
    }
}

/// Decides the property. `progress` hears, in words, what is going on.
pub fn judge(loaded: &Loaded, request: &Request, progress: &mut dyn FnMut(&str)) -> Report {
    let mut report = Report { means_any_arguments: !request.entries.is_empty(), ..Report::default() };
    report.entries = match entries(loaded, request) {
        Ok(entries) => entries,
        Err(why) => {
            report.reason = Some(why);
            return report;
        }
    };
    let mut request = request.clone();
    request.engines = engines_for(&request.engines, &request.entries, &report.entries);
    let count = report.entries.len();
    for (at, entry) in report.entries.clone().into_iter().enumerate() {
        let own = Request { deadline: share(request.deadline, count - at), ..request.clone() };
        let one = judge_entry(loaded, &own, entry, progress);
        report.add(one);
        if request.first_only && report.failures().next().is_some() {
            break;
        }
    }
    report
}

/// Which engines to ask: those that were named; otherwise the portfolio (none named) or, for functions that nobody named or calls, the
/// brief engines for libraries.
pub fn engines_for(named: &[String], given: &[Name], entries: &[Name]) -> Vec<String> {
    let is_library = given.is_empty() && entries.iter().all(|entry| entry.as_str() != "main");
    if named.is_empty() && is_library {
        return engines::library().iter().map(|name| (*name).to_owned()).collect();
    }
    named.to_vec()
}

/// When the next of `count` entries must be done, so that the last one also gets its time.
pub fn share(deadline: Option<Instant>, count: usize) -> Option<Instant> {
    let deadline = deadline?;
    let now = Instant::now();
    let left = deadline.saturating_duration_since(now);
    Some(now + left / u32::try_from(count.max(1)).unwrap_or(u32::MAX))
}

/// Decides the property for executions from one entry function, which has a body.
pub fn judge_entry(
    loaded: &Loaded,
    request: &Request,
    entry: Name,
    progress: &mut dyn FnMut(&str),
) -> Report {
    let functions = loaded.reachable_from(entry);
    let open = request
        .property
        .targets(loaded.program(), functions.iter().filter_map(|f| loaded.env().function(*f)));
    let blocked = loaded.unsupported(&functions);
    let mut round = Round::new(loaded, request, entry, open, blocked.as_ref());
    round.run(progress);
    let mut report = round.finish();
    report.rests_on.extend(loaded.assumptions(&functions));
    report
}

/// Verdicts from several entries: violated from one is violated; proved only if proved from all.
fn merge(known: &mut Verdict, new: Verdict) {
    match (&*known, &new) {
        (Verdict::Violated(_), _) | (Verdict::Unknown(_), Verdict::Proved(_)) => {}
        _ => *known = new,
    }
}

fn entries(loaded: &Loaded, request: &Request) -> Result<Vec<Name>, Unknown> {
    if request.entries.is_empty() {
        let entries = loaded.default_entries();
        if entries.is_empty() {
            return Err(Unknown::Unsupported("there is no function with a body".into()));
        }
        return Ok(entries);
    }
    for entry in &request.entries {
        if loaded.program().function(*entry).is_none() {
            return Err(Unknown::Unsupported(format!("there is no function `{entry}` with a body")));
        }
    }
    Ok(request.entries.clone())
}

/// A panic's message.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
