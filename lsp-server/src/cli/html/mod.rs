//! A report to look at in a browser: one page that needs no network and opens from the disk. What it shows is what `--format json` says,
//! with the texts, automata and times beside it; how it shows that is the matter of the scripts in this folder.

mod page;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use proofline_ide::{
    check::{Automaton, Check, Facts, Finding, Shape, Sources, shapes},
    shown,
};
use serde_json::{Value, json};

use super::{
    check::{Answer, Checked},
    formats,
};
use crate::picture::Pictures;
use page::Part;

/// Writes the report. `not_read` names programs that could not be checked.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn write(folder: &Path, checked: &[Checked], not_read: &[String]) -> Result<()> {
    let mut parts = Vec::new();
    let mut all = formats::json_of_project(checked);
    for (checked, program) in checked.iter().zip(all["programs"].as_array_mut().into_iter().flatten()) {
        add_to_program(checked, program, &mut parts);
    }
    all["not_read"] = json!(not_read);
    all["checks"] = checks();
    all["files"] = files(checked, &all["programs"], &mut parts);
    page::write(folder, &all, &parts).with_context(|| format!("cannot write to {}", shown(folder)))
}

/// What JSON does not have: functions with their automata, what is known of loops and results, and what engines took.
fn add_to_program(checked: &Checked, program: &mut Value, parts: &mut Vec<Part>) {
    let Checked { sources, answers, automata, facts, .. } = checked;
    let shapes = automata.as_ref().map(|automata| shapes(automata, sources)).unwrap_or_default();
    program["functions"] = functions(&shapes, facts, parts);
    program["loops"] = facts.loops.iter().map(|found| {
        json!({ "function": found.function, "file": file(&found.path), "line": found.line + 1, "invariant": found.formula })
    }).collect();
    program["ensures"] = json!(facts.ensures);
    for (answer, result) in answers.iter().zip(program["results"].as_array_mut().into_iter().flatten()) {
        result["engines"] = engines(answer);
        let findings = result["findings"].as_array_mut().into_iter().flatten();
        for (finding, shown) in answer.report.findings.iter().zip(findings) {
            add_pictures(finding, shown, parts);
        }
    }
}

/// Memory behind the steps of a path: the pictures of a path are one part.
fn add_pictures(finding: &Finding, shown: &mut Value, parts: &mut Vec<Part>) {
    let mut pictures = Pictures::default();
    for (step, shown) in finding.steps.iter().zip(shown["steps"].as_array_mut().into_iter().flatten()) {
        if let Some(number) = pictures.add(step.scene.as_ref()) {
            shown["picture"] = json!(number);
        }
    }
    let pictures = pictures.all();
    if !pictures.is_empty() {
        shown["pictures"] = json!(parts.len());
        parts.push(Part::new(&json!(pictures)));
    }
}

/// Automata of one file are one part.
fn functions(shapes: &[Shape], facts: &Facts, parts: &mut Vec<Part>) -> Value {
    let mut by_file: BTreeMap<PathBuf, serde_json::Map<String, Value>> = BTreeMap::new();
    let path_of = |shape: &Shape| {
        shape.position.as_ref().map(|position| position.path.to_path_buf()).unwrap_or_default()
    };
    for shape in shapes {
        let graphs = by_file.entry(path_of(shape)).or_default();
        let mut graph = automaton(&shape.automaton);
        // By location, what is known there.
        graph["values"] = json!(facts.values.get(&shape.name));
        graph["states"] = json!(facts.states.get(shape.name.as_str()));
        graphs.insert(shape.name.to_string(), graph);
    }
    let first = parts.len();
    let numbers: BTreeMap<PathBuf, usize> = by_file.keys().cloned().zip(first..).collect();
    parts.extend(by_file.into_values().map(|graphs| Part::new(&Value::Object(graphs))));
    let all = shapes.iter().map(|shape| {
        json!({
            "name": shape.name.as_str(),
            "place": shape.position.as_ref().map(formats::place),
            "end_line": shape.closing.as_ref().map(|position| position.line + 1),
            "calls": shape.calls.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
            "calls_through_pointers": shape.calls_through_pointers,
            "through_pointers": facts.through_pointers.get(&shape.name).into_iter().flatten().map(|name| name.as_str()).collect::<Vec<_>>(),
            "part": numbers.get(&path_of(shape)),
        })
    });
    all.collect()
}

/// Edges are `[from, to, text, is a condition, line or null]`.
fn automaton(automaton: &Automaton) -> Value {
    let edges = automaton.edges.iter();
    let edges: Vec<Value> = edges
        .map(|step| json!([step.from, step.to, step.text, u8::from(step.is_condition), step.line]))
        .collect();
    json!({
        "locations": automaton.locations,
        "entry": automaton.entry,
        "exit": automaton.exit,
        "heads": automaton.loop_heads,
        "errors": automaton.errors,
        "edges": edges,
    })
}

/// Who decided how much, and what that took in this run.
fn engines(answer: &Answer) -> Value {
    let decided = &answer.report.decided_by;
    let names: BTreeSet<&str> = decided.keys().chain(answer.took.keys()).copied().collect();
    let all = names.into_iter().map(|name| {
        let took = answer.took.get(name).copied().unwrap_or_default();
        json!({
            "name": name,
            "decided": decided.get(name).copied().unwrap_or_default(),
            "questions": took.questions,
            "seconds": took.time.as_secs_f64(),
            "unwound": took.depth,
        })
    });
    all.collect()
}

fn checks() -> Value {
    let all = Check::known().map(|check| {
        (check.code().to_owned(), json!({ "help": check.help(), "page": check.page(), "cwe": check.cwe() }))
    });
    Value::Object(all.collect())
}

/// The texts of the files that something is said of, a part each.
fn files(checked: &[Checked], programs: &Value, parts: &mut Vec<Part>) -> Value {
    let mut names = BTreeSet::new();
    named(programs, &mut names);
    let mut out = Vec::new();
    for checked in checked {
        for path in checked.sources.files() {
            // What several programs share is shown once.
            if names.remove(&file(&path))
                && let Some(text) = text(&checked.sources, &path)
            {
                parts.push(Part::new(&json!(text)));
                out.push(json!({ "path": file(&path), "part": parts.len() - 1 }));
            }
        }
    }
    json!(out)
}

fn text<'s>(sources: &'s Sources, path: &Path) -> Option<&'s str> {
    sources.text_of(path)
}

/// As [`formats::place`] names a file.
fn file(path: &Path) -> String {
    path.display().to_string()
}

/// The files of all places in a value.
fn named(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|value| named(value, out)),
        Value::Object(all) => {
            if let Some(Value::String(file)) = all.get("file") {
                out.insert(file.clone());
            }
            all.values().for_each(|value| named(value, out));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
