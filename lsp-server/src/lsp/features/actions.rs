//! Code actions in the protocol's words: what can be done about findings, annotations, more effort.

use std::collections::{BTreeSet, HashMap};

use proofline_ide::{Action, Choice, Insertion, Point, Range, ShownFinding, choices};
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
        let (diagnostics, shown) = findings(document, &params.context.diagnostics);
        let action = |choice: Choice| {
            let diagnostic = diagnostics.get(choice.finding)?;
            of_finding(document, diagnostic, choice, client, settings, places)
        };
        out.extend(choices(&document.results, &shown).into_iter().filter_map(action));
        out.extend(more_effort(document, &params.context.diagnostics, encoding));
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
        let kind = || CodeActionKind::new("source.proofline");
        let show = if client.has("proofline.showProof") { "proofline.showProof" } else { commands::PROOF };
        let title = format!("Show why `{function}` is proved, or what is missing");
        out.push(command(&title, show, argument.clone(), kind(), None));
        let title = format!("Verify `{function}` with more effort");
        out.push(command(&title, commands::VERIFY, argument, kind(), None));
    }
    out
}

/// The findings that diagnostics are about, each once, with its diagnostic.
fn findings<'d>(
    document: &'d Document,
    diagnostics: &'d [Diagnostic],
) -> (Vec<&'d Diagnostic>, Vec<ShownFinding<'d>>) {
    let mut seen = BTreeSet::new();
    let found = diagnostics.iter().filter_map(|diagnostic| {
        let id = diagnostic.data.as_ref()?.get("finding")?.as_str()?;
        let shown = document.results.finding(id)?;
        seen.insert(id).then_some((diagnostic, shown))
    });
    found.unzip()
}

/// Where something is not decided, more effort may help.
fn more_effort(
    document: &Document,
    diagnostics: &[Diagnostic],
    encoding: Encoding,
) -> Option<CodeActionOrCommand> {
    let is_open = |d: &&Diagnostic| d.code == Some(NumberOrString::String("not-decided".to_owned()));
    let diagnostic = diagnostics.iter().find(is_open)?;
    let point = encoding.point(&document.text, diagnostic.range.start);
    let function = &document.results.function_at(point)?.name;
    let title = format!("Verify `{function}` with more effort");
    let argument = json!({ "uri": document.uri, "function": function });
    Some(command(&title, commands::VERIFY, argument, CodeActionKind::QUICKFIX, Some(diagnostic)))
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
    choice: Choice,
    client: &Client,
    settings: &Settings,
    places: &Places<'_>,
) -> Option<CodeActionOrCommand> {
    let own = |name: &'static str, instead: &'static str| if client.has(name) { name } else { instead };
    let about = |title: &str| match &choice.about {
        Some(about) => format!("{title}: {about}"),
        None => title.to_owned(),
    };
    let (title, name) = match choice.action {
        Action::ShowTrace => ("Show counterexample trace", own("proofline.showTrace", commands::TRACE)),
        Action::Replay if client.has("proofline.replay") => ("Replay counterexample", "proofline.replay"),
        Action::WriteTest if settings.run_tests != RunTests::Never => {
            ("Write a test that reproduces this", own("proofline.openTest", commands::TEST))
        }
        Action::Replay | Action::WriteTest => return None,
        Action::Insert { title, lines, is_guard: _ } => {
            return Some(quick(insertion(document, &lines, &title, places), diagnostic));
        }
    };
    let finding = diagnostic.data.as_ref()?.get("finding")?;
    let argument = json!({ "uri": document.uri, "finding": finding });
    Some(command(&about(title), name, argument, CodeActionKind::QUICKFIX, Some(diagnostic)))
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
