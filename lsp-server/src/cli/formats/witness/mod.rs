//! Witnesses of SV-COMP, which other verifiers check: of a violation the inputs of the path, in order, and its place; of a proof what holds at
//! loops. Knows which task and which path are meant; the two notations are in files of their own.

mod graphml;
mod yaml;

use std::path::Path;

use anyhow::{Context, Result};
use jiff::Timestamp;
use proofline_ide::check::{Finding, LoopInvariant, Position, StepKind, TraceStep};
use proofline_ide::shown;
use sha2::{Digest, Sha256};

use crate::cli::input::Input;

/// The witness of a finding; its format follows from the file's name.
///
/// # Errors
///
/// When a file of the program cannot be read again, to be named by its hash.
pub(crate) fn violation_witness(
    input: &Input,
    property: &str,
    finding: &Finding,
    file: &Path,
) -> Result<String> {
    let task = Task::of(input, specification(property, finding.check.code()))?;
    let is_graph = file.extension().is_some_and(|e| e == "graphml");
    if is_graph { graphml::write(&task, finding) } else { yaml::violation(&task, finding) }
}

/// The witness of a proof.
///
/// # Errors
///
/// When a file of the program cannot be read again, to be named by its hash.
pub(crate) fn correctness_witness(
    input: &Input,
    property: &str,
    invariants: &[LoopInvariant],
) -> Result<String> {
    yaml::correctness(&Task::of(input, specification(property, property))?, invariants)
}

/// What was verified, and when.
struct Task {
    /// Names and SHA-256 hashes.
    files: Vec<(String, String)>,
    specification: String,
    is_ilp32: bool,
    time: String,
}

impl Task {
    fn of(input: &Input, specification: String) -> Result<Task> {
        let mut files = Vec::new();
        for path in &input.files {
            let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", shown(path)))?;
            files.push((path.display().to_string(), sha256(&bytes)));
        }
        // Whole seconds, as `2025-01-31T12:00:00Z`.
        let time = format!("{:.0}", Timestamp::now());
        Ok(Task { files, specification, is_ilp32: input.is_ilp32(), time })
    }
}

/// The hash in hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn specification(property: &str, check: &str) -> String {
    let formula = match (property, check) {
        ("no-overflow", _) | (_, "signed-overflow") => "G ! overflow".to_owned(),
        ("unreach-call", _) | (_, "reach-error") => "G ! call(reach_error())".to_owned(),
        (_, check) => format!("G ! {check}"),
    };
    format!("CHECK( init(main()), LTL({formula}) )")
}

/// Inputs with where they are read and what they are.
fn inputs(finding: &Finding) -> impl Iterator<Item = (&TraceStep, &Position, &str, &str)> {
    finding.steps.iter().filter(|step| step.kind == StepKind::Input).filter_map(|step| {
        let (name, value) = step.change.as_ref()?;
        Some((step, step.position.as_ref()?, name.as_str(), value.as_str()))
    })
}
