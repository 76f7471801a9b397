//! The portfolio: what is asked of a program, entry by entry, and what is known at the end. Where the programs of entries come from,
//! [`Programs`] says; which engine is asked when, the schedule.
//!
//! **Nothing is proved of a text that was not understood.** That is seen to here, so that everybody who shows verdicts shows the same.

mod apart;
mod behind;
mod ceiling;
mod claims;
mod contracts;
mod in_memory;
mod library;
mod numbers;
mod program;
mod promises;
mod request;
mod schedule;

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use parking_lot::Mutex;
use proofline_cfa::{Entry, Name};
use proofline_cpa::Unknown;

use self::numbers::Numbers;
use crate::{
    engines,
    report::{Judgement, Report},
    subject::Subject,
};

pub use apart::carried;
pub use ceiling::Ceiling;
pub use claims::{Claim, confirm};
pub use in_memory::InMemory;
pub use library::{Rounds, entry_in_rounds, function_alone, function_of_wide, program_in_rounds};
pub use request::{AskedListener, Control, Doing, FindingListener, Listener, Request, Round, Settled};

/// Some programs are deeply nested, and so is the work on them.
const STACK: usize = 1 << 29;

/// Where the programs of entries come from: a query graph, or memory. A clone is a handle for another thread.
pub trait Programs: Clone + Send {
    /// Why there may be no answer at all.
    type Error: Send;

    /// Whether there is anything to ask about.
    ///
    /// # Errors
    /// If the program cannot be read, or the work has ended before it began.
    fn begin(&self, control: &Control) -> Result<(), Self::Error>;

    /// Where executions start by default: [`crate::entry_points`].
    ///
    /// # Errors
    /// If the work was stopped.
    fn default_entries(&self) -> Result<Vec<Entry>, Self::Error>;

    /// Functions with bodies that executions from one with a body may call, itself included.
    ///
    /// # Errors
    /// If the work was stopped.
    fn reached(&self, function: Name) -> Result<BTreeSet<Name>, Self::Error>;

    /// Whether a function has a body.
    ///
    /// # Errors
    /// If the work was stopped.
    fn has_body(&self, function: Name) -> Result<bool, Self::Error>;

    /// What was not understood in the text and may matter to executions from the entry.
    ///
    /// # Errors
    /// If the work was stopped.
    fn misunderstood(&self, entry: Entry) -> Result<Option<Unknown>, Self::Error>;

    /// The functions that call an internal one, if nothing else can ([`crate::callers`]); `None` if callers may be missing.
    ///
    /// # Errors
    /// If the work was stopped.
    fn callers(&self, function: Name) -> Result<Option<BTreeSet<Name>>, Self::Error>;

    /// Functions with bodies, in the file that a function stands in, that are given a record of this type.
    ///
    /// # Errors
    /// If the work was stopped.
    fn given(&self, function: Name, record: Name) -> Result<BTreeSet<Name>, Self::Error>;

    /// The annotation in front of a function's definition, without its delimiters.
    ///
    /// # Errors
    /// If the work was stopped.
    fn annotation(&self, function: Name) -> Result<Option<String>, Self::Error>;

    /// A function with a body, with all that it reaches, as engines see it.
    ///
    /// # Errors
    /// If the work was stopped.
    fn subject_of(&self, function: Name) -> Result<Subject, Self::Error>;

    /// Whether a function is first looked at apart from the bodies of what it calls, because there are so many of them.
    ///
    /// # Errors
    /// If the work was stopped.
    fn stands_apart(&self, function: Name) -> Result<bool, Self::Error>;

    /// What [`judge`] says of the executions from an entry with a body, found out now or before, with findings explained.
    ///
    /// # Errors
    /// If the work was stopped.
    fn judge(&self, request: &Request, entry: Entry, control: &Control) -> Result<Report, Self::Error>;
}

