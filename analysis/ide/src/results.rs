//! What is known about an open file: the program of its last good text and a report per entry, each with the edits made since. A report
//! of an older text is moved and marked until a newer one takes its place; it is never cleared and never shown as current. Knows no
//! client: who asks is told in positions of the current text.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use proofline_verifier::Name;

use crate::{
    edit::{Edit, point_before, range_after},
    finding::{Finding, Nature},
    knowledge::Knowledge,
    place::{Place, Point, Range},
    program::{EntryPoint, FunctionItem, Problem, Program},
    state::{FunctionReport, State, report},
    summary::Summary,
    verify::{EntryReport, Verdict},
};

/// More edits than this without a new result: the old one is worth nothing any more.
const MOST_EDITS: usize = 10_000;

/// A report and the edits since.
#[derive(Clone)]
struct Dated {
    report: Arc<EntryReport>,
    edits: Vec<Edit>,
    /// Findings about what is not in the current text any more.
    gone: BTreeSet<String>,
}

impl Dated {
    fn new(report: Arc<EntryReport>) -> Dated {
        Dated { report, edits: Vec::new(), gone: BTreeSet::new() }
    }
}

/// What is known from one entry.
#[derive(Clone, Default)]
struct EntryResults {
    /// Of the current text.
    fresh: Option<Dated>,
    /// More effort would not change it.
    is_final: bool,
    /// Of an older text, kept until the fresh one is final.
    older: Option<Dated>,
}

/// What holds where, with the edits since.
struct DatedKnowledge {
    knowledge: Arc<Knowledge>,
    is_fresh: bool,
    edits: Vec<Edit>,
}

/// What is known about an open file.
pub struct FileResults {
    path: PathBuf,
    text: Arc<str>,
    program: Option<Arc<Program>>,
    /// Edits since the program's text.
    edits: Vec<Edit>,
    last_edit: Option<Edit>,
    /// The program is that of the current text.
    is_current: bool,
    /// The current text's problems.
    problems: Vec<Problem>,
    entries: BTreeMap<String, EntryResults>,
    knowledge: Option<DatedKnowledge>,
    /// Entries that jobs work on.
    running: BTreeSet<String>,
    /// Findings of this text that running a test has confirmed.
    confirmed: BTreeSet<String>,
    merged: Mutex<Merged>,
}

/// Reports by entry.
type Reports = BTreeMap<String, Arc<EntryReport>>;

/// What was put together from the entries' reports, as long as these are the same. Every answer to an editor looks at it, and an edit of a
/// function changes little of it.
#[derive(Default)]
struct Merged {
    reports: Option<Arc<Reports>>,
    functions: BTreeMap<String, FunctionReport>,
}

/// A finding with where it is now.
pub struct ShownFinding<'r> {
    /// What fails.
    pub finding: &'r Finding,
    /// It was found in an older text.
    pub is_older: bool,
    file: &'r Path,
    edits: &'r [Edit],
}

impl ShownFinding<'_> {
    /// Where a place of the finding is in the current texts; only the open file itself moves.
    pub fn now(&self, place: &Place) -> Range {
        if *place.path == *self.file { range_after(place.range, self.edits) } else { place.range }
    }
}

/// What changes: texts, programs, reports.
impl FileResults {
    /// Nothing is known yet.
    pub fn new(path: PathBuf, text: Arc<str>) -> FileResults {
        FileResults {
            path,
            text,
            program: None,
            edits: Vec::new(),
            last_edit: None,
            is_current: false,
            problems: Vec::new(),
            entries: BTreeMap::new(),
            knowledge: None,
            running: BTreeSet::new(),
            confirmed: BTreeSet::new(),
            merged: Mutex::default(),
        }
    }

