//! A library, function by function, cheap engines before dear ones. Each function that others call is also judged on its own, called by
//! anybody with any arguments: what is proved so holds for all callers, and what fails so whatever callers do is an error, whoever calls it.
//! Everything else that such a run shows is the callers' matter, and judged in the executions from the entries.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Entry, Name, ObligationId};

use super::{Control, Programs, Request, Round, Settled, check_entry, each};
use crate::{engines, report::Report, verdict::Verdict};

/// Entries that are asked dear questions before what is known then is looked at again.
const WAVE: usize = 4;

/// Which engines are asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rounds {
    /// Those without a solver, briefly.
    Cheap,
    /// All.
    All,
}

impl Rounds {
    /// In order.
    fn engines(self) -> &'static [Vec<&'static str>] {
        let all = engines::library_rounds();
        match self {
            Rounds::Cheap => &all[..1.min(all.len())],
            Rounds::All => all,
        }
    }
}

type Target = (Name, ObligationId);

/// A function of a library on its own, whoever calls it: what is proved for all callers, and what fails whatever they do.
///
/// # Errors
/// If the work was stopped.
pub fn function_alone<P: Programs>(
    programs: &P,
    request: &Request,
    function: Name,
    rounds: Rounds,
    control: &Control,
) -> Result<Report, P::Error> {
    let mut last: Option<Request> = None;
    let mut report = None;
    for engines in alone(rounds) {
        let round = Round { is_own: true, settled: Arc::default(), after: last.map(Arc::new) };
        let next = of_round(request, engines, round);
        let found = check_entry(programs, &next, Entry::new(function), control)?;
        let is_decided = !found.is_open();
        report = Some(found);
        last = Some(next);
        if is_decided {
            break;
        }
    }
    let mut report = report.unwrap_or_default();
    report.keep_for_all_callers();
    control.tell(report.findings.iter());
    Ok(report)
}

/// What is known of the executions from one entry of a library after some rounds.
///
/// # Errors
/// If the work was stopped.
pub fn entry_in_rounds<P: Programs>(
    programs: &P,
    request: &Request,
    entry: Entry,
    rounds: Rounds,
    control: &Control,
) -> Result<Report, P::Error> {
    let mut settled = Settled::new();
    if programs.has_body(entry.name)? && programs.misunderstood(entry)?.is_none() {
        for function in programs.reached(entry.name)?.into_iter().filter(|name| *name != entry.name) {
            let own = function_alone(programs, request, function, rounds, control)?;
            settled.extend(decided(&own));
        }
    }
    let mut last: Option<(Request, Report)> = None;
    for engines in rounds.engines() {
        let settled = if last.is_none() { BTreeMap::new() } else { settled.clone() };
        last = Some(next_round(programs, request, engines, entry, settled, last, control)?);
    }
    Ok(last.map(|(_, report)| report).unwrap_or_default())
}

/// The last round but one is not for functions alone: it is a longer one of the first.
fn alone(rounds: Rounds) -> impl Iterator<Item = &'static Vec<&'static str>> {
    let all = rounds.engines();
    all.iter().enumerate().filter(move |(at, _)| *at == 0 || at + 1 == all.len()).map(|(_, round)| round)
}

fn of_round(request: &Request, engines: &[&str], round: Round) -> Request {
    let engines = engines.iter().map(|name| (*name).to_owned()).collect();
    Request { engines, round, ..request.clone() }
}

/// One more round about an entry, unless everything is decided.
fn next_round<P: Programs>(
    programs: &P,
    request: &Request,
    engines: &[&str],
    entry: Entry,
    settled: Settled,
    last: Option<(Request, Report)>,
    control: &Control,
) -> Result<(Request, Report), P::Error> {
    let after = match last {
        Some((asked, report)) if !report.is_open() => return Ok((asked, report)),
        Some((asked, _)) => Some(Arc::new(asked)),
        None => None,
    };
    let next = of_round(request, engines, Round { is_own: false, settled: Arc::new(settled), after });
    let report = check_entry(programs, &next, entry, control)?;
    control.tell(report.failures());
    Ok((next, report))
}

/// What a function on its own settles for its callers: proofs, and failures that it has itself.
fn decided(own: &Report) -> impl Iterator<Item = (Target, Result<&'static str, proofline_cpa::Unknown>)> {
    own.verdicts.iter().filter_map(|(target, verdict)| match verdict {
        Verdict::Proved(engine) => Some((*target, Ok(*engine))),
        Verdict::Violated(_) => {
            let why = format!("it fails in `{}` itself", target.0);
            Some((*target, Err(proofline_cpa::Unknown::Unconfirmed(why))))
        }
        Verdict::Unknown(_) => None,
    })
}

