//! What is known about a function, merged over the entries that decide it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use proofline_verifier::{Name, Unknown};

use crate::{
    finding::Nature,
    place::Range,
    program::Program,
    verify::{EntryReport, Obligation, Verdict},
    words,
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
    /// Every obligation holds, if callers see to what is asked of them.
    Asks,
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
            State::Asks => "asks",
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
    /// What callers must see to, most easily said first.
    pub needs: Vec<String>,
    /// Milliseconds.
    pub millis: u64,
    /// Obligations, merged.
    pub obligations: Arc<Vec<Obligation>>,
    /// Something is proved for the executions only that do not fail before, where it is not proved that none does.
    pub is_conditional: bool,
}

impl FunctionReport {
    /// How many places were checked.
    pub fn total(&self) -> u32 {
        self.proved + self.violated + self.asked + self.unknown
    }

    /// The verdict in one sentence, for hovers, panels and lists: the same words everywhere.
    pub fn headline(&self) -> String {
        let total = self.total();
        match self.state {
            State::Queued => "waiting".to_owned(),
            State::Running => "being checked".to_owned(),
            State::Stale => "result of an older text".to_owned(),
            State::Proved if total == 0 => "nothing to check".to_owned(),
            State::Proved => match total {
                1 => "proved: the one check holds".to_owned(),
                2 => "proved: both checks hold".to_owned(),
                total => format!("proved: all {total} checks hold"),
            },
            State::Asks => {
                format!("proved, if callers see to it: it {}", self.short_need().unwrap_or_default())
            }
            State::Violated => part(self.violated, total, "fails", "fail"),
            State::Unknown if self.unknown + self.asked == 0 && self.is_conditional => {
                format!("proved if nothing fails before, which is not proved ({})", counted(total))
            }
            State::Unknown if self.unknown == 0 => {
                format!("not decided: {}", self.reason.as_deref().unwrap_or("it depends on the callers"))
            }
            State::Unknown => part(self.unknown, total, "is not decided", "are not decided"),
            State::InternalError => "internal error".to_owned(),
        }
    }

    /// The same above the function, where there is little room.
    pub fn lens(&self) -> String {
        match self.state {
            State::Running => "checking…".to_owned(),
            State::Proved if self.total() > 0 => format!("proved ({})", self.total()),
            State::Asks => self.short_need().unwrap_or_else(|| "proved, if callers see to it".to_owned()),
            State::Violated | State::Unknown if self.violated + self.unknown > 0 => {
                let (open, word) = match self.violated {
                    0 => (self.unknown, "not decided"),
                    failing => (failing, "fail"),
                };
                format!("{open} of {} {word}", self.total())
            }
            State::Unknown if self.asked == 0 && self.is_conditional => {
                "proved if nothing fails before".to_owned()
            }
            State::Queued
            | State::Proved
            | State::Violated
            | State::Unknown
            | State::Stale
            | State::InternalError => self.headline(),
        }
    }

    /// What it needs, in one line: "needs `s != NULL`, and 2 more", without the marks of code.
    pub fn short_need(&self) -> Option<String> {
        let first = self.needs.first()?.replace('`', "");
        Some(match self.needs.len() - 1 {
            0 => format!("needs {first}"),
            more => format!("needs {first}, and {more} more"),
        })
    }
}

/// `1 of 3 checks fails`.
fn part(some: u32, all: u32, one: &str, more: &str) -> String {
    match (some, all) {
        (_, 1) => format!("the one check {one}"),
        (1, all) => format!("1 of {all} checks {one}"),
        (some, all) => format!("{some} of {all} checks {more}"),
    }
}