    /// The text changed by these edits, in this order.
    pub fn edit(&mut self, edits: &[Edit], text: Arc<str>) {
        self.text = text;
        self.last_edit = edits.last().copied().or(self.last_edit);
        self.confirmed.clear();
        self.edits.extend(edits);
        self.invalidate();
        if let Some(known) = &mut self.knowledge {
            known.edits.extend(edits);
        }
        for older in self.entries.values_mut().filter_map(|entry| entry.older.as_mut()) {
            older.edits.extend(edits);
        }
        self.entries.retain(|_, e| e.older.as_ref().is_none_or(|older| older.edits.len() < MOST_EDITS));
        *self.merged.get_mut() = Merged::default();
    }

    /// Something else changed that answers depend on.
    pub fn invalidate(&mut self) {
        self.is_current = false;
        self.running.clear();
        *self.merged.get_mut() = Merged::default();
        if let Some(known) = &mut self.knowledge {
            known.is_fresh = false;
        }
        for entry in self.entries.values_mut() {
            if let Some(fresh) = entry.fresh.take() {
                // A quick answer knows less than a complete one of before.
                if entry.is_final || entry.older.is_none() {
                    entry.older = Some(fresh);
                }
            }
            entry.is_final = false;
        }
    }

    /// The current text was read. Returns whether it should be verified: a text with errors is not while there are results of
    /// a better one.
    pub fn loaded(&mut self, program: Arc<Program>) -> bool {
        self.problems = program.problems().to_vec();
        if program.has_errors() && self.entries.values().any(|entry| entry.older.is_some()) {
            return false;
        }
        self.keep_entries(&program);
        for older in self.entries.values_mut().filter_map(|entry| entry.older.as_mut()) {
            older.gone = gone(&program, &self.path, &older.report, &older.edits);
        }
        self.program = Some(program);
        *self.merged.get_mut() = Merged::default();
        self.edits.clear();
        self.is_current = true;
        true
    }

    /// It was found out from where the current text is checked.
    pub fn planned(&mut self) {
        if let Some(program) = self.program.clone() {
            self.keep_entries(&program);
        }
        *self.merged.get_mut() = Merged::default();
    }

    fn keep_entries(&mut self, program: &Program) {
        let names: BTreeSet<&str> = program.entries().iter().map(|entry| entry.name.as_str()).collect();
        self.entries.retain(|name, _| names.contains(&**name));
    }

    /// A job begins to verify an entry.
    pub fn begun(&mut self, entry: String) {
        self.running.insert(entry);
    }

    /// No job verifies the entry any more.
    pub fn ended(&mut self, entry: &str) {
        self.running.remove(entry);
    }

    /// No job verifies anything any more, because of a defect of ours.
    pub fn all_ended(&mut self) {
        self.running.clear();
    }

    /// An entry of the current text was verified.
    pub fn verified(&mut self, report: Arc<EntryReport>, is_final: bool) {
        let merged = self.merged.get_mut();
        merged.reports = None;
        let plan = self.program.iter().flat_map(|program| program.entries());
        for function in plan.filter(|entry| entry.name == report.entry).flat_map(|entry| &*entry.decides) {
            merged.functions.remove(&**function);
        }
        let entry = self.entries.entry(report.entry.clone()).or_default();
        entry.is_final = is_final || report.is_settled;
        entry.fresh = Some(Dated::new(report));
        if entry.is_final {
            entry.older = None;
        }
    }

    /// The work was stopped: what is known now is all there will be.
    pub fn stop(&mut self) {
        self.running.clear();
        for entry in self.entries.values_mut() {
            entry.is_final |= entry.fresh.is_some();
        }
    }

    /// It was found out what holds where in the current text.
    pub fn known(&mut self, knowledge: Arc<Knowledge>) {
        self.knowledge = Some(DatedKnowledge { knowledge, is_fresh: true, edits: Vec::new() });
    }

    /// Running a test of the current text has confirmed a finding.
    pub fn confirm(&mut self, finding: String) {
        self.confirmed.insert(finding);
    }
}

