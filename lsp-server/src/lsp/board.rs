//! What is known about a buffer: the program of its last good text and a report per entry, each with the edits made since. A report
//! of an older text is moved and marked until a newer one takes its place; it is never cleared and never shown as current.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_ide::{
    EntryReport, Finding, FunctionReport, Knowledge, Nature, Place, Point, Problem, Program, Range, State,
    Verdict, report,
};

use super::document::{Edit, before, moved};

/// More edits than this without a new result: the old one is worth nothing any more.
const MOST_EDITS: usize = 10_000;

/// A report and the edits since.
#[derive(Clone)]
struct Dated {
    report: Arc<EntryReport>,
    edits: Vec<Edit>,
}

/// What is known from one entry.
#[derive(Clone, Default)]
struct Slot {
    /// Of the current text.
    fresh: Option<Dated>,
    /// More effort would not change it.
    is_final: bool,
    /// Of an older text, kept until the fresh one is final.
    older: Option<Dated>,
}

/// What is known about a buffer.
#[derive(Default)]
pub(super) struct Board {
    program: Option<Arc<Program>>,
    /// Edits since the program's text.
    edits: Vec<Edit>,
    /// The program is that of the current text.
    is_current: bool,
    /// The current text's problems.
    problems: Vec<Problem>,
    slots: BTreeMap<String, Slot>,
    /// What holds where, and whether it is of the current text, with the edits since.
    knowledge: Option<(Arc<Knowledge>, bool, Vec<Edit>)>,
    /// Entries somebody works on.
    pub(super) running: BTreeSet<String>,
}

/// A finding with where it is now.
pub(super) struct Shown<'b> {
    pub(super) finding: &'b Finding,
    pub(super) is_older: bool,
    edits: &'b [Edit],
}

impl Shown<'_> {
    /// Where a place of the finding is in the current texts; only the buffer itself moves.
    pub(super) fn now(&self, place: &Place, buffer: &std::path::Path) -> Range {
        if &*place.path == buffer { moved(place.range, self.edits) } else { place.range }
    }
}

impl Board {
    /// The text changed.
    pub(super) fn edit(&mut self, edit: Edit) {
        self.edits.push(edit);
        self.invalidate();
        if let Some((_, _, edits)) = &mut self.knowledge {
            edits.push(edit);
        }
        for slot in self.slots.values_mut() {
            if let Some(older) = &mut slot.older {
                older.edits.push(edit);
            }
        }
        self.slots.retain(|_, slot| slot.older.as_ref().is_none_or(|older| older.edits.len() < MOST_EDITS));
    }

    /// Something else changed that answers depend on.
    pub(super) fn invalidate(&mut self) {
        self.is_current = false;
        self.running.clear();
        if let Some((_, is_fresh, _)) = &mut self.knowledge {
            *is_fresh = false;
        }
        for slot in self.slots.values_mut() {
            if let Some(fresh) = slot.fresh.take() {
                // A quick answer knows less than a complete one of before.
                if slot.is_final || slot.older.is_none() {
                    slot.older = Some(fresh);
                }
            }
            slot.is_final = false;
        }
    }

    /// The current text was read. Returns whether it should be verified: a text with errors is not while there are results of
    /// a better one.
    pub(super) fn loaded(&mut self, program: Arc<Program>) -> bool {
        self.problems = program.problems().to_vec();
        if program.has_errors() && self.slots.values().any(|slot| slot.older.is_some()) {
            return false;
        }
        self.slots.retain(|name, _| program.entries().iter().any(|entry| entry.name == *name));
        self.program = Some(program);
        self.edits.clear();
        self.is_current = true;
        true
    }

    /// An entry of the current text was verified.
    pub(super) fn verified(&mut self, report: Arc<EntryReport>, is_final: bool) {
        let slot = self.slots.entry(report.entry.clone()).or_default();
        slot.is_final = is_final || report.is_settled;
        slot.fresh = Some(Dated { report, edits: Vec::new() });
        if slot.is_final {
            slot.older = None;
        }
    }

    /// Somebody stopped the work: what is known now is all there will be.
    pub(super) fn stop(&mut self) {
        self.running.clear();
        for slot in self.slots.values_mut() {
            slot.is_final |= slot.fresh.is_some();
        }
    }

    /// It was found out what holds where.
    pub(super) fn known(&mut self, knowledge: Arc<Knowledge>) {
        self.knowledge = Some((knowledge, true, Vec::new()));
    }

    /// What holds where in the current text.
    pub(super) fn knowledge(&self) -> Option<&Knowledge> {
        self.knowledge.as_ref().filter(|(_, is_fresh, _)| *is_fresh).map(|(known, _, _)| &**known)
    }

    /// Code of the buffer that nothing reaches, where it is now; whether that was found in an older text.
    pub(super) fn unreachable(&self, buffer: &std::path::Path) -> Vec<(Place, bool)> {
        let Some((known, is_fresh, edits)) = &self.knowledge else { return Vec::new() };
        let own = known.unreachable().iter().filter(|place| *place.path == *buffer);
        let now =
            |place: &Place| (Place { path: place.path.clone(), range: moved(place.range, edits) }, !is_fresh);
        own.map(now).collect()
    }

