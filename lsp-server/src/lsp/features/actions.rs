//! Code actions: the trace, its replay, a test; a line that keeps the failure from happening; a contract, a suppression with its reason.

use std::collections::HashMap;

use proofline_ide::{Finding, Nature, Point, Range, SUPPRESS, ShownFinding, indentation};
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
                of_finding(document, diagnostic, &shown, client, settings, places, &mut out);
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
    shown: &ShownFinding<'_>,
    client: &Client,
    settings: &Settings,
    places: &Places<'_>,
    out: &mut Vec<CodeActionOrCommand>,
) {
    let finding = shown.finding;
    let argument = json!({ "uri": document.uri, "finding": finding.id });
    let mut push = |title: &str, name: &str| {
        out.push(command(title, name, argument.clone(), CodeActionKind::QUICKFIX, Some(diagnostic)));
    };
    push(
        "Show counterexample trace",
        if client.has("proofline.showTrace") { "proofline.showTrace" } else { commands::TRACE },
    );
    if client.has("proofline.replay") {
        push("Replay counterexample", "proofline.replay");
    }
    if settings.run_tests != RunTests::Never && !shown.is_older {
        push(
            "Write a test that reproduces this",
            if client.has("proofline.openTest") { "proofline.openTest" } else { commands::TEST },
        );
    }
    if !shown.is_older && document.results.is_current() {
        fixes(document, diagnostic, finding, places, out);
    }
    if let Some(contract) = finding.condition.as_ref().filter(|_| finding.nature == Nature::Latent)
        && let Some(function) = document.results.functions().find(|function| function.name == finding.entry)
    {
        let line = document.results.now(function.range).start.line;
        let text = format!("{}/*@ requires {contract}; */\n", indentation(document.results.text(), line));
        let title = format!("Insert the contract `requires {contract}`");
        out.push(quick(insertion(document, &[(line, text)], &title, places), diagnostic));
    }
    if let Some(place) = finding.place.as_ref().filter(|place| *place.path == *document.path) {
        let line = shown.now(place).start.line;
        let text = format!(
            "{}// {} {}: say why\n",
            indentation(document.results.text(), line),
            SUPPRESS,
            finding.check
        );
        let title = format!("Suppress `{}` here with a reason", finding.check);
        out.push(quick(insertion(document, &[(line, text)], &title, places), diagnostic));
    }
}

/// Lines that keep the failure from happening.
fn fixes(
    document: &Document,
    diagnostic: &Diagnostic,
    finding: &Finding,
    places: &Places<'_>,
    out: &mut Vec<CodeActionOrCommand>,
) {
    if finding.place.as_ref().is_none_or(|place| *place.path != *document.path) {
        return;
    }
    let Some(program) = document.results.program() else { return };
    let reports = document.results.reports();
    let Some(report) = reports.get(&finding.entry) else { return };
    let Some(condition) = proofline_ide::condition_of(report, finding) else { return };
    let text = document.results.text();
    for fix in proofline_ide::fixes(program, finding, condition, text) {
        let mut lines = vec![(fix.line, format!("{}{}\n", indentation(text, fix.line), fix.text))];
        if fix.asserts && !text.contains("assert.h") {
            let is_include = |line: &str| line.trim_start().starts_with("#include");
            let last = text.lines().take(fix.line as usize).enumerate().filter(|(_, l)| is_include(l)).last();
            lines.push((last.map_or(0, |(at, _)| at as u32 + 1), "#include <assert.h>\n".to_owned()));
        }
        out.push(quick(insertion(document, &lines, &fix.title, places), diagnostic));
    }
}

/// An action that inserts lines.
pub(super) fn insertion(
    document: &Document,
    lines: &[(u32, String)],
    title: &str,
    places: &Places<'_>,
) -> CodeAction {
    let edit = |(line, text): &(u32, String)| {
        let at = Point { line: *line, column: 0 };
        let range = places.range(&document.path, Range { start: at, end: at });
        TextEdit { range, new_text: text.clone() }
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