/// The file and its program, in positions of the current text.
impl FileResults {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Its current text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
    /// Whether a place is in this file.
    pub fn is_own(&self, place: &Place) -> bool {
        *place.path == *self.path
    }
    /// The program of the last good text.
    pub fn program(&self) -> Option<&Arc<Program>> {
        self.program.as_ref()
    }
    /// Whether this very program is what everything is about.
    pub fn is_of(&self, program: &Arc<Program>) -> bool {
        self.is_current && self.program.as_ref().is_some_and(|known| Arc::ptr_eq(known, program))
    }
    /// Where a range of that program's text of this file is now.
    pub fn now(&self, range: Range) -> Range {
        range_after(range, &self.edits)
    }
    /// Where a place of that program is now; only this file moves.
    pub fn place_now(&self, place: &Place) -> Place {
        let range = if self.is_own(place) { self.now(place.range) } else { place.range };
        Place { path: place.path.clone(), range }
    }
    /// Where a point of the current text is in that program's text, if it is there.
    pub fn before(&self, point: Point) -> Option<Point> {
        point_before(point, &self.edits)
    }

    /// The functions whose definitions are in this file.
    pub fn functions(&self) -> impl Iterator<Item = &FunctionItem> {
        let all = self.program.iter().flat_map(|program| program.functions());
        all.filter(|function| self.is_own(&function.selection))
    }

    /// The function whose definition is around a point of the current text.
    pub fn function_at(&self, point: Point) -> Option<&FunctionItem> {
        self.functions().find(|function| self.now(function.range).touches(point))
    }

    /// The function that was edited last.
    fn edited(&self) -> Option<&FunctionItem> {
        self.last_edit.and_then(|edit| self.function_at(edit.new_end))
    }

    /// The entries of the program, first the function that was edited last, then those that decide it.
    pub fn entries(&self) -> Vec<&EntryPoint> {
        let edited = self.edited().map(|function| Name::new(&function.name));
        let distance = |entry: &&EntryPoint| match edited {
            Some(function) if *entry.name == *function => 0,
            Some(function) if entry.decides.contains(&function) => 1,
            Some(_) | None => 2,
        };
        let mut all: Vec<&EntryPoint> = self.program.iter().flat_map(|program| program.entries()).collect();
        all.sort_by_cached_key(distance);
        all
    }

    /// Whether an entry is the one that tells first of the function that was edited last: itself, if executions start there.
    pub fn is_about_edit(&self, entry: &str) -> bool {
        let (Some(edited), Some(program)) = (self.edited(), &self.program) else { return false };
        if program.deciding(&edited.name).any(|decides| decides.name == edited.name) {
            return entry == edited.name;
        }
        program.deciding(&edited.name).any(|decides| decides.name == entry)
    }
}

/// Answers, fresh or older.
impl FileResults {
    /// The current text's problems.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether every entry of the current text has its final answer.
    pub fn is_settled(&self) -> bool {
        self.is_current
            && self.program.as_ref().is_some_and(|program| {
                program.is_planned()
                    && program
                        .entries()
                        .iter()
                        .all(|e| self.entries.get(&e.name).is_some_and(|known| known.is_final))
            })
    }

    /// Whether everything is known of a function of the current text that will be.
    pub fn is_done(&self, function: &str) -> bool {
        let Some(program) = self.program.as_ref().filter(|program| self.is_current && program.is_planned())
        else {
            return false;
        };
        self.have_ended(&program.deciding(function).collect::<Vec<_>>())
    }

    /// Whether more effort would change nothing about the function that these entries decide.
    fn have_ended(&self, entries: &[&EntryPoint]) -> bool {
        let known = |entry: &EntryPoint| self.entries.get(&entry.name);
        let is_settled = |entry: &&EntryPoint| {
            let fresh = known(entry).and_then(|known| known.fresh.as_ref());
            entry.is_alone && fresh.is_some_and(|dated| dated.report.is_settled)
        };
        entries.iter().any(is_settled)
            || entries.iter().all(|entry| known(entry).is_some_and(|known| known.is_final))
    }

