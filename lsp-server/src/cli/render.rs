//! Findings, problems and verdicts as text, in the manner of a good compiler.

use std::{collections::BTreeSet, fmt::Write};

use annotate_snippets::{AnnotationKind, Group, Level, Snippet};
use proofline_ide::check::{
    Blame, Finding, Kept, Name, Position, Problem, Program, Report, Sources, StepKind, Unknown, Verdict,
};
use proofline_ide::{picture::told, shown, words};

use super::terminal::Style;

/// A finding: what fails, the source, the numbered path, what to do.
pub(crate) fn finding(sources: &Sources, finding: &Finding, style: Style) -> String {
    let mut out = String::new();
    let code = format!("error[{}]", finding.check.code());
    let _ = writeln!(out, "{}: {}", style.red(&code), style.bold(&finding.title));
    if let Some(position) = &finding.position {
        let label = if finding.values.is_empty() {
            String::new()
        } else {
            let values: Vec<String> =
                finding.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!("when {}", values.join(", "))
        };
        excerpt(&mut out, sources, position, (Level::ERROR, &label), style);
    }
    let _ = writeln!(out, "  {}", style.bold("how it gets there:"));
    let width = finding.steps.len().to_string().len();
    for (i, step) in finding.steps.iter().enumerate() {
        let place = step.position.as_ref().map(place).unwrap_or_default();
        let indent = "  ".repeat(step.depth as usize % 12);
        let text = match step.kind {
            StepKind::Failure => style.red(&step.text),
            StepKind::Input => style.yellow(&step.text),
            StepKind::Assign | StepKind::Branch | StepKind::Call | StepKind::Return => step.text.clone(),
        };
        let _ = writeln!(out, "  {:>width$}. {} {indent}{text}", i + 1, style.dim(&format!("{place}:")));
    }
    if let Some(scene) = finding.steps.last().and_then(|step| step.scene.as_ref()) {
        let _ = writeln!(out, "  {}", style.bold("memory there:"));
        for line in told(scene) {
            let _ = writeln!(out, "    {line}");
        }
    }
    let _ = writeln!(out, "  {} {}\n", style.blue("help:"), finding.help);
    out
}

/// One thing that callers, or functions that nothing is known of, must see to.
struct Demand {
    entries: Vec<String>,
    what: String,
    check: &'static str,
    places: Vec<String>,
    who: Who,
}

/// Who must see to something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Callers,
    /// The functions of the file, whose variables decide.
    File,
    /// Not the callers alone.
    Unknown,
}

/// More functions than this are counted, not named.
const MOST_NAMED: usize = 8;

/// So many functions whose calls are open are shown.
const MOST_CALLERS: usize = 12;

/// And more places than this.
const MOST_PLACES: usize = 4;

/// What callers must see to, and what hangs on unknown functions: what is the same at several places, or for several functions, is said once.
pub(crate) fn latent(report: &Report, style: Style) -> String {
    let mut out = unread(report, style);
    out.push_str(&kept(report, style));
    out.push_str(&not_kept(report, style));
    let all = demands(report);
    for (who, title) in [
        (Who::Callers, "callers must see to it:"),
        (Who::File, "functions of the file must see to it, whose variables decide:"),
        (Who::Unknown, "depends on functions that are not here:"),
    ] {
        let theirs: Vec<&Demand> = all.iter().filter(|demand| demand.who == who).collect();
        list(&mut out, title, &theirs, style);
    }
    out
}

/// What is wrong with contracts in the text.
fn unread(report: &Report, style: Style) -> String {
    let mut out = String::new();
    for (function, problems) in &report.contract_problems {
        for problem in problems {
            let head = style.yellow("warning");
            let _ = writeln!(out, "{head}: {}", style.bold(&format!("contract of `{function}`: {problem}")));
        }
    }
    out
}

