//! The portfolio: what is asked of a program, entry by entry, and what is known at the end. Where the programs of entries come from,
//! [`Programs`] says; which engine is asked when, the schedule.
//!
//! **Nothing is proved of a text that was not understood.** That is seen to here, so that everybody who shows verdicts shows the same.

mod in_memory;
mod schedule;

use std::{
    any::Any,
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use parking_lot::Mutex;
use proofline_cfa::{Entry, Name};
use proofline_cpa::{Cancel, Unknown};

use crate::{
    engines,
    property::Property,
    report::{Judgement, Report},
    subject::Subject,
};

pub use in_memory::InMemory;

/// Some programs are deeply nested, and so is the work on them.
const STACK: usize = 1 << 29;

/// What is asked of every entry. A verdict is a function of this and of the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Which obligations.
    pub property: Property,
    /// Engines by name; empty: the portfolio.
    pub engines: Vec<String>,
    /// Steps per engine and question.
    pub steps: u64,
    /// A yes/no question: stop at the first violation.
    pub first_only: bool,
}

/// Hears in words what is going on.
pub type Listener = dyn Fn(&str) + Send + Sync;

/// What ends the work on an answer, and where progress is reported.
#[derive(Clone, Default)]
pub struct Control {
    /// Ends it from another thread.
    pub cancel: Cancel,
    /// Ends it at a time; what is known by then is the answer, and is not remembered.
    pub deadline: Option<Instant>,
    /// Hears in words what is going on.
    pub progress: Option<Arc<Listener>>,
    /// Cores that may be used, for several entries or for one; 0 is 1. Verdicts do not depend on it.
    pub threads: usize,
}

impl Control {
    /// Tells who listens.
    pub(crate) fn say(&self, text: &str) {
        if let Some(progress) = &self.progress {
            progress(text);
        }
    }

    /// With a deadline that leaves time for the rest of `count` entries.
    fn sharing(&self, count: usize) -> Control {
        let share = |deadline: Instant| {
            let now = Instant::now();
            let left = deadline.saturating_duration_since(now);
            now + left / u32::try_from(count.max(1)).unwrap_or(u32::MAX)
        };
        Control { deadline: self.deadline.map(share), ..self.clone() }
    }
}

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
    let engines = engines_for(&request.engines, given, &report.entries);
    let request = &Request { engines, ..request.clone() };
    let ones = reports(programs, request, &report.entries, control)?;
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
    add_calls_from_outside(programs, request, control, &mut report)?;
    if let Some(why) = programs.misunderstood(entry)? {
        report.retract_proofs(&why);
    }
    Ok(report)
}

/// Unknown code may call functions while the program runs: each of them is judged as one of a library.
fn add_calls_from_outside<P: Programs>(
    programs: &P,
    request: &Request,
    control: &Control,
    report: &mut Report,
) -> Result<(), P::Error> {
    let functions = std::mem::take(&mut report.called_from_outside);
    let count = functions.len();
    let request = Request { engines: library_engines(&request.engines), ..request.clone() };
    for (at, name) in functions.into_iter().enumerate() {
        if request.first_only && report.failures().next().is_some() {
            break;
        }
        let one = programs.judge(&request, Entry::new(name), &control.sharing(count - at))?;
        report.add_call_from_outside(name, one);
    }
    Ok(())
}

/// Asks engines about the executions from one entry of a program that has a body for it.
pub fn judge(subject: &Subject, request: &Request, entry: Entry, control: &Control) -> Judgement {
    schedule::Schedule::new(subject, request, entry, control).run()
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

/// Which engines to ask: those that were named; otherwise the portfolio (none named) or, for functions that were not named and have no callers, the
/// brief engines for libraries.
fn engines_for(named: &[String], given: &[Name], entries: &[Entry]) -> Vec<String> {
    let is_library = given.is_empty() && entries.iter().all(|entry| entry.is_library());
    if is_library { library_engines(named) } else { named.to_vec() }
}

/// Those that were named, otherwise the brief engines for libraries.
fn library_engines(named: &[String]) -> Vec<String> {
    if named.is_empty() {
        return engines::library().iter().map(|name| (*name).to_owned()).collect();
    }
    named.to_vec()
}

/// A report per entry, in their order; those after the first violation may be missing if the question is about one only.
fn reports<P: Programs>(
    programs: &P,
    request: &Request,
    entries: &[Entry],
    control: &Control,
) -> Result<Vec<Report>, P::Error> {
    let threads = control.threads.clamp(1, entries.len().max(1));
    if threads > 1 && !request.first_only {
        return side_by_side(programs, request, entries, control, threads);
    }
    let mut reports = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let report = check_entry(programs, request, *entry, &control.sharing(entries.len() - at))?;
        let is_last = request.first_only && report.failures().next().is_some();
        reports.push(report);
        if is_last {
            break;
        }
    }
    Ok(reports)
}

/// The same with several entries at a time.
fn side_by_side<P: Programs>(
    programs: &P,
    request: &Request,
    entries: &[Entry],
    control: &Control,
    threads: usize,
) -> Result<Vec<Report>, P::Error> {
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Result<Report, P::Error>>> = Mutex::default();
    let work = |programs: P| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = entries.get(at) else { break };
            let rounds = (entries.len() - at).div_ceil(threads);
            let own = Control { threads: 1, ..control.sharing(rounds) };
            let result = check_entry(&programs, request, *entry, &own);
            let is_end = result.is_err();
            results.lock().insert(at, result);
            if is_end {
                break;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            let (programs, work) = (programs.clone(), &work);
            // Without another thread this one does it all.
            let _ = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || work(programs));
        }
        work(programs.clone());
    });
    let results = results.into_inner();
    results.into_values().collect()
}

/// A panic's message.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a panic without a message".to_owned(),
    }
}
