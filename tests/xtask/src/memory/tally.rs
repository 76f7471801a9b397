//! Answers, counted by tool and family.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::{
    alert::{Alert, Answer, Kind, Verdict},
    program::Program,
};

/// What a tool said about one program.
pub(super) struct Row {
    tool: &'static str,
    family: String,
    name: String,
    is_wrong: bool,
    verdict: Verdict,
    /// Errors that it has.
    errors: usize,
    /// Errors that were found where they are.
    found: usize,
    /// Errors of the right kind are reported, but elsewhere.
    elsewhere: bool,
    /// Alerts of the family's kinds.
    meant: usize,
    /// It is right but for the memory that its authors know it loses.
    is_leak: bool,
    alerts: Vec<Alert>,
    reasons: BTreeSet<String>,
    cpu: f64,
    memory: u64,
}

impl Row {
    /// `kinds` are the program's, or more if the tool draws other lines.
    pub(super) fn new(tool: &'static str, program: &Program, kinds: &[Kind], answer: Answer) -> Row {
        let meant: Vec<&Alert> = answer.alerts.iter().filter(|alert| kinds.contains(&alert.kind)).collect();
        let hit = program
            .errors
            .iter()
            .filter(|error| meant.iter().any(|alert| program.hits(error, alert)))
            .count();
        let (errors, found) = if program.has_one_error {
            (program.errors.len().min(1), hit.min(1))
        } else {
            (program.errors.len(), hit)
        };
        let mut reasons: BTreeSet<String> = BTreeSet::new();
        let undecided =
            answer.undecided.iter().filter(|(kind, _)| kinds.contains(kind) || !program.is_wrong());
        reasons.extend(undecided.map(|(_, why)| why.clone()));
        match &answer.verdict {
            Verdict::Unknown(why) | Verdict::Crash(why) if reasons.is_empty() => {
                reasons.insert(why.clone());
            }
            _ => {}
        }
        Row {
            tool,
            family: program.family.clone(),
            name: program.name.clone(),
            is_wrong: program.is_wrong(),
            errors,
            found,
            elsewhere: found == 0 && !meant.is_empty(),
            meant: meant.len(),
            is_leak: program.is_leaky
                && !program.is_wrong()
                && answer.alerts.iter().all(|alert| alert.kind == Kind::Leak),
            reasons,
            verdict: answer.verdict,
            alerts: answer.alerts,
            cpu: answer.cpu,
            memory: answer.memory,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.verdict {
            Verdict::Proved => "proved",
            Verdict::Violated => "violated",
            Verdict::Unknown(_) => "unknown",
            Verdict::Crash(_) => "crash",
        }
    }

    /// The worst: a program with an error is said to have none.
    fn is_wrong_proof(&self) -> bool {
        self.is_wrong && self.verdict == Verdict::Proved
    }

    fn is_alarm(&self) -> bool {
        !self.is_wrong && self.verdict == Verdict::Violated && !self.is_leak
    }

    fn is_known_leak(&self) -> bool {
        self.verdict == Verdict::Violated && self.is_leak
    }

    fn side(&self) -> &'static str {
        if self.is_wrong { "bad" } else { "good" }
    }

