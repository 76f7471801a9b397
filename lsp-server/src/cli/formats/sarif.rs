//! SARIF 2.1.0: a result per violation with its path as a code flow, the program's problems as notifications.

use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use proofline_ide::check::{Check, Finding, Position, Sources};
use serde_json::{Value, json};

use crate::cli::check::{Answer, Checked};

/// The whole log: a run per program. What several programs share is in the first of them.
pub(crate) fn sarif(programs: &[Checked]) -> Value {
    let mut seen = BTreeSet::new();
    let mut runs: Vec<Value> = programs.iter().map(run).collect();
    for run in &mut runs {
        if let Some(results) = run["results"].as_array_mut() {
            results.retain(|result| seen.insert(format!("{} {}", result["ruleId"], result["locations"])));
        }
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": runs,
    })
}

fn run(checked: &Checked) -> Value {
    let Checked { name, sources, answers, .. } = checked;
    let rules: Vec<Value> = Check::known().map(rule).collect();
    let results: Vec<Value> = answers
        .iter()
        .flat_map(|answer| {
            let report = &answer.report;
            report.findings.iter().enumerate().map(|(at, finding)| {
                let is_failure = report.is_failure(finding);
                let mut shown = result(sources, finding, is_failure);
                if answer.is_compared && is_failure {
                    shown["baselineState"] =
                        json!(if answer.old.contains(&at) { "unchanged" } else { "new" });
                }
                if let Some(reason) = answer.suppressed.get(&at) {
                    shown["suppressions"] = json!([{ "kind": "inSource", "justification": reason }]);
                }
                shown
            })
        })
        .collect();
    let notifications: Vec<Value> = sources
        .problems()
        .iter()
        .map(|problem| {
            json!({
                "level": if problem.is_error { "error" } else { "warning" },
                "message": { "text": problem.message },
                "locations": problem.position.iter().map(|position| location(sources, position)).collect::<Vec<_>>(),
            })
        })
        .collect();
    // What is neither proved nor violated must not look like success.
    let outcomes: Vec<Value> = answers
        .iter()
        .map(|answer| json!({ "message": { "text": format!("{}: {}", answer.property, answer.result().0) } }))
        .collect();
    let rests_on: Vec<Value> = answers
        .iter()
        .flat_map(|answer| &answer.report.rests_on)
        .map(|text| json!({ "level": "note", "message": { "text": format!("proofs rest on: {text}") } }))
        .collect();
    let checks: BTreeSet<&str> = answers.iter().flat_map(Answer::checks).collect();
    let mut run = json!({
            "tool": { "driver": {
                "name": "Proofline",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
                "supportedTaxonomies": [{ "name": CWE }],
            } },
            "taxonomies": [taxonomy()],
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications.into_iter().chain(outcomes).chain(rests_on).collect::<Vec<_>>(),
                "properties": { "checks": checks },
            }],
            "results": results,
    });
    if !name.is_empty() {
        run["automationDetails"] = json!({ "id": format!("proofline/{name}") });
    }
    run
}

/// A check. Whoever reads no taxonomies finds the weaknesses among the tags, in the words of GitHub.
fn rule(check: &Check) -> Value {
    let weaknesses = check.cwe().iter();
    let tags: Vec<String> =
        weaknesses.clone().map(|number| format!("external/cwe/cwe-{number:03}")).collect();
    let relationships: Vec<Value> = weaknesses
        .map(|number| {
            let target = json!({ "id": number.to_string(), "toolComponent": { "name": CWE } });
            json!({ "target": target, "kinds": ["relevant"] })
        })
        .collect();
    json!({
        "id": check.code(),
        "help": { "text": check.help(), "markdown": check.page() },
        "properties": { "tags": tags },
        "relationships": relationships,
    })
}

/// The name of the Common Weakness Enumeration.
const CWE: &str = "CWE";

/// The weaknesses that checks find.
fn taxonomy() -> Value {
    let all: BTreeSet<u16> = Check::known().flat_map(Check::cwe).copied().collect();
    let taxa: Vec<Value> = all
        .into_iter()
        .map(|number| {
            let page = format!("https://cwe.mitre.org/data/definitions/{number}.html");
            json!({ "id": number.to_string(), "helpUri": page })
        })
        .collect();
    json!({ "name": CWE, "organization": "MITRE", "taxa": taxa })
}

fn result(sources: &Sources, finding: &Finding, is_failure: bool) -> Value {
    let steps: Vec<Value> = finding
        .steps
        .iter()
        .filter_map(|step| {
            let mut location = location(sources, step.position.as_ref()?);
            location["message"] = json!({ "text": step.text });
            Some(json!({ "location": location, "nestingLevel": step.depth }))
        })
        .collect();
    json!({
        "ruleId": finding.check.code(),
        "level": if is_failure { "error" } else { "warning" },
        "message": { "text": format!("{}\nhelp: {}", finding.title, finding.help) },
        "locations": finding.position.iter().map(|position| location(sources, position)).collect::<Vec<_>>(),
        "codeFlows": [{ "threadFlows": [{ "locations": steps }] }],
    })
}

fn location(sources: &Sources, position: &Position) -> Value {
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&position.path.display().to_string()) },
            "region": {
                "startLine": position.line + 1,
                "startColumn": characters(sources.line(position), position.column) + 1,
                "endLine": position.end_line + 1,
                "endColumn": characters(sources.last_line(position), position.end_column) + 1,
            },
        },
    })
}

/// How many characters the first `bytes` bytes of a line are.
fn characters(line: Option<&str>, bytes: u32) -> usize {
    let before = line.and_then(|line| line.get(..bytes as usize));
    before.map_or(bytes as usize, |before| before.chars().count())
}

/// What a URI's path may hold as it is [RFC 3986, section 2.3], and the `/` between its segments.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", utf8_percent_encode(path, PATH))
}
