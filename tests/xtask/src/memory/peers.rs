//! Asks other tools about a program: gcc's analyzer, cppcheck, Frama-C's Eva.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Deserialize;

use super::{
    alert::{Alert, Answer, Kind, Verdict},
    program::Program,
};
use crate::limited::{self, Finished, Output};

/// A tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Peer {
    /// `gcc -O2 -Wall -Wextra -fanalyzer`
    Gcc,
    /// `cppcheck --enable=warning`
    Cppcheck,
    /// `frama-c -eva -eva-precision 2`
    Eva,
}

/// A folder in which the system's headers lack nothing for programs of 32 bits.
pub(super) struct Headers(PathBuf);

impl Headers {
    /// # Errors
    /// If the folder cannot be written.
    pub(super) fn new(folder: &Path) -> Result<Headers> {
        fs::create_dir_all(folder.join("gnu"))?;
        fs::write(folder.join("gnu/stubs-32.h"), "")?;
        Ok(Headers(folder.to_path_buf()))
    }
}

impl Peer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Peer::Gcc => "gcc -fanalyzer",
            Peer::Cppcheck => "cppcheck",
            Peer::Eva => "Frama-C Eva",
        }
    }

    fn binary(self) -> &'static str {
        match self {
            Peer::Gcc => "gcc",
            Peer::Cppcheck => "cppcheck",
            Peer::Eva => "frama-c",
        }
    }

    /// The kinds that count where these are meant: Eva has one alarm for what is null, outside or freed.
    pub(super) fn accepts(self, kinds: &[Kind]) -> Vec<Kind> {
        let mut kinds = kinds.to_vec();
        if kinds.iter().any(|kind| matches!(kind, Kind::Null | Kind::Library | Kind::Lifetime)) {
            kinds.push(Kind::Bounds);
        }
        if kinds.contains(&Kind::Free) {
            kinds.extend([Kind::Lifetime, Kind::Bounds]);
        }
        kinds
    }

    /// # Errors
    /// If it is not installed.
    pub(super) fn look(self) -> Result<()> {
        let binary = self.binary();
        Command::new(binary).arg("--version").output().with_context(|| format!("cannot run {binary}"))?;
        Ok(())
    }

    /// # Errors
    /// If it cannot be started.
    pub(super) fn ask(self, program: &Program, limit: u64, headers: &Headers) -> Result<Answer> {
        let mut files: Vec<String> =
            program.sources.iter().map(|f| f.to_string_lossy().into_owned()).collect();
        let mut macros: Vec<String> = program.folders.iter().map(|f| format!("-I{}", f.display())).collect();
        macros.extend(program.macros.iter().map(|name| format!("-D{name}")));
        match self {
            Peer::Gcc => {
                let mut finished: Option<Answer> = None;
                for file in files {
                    let mut line = vec!["-O2", "-Wall", "-Wextra", "-fanalyzer", "-S", "-o", "/dev/null"];
                    line.push("-fdiagnostics-format=json");
                    let folder = format!("-I{}", headers.0.display());
                    if program.is_32_bit {
                        line.extend(["-m32", "-isystem", "/usr/include/x86_64-linux-gnu", &folder]);
                    }
                    line.extend(macros.iter().map(String::as_str));
                    line.push(&file);
                    let run = limited::run(Path::new("gcc"), &line, limit, Output::ResultsAndErrors)?;
                    let one = answer(&run, run.output.lines().flat_map(of_gcc).collect(), false);
                    finished = Some(match finished {
                        None => one,
                        Some(before) => together(before, one),
                    });
                }
                finished.context("a program without files")
            }
            Peer::Cppcheck => {
                let mut line = vec!["--enable=warning".to_owned(), "--inconclusive".into(), "--quiet".into()];
                line.push(format!("--platform={}", if program.is_32_bit { "unix32" } else { "unix64" }));
                line.push("--template={file}:{line}:{id}".into());
                line.extend(macros);
                line.extend(files);
                let line: Vec<&str> = line.iter().map(String::as_str).collect();
                let run = limited::run(Path::new("cppcheck"), &line, limit, Output::ResultsAndErrors)?;
                Ok(answer(&run, run.output.lines().filter_map(of_cppcheck).collect(), false))
            }
            Peer::Eva => {
                let machine = if program.is_32_bit { "gcc_x86_32" } else { "gcc_x86_64" };
                let extra = format!("-cpp-extra-args={}", macros.join(" "));
                let mut line = vec!["-eva", "-eva-precision", "2", "-machdep", machine, &extra];
                let entry = if program.is_whole { None } else { Some(entry(&program.sources)?) };
                if let Some(entry) = &entry {
                    line.extend(["-lib-entry", "-main", entry]);
                }
                files.extend(program.support.iter().map(|f| f.to_string_lossy().into_owned()));
                line.extend(files.iter().map(String::as_str));
                let run = limited::run(Path::new("frama-c"), &line, limit, Output::ResultsAndErrors)?;
                let is_done = run.output.contains("ANALYSIS SUMMARY");
                Ok(answer(&run, of_eva(&run.output), is_done))
            }
        }
    }
}

