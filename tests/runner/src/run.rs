//! Runs one test and compares what was said with what was expected.

use std::fmt::Write;

use proofline_db::{Database, Stopped};
use proofline_verifier::{
    Budget, CheckId, Entry, Function, Name, Program, Site, Subject,
    inspect::{self, Domain},
    load::{Allocation, Options, VolatileReads},
    monitors::Monitors,
    portfolio::{Control, Programs, Request, Round, check},
    property::Property,
    report::Report,
    sources::Sources,
    verdict::Verdict,
};

use crate::{
    expect::{Expectation, Mark, expectations},
    incremental,
    markdown::Case,
};

/// An obligation as a suite sees it.
struct Seen<'r> {
    line: u32,
    check: CheckId,
    verdict: &'r Verdict,
}

/// What the words on a fence ask for.
pub(crate) struct Asked {
    pub(crate) options: Options,
    pub(crate) request: Request,
    /// Functions that executions start in; none: the default ones.
    pub(crate) entries: Vec<Name>,
}

/// Reads the words on a fence.
pub(crate) fn asked(case: &Case) -> Result<Asked, String> {
    let mut options = Options::default();
    let mut entries = Vec::new();
    let mut names = Vec::new();
    let mut request = Request {
        property: Property::Everything,
        engines: Vec::new(),
        steps: 300_000,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    };
    for word in &case.options {
        match word.split_once('=') {
            Some(("entry", name)) => entries.push(Name::new(name)),
            Some(("engine", names)) => request.engines.extend(names.split(',').map(str::to_owned)),
            Some(("property", text)) => {
                request.property = Property::parse(text).map_err(|e| e.to_string())?;
                options.pointers = request.property.asks_of_pointers();
                options.skips_writes = !request.property.asks_of_writes();
            }
            Some(("steps", n)) => request.steps = n.parse().map_err(|_| format!("steps={n} is no number"))?,
            Some(("monitor", name)) => names.push(name.to_owned()),
            Some(("flag", flag)) => options.flags.push(flag.to_owned()),
            Some(("volatile", "any")) => options.volatile = VolatileReads::Any,
            Some(("allocation", "never-fails")) => options.allocation = Allocation::NeverFails,
            None if word == "m32" => options.flags.push("-m32".into()),
            None if word == "wrapv" => options.wrapv = true,
            None if word == "errors" => {}
            _ => return Err(format!("unknown option `{word}` on the fence")),
        }
    }
    let read = |name: &str| match &case.monitor {
        Some(text) if name == "file" => Ok(text.clone()),
        _ => Err("the suite has no such monitor".to_owned()),
    };
    options.monitors = Monitors::named(&names, &read).map_err(|error| error.to_string())?;
    Ok(Asked { options, request, entries })
}

