//! Why a function is proved, or how far: what it needs, then, in the order of its text, what holds in its loops, what its calls give back, and each place
//! that was checked with the reason that it holds; at the end what all of it rests on. Every line has its place. Knows no client.

use std::fmt::Write;

use proofline_verifier::{Unknown, engines::method};

use crate::{
    finding::Nature,
    index::Symbol,
    knowledge::{Knowledge, Value},
    place::{Place, Point, Range},
    program::FunctionItem,
    results::FileResults,
    state::State,
    verify::{Obligation, Verdict},
    words::{condition, how, why},
};

/// What a line of a proof says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LineKind {
    /// What callers pass.
    Needs,
    /// What holds in every round of a loop.
    Invariant,
    /// What a function that is called gives back.
    Callee,
    /// A place that cannot fail.
    Proved,
    /// A place that callers must see to.
    Asked,
    /// A place that is not decided.
    Open,
    /// A place that fails.
    Failing,
    /// What holds at the end.
    Ensures,
    /// What is taken to be so.
    RestsOn,
}

impl LineKind {
    /// Its name in protocols.
    pub fn name(self) -> &'static str {
        match self {
            LineKind::Needs => "needs",
            LineKind::Invariant => "invariant",
            LineKind::Callee => "callee",
            LineKind::Proved => "proved",
            LineKind::Asked => "asked",
            LineKind::Open => "open",
            LineKind::Failing => "failing",
            LineKind::Ensures => "ensures",
            LineKind::RestsOn => "rests-on",
        }
    }

    /// What it is called in a list.
    pub fn word(self) -> &'static str {
        match self {
            LineKind::Needs => "needs",
            LineKind::Invariant => "in every round",
            LineKind::Callee => "gives back",
            LineKind::Proved => "holds",
            LineKind::Asked => "up to callers",
            LineKind::Open => "not decided",
            LineKind::Failing => "fails",
            LineKind::Ensures => "afterwards",
            LineKind::RestsOn => "rests on",
        }
    }
}

/// A line of a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// What it says.
    pub kind: LineKind,
    /// A condition in C, or a few words.
    pub text: String,
    /// Why that is so, in a clause. Perhaps empty.
    pub because: String,
    /// What is known at the place of what the condition speaks of: `0 <= i <= 9`.
    pub known: Vec<String>,
    /// Where, now.
    pub place: Option<Place>,
    /// The finding that shows how it fails.
    pub finding: Option<String>,
}

/// Why a function is proved, or how far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The function.
    pub name: String,
    /// Its name in its definition, now.
    pub place: Place,
    /// Its state.
    pub state: State,
    /// One sentence.
    pub headline: String,
    /// In the order in which they are to be read.
    pub lines: Vec<Line>,
}

/// The proof of a function that this file defines.
pub fn proof(file: &FileResults, function: &str) -> Option<Proof> {
    let item = file.functions().find(|known| known.name == function)?;
    let summary = file.summary(function)?;
    let place = Place { path: item.selection.path.clone(), range: file.now(item.selection.range) };
    let at_name = |kind, text: &String| Line { place: Some(place.clone()), ..line(kind, text.clone()) };
    let mut lines: Vec<Line> = summary.requires.iter().map(|text| at_name(LineKind::Needs, text)).collect();
    let mut inside = loops(file, item);
    inside.extend(callees(file, item));
    inside.extend(
        summary.report.obligations.iter().map(|obligation| of_obligation(file, function, obligation)),
    );
    // Stable: of one place, what holds in a loop comes before what follows from it.
    inside.sort_by_key(|line| {
        let start = line.place.as_ref().map(|place| place.range.start);
        (start.is_none(), start, line.kind)
    });
    lines.append(&mut inside);
    lines.extend(summary.ensures.iter().map(|text| {
        let because =
            if summary.is_for_all_callers { "for all arguments" } else { "for the calls in this program" };
        Line { because: because.to_owned(), place: end(file, item), ..line(LineKind::Ensures, text.clone()) }
    }));
    lines.extend(summary.rests_on.iter().map(|text| line(LineKind::RestsOn, text.clone())));
    Some(Proof {
        name: function.to_owned(),
        place,
        state: summary.report.state,
        headline: summary.headline(),
        lines,
    })
}

fn line(kind: LineKind, text: String) -> Line {
    Line { kind, text, because: String::new(), known: Vec::new(), place: None, finding: None }
}

