//! From the arguments of `launch` to a path: reads the file, verifies, picks the finding that is meant.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use proofline_ide::{AnalysisHost, Cancel, Change, Effort, Finding, Settings, whole_path};
use serde::Deserialize;
use tower_lsp_server::ls_types::Uri;

use super::replay::Replay;

/// Steps per engine and question.
const BUDGET: u64 = 3_000_000;

/// What a client asks to replay; our own, as the protocol leaves it to the adapter. Without more, the first counterexample of the file.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Launch {
    /// The C file.
    program: Option<String>,
    /// The compiler's flags.
    flags: Option<Vec<String>>,
    /// The text of the file, if its buffer is not saved.
    text: Option<String>,
    /// Texts of other buffers that are not saved, by URI or path.
    texts: Option<BTreeMap<String, String>>,
    /// The counterexample's identifier.
    finding: Option<String>,
    /// Where it fails, or the function that the path begins in.
    function: Option<String>,
    /// What fails.
    check: Option<String>,
    /// Where it fails, from 1.
    line: Option<u64>,
    /// Whether to stop at the first step.
    pub(super) stop_on_entry: Option<bool>,
}

/// Finds the counterexample and its path. `say` hears what is going on. The error is for people.
pub(super) fn launch(arguments: &Launch, say: &mut dyn FnMut(&str)) -> Result<Replay, String> {
    let program = arguments.program.as_deref().ok_or("`program` is missing: the C file")?;
    let file = std::path::absolute(program).map_err(|error| format!("{program}: {error}"))?;
    let mut settings = Settings::default();
    settings.options.flags = arguments.flags.clone().unwrap_or_default();
    let mut host = AnalysisHost::default();
    let texts = unsaved(arguments);
    host.apply(Change { texts, settings: Some(settings), ..Change::default() });
    let analysis = host.analysis(&file);
    let cancel = Cancel::default();
    let read = analysis.program(&cancel).map_err(|_| "stopped".to_owned())?;
    if let Some(problem) =
        read.problems().iter().find(|problem| problem.is_error && read.functions().is_empty())
    {
        return Err(problem.message.clone());
    }
    let is_meant = |finding: &Finding| is_meant(finding, arguments);
    let entry = arguments.finding.as_deref().and_then(|id| id.split(':').next());
    for effort in [Effort::quick(BUDGET), Effort::full(BUDGET)] {
        say(if effort == Effort::quick(BUDGET) {
            "looking for the counterexample"
        } else {
            "looking for it with more effort"
        });
        for plan in read.entries().iter().filter(|plan| entry.is_none_or(|name| plan.name == *name)) {
            let report = analysis
                .verify(&plan.name, &effort, &cancel, Arc::new(|_| ()))
                .map_err(|_| "stopped".to_owned())?;
            if let Some(finding) = report.findings.iter().find(|finding| is_meant(finding)) {
                let steps = whole_path(&read, finding).ok_or("the path cannot be replayed")?;
                return Ok(Replay::new(finding.clone(), steps));
            }
        }
    }
    Err(match arguments.finding {
        Some(_) => "this counterexample does not exist in the text as it is now".to_owned(),
        None => format!("no counterexample was found in {}", proofline_ide::shown(&file)),
    })
}

/// Texts of buffers that are not saved: an object from URI (or path) to text, or the text of the program itself.
fn unsaved(arguments: &Launch) -> Vec<(PathBuf, Option<Arc<str>>)> {
    let path = |name: &str| match name.parse::<Uri>() {
        Ok(uri) if name.starts_with("file:") => uri.to_file_path().map(|path| path.into_owned()),
        Ok(_) | Err(_) => Some(PathBuf::from(name)),
    };
    let texts = arguments.texts.iter().flatten();
    let mut out: Vec<(PathBuf, Option<Arc<str>>)> =
        texts.filter_map(|(name, text)| Some((path(name)?, Some(text.as_str().into())))).collect();
    if let (Some(program), Some(text)) = (&arguments.program, &arguments.text)
        && let Ok(program) = std::path::absolute(program)
    {
        out.push((program, Some(text.as_str().into())));
    }
    out
}

/// Whether a finding is the one the arguments describe.
fn is_meant(finding: &Finding, arguments: &Launch) -> bool {
    if let Some(id) = &arguments.finding {
        return finding.id == *id;
    }
    let is_at =
        |line: u64| finding.place.as_ref().is_some_and(|place| u64::from(place.range.start.line) + 1 == line);
    arguments.function.as_ref().is_none_or(|name| finding.function == *name || finding.entry == *name)
        && arguments.check.as_ref().is_none_or(|check| finding.check == *check)
        && arguments.line.is_none_or(is_at)
}