/// The functions of a library, as far as they are known.
struct Library<'l, P> {
    programs: &'l P,
    request: &'l Request,
    control: &'l Control,
    /// Where executions start, with what they reach; whether the text of that was understood.
    entries: Vec<(Entry, BTreeSet<Name>, bool)>,
    /// What was asked last of each, and the answer.
    answers: Vec<Option<(Request, Report)>>,
    /// Functions that others call, callees first.
    inner: Vec<Name>,
    alone: Vec<Report>,
}

/// Everything about a library whose entries these are.
pub(super) fn check<P: Programs>(
    programs: &P,
    request: &Request,
    control: &Control,
    report: &mut Report,
) -> Result<(), P::Error> {
    let mut library = Library::new(programs, request, control, &report.entries)?;
    let rounds = Rounds::All.engines();
    library.alone(Rounds::Cheap)?;
    for (at, engines) in rounds.iter().enumerate() {
        if request.first_only && library.has_failure() {
            break;
        }
        if at > 0 && at + 1 == rounds.len() {
            library.alone(Rounds::All)?;
        }
        library.round(engines, if at + 1 == rounds.len() { WAVE } else { usize::MAX })?;
    }
    library.add_to(report);
    Ok(())
}

impl<'l, P: Programs> Library<'l, P> {
    fn new(
        programs: &'l P,
        request: &'l Request,
        control: &'l Control,
        starts: &[Entry],
    ) -> Result<Library<'l, P>, P::Error> {
        let entries = each(
            programs,
            starts,
            control,
            |_| false,
            |programs, entry, _| {
                Ok((*entry, programs.reached(entry.name)?, programs.misunderstood(*entry)?.is_none()))
            },
        )?;
        let mut inner: BTreeSet<Name> = entries.iter().flat_map(|(_, reached, _)| reached).copied().collect();
        for entry in starts {
            inner.remove(&entry.name);
        }
        let answers = entries.iter().map(|_| None).collect();
        let inner: Vec<Name> = inner.into_iter().collect();
        Ok(Library { programs, request, control, entries, answers, inner, alone: Vec::new() })
    }

    fn has_failure(&self) -> bool {
        let answers = self.answers.iter().flatten().map(|(_, report)| report);
        answers.chain(&self.alone).any(|report| report.failures().next().is_some())
    }

    fn is_last(&self) -> impl Fn(&Report) -> bool + Sync + use<P> {
        let first_only = self.request.first_only;
        move |report| first_only && report.failures().next().is_some()
    }

    /// Judges the functions that others call on their own.
    fn alone(&mut self, rounds: Rounds) -> Result<(), P::Error> {
        let request = self.request;
        self.alone =
            each(self.programs, &self.inner, self.control, self.is_last(), |programs, name, control| {
                function_alone(programs, request, *name, rounds, control)
            })?;
        Ok(())
    }

    /// Asks engines about all entries, so many at a time. What one entry cannot have proved need not be asked of the next ones: it stays unknown.
    fn round(&mut self, engines: &[&str], wave: usize) -> Result<(), P::Error> {
        let own: Settled = self.alone.iter().flat_map(decided).collect();
        let mut given_up = Settled::new();
        let is_first = self.answers.iter().all(Option::is_none);
        let all: Vec<usize> = (0..self.entries.len()).collect();
        for wave in all.chunks(wave.min(all.len().max(1))) {
            let request = self.request;
            let asked = each(
                self.programs,
                wave,
                self.control,
                |(_, report): &(Request, Report)| request.first_only && report.failures().next().is_some(),
                |programs, at, control| {
                    let (entry, reached, is_understood) = &self.entries[*at];
                    let of = |all: &Settled| -> Vec<_> {
                        let here =
                            all.iter().filter(|((name, _), _)| reached.contains(name) && *name != entry.name);
                        here.map(|(target, known)| (*target, known.clone())).collect()
                    };
                    let mut settled = Settled::new();
                    if *is_understood {
                        settled.extend(of(&given_up));
                        settled.extend(of(&own));
                    }
                    let last = self.answers[*at].clone();
                    next_round(programs, request, engines, *entry, settled, last, control)
                },
            )?;
            for (at, (asked, report)) in wave.iter().zip(asked) {
                if !is_first {
                    given_up.extend(report.verdicts.iter().filter_map(|(target, verdict)| match verdict {
                        Verdict::Unknown(why) => Some((*target, Err(why.clone()))),
                        Verdict::Proved(_) | Verdict::Violated(_) => None,
                    }));
                }
                self.answers[*at] = Some((asked, report));
            }
            if request.first_only && self.has_failure() {
                break;
            }
        }
        Ok(())
    }

    /// What is known of all of them together.
    fn add_to(self, report: &mut Report) {
        report.add_all(self.answers.into_iter().flatten().map(|(_, one)| one).collect());
        let doubtful: BTreeSet<Name> = self
            .entries
            .into_iter()
            .filter(|(_, _, is_understood)| !is_understood)
            .flat_map(|(_, reached, _)| reached)
            .collect();
        for (name, own) in self.inner.iter().zip(self.alone) {
            report.add_for_all_callers(own, !doubtful.contains(name));
        }
    }
}
