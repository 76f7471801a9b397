//! From the arguments of `launch` to a path: reads the file, verifies, picks the finding that is meant.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use proofline_ide::{AnalysisHost, Cancel, Change, Effort, Finding, Settings, whole_path};
use serde_json::Value;
use tower_lsp_server::ls_types::Uri;

use super::replay::Replay;

/// Steps per engine and question.
const BUDGET: u64 = 3_000_000;

/// Finds the counterexample and its path. `say` hears what is going on. The error is for people.
pub(super) fn launch(arguments: &Value, say: &mut dyn FnMut(&str)) -> Result<Replay, String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let program = text("program").ok_or("`program` is missing: the C file")?;
    let file = std::path::absolute(program).map_err(|error| format!("{program}: {error}"))?;
    let mut settings = Settings::default();
    let flags = arguments.get("flags").and_then(Value::as_array).into_iter().flatten();
    settings.options.flags = flags.filter_map(Value::as_str).map(str::to_owned).collect();
    let mut host = AnalysisHost::default();
    let texts = unsaved(arguments);
    host.apply(Change { texts, settings: Some(settings), ..Change::default() });
    let analysis = host.analysis();
    let cancel = Cancel::default();
    let read = analysis.program(&file, &cancel).map_err(|_| "stopped".to_owned())?;
    if let Some(problem) =
        read.problems().iter().find(|problem| problem.is_error && read.functions().is_empty())
    {
        return Err(problem.message.clone());
    }
    let is_meant = |finding: &Finding| is_meant(finding, arguments);
    let entry = text("finding").and_then(|id| id.split(':').next()).map(str::to_owned);
    for effort in [Effort::QUICK, Effort { seconds: 60, ..Effort::full(BUDGET) }] {
        say(if effort == Effort::QUICK {
            "looking for the counterexample"
        } else {
            "looking for it with more effort"
        });
        for plan in read.entries().iter().filter(|plan| entry.as_ref().is_none_or(|name| plan.name == *name))
        {
            let report = analysis
                .verify(&file, &plan.name, &effort, &cancel, Arc::new(|_: &str| ()))
                .map_err(|_| "stopped".to_owned())?;
            if let Some(finding) = report.findings.iter().find(|finding| is_meant(finding)) {
                let steps = whole_path(&read, finding).ok_or("the path cannot be replayed")?;
                return Ok(Replay::new(finding.clone(), steps));
            }
        }
    }
    Err(match text("finding") {
        Some(_) => "this counterexample does not exist in the text as it is now".to_owned(),
        None => format!("no counterexample was found in {}", file.display()),
    })
}

/// Texts of buffers that are not saved: an object from URI (or path) to text, or the text of the program itself.
fn unsaved(arguments: &Value) -> Vec<(PathBuf, Option<Arc<str>>)> {
    let path = |name: &str| match name.parse::<Uri>() {
        Ok(uri) if name.starts_with("file:") => uri.to_file_path().map(|path| path.into_owned()),
        Ok(_) | Err(_) => Some(PathBuf::from(name)),
    };
    let texts = arguments.get("texts").and_then(Value::as_object).into_iter().flatten();
    let mut out: Vec<(PathBuf, Option<Arc<str>>)> =
        texts.filter_map(|(name, text)| Some((path(name)?, Some(text.as_str()?.into())))).collect();
    let program = arguments.get("program").and_then(Value::as_str).map(Path::new);
    if let (Some(program), Some(text)) = (program, arguments.get("text").and_then(Value::as_str))
        && let Ok(program) = std::path::absolute(program)
    {
        out.push((program, Some(text.into())));
    }
    out
}

/// Whether a finding is the one the arguments describe.
fn is_meant(finding: &Finding, arguments: &Value) -> bool {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    if let Some(id) = text("finding") {
        return finding.id == id;
    }
    let line = arguments.get("line").and_then(Value::as_u64);
    text("function").is_none_or(|name| finding.function == name || finding.entry == name)
        && text("check").is_none_or(|check| finding.check == check)
        && line.is_none_or(|line| {
            finding.place.as_ref().is_some_and(|place| u64::from(place.range.start.line) + 1 == line)
        })
}
