//! Results for other programs: JSON, SARIF, witnesses. Says the same as the text, in other words.

mod sarif;
mod witness;

use std::collections::BTreeMap;

use proofline_ide::check::{
    Blame, Finding, Name, ObjectChange, Position, Program, Report, Sources, StepKind, TraceStep, Unknown,
    Verdict,
};
use proofline_ide::words::why;
use serde_json::{Value, json};

pub(super) use sarif::sarif;
pub(super) use witness::{correctness_witness, violation_witness};

use super::check::{Answer, Checked};

/// How results are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON object: problems of the text, and per property the result, verdicts per function, findings with their steps.
    Json,
    /// SARIF 2.1.0, for code scanning services and editors.
    Sarif,
}

/// Everything about one program as one JSON object.
pub(super) fn json(checked: &Checked) -> Value {
    let mut all = program(checked);
    all["version"] = json!(env!("CARGO_PKG_VERSION"));
    all
}

/// Everything about a project: its programs, each as if it were alone.
pub(super) fn json_of_project(checked: &[Checked]) -> Value {
    let programs: Vec<Value> = checked
        .iter()
        .map(|checked| {
            let mut one = program(checked);
            one["name"] = json!(checked.name);
            one
        })
        .collect();
    json!({ "version": env!("CARGO_PKG_VERSION"), "programs": programs })
}

fn program(checked: &Checked) -> Value {
    let Checked { sources, answers, automata, .. } = checked;
    let problems: Vec<Value> = sources
        .problems()
        .iter()
        .map(|problem| {
            json!({
                "severity": if problem.is_error { "error" } else { "warning" },
                "message": problem.message,
                "help": problem.help,
                "place": problem.position.as_ref().map(place),
            })
        })
        .collect();
    let results: Vec<Value> =
        answers.iter().map(|answer| result(automata.as_deref(), sources, answer)).collect();
    json!({ "problems": problems, "results": results })
}

fn result(program: Option<&Program>, sources: &Sources, answer: &Answer) -> Value {
    let report = &answer.report;
    let (text, exit) = (answer.result().0, answer.code());
    let mut obligations = Vec::new();
    for ((function, id), verdict) in &report.verdicts {
        let Some(automaton) = program.and_then(|program| program.function(*function)) else { continue };
        let Some(obligation) = automaton.obligations.get(id.index()) else { continue };
        let (word, detail) = match verdict {
            Verdict::Proved(engine) => ("proved", (*engine).to_owned()),
            Verdict::Violated(index) => ("violated", index.to_string()),
            Verdict::Unknown(unknown @ Unknown::IfCallersKeep) => {
                ("proved if callers keep the contract", unknown.to_string())
            }
            Verdict::Unknown(unknown) => ("unknown", unknown.to_string()),
        };
        let key = match verdict {
            Verdict::Proved(_) => "by",
            Verdict::Violated(_) => "finding",
            Verdict::Unknown(_) => "reason",
        };
        obligations.push(json!({
            "function": function.as_str(),
            "number": id.index(),
            "check": obligation.check.code(),
            "condition": obligation.text.as_str(),
            "place": sources.position(*function, obligation.site).as_ref().map(place),
            "verdict": word,
            key: detail,
            // The same for people.
            "why": match verdict {
                Verdict::Unknown(unknown) => Some(why(unknown).reason),
                Verdict::Proved(_) | Verdict::Violated(_) => None,
            },
        }));
    }
    let findings: Vec<Value> = report
        .findings
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let is_failure = report.is_failure(one);
            let mut shown = finding(one, is_failure);
            shown["is_news"] = json!(is_failure.then(|| !answer.old.contains(&at)));
            shown["suppressed"] = json!(answer.suppressed.get(&at));
            shown
        })
        .collect();
    json!({
        "property": answer.property,
        "result": text,
        "exit": exit,
        "decided_by": report.last_engine,
        "unwound": answer.depth(),
        "checks": answer.checks(),
        "rests_on": report.rests_on,
        "proved_if_nothing_fails_before": report.resting.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        "contracts": contracts(report),
        "contract_problems": by_function(&report.contract_problems),
        "calls_not_kept": by_function(&report.calls_not_kept),
        "failures_that_are_no_news": answer.old.len(),
        "failures_that_comments_take_back": answer.suppressed.len(),
        "obligations": obligations,
        "findings": findings,
    })
}

/// What functions ask of their callers, under which they are proved.
fn contracts(report: &Report) -> serde_json::Map<String, Value> {
    let asks = report.kept.iter().filter(|(_, kept)| !kept.contract.is_empty());
    let all = asks.map(|(function, kept)| {
        let value = json!({ "callers_pass": kept.words, "requires": kept.acsl, "all_callers_are_seen": !kept.is_shown, "proves_everything": kept.is_whole() });
        (function.to_string(), value)
    });
    all.collect()
}

/// Texts by function.
fn by_function(texts: &BTreeMap<impl std::fmt::Display, Vec<String>>) -> serde_json::Map<String, Value> {
    texts.iter().map(|(function, all)| (function.to_string(), json!(all))).collect()
}

fn finding(finding: &Finding, is_failure: bool) -> Value {
    let values: serde_json::Map<String, Value> =
        finding.values.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let condition = match &finding.blame {
        Blame::Manifest => None,
        Blame::Latent(condition) => Some(condition),
    };
    json!({
        "check": finding.check.code(),
        "function": finding.function.as_str(),
        "title": finding.title,
        "help": finding.help,
        "kind": if is_failure { "failure" } else { "condition on callers" },
        "place": finding.position.as_ref().map(place),
        "values": values,
        "requires": condition.and_then(|asked| asked.requires.as_ref()),
        "fails_when": condition.and_then(|asked| asked.fails_when.as_ref()),
        "hangs_on": condition.and_then(|asked| asked.unknown).map(Name::as_str),
        "entry": finding.counterexample.entry.name.as_str(),
        "inputs": finding.counterexample.inputs.iter().map(i128::to_string).collect::<Vec<_>>(),
        "steps": finding.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

fn step(step: &TraceStep) -> Value {
    let kind = match step.kind {
        StepKind::Input => "input",
        StepKind::Assign => "assign",
        StepKind::Branch => "branch",
        StepKind::Call => "call",
        StepKind::Return => "return",
        StepKind::Failure => "failure",
    };
    json!({
        "kind": kind,
        "text": step.text,
        "function": step.function.as_str(),
        "depth": step.depth,
        "place": step.position.as_ref().map(place),
        "change": step.change.as_ref().map(|(name, value)| json!({ "name": name, "value": value })),
        "is_global": step.is_global,
        "arguments": step.arguments.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect::<Vec<_>>(),
        "object": step.object.as_ref().map(|object| match object {
            ObjectChange::Made { name, size } => json!({ "made": name, "size": size }),
            ObjectChange::Freed(pointer) => json!({ "freed": pointer }),
        }),
        "left_out": step.left_out,
    })
}

/// Lines and columns from 1, columns in bytes, the end behind the last one.
pub(super) fn place(position: &Position) -> Value {
    json!({
        "file": position.path.display().to_string(),
        "line": position.line + 1,
        "column": position.column + 1,
        "end_line": position.end_line + 1,
        "end_column": position.end_column + 1,
    })
}
