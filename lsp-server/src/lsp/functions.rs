//! The state of every function of a buffer, for lenses, gutters and status bars: `proofline/functions`.

use serde_json::{Value, json};
use tower_lsp_server::ls_types::notification::Notification;

use super::{diagnostics::Places, document::Document};

/// The notification.
pub(super) enum Functions {}

impl Notification for Functions {
    type Params = Value;
    const METHOD: &'static str = "proofline/functions";
}

/// Its content.
pub(super) fn of(document: &Document, places: &Places<'_>) -> Value {
    let results = &document.results;
    let list: Vec<Value> = results
        .functions()
        .filter_map(|function| {
            let report = results.function(&function.name)?;
            let mut value = json!({
                "name": function.name,
                "range": places.range(&document.path, results.now(function.range)),
                "selectionRange": places.range(&document.path, results.now(function.selection.range)),
                "state": report.state.name(),
                "proved": report.proved,
                "violated": report.violated,
                "asked": report.asked,
                "unknown": report.unknown,
                "headline": report.headline(),
                "timeMs": report.millis,
            });
            if let (false, Some(object)) = (report.needs.is_empty(), value.as_object_mut()) {
                object.insert("needs".into(), json!(report.needs));
            }
            if let (Some(reason), Some(object)) = (report.reason, value.as_object_mut()) {
                object.insert("reason".into(), Value::String(reason));
            }
            Some(value)
        })
        .collect();
    json!({ "uri": document.uri, "version": document.version, "functions": list })
}