/// Verdicts and findings. Entries: the given ones; without any the default ones.
///
/// # Errors
/// If the work was stopped, or the program cannot be read.
pub fn check<P: Programs>(
    programs: &P,
    request: &Request,
    given: &[Name],
    control: &Control,
) -> Result<Report, P::Error> {
    programs.begin(control)?;
    let mut report = Report { means_any_arguments: !given.is_empty(), ..Report::default() };
    report.entries = match entries(programs, given)? {
        Ok(entries) => entries,
        Err(why) => return Ok(Report { reason: Some(why), ..report }),
    };
    let is_library = given.is_empty() && report.entries.iter().all(|entry| entry.is_library());
    if is_library && request.engines.is_empty() {
        library::check(programs, request, control, &mut report)?;
        return Ok(report);
    }
    if let ([entry], true) = (&*report.entries, given.is_empty() && request.engines.is_empty()) {
        report.add_all(vec![program::check(programs, request, *entry, control)?]);
        return Ok(report);
    }
    let ones = reports(programs, request, &report.entries, !given.is_empty(), control)?;
    if !request.first_only {
        report.add_all(ones);
        return Ok(report);
    }
    for one in ones {
        report.add(one);
        if report.failures().next().is_some() {
            break;
        }
    }
    Ok(report)
}

/// The parts of a library that [`check_part`] can ask about: functions that executions start in by default, and those that are judged on their own because too much
/// is reached from there. None of a program that has a beginning.
///
/// # Errors
/// If the work was stopped, or the program cannot be read.
pub fn library_parts<P: Programs>(programs: &P, control: &Control) -> Result<Vec<Name>, P::Error> {
    programs.begin(control)?;
    let entries = programs.default_entries()?;
    if !entries.iter().all(|entry| entry.is_library()) {
        return Ok(Vec::new());
    }
    library::parts(programs, control, &entries)
}

/// Of what [`check`] asks about a library, what concerns some of its parts, as far as that does not depend on the others: contracts
/// do. What comes of it is in the programs' memory.
///
/// # Errors
/// If the work was stopped, or the program cannot be read.
pub fn check_part<P: Programs>(
    programs: &P,
    request: &Request,
    part: &[Name],
    control: &Control,
) -> Result<(), P::Error> {
    programs.begin(control)?;
    library::check_part(programs, request, control, &programs.default_entries()?, part)
}

/// Verdicts and findings of executions from one entry; it need not be a function with a body.
///
/// # Errors
/// If the work was stopped.
pub fn check_entry<P: Programs>(
    programs: &P,
    request: &Request,
    entry: Entry,
    control: &Control,
) -> Result<Report, P::Error> {
    if !programs.has_body(entry.name)? {
        return Ok(Report::nothing(no_body(entry.name)));
    }
    let mut report = programs.judge(request, entry, control)?;
    if report.reason == Some(Unknown::OutOfTime) && report.verdicts.is_empty() {
        // There was no time to look at the program.
        return Ok(report);
    }
    add_calls_from_outside(programs, request, entry, control, &mut report)?;
    if let Some(why) = programs.misunderstood(entry)? {
        report.retract_proofs(&why);
    }
    Ok(report)
}

/// Unknown code may call functions while the program runs: each of them is judged as one of a library.
fn add_calls_from_outside<P: Programs>(
    programs: &P,
    request: &Request,
    entry: Entry,
    control: &Control,
    report: &mut Report,
) -> Result<(), P::Error> {
    let functions = std::mem::take(&mut report.called_from_outside);
    let count = functions.len();
    if count == 0 {
        return Ok(());
    }
    let subject = programs.subject_of(entry.name)?;
    let mut numbers = Numbers::default();
    let request = Request { engines: library_engines(&request.engines), ..request.clone() };
    for (at, name) in functions.into_iter().enumerate() {
        if request.first_only && report.failures().next().is_some() {
            break;
        }
        let mut one = programs.judge(&request, Entry::new(name), &control.sharing(count - at))?;
        let own = programs.subject_of(name)?;
        for (reached, _) in one.verdicts.keys() {
            if let (Some(there), Some(alone)) =
                (subject.program().function(*reached), own.program().function(*reached))
            {
                numbers.add(there, alone);
            }
        }
        one.verdicts = numbers.in_program(std::mem::take(&mut one.verdicts));
        report.add_call_from_outside(name, one);
    }
    Ok(())
}

