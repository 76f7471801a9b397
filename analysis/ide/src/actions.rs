//! What can be done about a finding: see its path, run it again, test it, keep it from happening, write down what callers must see to, or
//! take it back with a reason. Knows no client: which of these it can do, and how they are asked for, is the server's.

use crate::{
    annotations::in_annotation,
    finding::{Finding, Nature},
    fix::{condition_of, fixes},
    results::{FileResults, ShownFinding},
    suppression,
    text::indentation,
};

/// Lines to insert into the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Insertion {
    /// Before which line, from 0.
    pub line: u32,
    /// The lines, each with its end.
    pub text: String,
}

/// Something that can be done about a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// The path is shown.
    ShowTrace,
    /// The path is run again, step by step.
    Replay,
    /// A test is written that fails in the same way.
    WriteTest,
    /// The text is changed.
    Insert {
        /// What the change does.
        title: String,
        /// The change.
        lines: Vec<Insertion>,
        /// It keeps the failure from happening.
        is_guard: bool,
    },
}

/// What can be done about a finding. Nothing that needs the current text to be the one it was found in, if it is of an older one.
pub fn actions(file: &FileResults, shown: &ShownFinding<'_>) -> Vec<Action> {
    let finding = shown.finding;
    let mut out = vec![Action::ShowTrace, Action::Replay];
    if !shown.is_older {
        out.push(Action::WriteTest);
        if file.is_current() {
            out.extend(guards(file, finding));
        }
    }
    out.extend(contract(file, finding));
    out.extend(suppress(file, shown));
    out
}

/// Something that can be done at a place where several things may fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// About which of them.
    pub finding: usize,
    /// What.
    pub action: Action,
    /// What has to be said besides, so that it is clear which is meant.
    pub about: Option<String>,
}

/// What can be done about the findings at one place. Of several: each one's path, and each change that keeps one from happening, once; the rest for the
/// first one only, or nobody would find anything in the list.
pub fn choices(file: &FileResults, findings: &[ShownFinding<'_>]) -> Vec<Choice> {
    let is_alone = findings.len() == 1;
    let (mut paths, mut changes, mut rest) = (Vec::new(), Vec::<Choice>::new(), Vec::new());
    for (finding, shown) in findings.iter().enumerate() {
        let about = (!is_alone).then(|| shown.finding.title.clone());
        let (mut is_changed, is_first) = (false, finding == 0);
        for action in actions(file, shown) {
            let is_guard = matches!(&action, Action::Insert { is_guard: true, .. });
            match &action {
                Action::ShowTrace => paths.push(Choice { finding, action, about: about.clone() }),
                Action::Insert { lines, .. } if is_guard => {
                    let is_known = |known: &Choice| matches!(&known.action, Action::Insert { lines: other, .. } if other == lines);
                    if (is_alone || !is_changed) && !changes.iter().any(is_known) {
                        changes.push(Choice { finding, action, about: None });
                    }
                    is_changed = true;
                }
                Action::Replay | Action::WriteTest | Action::Insert { .. } if is_first => {
                    rest.push(Choice { finding, action, about: about.clone() });
                }
                Action::Replay | Action::WriteTest | Action::Insert { .. } => {}
            }
        }
    }
    paths.into_iter().chain(changes).chain(rest).collect()
}

fn insert(title: String, lines: Vec<Insertion>) -> Action {
    Action::Insert { title, lines, is_guard: false }
}

/// Lines that keep the failure from happening.
fn guards(file: &FileResults, finding: &Finding) -> Vec<Action> {
    let all = || {
        finding.place.as_ref().filter(|place| file.is_own(place))?;
        let reports = file.reports();
        let condition = condition_of(reports.get(&finding.entry)?, finding)?;
        let text = file.text();
        let found = fixes(file.program()?, finding, condition, text).into_iter();
        let action = found.map(|fix| {
            let line = format!("{}{}\n", indentation(text, fix.line), fix.text);
            let mut lines = vec![Insertion { line: fix.line, text: line }];
            if fix.asserts && !text.contains("assert.h") {
                lines.push(include_assert(text, fix.line));
            }
            Action::Insert { title: fix.title, lines, is_guard: true }
        });
        Some(action.collect())
    };
    all().unwrap_or_default()
}

/// After the last `#include` before a line.
fn include_assert(text: &str, before: u32) -> Insertion {
    let is_include = |line: &str| line.trim_start().starts_with("#include");
    let last = text.lines().take(before as usize).enumerate().filter(|(_, line)| is_include(line)).last();
    Insertion { line: last.map_or(0, |(at, _)| at as u32 + 1), text: "#include <assert.h>\n".to_owned() }
}

/// What the entry asks of its callers, as a comment before it.
fn contract(file: &FileResults, finding: &Finding) -> Option<Action> {
    let condition = finding.condition.as_ref().filter(|_| finding.nature == Nature::Latent)?;
    let contract = in_annotation(file, &finding.entry, condition)?;
    let function = file.functions().find(|function| function.name == finding.entry)?;
    let line = file.now(function.range).start.line;
    let text = format!("{}/*@ requires {contract}; */\n", indentation(file.text(), line));
    Some(insert(format!("Insert the contract `requires {contract}`"), vec![Insertion { line, text }]))
}

/// A comment before the line that takes the finding back.
fn suppress(file: &FileResults, shown: &ShownFinding<'_>) -> Option<Action> {
    let place = shown.finding.place.as_ref().filter(|place| file.is_own(place))?;
    let line = shown.now(place).start.line;
    let check = shown.finding.check;
    let text = suppression::comment(file.text(), line, check);
    Some(insert(format!("Suppress `{check}` here with a reason"), vec![Insertion { line, text }]))
}
