//! Comments in ACSL that write down what was proved: a function's contract, a loop's invariant.

use proofline_cfa::Name;
use proofline_verifier::contracts::acsl;

use crate::{
    actions::Insertion,
    place::Point,
    results::FileResults,
    text::{indentation, readable_line},
};

/// Lines to insert.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotation {
    /// What it writes down.
    pub kind: AnnotationKind,
    /// Its lines.
    pub insertion: Insertion,
}

/// What an annotation writes down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnnotationKind {
    /// What holds in every round of a loop.
    LoopInvariant,
    /// What a function requires, ensures and assigns.
    Contract,
}

impl AnnotationKind {
    /// What inserting it does.
    pub fn title(self) -> &'static str {
        match self {
            AnnotationKind::LoopInvariant => "Insert the proved loop invariant",
            AnnotationKind::Contract => "Insert the proved contract",
        }
    }
}

/// What can be written down at a point of the current text.
pub fn annotations(file: &FileResults, point: Point) -> Vec<Annotation> {
    invariant(file, point).into_iter().chain(contract(file, point)).collect()
}

/// Whether an annotation stands before the line.
fn is_annotated(file: &FileResults, line: u32) -> bool {
    let above = line.checked_sub(1).and_then(|line| readable_line(file.text(), line));
    above.is_some_and(|line| line.trim_end().ends_with("*/"))
}

/// The invariant of the loop that begins on this line.
fn invariant(file: &FileResults, point: Point) -> Option<Annotation> {
    let mut loops = file.knowledge()?.loops().iter();
    let found = loops.find(|l| file.is_own(&l.place) && l.place.range.start.line == point.line)?;
    let start = found.place.range.start;
    let indent = indentation(file.text(), start.line);
    if is_annotated(file, start.line) || indent.len() != start.column as usize {
        return None;
    }
    let clauses: Vec<String> =
        found.invariants.iter().map(|text| format!("loop invariant {text};")).collect();
    Some(Annotation {
        kind: AnnotationKind::LoopInvariant,
        insertion: Insertion { line: start.line, text: comment(indent, &clauses) },
    })
}

/// The contract of the function whose name is on this line.
fn contract(file: &FileResults, point: Point) -> Option<Annotation> {
    if !file.is_current() {
        return None;
    }
    let function = file.functions().find(|f| file.now(f.selection.range).start.line == point.line)?;
    let summary = file.summary(&function.name)?;
    let line = file.now(function.range).start.line;
    if is_annotated(file, line) {
        return None;
    }
    let conditions = summary.conditions.iter().filter_map(|text| in_annotation(file, &function.name, text));
    let mut clauses: Vec<String> = conditions.map(|text| format!("requires {text};")).collect();
    // A condition that C cannot say is missing: then nothing is promised either.
    let is_whole = clauses.len() == summary.requires.len() && summary.hangs_on.is_empty();
    if summary.is_for_all_callers && is_whole {
        let result = file.knowledge()?.ensures(&function.name, "\\result");
        clauses.extend(result.map(|text| format!("ensures {text};")));
        let is_name = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if summary.writes.is_empty() {
            clauses.push("assigns \\nothing;".to_owned());
        } else if summary.writes.iter().all(is_name) {
            clauses.push(format!("assigns {};", summary.writes.join(", ")));
        }
    }
    if clauses.is_empty() {
        return None;
    }
    let text = comment(indentation(file.text(), line), &clauses);
    Some(Annotation { kind: AnnotationKind::Contract, insertion: Insertion { line, text } })
}

/// What a function asks of its callers as an annotation says it; `None` if it would not be read back as that.
pub(crate) fn in_annotation(file: &FileResults, function: &str, condition: &str) -> Option<String> {
    let code = file.program()?.prepared()?;
    let body = code.function(Name::new(function))?;
    let marked = condition.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    let text = marked.unwrap_or(condition);
    let written = acsl::read(code, body, &format!("requires {text};"));
    (written.problems.is_empty() && !written.contract.is_empty()).then(|| text.to_owned())
}

/// Clauses as an ACSL comment.
fn comment(indent: &str, clauses: &[String]) -> String {
    format!("{indent}/*@ {} */\n", clauses.join(&format!("\n{indent}    ")))
}
