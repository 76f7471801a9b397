//! A function's summary for hover and commands, as data and as Markdown.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::Arc,
};

use proofline_cfa::Object;
use proofline_verifier::Name;

use crate::{
    finding::{Finding, Nature},
    knowledge::Knowledge,
    program::Program,
    state::{FunctionReport, State, report},
    verify::{EntryReport, Verdict},
};

/// Obligations of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckCount {
    /// The check's code.
    pub check: &'static str,
    /// Hold.
    pub proved: u32,
    /// Fail, or hold only for some callers.
    pub violated: u32,
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
}

impl Summary {
    /// The summary of a function, `None` if it has no body here.
    pub fn of(
        program: &Program,
        reports: &BTreeMap<String, Arc<EntryReport>>,
        knowledge: Option<&Knowledge>,
        function: &str,
    ) -> Option<Summary> {
        program.function(function)?;
        let loaded = program.loaded()?;
        let report = report(program, reports, function);
        let findings: BTreeMap<&str, &Finding> = reports
            .values()
            .flat_map(|r| &r.findings)
            .map(|finding| (finding.id.as_str(), finding))
            .collect();
        let mut checks: Vec<CheckCount> = Vec::new();
        let mut requires = BTreeSet::new();
        let mut conditions = BTreeSet::new();
        for obligation in &report.obligations {
            let at = checks.iter().position(|count| count.check == obligation.check).unwrap_or_else(|| {
                checks.push(CheckCount { check: obligation.check, proved: 0, violated: 0, unknown: 0 });
                checks.len() - 1
            });
            match &obligation.verdict {
                Verdict::Proved(_) => checks[at].proved += 1,
                Verdict::Unknown(_) | Verdict::InternalError(_) => checks[at].unknown += 1,
                Verdict::Violated(_) => checks[at].violated += 1,
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
                (None, Some(when)) => format!("not {when} (line {line}: {})", finding.title),
                (None, None) => {
                    let when = finding.when().unwrap_or_else(|| "for some arguments".to_owned());
                    format!("line {line} fails {when}: {}", finding.title)
                }
            });
        }
        checks.sort_by_key(|count| count.check);
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
            reads: shown(loaded.env().reads(name)),
            writes: shown(loaded.env().writes(name)),
            checks,
            report,
        })
    }

    /// For a hover.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let report = &self.report;
        let total = report.proved + report.violated + report.asked + report.unknown;
        let headline = match report.state {
            State::Queued | State::Running => "being checked".to_owned(),
            State::Stale => "older text".to_owned(),
            State::Proved if total == 0 => "nothing to check".to_owned(),
            State::Proved => format!("proved: all {total} obligations hold"),
            State::Violated => format!("violated: {} of {total} obligations fail", report.violated),
            State::Unknown if report.unknown == 0 => {
                format!("asks something of its callers: {} of {total} obligations", report.asked)
            }
            State::Unknown => format!("not decided: {} of {total} obligations", report.unknown),
            State::InternalError => "internal error".to_owned(),
        };
        let _ = writeln!(out, "**{}** — {headline}\n", self.name);
        let mut list = |title: &str, items: &[String]| {
            if !items.is_empty() {
                let shown: Vec<String> =
                    items.iter().take(8).map(|item| format!("`{}`", item.replace('`', "'"))).collect();
                let more =
                    if items.len() > 8 { format!(" and {} more", items.len() - 8) } else { String::new() };
                let _ = writeln!(out, "- {title}: {}{more}", shown.join(", "));
            }
        };
        list("requires", &self.requires);
        list("fails when", &self.hangs_on);
        list(if self.is_for_all_callers { "ensures" } else { "ensures in this program" }, &self.ensures);
        list("reads", &self.reads);
        list("writes", &self.writes);
        for count in &self.checks {
            let mut parts = Vec::new();
            for (number, word) in
                [(count.proved, "proved"), (count.violated, "failing"), (count.unknown, "not decided")]
            {
                if number > 0 {
                    parts.push(format!("{number} {word}"));
                }
            }
            let _ = writeln!(out, "- {}: {}", count.check, parts.join(", "));
        }
        if let Some(reason) = report.reason.as_ref().filter(|_| report.unknown > 0) {
            let _ = writeln!(out, "- why: {reason}");
        }
        if !report.rests_on.is_empty() {
            let shown: Vec<&str> = report.rests_on.iter().take(6).map(String::as_str).collect();
            let more = if report.rests_on.len() > 6 { ", …" } else { "" };
            let _ = writeln!(out, "- rests on: {}{more}", shown.join("; "));
        }
        if !matches!(report.state, State::Queued | State::Running) {
            let _ = writeln!(out, "\n_{} ms_", report.millis);
        }
        out
    }
}

/// Memory as people name it. The function's own locals are its own matter.
fn object_text(program: &Program, object: Object, of: Name) -> Option<String> {
    match object {
        Object::Global(name) if name.starts_with('"') => None,
        Object::Global(name) => Some(name.to_string()),
        Object::Local(function, _) if function == of => None,
        Object::Local(function, id) => {
            let automaton = program.loaded()?.env().function(function)?;
            Some(format!("{} of {function}", automaton.local(id).name))
        }
        Object::Heap(function, _) => Some(format!("what {function} allocates")),
        Object::External => Some("memory of the caller or of other code".to_owned()),
    }
}
