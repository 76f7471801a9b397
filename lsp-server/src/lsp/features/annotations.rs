//! Code actions that write down what was proved, as ACSL comments: a function's contract, a loop's invariant.

use proofline_ide::Point;
use tower_lsp_server::ls_types::*;

use super::{
    super::{diagnostics::Places, document::Document},
    actions::{indent, insertion},
};

/// What can be written down at a point.
pub(super) fn actions(document: &Document, point: Point, places: &Places<'_>) -> Vec<CodeActionOrCommand> {
    let mut out = Vec::new();
    let action = |(line, text, title): (u32, String, &str)| {
        CodeActionOrCommand::CodeAction(CodeAction {
            kind: Some(CodeActionKind::REFACTOR_REWRITE),
            ..insertion(document, &[(line, text)], title, places)
        })
    };
    out.extend(invariant(document, point).map(action));
    out.extend(contract(document, point).map(action));
    out
}

/// Whether an annotation stands before the line.
fn is_annotated(document: &Document, line: u32) -> bool {
    let above = line.checked_sub(1).and_then(|line| document.text.get_line(line as usize));
    above.is_some_and(|line| line.len_bytes() < 10_000 && line.to_string().trim_end().ends_with("*/"))
}

/// The invariant of the loop that begins on this line.
fn invariant(document: &Document, point: Point) -> Option<(u32, String, &'static str)> {
    let known = document.board.knowledge()?;
    let is_here = |l: &&proofline_ide::LoopKnowledge| {
        *l.place.path == *document.path && l.place.range.start.line == point.line
    };
    let found = known.loops().iter().find(is_here)?;
    let start = found.place.range.start;
    let indent = indent(document, start.line);
    if is_annotated(document, start.line) || indent.len() != start.column as usize {
        return None;
    }
    let clauses: Vec<String> =
        found.invariants.iter().map(|text| format!("loop invariant {text};")).collect();
    Some((start.line, comment(&indent, &clauses), "Insert the proved loop invariant"))
}

/// The contract of the function whose name is on this line.
fn contract(document: &Document, point: Point) -> Option<(u32, String, &'static str)> {
    let board = &document.board;
    if !board.is_current() {
        return None;
    }
    let is_here = |f: &&proofline_ide::FunctionItem| {
        *f.selection.path == *document.path && board.now(f.selection.range).start.line == point.line
    };
    let function = board.program()?.functions().iter().find(is_here)?;
    let (summary, _) = super::summary(document, &function.name)?;
    let line = board.now(function.range).start.line;
    if is_annotated(document, line) {
        return None;
    }
    let mut clauses: Vec<String> =
        summary.conditions.iter().map(|text| format!("requires {text};")).collect();
    // A condition that C cannot say is missing: then nothing is promised either.
    let is_whole = summary.conditions.len() == summary.requires.len() && summary.hangs_on.is_empty();
    if summary.is_for_all_callers && is_whole {
        let result = board.knowledge()?.ensures(&function.name, "\\result");
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
    Some((line, comment(&indent(document, line), &clauses), "Insert the proved contract"))
}

/// Clauses as an ACSL comment.
fn comment(indent: &str, clauses: &[String]) -> String {
    format!("{indent}/*@ {} */\n", clauses.join(&format!("\n{indent}    ")))
}
