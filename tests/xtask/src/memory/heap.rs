//! Verification tasks about the heap, each with a verdict and the part of the property that is violated.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::proofline::Proofline;
use crate::{
    bench::said,
    limited::{self, Finished, Output, each},
    table::{Row, Table},
};

/// Properties that are asked about.
const PROPERTIES: [&str; 7] = [
    "valid-memsafety",
    "valid-deref",
    "valid-free",
    "valid-memtrack",
    "valid-memcleanup",
    "unreach-call",
    "no-overflow",
];

#[derive(Deserialize)]
struct Definition {
    #[serde(default)]
    properties: Vec<Entry>,
}
#[derive(Deserialize)]
struct Entry {
    property_file: String,
    expected_verdict: Option<bool>,
    subproperty: Option<String>,
}

/// A task and a property.
struct Question {
    task: PathBuf,
    folder: String,
    property: String,
    expected: bool,
    part: Option<String>,
}

/// An answer.
struct Reply {
    row: Row,
    folder: String,
    property: String,
    /// The violation is of another part of the property than the task says.
    is_other_part: bool,
}

/// Asks about all tasks, writes the table, prints what came out, and says how many verdicts are wrong.
///
/// # Errors
/// If the tasks cannot be read.
pub(super) fn run(
    folder: &Path,
    proofline: &Proofline,
    only: &[String],
    jobs: usize,
    csv: &Path,
) -> Result<usize> {
    let questions = questions(folder, only)?;
    ensure!(!questions.is_empty(), "no tasks in {}", folder.display());
    let replies = each(&questions, jobs, |question| {
        let reply = ask(proofline, question);
        if let Ok(reply) = &reply {
            eprintln!("{}", reply.row.line());
        }
        reply
    });
    let mut replies: Vec<Reply> = replies.into_iter().collect::<Result<_>>()?;
    replies.sort_by(|a, b| a.row.task.cmp(&b.row.task));
    let table = Table { rows: replies.iter().map(|reply| reply.row.clone()).collect() };
    table.write(csv)?;
    print!("{}", markdown(&replies));
    print!("{}", table.summary());
    Ok(table.wrong())
}

fn questions(folder: &Path, only: &[String]) -> Result<Vec<Question>> {
    let mut tasks = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("no folder {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            for entry in fs::read_dir(path)? {
                tasks.push(entry?.path());
            }
        }
    }
    tasks.retain(|path| path.extension().is_some_and(|e| e == "yml"));
    tasks.sort();
    let mut questions = Vec::new();
    for task in tasks {
        if !only.is_empty() && !only.iter().any(|word| task.to_string_lossy().contains(word.as_str())) {
            continue;
        }
        let text = fs::read_to_string(&task)?;
        let definition: Definition =
            serde_saphyr::from_str(&text).map_err(|e| anyhow::anyhow!("{}: {e}", task.display()))?;
        for entry in definition.properties {
            let property = Path::new(&entry.property_file)
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if let Some(expected) = entry.expected_verdict
                && PROPERTIES.contains(&property.as_str())
            {
                let folder = task.parent().and_then(Path::file_name).unwrap_or_default();
                questions.push(Question {
                    folder: folder.to_string_lossy().into_owned(),
                    task: task.clone(),
                    property,
                    expected,
                    part: entry.subproperty,
                });
            }
        }
    }
    Ok(questions)
}

fn ask(proofline: &Proofline, question: &Question) -> Result<Reply> {
    let (limit, task) = ((proofline.limit * proofline.patience).to_string(), question.task.to_string_lossy());
    let mut line =
        vec!["check", "--no-cache", "--statistics", "--property", &question.property, "--color", "never"];
    line.extend(["--limit", &limit, "--task", &task]);
    line.extend(proofline.flags.iter().map(String::as_str));
    let run = limited::run(&proofline.binary, &line, proofline.limit + 7, Output::Results)?;
    let result = result(&run, proofline.limit);
    let is_other_part = question.part.as_ref().is_some_and(|part| {
        result.starts_with("false") && result.contains("valid-") && result != format!("false({part})")
    });
    let name = question.task.file_stem().unwrap_or_default().to_string_lossy();
    Ok(Reply {
        row: Row {
            task: format!("{}/{name} {}", question.folder, question.property),
            expected: question.expected,
            result,
            cpu: run.cpu.as_secs_f64(),
            memory: run.memory,
            engine: said(&run.output, "decided by: ").unwrap_or_default().to_owned(),
            unwound: None,
        },
        folder: question.folder.clone(),
        property: question.property.clone(),
        is_other_part,
    })
}

fn result(run: &Finished, limit: u64) -> String {
    if run.cpu.as_secs() > limit + 1 {
        return "unknown(time limit)".into();
    }
    match said(&run.output, "RESULT: ") {
        Some(result) => result.to_owned(),
        None => format!("crash({})", run.status),
    }
}

fn markdown(replies: &[Reply]) -> String {
    let mut out =
        "| folder | property | tasks | true proved | false found | other part | unknown | crash | wrong |\n\
                   |---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut groups: BTreeMap<(&str, &str), Vec<&Reply>> = BTreeMap::new();
    for reply in replies {
        groups.entry((&reply.folder, &reply.property)).or_default().push(reply);
        groups.entry(("~ all", &reply.property)).or_default().push(reply);
    }
    for ((folder, property), replies) in groups {
        let of = |beginning: &str, expected: Option<bool>| {
            replies
                .iter()
                .filter(|r| {
                    r.row.result.starts_with(beginning) && expected.is_none_or(|e| e == r.row.expected)
                })
                .count()
        };
        let expected = |verdict| replies.iter().filter(|r| r.row.expected == verdict).count();
        let _ = writeln!(
            out,
            "| {} | {property} | {} | {} of {} | {} of {} | {} | {} | {} | {} |",
            folder.trim_start_matches("~ "),
            replies.len(),
            of("true", Some(true)),
            expected(true),
            of("false", Some(false)),
            expected(false),
            replies.iter().filter(|reply| reply.is_other_part).count(),
            of("unknown", None),
            of("crash", None),
            of("true", Some(false)) + of("false", Some(true)),
        );
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reply in replies.iter().filter(|r| r.row.result.starts_with("unknown")) {
        *reasons.entry(&reply.row.result).or_default() += 1;
    }
    let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let _ = writeln!(out, "\n| why unknown | times |\n|---|---|");
    for (reason, count) in reasons.into_iter().take(25) {
        let _ = writeln!(out, "| {reason} | {count} |");
    }
    let wrong = replies.iter().filter(|reply| {
        let verdict = &reply.row.result;
        verdict == "true" && !reply.row.expected || verdict.starts_with("false") && reply.row.expected
    });
    let _ = writeln!(out);
    for reply in wrong {
        let _ = writeln!(out, "- wrong: {} {}", reply.row.task, reply.row.result);
    }
    for reply in replies.iter().filter(|reply| reply.is_other_part) {
        let _ = writeln!(out, "- another part of the property: {} {}", reply.row.task, reply.row.result);
    }
    out
}
