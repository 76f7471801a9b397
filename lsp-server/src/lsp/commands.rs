//! `workspace/executeCommand`: the trace and the summary as data and as text, for editors with and without an extension.

use proofline_ide::{Finding, Place, Proof, ShownFinding, Summary};
use serde_json::{Value, json};

use super::{diagnostics::Places, document::Document, markdown};
use crate::picture::Pictures;

pub(super) const TRACE: &str = "proofline.trace";
pub(super) const SUMMARY: &str = "proofline.summary";
pub(super) const PROOF: &str = "proofline.proof";
pub(super) const VERIFY: &str = "proofline.verify";
pub(super) const FUNCTIONS: &str = "proofline.functions";

pub(super) const TEST: &str = "proofline.test";

/// How many verdicts came from where.
pub(super) const STATISTICS: &str = "proofline.statistics";

/// Stops the work for a file.
pub(super) const CANCEL: &str = "proofline.cancel";

/// Every command.
pub(super) const ALL: &[&str] = &[TRACE, SUMMARY, PROOF, VERIFY, TEST, FUNCTIONS, STATISTICS, CANCEL];

/// A counterexample with positions in the texts as they are now.
pub(super) fn trace(shown: &ShownFinding<'_>, document: &Document, places: &Places<'_>) -> Value {
    let finding: &Finding = shown.finding;
    let pair = |(name, value): &(String, String)| json!({ "name": name, "value": value });
    let place = |place: &Option<Place>| match place {
        Some(place) => {
            let range = places.range(&place.path, shown.now(place));
            (json!(places.uri(&place.path)), json!(range))
        }
        None => (Value::Null, Value::Null),
    };
    let mut pictures = Pictures::default();
    let steps: Vec<Value> = finding
        .steps
        .iter()
        .map(|step| {
            let (uri, range) = place(&step.place);
            json!({
                "number": step.number,
                "depth": step.depth,
                "kind": step.kind.name(),
                "text": step.text,
                "function": step.function,
                "uri": uri,
                "range": range,
                "values": step.values.iter().map(pair).collect::<Vec<_>>(),
                "picture": pictures.add(step.scene.as_ref()),
            })
        })
        .collect();
    let (uri, range) = place(&finding.place);
    json!({
        "finding": finding.id,
        "check": finding.check,
        "title": finding.title,
        "message": finding.message(),
        "help": finding.help,
        "uri": uri,
        "version": document.version,
        "isOlder": shown.is_older,
        "range": range,
        "entry": finding.entry,
        "inputs": finding.inputs.iter().map(pair).collect::<Vec<_>>(),
        "steps": steps,
        "pictures": pictures.all(),
        "text": finding.text(),
    })
}

/// A function's summary.
pub(super) fn summary(summary: &Summary, document: &Document, places: &Places<'_>) -> Value {
    let results = &document.results;
    let function = results.program().and_then(|program| program.function(&summary.name));
    let range = function.map(|f| places.range(&f.selection.path, results.now(f.selection.range)));
    let checks: Vec<Value> = summary
        .checks
        .iter()
        .map(
            |c| json!({ "check": c.check, "proved": c.proved, "violated": c.violated, "asked": c.asked, "unknown": c.unknown }),
        )
        .collect();
    json!({
        "name": summary.name,
        "uri": document.uri,
        "range": range,
        "state": summary.report.state.name(),
        "requires": summary.requires,
        "ensures": summary.ensures,
        "reads": summary.reads,
        "writes": summary.writes,
        "checks": checks,
        "timeMs": summary.report.millis,
        "restsOn": summary.rests_on,
        "headline": summary.headline(),
        "markdown": markdown::summary(summary),
    })
}

/// Why a function is proved, or how far.
pub(super) fn proof(proof: &Proof, document: &Document, places: &Places<'_>) -> Value {
    let place = |place: Option<&Place>| match place {
        Some(place) => (json!(places.uri(&place.path)), json!(places.range(&place.path, place.range))),
        None => (Value::Null, Value::Null),
    };
    let lines: Vec<Value> = proof
        .lines
        .iter()
        .map(|line| {
            let (uri, range) = place(line.place.as_ref());
            json!({
                "kind": line.kind.name(),
                "word": line.kind.word(),
                "text": line.text,
                "because": line.because,
                "known": line.known,
                "finding": line.finding,
                "uri": uri,
                "range": range,
            })
        })
        .collect();
    let (uri, range) = place(Some(&proof.place));
    let name = |path: &std::path::Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    json!({
        "name": proof.name,
        "uri": uri,
        "range": range,
        "version": document.version,
        "state": proof.state.name(),
        "headline": proof.headline,
        "lines": lines,
        "text": proof.text(name),
    })
}