    fn shown(alerts: &[Alert]) -> String {
        let shown = alerts.iter().map(|alert| {
            let file = alert.file.file_name().unwrap_or_default().to_string_lossy();
            format!("{} at {file}:{}", alert.name, alert.line)
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// For a terminal.
    pub(super) fn line(&self) -> String {
        let mark = if self.is_wrong_proof() {
            "WRONG"
        } else if self.is_alarm() {
            "alarm"
        } else if self.is_known_leak() {
            "leak"
        } else if self.is_wrong && self.found == self.errors
            || !self.is_wrong && self.verdict == Verdict::Proved
        {
            "ok"
        } else {
            "-"
        };
        format!(
            "{mark:5} {:6.2} s {:5} MiB  {:8} {:4} {} ({}/{}) {}",
            self.cpu,
            self.memory,
            self.verdict(),
            self.side(),
            self.name,
            self.found,
            self.errors,
            self.tool,
        )
    }

    fn csv(&self) -> String {
        let clean = |text: String| text.replace([';', '\n'], ",");
        let reasons: Vec<&str> = self.reasons.iter().map(String::as_str).collect();
        format!(
            "{};{};{};{};{};{};{};{};{:.3};{};{};{}",
            self.tool,
            self.family,
            self.name,
            self.side(),
            self.verdict(),
            self.found,
            self.errors,
            self.meant,
            self.cpu,
            self.memory,
            clean(Row::shown(&self.alerts)),
            clean(reasons.join(" | ")),
        )
    }
}

/// All rows.
pub(super) struct Tally {
    pub(super) rows: Vec<Row>,
}

const HEAD: &str =
    "tool;family;program;side;verdict;found;errors;alerts of the kind;cpu;memory;alerts;reasons";

/// As many reasons and programs are listed, not all.
const LISTED: usize = 30;

impl Tally {
    pub(super) fn wrong_proofs(&self) -> usize {
        self.rows.iter().filter(|row| row.is_wrong_proof() && row.tool == super::PROOFLINE).count()
    }

    pub(super) fn csv(&self) -> String {
        let mut lines: Vec<String> = self.rows.iter().map(Row::csv).collect();
        lines.sort();
        format!("{HEAD}\n{}\n", lines.join("\n"))
    }

    /// A table for each tool, and lists for Proofline.
    pub(super) fn markdown(&self) -> String {
        let tools: BTreeSet<&str> = self.rows.iter().map(|row| row.tool).collect();
        let mut out = String::new();
        for tool in &tools {
            let _ = writeln!(out, "\n{tool}\n\n{}", self.table(tool));
        }
        let ours = |row: &&Row| row.tool == super::PROOFLINE;
        list(&mut out, "Wrong proofs", self.rows.iter().filter(ours).filter(|row| row.is_wrong_proof()));
        list(&mut out, "Alarms on good programs", self.rows.iter().filter(ours).filter(|row| row.is_alarm()));
        let leaks = self.rows.iter().filter(ours).filter(|row| row.is_known_leak());
        list(&mut out, "Leaks of good programs that their authors mention", leaks);
        let crashes = self.rows.iter().filter(ours).filter(|row| matches!(row.verdict, Verdict::Crash(_)));
        list(&mut out, "Crashes", crashes);
        let missed = self.rows.iter().filter(ours).filter(|row| row.is_wrong && row.found < row.errors);
        reasons(&mut out, "why an error is not found", missed);
        let unproved =
            self.rows.iter().filter(ours).filter(|row| !row.is_wrong && row.verdict() == "unknown");
        reasons(&mut out, "why a good program is unknown", unproved);
        out
    }

    fn table(&self, tool: &str) -> String {
        let mut out = "| family | errors | found | right kind elsewhere | other alarms | proved | unknown | crash | good \
                       | alarms | of the kind | known leaks | proved | unknown | crash | median s | longest s |\n\
                       |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
        let mut families: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.tool == tool) {
            families.entry(&row.family).or_default().push(row);
            families.entry("~ all").or_default().push(row);
        }
        for (family, rows) in families {
            let (bad, good): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.is_wrong);
            let of =
                |rows: &[&Row], verdict: &str| rows.iter().filter(|row| row.verdict() == verdict).count();
            let mut cpu: Vec<f64> = rows.iter().map(|row| row.cpu).collect();
            cpu.sort_by(f64::total_cmp);
            let others = bad.iter().filter(|r| r.verdict() == "violated" && r.found == 0 && !r.elsewhere);
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} | {:.1} |",
                family.trim_start_matches("~ "),
                bad.iter().map(|row| row.errors).sum::<usize>(),
                bad.iter().map(|row| row.found).sum::<usize>(),
                bad.iter().filter(|row| row.elsewhere).count(),
                others.count(),
                of(&bad, "proved"),
                of(&bad, "unknown"),
                of(&bad, "crash"),
                good.len(),
                good.iter().filter(|row| row.is_alarm()).count(),
                good.iter().filter(|row| row.meant > 0).count(),
                good.iter().filter(|row| row.is_known_leak()).count(),
                of(&good, "proved"),
                of(&good, "unknown"),
                of(&good, "crash"),
                cpu.get(cpu.len() / 2).copied().unwrap_or(0.0),
                cpu.last().copied().unwrap_or(0.0),
            );
        }
        out
    }
}

fn list<'a>(out: &mut String, title: &str, rows: impl Iterator<Item = &'a Row>) {
    let mut lines: Vec<String> =
        rows.map(|row| format!("- {} {}: {}", row.name, row.side(), Row::shown(&row.alerts))).collect();
    lines.sort();
    let _ = writeln!(out, "\n{title}: {}\n", lines.len());
    for line in lines.iter().take(LISTED) {
        let _ = writeln!(out, "{line}");
    }
}

fn reasons<'a>(out: &mut String, title: &str, rows: impl Iterator<Item = &'a Row>) {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows {
        for reason in &row.reasons {
            reasons.entry(reason).or_default().push(&row.name);
        }
    }
    let mut reasons: Vec<(&str, Vec<&str>)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let _ = writeln!(out, "\n| {title} | programs | such as |\n|---|---|---|");
    for (reason, names) in reasons.iter().take(LISTED) {
        let _ = writeln!(out, "| {} | {} | {} |", reason.replace('|', "\\|"), names.len(), names[0]);
    }
}