    /// Of how many functions everything is known that will be, and how many there are.
    pub fn share(&self) -> (usize, usize) {
        let Some(program) = &self.program else { return (0, 0) };
        let (mut done, mut all) = (0, 0);
        for function in self.functions() {
            let entries: Vec<&EntryPoint> = program.deciding(&function.name).collect();
            if !entries.is_empty() {
                all += 1;
                done += usize::from(self.have_ended(&entries));
            }
        }
        (done, all)
    }

    /// Whether everything that is shown is of the current text.
    pub fn is_current(&self) -> bool {
        self.is_current && self.entries.values().all(|entry| entry.older.is_none())
    }

    /// What holds where in the current text.
    pub fn knowledge(&self) -> Option<&Knowledge> {
        self.knowledge.as_ref().filter(|known| known.is_fresh).map(|known| &*known.knowledge)
    }

    /// Code of this file that nothing reaches, where it is now; whether that was found in an older text.
    pub fn unreachable(&self) -> Vec<(Range, bool)> {
        let Some(known) = &self.knowledge else { return Vec::new() };
        let own = known.knowledge.unreachable().iter().filter(|place| self.is_own(place));
        own.map(|place| (range_after(place.range, &known.edits), !known.is_fresh)).collect()
    }

    /// Reports by entry, fresh ones first.
    pub fn reports(&self) -> Arc<Reports> {
        let best = |e: &EntryResults| e.fresh.as_ref().or(e.older.as_ref()).map(|dated| dated.report.clone());
        let all = || self.entries.iter().filter_map(|(name, entry)| Some((name.clone(), best(entry)?)));
        self.merged.lock().reports.get_or_insert_with(|| Arc::new(all().collect())).clone()
    }

    /// What the reports say about a function, together.
    fn merged(&self, program: &Program, function: &str) -> FunctionReport {
        if let Some(known) = self.merged.lock().functions.get(function) {
            return known.clone();
        }
        let found = report(program, &self.reports(), function);
        self.merged.lock().functions.insert(function.to_owned(), found.clone());
        found
    }

    /// Findings to show. One obligation that fails from several entries is shown once, by its worst.
    pub fn findings(&self) -> Vec<ShownFinding<'_>> {
        let mut out: Vec<ShownFinding<'_>> = Vec::new();
        for entry in self.entries.values() {
            let fresh = entry.fresh.as_ref();
            if let Some(dated) = fresh {
                out.extend(dated.report.findings.iter().map(|finding| self.shown(finding, dated, false)));
            }
            if let Some(dated) = &entry.older {
                let there = dated.report.findings.iter().filter(|finding| !dated.gone.contains(&finding.id));
                let older = there.map(|finding| self.shown(finding, dated, true));
                out.extend(older.filter(|shown| !fresh.is_some_and(|fresh| decides(fresh, shown))));
            }
        }
        let rank = |shown: &ShownFinding<'_>| (shown.finding.nature == Nature::Latent, shown.is_older);
        let key = |shown: &ShownFinding<'_>| {
            let place = shown.finding.place.as_ref();
            let now = place.map(|place| (place.path.clone(), range_after(place.range, shown.edits)));
            (now, shown.finding.check)
        };
        out.sort_by(|a, b| (key(a), rank(a)).cmp(&(key(b), rank(b))));
        out.dedup_by(|b, a| key(a) == key(b));
        out
    }

    /// The finding with this id, of the current text if it is there.
    pub fn finding(&self, id: &str) -> Option<ShownFinding<'_>> {
        let fresh = self.entries.values().filter_map(|entry| Some((entry.fresh.as_ref()?, false)));
        let older = self.entries.values().filter_map(|entry| Some((entry.older.as_ref()?, true)));
        fresh.chain(older).find_map(|(dated, is_older)| {
            let finding = dated.report.findings.iter().find(|finding| finding.id == id)?;
            Some(self.shown(finding, dated, is_older))
        })
    }

    fn shown<'r>(&'r self, finding: &'r Finding, dated: &'r Dated, is_older: bool) -> ShownFinding<'r> {
        ShownFinding { finding, is_older, file: &self.path, edits: &dated.edits }
    }

    /// Whether running a test has confirmed the finding.
    pub fn is_confirmed(&self, finding: &Finding) -> bool {
        self.confirmed.contains(&finding.id)
    }

    /// A function's verdicts with its state now; `None` if no entry decides it: nothing was asked.
    pub fn function(&self, name: &str) -> Option<FunctionReport> {
        let program = self.program.as_ref()?;
        let mut entries: Vec<&EntryPoint> = program.deciding(name).collect();
        if entries.is_empty() {
            return None;
        }
        let is_settled = |entry: &&EntryPoint| {
            let fresh = self.entries.get(&entry.name).and_then(|known| known.fresh.as_ref());
            entry.is_alone && fresh.is_some_and(|dated| dated.report.is_settled)
        };
        if entries.iter().any(is_settled) {
            // Nothing depends on its callers.
            entries.retain(|entry| entry.is_alone);
        }
        let mut out = self.merged(program, name);
        let known = || entries.iter().map(|entry| self.entries.get(&entry.name));
        let is_running = entries.iter().any(|entry| self.running.contains(&entry.name));
        let is_older = known().flatten().any(|entry| entry.fresh.is_none());
        let is_open = known().any(|entry| entry.is_none_or(|entry| !entry.is_final));
        if is_running && out.violated == 0 {
            out.state = State::Running;
        } else if is_older || !self.is_current && out.state != State::Queued {
            out.state = State::Stale;
        } else if is_open && !matches!(out.state, State::Violated | State::Proved | State::Asks) {
            out.state = State::Queued;
        }
        Some(out)
    }

    /// A function's summary with its state now, if it has a body here.
    pub fn summary(&self, name: &str) -> Option<Summary> {
        let mut summary = Summary::of(self.program()?, &self.reports(), self.knowledge(), name)?;
        summary.report.state = self.function(name).map_or(State::Queued, |report| report.state);
        Some(summary)
    }
}

