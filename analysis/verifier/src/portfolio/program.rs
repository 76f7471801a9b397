//! A program that begins with `main`: brief engines about all of its executions; then its functions, one by one, with what they need of their callers, which are
//! all in sight; then, about what is still open, the portfolio.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Base, Entry, Lvalue, Name,
    visit::{self, Mention},
};
use proofline_cpa::Unknown;

use super::{
    Control, Programs, Request, Round, Settled, check_entry, contracts,
    library::{RoundOf, Rounds, function_alone, of_round, open},
    numbers::Numbers,
};
use crate::{
    engines::{self, Features, Targets},
    property::Property,
    report::Report,
    rests_on::{Basis, Known},
    subject::Subject,
    verdict::{Verdict, Verdicts},
};

/// A program's executions from its beginning. What is proved of functions under contracts that all of their callers keep, the portfolio need not prove once more.
pub(super) fn check<P: Programs>(
    programs: &P,
    request: &Request,
    entry: Entry,
    control: &Control,
) -> Result<Report, P::Error> {
    let tell = |report: Report| {
        control.tell(report.failures());
        report
    };
    let is_read = programs.has_body(entry.name)? && programs.misunderstood(entry)?.is_none();
    // Who asks about some checks only has a question that is small enough.
    if !is_read || request.first_only || request.property != Property::Everything {
        return check_entry(programs, request, entry, control).map(tell);
    }
    let subject = programs.subject_of(entry.name)?;
    if subject.unsupported(&subject.env().concerned(entry)).is_some() {
        // Nothing is known of runs that come there; of functions that do not, it is.
        let mut report = check_entry(programs, request, entry, control)?;
        add_contracts(programs, request, entry, control, &mut report)?;
        report.calls_not_kept.remove(&entry.name);
        return Ok(tell(report));
    }
    let is_asked = |name: &Name| {
        let body = subject.program().function(*name).filter(|_| *name != entry.name);
        body.is_some_and(|body| !request.property.targets(subject.program(), [&**body]).is_empty())
    };
    if !programs.reached(entry.name)?.iter().any(is_asked) {
        return check_entry(programs, request, entry, control).map(tell);
    }
    let engines = engines::before_contracts(&Features::of(&subject, entry));
    let brief = of_round(request, &RoundOf { engines, steps: None }, Round::default());
    let mut known = programs.judge(&brief, entry, control)?;
    if open(&known).all(|((name, _), _)| name == entry.name) {
        let round = Round { after: Some(Arc::new(brief)), ..Round::default() };
        return check_entry(programs, &Request { round, ..request.clone() }, entry, control).map(tell);
    }
    if control.is_late() {
        return Ok(tell(brief_only(known)));
    }
    let with_contracts = |mut known: Report, control: &Control| {
        add_contracts(programs, request, entry, control, &mut known).map(|()| known)
    };
    known = known_by_then(with_contracts(known.clone(), &control.sharing(3)), control, known)?;
    let proved = known.verdicts.iter().filter_map(|(target, verdict)| match verdict {
        Verdict::Proved(engine) => Some((*target, Ok(*engine))),
        Verdict::Violated(_) | Verdict::Unknown(_) => None,
    });
    let settled: Settled = proved.collect();
    let round =
        Round { is_own: false, settled: Arc::new(settled), after: Some(Arc::new(brief)), ..Round::default() };
    let report = check_entry(programs, &Request { round, ..request.clone() }, entry, control);
    let mut report = known_by_then(report, control, brief_only(known.clone()))?;
    if control.is_late() {
        take_contracts(&mut report, known);
    } else {
        report = known_by_then(with_contracts(report.clone(), control), control, report)?;
    }
    Ok(tell(report))
}

/// What brief engines say, where nothing else is asked. Of functions that unknown code may call in between it is not known what they are called with.
fn brief_only(mut report: Report) -> Report {
    if !std::mem::take(&mut report.called_from_outside).is_empty() {
        report.retract_proofs(&Unknown::OutOfTime);
    }
    report
}

/// What was known before, where time was over in the middle of finding out more.
fn known_by_then<E>(more: Result<Report, E>, control: &Control, before: Report) -> Result<Report, E> {
    match more {
        Err(_) if control.is_late() && !control.cancel.is_cancelled() => Ok(before),
        Ok(report) if report.reason == Some(Unknown::OutOfTime) && report.verdicts.is_empty() => Ok(before),
        more => more,
    }
}