fn counted(checks: u32) -> String {
    match checks {
        1 => "1 check".to_owned(),
        checks => format!("{checks} checks"),
    }
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
        needs: Vec::new(),
        millis: 0,
        obligations: Arc::default(),
        is_conditional: false,
    };
    let (mut missing, mut reason) = (false, None);
    let mut merged = Merged::default();
    let entries = || program.deciding(function);
    let findings =
        || entries().filter_map(|entry| reports.get(&entry.name)).flat_map(|report| &report.findings);
    let is_latent = |id: &String| {
        findings().find(|finding| finding.id == *id).is_some_and(|finding| finding.nature == Nature::Latent)
    };
    let alone = entries().find(|entry| entry.is_alone).and_then(|entry| reports.get(&entry.name));
    // Some functions of large libraries are decided on their own only.
    let is_only_alone = entries().next().is_some() && entries().all(|entry| entry.is_alone);
    missing |= alone.is_none() && is_only_alone;
    for entry in entries().filter(|entry| !entry.is_alone) {
        let Some(report) = reports.get(&entry.name) else {
            missing = true;
            continue;
        };
        out.millis += report.millis;
        reason = reason.or(report.reason.clone());
        out.is_conditional |= report.resting.contains(function);
        for (at, obligation) in report.functions.get(function).into_iter().flatten().enumerate() {
            match merged.find(at, obligation) {
                Some(known) if known.verdict == obligation.verdict => {}
                Some(known) => known.verdict.join(obligation.verdict.clone(), is_latent),
                None => merged.obligations.push(obligation.clone()),
            }
        }
    }
    // What is known of the function on its own counts, whatever is known from its callers.
    if let Some(report) = alone {
        out.millis += report.millis;
        missing &= !report.is_settled;
        out.is_conditional |= is_only_alone && report.resting.contains(function);
        for (at, obligation) in report.functions.get(function).into_iter().flatten().enumerate() {
            let is_decided = matches!(obligation.verdict, Verdict::Proved(_) | Verdict::Violated(_));
            match merged.find(at, obligation) {
                Some(known) if is_decided => known.verdict.clone_from(&obligation.verdict),
                Some(_) => {}
                None => merged.obligations.push(obligation.clone()),
            }
        }
    }
    out.obligations = Arc::new(merged.obligations);
    let mut internal = None;
    let mut is_asked = false;
    let mut needs: Vec<String> = Vec::new();
    for obligation in &*out.obligations {
        match &obligation.verdict {
            Verdict::Proved(_) => out.proved += 1,
            Verdict::Violated(id) if is_latent(id) => {
                out.asked += 1;
                let finding = findings().find(|finding| finding.id == *id);
                needs
                    .extend(finding.map(|finding| {
                        finding.needs().unwrap_or_else(|| words::condition(&obligation.text))
                    }));
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
                out.reason.get_or_insert_with(|| words::why(why).reason);
            }
        }
    }
    // Where all callers are seen, and keep the contract, nobody else has to.
    let contracts = entries().filter_map(|entry| reports.get(&entry.name)?.contracts.get(function));
    for kept in contracts.filter(|kept| kept.is_shown && is_asked) {
        // Without marks, where all of it is code.
        let plain = |text: &String| {
            let inner = text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
            inner.filter(|inner| !inner.contains('`')).map_or_else(|| text.clone(), str::to_owned)
        };
        needs.extend(kept.words.iter().map(plain));
    }
    needs.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    needs.dedup();
    out.needs = needs;
    out.state = match () {
        () if missing && alone.is_none_or(|alone| alone.findings.is_empty()) => State::Queued,
        () if internal.is_some() => State::InternalError,
        () if out.violated > 0 => State::Violated,
        () if out.unknown > 0 || reason.is_some() => State::Unknown,
        // What is behind a place that is up to callers rests on it; on nothing else, or it is not just theirs.
        () if out.is_conditional && (out.asked == 0 || !rests_on_itself(program, reports, function)) => {
            out.reason = Some("proved only if nothing fails before, which is not proved".into());
            State::Unknown
        }
        () if !out.needs.is_empty() || out.asked > 0 => {
            out.reason = out.short_need();
            State::Asks
        }
        () => State::Proved,
    };
    out.reason = internal.or(out.reason).or(reason);
    out
}

/// Whether all that proofs of executions through a function rest on, and that is not proved, is in the function itself.
fn rests_on_itself(program: &Program, reports: &BTreeMap<String, Arc<EntryReport>>, function: &str) -> bool {
    let here = format!(" in `{function}` ");
    let entries = program.deciding(function).filter_map(|entry| reports.get(&entry.name));
    let mut open = entries.flat_map(|report| &report.rests_on).filter(|text| text.ends_with(", not proved)"));
    open.all(|text| text.contains(&here))
}

/// Obligations of a function that several entries speak of.
#[derive(Default)]
struct Merged {
    obligations: Vec<Obligation>,
    /// The first obligation with each key.
    first: HashMap<Key, usize>,
    /// How many obligations were looked at for that.
    indexed: usize,
}

/// What nearly always tells a function's obligations apart; paths are dear to hash.
type Key = (Name, &'static str, Option<Range>);

impl Merged {
    /// The same obligation. Reports about one text mostly have the same ones in the same order.
    fn find(&mut self, at: usize, obligation: &Obligation) -> Option<&mut Obligation> {
        let is_same = |at: &usize| self.obligations.get(*at).is_some_and(|known| is_same(known, obligation));
        let at = if is_same(&at) {
            at
        } else {
            for (at, known) in self.obligations.iter().enumerate().skip(self.indexed) {
                self.first.entry(key(known)).or_insert(at);
            }
            self.indexed = self.obligations.len();
            let first = *self.first.get(&key(obligation))?;
            (first..self.obligations.len()).find(is_same)?
        };
        self.obligations.get_mut(at)
    }
}

fn is_same(one: &Obligation, other: &Obligation) -> bool {
    key(one) == key(other) && one.place == other.place
}

fn key(obligation: &Obligation) -> Key {
    (obligation.text, obligation.check, obligation.place.as_ref().map(|place| place.range))
}