/// Calls of which nobody knows whether they keep what the callee asks for.
fn not_kept(report: &Report, style: Style) -> String {
    let mut out = String::new();
    for (function, texts) in report.calls_not_kept.iter().take(MOST_CALLERS) {
        if out.is_empty() {
            let _ = writeln!(out, "{}", style.bold("not shown of calls in these functions:"));
        }
        let _ = writeln!(out, "  {function}");
        for text in in_short(texts) {
            let _ = writeln!(out, "    {text}");
        }
    }
    let more = report.calls_not_kept.len().saturating_sub(MOST_CALLERS);
    if more > 0 {
        let _ = writeln!(out, "  … and {more} more");
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Of what one called function asks for (``in `f`: p != NULL``) a few conditions.
fn in_short(texts: &[String]) -> Vec<String> {
    let callee = |text: &String| text.split_once("`: ").map(|(callee, _)| callee.to_owned());
    let of_one = texts.chunk_by(|one, next| callee(one).is_some() && callee(one) == callee(next));
    let mut out = Vec::new();
    for texts in of_one {
        match (&callee(&texts[0]), texts) {
            (Some(callee), [first, second, rest @ ..]) if rest.len() > 1 => {
                out.extend([first.clone(), second.clone(), format!("{callee}`: … and {} more", rest.len())]);
            }
            _ => out.extend_from_slice(texts),
        }
    }
    out
}

/// What proved functions ask of callers that are not seen.
fn kept(report: &Report, style: Style) -> String {
    let mut out = String::new();
    let of = |name: &Name, kept: &Kept| match (kept.is_whole(), report.resting.contains(name)) {
        (true, false) => "proved, if callers pass:",
        (true, true) => "proved, if callers pass, and nothing fails in what they call:",
        (false, _) => "proved in part, if callers pass:",
    };
    for title in [
        "proved, if callers pass:",
        "proved, if callers pass, and nothing fails in what they call:",
        "proved in part, if callers pass:",
    ] {
        let shown = report.kept.iter().filter(|(_, kept)| kept.is_shown && !kept.contract.is_empty());
        let mut shown = shown.filter(|(name, kept)| of(name, kept) == title).peekable();
        if shown.peek().is_none() {
            continue;
        }
        let _ = writeln!(out, "{}", style.bold(title));
        for (function, kept) in shown {
            let _ = writeln!(out, "  {function}");
            for demand in &kept.words {
                let _ = writeln!(out, "    {demand}");
            }
        }
        out.push('\n');
    }
    out
}

fn list(out: &mut String, title: &str, demands: &[&Demand], style: Style) {
    if demands.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", style.bold(title));
    let mut last: &[String] = &[];
    for demand in demands {
        if last != demand.entries {
            let _ = writeln!(out, "  {}", shortened(&demand.entries, MOST_NAMED));
            last = &demand.entries;
        }
        let at = format!("({} at {})", demand.check, shortened(&demand.places, MOST_PLACES));
        let _ = writeln!(out, "    {} {}", demand.what, style.dim(&at));
    }
    out.push('\n');
}

/// The first ones, and how many there are besides.
fn shortened(all: &[String], most: usize) -> String {
    let mut text = all[..all.len().min(most)].join(", ");
    if all.len() > most {
        let _ = write!(text, " and {} more", all.len() - most);
    }
    text
}

fn demands(report: &Report) -> Vec<Demand> {
    let mut single: Vec<Demand> = Vec::new();
    for finding in report.latent() {
        let Blame::Latent(condition) = &finding.blame else { continue };
        let entry = finding.counterexample.entry.name.to_string();
        let place = finding.position.as_ref().map(place).unwrap_or_default();
        let who = match condition.unknown {
            Some(_) => Who::Unknown,
            None if condition.is_of_file => Who::File,
            None => Who::Callers,
        };
        let what = match (&condition.requires, &condition.fails_when) {
            (Some(requires), _) => format!("requires {requires}"),
            (None, Some(when)) => format!("can fail when {when}"),
            (None, None) => {
                let inputs: Vec<String> =
                    finding.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                let values =
                    if inputs.is_empty() { String::new() } else { format!(" ({})", inputs.join(", ")) };
                match condition.unknown {
                    Some(unknown) => format!("fails for something that `{unknown}` may do{values}"),
                    None => format!("fails for some arguments{values}"),
                }
            }
        };
        let check = finding.check.code();
        let same = |other: &&mut Demand| {
            let is_same = other.entries[0] == entry && other.what == what && other.check == check;
            is_same && other.who == who
        };
        match single.iter_mut().find(same) {
            Some(demand) if demand.places.contains(&place) => {}
            Some(demand) => demand.places.push(place),
            None => single.push(Demand { entries: vec![entry], what, check, places: vec![place], who }),
        }
    }
    let mut out: Vec<Demand> = Vec::new();
    for demand in single {
        let same = |other: &&mut Demand| {
            let is_same = other.what == demand.what && other.check == demand.check;
            is_same && other.who == demand.who
        };
        match out.iter_mut().find(same) {
            Some(other) => {
                other.entries.extend(demand.entries);
                let new = demand.places.into_iter().filter(|place| !other.places.contains(place));
                other.places.extend(new.collect::<Vec<_>>());
            }
            None => out.push(demand),
        }
    }
    out
}

/// A problem with the text of the program.
pub(crate) fn problem(sources: &Sources, problem: &Problem, style: Style) -> String {
    let mut out = String::new();
    let (head, level) = if problem.is_error {
        (style.red("error"), Level::ERROR)
    } else {
        (style.yellow("warning"), Level::WARNING)
    };
    let _ = writeln!(out, "{head}: {}", style.bold(&problem.message));
    if let Some(position) = &problem.position {
        excerpt(&mut out, sources, position, (level, ""), style);
    }
    if let Some(help) = &problem.help {
        let _ = writeln!(out, "  {} {help}", style.blue("help:"));
    }
    out.push('\n');
    out
}

fn place(position: &Position) -> String {
    format!("{}:{}:{}", shown(&position.path), position.line + 1, position.column + 1)
}

/// Where a position is, and its lines with the place marked and labelled.
fn excerpt(
    out: &mut String,
    sources: &Sources,
    position: &Position,
    (level, label): (Level<'_>, &str),
    style: Style,
) {
    let lines = lines(sources, position);
    let last = position.line as usize + lines.len().max(1);
    // As wide as the last line's number. The arrow is drawn here because columns are bytes everywhere else, too.
    let margin = " ".repeat(last.to_string().len());
    let _ = writeln!(out, "{margin}{} {}", style.blue("-->"), place(position));
    let (Some(first), Some(end)) = (lines.first(), lines.last()) else { return };
    let text = lines.join("\n");
    let from = text.floor_char_boundary(first.len().min(position.column as usize));
    let to = text.len() - end.len() + end.len().min(position.end_column as usize);
    let mut mark = AnnotationKind::Primary.span(from..text.ceil_char_boundary(to).max(from));
    if !label.is_empty() {
        mark = mark.label(label);
    }
    let snippet = Snippet::source(&text).line_start(position.line as usize + 1).annotation(mark);
    let _ = writeln!(out, "{}", style.renderer().render(&[Group::with_level(level).element(snippet)]));
}

/// The lines that a position goes through, as far as the text is known.
fn lines<'l>(sources: &'l Sources, position: &Position) -> Vec<&'l str> {
    let mut at = position.clone();
    (position.line..=position.end_line.max(position.line))
        .map_while(|line| {
            at.line = line;
            sources.line(&at)
        })
        .collect()
}

/// So many places that are not decided are shown.
const MOST_UNDECIDED: usize = 12;

/// Where it is not decided whether something fails, each line and condition once.
pub(crate) fn undecided(report: &Report, program: &Program, sources: &Sources, style: Style) -> String {
    let mut out = String::new();
    let is_open =
        |verdict: &Verdict| matches!(verdict, Verdict::Unknown(why) if *why != Unknown::IfCallersKeep);
    let open = report.verdicts.iter().filter(|(_, verdict)| is_open(verdict));
    let texts: BTreeSet<(Option<Position>, String, String, Option<&str>)> = open
        .filter_map(|((function, id), verdict)| {
            let obligation = program.function(*function)?.obligations.get(id.index())?;
            let position = sources.position(*function, obligation.site);
            let at = position.as_ref().map(|position| format!("{}: ", place(position))).unwrap_or_default();
            let text = format!(
                "{at}{} ({}, in `{function}`)",
                words::condition(&obligation.text),
                obligation.check.code()
            );
            let Verdict::Unknown(why) = verdict else { return None };
            let words::Why { reason, help } = words::why(why);
            Some((position, text, reason, help))
        })
        .collect();
    if texts.is_empty() {
        return out;
    }
    let _ = writeln!(out, "{}", style.dim("not decided:"));
    // A reason, and what would help, is said once for the places that have it one after the other.
    let mut last = None;
    for (_, text, reason, help) in texts.iter().take(MOST_UNDECIDED) {
        if last != Some(reason) {
            let help = help.map(|help| format!("; {help}")).unwrap_or_default();
            let _ = writeln!(out, "  {}", style.dim(&format!("({reason}{help})")));
            last = Some(reason);
        }
        let _ = writeln!(out, "  {}", style.dim(text));
    }
    if texts.len() > MOST_UNDECIDED {
        let more = texts.len() - MOST_UNDECIDED;
        let _ = writeln!(
            out,
            "  {}",
            style.dim(&format!("… and {more} more (--format json and --html show all)"))
        );
    }
    out
}

/// Verdicts per function.
pub(crate) fn table(report: &Report, style: Style) -> String {
    let mut out = String::new();
    let with_places = report.verdicts.keys().map(|(function, _)| *function);
    // A function without a place of its own may call others wrongly.
    let functions: BTreeSet<Name> = with_places.chain(report.calls_not_kept.keys().copied()).collect();
    if functions.is_empty() {
        return out;
    }
    let has_latent = report.latent().next().is_some();
    let width = functions.iter().map(|name| name.len()).max().unwrap_or(0).max("function".len());
    let _ = writeln!(
        out,
        "{}",
        style.bold(&format!(
            "{:width$}  {:>6}  {:>8}  {}{:>7}",
            "function",
            "proved",
            "violated",
            if has_latent { " callers  " } else { "" },
            "unknown"
        ))
    );
    for function in functions {
        let mut counts = [0u32; 4];
        let mut assumed = 0u32;
        let mut reason = None;
        for ((_, _), verdict) in report.verdicts.iter().filter(|((name, _), _)| *name == function) {
            match verdict {
                Verdict::Proved(_) => counts[0] += 1,
                Verdict::Violated(index) => {
                    let is_failure = report.findings.get(*index).is_none_or(|f| report.is_failure(f));
                    counts[if is_failure { 1 } else { 3 }] += 1;
                }
                Verdict::Unknown(Unknown::IfCallersKeep) => assumed += 1,
                Verdict::Unknown(why) => {
                    counts[2] += 1;
                    reason.get_or_insert(why);
                }
            }
        }
        let is_inner = report.kept.get(&function).is_some_and(|kept| !kept.is_shown);
        let state = match counts {
            [_, 0, 0, 0] if assumed > 0 && report.resting.contains(&function) => {
                style.yellow("proved if nothing fails before and callers keep its contract")
            }
            [_, 0, 0, 0] if assumed > 0 && is_inner => style.green("proved, as it is called here"),
            [_, 0, 0, 0] if assumed > 0 => style.green("proved, if callers keep its contract"),
            [_, 0, 0, 0] if report.calls_not_kept.contains_key(&function) => {
                style.yellow("its calls are not shown to be right")
            }
            [_, 0, 0, 0] if report.resting.contains(&function) => {
                style.yellow("proved if nothing fails before")
            }
            [_, 0, 0, 0] => style.green("proved"),
            [_, 0, 0, _] => style.yellow("depends on callers"),
            [_, 0, ..] => format!(
                "{} {}",
                style.yellow("unknown"),
                reason.map_or_else(String::new, |why| format!("({})", words::why(why).reason))
            ),
            _ => style.red("violated"),
        };
        let latent = if has_latent { format!("{:>8}  ", counts[3]) } else { String::new() };
        let _ = writeln!(
            out,
            "{function:width$}  {:>6}  {:>8}  {latent}{:>7}  {state}",
            counts[0] + assumed,
            counts[1],
            counts[2]
        );
    }
    if !report.rests_on.is_empty() {
        let _ = writeln!(out, "{}", style.dim("proofs rest on:"));
        for text in report.rests_on.iter().take(12) {
            let _ = writeln!(out, "  {}", style.dim(&words::condition(text)));
        }
        if report.rests_on.len() > 12 {
            let _ = writeln!(out, "  {}", style.dim(&format!("… and {} more", report.rests_on.len() - 12)));
        }
    }
    out
}