/// What a library of the suites starts with: the function that calls all others.
fn entry(sources: &[PathBuf]) -> Result<String> {
    for source in sources {
        let text = String::from_utf8_lossy(&fs::read(source)?).into_owned();
        let name = text.lines().rev().find_map(|line| {
            let (name, _) = line.strip_prefix("void ")?.split_once('(')?;
            name.trim().strip_suffix("_main").map(|_| name.trim().to_owned())
        });
        if let Some(name) = name {
            return Ok(name);
        }
    }
    Ok("main".into())
}

/// Only Eva proves: where it has seen everything and has no alarm.
fn answer(run: &Finished, mut alerts: Vec<Alert>, proves: bool) -> Answer {
    alerts.sort();
    alerts.dedup();
    let verdict = if !alerts.is_empty() {
        Verdict::Violated
    } else if proves {
        Verdict::Proved
    } else if run.status.success() {
        Verdict::Unknown("it proves nothing".into())
    } else {
        Verdict::Crash(run.status.to_string())
    };
    let (cpu, memory) = (run.cpu.as_secs_f64(), run.memory);
    Answer { verdict, alerts, undecided: Vec::new(), cpu, memory }
}

/// The answers about two files of a program.
fn together(mut one: Answer, other: Answer) -> Answer {
    if one.verdict != Verdict::Violated {
        one.verdict = other.verdict;
    }
    one.alerts.extend(other.alerts);
    one.cpu += other.cpu;
    one.memory = one.memory.max(other.memory);
    one
}

#[derive(Deserialize)]
struct Diagnostic {
    option: Option<String>,
    #[serde(default)]
    locations: Vec<Location>,
}
#[derive(Deserialize)]
struct Location {
    caret: Place,
}
#[derive(Deserialize)]
struct Place {
    file: PathBuf,
    line: u32,
}

/// One line has all diagnostics of a file.
fn of_gcc(line: &str) -> Vec<Alert> {
    let diagnostics: Vec<Diagnostic> = serde_json::from_str(line).unwrap_or_default();
    let all = diagnostics.into_iter().filter_map(|diagnostic| {
        let place = diagnostic.locations.into_iter().next()?.caret;
        let name = diagnostic.option?;
        let kind = Kind::of_gcc(&name);
        Some(Alert { file: place.file, line: place.line, kind, name, way: Vec::new() })
    });
    // Style is no alarm.
    all.filter(|alert| alert.kind != Kind::Other).collect()
}

fn of_cppcheck(line: &str) -> Option<Alert> {
    let mut parts = line.rsplitn(3, ':');
    let (id, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    let kind = Kind::of_cppcheck(id);
    (kind != Kind::Other).then_some(Alert {
        file: file.into(),
        line: line.parse().ok()?,
        kind,
        name: id.to_owned(),
        way: Vec::new(),
    })
}

/// `[eva:alarm] FILE:LINE: Warning:`, and lines with what it is.
fn of_eva(output: &str) -> Vec<Alert> {
    let lines: Vec<&str> = output.lines().collect();
    let mut alerts = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let Some((place, rest)) =
            line.strip_prefix("[eva:alarm] ").and_then(|line| line.split_once(": Warning:"))
        else {
            continue;
        };
        let Some((file, at)) = place.rsplit_once(':') else { continue };
        let more = lines[number + 1..].iter().take_while(|line| line.starts_with(' '));
        let text = more.fold(rest.to_owned(), |text, line| text + line);
        let name = text.split_whitespace().take(9).collect::<Vec<_>>().join(" ");
        if let Ok(line) = at.parse() {
            alerts.push(Alert { file: file.into(), line, kind: Kind::of_eva(&text), name, way: Vec::new() });
        }
    }
    alerts
}
