//! Rounds: cheap engines about everything before dear ones about anything, each round going on from the one before. A library is asked about
//! function by function. Each function that others call is also judged on its own, called by
//! anybody with any arguments: what is proved so holds for all callers, and what fails so whatever callers do is an error, whoever calls it.
//! Everything else that such a run shows is the callers' matter, and judged in the executions from the entries.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Entry, Name, ObligationId};
use proofline_cpa::Unknown;

mod calls;
mod wide;

pub use self::wide::function_of_wide;

use self::calls::Calls;
use super::{
    Control, Programs, Request, Round, Settled, add_calls_from_outside, check_entry, contracts, each,
    program, promises,
};
use crate::{
    callers_memory::{is_asked, is_of_an_object, is_of_monitor},
    engines, entry_points,
    report::Report,
    verdict::Verdict,
};

/// So many entries at most are asked dear questions before what is known then is looked at again.
const WAVE: usize = 8;

/// How far the rounds go. Which engines are asked in each, and with how many steps, stands in `configurations.yml`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rounds {
    /// Engines without a solver, briefly.
    Cheap,
    /// The next round, too.
    Brief,
    /// All rounds.
    All,
    /// All rounds, and then the portfolio.
    Portfolio,
}

pub(super) type RoundOf = engines::RoundOf<&'static str>;

