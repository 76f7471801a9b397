//! A function's summary for hover and commands. Knows no Markdown.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::Object;
use proofline_verifier::{Name, Subject, Unknown};

use crate::{
    finding::{Finding, Nature},
    knowledge::Knowledge,
    program::Program,
    state::{FunctionReport, report},
    verify::{EntryReport, Verdict},
    words,
};

/// Obligations of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckCount {
    /// The check's code.
    pub check: &'static str,
    /// Hold.
    pub proved: u32,
    /// Fail.
    pub violated: u32,
    /// Are up to the callers.
    pub asked: u32,
    /// Not decided.
    pub unknown: u32,
}

/// What a function requires, ensures, reads and writes, and what was proved of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The function.
    pub name: String,
    /// What is known.
    pub report: FunctionReport,
    /// What callers must make true.
    pub requires: Vec<String>,
    /// Those of them that C can say, over the parameters.
    pub conditions: Vec<String>,
    /// When it fails because of what functions return or write that nothing is known of.
    pub hangs_on: Vec<String>,
    /// What holds at the end.
    pub ensures: Vec<String>,
    /// What holds at the end does so for all arguments, and not just for the calls in this program.
    pub is_for_all_callers: bool,
    /// Memory it may read.
    pub reads: Vec<String>,
    /// Memory it may write.
    pub writes: Vec<String>,
    /// By check, in a fixed order.
    pub checks: Vec<CheckCount>,
    /// What proofs rest on.
    pub rests_on: Vec<String>,
}

impl Summary {
    /// The verdict in one sentence, for hovers, panels and lists: the same words everywhere.
    pub fn headline(&self) -> String {
        self.report.headline()
    }

    /// The summary of a function, `None` if it has no body here.
    pub fn of(
        program: &Program,
        reports: &BTreeMap<String, Arc<EntryReport>>,
        knowledge: Option<&Knowledge>,
        function: &str,
    ) -> Option<Summary> {
        program.function(function)?;
        // Nobody waits here until it is found out.
        let environment = program.known_subject().map(Subject::env);
        let report = report(program, reports, function);
        let findings: BTreeMap<&str, &Finding> = reports
            .values()
            .flat_map(|r| &r.findings)
            .map(|finding| (finding.id.as_str(), finding))
            .collect();
        let mut checks: Vec<CheckCount> = Vec::new();
        let mut requires = BTreeSet::new();
        let mut conditions = BTreeSet::new();
        for obligation in &*report.obligations {
            let at = checks.iter().position(|count| count.check == obligation.check).unwrap_or_else(|| {
                checks.push(CheckCount {
                    check: obligation.check,
                    proved: 0,
                    violated: 0,
                    asked: 0,
                    unknown: 0,
                });
                checks.len() - 1
            });
            match &obligation.verdict {
                Verdict::Proved(_) | Verdict::Unknown(Unknown::IfCallersKeep) => checks[at].proved += 1,
                Verdict::Unknown(_) => checks[at].unknown += 1,
                Verdict::Violated(id) => {
                    let finding = findings.get(id.as_str());
                    let is_asked = finding.is_some_and(|finding| finding.nature == Nature::Latent);
                    *(if is_asked { &mut checks[at].asked } else { &mut checks[at].violated }) += 1;
                }
            }
        }
        let mut hangs_on = BTreeSet::new();
        for finding in findings.values().filter(|f| f.entry == function && f.nature == Nature::Latent) {
            let line = finding.place.as_ref().map_or(0, |place| place.range.start.line + 1);
            if let Some(unknown) = &finding.unknown {
                let when = finding.fails_when.clone().unwrap_or_else(|| format!("what {unknown} may do"));
                hangs_on.insert(format!("{when} (line {line}: {})", finding.title));
                continue;
            }
            conditions.extend(finding.condition.clone());
            requires.insert(match (&finding.condition, &finding.fails_when) {
                (Some(condition), _) => condition.clone(),
                (None, Some(when)) => {
                    let needs = finding.needs().unwrap_or_else(|| format!("not {when}"));
                    let needs = if needs.contains('`') { needs } else { format!("`{needs}`") };
                    format!("{needs} (line {line}: {})", finding.title)
                }
                (None, None) => {
                    let when = finding.when().unwrap_or_else(|| "for some arguments".to_owned());
                    format!("line {line} fails {when}: {}", finding.title)
                }
            });
        }
        for kept in
            reports.values().filter_map(|report| report.contracts.get(function)).filter(|kept| kept.is_shown)
        {
            requires.extend(kept.words.iter().cloned());
            // What does not prove everything is no contract to be written down.
            if kept.is_whole() {
                conditions.extend(kept.acsl.iter().cloned());
            }
        }
        checks.sort_by_key(|count| count.check);
        let callers = program.deciding(function).filter(|entry| !entry.is_alone);
        let rests_on: BTreeSet<&String> = callers
            .filter_map(|entry| reports.get(&entry.name))
            .flat_map(|report| &report.rests_on)
            .collect();
        let name = Name::new(function);
        let shown = |objects: &BTreeSet<Object>| {
            let named: BTreeSet<String> =
                objects.iter().filter_map(|object| object_text(program, *object, name)).collect();
            named.into_iter().collect::<Vec<_>>()
        };
        Some(Summary {
            name: function.to_owned(),
            requires: requires.into_iter().collect(),
            conditions: conditions.into_iter().collect(),
            hangs_on: hangs_on.into_iter().collect(),
            ensures: knowledge.and_then(|known| known.ensures(function, "result")).into_iter().collect(),
            is_for_all_callers: knowledge.is_some_and(|known| known.is_for_all_callers(function)),
            reads: environment.map(|environment| shown(environment.reads(name))).unwrap_or_default(),
            writes: environment.map(|environment| shown(environment.writes(name))).unwrap_or_default(),
            checks,
            rests_on: rests_on.into_iter().map(|text| words::condition(text)).collect(),
            report,
        })
    }
}

/// Streams that every program has: that they are read says nothing of a function.
const STREAMS: [&str; 3] = ["stdin", "stdout", "stderr"];

/// Memory as people name it. The function's own locals are its own matter.
fn object_text(program: &Program, object: Object, of: Name) -> Option<String> {
    match object {
        // String literals, and what the models of the library keep for themselves.
        Object::Global(name) if name.starts_with(['"', '#']) || STREAMS.contains(&name.as_str()) => None,
        Object::Global(name) => Some(name.written().to_owned()),
        Object::Local(function, _) if function == of => None,
        Object::Local(function, id) => {
            let automaton = program.prepared()?.functions.get(&function)?;
            Some(format!("{} of {}", automaton.local(id).name, function.written()))
        }
        Object::Heap(function, _) => Some(format!("what {} allocates", function.written())),
        Object::External => Some("memory of the caller or of other code".to_owned()),
    }
}
