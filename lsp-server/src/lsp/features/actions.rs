//! Code actions in the protocol's words: what can be done about findings, annotations, more effort.

use std::collections::HashMap;

use proofline_ide::{Action, Insertion, Point, Range};
use serde_json::{Value, json};
use tower_lsp_server::ls_types::*;

use super::super::{
    capabilities::Client,
    commands,
    convert::Encoding,
    diagnostics::Places,
    document::Document,
    settings::{RunTests, Settings},
};

/// What can be done about the diagnostics at a range.
pub(in super::super) fn actions(
    document: &Document,
    params: &CodeActionParams,
    client: &Client,
    settings: &Settings,
    encoding: Encoding,
    places: &Places<'_>,
) -> Vec<CodeActionOrCommand> {
    let kinds = params.context.only.as_deref();
    let is_wanted = |kind: &CodeActionKind| {
        kinds.is_none_or(|kinds| kinds.iter().any(|only| kind.as_str().starts_with(only.as_str())))
    };
    let mut out = Vec::new();
    if is_wanted(&CodeActionKind::QUICKFIX) {
        for diagnostic in &params.context.diagnostics {
            let id = diagnostic.data.as_ref().and_then(|data| data.get("finding")).and_then(Value::as_str);
            if let Some(shown) = id.and_then(|id| document.results.finding(id)) {
                let action = |action| of_finding(document, diagnostic, action, client, settings, places);
                out.extend(proofline_ide::actions(&document.results, &shown).into_iter().filter_map(action));
            }
        }
    }
    let point = encoding.point(&document.text, params.range.start);
    if is_wanted(&CodeActionKind::REFACTOR_REWRITE) {
        out.extend(super::annotations::actions(document, point, places));
    }
    if is_wanted(&CodeActionKind::SOURCE)
        && let Some(function) = document.results.function_at(point)
    {
        let function = &function.name;
        let argument = json!({ "uri": document.uri, "function": function });
        let kind = CodeActionKind::new("source.proofline");
        out.push(command(
            &format!("Verify `{function}` with more effort"),
            commands::VERIFY,
            argument,
            kind,
            None,
        ));
    }
    out
}

fn command(
    title: &str,
    name: &str,
    argument: Value,
    kind: CodeActionKind,
    diagnostic: Option<&Diagnostic>,
) -> CodeActionOrCommand {
    CodeActionOrCommand::CodeAction(CodeAction {
        title: title.to_owned(),
        kind: Some(kind),
        diagnostics: diagnostic.map(|diagnostic| vec![diagnostic.clone()]),
        command: Some(Command {
            title: title.to_owned(),
            command: name.to_owned(),
            arguments: Some(vec![argument]),
        }),
        ..CodeAction::default()
    })
}

fn of_finding(
    document: &Document,
    diagnostic: &Diagnostic,
    action: Action,
    client: &Client,
    settings: &Settings,
    places: &Places<'_>,
) -> Option<CodeActionOrCommand> {
    let own = |name: &'static str, instead: &'static str| if client.has(name) { name } else { instead };
    let (title, name) = match action {
        Action::ShowTrace => ("Show counterexample trace", own("proofline.showTrace", commands::TRACE)),
        Action::Replay if client.has("proofline.replay") => ("Replay counterexample", "proofline.replay"),
        Action::WriteTest if settings.run_tests != RunTests::Never => {
            ("Write a test that reproduces this", own("proofline.openTest", commands::TEST))
        }
        Action::Replay | Action::WriteTest => return None,
        Action::Insert { title, lines } => {
            return Some(quick(insertion(document, &lines, &title, places), diagnostic));
        }
    };
    let finding = diagnostic.data.as_ref()?.get("finding")?;
    let argument = json!({ "uri": document.uri, "finding": finding });
    Some(command(title, name, argument, CodeActionKind::QUICKFIX, Some(diagnostic)))
}

/// An action that inserts lines.
pub(super) fn insertion(
    document: &Document,
    lines: &[Insertion],
    title: &str,
    places: &Places<'_>,
) -> CodeAction {
    let edit = |insertion: &Insertion| {
        let at = Point { line: insertion.line, column: 0 };
        let range = places.range(&document.path, Range { start: at, end: at });
        TextEdit { range, new_text: insertion.text.clone() }
    };
    let edits = HashMap::from([(document.uri.clone(), lines.iter().map(edit).collect())]);
    CodeAction {
        title: title.to_owned(),
        edit: Some(WorkspaceEdit { changes: Some(edits), ..WorkspaceEdit::default() }),
        ..CodeAction::default()
    }
}

/// An action that answers a diagnostic.
fn quick(action: CodeAction, diagnostic: &Diagnostic) -> CodeActionOrCommand {
    CodeActionOrCommand::CodeAction(CodeAction {
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![diagnostic.clone()]),
        ..action
    })
}
