//! Violation witnesses of SV-COMP: GraphML 1.0 and YAML 2.0. The inputs of the path, in order, and the place of the violation.

use std::{
    fmt::Write,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use proofline_verifier::{
    Check,
    finding::{Finding, StepKind, TraceStep},
    load::Position,
};

use super::sha256::sha256;
use crate::cli::input::Input;

/// The witness of a finding; its format follows from the file's name.
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
        time: utc(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())),
    };
    let is_graph = file.extension().is_some_and(|e| e == "graphml");
    Ok(if is_graph { graphml(&task, finding) } else { yaml(&task, finding) })
}

struct Task {
    /// Names and hashes.
    files: Vec<(String, String)>,
    specification: String,
    is_ilp32: bool,
    time: String,
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

fn yaml(task: &Task, finding: &Finding) -> String {
    let quote = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let files: Vec<String> = task.files.iter().map(|(name, _)| quote(name)).collect();
    let mut out = String::from("- entry_type: violation_sequence\n  metadata:\n    format_version: '2.0'\n");
    let _ = writeln!(out, "    uuid: {}", quote(&uuid(&format!("{}{}", task.time, finding.title))));
    let _ = writeln!(out, "    creation_time: {}", quote(&task.time));
    let _ = writeln!(
        out,
        "    producer:\n      name: Proofline\n      version: {}",
        quote(env!("CARGO_PKG_VERSION"))
    );
    let _ = writeln!(out, "    task:\n      input_files: [{}]\n      input_file_hashes:", files.join(", "));
    for (name, hash) in &task.files {
        let _ = writeln!(out, "        {}: {}", quote(name), quote(hash));
    }
    let model = if task.is_ilp32 { "ILP32" } else { "LP64" };
    let _ = writeln!(out, "      specification: {}", quote(&task.specification));
    let _ = writeln!(out, "      data_model: {model}\n      language: C\n  content:");
    let waypoint = |kind: &str, position: &Position, line: u32, column: u32, function: &str| {
        format!(
            "  - segment:\n    - waypoint:\n        type: {kind}\n        action: follow\n        location:\n          \
             file_name: {}\n          line: {line}\n          column: {column}\n          function: {function}\n",
            quote(&position.path.display().to_string())
        )
    };
    for (step, position, _, value) in inputs(finding) {
        // A call's value stands at its closing parenthesis.
        let (line, column) = (position.end_line + 1, position.end_column);
        out.push_str(&waypoint("function_return", position, line, column, &step.function));
        let _ = writeln!(
            out,
            "        constraint:\n          value: {}\n          format: ext_c_expression",
            quote(&format!("\\result == {value}"))
        );
    }
    if let Some(position) = &finding.position {
        out.push_str(&waypoint(
            "target",
            position,
            position.line + 1,
            position.column + 1,
            &finding.function,
        ));
    }
    out
}

fn graphml(task: &Task, finding: &Finding) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
    );
    for (key, of, kind) in [
        ("entry", "node", "boolean"),
        ("violation", "node", "boolean"),
        ("assumption", "edge", "string"),
        ("assumption.scope", "edge", "string"),
        ("startline", "edge", "int"),
    ] {
        let _ = writeln!(out, " <key id=\"{key}\" for=\"{of}\" attr.name=\"{key}\" attr.type=\"{kind}\"/>");
    }
    out.push_str(" <graph edgedefault=\"directed\">\n");
    let mut data = |key: &str, value: &str| {
        let _ = writeln!(out, "  <data key=\"{key}\">{}</data>", escaped(value));
    };
    data("witness-type", "violation_witness");
    data("sourcecodelang", "C");
    data("producer", concat!("Proofline ", env!("CARGO_PKG_VERSION")));
    data("specification", &task.specification);
    for (name, hash) in &task.files {
        data("programfile", name);
        data("programhash", hash);
    }
    data("architecture", if task.is_ilp32 { "32bit" } else { "64bit" });
    data("creationtime", &task.time);
    let _ = writeln!(out, "  <node id=\"N0\"><data key=\"entry\">true</data></node>");
    let mut last = 0;
    for (i, (step, position, name, value)) in inputs(finding).enumerate() {
        last = i + 1;
        let _ = writeln!(out, "  <node id=\"N{last}\"/>");
        let _ = writeln!(
            out,
            "  <edge source=\"N{i}\" target=\"N{last}\"><data key=\"startline\">{}</data><data key=\"assumption\">{}</data>\
             <data key=\"assumption.scope\">{}</data></edge>",
            position.line + 1,
            escaped(&format!("{name} == ({value});")),
            escaped(&step.function)
        );
    }
    let line = finding.position.as_ref().map_or(0, |position| position.line + 1);
    let _ = writeln!(out, "  <node id=\"V\"><data key=\"violation\">true</data></node>");
    let _ =
        writeln!(out, "  <edge source=\"N{last}\" target=\"V\"><data key=\"startline\">{line}</data></edge>");
    out.push_str(" </graph>\n</graphml>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An identifier in the form of a UUID (version 4), from a text.
fn uuid(text: &str) -> String {
    let hash = sha256(text.as_bytes());
    format!("{}-{}-4{}-8{}-{}", &hash[..8], &hash[8..12], &hash[13..16], &hash[17..20], &hash[20..32])
}

/// Seconds since 1970 as `2025-01-31T12:00:00Z`.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Civil from days, with years that begin in March.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}