/// The closing brace.
fn end(file: &FileResults, item: &FunctionItem) -> Option<Place> {
    let end = file.now(item.range).end;
    let start = Point { line: end.line, column: end.column.saturating_sub(1) };
    Some(Place { path: item.selection.path.clone(), range: Range { start, end } })
}

/// What holds in every round of the function's loops.
fn loops(file: &FileResults, item: &FunctionItem) -> Vec<Line> {
    let known = file.knowledge().into_iter().flat_map(Knowledge::loops);
    let own = known.filter(|found| found.function == item.name && file.is_own(&found.place));
    own.map(|found| {
        // Its first word is enough to see where it is.
        let start = found.place.range.start;
        let word = Range { start, end: Point { line: start.line, column: start.column + 1 } };
        Line {
            because: "whenever the condition of this loop is looked at".to_owned(),
            place: Some(Place { path: found.place.path.clone(), range: word }),
            ..line(LineKind::Invariant, found.invariants.join(" && "))
        }
    })
    .collect()
}

/// What the functions that it calls give back.
fn callees(file: &FileResults, item: &FunctionItem) -> Vec<Line> {
    let (Some(program), Some(known)) = (file.program(), file.knowledge()) else { return Vec::new() };
    let calls = program.index().calls(&item.name).into_iter().flat_map(|(callee, places)| {
        let ensured = known.ensures(&callee, "result");
        places.into_iter().filter_map(move |place| Some((callee.clone(), ensured.clone()?, place)))
    });
    calls
        .filter(|(callee, ..)| *callee != item.name)
        .map(|(callee, ensured, place)| Line {
            because: format!("what `{callee}` gives back"),
            place: Some(file.place_now(&place)),
            ..line(LineKind::Callee, ensured)
        })
        .collect()
}

fn of_obligation(file: &FileResults, function: &str, obligation: &Obligation) -> Line {
    let place = obligation.place.as_ref().map(|place| file.place_now(place));
    let mut out = Line { place, ..line(LineKind::Proved, condition(&obligation.text)) };
    match &obligation.verdict {
        Verdict::Proved(engine) => {
            out.because = how(method(engine)).to_owned();
            out.known = known(file, function, obligation);
        }
        Verdict::Unknown(Unknown::IfCallersKeep) => {
            out.because = "it follows from what callers pass".to_owned();
            out.known = known(file, function, obligation);
        }
        Verdict::Unknown(unknown) => {
            let why = why(unknown);
            let help = why.help.map(|help| format!("; {help}")).unwrap_or_default();
            out.kind = LineKind::Open;
            out.because = format!("{}{help}", why.reason);
        }
        Verdict::Violated(id) => {
            let shown = file.finding(id);
            let is_latent = shown.as_ref().is_some_and(|shown| shown.finding.nature == Nature::Latent);
            out.kind = if is_latent { LineKind::Asked } else { LineKind::Failing };
            out.because = shown.map(|shown| shown.finding.message()).unwrap_or_default();
            out.finding = Some(id.clone());
        }
    }
    out
}

/// What is known, where an obligation stands, of the variables that its expression names.
fn known(file: &FileResults, function: &str, obligation: &Obligation) -> Vec<String> {
    let (Some(place), Some(program), Some(known)) = (&obligation.place, file.program(), file.knowledge())
    else {
        return Vec::new();
    };
    let mut out: Vec<String> = Vec::new();
    for occurrence in program.index().inside(place) {
        if matches!(occurrence.symbol, Symbol::Function(_)) {
            continue;
        }
        if let Some(Value::Before(text)) = known.value_at(function, &occurrence.place)
            && !out.contains(&text)
        {
            out.push(text);
        }
    }
    out
}

impl Proof {
    /// As plain text, for the command line and for editors without anything better. `shown` names a file.
    pub fn text(&self, shown: impl Fn(&std::path::Path) -> String) -> String {
        let at = |place: &Place| {
            let start = place.range.start;
            format!("{}:{}:{}", shown(&place.path), start.line + 1, start.column + 1)
        };
        let mut out = format!("{}: {}: {}\n", at(&self.place), self.name, self.headline);
        for line in &self.lines {
            let place = line.place.as_ref().map(|place| format!("{}: ", at(place))).unwrap_or_default();
            let _ = write!(out, "  {place}{}: {}", line.kind.word(), line.text);
            if !line.known.is_empty() {
                let _ = write!(out, "  (here {})", line.known.join(", "));
            }
            if !line.because.is_empty() {
                let _ = write!(out, "\n      {}", line.because);
            }
            out.push('\n');
        }
        out
    }
}
