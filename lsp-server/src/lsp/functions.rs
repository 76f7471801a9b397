//! The state of every function of a buffer, for lenses, gutters and status bars: `proofline/functions`.

use serde::{Deserialize, Serialize};
use tower_lsp_server::ls_types::{Range, Uri, notification::Notification};

use super::{diagnostics::Places, document::Document};

/// The notification.
pub(super) enum Functions {}

impl Notification for Functions {
    type Params = List;
    const METHOD: &'static str = "proofline/functions";
}

/// Its content. It stays this small until it is written: as a JSON value, a file of 30,000 functions takes a hundred megabytes.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct List {
    uri: Uri,
    version: i32,
    functions: Vec<Function>,
}

/// One function.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Function {
    name: String,
    range: Range,
    selection_range: Range,
    state: String,
    proved: u32,
    violated: u32,
    asked: u32,
    unknown: u32,
    headline: String,
    time_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    needs: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// What is known of a buffer's functions.
pub(super) fn of(document: &Document, places: &Places<'_>) -> List {
    let results = &document.results;
    let functions = results.functions().filter_map(|function| {
        let report = results.function(&function.name)?;
        Some(Function {
            name: function.name.clone(),
            range: places.range(&document.path, results.now(function.range)),
            selection_range: places.range(&document.path, results.now(function.selection.range)),
            state: report.state.name().to_owned(),
            proved: report.proved,
            violated: report.violated,
            asked: report.asked,
            unknown: report.unknown,
            headline: report.headline(),
            time_ms: report.millis,
            needs: report.needs,
            reason: report.reason,
        })
    });
    List { uri: document.uri.clone(), version: document.version, functions: functions.collect() }
}
