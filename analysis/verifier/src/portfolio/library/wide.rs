//! A function of a large library that only its own executions decide: together with what its callers must see to. [`super::check`] says the same of it, of the whole library at once.

use proofline_cfa::{Entry, Name};

use super::{
    super::{Control, Programs, Request, contracts},
    Rounds,
    calls::{callees, reaches_few},
    function_alone, with_open,
};
use crate::{callers::is_hidden, report::Report, subject::Subject};

/// [`function_alone`]; after all rounds, with the contract that it needs, if what it reaches is few enough to ask about.
///
/// # Errors
/// If the work was stopped.
pub fn function_of_wide<P: Programs>(
    programs: &P,
    request: &Request,
    function: Name,
    rounds: Rounds,
    control: &Control,
) -> Result<Report, P::Error> {
    let own = function_alone(programs, request, function, rounds, control)?;
    let is_understood = programs.misunderstood(Entry::new(function))?.is_none();
    if rounds < Rounds::All || !contracts::is_wanted(&request.property) || !is_understood {
        return Ok(own);
    }
    let subject = programs.subject_of(function)?;
    let calls = |name| callees(&subject, name);
    if reaches_few(function, &calls) {
        return with_contract(programs, request, function, own, control, &subject);
    }
    let mut own = own;
    for callee in calls(function) {
        if !reaches_few(callee, &calls) || !programs.has_body(callee)? {
            continue;
        }
        let called = function_of_wide(programs, request, callee, rounds, control)?;
        // Nobody looks at its calls.
        if called.kept.get(&callee).is_some_and(|kept| !kept.words.is_empty()) {
            own.resting.insert(function);
            break;
        }
    }
    Ok(own)
}

fn with_contract<P: Programs>(
    programs: &P,
    request: &Request,
    function: Name,
    own: Report,
    control: &Control,
    subject: &Subject,
) -> Result<Report, P::Error> {
    let reached = subject.reachable_from(function);
    let is_entry = |name: &Name| subject.program().function(*name).is_some_and(|body| !is_hidden(body));
    let entries = reached.iter().copied().filter(is_entry).map(Entry::new).collect();
    let mut report = Report { entries, ..Report::default() };
    for name in &reached {
        let alone = match *name == function {
            true => own.clone(),
            false if !programs.has_body(*name)? => continue,
            false => function_alone(programs, request, *name, Rounds::All, control)?,
        };
        let alone = with_open(programs, request, *name, alone, control)?;
        report.add_for_all_callers(alone, programs.misunderstood(Entry::new(*name))?.is_none());
    }
    contracts::add(programs, request, &reached, control, &mut report)?;
    report.keep_of(function);
    report.kept.retain(|name, _| *name == function);
    report.contract_problems.retain(|name, _| *name == function);
    if !report.kept.contains_key(&function) {
        report.resting.extend(own.resting);
    }
    Ok(Report { decided_by: own.decided_by, last_engine: own.last_engine, ..report })
}