/// Runs a test. The error lists everything that differs.
///
/// # Errors
/// What was wrong, line by line.
pub fn run(case: &Case) -> Result<(), String> {
    let Some((at, names)) =
        case.options.iter().enumerate().find_map(|(at, word)| Some((at, word.strip_prefix("each=")?)))
    else {
        return run_once(case);
    };
    let mut faults = String::new();
    for name in names.split(',') {
        let mut one = case.clone();
        one.options[at] = format!("engine={name}");
        if let Err(fault) = run_once(&one) {
            let _ = writeln!(faults, "with {name}: {fault}");
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn run_once(case: &Case) -> Result<(), String> {
    if !case.edits.is_empty() {
        return incremental::run(case);
    }
    let expected = expectations(&case.text)?;
    let Asked { options, request, entries } = asked(case)?;
    let db = incremental::database(&revealing(&case.text), &options);
    let sources = db.sources().map_err(said)?;
    let mut faults: Vec<String> = sources
        .problems()
        .iter()
        .filter(|problem| problem.is_error)
        .map(|p| format!("line {}: {}", p.position.as_ref().map_or(0, |p| p.line + 1), p.message))
        .collect();
    if case.options.iter().any(|word| word == "errors") {
        if faults.is_empty() {
            faults.push("the text has no error".to_owned());
        } else {
            faults.clear();
        }
    }
    let report = check(&db, &request, &entries, &Control::default()).map_err(said)?;
    compare(&*db.program().map_err(said)?, &sources, &report, &expected, &mut faults);
    same_numbers(&db, &report, &mut faults)?;
    reveals(&db, &sources, &report.entries, &expected, request.steps, &mut faults)?;
    if let Some(snapshot) = &case.snapshot {
        let told = told(&report);
        if told != snapshot.text {
            faults.push(format!("the snapshot is another one (UPDATE_SNAPSHOTS=1 rewrites it):\n{told}"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Why there is no answer, in words.
pub(crate) fn said(stopped: Stopped) -> String {
    match stopped {
        Stopped::Load(error) => error.to_string(),
        Stopped::Edited | Stopped::Cancelled | Stopped::OutOfTime => format!("{stopped:?}"),
    }
}

/// The text of a test's snapshot as it is now.
pub fn snapshot(case: &Case) -> Option<String> {
    let mut told_now = None;
    let other = Case {
        snapshot: Some(crate::markdown::Snapshot { text: "\0".into(), first: 0, last: 0 }),
        ..case.clone()
    };
    if let Err(faults) = run(&other) {
        told_now = faults.split_once("rewrites it):\n").map(|(_, rest)| rest.to_owned());
    }
    told_now
}

/// Findings with their paths, without what a version of the text decides (file names).
fn told(report: &Report) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let place = finding
            .position
            .as_ref()
            .map_or_else(String::new, |p| format!("{}:{}: ", p.line + 1, p.column + 1));
        let _ = writeln!(out, "{place}error[{}]: {}", finding.check.code(), finding.title);
        for (i, step) in finding.steps.iter().enumerate() {
            let place = step
                .position
                .as_ref()
                .map_or_else(String::new, |p| format!("{}:{}: ", p.line + 1, p.column + 1));
            let _ = writeln!(out, "  {}. {place}{}{}", i + 1, "  ".repeat(step.depth as usize), step.text);
        }
    }
    out
}

/// `__reveal(e);` becomes an assignment to a variable that is not read. Lines stay.
fn revealing(text: &str) -> String {
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        match line.split_once("__reveal(").and_then(|(before, rest)| Some((before, rest.split_once(");")?))) {
            Some((before, (argument, after))) => {
                let _ = writeln!(
                    out,
                    "{before}{{ __typeof__({argument}) {}{number} = ({argument}); }}{after}",
                    inspect::REVEAL
                );
            }
            None => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out
}

/// What the domains know at each `__reveal`.
fn reveals(
    db: &Database,
    sources: &Sources,
    entries: &[Entry],
    expected: &[Expectation],
    steps: u64,
    faults: &mut Vec<String>,
) -> Result<(), String> {
    let mut subject: Option<Subject> = None;
    for (word, domain) in [
        ("interval", Some(Domain::Intervals)),
        ("relation", Some(Domain::Relations)),
        ("shape", Some(Domain::Shapes)),
        ("three-valued", Some(Domain::ThreeValued)),
        ("value", Some(Domain::Values)),
        // What is proved of lists and trees, as people read it.
        ("structure", None),
    ] {
        let marks: Vec<(u32, &String)> = expected
            .iter()
            .filter_map(|e| match &e.mark {
                Mark::Reveal { domain, text } if domain == word => Some((e.line, text)),
                _ => None,
            })
            .collect();
        if marks.is_empty() {
            continue;
        }
        let subject = match &subject {
            Some(known) => known,
            None => subject.insert(db.subject().map_err(said)?),
        };
        let mut known = Vec::new();
        for entry in entries {
            let budget = Budget::steps(steps);
            let revealed = match domain {
                Some(domain) => inspect::reveal(subject, sources, *entry, domain, &budget),
                None => inspect::structures(subject, sources, *entry, &budget),
            };
            match revealed {
                Ok(here) => known.extend(here),
                Err(why) => faults.push(format!("{word}: {why}")),
            }
        }
        for (line, text) in marks {
            let here: Vec<&str> =
                known.iter().filter(|(p, _)| p.line == line).map(|(_, text)| text.as_str()).collect();
            if here != [text.as_str()] {
                faults.push(format!("line {}: {word} should be {text}, is {}", line + 1, here.join("; ")));
            }
        }
    }
    Ok(())
}

/// An obligation has one number, whatever else is in the program that an entry reaches: verdicts are kept and shown by it.
///
/// # Errors
/// If a program cannot be read.
pub(crate) fn same_numbers(db: &Database, report: &Report, faults: &mut Vec<String>) -> Result<(), String> {
    let program = db.program().map_err(said)?;
    // Whether leaks are asked about where a function returns depends on where executions start.
    let asked = |function: &Function| -> Vec<(CheckId, Site)> {
        let all = function.obligations.iter().map(|obligation| (obligation.check, obligation.site));
        all.filter(|(check, _)| !check.code().starts_with("memory-")).collect()
    };
    for entry in &report.entries {
        let own = db.subject_of(entry.name).map_err(said)?;
        for (name, function) in &own.program().functions {
            if let Some(there) = program.function(*name)
                && asked(there) != asked(function)
            {
                faults.push(format!(
                    "`{name}` has other obligations where executions start in `{}`",
                    entry.name
                ));
            }
        }
    }
    Ok(())
}

pub(crate) fn compare(
    program: &Program,
    sources: &Sources,
    report: &Report,
    expected: &[Expectation],
    faults: &mut Vec<String>,
) {
    let seen: Vec<Seen<'_>> = report
        .verdicts
        .iter()
        .filter_map(|((function, id), verdict)| {
            let obligation = program.function(*function)?.obligations.get(id.index())?;
            let line = sources.position(*function, obligation.site)?.line;
            Some(Seen { line, check: obligation.check, verdict })
        })
        .collect();
    for expectation in expected {
        let line = expectation.line;
        let on = |code: &str| {
            seen.iter().filter(move |s| s.line == line && s.check.code() == code).collect::<Vec<_>>()
        };
        let fault = match &expectation.mark {
            Mark::Error { check, text } => {
                let found = report.findings.iter().any(|f| {
                    f.check.code() == check
                        && f.position.as_ref().is_some_and(|p| p.line == line)
                        && f.title.contains(text.as_str())
                });
                (!found).then(|| {
                    format!("expected error [{check}] {text:?}, got {}", describe(&on(check), report))
                })
            }
            Mark::Proved(check) => {
                let here = on(check);
                let good = !here.is_empty() && here.iter().all(|s| matches!(s.verdict, Verdict::Proved(_)));
                (!good).then(|| format!("expected proved [{check}], got {}", describe(&here, report)))
            }
            Mark::Unknown { check, reason } => {
                let here = on(check);
                let good = here.iter().any(
                    |s| matches!(s.verdict, Verdict::Unknown(why) if why.to_string().contains(reason.as_str())),
                );
                (!good).then(|| {
                    format!("expected unknown [{check}] {reason:?}, got {}", describe(&here, report))
                })
            }
            Mark::NeverProved(check) => {
                let here = on(check);
                let bad = here.is_empty() || here.iter().all(|s| matches!(s.verdict, Verdict::Proved(_)));
                bad.then(|| format!("UNSOUND: [{check}] must not be proved, got {}", describe(&here, report)))
            }
            Mark::Step(text) => {
                let found = report.findings.iter().flat_map(|f| &f.steps).any(|step| {
                    step.position.as_ref().is_some_and(|p| p.line == line)
                        && step.text.contains(text.as_str())
                });
                (!found).then(|| format!("no step {text:?} on this line"))
            }
            Mark::Blame { check, text } => {
                let here = report.findings.iter().filter(|f| {
                    f.check.code() == check && f.position.as_ref().is_some_and(|p| p.line == line)
                });
                let blames: Vec<String> = here.map(|finding| finding.blame.to_string()).collect();
                let found = blames.iter().any(|blame| blame.contains(text.as_str()));
                (!found).then(|| format!("expected blame [{check}] {text:?}, got {blames:?}"))
            }
            Mark::Reveal { .. } => None,
        };
        faults.extend(fault.map(|fault| format!("line {}: {fault}", line + 1)));
    }
    for finding in &report.findings {
        let line = finding.position.as_ref().map_or(0, |p| p.line);
        let is_expected = expected.iter().any(|e| {
            e.line == line
                && match &e.mark {
                    Mark::Error { check, .. } | Mark::Blame { check, .. } | Mark::NeverProved(check) => {
                        finding.check.code() == check
                    }
                    Mark::Proved(_) | Mark::Unknown { .. } | Mark::Step(_) | Mark::Reveal { .. } => false,
                }
        });
        if !is_expected {
            faults.push(format!(
                "line {}: unexpected error [{}] {}",
                line + 1,
                finding.check.code(),
                finding.title
            ));
        }
    }
}

fn describe(seen: &[&Seen<'_>], report: &Report) -> String {
    if seen.is_empty() {
        return "no such obligation on this line".to_owned();
    }
    seen.iter()
        .map(|s| match s.verdict {
            Verdict::Proved(engine) => format!("proved by {engine}"),
            Verdict::Violated(index) => {
                format!("violated: {}", report.findings.get(*index).map_or("", |f| f.title.as_str()))
            }
            Verdict::Unknown(why) => format!("unknown: {why}"),
        })
        .collect::<Vec<_>>()
        .join("; ")
}
