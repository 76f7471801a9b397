//! What an editor underlines: parts of the text that were not understood, failures with their paths, code that nothing reaches, and, when
//! nothing more will come of a function, its places that were not decided. Positions are those of the current texts.

use std::path::Path;

use crate::{
    finding::Nature,
    place::{Place, Range},
    program::Problem,
    results::{FileResults, ShownFinding},
    state::State,
    suppression::suppressed_because,
    undecided::{self, Undecided},
};

/// How much a diagnostic matters, most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// It happens.
    Error,
    /// A person should look.
    Warning,
    /// A defect of ours.
    Information,
    /// It may matter to callers.
    Hint,
}

/// Something to show at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Where, now; without a place of its own, at the start of the file.
    pub place: Place,
    /// How much it matters.
    pub severity: Severity,
    /// The check's code, or `not-understood`, `never-reached`, `not-decided`, `internal-error`.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
    /// The path of a failure: where each step is now, and what happens there.
    pub steps: Vec<(Place, String)>,
    /// The code has no effect and is shown faded.
    pub is_unreachable: bool,
    /// The finding that it shows.
    pub finding: Option<String>,
}

/// What the results of a file say about it and the headers it includes, each file's in order of place and severity. `line` gives a line of
/// a file as it is now; comments there take findings back.
pub fn diagnostics(
    file: &FileResults,
    marks: Undecided,
    line: impl Fn(&Path, usize) -> Option<String>,
) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = file.problems().iter().map(|problem| of_problem(file, problem)).collect();
    for shown in file.findings() {
        out.extend(of_finding(file, &shown).filter(|found| !is_suppressed(found, &line)));
    }
    out.extend(never_reached(file));
    out.extend(undecided(file, marks));
    out.extend(unread_contracts(file));
    out.sort_by(|a, b| {
        let key = |d: &Diagnostic| (d.place.range.start, d.severity);
        (&a.place.path, key(a)).cmp(&(&b.place.path, key(b)))
    });
    out
}

fn plain(place: Place, severity: Severity, code: &'static str, message: String) -> Diagnostic {
    Diagnostic { place, severity, code, message, steps: Vec::new(), is_unreachable: false, finding: None }
}

fn own(file: &FileResults, range: Range) -> Place {
    Place { path: file.path().into(), range }
}

/// A compiler says whether it is an error; we say what we did not understand.
fn of_problem(file: &FileResults, problem: &Problem) -> Diagnostic {
    let place = problem.place.clone().unwrap_or_else(|| own(file, Range::default()));
    let severity = if problem.is_error { Severity::Warning } else { Severity::Hint };
    plain(place, severity, "not-understood", problem.message.clone())
}

fn of_finding(file: &FileResults, shown: &ShownFinding<'_>) -> Option<Diagnostic> {
    let finding = shown.finding;
    let now = |place: &Place| Place { path: place.path.clone(), range: shown.now(place) };
    let mark = if shown.is_older { "(older text) " } else { "" };
    let proof = if file.is_confirmed(finding) { " (confirmed by running it)" } else { "" };
    let severity = match finding.nature {
        Nature::Manifest => Severity::Error,
        Nature::Latent => Severity::Hint,
    };
    let steps = finding.steps.iter();
    Some(Diagnostic {
        steps: steps
            .filter_map(|step| Some((now(step.place.as_ref()?), format!("{}: {}", step.number, step.text))))
            .collect(),
        is_unreachable: finding.check == "unreachable",
        finding: Some(finding.id.clone()),
        ..plain(
            now(finding.place.as_ref()?),
            severity,
            finding.check,
            format!("{mark}{}{proof}", finding.message()),
        )
    })
}

/// Whether a comment takes it back.
fn is_suppressed(diagnostic: &Diagnostic, line: impl Fn(&Path, usize) -> Option<String>) -> bool {
    let Place { path, range } = &diagnostic.place;
    suppressed_because(diagnostic.code, range.start.line, |at| line(path, at)).is_some()
}

/// Code that no execution reaches. Not where something fails: what comes behind a certain failure is its matter.
fn never_reached(file: &FileResults) -> impl Iterator<Item = Diagnostic> {
    let unreachable = file.unreachable();
    // What a function's report says is dear to find out.
    let may_matter = |range: Range| unreachable.iter().any(|(dead, _)| range.touches(dead.start));
    let fails = |name: &str| file.function(name).is_some_and(|report| report.violated > 0);
    let ranges = file.functions().map(|f| (f, file.now(f.range))).filter(|(_, range)| may_matter(*range));
    let failing: Vec<Range> = ranges.filter(|(f, _)| fails(&f.name)).map(|(_, range)| range).collect();
    let unreachable = unreachable.into_iter();
    unreachable.filter(move |(dead, _)| !failing.iter().any(|range| range.touches(dead.start))).map(
        |(dead, is_older)| {
            let mark = if is_older { "(older text) " } else { "" };
            let message = format!("{mark}no execution comes here");
            Diagnostic {
                is_unreachable: true,
                ..plain(own(file, dead), Severity::Hint, "never-reached", message)
            }
        },
    )
}

/// What is wrong with the contract in front of a function, at its name.
fn unread_contracts(file: &FileResults) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = Vec::new();
    for report in file.reports().values() {
        for (name, problems) in &report.contract_problems {
            let Some(function) = file.functions().find(|function| function.name == *name) else { continue };
            let place = own(file, file.now(function.selection.range));
            for problem in problems {
                let message = format!("contract of `{name}`: {problem}");
                let found = plain(place.clone(), Severity::Warning, "not-understood", message);
                if !out.contains(&found) {
                    out.push(found);
                }
            }
        }
    }
    out
}

/// What could not be decided is said when nothing more will come of its function: at its places, or once, at the function's name.
fn undecided(file: &FileResults, marks: Undecided) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for function in file.functions().filter(|function| file.is_done(&function.name)) {
        let Some(report) = file.function(&function.name) else { continue };
        let name = || own(file, file.now(function.selection.range));
        match report.state {
            State::Unknown | State::Violated if report.unknown > 0 => {}
            State::InternalError => {
                let reason = report.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                let message = format!("internal error: `{}` is not decided{reason}", function.name);
                out.push(plain(name(), Severity::Information, "internal-error", message));
                continue;
            }
            _ => continue,
        }
        let open = match marks {
            Undecided::Places => undecided::open(file, &report),
            Undecided::Functions => Vec::new(),
            Undecided::Nothing => continue,
        };
        let marked = open.iter().filter(|open| open.place.is_some()).count().min(undecided::MOST_PLACES);
        let placed = open.iter().filter_map(|open| Some((open.place.clone()?, open.message())));
        out.extend(placed.take(marked).map(|(at, text)| plain(at, Severity::Hint, "not-decided", text)));
        if open.is_empty() || marked < open.len() {
            let message = undecided::summary(function, &report, marked);
            out.push(plain(name(), Severity::Hint, "not-decided", message));
        }
    }
    out
}
