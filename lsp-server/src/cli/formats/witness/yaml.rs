//! Witnesses of format 2.0, in YAML: a sequence of waypoints, or a set of invariants. The fields have the format's names.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use proofline_ide::check::{Finding, LoopInvariant, Position};
use serde::Serialize;
use serde_saphyr::ser_options;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Task, inputs};

#[derive(Serialize)]
struct Entry<'t, C> {
    entry_type: &'static str,
    metadata: Metadata<'t>,
    content: Vec<C>,
}

#[derive(Serialize)]
struct Metadata<'t> {
    format_version: &'static str,
    uuid: String,
    creation_time: &'t str,
    producer: Producer,
    task: TaskOf<'t>,
}

#[derive(Serialize)]
struct Producer {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct TaskOf<'t> {
    input_files: Vec<&'t str>,
    input_file_hashes: BTreeMap<&'t str, &'t str>,
    specification: &'t str,
    data_model: &'static str,
    language: &'static str,
}

#[derive(Serialize)]
struct Content<'t> {
    segment: [Segment<'t>; 1],
}

#[derive(Serialize)]
struct Segment<'t> {
    waypoint: Waypoint<'t>,
}

#[derive(Serialize)]
struct Waypoint<'t> {
    #[serde(rename = "type")]
    kind: &'static str,
    action: &'static str,
    location: Location<'t>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constraint: Option<Constraint>,
}

#[derive(Serialize)]
struct Location<'t> {
    file_name: String,
    line: u32,
    column: u32,
    function: &'t str,
}

#[derive(Serialize)]
struct OfSet<'t> {
    invariant: Invariant<'t>,
}

#[derive(Serialize)]
struct Invariant<'t> {
    #[serde(rename = "type")]
    kind: &'static str,
    location: Location<'t>,
    value: &'t str,
    format: &'static str,
}

#[derive(Serialize)]
struct Constraint {
    value: String,
    format: &'static str,
}

/// A proof's witness as a YAML document.
pub(super) fn correctness(task: &Task, invariants: &[LoopInvariant]) -> Result<String> {
    let content = invariants.iter().map(|found| {
        let file_name = found.path.display().to_string();
        let (line, column) = (found.line + 1, found.column + 1);
        let location = Location { file_name, line, column, function: &found.function };
        let value = &found.formula;
        OfSet { invariant: Invariant { kind: "loop_invariant", location, value, format: "c_expression" } }
    });
    let content = content.collect();
    document(Entry { entry_type: "invariant_set", metadata: metadata(task, "proof"), content })
}

/// A violation's witness as a YAML document.
pub(super) fn violation(task: &Task, finding: &Finding) -> Result<String> {
    let mut content: Vec<Content<'_>> = inputs(finding)
        .map(|(step, position, _, value)| {
            let constraint = Constraint { value: format!("\\result == {value}"), format: "ext_c_expression" };
            // A call's value stands at its closing parenthesis.
            let (line, column) = (position.end_line + 1, position.end_column);
            let location = location(position, line, column, &step.function);
            waypoint("function_return", location, Some(constraint))
        })
        .collect();
    if let Some(position) = &finding.position {
        let location = location(position, position.line + 1, position.column + 1, &finding.function);
        content.push(waypoint("target", location, None));
    }
    let entry_type = "violation_sequence";
    document(Entry { entry_type, metadata: metadata(task, &finding.title), content })
}

fn document<C: Serialize>(entry: Entry<'_, C>) -> Result<String> {
    // A name that is long stays on its line.
    let options = ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(&[entry], options).context("cannot write the witness")
}

fn metadata<'t>(task: &'t Task, what: &str) -> Metadata<'t> {
    Metadata {
        format_version: "2.0",
        uuid: uuid(&format!("{}{what}", task.time)),
        creation_time: &task.time,
        producer: Producer { name: "Proofline", version: env!("CARGO_PKG_VERSION") },
        task: TaskOf {
            input_files: task.files.iter().map(|(name, _)| name.as_str()).collect(),
            input_file_hashes: task.files.iter().map(|(name, hash)| (name.as_str(), hash.as_str())).collect(),
            specification: &task.specification,
            data_model: if task.is_ilp32 { "ILP32" } else { "LP64" },
            language: "C",
        },
    }
}

fn location<'t>(position: &Position, line: u32, column: u32, function: &'t str) -> Location<'t> {
    Location { file_name: position.path.display().to_string(), line, column, function }
}

fn waypoint<'t>(kind: &'static str, location: Location<'t>, constraint: Option<Constraint>) -> Content<'t> {
    Content { segment: [Segment { waypoint: Waypoint { kind, action: "follow", location, constraint } }] }
}

/// The name-based identifier of a text (RFC 9562, appendix B.2: version 8 from SHA-256).
fn uuid(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    Uuid::new_v8(bytes).to_string()
}
