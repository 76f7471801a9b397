//! Code lenses, one per function.

use serde_json::json;
use tower_lsp_server::ls_types::*;

use super::super::{capabilities::Client, commands, diagnostics::Places, document::Document};

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
                title: report.lens(),
                command: name.to_owned(),
                arguments: Some(arguments),
            }),
            data: None,
        })
    };
    results.functions().filter_map(lens).collect()
}