    /// Whether this very program is what everything is about.
    pub(super) fn is_of(&self, program: &Arc<Program>) -> bool {
        self.is_current && self.program.as_ref().is_some_and(|known| Arc::ptr_eq(known, program))
    }

    /// The program of the last good text.
    pub(super) fn program(&self) -> Option<&Arc<Program>> {
        self.program.as_ref()
    }
    /// Where a range of that program's text is now.
    pub(super) fn now(&self, range: Range) -> Range {
        moved(range, &self.edits)
    }
    /// Where a point of the current text is in that program's text, if it is there.
    pub(super) fn before(&self, point: Point) -> Option<Point> {
        before(point, &self.edits)
    }
    /// The current text's problems.
    pub(super) fn problems(&self) -> &[Problem] {
        &self.problems
    }
    /// Whether every entry of the current text has its final answer.
    pub(super) fn is_settled(&self) -> bool {
        self.is_current
            && self.program.as_ref().is_some_and(|program| {
                program.entries().iter().all(|e| self.slots.get(&e.name).is_some_and(|slot| slot.is_final))
            })
    }
    /// Whether everything that is shown is of the current text.
    pub(super) fn is_current(&self) -> bool {
        self.is_current && self.slots.values().all(|slot| slot.older.is_none())
    }

    /// Reports by entry, fresh ones first.
    pub(super) fn reports(&self) -> BTreeMap<String, Arc<EntryReport>> {
        let best =
            |slot: &Slot| slot.fresh.as_ref().or(slot.older.as_ref()).map(|dated| dated.report.clone());
        self.slots.iter().filter_map(|(name, slot)| Some((name.clone(), best(slot)?))).collect()
    }

    /// Findings to show. One obligation that fails from several entries is shown once, by its worst.
    pub(super) fn findings(&self) -> Vec<Shown<'_>> {
        let mut out: Vec<Shown<'_>> = Vec::new();
        for slot in self.slots.values() {
            let fresh = slot.fresh.as_ref();
            if let Some(dated) = fresh {
                let shown = |finding| Shown { finding, is_older: false, edits: &dated.edits };
                out.extend(dated.report.findings.iter().map(shown));
            }
            if let Some(dated) = &slot.older {
                for finding in &dated.report.findings {
                    let shown = Shown { finding, is_older: true, edits: &dated.edits };
                    if !fresh.is_some_and(|fresh| decides(fresh, &shown)) {
                        out.push(shown);
                    }
                }
            }
        }
        let rank = |shown: &Shown<'_>| (shown.finding.nature == Nature::Latent, shown.is_older);
        let key = |shown: &Shown<'_>| {
            let place = shown.finding.place.as_ref();
            (place.map(|place| (place.path.clone(), moved(place.range, shown.edits))), shown.finding.check)
        };
        out.sort_by(|a, b| (key(a), rank(a)).cmp(&(key(b), rank(b))));
        out.dedup_by(|b, a| key(a) == key(b));
        out
    }

    /// The finding with this id.
    pub(super) fn finding(&self, id: &str) -> Option<Shown<'_>> {
        let mut all: Vec<Shown<'_>> = Vec::new();
        for slot in self.slots.values() {
            for (dated, is_older) in
                slot.fresh.iter().map(|d| (d, false)).chain(slot.older.iter().map(|d| (d, true)))
            {
                let shown = |finding| Shown { finding, is_older, edits: &dated.edits };
                all.extend(dated.report.findings.iter().filter(|finding| finding.id == id).map(shown));
            }
        }
        all.into_iter().min_by_key(|shown| shown.is_older)
    }

    /// A function's verdicts with its state now.
    pub(super) fn function(&self, name: &str) -> Option<FunctionReport> {
        let program = self.program.as_ref()?;
        let mut out = report(program, &self.reports(), name);
        let mut entries = program.entries().iter().filter(|entry| entry.decides.contains(name)).peekable();
        let is_open = |slot: Option<&Slot>| slot.is_none_or(|slot| !slot.is_final);
        if entries.clone().any(|entry| self.running.contains(&entry.name)) && out.violated == 0 {
            out.state = State::Running;
        } else if entries
            .clone()
            .any(|entry| self.slots.get(&entry.name).is_some_and(|slot| slot.fresh.is_none()))
            || (!self.is_current && !matches!(out.state, State::Queued))
        {
            out.state = State::Stale;
        } else if entries.clone().any(|entry| is_open(self.slots.get(&entry.name)))
            && !matches!(out.state, State::Violated | State::Proved)
        {
            out.state = State::Queued;
        }
        // Nobody decides it: nothing was asked.
        entries.peek().is_some().then_some(out)
    }
}

/// Whether a fresh report has decided the obligation of an older finding.
fn decides(fresh: &Dated, older: &Shown<'_>) -> bool {
    let Some(place) = &older.finding.place else { return false };
    let range = moved(place.range, older.edits);
    let obligations = fresh.report.functions.get(&older.finding.function);
    obligations.into_iter().flatten().any(|o| {
        o.check == older.finding.check
            && o.place.as_ref().is_some_and(|p| p.path == place.path && p.range == range)
            && matches!(o.verdict, Verdict::Proved(_) | Verdict::Violated(_))
    })
}
