//! Code lenses, one per function.

use proofline_ide::State;
use serde_json::json;
use tower_lsp_server::ls_types::*;

use super::super::{capabilities::Client, commands, diagnostics::Places, document::Document};

/// One line that says what is known: the same words everywhere.
pub(in super::super) fn headline(report: &proofline_ide::FunctionReport) -> String {
    let total = report.proved + report.violated + report.asked + report.unknown;
    match report.state {
        State::Queued => "waiting".to_owned(),
        State::Running => "checking…".to_owned(),
        State::Proved if total == 0 => "nothing to check".to_owned(),
        State::Proved => format!("proved ({total})"),
        State::Violated => format!("{} of {total} fail", report.violated),
        State::Unknown if report.unknown + report.asked == 0 && report.is_conditional => {
            "proved if nothing fails before".to_owned()
        }
        State::Unknown if report.unknown == 0 => format!("asks {} of its callers", report.asked),
        State::Unknown => format!("{} of {total} not decided", report.unknown),
        State::Stale => "older text".to_owned(),
        State::InternalError => "internal error".to_owned(),
    }
}

/// The state of each function above it.
pub(in super::super) fn lenses(document: &Document, client: &Client, places: &Places<'_>) -> Vec<CodeLens> {
    let results = &document.results;
    let lens = |function: &proofline_ide::FunctionItem| {
        let report = results.function(&function.name)?;
        let name =
            if client.has("proofline.showSummary") { "proofline.showSummary" } else { commands::SUMMARY };
        let arguments = vec![json!({ "uri": document.uri, "function": function.name })];
        Some(CodeLens {
            range: places.range(&document.path, results.now(function.selection.range)),
            command: Some(Command {
                title: headline(&report),
                command: name.to_owned(),
                arguments: Some(arguments),
            }),
            data: None,
        })
    };
    results.functions().filter_map(lens).collect()
}