/// Asks engines about the executions from one entry of a program that has a body for it. `before`: the answer to what was asked before, if
/// the request goes on from there.
pub fn judge(
    subject: &Subject,
    request: &Request,
    entry: Entry,
    before: Option<&Judgement>,
    control: &Control,
) -> Judgement {
    with_assumptions(subject, request, entry, |subject| {
        let judgement = schedule::Schedule::new(subject, request, entry, before, control).run();
        let judgement = promises::settle(subject, request, entry, before, judgement, control);
        if request.round.is_apart { apart::kept(subject, entry, judgement) } else { judgement }
    })
}

/// Asks about the program as the request sees it: under its contracts, and the entry alone.
fn with_assumptions<T>(
    subject: &Subject,
    request: &Request,
    entry: Entry,
    ask: impl FnOnce(&Subject) -> T,
) -> T {
    let assumed = subject.under(entry, &request.under);
    let subject = assumed.as_ref().unwrap_or(subject);
    let alone = request.round.is_own.then(|| subject.alone());
    ask(alone.as_ref().unwrap_or(subject))
}

fn entries<P: Programs>(programs: &P, given: &[Name]) -> Result<Result<Vec<Entry>, Unknown>, P::Error> {
    if given.is_empty() {
        let entries = programs.default_entries()?;
        if entries.is_empty() {
            return Ok(Err(Unknown::Unsupported("there is no function with a body".into())));
        }
        return Ok(Ok(entries));
    }
    for name in given {
        if !programs.has_body(*name)? {
            return Ok(Err(no_body(*name)));
        }
    }
    Ok(Ok(given.iter().copied().map(Entry::new).collect()))
}

fn no_body(entry: Name) -> Unknown {
    Unknown::Unsupported(format!("there is no function `{entry}` with a body"))
}

/// Those that were named, otherwise the brief engines for libraries.
fn library_engines(named: &[String]) -> Vec<String> {
    if named.is_empty() {
        return engines::library().iter().map(|name| (*name).to_owned()).collect();
    }
    named.to_vec()
}

/// A report per entry, in their order; those after the first violation may be missing if the question is about one only. Of entries that are given,
/// any arguments are meant.
fn reports<P: Programs>(
    programs: &P,
    request: &Request,
    entries: &[Entry],
    is_given: bool,
    control: &Control,
) -> Result<Vec<Report>, P::Error> {
    let is_last = |report: &Report| request.first_only && report.failures().next().is_some();
    each(programs, entries, control, is_last, |programs, entry, control| {
        let report = check_entry(programs, request, *entry, control)?;
        control.tell(report.findings.iter().filter(|finding| is_given || report.is_failure(finding)));
        Ok(report)
    })
}

/// Does something with each, in order or several at a time; what came of it, in order. What comes after the first with `is_last` may be missing.
/// What is done with one may not depend on the others.
fn each<P: Programs, I: Sync, T: Send>(
    programs: &P,
    items: &[I],
    control: &Control,
    is_last: impl Fn(&T) -> bool + Sync,
    work: impl Fn(&P, &I, &Control) -> Result<T, P::Error> + Sync,
) -> Result<Vec<T>, P::Error> {
    let threads = control.threads.clamp(1, items.len().max(1));
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Result<T, P::Error>>> = Mutex::default();
    let loops = |programs: P| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            let rounds = (items.len() - at).div_ceil(threads);
            // The only one may use all cores.
            let left = if items.len() == 1 { control.threads } else { 1 };
            let own = Control { threads: left, ..control.sharing(rounds) };
            let result = work(&programs, item, &own);
            let is_end = result.as_ref().map_or(true, &is_last);
            results.lock().insert(at, result);
            if is_end {
                next.store(items.len(), Ordering::Relaxed);
                break;
            }
        }
    };
    if threads == 1 {
        loops(programs.clone());
    } else {
        thread::scope(|scope| {
            for _ in 1..threads {
                let (programs, loops) = (programs.clone(), &loops);
                // Without another thread this one does it all.
                let _ = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || loops(programs));
            }
            loops(programs.clone());
        });
    }
    results.into_inner().into_values().collect()
}

/// A panic's message.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a panic without a message".to_owned(),
    }
}