/// The findings of an older text that are about functions or obligations which the program does not have.
fn gone(program: &Program, file: &Path, report: &EntryReport, edits: &[Edit]) -> BTreeSet<String> {
    let (Some(code), Some(sources)) = (program.prepared(), program.sources()) else {
        return BTreeSet::new();
    };
    let is_there = |finding: &Finding| {
        let name = Name::new(&finding.function);
        let Some(function) = code.functions.get(&name) else { return false };
        let Some(place) = finding.place.as_ref() else { return true };
        let range = if *place.path == *file { range_after(place.range, edits) } else { place.range };
        let mut same = function.obligations.iter().filter(|o| o.check.code() == finding.check);
        same.any(|obligation| match sources.position(name, obligation.site).as_ref().map(Place::of) {
            Some(now) => {
                now.path == place.path && now.range.start <= range.end && range.start <= now.range.end
            }
            None => true,
        })
    };
    report.findings.iter().filter(|finding| !is_there(finding)).map(|finding| finding.id.clone()).collect()
}

/// Whether a fresh report has decided the obligation of an older finding, or there is no such obligation any more.
fn decides(fresh: &Dated, older: &ShownFinding<'_>) -> bool {
    if fresh.report.is_replayed && older.finding.nature != Nature::Latent {
        return true;
    }
    let Some(place) = &older.finding.place else { return false };
    let range = range_after(place.range, older.edits);
    let Some(obligations) = fresh.report.functions.get(&older.finding.function) else { return false };
    let mut near = obligations.iter().filter(|o| {
        let is_near =
            |p: &Place| p.path == place.path && p.range.start <= range.end && range.start <= p.range.end;
        o.check == older.finding.check && o.place.as_ref().is_none_or(is_near)
    });
    let is_gone = fresh.report.reason.is_none() && near.clone().next().is_none();
    is_gone
        || near.any(|o| {
            o.place.as_ref().is_some_and(|p| p.range == range)
                && matches!(o.verdict, Verdict::Proved(_) | Verdict::Violated(_))
        })
}
