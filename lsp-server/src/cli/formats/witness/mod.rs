//! Violation witnesses of SV-COMP, which other verifiers replay: the inputs of the path, in order, and the place of the violation.
//! Knows which task and which path are meant; the two notations are in files of their own.

mod graphml;
mod yaml;

use std::path::Path;

use anyhow::{Context, Result};
use jiff::Timestamp;
use proofline_ide::check::{Check, Finding, Position, StepKind, TraceStep};
use sha2::{Digest, Sha256};

use crate::cli::input::Input;

/// The witness of a finding; its format follows from the file's name.
///
/// # Errors
///
/// When a file of the program cannot be read again, to be named by its hash.
pub(crate) fn witness(input: &Input, property: &str, finding: &Finding, file: &Path) -> Result<String> {
    let mut hashes = Vec::new();
    for path in &input.files {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        hashes.push((path.display().to_string(), sha256(&bytes)));
    }
    let task = Task {
        files: hashes,
        specification: specification(property, finding.check),
        is_ilp32: input.is_ilp32(),
        // Whole seconds, as `2025-01-31T12:00:00Z`.
        time: format!("{:.0}", Timestamp::now()),
    };
    let is_graph = file.extension().is_some_and(|e| e == "graphml");
    if is_graph { graphml::write(&task, finding) } else { yaml::write(&task, finding) }
}

/// What was verified, and when.
struct Task {
    /// Names and SHA-256 hashes.
    files: Vec<(String, String)>,
    specification: String,
    is_ilp32: bool,
    time: String,
}

/// The hash in hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn specification(property: &str, check: &Check) -> String {
    let formula = match (property, check.code()) {
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