/// What an earlier report knew of contracts.
fn take_contracts(report: &mut Report, before: Report) {
    for (target, verdict) in before.verdicts {
        if let (Verdict::Unknown(Unknown::IfCallersKeep), Some(known @ Verdict::Unknown(_))) =
            (&verdict, report.verdicts.get_mut(&target))
        {
            *known = verdict;
        }
    }
    report.kept = before.kept;
    report.calls_not_kept = before.calls_not_kept;
    report.contract_problems = before.contract_problems;
    report.resting.extend(before.resting);
}

/// Says in the report what is proved of the program's functions on their own, and under contracts.
pub(super) fn add_contracts<P: Programs>(
    programs: &P,
    request: &Request,
    entry: Entry,
    control: &Control,
    report: &mut Report,
) -> Result<(), P::Error> {
    if !contracts::is_wanted(&request.property) || report.reason.is_some() || control.is_late() {
        return Ok(());
    }
    let functions = programs.reached(entry.name)?;
    let subject = programs.subject_of(entry.name)?;
    let others = Targets::default();
    let basis = |verdicts: &Verdicts| {
        Basis::of(&subject, &request.property, &functions, Known { verdicts, others: &others })
    };
    let before = basis(&report.verdicts);
    let mut numbers = Numbers::default();
    for name in &functions {
        if programs.has_body(*name)?
            && let Some(there) = subject.program().function(*name)
            && let Some(alone) = programs.subject_of(*name)?.program().function(*name)
        {
            numbers.add(there, alone);
        }
    }
    let (theirs, verdicts) = numbers.alone(std::mem::take(&mut report.verdicts));
    report.verdicts = verdicts;
    report.entries = vec![entry];
    proofs_alone(programs, request, control, report)?;
    let added = contracts::add(programs, request, &functions, control, report);
    report.verdicts = numbers.in_program(std::mem::take(&mut report.verdicts));
    report.verdicts.extend(theirs);
    for (name, kept) in &mut report.kept {
        // What is asked of calls stands behind a function's own obligations, and has no other number.
        kept.open = kept.open.iter().map(|id| numbers.number(*name, *id).unwrap_or(*id)).collect();
    }
    // What is proved now rests on what is open before it in the program, whoever calls.
    let now = basis(&report.verdicts);
    report.resting.extend(now.resting);
    report.rests_on.retain(|text| !before.texts.contains(text));
    report.rests_on.extend(now.texts);
    // What is known of functions that do not come there, they do as long as what does leaves them alone: of the program that is nothing.
    if let Some(unsupported) = subject.unsupported(&subject.env().concerned(entry))
        && report.verdicts.values().any(Verdict::is_proved)
    {
        report.rests_on.insert(format!("nothing interferes meanwhile ({unsupported})"));
        report.reason.get_or_insert(unsupported);
        report.resting.extend(functions.iter().filter(|name| shares_memory(&subject, **name)));
    }
    added
}

/// Whether a function, or what it calls, looks at memory that is not its own variables: something beside it may change that.
fn shares_memory(subject: &Subject, function: Name) -> bool {
    let reached = subject.reachable_from(function);
    let bodies = reached.iter().filter_map(|name| subject.program().function(*name));
    bodies.flat_map(|body| &body.edges).any(|edge| {
        let mut is_shared = false;
        let mut look = |place: &Lvalue| {
            is_shared |= match place.base {
                Base::Local(_) => false,
                Base::Global(name) => {
                    subject.program().globals.get(&name).is_none_or(|global| !global.constant)
                }
                Base::Deref(..) => true,
            };
        };
        visit::reads(&edge.op, &mut look);
        visit::mentions(&edge.op, &mut |mention| {
            if let Mention::Write(place) = mention {
                look(place);
            }
        });
        is_shared
    })
}

/// What is proved of functions on their own, whoever calls them. (Whether what fails so ever happens in the program, that does not show.)
fn proofs_alone<P: Programs>(
    programs: &P,
    request: &Request,
    control: &Control,
    report: &mut Report,
) -> Result<(), P::Error> {
    let is_beginning = |name: &Name| report.entries.iter().any(|entry| entry.name == *name);
    let with_open: BTreeSet<Name> =
        open(report).map(|((name, _), _)| name).filter(|name| !is_beginning(name)).collect();
    let quiet = Control { found: None, ..control.clone() };
    for name in with_open {
        if quiet.is_late() {
            break;
        }
        let own = function_alone(programs, request, name, Rounds::All, &quiet)?;
        for (target, verdict) in own.verdicts.into_iter().filter(|(_, verdict)| verdict.is_proved()) {
            if let Some(known @ Verdict::Unknown(_)) = report.verdicts.get_mut(&target) {
                *known = verdict;
            }
        }
    }
    Ok(())
}
