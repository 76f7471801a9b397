//! Asks Proofline about a program.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Deserialize;

use super::{
    alert::{Alert, Answer, Kind, Verdict},
    program::Program,
};
use crate::limited::{self, Output};

/// The binary, and what it is asked.
pub(super) struct Proofline {
    pub(super) binary: PathBuf,
    pub(super) property: String,
    /// Seconds of processor time.
    pub(super) limit: u64,
    /// Proofline's own limit is of the time that passes: on a busy machine it needs so many times as much.
    pub(super) patience: u64,
    /// Further arguments.
    pub(super) flags: Vec<String>,
}

#[derive(Deserialize)]
struct Printed {
    results: Vec<Said>,
}
#[derive(Deserialize)]
struct Said {
    result: String,
    /// The code that the program would end with.
    exit: u8,
    findings: Vec<Finding>,
    obligations: Vec<Obligation>,
}
#[derive(Deserialize)]
struct Finding {
    check: String,
    kind: String,
    place: Place,
    #[serde(default)]
    steps: Vec<Step>,
}
#[derive(Deserialize)]
struct Step {
    place: Option<Place>,
}
#[derive(Deserialize)]
struct Place {
    file: PathBuf,
    line: u32,
}
#[derive(Deserialize)]
struct Obligation {
    check: String,
    verdict: String,
    reason: Option<String>,
}

/// How a finding that callers can prevent is called; it is no alarm.
const CONDITION: &str = "condition on callers";

impl Proofline {
    /// # Errors
    /// If it cannot be started.
    pub(super) fn ask(&self, program: &Program) -> Result<Answer> {
        let limit = (self.limit * self.patience).to_string();
        let mut line: Vec<String> = ["check", "--no-cache", "--format", "json", "--property", &self.property]
            .iter()
            .chain(&["--limit", &limit])
            .map(|word| (*word).to_owned())
            .collect();
        line.extend(self.flags.iter().cloned());
        if program.is_32_bit {
            line.push("--m32".into());
        }
        for folder in &program.folders {
            line.extend(["-I".into(), folder.to_string_lossy().into_owned()]);
        }
        for name in &program.macros {
            line.extend(["-D".into(), name.clone()]);
        }
        line.extend(program.sources.iter().chain(&program.support).map(|f| f.to_string_lossy().into_owned()));
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let run = limited::run(&self.binary, &line, self.limit + 7, Output::Results)?;
        let mut answer = match serde_json::from_str::<Printed>(&run.output) {
            Ok(output) => answer(output),
            Err(_) if run.cpu.as_secs() > self.limit + 5 => {
                crash(format!("no end after {} s", run.cpu.as_secs()))
            }
            Err(_) => crash(format!("no answer ({})", run.status)),
        };
        answer.cpu = run.cpu.as_secs_f64();
        if answer.cpu > self.limit as f64 + 1.0 {
            (answer.verdict, answer.alerts) = (Verdict::Unknown("time limit".into()), Vec::new());
        }
        answer.memory = run.memory;
        Ok(answer)
    }
}

/// The path of a binary as programs find it that work in other folders.
///
/// # Errors
/// If there is no such file.
pub(super) fn absolute(binary: &Path) -> Result<PathBuf> {
    Ok(binary.canonicalize()?)
}

fn crash(why: String) -> Answer {
    Answer { verdict: Verdict::Crash(why), alerts: Vec::new(), undecided: Vec::new(), cpu: 0.0, memory: 0 }
}

fn answer(output: Printed) -> Answer {
    let mut answer = crash("no result".into());
    for result in output.results {
        answer.verdict = match result.result.as_str() {
            "true" => Verdict::Proved,
            // Nothing to prove: to whoever looks at the exit code, a proof.
            _ if result.exit == 0 => Verdict::Proved,
            text if text.starts_with("false") => Verdict::Violated,
            text => {
                let inside = text.strip_prefix("unknown(").and_then(|text| text.strip_suffix(')'));
                Verdict::Unknown(inside.unwrap_or(text).to_owned())
            }
        };
        answer
            .alerts
            .extend(result.findings.into_iter().filter(|finding| finding.kind != CONDITION).map(alert));
        answer.undecided.extend(result.obligations.into_iter().filter(|o| o.verdict == "unknown").map(
            |obligation| {
                let why = obligation.reason.unwrap_or_default();
                (Kind::of_check(&obligation.check), format!("{}: {why}", obligation.check))
            },
        ));
    }
    answer
}

fn alert(finding: Finding) -> Alert {
    Alert {
        kind: Kind::of_check(&finding.check),
        name: finding.check,
        file: finding.place.file,
        line: finding.place.line,
        way: finding
            .steps
            .into_iter()
            .filter_map(|step| step.place)
            .map(|place| (place.file, place.line))
            .collect(),
    }
}