impl Rounds {
    /// In order, about functions of a library as entries.
    fn of_library(self) -> &'static [RoundOf] {
        self.of(engines::library_rounds())
    }

    /// In order, about programs with a beginning.
    fn of_program(self) -> &'static [RoundOf] {
        self.of(engines::program_rounds())
    }

    /// In order, about functions on their own.
    fn alone(self) -> &'static [RoundOf] {
        match self {
            Rounds::Cheap | Rounds::Brief => Rounds::Cheap.of(engines::alone_rounds()),
            Rounds::All | Rounds::Portfolio => engines::alone_rounds(),
        }
    }

    fn of(self, all: &'static [RoundOf]) -> &'static [RoundOf] {
        match self {
            Rounds::Cheap => &all[..1.min(all.len())],
            Rounds::Brief => &all[..2.min(all.len())],
            Rounds::All | Rounds::Portfolio => all,
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
    // Where contracts stand in the text, nothing is looked at apart from what it calls.
    let promised = match programs.stands_apart(function)? {
        true => Arc::default(),
        false => promises::kept_by_callees(programs, request, function, rounds, control)?,
    };
    in_rounds_alone(programs, request, function, rounds, &promised, control)
}

/// The same where this is known of what it calls.
pub(super) fn in_rounds_alone<P: Programs>(
    programs: &P,
    request: &Request,
    function: Name,
    rounds: Rounds,
    promised: &Arc<Settled>,
    control: &Control,
) -> Result<Report, P::Error> {
    let mut last: Option<Request> = None;
    let mut report = None;
    let stands_apart = programs.stands_apart(function)?;
    let apart = engines::apart_rounds().iter().filter(|_| stands_apart).map(|of| (of, true));
    let whole = rounds.alone().iter().filter(|_| !stands_apart || rounds > Rounds::Cheap);
    let mut is_whole = false;
    for (of, is_apart) in apart.chain(whole.map(|of| (of, false))) {
        let after = last.map(Arc::new);
        let round = Round { is_own: true, is_apart, settled: promised.clone(), after, ..Round::default() };
        is_whole |= !is_apart;
        let next = of_round(request, of, round);
        let found = check_entry(programs, &next, Entry::new(function), control)?;
        let is_decided = !found.is_open();
        report = Some(found);
        last = Some(next);
        if is_decided {
            break;
        }
    }
    let mut report = report.unwrap_or_default();
    report.keep_of(function);
    report.keep_for_all_callers();
    if is_whole && report.verdicts.values().any(Verdict::is_proved) {
        // The run took it for granted that memory of callers is alive and has values, and that monitors allow what it begins with.
        let subject = programs.subject_of(function)?;
        report.verdicts.retain(|(name, id), verdict| {
            !verdict.is_proved()
                || !is_asked(subject.env(), *name, *id, &is_of_an_object)
                    && !is_of_monitor(subject.program(), *name, *id)
        });
    }
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
    for of in rounds.of_library().iter().chain(portfolio(rounds).as_ref()) {
        let settled = if last.is_none() { BTreeMap::new() } else { settled.clone() };
        last = Some(next_round(programs, request, of, entry, settled, last, control)?);
    }
    let mut report = last.map(|(_, report)| report).unwrap_or_default();
    if rounds >= Rounds::All && programs.has_body(entry.name)? {
        contracts::add(programs, request, &programs.reached(entry.name)?, control, &mut report)?;
    }
    Ok(report)
}

/// What is known of a program's executions from its beginning after some rounds.
///
/// # Errors
/// If the work was stopped.
pub fn program_in_rounds<P: Programs>(
    programs: &P,
    request: &Request,
    entry: Entry,
    rounds: Rounds,
    control: &Control,
) -> Result<Report, P::Error> {
    if !programs.has_body(entry.name)? {
        return check_entry(programs, request, entry, control);
    }
    let mut last: Option<(Request, Report)> = None;
    for of in rounds.of_program().iter().chain(portfolio(rounds).as_ref()) {
        let after = match last {
            Some((_, ref report)) if !report.is_open() => break,
            Some((asked, _)) => Some(Arc::new(asked)),
            None => None,
        };
        let next = of_round(request, of, Round { after, ..Round::default() });
        let report = programs.judge(&next, entry, control)?;
        last = Some((next, report));
    }
    let mut report = last.map(|(_, report)| report).unwrap_or_default();
    if report.reason == Some(Unknown::OutOfTime) && report.verdicts.is_empty() {
        return Ok(report);
    }
    // Functions that unknown code may call are a library's, whatever is asked of the program.
    let outside = match rounds {
        Rounds::Cheap => rounds.of_library().first().map(|of| of_round(request, of, Round::default())),
        Rounds::Brief | Rounds::All | Rounds::Portfolio => None,
    };
    let outside = outside.unwrap_or_else(|| Request { round: Round::default(), ..request.clone() });
    add_calls_from_outside(programs, &outside, entry, control, &mut report)?;
    if let Some(why) = programs.misunderstood(entry)? {
        report.retract_proofs(&why);
    } else if rounds >= Rounds::All {
        program::add_contracts(programs, request, entry, control, &mut report)?;
    }
    control.tell(report.failures());
    Ok(report)
}

/// What comes after all rounds.
fn portfolio(rounds: Rounds) -> Option<RoundOf> {
    let all = || RoundOf { engines: engines::portfolio().to_vec(), steps: None };
    (rounds == Rounds::Portfolio).then(all)
}

pub(super) fn of_round(request: &Request, of: &RoundOf, round: Round) -> Request {
    let engines = of.engines.iter().map(|name| (*name).to_owned()).collect();
    let steps = of.steps.map_or(request.steps, |most| request.steps.min(most));
    let round = Round { is_planned: request.engines.is_empty() || request.round.is_planned, ..round };
    Request { engines, steps, round, ..request.clone() }
}

/// One more round about an entry, unless everything is decided.
fn next_round<P: Programs>(
    programs: &P,
    request: &Request,
    of: &RoundOf,
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
    let next =
        of_round(request, of, Round { is_own: false, settled: Arc::new(settled), after, ..Round::default() });
    let report = check_entry(programs, &next, entry, control)?;
    control.tell(report.failures());
    Ok((next, report))
}

/// What a function on its own settles for its callers: proofs, and failures that it has itself.
fn decided(own: &Report) -> impl Iterator<Item = (Target, Result<&'static str, Unknown>)> {
    own.verdicts.iter().filter_map(|(target, verdict)| match verdict {
        Verdict::Proved(engine) => Some((*target, Ok(*engine))),
        Verdict::Violated(_) => {
            let why = format!("it fails in `{}` itself", target.0);
            Some((*target, Err(Unknown::Unconfirmed(why))))
        }
        Verdict::Unknown(_) => None,
    })
}

/// What is known of a function that nobody had time to look at.
fn not_looked_at<P: Programs>(programs: &P, request: &Request, function: Name) -> Result<Report, P::Error> {
    let subject = programs.subject_of(function)?;
    let body = subject.program().function(function).map(|body| &**body);
    let targets = request.property.targets(subject.program(), body);
    let verdicts = targets.iter().map(|target| (target, Verdict::Unknown(Unknown::OutOfTime))).collect();
    Ok(Report { verdicts, ..Report::default() })
}

/// The same with what was not found out.
fn with_open<P: Programs>(
    programs: &P,
    request: &Request,
    function: Name,
    own: Report,
    control: &Control,
) -> Result<Report, P::Error> {
    let mut all = not_looked_at(programs, request, function)?;
    if !control.is_late() {
        let why = Unknown::Unconfirmed("it depends on the callers".into());
        all.verdicts.values_mut().for_each(|verdict| *verdict = Verdict::Unknown(why.clone()));
    }
    all.verdicts.extend(own.verdicts);
    Ok(Report { verdicts: all.verdicts, ..own })
}

/// What is settled of one function.
fn settled_of(
    settled: &Settled,
    function: Name,
) -> impl Iterator<Item = (&Target, &Result<&'static str, Unknown>)> {
    settled.range((function, ObligationId(0))..=(function, ObligationId(u32::MAX)))
}

/// What a report leaves open, and why.
pub(super) fn open(report: &Report) -> impl Iterator<Item = (Target, &Unknown)> {
    report.verdicts.iter().filter_map(|(target, verdict)| match verdict {
        Verdict::Unknown(why) => Some((*target, why)),
        Verdict::Proved(_) | Verdict::Violated(_) => None,
    })
}

/// Who decides what in a library.
struct Split {
    /// Where executions start, with what they reach; whether the text of that was understood.
    entries: Vec<(Entry, BTreeSet<Name>, bool)>,
    /// Functions that nobody decides but themselves, because too much is reached from where they are called.
    wide: BTreeSet<Name>,
    /// Functions of whose executions not all of the text was understood.
    doubtful: BTreeSet<Name>,
}

impl Split {
    fn new<P: Programs>(programs: &P, control: &Control, starts: &[Entry]) -> Result<Split, P::Error> {
        let mut entries = each(
            programs,
            starts,
            control,
            |_| false,
            |programs, entry, _| {
                Ok((*entry, programs.reached(entry.name)?, programs.misunderstood(*entry)?.is_none()))
            },
        )?;
        let misunderstood = entries.iter().filter(|(_, _, is_understood)| !is_understood);
        let doubtful = misunderstood.flat_map(|(_, reached, _)| reached).copied().collect();
        let wide = entry_points::judged_alone(entries.iter().map(|(_, reached, _)| reached));
        entries.retain(|(entry, ..)| !wide.contains(&entry.name));
        Ok(Split { entries, wide, doubtful })
    }
}

/// What can be asked about by itself: entries, and functions that are judged on their own because too much is reached from where they are called.
pub(super) fn parts<P: Programs>(
    programs: &P,
    control: &Control,
    starts: &[Entry],
) -> Result<Vec<Name>, P::Error> {
    let Split { entries, wide, .. } = Split::new(programs, control, starts)?;
    Ok(entries.into_iter().map(|(entry, ..)| entry.name).chain(wide).collect())
}

/// The functions of a library, as far as they are known.
struct Library<'l, P> {
    programs: &'l P,
    request: &'l Request,
    control: Control,
    /// Where executions start, with what they reach; whether the text of that was understood.
    entries: Vec<(Entry, BTreeSet<Name>, bool)>,
    /// What was asked last of each, and the answer.
    answers: Vec<Option<(Request, Report)>>,
    /// Functions that nobody decides but themselves, because too much is reached from where they are called.
    wide: BTreeSet<Name>,
    /// Functions of whose executions not all of the text was understood.
    doubtful: BTreeSet<Name>,
    /// Functions that are judged on their own: those that others call, and the wide ones.
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
    library.in_rounds()?;
    let mut functions: BTreeSet<Name> =
        library.entries.iter().flat_map(|(_, reached, _)| reached).copied().collect();
    let calls = Calls::new(programs, &library.wide)?;
    functions.extend(library.wide.iter().copied().filter(|name| calls.reaches_few(*name)));
    library.add_to(report);
    calls.rest(report);
    contracts::add(programs, request, &functions, control, report)?;
    calls.not_kept(&functions, report);
    Ok(())
}

/// What [`check`] asks about the executions from some of the entries before it asks what callers must see to. Nothing is known here of what it gives up
/// at other entries, so it may ask for less.
pub(super) fn check_part<P: Programs>(
    programs: &P,
    request: &Request,
    control: &Control,
    entries: &[Entry],
    part: &[Name],
) -> Result<(), P::Error> {
    let mut library = Library::new(programs, request, control, entries)?;
    library.keep_part(part);
    library.in_rounds()
}

impl<'l, P: Programs> Library<'l, P> {
    fn new(
        programs: &'l P,
        request: &'l Request,
        control: &'l Control,
        starts: &[Entry],
    ) -> Result<Library<'l, P>, P::Error> {
        let Split { entries, wide, doubtful } = Split::new(programs, control, starts)?;
        let mut inner: BTreeSet<Name> = entries.iter().flat_map(|(_, reached, _)| reached).copied().collect();
        inner.extend(&wide);
        for (entry, ..) in &entries {
            inner.remove(&entry.name);
        }
        let answers = entries.iter().map(|_| None).collect();
        let inner: Vec<Name> = inner.into_iter().collect();
        let control = control.clone();
        Ok(Library { programs, request, control, entries, answers, wide, doubtful, inner, alone: Vec::new() })
    }

    /// Only these of its [`parts`] are of interest, and what they reach.
    fn keep_part(&mut self, part: &[Name]) {
        let part: BTreeSet<Name> = part.iter().copied().collect();
        self.entries.retain(|(entry, ..)| part.contains(&entry.name));
        self.answers.truncate(self.entries.len());
        self.wide.retain(|name| part.contains(name));
        let mut kept: BTreeSet<Name> =
            self.entries.iter().flat_map(|(_, reached, _)| reached).copied().collect();
        kept.extend(&self.wide);
        self.inner.retain(|name| kept.contains(name));
    }

    /// Asks about everything, as the rounds go.
    fn in_rounds(&mut self) -> Result<(), P::Error> {
        let control = self.control.clone();
        let rounds = Rounds::All.of_library();
        self.alone(Rounds::Cheap)?;
        for (at, of) in rounds.iter().enumerate() {
            if self.request.first_only && self.has_failure() || at > 0 && self.control.is_late() {
                break;
            }
            if at > 0 && at + 1 == rounds.len() {
                self.alone(Rounds::All)?;
            }
            self.round(of, at > 0 && at + 1 == rounds.len())?;
            // What is asked of callers is found out last, and is not to find all of the time gone.
            self.control = control.sharing(2);
        }
        Ok(())
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
        let (request, before) = (self.request, &self.alone);
        let numbers: Vec<usize> = (0..self.inner.len()).collect();
        let alone = each(self.programs, &numbers, &self.control, self.is_last(), |programs, at, control| {
            let name = self.inner[*at];
            match before.get(*at) {
                _ if !control.is_late() => {
                    let own = function_alone(programs, request, name, rounds, control)?;
                    let is_wide = self.wide.contains(&name);
                    if is_wide { with_open(programs, request, name, own, control) } else { Ok(own) }
                }
                Some(known) => Ok(known.clone()),
                None if self.wide.contains(&name) => not_looked_at(programs, request, name),
                // Nothing is known of it then.
                None => Ok(Report::default()),
            }
        })?;
        self.alone = alone;
        Ok(())
    }

    /// Asks engines about all entries. If that `is_dear`, what one entry cannot have proved is not asked of the next ones: it stays unknown.
    fn round(&mut self, of: &RoundOf, is_dear: bool) -> Result<(), P::Error> {
        let own: Settled = self.alone.iter().flat_map(decided).collect();
        let mut given_up = Settled::new();
        let mut waiting: Vec<usize> = (0..self.entries.len()).collect();
        while !waiting.is_empty() {
            let wave = if is_dear {
                self.apart(&mut waiting, |target| !own.contains_key(target) && !given_up.contains_key(target))
            } else {
                std::mem::take(&mut waiting)
            };
            let request = self.request;
            let is_last =
                |(_, report): &(Request, Report)| request.first_only && report.failures().next().is_some();
            let asked = each(self.programs, &wave, &self.control, is_last, |programs, at, control| {
                let (entry, reached, is_understood) = &self.entries[*at];
                let callees = reached.iter().filter(|name| *is_understood && **name != entry.name);
                let known =
                    callees.flat_map(|name| settled_of(&own, *name).chain(settled_of(&given_up, *name)));
                let settled = known.map(|(target, known)| (*target, known.clone())).collect();
                next_round(programs, request, of, *entry, settled, self.answers[*at].clone(), control)
            })?;
            for (at, (asked, report)) in wave.into_iter().zip(asked) {
                if is_dear {
                    given_up.extend(open(&report).map(|(target, why)| (target, Err(why.clone()))));
                }
                self.answers[at] = Some((asked, report));
            }
            if request.first_only && self.has_failure() {
                break;
            }
        }
        Ok(())
    }

    /// Takes entries that have nothing in common of what is to be asked, so that the answer for one is no news for another.
    fn apart(&self, waiting: &mut Vec<usize>, is_asked: impl Fn(&Target) -> bool) -> Vec<usize> {
        let mut taken: Vec<usize> = Vec::new();
        let mut together: BTreeSet<Target> = BTreeSet::new();
        waiting.retain(|at| {
            let report = self.answers[*at].as_ref().map(|(_, report)| report);
            let own: BTreeSet<Target> =
                report.into_iter().flat_map(open).map(|(target, _)| target).filter(|t| is_asked(t)).collect();
            let is_taken = taken.len() < WAVE && own.is_disjoint(&together);
            if is_taken {
                taken.push(*at);
                together.extend(own);
            }
            !is_taken
        });
        taken
    }

    /// What is known of all of them together.
    fn add_to(self, report: &mut Report) {
        report.add_all(self.answers.into_iter().flatten().map(|(_, one)| one).collect());
        for (name, mut own) in self.inner.iter().zip(self.alone) {
            let is_doubtful = self.doubtful.contains(name);
            // Nobody else says anything of it.
            if is_doubtful && self.wide.contains(name) {
                own.retract_proofs(&Unknown::Unsupported(
                    "text that executions come to was not understood".into(),
                ));
            }
            report.add_for_all_callers(own, !is_doubtful);
        }
    }
}
