//! Tests that edit: after every edit as much is known as in a fresh process, nothing else, and the work is what the suite says. Knows the
//! query graph through its public face only.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use proofline_db::{Database, Work};
use proofline_verifier::{
    load::Options,
    portfolio::{self, Control},
    report::Report,
    verdict::against_the_law_of_hints,
};

use crate::{
    expect::expectations,
    markdown::{Case, Edit},
    run::{Asked, asked, compare, said, same_numbers},
};

pub(crate) const FILE: &str = "/suite/test.c";

/// Runs a test. The error lists everything that differs.
pub(crate) fn run(case: &Case) -> Result<(), String> {
    let Asked { options, request, entries } = asked(case)?;
    let mut text = case.text.clone();
    let mut db = database(&text, &options);
    let ask = |db: &Database| -> Result<Report, String> {
        portfolio::check(db, &request, &entries, &Control::default()).map_err(said)
    };
    let mut faults = Vec::new();
    expected(&db, &text, &ask(&db)?, &mut faults)?;
    db.take_work();
    for edit in &case.edits {
        text = edited(&text, edit)?;
        db.set_text(Path::new(FILE), &text);
        let report = ask(&db)?;
        let (rechecked, reused) = functions(&db);
        let wanted = (names(&edit.work, "rechecked:")?, names(&edit.work, "reused:")?);
        if wanted != (rechecked.clone(), reused.clone()) {
            faults.push(format!(
                "line {}: rechecked: {} · reused: {}",
                edit.line,
                listed(&rechecked),
                listed(&reused)
            ));
        }
        let fresh = database(&text, &options);
        if let Some(fault) = against_the_law_of_hints(&report.verdicts, &ask(&fresh)?.verdicts) {
            faults.push(format!("line {}: {fault}", edit.line));
        }
        let before = faults.len();
        expected(&db, &text, &report, &mut faults)?;
        for fault in &mut faults[before..] {
            *fault = format!("after the edit in line {}: {fault}", edit.line);
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// The comments of the text.
fn expected(db: &Database, text: &str, report: &Report, faults: &mut Vec<String>) -> Result<(), String> {
    let (program, sources) = (db.program().map_err(said)?, db.sources().map_err(said)?);
    compare(&program, &sources, report, &expectations(text)?, faults);
    same_numbers(db, report, faults)
}

pub(crate) fn database(text: &str, options: &Options) -> Database {
    let mut db = Database::new(vec![PathBuf::from(FILE)], options.clone());
    db.set_text(Path::new(FILE), text);
    db
}

/// Functions whose blocks were explored, and those whose blocks were not, though they were asked for.
fn functions(db: &Database) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut found = (BTreeSet::new(), BTreeSet::new());
    for work in db.take_work() {
        match work {
            Work::Rechecked(name) => {
                found.0.insert(name.to_string());
            }
            Work::Reused(name) => {
                found.1.insert(name.to_string());
            }
            Work::Read(_)
            | Work::Linked
            | Work::Sliced(_)
            | Work::Verified(_)
            | Work::Recalled(_)
            | Work::Confirmed(_)
            | Work::Refused(_)
            | Work::Explained(_) => {}
        }
    }
    found
}

/// The names after a word: "rechecked: `f`, `g` · reused: nothing".
fn names(work: &str, word: &str) -> Result<BTreeSet<String>, String> {
    let part = work.split('·').find_map(|part| part.trim().strip_prefix(word));
    let part = part.ok_or_else(|| format!("the line after an edit says `{word}`"))?;
    Ok(part.split('`').skip(1).step_by(2).map(str::to_owned).collect())
}

fn listed(names: &BTreeSet<String>) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// The text after an edit, whose old lines must be in it exactly once.
fn edited(text: &str, edit: &Edit) -> Result<String, String> {
    let (mut old, mut new) = (String::new(), String::new());
    for line in edit.diff.lines() {
        let rest = line.get(1..).unwrap_or("");
        let (gone, come) = match line.chars().next() {
            Some('-') => (true, false),
            Some('+') => (false, true),
            Some(' ') | None => (true, true),
            Some(_) => return Err(format!("line {}: `{line}` is no line of an edit", edit.line)),
        };
        for (to, is_wanted) in [(&mut old, gone), (&mut new, come)] {
            if is_wanted {
                to.push_str(rest);
                to.push('\n');
            }
        }
    }
    match text.matches(&old).count() {
        1 => Ok(text.replacen(&old, &new, 1)),
        n => Err(format!("line {}: the old lines are there {n} times", edit.line)),
    }
}
